#include "data/yaml/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/base/error.h"

namespace impactlab {
namespace {

using ::testing::ElementsAre;

TEST(YamlValues, AreTheKeysThatHoldNoFurtherKeysInTheirOrder) {
  const auto values = YamlValues(
      "name: \"a: b\"\n"
      "body:\n  side_m: 0.06 # comment\n  vertices_m:\n    - [0, 1]\n    - [2, 3]\n  none: ~\n"
      "provenance: {}\n",
      "test");
  std::vector<std::string> said;
  for (const YamlValue& value : values) {
    ASSERT_EQ(value.texts.size(), 1u);
    said.push_back(value.key + "=" + value.texts[0]);
  }
  EXPECT_THAT(said, ElementsAre("name=a: b", "body.side_m=0.06", "body.vertices_m=[[0, 1], [2, 3]]",
                                "body.none=", "provenance={}"));
}

TEST(YamlValues, EntriesOfAListOfMapsStandTogether) {
  const auto values = YamlValues(
      "groups:\n  - name: oak\n    recordings: drop_1*\n  - name: pine\n    files: {left: [a.mp4, "
      "b.mp4]}\n",
      "test");
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0].key, "groups[].name");
  EXPECT_THAT(values[0].texts, ElementsAre("oak", "pine"));
  EXPECT_EQ(values[1].key, "groups[].recordings");
  EXPECT_THAT(values[1].texts, ElementsAre("drop_1*"));
  EXPECT_EQ(values[2].key, "groups[].files.left");
  EXPECT_THAT(values[2].texts, ElementsAre("[a.mp4, b.mp4]"));
}

TEST(YamlValues, RefusesWhatNoReaderReads) {
  EXPECT_THROW(YamlValues("a: 1\na: 2\n", "test"), ConfigError);
}

}  // namespace
}  // namespace impactlab
