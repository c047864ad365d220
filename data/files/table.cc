#include "data/files/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "data/files/cell.h"
#include "data/files/text.h"

namespace impactlab {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;  // a longer "line" is no row of a table
constexpr std::size_t kMostColumns = 10000;

[[noreturn]] void Fail(const std::string& path, int line, const std::string& column,
                       const std::string& found, const std::string& allowed) {
  const std::string place =
      column.empty() ? fmt::format("row {}", line) : fmt::format("row {}, column {}", line, column);
  throw DataError(fmt::format("{}: {}: found {}, allowed {}", path, place, found, allowed));
}

// Takes the text of a table in pieces, cuts it into lines and cells and fills a Table.
class CsvReader {
 public:
  CsvReader(std::string path, const CsvOptions& options) : options_(options) {
    table_.path = std::move(path);
  }

  void Take(std::string_view piece) {
    bytes_ += piece.size();
    while (true) {
      const std::size_t end = piece.find('\n');
      if (end == std::string_view::npos) break;
      if (rest_.empty()) {
        Line(piece.substr(0, end));
      } else {
        rest_.append(piece.substr(0, end));
        Line(rest_);
        rest_.clear();
      }
      piece.remove_prefix(end + 1);
    }
    rest_.append(piece);
    if (rest_.size() > kLongestLine) LineTooLong();
  }

  Table Finish() {
    if (!rest_.empty()) Line(rest_);
    if (bytes_ == 0)
      throw DataError(fmt::format(
          "{}: found an empty file, allowed a header line and rows of numbers", table_.path));
    if (!have_header_)
      throw DataError(fmt::format(
          "{}: found no header line, allowed a header line and rows of numbers", table_.path));
    if (table_.n_rows() < options_.min_rows) {
      throw DataError(fmt::format("{}: found {} rows below the header, allowed at least {}",
                                  table_.path, table_.n_rows(), options_.min_rows));
    }
    return std::move(table_);
  }

 private:
  [[noreturn]] void LineTooLong() {
    Fail(table_.path, line_number_ + 1, {},
         fmt::format("a line of more than {} bytes", kLongestLine), "a table with one row a line");
  }

  void Line(std::string_view line) {
    if (line.size() > kLongestLine) LineTooLong();
    ++line_number_;
    if (line_number_ == 1) {
      std::size_t length = 0;
      const std::string mark = ByteOrderMark(line, &length);
      if (!mark.empty() && mark != "UTF-8") Fail(table_.path, 1, {}, mark + " text", "UTF-8 text");
      line.remove_prefix(length);
    }
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::string_view content = TrimSpace(line);
    if (content.empty()) return;
    if (const auto fault = FindTextFault(line))
      Fail(table_.path, line_number_, {}, fault->found, "UTF-8 text");
    if (line.find('\r') != std::string_view::npos) {
      Fail(table_.path, line_number_, {}, "a carriage return inside a line",
           "lines that end in LF or CRLF");
    }
    if (content.front() == '#') return;
    if (have_header_) {
      Row(line);
    } else {
      Header(line);
    }
  }

  // Cuts a line into cells_. Quoted cells are unescaped into storage of their own.
  void Split(std::string_view line) {
    cells_.clear();
    n_unquoted_ = 0;
    if (line.find('"') == std::string_view::npos) {
      while (true) {
        const std::size_t end = line.find(delimiter_);
        cells_.push_back(TrimSpace(line.substr(0, end)));
        if (end == std::string_view::npos) return;
        line.remove_prefix(end + 1);
      }
    }
    while (true) {
      std::size_t i = 0;
      while (i < line.size() && line[i] == ' ') ++i;
      if (i < line.size() && line[i] == '"') {
        cells_.push_back(Unquote(line, i + 1));
      } else {
        const std::size_t end = std::min(line.find(delimiter_), line.size());
        cells_.push_back(TrimSpace(line.substr(0, end)));
        line.remove_prefix(end);
      }
      if (line.empty()) return;
      line.remove_prefix(1);
    }
  }

