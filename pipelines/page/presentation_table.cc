#include "pipelines/page/presentation_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "pipelines/page/html.h"
#include "pipelines/page/markup.h"
#include "pipelines/page/page.h"

namespace impactlab {
namespace {

struct Shown {
  std::string value, sd;  // ASCII; empty where there is none
};

std::string Plain(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text[0] == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

Shown Show(const FormCell& cell) {
  if (!cell.text.empty() || !std::isfinite(cell.value)) return {cell.text, ""};
  if (std::isfinite(cell.sd) && cell.sd > 0) {
    const int decimals = pipelines::DecimalsFor(cell.sd);
    return {Plain(cell.value, decimals), Plain(cell.sd, decimals)};
  }
  const double size = std::abs(cell.value);
  if (cell.value == std::floor(cell.value) && size < 1e6) return {Plain(cell.value, 0), ""};
  if (size < 1e-4) return {fmt::format("{:.3g}", cell.value), ""};
  const int before = size > 0 ? static_cast<int>(std::floor(std::log10(size))) + 1 : 1;
  return {Plain(cell.value, std::clamp(4 - before, 0, 8)), ""};
}

std::string WithReplaced(const std::string& text,
                         const std::vector<std::pair<char, const char*>>& replace) {
  std::string out;
  for (const char c : text) {
    const auto found =
        std::find_if(replace.begin(), replace.end(), [&](const auto& r) { return r.first == c; });
    if (found != replace.end())
      out += found->second;
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

// What a LaTeX of any engine prints: its special characters, and the signs of formulas that its
// text fonts do not have.
std::string LatexText(const std::string& text) {
  std::string out = WithReplaced(text, {{'\\', "\\textbackslash{}"},
                                        {'&', "\\&"},
                                        {'%', "\\%"},
                                        {'$', "\\$"},
                                        {'#', "\\#"},
                                        {'_', "\\_"},
                                        {'{', "\\{"},
                                        {'}', "\\}"},
                                        // at the start of a row it would begin an option
                                        {'[', "{[}"},
                                        {'~', "\\textasciitilde{}"},
                                        {'^', "\\textasciicircum{}"},
                                        {'<', "$<$"},
                                        {'>', "$>$"},
                                        {'|', "$|$"},
                                        {'"', "''"}});
  static const std::pair<std::string, std::string> signs[] = {
      {"\u2212", "$-$"},       {"\u00B1", "$\\pm$"}, {"\u00D7", "$\\times$"},
      {"\u03C9", "$\\omega$"}, {"\u03BC", "$\\mu$"}, {"\u0394", "$\\Delta$"},
      {"\u00B0", "$^\\circ$"}};
  for (const auto& [sign, words] : signs)
    for (std::size_t at = 0; (at = out.find(sign, at)) != std::string::npos; at += words.size())
      out.replace(at, sign.size(), words);
  return out;
}

std::string MarkdownText(const std::string& text) {
  return WithReplaced(text, {{'|', "\\|"},
                             {'*', "\\*"},
                             {'_', "\\_"},
                             {'`', "\\`"},
                             {'<', "&lt;"},
                             {'[', "\\["},
                             {']', "\\]"}});
}

bool HasSd(const PresentationTable& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    return !row.empty() && std::isfinite(row[column].sd);
  });
}

}  // namespace

void PresentationTable::Row(std::vector<FormCell> cells) {
  if (!cells.empty() && cells.size() != columns.size())
    throw std::logic_error(fmt::format("form table {}: {} cells in a row of {} columns", name,
                                       cells.size(), columns.size()));
  rows.push_back(std::move(cells));
}

std::string ToMarkdown(const PresentationTable& table) {
  std::string out = table.caption.empty() ? std::string() : MarkdownText(table.caption) + "\n\n";
  std::string rule = "|";
  out += "|";
  for (const FormColumn& column : table.columns) {
    out += " " + MarkdownText(column.title) + " |";
    rule += column.number ? "---:|" : "---|";
  }
  out += "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    if (row.empty()) continue;
    out += "|";
    for (std::size_t k = 0; k < row.size(); ++k) {
      const Shown shown = Show(row[k]);
      const std::string value = table.columns[k].number ? shown.value : MarkdownText(shown.value);
      out += " " + (shown.sd.empty() ? value : value + " ± " + shown.sd) + " |";
    }
    out += "\n";
  }
  return out + (table.note.empty() ? std::string() : "\n" + MarkdownText(table.note) + "\n");
}

std::string ToLatex(const PresentationTable& table) {
  std::string columns;
  for (const FormColumn& column : table.columns) columns += column.number ? 'r' : 'l';
  std::string out = fmt::format(
      "\\begin{{table}}\n\\centering\\small\n\\caption{{{}}}\n\\begin{{tabular}}{{{}}}\n\\hline\n",
      LatexText(table.caption), columns);
  for (std::size_t k = 0; k < table.columns.size(); ++k)
    out += (k > 0 ? " & " : "") + LatexText(table.columns[k].title);
  out += " \\\\\n\\hline\n";
  for (const auto& row : table.rows) {
    if (row.empty()) {
      out += "\\hline\n";
      continue;
    }
    for (std::size_t k = 0; k < row.size(); ++k) {
      const Shown shown = Show(row[k]);
      if (k > 0) out += " & ";
      if (!shown.sd.empty())
        out += "$" + shown.value + " \\pm " + shown.sd + "$";
      else if (table.columns[k].number && ParseNumber(shown.value))
        out += "$" + shown.value + "$";
      else
        out += LatexText(shown.value);
    }
    out += " \\\\\n";
  }
  out += "\\hline\n\\end{tabular}\n";
  if (!table.note.empty()) out += "\n\\smallskip\n" + LatexText(table.note) + "\n";
  return out + "\\end{table}\n";
}

std::string ToHtml(const PresentationTable& table) {
  std::vector<std::string> headers;
  for (const FormColumn& column : table.columns)
    headers.push_back((column.number ? "#" : "") + pipelines::Escape(column.title));
  pipelines::HtmlTable html(pipelines::Escape(table.caption), headers);
  for (const auto& row : table.rows) {
    if (row.empty()) continue;
    std::vector<std::string> cells;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const Shown shown = Show(row[k]);
      std::string value = pipelines::Escape(shown.value);
      if (table.columns[k].number && !value.empty() && value[0] == '-')
        value = "\u2212" + value.substr(1);
      cells.push_back(shown.sd.empty() ? value : value + "\u00A0±\u00A0" + shown.sd);
    }
    html.Row(cells);
  }
  return html.Html() + (table.note.empty()
                            ? std::string()
                            : "<p class=\"foot\">" + pipelines::Escape(table.note) + "</p>");
}

