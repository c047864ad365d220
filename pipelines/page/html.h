#pragma once
// Small pieces of HTML of the pages: escaping, numbers with their uncertainty, tables and
// interval charts.

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/restitution_law.h"

namespace impactlab::pipelines {

// Text for element content and quoted attributes. Bytes that are not UTF-8 become U+FFFD, control
// characters spaces.
std::string Escape(std::string_view text);

// JSON text that may stand inside a <script> element: no '<' survives, so neither "</script>" nor
// "<!--" can end it.
std::string ScriptSafe(std::string json);

// With a minus sign in place of every hyphen.
std::string TypographicMinus(std::string text);
// With a typographic apostrophe in place of every straight one.
std::string TypographicApostrophes(std::string text);

// A number for people, to `significant` digits, with a typographic minus; an en dash for NaN, an
// infinity sign for infinity.
std::string Num(double value, int significant = 3);
// With a fixed number of decimals.
std::string Fixed(double value, int decimals);
// 0.0412 -> "4.1 %" (no-break space); two significant digits below 10 %.
std::string Percent(double share);
// Decimals that show two significant digits of `sd`, between 0 and 6; 3 where the sd is zero or
// not finite.
int DecimalsFor(double sd);
// "0.103 ± 0.006"
std::string ValueSd(double value, double sd);
// "0.091 to 0.115", "at least 0.09" or "at most 0.115" where a side is open.
std::string BoundsText(double lower, double upper, double sd,
                       double lower_limit = -std::numeric_limits<double>::infinity());
// "1 recording", "2 recordings"
std::string Count(long long n, std::string_view noun);

// Plain names of laws, coefficients (HTML with subscripts) and quantities of the tables; unknown
// names pass through, escaped.
std::string LawTitle(std::string_view law);   // "Newton"
std::string LawPhrase(std::string_view law);  // "Newton’s law", "the energetic law"
std::string LawOwner(RestitutionLaw law);     // "Newton’s", "the energetic"
std::string SymbolHtml(std::string_view parameter);
std::string QuantityTitle(std::string_view quantity);  // plain text, not escaped
std::string ReasonTitle(std::string_view reason);      // plain text, not escaped
// frame error of the audit, plain text, not escaped
std::string ErrorTitle(std::string_view parameter);

// A table in a box of its own that scrolls sideways on narrow screens. Cells are HTML; a header
// that starts with '#' is a column of numbers.
class HtmlTable {
 public:
  HtmlTable(std::string caption, const std::vector<std::string>& headers);
  void Row(const std::vector<std::string>& cells, std::string_view row_class = {});
  int rows() const { return rows_; }
  std::string Html(bool tall = false) const;  // tall: also scrolls down, for long lists

 private:
  std::string caption_, body_;
  std::vector<std::string> headers_;
  std::vector<bool> numeric_;
  int rows_ = 0;
};

// Values with their 95 % intervals on one scale, one row each; an open side ends in an arrow.
// `reference` draws a line through all rows.
struct IntervalRow {
  std::string label;  // plain text
  double value = 0, lower = 0, upper = 0;
  bool muted = false;  // not identifiable or not determined
};
std::string IntervalChart(const std::string& title, const std::string& unit,
                          const std::vector<IntervalRow>& rows,
                          double reference = std::numeric_limits<double>::quiet_NaN(),
                          const std::string& reference_label = {});

}  // namespace impactlab::pipelines
