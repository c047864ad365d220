// What a calibration file says of the world is written as it is read, and refused with its place.

#include "pipelines/calibrate/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/yaml/yaml.h"
#include "pipelines/config/visit.h"
#include "tests/support/faults.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kTwo = {"left", "right"};

WorldConfig ReadWorld(const std::string& text) {
  const YamlNode root = ParseYaml(text, "rig.yaml");
  WorldConfig world;
  pipelines::Keys keys(root);
  Visit(keys, world, kTwo);
  root.Finish();
  return world;
}

std::string WriteWorld(WorldConfig world) {
  pipelines::Keys keys(0);
  Visit(keys, world, kTwo);
  return keys.text();
}

TEST(WorldConfig, IsWrittenAsItIsRead) {
  const std::string texts[] = {
      "world:\n  board:\n    shot: \"#1\"\n    thickness_m: 0.003\n    sd_thickness_m: 2e-04\n"
      "gravity:\n  plumb_line:\n    sd_px: 0.5\n    \"left\": [[610, 90], [612.5, 640]]\n"
      "    \"right\": [[590, 80], [588, 650]]\n",
      "world:\n  points:\n"
      "    - {name: \"corner\", at_m: [0, 0, 0], sd_m: 0, sd_px: 0.5, "
      "seen: {\"left\": [400, 500], \"right\": [420, 510]}}\n"
      "    - {name: \"point 2\", at_m: [0.3, 0, 0], sd_m: 0.001, sd_px: 1, "
      "seen: {\"left\": [800, 500], \"right\": [810, 515]}}\n"
      "    - {name: \"point 3\", at_m: [0, 0.2, 0], sd_m: 0, sd_px: 0.5, "
      "seen: {\"right\": [425, 320], \"left\": [410, 300]}}\n"
      "gravity:\n  direction: {frame: \"left\", down: [0, 1, 0.25], sd_rad: 0.01}\n"
      "lengths:\n"
      "  - {name: \"length 1\", length_m: 0.3, sd_m: 0, sd_px: 0.5, "
      "from: {\"left\": [100, 200], \"right\": [90, 210]}, "
      "to: {\"left\": [900, 220], \"right\": [880, 230]}}\n",
      "world:\n  given:\n    rotation: [[1, 0, 0], [0, 0, 1], [0, -1, 0]]\n"
      "    position_m: [0, -1, 0.3]\n    sd_rotation_rad: 0.001\n    sd_position_m: 0\n"};
  for (const std::string& text : texts) EXPECT_EQ(WriteWorld(ReadWorld(text)), text);
  EXPECT_EQ(WriteWorld({}), "");
}

TEST(WorldConfig, NamesWhatIsMissing) {
  const auto fault = [](const std::string& text) {
    return test::FaultOf([&] { ReadWorld(text); });
  };
  EXPECT_EQ(fault("world: {shots: 1}\n"),
            "rig.yaml:1: world: found 0 of the keys board, points, given, allowed exactly one of "
            "them");
  EXPECT_EQ(fault("world: {board: {thickness_m: 1}}\n"),
            "rig.yaml:1: world.board.shot: found nothing, allowed text (this key is required)");
  EXPECT_THAT(fault("world:\n  points:\n    - {at_m: [0, 0, 0], seen: {left: [1, 2]}}\n"),
              HasSubstr("rig.yaml:3: world.points[0].seen: found 1 cameras, allowed pixels"));
  EXPECT_THAT(fault("world: {given: {rotation: [[1, 0, 0], [0, 1, 0], [0, 0, -1]], "
                    "position_m: [0, 0, 0]}}\n"),
              HasSubstr("world.given.rotation: found a matrix that is no rotation"));
  EXPECT_THAT(fault("gravity: {direction: {frame: up, down: [0, 0, -1]}}\n"),
              HasSubstr("gravity.direction.frame: found 'up', allowed world | left | right"));
  EXPECT_THAT(fault("gravity: {direction: {frame: world, down: [0, 0, 0]}}\n"),
              HasSubstr("gravity.direction.down: found [0, 0, 0], allowed a direction"));
  EXPECT_THAT(fault("gravity: {plumb_line: {left: [[1, 2], [3, 4]]}}\n"),
              HasSubstr("gravity.plumb_line: found 1 cameras, allowed the string in two"));
  EXPECT_THAT(fault("gravity: {plumb_line: {middle: [[1, 2], [3, 4]]}}\n"),
              HasSubstr("gravity.plumb_line.middle: found a camera that is not in the list"));
}

}  // namespace
}  // namespace impactlab
