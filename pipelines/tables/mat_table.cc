#include "pipelines/tables/mat_table.h"

#include <fmt/format.h>
#include <matio.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "data/base/error.h"
#include "data/files/text.h"

namespace impactlab::pipelines {
namespace {

struct MatCloser {
  void operator()(mat_t* file) const { Mat_Close(file); }
};
struct MatFreer {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};

// A column as numbers or as texts.
struct MatColumn {
  std::string name;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  bool is_text = false;
  std::size_t size() const { return is_text ? texts.size() : numbers.size(); }
};

std::size_t CountOf(const matvar_t& variable) {
  std::size_t n = 1;
  for (int k = 0; k < variable.rank; ++k) n *= variable.dims[k];
  return n;
}

bool IsVector(const matvar_t& variable) {
  return variable.rank == 2 && (variable.dims[0] == 1 || variable.dims[1] == 1) &&
         variable.data != nullptr && !variable.isComplex;
}

template <class Number>
void AppendNumbers(const matvar_t& variable, std::vector<double>* out) {
  const auto* values = static_cast<const Number*>(variable.data);
  for (std::size_t k = 0; k < CountOf(variable); ++k)
    out->push_back(static_cast<double>(values[k]));
}

// Numbers of any class; false for another one.
bool ReadNumbers(const matvar_t& variable, std::vector<double>* out) {
  if (!IsVector(variable)) return false;
  switch (variable.class_type) {
    case MAT_C_DOUBLE:
      AppendNumbers<double>(variable, out);
      return true;
    case MAT_C_SINGLE:
      AppendNumbers<float>(variable, out);
      return true;
    case MAT_C_INT8:
      AppendNumbers<std::int8_t>(variable, out);
      return true;
    case MAT_C_UINT8:
      AppendNumbers<std::uint8_t>(variable, out);
      return true;
    case MAT_C_INT16:
      AppendNumbers<std::int16_t>(variable, out);
      return true;
    case MAT_C_UINT16:
      AppendNumbers<std::uint16_t>(variable, out);
      return true;
    case MAT_C_INT32:
      AppendNumbers<std::int32_t>(variable, out);
      return true;
    case MAT_C_UINT32:
      AppendNumbers<std::uint32_t>(variable, out);
      return true;
    case MAT_C_INT64:
      AppendNumbers<std::int64_t>(variable, out);
      return true;
    case MAT_C_UINT64:
      AppendNumbers<std::uint64_t>(variable, out);
      return true;
    default:
      return false;
  }
}

// A row of characters; letters beyond ASCII become question marks, for names alone are read.
std::string TextOf(const matvar_t* variable) {
  std::string out;
  if (variable == nullptr || variable->class_type != MAT_C_CHAR || variable->data == nullptr)
    return out;
  const std::size_t n = CountOf(*variable);
  for (std::size_t k = 0; k < n; ++k) {
    const unsigned c = variable->data_size == 2
                           ? static_cast<const std::uint16_t*>(variable->data)[k]
                           : static_cast<const std::uint8_t*>(variable->data)[k];
    out += c < 0x80 ? static_cast<char>(c) : '?';
  }
  return out;
}

std::optional<MatColumn> ColumnOf(const matvar_t& variable, const std::string& name) {
  MatColumn column;
  column.name = name;
  if (ReadNumbers(variable, &column.numbers)) return column;
  if (variable.class_type != MAT_C_CELL || !IsVector(variable)) return std::nullopt;
  column.is_text = true;
  const auto* const* cells = static_cast<const matvar_t* const*>(variable.data);
  for (std::size_t k = 0; k < CountOf(variable); ++k) column.texts.push_back(TextOf(cells[k]));
  return column;
}

// Columns of a file: its variables, or the fields of its structs where it has any.
std::vector<MatColumn> ColumnsIn(mat_t* file) {
  std::vector<MatColumn> out, fields;
  while (true) {
    const std::unique_ptr<matvar_t, MatFreer> variable(Mat_VarReadNext(file));
    if (!variable) break;
    if (variable->class_type == MAT_C_STRUCT && CountOf(*variable) == 1) {
      const unsigned n = Mat_VarGetNumberOfFields(variable.get());
      char* const* names = Mat_VarGetStructFieldnames(variable.get());
      for (unsigned k = 0; k < n; ++k) {
        const matvar_t* field = Mat_VarGetStructFieldByName(variable.get(), names[k], 0);
        if (field == nullptr) continue;
        if (auto column = ColumnOf(*field, names[k])) fields.push_back(std::move(*column));
      }
    } else if (auto column = ColumnOf(*variable, variable->name ? variable->name : "")) {
      out.push_back(std::move(*column));
    }
  }
  return fields.empty() ? out : fields;
}

// Keeps the columns of the most frequent length above one: a constant beside a table is no column.
void KeepOneLength(std::vector<MatColumn>* columns) {
  std::map<std::size_t, int> of_length;
  for (const MatColumn& column : *columns) ++of_length[column.size()];
  std::size_t rows = 0;
  int most = 0;
  for (const auto& [length, n] : of_length)  // the longer of two that are as frequent
    if (n >= most) rows = length, most = n;
  columns->erase(std::remove_if(columns->begin(), columns->end(),
                                [&](const MatColumn& column) { return column.size() != rows; }),
                 columns->end());
}

}  // namespace

Table ReadMatTable(const std::filesystem::path& path, const CsvOptions& options) {
  Mat_LogInitFunc("impactlab", [](int, auto* /*text*/) {});
  const std::unique_ptr<mat_t, MatCloser> file(Mat_Open(path.c_str(), MAT_ACC_RDONLY));
  if (!file)
    throw DataError(
        fmt::format("{}: found no MAT-file, allowed one of level 4, 5 or 7.3", path.string()));
  std::vector<MatColumn> columns = ColumnsIn(file.get());
  KeepOneLength(&columns);
  if (columns.empty())
    throw DataError(
        fmt::format("{}: found no table, allowed variables, or the fields of a struct, "
                    "that are vectors of one length",
                    path.string()));
  Table table;
  table.path = path.string();
  for (std::size_t row = 0; row < columns.front().size(); ++row)
    table.lines.push_back(static_cast<int>(row) + 1);
  for (MatColumn& column : columns) {
    const bool as_text = options.is_text ? options.is_text(column.name) : column.is_text;
    if (!as_text && column.is_text) continue;
    if (as_text) {
      for (const double number : column.numbers) column.texts.push_back(FormatNumber(number));
      table.text_columns.push_back(column.name);
      table.texts.push_back(std::move(column.texts));
    } else {
      table.columns.push_back(column.name);
      table.values.push_back(std::move(column.numbers));
    }
  }
  return table;
}

}  // namespace impactlab::pipelines
