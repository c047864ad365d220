// One list of keys that reads, writes and explains.

#include "pipelines/config/visit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/yaml/questions.h"
#include "tests/support/faults.h"

namespace impactlab::pipelines {
namespace {

using ::testing::HasSubstr;

enum class Colour { kRed, kGreen };
constexpr EnumWord<Colour> kColours[] = {{Colour::kRed, "red"}, {Colour::kGreen, "green"}};

struct Lamp {
  std::string name;
  double power = 5;
};

struct Room {
  double height = 2.5;
  double floor = -1;  // below 0: not said
  int doors = 1;
  bool cellar = false;
  Colour colour = Colour::kRed;
  std::vector<double> size = {3, 4};
  std::vector<std::string> tests;
  std::filesystem::path plan;
  std::vector<Lamp> lamps, windows;
};

void VisitLamp(Keys& keys, Lamp& lamp) {
  keys.Text("name", lamp.name, "of the lamp", Need::kRequired);
  keys.Number("power_W", lamp.power, Positive(), "of the light");
}

void Visit(Keys& keys, Room& room) {
  keys.Number("height_m", room.height, Positive(), "from floor to ceiling");
  keys.Stated(room.floor >= 0).Number("floor_m", room.floor, NonNegative(), "above the street");
  keys.Count("doors", room.doors, Closed(1, 9), "that open");
  keys.Check(room.doors != 7, "doors", "seven", "any other number");
  keys.Map("below", "what is below", [&](Keys& k) { k.Flag("cellar", room.cellar, "a cellar"); });
  keys.Word("colour", room.colour, kColours, "of the walls");
  keys.Vector("size_m", room.size, 2, Positive(), "length and width");
  keys.Names("tests", room.tests, {"heat", "noise"}, {"none"}, "that were made");
  keys.File("plan", room.plan, "a drawing");
  keys.List("lamps", room.lamps, "on the ceiling", Style::kLines, VisitLamp);
  keys.List("windows", room.windows, "on the walls", Style::kFlow, VisitLamp);
  keys.WriteOrder({"doors", "height_m"});
}

Room Read(const std::string& text) {
  const YamlNode root = ParseYaml(text, "room.yaml");
  Room room = ReadKeys<Room>(root);
  root.Finish();
  return room;
}

TEST(Keys, MissingKeysLeaveDefaultsAndAreWrittenOut) {
  const Room room = Read("doors: 2\n");
  EXPECT_EQ(room.height, 2.5);
  EXPECT_EQ(room.floor, -1);
  EXPECT_EQ(room.doors, 2);
  EXPECT_EQ(WriteKeys(room, 0),
            "doors: 2\nheight_m: 2.5\nbelow:\n  cellar: false\ncolour: red\nsize_m: [3, 4]\n"
            "tests: none\n");
}

TEST(Keys, WhatIsWrittenReadsBack) {
  Room room;
  room.height = 1.0 / 3;
  room.floor = 0;
  room.cellar = true;
  room.colour = Colour::kGreen;
  room.tests = {"noise", "heat"};
  room.plan = "/drawings/a b.svg";
  room.lamps = {{"first: \"one\"", 3}, {"second", 4}};
  room.windows = {{"north", 1}};
  const std::string text = WriteKeys(room, 0);
  EXPECT_THAT(text, HasSubstr("\nlamps:\n  - name: \"first: \\\"one\\\"\"\n    power_W: 3\n"
                              "  - name: \"second\"\n    power_W: 4\n"));
  EXPECT_THAT(text, HasSubstr("\nwindows:\n  - {name: \"north\", power_W: 1}\n"));
  const Room again = Read(text);
  EXPECT_EQ(again.height, room.height);
  EXPECT_EQ(again.plan, room.plan);
  ASSERT_EQ(again.lamps.size(), 2u);
  EXPECT_EQ(again.lamps[0].name, room.lamps[0].name);
  EXPECT_EQ(WriteKeys(again, 0), text);
}

TEST(Keys, FaultsNameFileLineAndKey) {
  const auto fault = [](const std::string& text) { return test::FaultOf([&] { Read(text); }); };
  EXPECT_EQ(fault("doors: 7\n"), "room.yaml:1: doors: found seven, allowed any other number");
  EXPECT_THAT(fault("\nheight_m: 0\n"), HasSubstr("room.yaml:2: height_m: found '0', allowed"));
  EXPECT_THAT(fault("floor_m: -2\n"), HasSubstr("floor_m: found '-2'"));
  EXPECT_THAT(fault("colour: grean\n"), HasSubstr("nearest is green"));
  EXPECT_THAT(fault("tests: [heat, heart]\n"), HasSubstr("nearest is heat"));
  EXPECT_THAT(fault("tests: [heat, all]\n"), HasSubstr("all among other names"));
  EXPECT_THAT(fault("lamps:\n  - power_W: 3\n"), HasSubstr("lamps[0].name: found nothing"));
  EXPECT_THAT(fault("below: {celar: true}\n"), HasSubstr("nearest is cellar"));
}

TEST(Keys, TellWhatEveryKeyMeans) {
  const YamlQuestions questions;
  Read("windows:\n  - {name: north}\n");
  const auto meaning = [&](const std::string& key) {
    std::string out;
    for (const YamlQuestion& q : questions.all())
      if (q.key == key) out += q.meaning;
    return out;
  };
  EXPECT_EQ(meaning("height_m"), "from floor to ceiling");
  EXPECT_EQ(meaning("below.cellar"), "a cellar");
  EXPECT_EQ(meaning("windows[].power_W"), "of the light");
  for (const YamlQuestion& q : questions.all())
    if (q.key == "size_m" && q.otherwise) {
      EXPECT_EQ(*q.otherwise, "[3, 4]");
    }
}

struct Garden {
  bool fenced = false;
  std::string soil = "clay";
  std::vector<std::string> plants, owners;
  std::vector<std::vector<double>> trees, paths;
  Lamp lamp;
  std::string gate;  // never written
};

void Visit(Keys& keys, Garden& garden) {
  keys.Flag("fenced", garden.fenced, "all around", Need::kRequired);
  keys.OneOf("soil", garden.soil, {"clay", "sand"}, "under the grass");
  keys.Texts("plants", garden.plants, "that grow");
  keys.Stated(!garden.owners.empty()).Texts("owners", garden.owners, "by name");
  keys.Vectors("trees_m", garden.trees, 2, {}, Style::kLines, "where they stand");
  keys.Vectors("paths_m", garden.paths, 2, NonNegative(), Style::kFlow, "where they lie");
  keys.Map(
      "lamp", "at the gate", [&](Keys& k) { VisitLamp(k, garden.lamp); }, Need::kOptional,
      Style::kFlow);
  keys.Read("gate", "what it is made of", [&](const YamlNode& node, const char* key) {
    if (node.Has(key)) garden.gate = node.Text(key);
  });
}

Garden ReadGarden(const std::string& text) {
  const YamlNode root = ParseYaml(text, "garden.yaml");
  Garden garden = ReadKeys<Garden>(root);
  root.Finish();
  return garden;
}

constexpr const char* kGarden =
    "fenced: true\nsoil: sand\nplants: [\"rose\", \"an oak\"]\ntrees_m:\n  - [0, 1.5]\n"
    "  - [2, -3]\npaths_m: [[1, 0], [0, 1]]\nlamp: {name: \"gate lamp\", power_W: 7}\n";

TEST(Keys, MatricesTextsAndFlowMapsReadBackAsWritten) {
  const Garden garden = ReadGarden(std::string(kGarden) + "gate: iron\n");
  EXPECT_EQ(garden.trees, (std::vector<std::vector<double>>{{0, 1.5}, {2, -3}}));
  EXPECT_EQ(garden.plants, (std::vector<std::string>{"rose", "an oak"}));
  EXPECT_EQ(garden.soil, "sand");
  EXPECT_EQ(garden.lamp.power, 7);
  EXPECT_EQ(garden.gate, "iron");
  EXPECT_EQ(WriteKeys(garden, 0), kGarden);
}

TEST(Keys, FaultsOfMatricesWordsAndFlags) {
  const auto fault = [](const std::string& text) {
    return test::FaultOf([&] { ReadGarden(text); });
  };
  EXPECT_THAT(fault("soil: clay\n"), HasSubstr("fenced: found nothing"));
  EXPECT_THAT(fault("fenced: true\nsoil: loam\n"), HasSubstr("soil: found"));
  EXPECT_THAT(fault("fenced: true\npaths_m: [[0, -1]]\n"), HasSubstr("paths_m"));
  EXPECT_THAT(fault("fenced: true\ntrees_m: [[0, 1, 2]]\n"), HasSubstr("trees_m"));
  EXPECT_THAT(fault("fenced: true\nlamp: {power_W: 3}\n"), HasSubstr("lamp.name: found nothing"));
}

}  // namespace
}  // namespace impactlab::pipelines
