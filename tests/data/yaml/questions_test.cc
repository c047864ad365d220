#include "data/yaml/questions.h"

#include <gtest/gtest.h>

#include "data/yaml/yaml.h"

namespace impactlab {
namespace {

TEST(YamlQuestions, TellWhatWasAskedWithWhatIsAllowedAndAssumed) {
  const YamlQuestions questions;
  const YamlNode root =
      ParseYaml("a: 1\nlist:\n  - {b: 2}\n  - {b: 3}\nfree: {left: x}\n", "f.yaml");
  EXPECT_EQ(root.Number("a", Positive()), 1);
  EXPECT_EQ(root.Integer("c", 7, Closed(1, 9)), 7);
  for (const YamlNode& node : root.List("list")) node.Number("b");
  const YamlNode free = root.Map("free");
  for (const std::string& name : free.Keys()) free.Text(name);
  EXPECT_FALSE(root.Has("d"));

  const auto of = [&](const std::string& key) {
    std::vector<YamlQuestion> out;
    for (const YamlQuestion& q : questions.all())
      if (q.key == key) out.push_back(q);
    return out;
  };
  ASSERT_EQ(of("a").size(), 1u);
  EXPECT_EQ(of("a")[0].file, "f.yaml");
  EXPECT_EQ(of("a")[0].allowed, Positive().Words());
  EXPECT_EQ(of("a")[0].line, 1);
  EXPECT_FALSE(of("a")[0].optional);
  ASSERT_FALSE(of("c").empty());
  EXPECT_EQ(of("c")[0].otherwise, "7");
  EXPECT_EQ(of("c")[0].allowed, "a whole number from 1 to 9");
  EXPECT_TRUE(of("c")[0].optional);
  EXPECT_EQ(of("c")[0].line, 0);
  ASSERT_EQ(of("list[].b").size(), 2u);
  EXPECT_EQ(of("list[].b")[1].line, 4);
  ASSERT_FALSE(of("free.left").empty());
  EXPECT_TRUE(of("free.left")[0].free_name);
  EXPECT_TRUE(of("d")[0].optional);
}

TEST(YamlQuestions, GoToTheInnermostListenerAndEndWithIt) {
  const YamlQuestions outer;
  const YamlNode root = ParseYaml("a: 1\n", "f.yaml");
  {
    const YamlQuestions inner;
    root.Has("a");
    EXPECT_EQ(inner.all().size(), 1u);
  }
  EXPECT_TRUE(outer.all().empty());
  root.Has("a");
  EXPECT_EQ(outer.all().size(), 1u);
}

}  // namespace
}  // namespace impactlab
