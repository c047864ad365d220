// The reference of keys against the readers it is made from.

#include "pipelines/reference/key_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "data/base/error.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::ReadText;
using test::WriteText;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::filesystem::path kRoot = IMPACTLAB_SOURCE_DIR;
const std::filesystem::path kKeyReferenceExamples = kRoot / "data/reference";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A folder of examples of its own, from which the files that examples name are found as from
// data/reference.
class Reference : public ::testing::Test {
 protected:
  Reference() {
    for (const auto& entry : std::filesystem::directory_iterator(kRoot / "data"))
      if (entry.is_directory() && entry.path().filename() != "reference")
        std::filesystem::create_directory_symlink(entry.path(),
                                                  scratch_.path() / entry.path().filename());
    std::filesystem::create_directories(Folder());
    for (const auto& entry : std::filesystem::directory_iterator(kKeyReferenceExamples))
      if (entry.path().extension() == ".csv")
        std::filesystem::copy_file(entry.path(), Folder() / entry.path().filename());
  }
  std::filesystem::path Folder() const { return scratch_.path() / "reference"; }
  // The fault of one example alone; empty where there is none.
  std::string FaultOf(const std::string& name, const std::string& text) const {
    WriteText(Folder() / name, text);
    std::string fault;
    try {
      MakeReference(Folder());
    } catch (const std::exception& error) {
      fault = error.what();
    }
    std::filesystem::remove(Folder() / name);
    return fault;
  }

 private:
  test::ScratchFolder scratch_{"reference"};
};

TEST_F(Reference, PageIsWhatTheReadersRead) {
  const std::vector<ReferenceKind> made = MakeReference(kKeyReferenceExamples);
  EXPECT_EQ(ToMarkdown(made), ReadText(kRoot / "data/REFERENCE.md"))
      << "impactlab reference --examples data/reference --out data/REFERENCE.md writes it anew";
  EXPECT_EQ(KeptReference(), ReadText(kRoot / "data/REFERENCE.md"));
  const std::vector<ReferenceKind> read = ReferenceFromMarkdown(ToMarkdown(made));
  ASSERT_EQ(read.size(), made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_EQ(read[i].kind, made[i].kind);
    EXPECT_EQ(read[i].schema, made[i].schema);
    EXPECT_EQ(read[i].about, made[i].about);
    ASSERT_EQ(read[i].keys.size(), made[i].keys.size());
    for (std::size_t k = 0; k < made[i].keys.size(); ++k) {
      EXPECT_EQ(read[i].keys[k].key, made[i].keys[k].key);
      EXPECT_EQ(read[i].keys[k].meaning, made[i].keys[k].meaning);
      EXPECT_EQ(read[i].keys[k].allowed, made[i].keys[k].allowed);
      EXPECT_EQ(read[i].keys[k].otherwise, made[i].keys[k].otherwise);
    }
  }
}

TEST_F(Reference, SaysWhatAReaderAllowsAndAssumes) {
  const std::vector<ReferenceKind> made = MakeReference(kKeyReferenceExamples);
  const auto find = [&](const std::string& kind, const std::string& key) -> ReferenceKey {
    for (const ReferenceKind& k : made)
      for (const ReferenceKey& one : k.keys)
        if (k.kind == kind && one.key == key) return one;
    ADD_FAILURE() << kind << " " << key;
    return {};
  };
  EXPECT_EQ(find("experiment", "motion.min_frames").otherwise, "5");
  EXPECT_THAT(find("experiment", "motion.min_frames").allowed, HasSubstr("whole number from 4"));
  EXPECT_EQ(find("experiment", "recordings.kind").otherwise, "required");
  EXPECT_THAT(find("experiment", "recordings.kind").allowed, HasSubstr("marker_points"));
  EXPECT_EQ(find("experiment", "motion.sigma_angle_rad").unit, "rad");
  EXPECT_EQ(find("tracking", "tracker.speed_sd_px_per_s").unit, "px/s");
  EXPECT_EQ(find("tracking", "files.NAME").allowed, "list of texts");
  EXPECT_EQ(find("calibration", "cameras[].model").otherwise, "brown, or that of start");
}

