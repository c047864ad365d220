// MAT-files of level 5 by libmatio. Text is UTF-16, as MATLAB itself writes it.

#include <fmt/format.h>
#include <matio.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <system_error>

#include "data/base/error.h"
#include "pipelines/tables/data_set.h"

namespace impactlab::pipelines {
namespace {

struct Closer {
  void operator()(mat_t* file) const { Mat_Close(file); }
};
struct Freer {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using Variable = std::unique_ptr<matvar_t, Freer>;

// The text comes from a table, whose reader refuses what is not UTF-8.
std::u16string Utf16(const std::string& text) {
  std::u16string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    char32_t code = more == 0 ? lead : lead & (0x3F >> more);
    for (int k = 1; k <= more && i + static_cast<std::size_t>(k) < text.size(); ++k)
      code = code << 6 | (static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]) & 0x3F);
    i += static_cast<std::size_t>(more) + 1;
    if (code < 0x10000) {
      out += static_cast<char16_t>(code);
    } else {
      out += static_cast<char16_t>(0xD800 + ((code - 0x10000) >> 10));
      out += static_cast<char16_t>(0xDC00 + ((code - 0x10000) & 0x3FF));
    }
  }
  return out;
}

Variable Text(const char* name, const std::string& text) {
  std::u16string units = Utf16(text);
  std::size_t dims[2] = {units.empty() ? 0U : 1U, units.size()};
  return Variable(Mat_VarCreate(name, MAT_C_CHAR, MAT_T_UTF16, 2, dims, units.data(), 0));
}

Variable Texts(const char* name, const std::vector<std::string>& texts) {
  std::size_t dims[2] = {texts.size(), 1};
  Variable cells(Mat_VarCreate(name, MAT_C_CELL, MAT_T_CELL, 2, dims, nullptr, 0));
  for (std::size_t k = 0; cells && k < texts.size(); ++k)
    Mat_VarSetCell(cells.get(), static_cast<int>(k), Text(nullptr, texts[k]).release());
  return cells;
}

Variable Numbers(const char* name, const std::vector<double>& numbers,
                 std::vector<std::size_t> dims) {
  return Variable(Mat_VarCreate(name, MAT_C_DOUBLE, MAT_T_DOUBLE, static_cast<int>(dims.size()),
                                dims.data(), const_cast<double*>(numbers.data()), 0));
}

// A name that MATLAB takes: letters, digits and underscores, a letter first, at most 63 of them,
// and none twice.
std::string Identifier(const std::string& name, std::set<std::string>& taken,
                       std::vector<std::string>& notes) {
  constexpr std::size_t kLongest = 63, kRoomForNumber = 58;
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (out.empty() || std::isalpha(static_cast<unsigned char>(out[0])) == 0) out.insert(0, "n");
  if (out.size() > kLongest) out.resize(kLongest);
  for (int k = 2; !taken.insert(out).second; ++k)
    out = fmt::format("{}_{}", out.substr(0, kRoomForNumber), k);
  std::string note = fmt::format("{} is called {}", name, out);
  // A fault of a column that many tables have is reported once.
  if (out != name && std::find(notes.begin(), notes.end(), note) == notes.end())
    notes.push_back(std::move(note));
  return out;
}

Variable Struct(const std::string& name, const DataTable& table, std::vector<std::string>& notes) {
  std::set<std::string> taken;
  std::vector<std::string> fields;
  std::vector<const char*> pointers;
  fields.reserve(table.columns.size());
  pointers.reserve(table.columns.size());
  for (const DataColumn& column : table.columns)
    fields.push_back(Identifier(column.name, taken, notes));
  for (const std::string& field : fields) pointers.push_back(field.c_str());
  std::size_t dims[2] = {1, 1};
  Variable out(Mat_VarCreateStruct(name.c_str(), 2, dims, pointers.data(),
                                   static_cast<unsigned>(pointers.size())));
  for (std::size_t k = 0; out && k < fields.size(); ++k) {
    const DataColumn& column = table.columns[k];
    Variable values = column.is_text
                          ? Texts(pointers[k], column.texts)
                          : Numbers(pointers[k], column.numbers, {column.numbers.size(), 1});
    Mat_VarSetStructFieldByName(out.get(), pointers[k], 0, values.release());
  }
  return out;
}

// The library does not check how much of what it writes reaches the disk; reading all variables
// again does.
bool HoldsAll(const std::string& path, int variables) {
  const std::unique_ptr<mat_t, Closer> file(Mat_Open(path.c_str(), MAT_ACC_RDONLY));
  int found = 0;
  while (file && Variable(Mat_VarReadNext(file.get()))) ++found;
  return found == variables;
}

}  // namespace

void WriteWhole(const std::filesystem::path& path,
                const std::function<std::string(const std::string&)>& write) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  std::filesystem::path part = path;
  part.replace_filename("." + path.filename().string() + ".tmp");
  std::string fault = write(part.string());
  if (fault.empty()) {
    std::filesystem::rename(part, path, error);
    if (error) fault = error.message();
  }
  if (fault.empty()) return;
  std::filesystem::remove(part, error);
  throw OutputError(fmt::format("{}: cannot be written: {}", path.string(), fault));
}

std::vector<std::string> WriteMat(const std::filesystem::path& path, const DataSet& data) {
  std::vector<std::string> notes;
  WriteWhole(path, [&](const std::string& part) -> std::string {
    std::unique_ptr<mat_t, Closer> file(
        Mat_CreateVer(part.c_str(), "MATLAB 5.0 MAT-file, written by ImpactLab", MAT_FT_MAT5));
    if (!file) return "the file cannot be opened";
    std::set<std::string> taken;
    bool good = true;
    int variables = 0;
    const auto add = [&](const Variable& variable) {
      ++variables;
      good =
          good && variable && Mat_VarWrite(file.get(), variable.get(), MAT_COMPRESSION_ZLIB) == 0;
    };
    for (const auto& [key, text] : data.attributes)
      add(Text(Identifier(key, taken, notes).c_str(), text));
    for (const DataTable& table : data.tables)
      add(Struct(Identifier(table.name, taken, notes), table, notes));
    for (const DataMatrices& matrices : data.matrices) {
      const std::size_t n = matrices.components.size();
      // Row by row is column by column: the matrices are symmetric.
      add(Numbers(Identifier(matrices.name, taken, notes).c_str(), matrices.values,
                  {n, n, matrices.count}));
      add(Texts(Identifier(matrices.name + "_components", taken, notes).c_str(),
                matrices.components));
    }
    if (Mat_Close(file.release()) != 0) good = false;
    return good && HoldsAll(part, variables) ? "" : "the disk may be full";
  });
  return notes;
}

}  // namespace impactlab::pipelines