  // Reads a quoted cell whose content starts at `i` and leaves `line` at the delimiter behind it.
  std::string_view Unquote(std::string_view& line, std::size_t i) {
    if (unquoted_.size() == n_unquoted_) unquoted_.emplace_back();
    std::string& out = unquoted_[n_unquoted_++];
    out.clear();
    while (true) {
      if (i >= line.size()) {
        Fail(table_.path, line_number_, CellName(cells_.size()), "a quote that stays open",
             "quotes that close on the same line");
      }
      if (line[i] == '"') {
        if (i + 1 < line.size() && line[i + 1] == '"') {
          ++i;
        } else {
          break;
        }
      }
      out += line[i++];
    }
    std::size_t behind = i + 1;
    while (behind < line.size() && line[behind] == ' ') ++behind;
    if (behind < line.size() && line[behind] != delimiter_) {
      Fail(table_.path, line_number_, CellName(cells_.size()), "text behind a closing quote",
           "a quoted cell, quotes inside it written twice");
    }
    line.remove_prefix(behind);
    return out;
  }

  std::string CellName(std::size_t cell) const {
    return cell < names_.size() ? names_[cell] : std::to_string(cell + 1);
  }

  void Header(std::string_view line) {
    // The delimiter is the one the header has most of, quoted cells left out.
    std::size_t counts[3] = {0, 0, 0};
    constexpr std::string_view kDelimiters = ",;\t";
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      const std::size_t k = kDelimiters.find(c);
      if (!quoted && k != std::string_view::npos) ++counts[k];
    }
    delimiter_ =
        kDelimiters[static_cast<std::size_t>(std::max_element(counts, counts + 3) - counts)];
    Split(line);
    if (cells_.size() > kMostColumns) {
      Fail(table_.path, line_number_, {}, fmt::format("{} columns", cells_.size()),
           fmt::format("at most {}", kMostColumns));
    }
    std::unordered_map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const std::string name(TrimSpace(cells_[i]));
      if (name.empty())
        Fail(table_.path, line_number_, std::to_string(i + 1), "an empty column name",
             "a name for every column");
      if (ParseNumber(name)) {
        Fail(table_.path, line_number_, std::to_string(i + 1),
             fmt::format("number {} as column name", Excerpt(name)),
             "a header line of column names above the rows");
      }
      const auto [other, fresh] = seen.emplace(name, i);
      if (!fresh) {
        Fail(table_.path, line_number_, std::to_string(i + 1),
             fmt::format("name {} of column {} again", Excerpt(name), other->second + 1),
             "every column name once");
      }
      names_.push_back(name);
      const bool listed = std::find(options_.text_columns.begin(), options_.text_columns.end(),
                                    name) != options_.text_columns.end();
      const bool text = listed || (options_.is_text && options_.is_text(name));
      is_text_.push_back(text);
      (text ? table_.text_columns : table_.columns).push_back(name);
    }
    table_.values.resize(table_.columns.size());
    table_.texts.resize(table_.text_columns.size());
    have_header_ = true;
  }

  void Row(std::string_view line) {
    Split(line);
    if (cells_.size() != names_.size()) {
      Fail(table_.path, line_number_, {}, fmt::format("{} cells", cells_.size()),
           fmt::format("{}, as many as the header", names_.size()));
    }
    std::size_t number = 0, text = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (is_text_[i]) {
        table_.texts[text++].emplace_back(cells_[i]);
      } else {
        table_.values[number++].push_back(Cell(i));
      }
    }
    table_.lines.push_back(line_number_);
  }

  double Cell(std::size_t i) {
    const std::string_view cell = cells_[i];
    const CellValue read = ReadCell(cell);
    if (read.kind == CellKind::kNumber) return read.value;
    if (cell.empty()) {
      if (options_.empty_is_nan) return read.value;
      Fail(table_.path, line_number_, names_[i], "an empty cell", "a finite number");
    }
    Fail(table_.path, line_number_, names_[i], Excerpt(cell),
         read.kind == CellKind::kDecimalComma ? "a finite number with a decimal point"
                                              : "a finite number");
  }

  const CsvOptions& options_;
  Table table_;
  std::string rest_;  // start of a line whose end has not come yet
  std::size_t bytes_ = 0;
  int line_number_ = 0;
  bool have_header_ = false;
  char delimiter_ = ',';
  std::vector<std::string> names_;
  std::vector<bool> is_text_;
  std::vector<std::string_view> cells_;
  // cells_ points into these strings, which must keep their place
  std::deque<std::string> unquoted_;
  std::size_t n_unquoted_ = 0;
};

