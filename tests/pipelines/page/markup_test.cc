#include "pipelines/page/markup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "pipelines/page/page.h"
#include "pipelines/page/svg_axes.h"
#include "tests/support/folder.h"
#include "tests/support/html.h"
#include "tests/support/process.h"

namespace impactlab::pipelines {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Markup, EscapesTextAndKeepsHtml) {
  EXPECT_EQ(FillTemplate("<p>{{a}}</p>{{{b}}}", {.texts = {{"a", "x < 'y'"}, {"b", "<i>z</i>"}}}),
            "<p>x &lt; &#39;y&#39;</p><i>z</i>");
  EXPECT_EQ(FillTemplate("{{a}}", {.texts = {{"a", "\xff"}}}), "\uFFFD");
}

TEST(Markup, SectionsFollowFlagsTextsAndLists) {
  const std::string markup = "{{#on}}A{{/on}}{{#t}}[{{t}}]{{/t}}{{#l}}({{n}}{{#on}}!{{/on}}){{/l}}";
  EXPECT_EQ(FillTemplate(markup, {}), "");
  EXPECT_EQ(FillTemplate(markup, {.texts = {{"t", ""}}, .flags = {{"on", false}}}), "");
  EXPECT_EQ(
      FillTemplate(markup, {.texts = {{"t", "x"}},
                            .flags = {{"on", true}},
                            .lists = {{"l", {{.texts = {{"n", "1"}}}, {.texts = {{"n", "2"}}}}}}}),
      "A[x](1!)(2!)");
  EXPECT_THROW(FillTemplate("{{#open}}", {}), std::logic_error);
}

TEST(Markup, HeadHoldsWhatIsGivenOnly) {
  const std::string bare = PageHeadHtml({.eyebrow = "kind", .title = "a & b"});
  EXPECT_THAT(bare, HasSubstr("<h1>a &amp; b</h1>"));
  EXPECT_THAT(bare, Not(HasSubstr("lead")));
  EXPECT_THAT(bare, Not(HasSubstr("tiles")));
  const std::string full = PageHeadHtml({.eyebrow = "kind",
                                         .title = "t",
                                         .lead = "<b>l</b>",
                                         .remarks = {{"notice", "n1"}, {"second", "n2"}},
                                         .tiles = Tile("x", "1", ""),
                                         .rest = "<p>r</p>"});
  for (const char* part : {"<p class=\"lead\"><b>l</b></p>", "<p class=\"notice\">n1</p>",
                           "<p class=\"second\">n2</p>", "<dl class=\"tiles\"><div class=\"tile\">",
                           "<p>r</p></header>"})
    EXPECT_THAT(full, HasSubstr(part));
}

TEST(Markup, APageIsWholeAndItsTextsAreNoTemplates) {
  const test::TemporaryFolder folder;
  Page page;
  page.title = "a {{title}} & </title>";
  page.head = "<p>{{#sections}}</p>";
  Section section{.id = "one", .title = "One & two", .html = "<p>{{{html}}}</p>", .figures = {}};
  page.sections = {section};
  page.data = {{"rig-data", "{\"x\":\"</script>\"}"}};
  WritePage(folder / "page.html", page, {});
  const std::string text = test::ReadText(folder / "page.html");
  EXPECT_EQ(test::HtmlFault(text), "");
  EXPECT_TRUE(text.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
  for (const char* part :
       {"<title>a {{title}} &amp; &lt;/title&gt;</title>", "<p>{{#sections}}</p>",
        "<section id=\"one\" aria-labelledby=\"one-title\"><h2 id=\"one-title\">One &amp; two</h2>",
        "<p>{{{html}}}</p></section>", "<li><a href=\"#one\">One &amp; two</a></li>",
        "id=\"rig-data\">{\"x\":\"\\u003c/script>\"}</script>",
        "id=\"recording-data\">[]</script>"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("figure-data")));
  EXPECT_THAT(text, Not(HasSubstr("plotting library was not installed")));
}

TEST(SvgAxes, TicksLieOnTheScale) {
  const AxisScale scale{-1, 3, 100, 20};  // drawn from right to left, as a y axis is
  EXPECT_EQ(scale(-1), 100);
  EXPECT_EQ(scale(3), 20);
  const std::vector<AxisTick> ticks = AxisTicks(scale, 4);
  ASSERT_EQ(ticks.size(), 5U);
  EXPECT_EQ(ticks[0].label, "\u22121");
  EXPECT_EQ(ticks[4].label, "3");
  EXPECT_NEAR(ticks[1].px, 80, 1e-12);
  EXPECT_EQ(TickLinesX({{10.04, "a"}}, 5, 20.25), "M10.0 5V20.3");
  EXPECT_EQ(TickLinesY({{10.06, "a"}}, 5, 9), "M5 10.1H9");
  EXPECT_EQ(TickTextsX({{7, "a"}}, 3, "class=\"tick\""),
            "<text class=\"tick\" x=\"7.0\" y=\"3\">a</text>");
  EXPECT_EQ(TickTextsY({{7, "a"}}, 3, ""), "<text  x=\"3\" y=\"11.0\">a</text>");
  EXPECT_TRUE(AxisTicks({1, 1, 0, 10}, 5).empty());
}

}  // namespace
}  // namespace impactlab::pipelines
