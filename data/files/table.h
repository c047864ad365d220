#pragma once
// Tables of numbers in CSV files: a header line, then one row a line.
//
// Reading is strict and ignores the locale. Comma, semicolon and tab are told apart by the header;
// LF and CRLF, a UTF-8 byte order mark, quoted cells, blank lines and comment lines (`#` first) are
// accepted. Everything else - ragged rows, words, NaN, infinity, decimal commas, duplicate or
// missing column names, a quote that stays open, binary bytes, another encoding, an empty file - is
// a DataError "path: row R, column C: found X, allowed Y", where row R is the line of the file as
// an editor counts it.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/base/error.h"
#include "data/files/atomic_file.h"

namespace impactlab {

struct CsvOptions {
  std::vector<std::string> text_columns;  // read as text where present; anything goes in them
  std::function<bool(std::string_view)>
      // asked for every other column: true reads it as text, so that a stranger may hold anything
      is_text;
  // an empty cell of a numeric column reads as NaN, the way CsvWriter writes one
  bool empty_is_nan = false;
  std::size_t min_rows = 1;  // 0 accepts a header without rows
  // larger files are refused before they fill the memory
  std::size_t max_bytes = std::size_t{512} << 20;
};

// Column-major. Numeric and text columns are kept apart, each in the order of the file.
struct Table {
  std::string path;                         // as given, for messages
  std::vector<std::string> columns;         // names of numeric columns
  std::vector<std::vector<double>> values;  // one vector a numeric column
  std::vector<std::string> text_columns;
  std::vector<std::vector<std::string>> texts;  // one vector a text column
  // line of the file of every row, the header being line 1 (after comments: later)
  std::vector<int> lines;

  std::size_t n_rows() const { return lines.size(); }
  bool Has(std::string_view name) const;  // numeric column
  bool HasText(std::string_view name) const;
  // Values of a column; DataError that names the nearest column where there is none.
  const std::vector<double>& Column(std::string_view name) const;
  const std::vector<std::string>& TextColumn(std::string_view name) const;
  // The project's one error line for a cell, for checks that only the caller can make. `row` counts
  // from 0.
  DataError Fault(std::size_t row, std::string_view column, const std::string& found,
                  const std::string& allowed) const;
};

// Streams the file; throws DataError.
Table ReadCsv(const std::filesystem::path& path, const CsvOptions& options = {});
// `name` stands for the path in messages.
Table ParseCsv(std::string_view text, const std::string& name, const CsvOptions& options = {});

// Writes a table row by row. Numbers are the shortest text that reads back exactly; NaN and
// infinity become an empty cell. Nothing appears under the final name before Commit(). Throws
// OutputError.
//
//   CsvWriter out("motion.csv", {"t_s", "x_m", "note"});
//   out.Number(0.1); out.Number(0.2); out.Text("first"); out.EndRow();
//   out.Commit();
class CsvWriter {
 public:
  // see AtomicFile
  CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& columns,
            bool to_disk = true);

  CsvWriter& Number(double value);
  CsvWriter& Integer(long long value);
  // Quoted where needed; line ends, control characters and bytes that are not UTF-8 become spaces,
  // so that ReadCsv takes the file back.
  CsvWriter& Text(std::string_view text);
  // Ends the row; std::logic_error when it has not as many cells as the header.
  void EndRow();
  // A row of numbers.
  void Row(const std::vector<double>& values);
  void Commit();

 private:
  void Separate();
  AtomicFile file_;
  std::string line_;
  std::size_t n_columns_ = 0;
  std::size_t n_cells_ = 0;
};

}  // namespace impactlab