// What the sources read by name must be in the reference: an example that misses a branch of a
// reader would hide it.
TEST_F(Reference, MissesNoKeyOfTheSources) {
  std::set<std::string> known;
  for (const ReferenceKind& kind : MakeReference(kKeyReferenceExamples))
    for (const ReferenceKey& key : kind.keys) known.insert(key.key.substr(key.key.rfind('.') + 1));
  const std::regex question(
      R"re((?:node|root|map|item|light|given|surface|one|body|columns|sequence|wanted|model|priors|detect)_?(?:\(\))?\.)re"
      R"re((?:Number|Integer|Flag|Text|Choice|Vector|Vectors|Texts|Map|MapOrEmpty|List|Has)\(\s*"([a-z][A-Za-z0-9_]*)")re");
  // What visits name (pipelines/config/visit.h).
  const std::regex visit(
      R"re((?:Number|Count|Flag|Text|Plain|Word|Names|Vectors?|Texts|OneOf|File|Custom|Read|)re"
      R"re(Map|List)\(\s*"([a-z][A-Za-z0-9_]*)",)re");
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "pipelines")) {
    const std::string source = entry.path().extension() == ".cc" || entry.path().extension() == ".h"
                                   ? ReadText(entry.path())
                                   : "";
    for (const auto& [pattern, mark] :
         {std::pair(&question, "YamlNode"), std::pair(&visit, "Keys& ")}) {
      if (source.find(mark) == std::string::npos) continue;
      for (std::sregex_iterator it(source.begin(), source.end(), *pattern), end; it != end;
           ++it, ++found)
        EXPECT_TRUE(known.contains((*it)[1])) << entry.path().filename() << " reads " << (*it)[1]
                                              << ", which no file in data/reference holds";
    }
  }
  EXPECT_GT(found, 300);
}

// A letter too many in any key of any example: refused, and the right name is in the message.
TEST_F(Reference, MisspeltKeysAreNamed) {
  const std::regex key_line(R"(^( *(?:- )?)([a-z][a-z0-9_A-Z]*)(:(?: .*)?)$)");
  const std::set<std::string> free_names = {"left", "right", "k1", "provenance"};
  // Left out, a body lies in the floor, which the impact room says and not the reader of the file.
  const std::set<std::string> known_by_others = {"scenario.yaml position_m"};
  int tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kKeyReferenceExamples)) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string name = entry.path().filename();
    const std::vector<std::string> lines = Lines(ReadText(entry.path()));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::smatch found;
      if (!std::regex_match(lines[i], found, key_line) || free_names.contains(found[2])) continue;
      if (known_by_others.contains(name + " " + found[2].str())) continue;
      std::string text;
      for (std::size_t k = 0; k < lines.size(); ++k)
        text += (k == i ? found[1].str() + found[2].str() + "q" + found[3].str() : lines[k]) + "\n";
      EXPECT_THAT(FaultOf(name, text), HasSubstr(found[2].str() + "q")) << name << ": " << lines[i];
      ++tried;
    }
  }
  EXPECT_GT(tried, 400);
}

TEST_F(Reference, WantsOneMeaningOfEveryKey) {
  const std::string head =
      "# A campaign.\n#- members.run\n#- coefficients.*\n\nschema: impactlab.campaign/1 # "
      "version\nname: x # its name\n"
      "law: energetic # of impact\ncoefficients: {} # models\nfolds: 5 # folds\nseed: 1 # seed\n";
  const std::string oak =
      "    experiment: ../sample/experiment.yaml # file\n    recordings: a # glob\n";
  EXPECT_EQ(FaultOf("campaign.yaml", head + "members: # list\n  - name: oak # one\n" + oak), "");
  // What no comment says, the reader says.
  EXPECT_EQ(FaultOf("campaign.yaml", head + "members:\n  - name: oak\n" + oak), "");
  // Alone, this kind of recordings leaves keys to what the reader of another kind says of them.
  const std::string planar = ReadText(kKeyReferenceExamples / "experiment-planar-rig.yaml");
  EXPECT_THAT(FaultOf("experiment.yaml", planar),
              AllOf(HasSubstr("recordings.max_rms_m"), HasSubstr("found no comment")));
  EXPECT_THAT(FaultOf("campaign.yaml",
                      head + "members: # list\n  - name: oak # one\n" + oak +
                          "  - name: elm # other\n    experiment: ../sample/experiment.yaml\n"),
              HasSubstr("members[].name: found another meaning"));
  EXPECT_THAT(FaultOf("campagne.yaml", head), HasSubstr("no kind that is read"));
}

}  // namespace
}  // namespace impactlab
