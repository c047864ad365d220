#include "data/yaml/yaml.h"

#include <random>

#include "data/files/text.h"
#include "tests/data/message.h"

namespace impactlab {
namespace {

using test::MessageOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string LoadFault(const std::string& text) {
  std::string message = MessageOf<ConfigError>([&] { ParseYaml(text, "e.yaml"); });
  EXPECT_THAT(message, StartsWith("e.yaml:"));
  EXPECT_THAT(message, HasSubstr(": found "));
  EXPECT_THAT(message, HasSubstr(", allowed "));
  return message;
}

template <typename Action>
std::string ReadFault(const std::string& text, Action&& action) {
  const YamlNode root = ParseYaml(text, "e.yaml");
  std::string message = MessageOf<ConfigError>([&] { action(root); });
  EXPECT_THAT(message, HasSubstr(": found "));
  EXPECT_THAT(message, HasSubstr(", allowed "));
  return message;
}

TEST(Yaml, ReadsEveryKindOfValue) {
  const YamlNode root = ParseYaml(R"(# comment with a	tab
name: steel cube
mass_kg: 0.37
count: -12
on: true
off: false
gravity_m_per_s2: [0, 0, -9.81]
vertices_m:
  - [0, 0]
  - [1.5, +2e-3]
files: ["a b.csv", c*.csv]
one: single
surface:
  kind: plane
  tilt_rad: 0.1
recordings:
  - file: a.csv
  - file: b.csv
    skip: true
block: |
  two
  lines
)",
                                  "folder/e.yaml");
  EXPECT_EQ(root.Text("name"), "steel cube");
  EXPECT_EQ(root.Number("mass_kg", Positive()), 0.37);
  EXPECT_EQ(root.Integer("count"), -12);
  EXPECT_EQ(root.Number("count"), -12.0);
  EXPECT_TRUE(root.Flag("on"));
  EXPECT_FALSE(root.Flag("off", true));
  EXPECT_EQ(root.Vector("gravity_m_per_s2", 3), (std::vector<double>{0, 0, -9.81}));
  EXPECT_EQ(root.Vectors("vertices_m", 2), (std::vector<std::vector<double>>{{0, 0}, {1.5, 2e-3}}));
  EXPECT_EQ(root.Texts("files"), (std::vector<std::string>{"a b.csv", "c*.csv"}));
  EXPECT_EQ(root.Texts("one"), std::vector<std::string>{"single"});
  const YamlNode surface = root.Map("surface");
  EXPECT_EQ(surface.Choice("kind", {"plane", "box"}), "plane");
  EXPECT_EQ(surface.Number("tilt_rad", Closed(-1, 1)), 0.1);
  EXPECT_EQ(surface.FullName("kind"), "surface.kind");
  EXPECT_EQ(surface.Where("tilt_rad"), "folder/e.yaml:15");
  EXPECT_EQ(surface.Where(), "folder/e.yaml:13");
  const std::vector<YamlNode> recordings = root.List("recordings");
  ASSERT_EQ(recordings.size(), 2u);
  EXPECT_EQ(recordings[1].Text("file"), "b.csv");
  EXPECT_EQ(recordings[1].FullName("file"), "recordings[1].file");
  EXPECT_TRUE(recordings[1].Flag("skip", false));
  EXPECT_EQ(recordings[0].Text("file"), "a.csv");
  EXPECT_FALSE(recordings[0].Flag("skip", false));
  EXPECT_EQ(root.Text("block"), "two\nlines\n");
  EXPECT_EQ(root.Folder(), "folder");
  EXPECT_THAT(root.Source(), HasSubstr("steel cube"));
  root.Finish();
}

TEST(Yaml, Defaults) {
  const YamlNode root = ParseYaml("present: 1\nempty_map:\n", "e.yaml");
  EXPECT_EQ(root.Number("a", 2), 2.0);
  EXPECT_EQ(root.Number("a", 20, Closed(0, 1)), 20.0);
  EXPECT_EQ(root.Integer("b", 3), 3);
  EXPECT_EQ(root.Text("c", "x"), "x");
  EXPECT_EQ(root.Choice("c", "z", {"x", "y"}), "z");
  EXPECT_EQ(root.Vector("d", 3, {0, 0, 1}), (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(root.Texts("e", {"x"}), std::vector<std::string>{"x"});
  EXPECT_EQ(root.Number("present", 7), 1.0);
  EXPECT_FALSE(root.Has("f"));
  EXPECT_EQ(root.MapOrEmpty("g").Number("h_m", 4), 4.0);
  EXPECT_EQ(root.MapOrEmpty("empty_map").Number("h_m", 5), 5.0);
  root.Finish();
  EXPECT_EQ(YamlNode().Number("x", 1), 1.0);
  YamlNode().Finish();
}

TEST(Yaml, DocumentsThatAreRefused) {
  using namespace std::string_literals;
  EXPECT_THAT(LoadFault(""), HasSubstr("found nothing"));
  EXPECT_THAT(LoadFault("# only a comment\n"), HasSubstr("found nothing"));
  EXPECT_THAT(LoadFault("---\n"), HasSubstr("found nothing"));
  EXPECT_THAT(LoadFault("- 1\n- 2\n"), HasSubstr("found a list"));
  EXPECT_THAT(LoadFault("mass:3\n"), HasSubstr("'mass:3'"));
  EXPECT_THAT(LoadFault("a: 1\n---\nb: 2\n"), HasSubstr("second document"));
  EXPECT_THAT(LoadFault("a: 1\nb: 2\na: 3\n"),
              AllOf(StartsWith("e.yaml:3: a:"), HasSubstr("first on line 1")));
  EXPECT_THAT(LoadFault("m:\n  a: 1\n  a: 3\n"), StartsWith("e.yaml:3: a:"));
  EXPECT_THAT(LoadFault("m: {a: 1, a: 2}\n"), HasSubstr("the key again"));
  EXPECT_THAT(LoadFault("a: 1\nm:\n\tb: 2\n"), AllOf(StartsWith("e.yaml:3:"), HasSubstr("a tab")));
  EXPECT_THAT(LoadFault("a:\t1\n"), HasSubstr("a tab"));
  EXPECT_THAT(LoadFault("\xEF\xBB\xBF"
                        "a: 1\n"),
              HasSubstr("byte order mark of UTF-8"));
  EXPECT_THAT(LoadFault("\xFF\xFE"
                        "a\0:\0"s),
              HasSubstr("byte order mark of UTF-16"));
  EXPECT_THAT(LoadFault("a: 1\nname: caf\xE9\n"),
              AllOf(StartsWith("e.yaml:2:"), HasSubstr("0xE9")));
  EXPECT_THAT(LoadFault("a: \"x\0y\"\n"s), HasSubstr("binary byte 0x00"));
  EXPECT_THAT(LoadFault("a: 1\nb: [1, 2\n"), StartsWith("e.yaml:"));
  EXPECT_THAT(LoadFault("b: caf\xC3\xA9\r\na: \"open\n"),
              AllOf(StartsWith("e.yaml:2:"), HasSubstr("stays open")));
  EXPECT_THAT(LoadFault("a: 'it''s open\n"), HasSubstr("stays open"));
  EXPECT_THAT(LoadFault("a: \"escaped \\\"\n"), HasSubstr("stays open"));
  EXPECT_THAT(LoadFault("\"a: 1\n"), HasSubstr("found"));
  EXPECT_THAT(LoadFault("a: 1\n b: 2\n"), StartsWith("e.yaml:2:"));
  EXPECT_THAT(LoadFault("a: !!float 3\n"), HasSubstr("tag"));
  EXPECT_THAT(LoadFault("a: !weird [1]\n"), HasSubstr("tag"));
  EXPECT_THAT(LoadFault("? [1, 2]\n: 3\n"), HasSubstr("as a key"));
  EXPECT_THAT(LoadFault("~: 3\n"), HasSubstr("an empty key"));
  EXPECT_THAT(LoadFault("\"\": 3\n"), HasSubstr("an empty key"));
}

TEST(Yaml, AnchorsAndBombsAreRefused) {
  EXPECT_THAT(LoadFault("a: &x 1\nb: *x\n"), AllOf(StartsWith("e.yaml:1:"), HasSubstr("anchor")));
  EXPECT_THAT(LoadFault("a: *nobody\n"), StartsWith("e.yaml:1:"));
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i)
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            ", *a" + std::to_string(i - 1) + "]\n";
  EXPECT_THAT(LoadFault(bomb), HasSubstr("anchor"));
}

TEST(Yaml, HostileSizesEndSoon) {
  EXPECT_THAT(LoadFault("a: " + std::string(2 << 20, 'x')), HasSubstr("1 MB"));
  EXPECT_THAT(LoadFault("a: " + std::string(500000, '[')), HasSubstr("found"));
  EXPECT_THAT(LoadFault("a: [" + std::string(500000, '\n') + "["), HasSubstr("found"));
  EXPECT_THAT(LoadFault("a: " + std::string(500000, '{')), HasSubstr("found"));
  std::string deep, wide;
  for (int i = 0; i < 200; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "k:\n";
  EXPECT_THAT(LoadFault(deep), HasSubstr("levels"));
  for (int i = 0; i < 100000; ++i) wide += "k" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(LoadFault(wide), HasSubstr("keys"));
  EXPECT_THAT(LoadFault("a: " + std::string(400000, '"')), HasSubstr("found"));
  LoadFault(std::string(500000, '-'));
  LoadFault(std::string(500000, '?'));
  std::string dashes;
  for (int i = 0; i < 200000; ++i) dashes += "- ";
  LoadFault("a:\n  " + dashes);
}

TEST(Yaml, ThirtyTwoLevelsAreAllowed) {
  const std::string open(31, '['), close(31, ']');
  ParseYaml("a: " + open + "1" + close + "\n", "e.yaml");
  EXPECT_THAT(LoadFault("a: [" + open + "1" + close + "]\n"), HasSubstr("32"));
}

TEST(Yaml, WrongNumbers) {
  for (const char* text :
       {".nan", ".NaN", ".inf", "-.inf", "nan", "inf", "0x10", "1_000", "1,5", "1e400", "true", "~",
        "", "abc", "[1]", "{b: 1}", "\"0.5\"", "'0.5'", "1 2"}) {
    const std::string message = ReadFault(std::string("x: 1\na: ") + text + "\n",
                                          [](const YamlNode& root) { root.Number("a"); });
    EXPECT_THAT(message,
                AllOf(StartsWith("e.yaml:2: a: found "), HasSubstr("allowed a finite number")))
        << text;
    EXPECT_THAT(ReadFault(std::string("a: ") + text + "\n",
                          [](const YamlNode& root) { root.Number("a", 1); }),
                StartsWith("e.yaml:1: a:"));
  }
  for (const char* text :
       {"3.5", "3.0", "1e3", "99999999999999999999", "\"3\"", "+-3", "[3]", "3 apples"}) {
    EXPECT_THAT(
        ReadFault(std::string("a: ") + text, [](const YamlNode& root) { root.Integer("a"); }),
        HasSubstr("a whole number"))
        << text;
  }
  EXPECT_EQ(ParseYaml("a: +3", "e").Integer("a"), 3);
}

TEST(Yaml, RangesAreChecked) {
  const auto fault = [](const char* text, const Range& range) {
    return ReadFault(std::string("a: ") + text,
                     [&](const YamlNode& root) { root.Number("a", range); });
  };
  EXPECT_THAT(fault("0", Positive()), HasSubstr("found '0', allowed a finite number above 0"));
  EXPECT_THAT(fault("-1e-9", NonNegative()), HasSubstr("of at least 0"));
  EXPECT_THAT(fault("1.5", Closed(0, 1)), HasSubstr("from 0 to 1"));
  EXPECT_THAT(fault("1", Open(0, 1)), HasSubstr("above 0 and below 1"));
  Range half = Closed(0, 1);
  half.hi_open = true;
  EXPECT_THAT(fault("1", half), HasSubstr("of at least 0 and below 1"));
  Range below;
  below.hi = 5;
  EXPECT_THAT(fault("6", below), HasSubstr("at most 5"));
  EXPECT_EQ(ParseYaml("a: 0", "e").Number("a", NonNegative()), 0.0);
  EXPECT_EQ(ParseYaml("a: 1", "e").Number("a", Closed(0, 1)), 1.0);
  EXPECT_THAT(ReadFault("a: 3", [](const YamlNode& root) { root.Integer("a", Closed(4, 8)); }),
              HasSubstr("a whole number from 4 to 8"));
  EXPECT_FALSE(Range().Contains(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_THAT(
      ReadFault("a: [1, -2]", [](const YamlNode& root) { root.Vector("a", 2, Positive()); }),
      StartsWith("e.yaml:1: a[1]: found '-2'"));
}

TEST(Yaml, WrongKinds) {
  EXPECT_THAT(ReadFault("a: yes", [](const YamlNode& root) { root.Flag("a"); }),
              HasSubstr("true or false"));
  EXPECT_THAT(ReadFault("a: \"true\"", [](const YamlNode& root) { root.Flag("a"); }),
              HasSubstr("in quotes"));
  EXPECT_THAT(ReadFault("a: True", [](const YamlNode& root) { root.Flag("a"); }),
              HasSubstr("true or false"));
  EXPECT_THAT(ReadFault("a: [x]", [](const YamlNode& root) { root.Text("a"); }),
              HasSubstr("a list of 1"));
  EXPECT_THAT(ReadFault("a: ''", [](const YamlNode& root) { root.Text("a"); }),
              HasSubstr("empty text"));
  EXPECT_THAT(ReadFault("a:\n", [](const YamlNode& root) { root.Text("a"); }),
              HasSubstr("nothing"));
  EXPECT_THAT(ReadFault("a: blue",
                        [](const YamlNode& root) {
                          root.Choice("a", {"red", "green"});
                        }),
              HasSubstr("allowed red | green"));
  EXPECT_THAT(ReadFault("a: [1, 2]", [](const YamlNode& root) { root.Vector("a", 3); }),
              HasSubstr("found a list of 2, allowed a list of 3 numbers"));
  EXPECT_THAT(ReadFault("a: 3", [](const YamlNode& root) { root.Vector("a", -1); }),
              HasSubstr("a list of numbers"));
  EXPECT_THAT(ReadFault("a: []", [](const YamlNode& root) { root.Vector("a", -1); }),
              HasSubstr("a list of 0"));
  EXPECT_THAT(ReadFault("a:\n  - 1\n  - x\n", [](const YamlNode& root) { root.Vector("a", 2); }),
              StartsWith("e.yaml:3: a[1]: found 'x'"));
  EXPECT_THAT(ReadFault("a: [[1, 2], [1]]", [](const YamlNode& root) { root.Vectors("a", 2); }),
              HasSubstr("a[1]"));
  EXPECT_THAT(
      ReadFault("a: [[1, 2], [1, .inf]]", [](const YamlNode& root) { root.Vectors("a", 2); }),
      HasSubstr("a[1][1]"));
  EXPECT_THAT(ReadFault("a: 3", [](const YamlNode& root) { root.Map("a"); }),
              HasSubstr("a map of keys"));
  EXPECT_THAT(ReadFault("a: 3", [](const YamlNode& root) { root.MapOrEmpty("a"); }),
              HasSubstr("a map of keys"));
  EXPECT_THAT(ReadFault("a: {b: 1}", [](const YamlNode& root) { root.List("a"); }),
              HasSubstr("a list of maps"));
  EXPECT_THAT(ReadFault("a: [{b: 1}, 7]", [](const YamlNode& root) { root.List("a"); }),
              HasSubstr("a[1]: found '7'"));
  EXPECT_THAT(ReadFault("a: [x, '']", [](const YamlNode& root) { root.Texts("a"); }),
              HasSubstr("a[1]"));
  EXPECT_THAT(ReadFault("a: [x, {y: 1}]", [](const YamlNode& root) { root.Texts("a"); }),
              HasSubstr("a map"));
}

TEST(Yaml, MissingKeysAreNamedWithTheLikelySlip) {
  EXPECT_THAT(ReadFault("b: 1\n", [](const YamlNode& root) { root.Number("mass_kg", Positive()); }),
              AllOf(StartsWith("e.yaml:1: mass_kg: found nothing"), HasSubstr("above 0"),
                    HasSubstr("required")));
  EXPECT_THAT(ReadFault("b: 1\nbody:\n  mas_kg: 3\n",
                        [](const YamlNode& root) { root.Map("body").Number("mass_kg"); }),
              AllOf(StartsWith("e.yaml:2: body.mass_kg:"), HasSubstr("nearest is mas_kg")));
  EXPECT_THAT(ReadFault("mass_g: 3\n", [](const YamlNode& root) { root.Number("mass_kg"); }),
              HasSubstr("nearest is mass_g (units are part of the key)"));
}

// A fault that follows from a missing key must not hide the misspelt one.
TEST(Yaml, FaultsPointToAMisspeltKeyThatIsMissing) {
  const auto read = [](const YamlNode& root) {
    if (!root.Has("mass_kg") && root.Has("inertia_kg_m2"))
      throw root.Fault("inertia_kg_m2", "it without mass_kg", "both");
  };
  EXPECT_THAT(ReadFault("mas_kg: 3\ninertia_kg_m2: 1\n", read),
              AllOf(StartsWith("e.yaml:2: inertia_kg_m2: found it without mass_kg, allowed both"),
                    HasSubstr("is mas_kg in line 1 meant to be mass_kg?")));
  EXPECT_THAT(ReadFault("mass_g: 3\ninertia_kg_m2: 1\n", read),
              HasSubstr("is mass_g in line 1 meant to be mass_kg?"));
  EXPECT_THAT(ReadFault("name: rod\ninertia_kg_m2: 1\n", read), Not(HasSubstr("meant to be")));
}

TEST(Yaml, UnknownKeysNameTheNearestKnownOne) {
  const auto read = [](const YamlNode& root) {
    const YamlNode body = root.MapOrEmpty("body");
    body.Number("side_m", 1);
    body.Number("mass_kg", 1);
    body.Text("name", "");
    root.Number("gravity_m_per_s2", 9.81);
    root.Finish();
  };
  EXPECT_THAT(ReadFault("body:\n  side_m: 1\n  masss_kg: 2\n", read),
              AllOf(StartsWith("e.yaml:3: body.masss_kg: found an unknown key, nearest is mass_kg"),
                    HasSubstr("allowed side_m, mass_kg, name")));
  EXPECT_THAT(ReadFault("body:\n  side_mm: 60\n", read),
              HasSubstr("nearest is side_m (units are part of the key)"));
  EXPECT_THAT(ReadFault("body:\n  side: 60\n", read),
              HasSubstr("nearest is side_m (units are part of the key)"));
  EXPECT_THAT(ReadFault("gravity_ft_per_s2: 32\n", read),
              HasSubstr("nearest is gravity_m_per_s2 (units are part of the key)"));
  EXPECT_THAT(ReadFault("qqqqqqqqq: 32\n", read),
              AllOf(Not(HasSubstr("nearest")), HasSubstr("allowed body, gravity_m_per_s2")));
  EXPECT_THAT(ReadFault("\"bad\\nkey\\x1b[2J\": 32\n", read), HasSubstr("\\x0A"));
  EXPECT_THAT(ReadFault("a: 1\n", [](const YamlNode& root) { root.Finish(); }),
              HasSubstr("no keys"));
}

TEST(Yaml, FinishNamesAllUnknownKeysAtOnce) {
  const std::string fault =
      ReadFault("masss_kg: 1\nbody: {sidem: 2, name: x}\nzzz: 3\n", [](const YamlNode& root) {
        root.Number("mass_kg", 1.0);
        root.Map("body").Number("side_m", 1.0);
        root.Map("body").Text("name");
        root.Finish();
      });
  EXPECT_THAT(fault, HasSubstr(":1: masss_kg: found an unknown key, nearest is mass_kg"));
  EXPECT_THAT(fault,
              HasSubstr("; unknown too: body.sidem in line 2 (nearest is side_m), zzz in line 3"));
}

TEST(Yaml, FaultInOneMapNamesAMisspeltKeyOfAnother) {
  const std::string fault =
      ReadFault("one: {thicknes_m: 1}\ntwo: {a: 3}\n", [](const YamlNode& root) {
        root.Map("one").Number("thickness_m", 0.0);
        throw root.Map("two").Fault("a", "3", "something that fits a thickness");
      });
  EXPECT_THAT(fault, HasSubstr("; is thicknes_m in line 1 meant to be thickness_m?"));
}

TEST(Yaml, FinishLooksIntoListsAndMapsHandedOut) {
  const auto read = [](const YamlNode& root) {
    for (const YamlNode& item : root.List("items")) item.Map("at").Number("x_m");
    root.Finish();
  };
  EXPECT_THAT(ReadFault("items:\n  - at: {x_m: 1}\n  - at: {x_m: 1, y_m: 2}\n", read),
              StartsWith("e.yaml:3: items[1].at.y_m: found an unknown key"));
  const YamlNode free = ParseYaml("names: {one: 1, two: 2}\n", "e.yaml");
  EXPECT_EQ(free.Map("names").Keys(), (std::vector<std::string>{"one", "two"}));
  free.Finish();
  // Asking again sees the same record.
  const YamlNode twice = ParseYaml("m: {a: 1, b: 2}\n", "e.yaml");
  twice.Map("m").Number("a");
  twice.Map("m").Number("b");
  YamlNode(twice).Finish();  // as does a copy
}

TEST(Yaml, CallersCanWriteTheSameLine) {
  const YamlNode root = ParseYaml("a: 1\nbody:\n  side_m: 3\n", "e.yaml");
  const ConfigError error = root.Map("body").Fault("side_m", "3", "a side below the ceiling");
  EXPECT_STREQ(error.what(), "e.yaml:3: body.side_m: found 3, allowed a side below the ceiling");
}

TEST(Yaml, Files) {
  test::TemporaryFolder folder;
  test::Put(folder / "my experiment.yaml", "a: 1\r\nb: 2\r\n");
  const YamlNode root = LoadYaml(folder / "my experiment.yaml");
  EXPECT_EQ(root.Number("b"), 2.0);
  EXPECT_EQ(root.Folder(), folder.path());
  EXPECT_THAT(MessageOf<ConfigError>([&] { LoadYaml(folder / "absent.yaml"); }),
              HasSubstr("No such file"));
  EXPECT_THAT(MessageOf<ConfigError>([&] { LoadYaml(folder.path()); }),
              HasSubstr("found a folder"));
  EXPECT_THAT(MessageOf<ConfigError>([&] { LoadYaml(""); }), HasSubstr("cannot be read"));
  test::Put(folder / "empty.yaml", "");
  EXPECT_THAT(MessageOf<ConfigError>([&] { LoadYaml(folder / "empty.yaml"); }),
              HasSubstr("found nothing"));
  test::Put(folder / "huge.yaml", std::string(3 << 20, '#'));
  EXPECT_THAT(MessageOf<ConfigError>([&] { LoadYaml(folder / "huge.yaml"); }), HasSubstr("1 MB"));
}

TEST(Yaml, QuotedTextComesBack) {
  using namespace std::string_literals;
  for (const std::string& text : {"plain"s, "with \"quotes\" and \\"s, "line\nbreak\tand\rreturn"s,
                                  "caf\xC3\xA9 \xF0\x9F\x98\x80"s, ": - # & * ! | >"s, " spaces "s,
                                  "true"s, "\x01\x7F"s, "\xC2\x85\xE2\x80\xA8"s, "%d {}"s}) {
    EXPECT_EQ(ParseYaml("a: " + YamlQuote(text), "e").Text("a"), text) << YamlQuote(text);
  }
  EXPECT_EQ(ParseYaml("a: " + YamlQuote("\xE9"), "e").Text("a"), "\xC3\xA9");
}

// Small random changes to a good document must end in a value or in one ConfigError line, never in
// anything else.
TEST(Yaml, RandomDamageIsAlwaysOneLine) {
  const std::string good =
      "name: cube\nbody: {side_m: 0.1, mass_kg: 2}\nlist:\n  - a: [1, 2]\n  - a: [3, 4]\ntext: "
      "\"x: y\"\n";
  std::mt19937_64 random(99);
  const std::string alphabet = "{}[]:,-?&*!|>'\"%@`#\t\n \\0a.~\x80\xFF<=";
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = good;
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 5);
      } else {
        text.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    try {
      const YamlNode root = ParseYaml(text, "e.yaml");
      root.Text("name", "");
      const YamlNode body = root.MapOrEmpty("body");
      body.Number("side_m", 1);
      body.Number("mass_kg", 1);
      if (root.Has("list")) {
        for (const YamlNode& item : root.List("list")) item.Vector("a", 2);
      }
      root.Text("text", "");
      root.Finish();
    } catch (const ConfigError& error) {
      ++refused;
      const std::string message = error.what();
      EXPECT_FALSE(FindTextFault(message).has_value()) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_THAT(message, StartsWith("e.yaml:"));
    }
  }
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace impactlab
