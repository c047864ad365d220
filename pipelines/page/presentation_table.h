#pragma once
// A table for people and programs, written once and given as CSV, Markdown, LaTeX or HTML.

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace impactlab {

struct FormColumn {
  std::string name;     // of the CSV column, with its unit: "v_plus_x_m_per_s"
  std::string title;    // for people, plain text: "v_x+ [m/s]"
  bool number = false;  // else text
};

// A text, or a number with its standard deviation. A number with a text is shown as that text: as
// it was printed.
struct FormCell {
  std::string text;
  double value = std::numeric_limits<double>::quiet_NaN(),
         sd = std::numeric_limits<double>::quiet_NaN();

  FormCell(std::string words = {}) : text(std::move(words)) {}
  FormCell(const char* words) : text(words) {}
  FormCell(double number, double standard_deviation = std::numeric_limits<double>::quiet_NaN())
      : value(number), sd(standard_deviation) {}
  FormCell(double number, std::string as_printed) : text(std::move(as_printed)), value(number) {}
};

struct PresentationTable {
  std::string name;  // of its files, e.g. "comparison"
  std::string caption = {}, note = {};
  std::vector<FormColumn> columns = {};
  // as many cells as columns; a row of none draws a line between groups
  std::vector<std::vector<FormCell>> rows = {};

  // std::logic_error where their number differs from the columns'
  void Row(std::vector<FormCell> cells);
};

// Numbers with a standard deviation are cut to two digits of it. Markdown: a pipe table. LaTeX: a
// `table` with a plain `tabular`, which needs no package. HTML: an element for a page of the
// program.
std::string ToMarkdown(const PresentationTable& table);
std::string ToLatex(const PresentationTable& table);
std::string ToHtml(const PresentationTable& table);
// Columns by their names; a column of numbers with standard deviations is followed by `sd_NAME`.
// Full precision, empty where there is none.
void WriteFormCsv(const std::filesystem::path& path, const PresentationTable& table);

// By the extension of `path`: .csv, .md, .tex, or .html (a page of its own). ConfigError for any
// other.
void WriteForm(const std::filesystem::path& path, const PresentationTable& table);
// NAME.csv, NAME.md and NAME.tex in a folder.
void WriteForms(const std::filesystem::path& folder, const std::vector<PresentationTable>& tables);

}  // namespace impactlab
