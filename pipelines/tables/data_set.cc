#include "pipelines/tables/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "data/base/error.h"
#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"
#include "data/files/cell.h"
#include "data/files/fit_result.h"
#include "data/files/number_json.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "impact/body/event.h"
#include "pipelines/tables/event_columns.h"

namespace impactlab {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// What follows the two components in the name of a covariance is its unit, which is no unit of a
// quantity of ours.
std::string UnitOfColumn(const std::string& column) {
  static const std::map<std::string, std::string, std::less<>> covariances = [] {
    std::map<std::string, std::string, std::less<>> out;
    const std::vector<std::string>& names = pipelines::EventComponents();
    for (int i = 0; i < kEventDim; ++i)
      for (int j = i; j < kEventDim; ++j) {
        const std::string name = pipelines::CovarianceColumn(i, j);
        out[name] = name.substr(("cov_" + names[static_cast<std::size_t>(i)] + "_" +
                                 names[static_cast<std::size_t>(j)] + "_")
                                    .size());
      }
    return out;
  }();
  const auto found = covariances.find(column);
  return found != covariances.end() ? found->second : SplitUnit(column).unit;
}

DataTable Columns(const Table& table, std::string name) {
  // Names that people choose, and codes: text even where all of them happen to be numbers.
  static const std::set<std::string, std::less<>> chosen = {
      "recording", "case", "camera", "marker", "name",       "member", "group",
      "specimen",  "law",  "reason", "detail", "experiment", "note"};
  DataTable out{std::move(name), {}};
  for (std::size_t k = 0; k < table.text_columns.size(); ++k) {
    DataColumn column;
    column.name = table.text_columns[k];
    const auto& cells = table.texts[k];
    column.is_text = chosen.contains(column.name);
    for (const std::string& cell : cells) {
      const CellKind kind = ReadCell(cell).kind;
      column.is_text |= kind != CellKind::kNumber && kind != CellKind::kEmpty;
    }
    if (!column.is_text) {
      column.unit = UnitOfColumn(column.name);
      column.numbers.reserve(cells.size());
      for (const std::string& cell : cells) column.numbers.push_back(ReadCell(cell).value);
    } else {
      column.texts = cells;
    }
    out.columns.push_back(std::move(column));
  }
  return out;
}

DataTable ReadTable(const std::filesystem::path& path) {
  CsvOptions options;
  options.is_text = [](std::string_view) { return true; };
  options.min_rows = 0;
  return Columns(ReadCsv(path, options), path.stem().string());
}

void AddFit(const std::filesystem::path& path, DataSet& data) {
  const FitResult fit = FitResultFromJson(ReadFile(path), path.string());
  DataTable table{"fit", {}};
  for (const char* name : {"law", "parameter", "value", "sd", "sd_noise_only", "lower95", "upper95",
                           "identifiable", "reason"}) {
    DataColumn column;
    column.name = name;
    column.is_text = column.name == "law" || column.name == "parameter" || column.name == "reason";
    table.columns.push_back(std::move(column));
  }
  for (const LawFit& law : fit.fits) {
    DataMatrices cov{"fit_" + law.law + "_cov", {}, 1, {}};
    for (const ParameterEstimate& p : ListParameters(law)) {
      cov.components.push_back(p.name);
      const double numbers[] = {p.value,   p.sd,      p.sd_noise_only,
                                p.lower95, p.upper95, p.identifiable ? 1.0 : 0.0};
      table.columns[0].texts.push_back(law.law);
      table.columns[1].texts.push_back(p.name);
      for (std::size_t k = 0; k < 6; ++k)
        table.columns[k + 2].numbers.push_back(std::isfinite(numbers[k]) ? numbers[k] : kNaN);
      table.columns[8].texts.push_back(p.reason);
    }
    const auto n = static_cast<Eigen::Index>(cov.components.size());
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < n; ++j)
        cov.values.push_back(
            law.covariance.rows() == n && law.covariance.cols() == n ? law.covariance(i, j) : kNaN);
    data.matrices.push_back(std::move(cov));
  }
  data.tables.push_back(std::move(table));
}