void WriteFormCsv(const std::filesystem::path& path, const PresentationTable& table) {
  std::vector<std::string> names;
  std::vector<bool> has_sd;
  for (std::size_t k = 0; k < table.columns.size(); ++k) {
    has_sd.push_back(table.columns[k].number && HasSd(table, k));
    names.push_back(table.columns[k].name);
    if (has_sd.back()) names.push_back("sd_" + table.columns[k].name);
  }
  CsvWriter out(path, names);
  for (const auto& row : table.rows) {
    if (row.empty()) continue;
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (table.columns[k].number)
        out.Number(row[k].value);
      else
        out.Text(Show(row[k]).value);
      if (has_sd[k]) out.Number(row[k].sd);
    }
    out.EndRow();
  }
  out.Commit();
}

void WriteForm(const std::filesystem::path& path, const PresentationTable& table) {
  const std::string extension = path.extension().string();
  if (extension == ".csv") {
    WriteFormCsv(path, table);
  } else if (extension == ".md") {
    WriteFile(path, ToMarkdown(table));
  } else if (extension == ".tex") {
    WriteFile(path, ToLatex(table));
  } else if (extension == ".html") {
    pipelines::Page page;
    page.title = table.caption.empty() ? table.name : table.caption;
    page.head = pipelines::PageHeadHtml({.eyebrow = "ImpactLab", .title = page.title});
    pipelines::Section section;
    section.id = "table";
    section.title = "Table";
    section.html = ToHtml(table);
    page.sections.push_back(std::move(section));
    pipelines::WritePage(path, page, {});
  } else {
    throw ConfigError(
        fmt::format("table '{}': found extension '{}', allowed .csv, .md, .tex, .html",
                    path.string(), extension));
  }
}

void WriteForms(const std::filesystem::path& folder, const std::vector<PresentationTable>& tables) {
  for (const PresentationTable& table : tables)
    for (const char* extension : {".csv", ".md", ".tex"})
      WriteForm(folder / (table.name + extension), table);
}

}  // namespace impactlab