template <typename Values>
const Values& FindValues(const Table& table, std::string_view name,
                         const std::vector<std::string>& names, const std::vector<Values>& values,
                         const char* kind) {
  const auto place = std::find(names.begin(), names.end(), name);
  if (place != names.end()) return values[static_cast<std::size_t>(place - names.begin())];
  std::vector<std::string> all = table.columns;
  all.insert(all.end(), table.text_columns.begin(), table.text_columns.end());
  const std::string nearest = NearestName(name, all);
  const std::string hint =
      nearest.empty() ? std::string() : fmt::format("nearest is {}; ", Excerpt(nearest));
  throw DataError(fmt::format("{}: found no {} {}, {}the file has {}", table.path, kind,
                              Excerpt(name), hint, JoinNames(all)));
}

}  // namespace

bool Table::Has(std::string_view name) const {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

bool Table::HasText(std::string_view name) const {
  return std::find(text_columns.begin(), text_columns.end(), name) != text_columns.end();
}

const std::vector<double>& Table::Column(std::string_view name) const {
  return FindValues(*this, name, columns, values, "column");
}

const std::vector<std::string>& Table::TextColumn(std::string_view name) const {
  return FindValues(*this, name, text_columns, texts, "text column");
}

DataError Table::Fault(std::size_t row, std::string_view column, const std::string& found,
                       const std::string& allowed) const {
  return DataError(fmt::format("{}: row {}, column {}: found {}, allowed {}", path,
                               row < lines.size() ? lines[row] : 0, column, found, allowed));
}

Table ReadCsv(const std::filesystem::path& path, const CsvOptions& options) {
  CsvReader reader(path.string(), options);
  ReadPieces(path, options.max_bytes, [&](std::string_view piece) { reader.Take(piece); });
  return reader.Finish();
}

Table ParseCsv(std::string_view text, const std::string& name, const CsvOptions& options) {
  if (text.size() > options.max_bytes) {
    throw DataError(fmt::format("{}: found {} bytes, allowed at most {}", name, text.size(),
                                options.max_bytes));
  }
  CsvReader reader(name, options);
  reader.Take(text);
  return reader.Finish();
}

CsvWriter::CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& columns,
                     bool to_disk)
    : file_(path, to_disk), n_columns_(columns.size()) {
  for (const std::string& column : columns) Text(column);
  EndRow();
}

void CsvWriter::Separate() {
  if (n_cells_++ > 0) line_ += ',';
}

CsvWriter& CsvWriter::Number(double value) {
  Separate();
  if (std::isfinite(value)) {
    AppendNumber(line_, value);
  } else if (n_columns_ == 1) {
    line_ += "\"\"";  // a blank line would not count as a row
  }
  return *this;
}

CsvWriter& CsvWriter::Integer(long long value) {
  Separate();
  fmt::format_to(std::back_inserter(line_), "{}", value);
  return *this;
}

CsvWriter& CsvWriter::Text(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    if (c == '\t' || c == '\r' || c == '\n') c = ' ';
  }
  while (const auto fault = FindTextFault(clean)) clean[fault->offset] = ' ';

  Separate();
  const bool edge_space = !clean.empty() && (clean.front() == ' ' || clean.back() == ' ');
  // A first cell that starts with # would read as a comment.
  const bool quote = edge_space || clean.find_first_of(",;\"#") != std::string::npos ||
                     (clean.empty() && n_columns_ == 1);
  if (quote) line_ += '"';
  for (const char c : clean) {
    if (c == '"') line_ += '"';
    line_ += c;
  }
  if (quote) line_ += '"';
  return *this;
}

void CsvWriter::EndRow() {
  if (n_cells_ != n_columns_) {
    throw std::logic_error(fmt::format("{}: a row of {} cells below a header of {}",
                                       file_.path().string(), n_cells_, n_columns_));
  }
  line_ += '\n';
  file_.Write(line_);
  line_.clear();
  n_cells_ = 0;
}

void CsvWriter::Row(const std::vector<double>& values) {
  for (const double value : values) Number(value);
  EndRow();
}

void CsvWriter::Commit() {
  if (n_cells_ != 0)
    throw std::logic_error(fmt::format("{}: its last row was not ended", file_.path().string()));
  file_.Commit();
}

}  // namespace impactlab