void AddTable(const std::filesystem::path& path, DataSet& data) {
  DataTable table = ReadTable(path);
  if (table.name == "events_cov") data.matrices.push_back(pipelines::EventCovariances(table));
  data.tables.push_back(std::move(table));
}

// "m_per_s" as people write it: "m/s".
std::string Spoken(std::string unit) {
  for (std::size_t at; (at = unit.find("_per_")) != std::string::npos;) unit.replace(at, 5, "/");
  if (unit.starts_with("per_")) unit.replace(0, 4, "1/");
  std::replace(unit.begin(), unit.end(), '_', ' ');
  return unit;
}

void WriteCsv(const std::filesystem::path& path, const DataTable& table) {
  std::vector<std::string> names;
  for (const DataColumn& column : table.columns) names.push_back(column.name);
  CsvWriter out(path, names);
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    for (const DataColumn& column : table.columns) {
      if (column.is_text)
        out.Text(column.texts[row]);
      else
        out.Number(column.numbers[row]);
    }
    out.EndRow();
  }
  out.Commit();
}

}  // namespace

namespace pipelines {

DataMatrices EventCovariances(const DataTable& sidecar) {
  DataMatrices out{"events_cov_matrix", {}, sidecar.n_rows(), {}};
  std::map<std::string_view, const std::vector<double>*> numbers;
  for (const DataColumn& column : sidecar.columns)
    if (!column.is_text) numbers[column.name] = &column.numbers;
  for (int i = 0; i < kEventDim; ++i) {
    const int block = i / 3;
    out.components.push_back(EventComponents()[static_cast<std::size_t>(i)] + (block == 4 ? "_m"
                                                                               : block % 2 == 0
                                                                                   ? "_m_per_s"
                                                                                   : "_rad_per_s"));
  }
  out.values.assign(out.count * kEventDim * kEventDim, 0);
  for (int i = 0; i < kEventDim; ++i)
    for (int j = i; j < kEventDim; ++j) {
      const auto found = numbers.find(CovarianceColumn(i, j));
      if (found == numbers.end()) continue;
      for (std::size_t row = 0; row < out.count; ++row)
        for (const int at : {i * kEventDim + j, j * kEventDim + i})
          out.values[row * kEventDim * kEventDim + static_cast<std::size_t>(at)] =
              (*found->second)[row];
    }
  return out;
}

PresentationTable ToForm(const DataTable& table) {
  PresentationTable out{.name = table.name, .caption = table.name};
  std::map<std::string, const DataColumn*> sd;  // by the name whose standard deviation it is
  for (const DataColumn& column : table.columns)
    if (!column.is_text && column.name.starts_with("sd_")) sd[column.name.substr(3)] = &column;
  // The table of coefficients has its standard deviation in a column `sd`.
  for (const DataColumn& column : table.columns)
    if (!column.is_text && column.name == "sd") sd["value"] = &column;
  std::vector<const DataColumn*> shown;
  std::set<const DataColumn*> taken;
  for (const DataColumn& column : table.columns)
    if (!column.is_text && sd.contains(column.name)) taken.insert(sd[column.name]);
  for (const DataColumn& column : table.columns) {
    if (taken.contains(&column)) continue;
    shown.push_back(&column);
    const std::string stem = column.name.substr(
        0, column.name.size() - (column.unit.empty() ? 0 : column.unit.size() + 1));
    out.columns.push_back({column.name,
                           column.unit.empty() ? stem : stem + " [" + Spoken(column.unit) + "]",
                           !column.is_text});
  }
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    std::vector<FormCell> cells;
    for (const DataColumn* column : shown) {
      if (column->is_text)
        cells.emplace_back(column->texts[row]);
      else
        cells.emplace_back(column->numbers[row],
                           sd.contains(column->name) ? sd[column->name]->numbers[row] : kNaN);
    }
    out.Row(std::move(cells));
  }
  return out;
}

