#include "data/files/glob.h"

#include "tests/data/message.h"

namespace impactlab {
namespace {

using test::Put;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Glob, MatchesOneName) {
  const auto yes = [](const char* pattern, const char* name) {
    EXPECT_TRUE(MatchesGlob(pattern, name)) << pattern << " " << name;
  };
  const auto no = [](const char* pattern, const char* name) {
    EXPECT_FALSE(MatchesGlob(pattern, name)) << pattern << " " << name;
  };
  yes("*", "abc");
  yes("*", "");
  yes("a*c", "abbc");
  yes("a*b*c", "aXbYbZc");
  no("a*b*c", "aXc");
  yes("drop_???.csv", "drop_001.csv");
  no("drop_???.csv", "drop_01.csv");
  yes("[a-c]x", "bx");
  no("[a-c]x", "dx");
  yes("[!a-c]x", "dx");
  no("[!a-c]x", "ax");
  yes("[^a-c]x", "dx");
  yes("[]]", "]");
  yes("[a-]", "-");
  yes("[x", "[x");  // a bracket that never closes is itself
  no("[x", "x");
  yes("a[", "a[");
  yes("?t?", "\xC3\xA9t\xC3\xA9");
  yes("[\xC3\xA0-\xC3\xBC]x", "\xC3\xA9x");
  no("[a-z]x", "\xC3\xA9x");
  no("*", ".hidden");
  no("?hidden", ".hidden");
  no("[.]hidden", ".hidden");
  yes(".h*", ".hidden");
  no("", "a");
  no("a", "");
  yes("a**b", "aXb");
  yes("*\xE9*", "x\xE9y");  // a broken byte counts as a character
}

// Ends at once, or not in a lifetime.
TEST(Glob, StarsAreNotExponential) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(MatchesGlob(pattern + "b", std::string(5000, 'a')));
}

class GlobFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"drop_1.csv", "drop_2.csv", "drop_10.csv", "note.txt", "a b/x 1.csv",
                             "a b/deep/er/x 2.csv", "a b/deep/drop_3.csv", ".hidden.csv",
                             ".git/drop_4.csv", "odd[1].csv", "odd1.csv"}) {
      Put(folder_ / name, "x");
    }
    std::filesystem::create_directories(folder_ / "folder.csv");
  }
  std::vector<std::string> Expand(const std::string& pattern) const {
    std::vector<std::string> names;
    for (const auto& path : ExpandGlob(pattern, folder_.path()))
      names.push_back(path.lexically_relative(folder_.path()).string());
    return names;
  }
  test::TemporaryFolder folder_;
};

TEST_F(GlobFiles, OneFolder) {
  EXPECT_THAT(Expand("drop_*.csv"), ElementsAre("drop_1.csv", "drop_2.csv", "drop_10.csv"));
  EXPECT_THAT(Expand("./drop_?.csv"), ElementsAre("drop_1.csv", "drop_2.csv"));
  EXPECT_THAT(Expand("drop_[2-9].csv"), ElementsAre("drop_2.csv"));
  EXPECT_THAT(Expand("note.txt"), ElementsAre("note.txt"));
  EXPECT_THAT(Expand("a b/../note.txt"), ElementsAre("note.txt"));
  EXPECT_THAT(Expand("absent.txt"), IsEmpty());
  EXPECT_THAT(Expand("absent/*.txt"), IsEmpty());
  EXPECT_THAT(Expand("note.txt/*"), IsEmpty());
  EXPECT_THAT(Expand(""), IsEmpty());
  EXPECT_THAT(Expand("."), IsEmpty());
  EXPECT_THAT(Expand("a b"), IsEmpty());
  EXPECT_THAT(Expand("a b/"), IsEmpty());
  EXPECT_THAT(Expand("folder*"), IsEmpty());
}

TEST_F(GlobFiles, Folders) {
  EXPECT_THAT(Expand("*/x*.csv"), ElementsAre("a b/x 1.csv"));
  EXPECT_THAT(Expand("a ?/*/*/*.csv"), ElementsAre("a b/deep/er/x 2.csv"));
  EXPECT_THAT(Expand("**/drop_*.csv"),
              ElementsAre("a b/deep/drop_3.csv", "drop_1.csv", "drop_2.csv", "drop_10.csv"));
  EXPECT_THAT(Expand("a b/**"),
              ElementsAre("a b/deep/drop_3.csv", "a b/deep/er/x 2.csv", "a b/x 1.csv"));
  EXPECT_THAT(Expand("**/**/x*.csv"), ElementsAre("a b/deep/er/x 2.csv", "a b/x 1.csv"));
  EXPECT_THAT(Expand("**/deep/**/x*.csv"), ElementsAre("a b/deep/er/x 2.csv"));
  EXPECT_THAT(Expand("**/er/*"), ElementsAre("a b/deep/er/x 2.csv"));
  EXPECT_THAT(Expand(".git/*"), ElementsAre(".git/drop_4.csv"));
}

TEST_F(GlobFiles, ANameWithBracketsIsItself) {
  EXPECT_THAT(Expand("odd[1].csv"), ElementsAre("odd[1].csv"));
  EXPECT_THAT(Expand("odd[[]1].csv"), ElementsAre("odd[1].csv"));
  EXPECT_THAT(Expand("odd[1]*.csv"), ElementsAre("odd1.csv"));
}

TEST_F(GlobFiles, AbsolutePatternsIgnoreTheBase) {
  const auto found = ExpandGlob((folder_ / "drop_1*.csv").string(), "/nowhere");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], folder_ / "drop_1.csv");
}

TEST_F(GlobFiles, LinksInCirclesEnd) {
  std::filesystem::create_directory_symlink(folder_.path(), folder_ / "a b/loop");
  EXPECT_THAT(Expand("**/drop_3.csv"), ElementsAre("a b/deep/drop_3.csv"));
  // A link that is named is followed.
  EXPECT_THAT(Expand("a b/loop/note.*"), ElementsAre("a b/loop/note.txt"));
  std::filesystem::create_symlink("nowhere", folder_ / "dangling.csv");
  EXPECT_THAT(Expand("dang*"), ElementsAre("dangling.csv"));  // whoever reads it says what is wrong
}

TEST_F(GlobFiles, ThousandsOfFiles) {
  for (int i = 0; i < 3000; ++i) Put(folder_ / ("many/toss_" + std::to_string(i) + ".csv"), "");
  const auto names = Expand("**/toss_*.csv");
  ASSERT_EQ(names.size(), 3000u);
  for (int i = 0; i < 3000; ++i)
    ASSERT_EQ(names[static_cast<std::size_t>(i)], "many/toss_" + std::to_string(i) + ".csv");
}

TEST(Glob, FoldersThatCannotBeReadAreReported) {
  const test::OrdinaryUser user;
  const test::TemporaryFolder folder;
  Put(folder / "closed/x.csv", "x");
  std::filesystem::permissions(folder / "closed", std::filesystem::perms::none);
  EXPECT_THAT(test::MessageOf<DataError>([&] { ExpandGlob("**/x*.csv", folder.path()); }),
              ::testing::HasSubstr("cannot be searched"));
  std::filesystem::permissions(folder / "closed", std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace impactlab
