#pragma once
// Tables of this program as other programs read them: MATLAB, HDF5, JSON, LaTeX.
//
// A data set is what a run folder holds, or one of its files. Names are those of the CSV columns
// with their units (data/README.md), which formats that have attributes repeat as such. The joint
// covariance of events stands as matrices, in the order of `kVMinus` ... `kLever`.

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pipelines/page/presentation_table.h"

namespace impactlab {

struct DataColumn {
  std::string name;             // with its unit: "v_minus_x_m_per_s"
  std::string unit;             // "m_per_s"; empty: none, or text
  std::vector<double> numbers;  // NaN where there is none; empty in a column of text
  std::vector<std::string> texts;
  bool is_text = false;
  std::size_t size() const { return is_text ? texts.size() : numbers.size(); }
};

struct DataTable {
  std::string name;  // "events", of events.csv
  std::vector<DataColumn> columns;
  std::size_t n_rows() const { return columns.empty() ? 0 : columns.front().size(); }
};

// Square matrices, one for every row of a table or one for a fit, row by row. NaN where nothing is
// known.
struct DataMatrices {
  std::string name;                     // "events_cov_matrix", "fit_energetic_cov"
  std::vector<std::string> components;  // of rows and columns, with their units
  std::size_t count = 0;
  std::vector<double> values;  // count * components * components
};

struct DataSet {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // "program", "source", "run_yaml"
  std::vector<DataTable> tables;
  std::vector<DataMatrices> matrices;
};

// A folder (all its CSV files and fit.json), a CSV file with a header, or a fit.json. Files of a
// folder that are no tables of this program are named in `notes`. A column is one of text where its
// name is known as such, or a cell is no number. DataError.
DataSet ReadDataSet(const std::filesystem::path& path, std::vector<std::string>* notes);

enum class DataFormat { kCsv, kJson, kMat, kHdf5, kLatex };
// By extension: .csv, .json, .mat, .h5 or .hdf5, .tex. False for any other.
bool DataFormatOf(const std::filesystem::path& path, DataFormat* format);

// The file appears whole or not at all. CSV and LaTeX hold one table: ConfigError for more.
// OutputError. Returns notes for people: names that the format could not carry as they are.
std::vector<std::string> WriteDataSet(const std::filesystem::path& path, const DataSet& data,
                                      DataFormat format);

namespace pipelines {

// Full matrices of events_cov.csv in the order of its rows; components that do not move, or have no
// column, are zero.
DataMatrices EventCovariances(const DataTable& sidecar);
// A column `x` and its `sd_x` in one; what a page has room for is the user's choice of table.
PresentationTable ToForm(const DataTable& table);
std::string ToJson(const DataSet& data);
// Hands `write` the name of a hidden file beside `path`, and gives it that name once it is whole.
// `write` returns what went wrong, or nothing.
void WriteWhole(const std::filesystem::path& path,
                const std::function<std::string(const std::string&)>& write);
// MAT-file of level 5, compressed: a struct for every table with a field for every column, cell
// arrays of text.
std::vector<std::string> WriteMat(const std::filesystem::path& path, const DataSet& data);
// A group for every table with a data set for every column and the attribute `unit`.
void WriteHdf5(const std::filesystem::path& path, const DataSet& data);

}  // namespace pipelines
}  // namespace impactlab