std::string ToJson(const DataSet& data) {
  using Json = nlohmann::ordered_json;
  Json out;
  out["schema"] = "impactlab.data_set/1";
  out["name"] = data.name;
  for (const auto& [key, text] : data.attributes) out[key] = text;
  out["tables"] = Json::object();
  for (const DataTable& table : data.tables) {
    Json columns = Json::object();
    for (const DataColumn& column : table.columns) {
      Json values = Json::array();
      for (const double value : column.numbers) values.push_back(NumberJson(value));
      for (const std::string& text : column.texts) values.push_back(text);
      columns[column.name] = {{"unit", column.unit.empty() ? Json(nullptr) : Json(column.unit)},
                              {"values", std::move(values)}};
    }
    out["tables"][table.name] = std::move(columns);
  }
  out["matrices"] = Json::object();
  for (const DataMatrices& matrices : data.matrices) {
    const std::size_t n = matrices.components.size();
    Json list = Json::array();
    for (std::size_t k = 0; k < matrices.count; ++k) {
      Json rows = Json::array();
      for (std::size_t i = 0; i < n; ++i) {
        Json row = Json::array();
        for (std::size_t j = 0; j < n; ++j)
          row.push_back(NumberJson(matrices.values[(k * n + i) * n + j]));
        rows.push_back(std::move(row));
      }
      list.push_back(std::move(rows));
    }
    out["matrices"][matrices.name] = {{"components", matrices.components},
                                      {"values", std::move(list)}};
  }
  return out.dump(1) + "\n";
}

}  // namespace pipelines

DataSet ReadDataSet(const std::filesystem::path& path, std::vector<std::string>* notes) {
  namespace fs = std::filesystem;
  DataSet data;
  data.attributes = {{"program", "impactlab " + ProgramVersion()}, {"source", path.string()}};
  if (!fs::is_directory(path)) {
    data.name = path.stem().string();
    if (path.extension() == ".json")
      AddFit(path, data);
    else
      AddTable(path, data);
    return data;
  }
  const fs::path whole = fs::weakly_canonical(path);
  data.name = whole.filename().string();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (std::error_code unreadable; entry.is_regular_file(unreadable) &&
                                    entry.path().extension() == ".csv" &&
                                    !entry.path().filename().string().starts_with("."))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return NaturalLess(a.string(), b.string());
  });
  for (const fs::path& file : files) {
    try {
      AddTable(file, data);
    } catch (const DataError& error) {
      notes->push_back(fmt::format("left out: {}", error.what()));
    }
  }
  if (fs::is_regular_file(path / "fit.json")) AddFit(path / "fit.json", data);
  if (fs::is_regular_file(path / "run.yaml"))
    data.attributes.emplace_back("run_yaml", ReadFile(path / "run.yaml"));
  if (data.tables.empty())
    throw DataError(fmt::format("{}: found no table, allowed a folder with CSV files or a fit.json",
                                path.string()));
  return data;
}

bool DataFormatOf(const std::filesystem::path& path, DataFormat* format) {
  static const std::map<std::string, DataFormat> formats = {
      {".csv", DataFormat::kCsv}, {".json", DataFormat::kJson}, {".mat", DataFormat::kMat},
      {".h5", DataFormat::kHdf5}, {".hdf5", DataFormat::kHdf5}, {".tex", DataFormat::kLatex}};
  const auto found = formats.find(path.extension().string());
  if (found != formats.end()) *format = found->second;
  return found != formats.end();
}

std::vector<std::string> WriteDataSet(const std::filesystem::path& path, const DataSet& data,
                                      DataFormat format) {
  if ((format == DataFormat::kCsv || format == DataFormat::kLatex) && data.tables.size() != 1)
    throw ConfigError(
        fmt::format("--out: found {}, which holds one table, and {} tables; allowed .json, .mat, "
                    ".h5, or one of the files",
                    path.string(), data.tables.size()));
  switch (format) {
    case DataFormat::kCsv:
      WriteCsv(path, data.tables.front());
      return {};
    case DataFormat::kLatex:
      WriteFile(path, ToLatex(pipelines::ToForm(data.tables.front())));
      return {};
    case DataFormat::kJson:
      WriteFile(path, pipelines::ToJson(data));
      return {};
    case DataFormat::kHdf5:
      pipelines::WriteHdf5(path, data);
      return {};
    case DataFormat::kMat:
      break;
  }
  return pipelines::WriteMat(path, data);
}

}  // namespace impactlab
