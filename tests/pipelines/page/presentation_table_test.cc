#include "pipelines/page/presentation_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "data/base/error.h"
#include "data/files/table.h"
#include "tests/support/folder.h"
#include "tests/support/html.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PresentationTable Example() {
  PresentationTable form{"example", "Loss & gain of 50 % in rod_A", "a note"};
  form.columns = {{"experiment", "experiment"},
                  {"v_plus_x_m_per_s", "vx+ [m/s]", true},
                  {"omega", "ω [rad/s]", true}};
  form.Row({"A | b_c", FormCell(-0.123456, 0.0123), FormCell(-15.1, "-15.10")});
  form.Row({});
  form.Row({"[B] <i>", FormCell(2.0), FormCell()});
  return form;
}

TEST(PresentationTable, MarkdownHasOneCellAColumn) {
  const std::string text = ToMarkdown(Example());
  EXPECT_THAT(text, HasSubstr("| A \\| b\\_c | -0.123 ± 0.012 | -15.10 |\n"));
  EXPECT_THAT(text, HasSubstr("| \\[B\\] &lt;i> | 2 |  |\n"));
  EXPECT_THAT(text, HasSubstr("|---|---:|---:|"));
}

// What a LaTeX run needs: braces and environments closed, as many cells in a row as columns, no
// bare special character, dollars in pairs.
TEST(PresentationTable, LatexIsWellFormed) {
  const std::string text = ToLatex(Example());
  EXPECT_EQ(std::count(text.begin(), text.end(), '{'), std::count(text.begin(), text.end(), '}'));
  EXPECT_THAT(text, HasSubstr("\\begin{tabular}{lrr}"));
  EXPECT_THAT(text, HasSubstr("$-0.123 \\pm 0.012$ & $-15.10$ \\\\\n"));
  EXPECT_THAT(text, HasSubstr("Loss \\& gain of 50 \\% in rod\\_A"));
  EXPECT_THAT(text, HasSubstr("$\\omega$ {[}rad/s]"));
  EXPECT_THAT(text, HasSubstr("{[}B] $<$i$>$ & $2$ & "));
  std::size_t from = 0;
  int rows = 0;
  while ((from = text.find(" \\\\\n", from)) != std::string::npos) {
    const std::size_t begin = text.rfind('\n', from) + 1;
    const std::string line = text.substr(begin, from - begin);
    int cells = 1;
    for (std::size_t i = 0; i < line.size(); ++i)
      cells += line[i] == '&' && (i == 0 || line[i - 1] != '\\');
    EXPECT_EQ(cells, 3) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '$') % 2, 0) << line;
    ++rows;
    from += 4;
  }
  EXPECT_EQ(rows, 3);
}

TEST(PresentationTable, CsvReadsBackWithItsStandardDeviations) {
  const test::TemporaryFolder folder;
  WriteForm(folder / "example.csv", Example());
  CsvOptions options;
  options.text_columns = {"experiment"};
  options.empty_is_nan = true;
  const Table table = ReadCsv(folder / "example.csv", options);
  EXPECT_EQ(table.columns,
            (std::vector<std::string>{"v_plus_x_m_per_s", "sd_v_plus_x_m_per_s", "omega"}));
  ASSERT_EQ(table.n_rows(), 2U);
  EXPECT_EQ(table.Column("v_plus_x_m_per_s")[0], -0.123456);
  EXPECT_EQ(table.Column("sd_v_plus_x_m_per_s")[0], 0.0123);
  EXPECT_TRUE(std::isnan(table.Column("sd_v_plus_x_m_per_s")[1]));
  EXPECT_EQ(table.Column("omega")[0], -15.1);
  EXPECT_EQ(table.TextColumn("experiment")[0], "A | b_c");
}

TEST(PresentationTable, PageIsWholeAndEscaped) {
  const test::TemporaryFolder folder;
  WriteForm(folder / "example.html", Example());
  const std::string page = test::ReadText(folder / "example.html");
  EXPECT_EQ(test::HtmlFault(page), "");
  EXPECT_THAT(page, HasSubstr("[B] &lt;i&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
}

TEST(PresentationTable, RefusesWhatItCannotWrite) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(WriteForm(folder / "example.docx", Example()), ConfigError);
  PresentationTable form = Example();
  EXPECT_THROW(form.Row({"one"}), std::logic_error);
}

}  // namespace
}  // namespace impactlab
