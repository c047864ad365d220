#include "data/files/output_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/sha256.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::vector<std::string> kJobNames = {"table.csv", "poses/*.csv", "page.html"};

std::string FileText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void PutFile(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// One whole job that writes two files.
void WriteJob(const fs::path& out, const std::string& text, bool move_aside = false) {
  OutputFolder folder(out, kJobNames, move_aside);
  WriteFile(out / "table.csv", text);
  WriteFile(out / "poses" / "drop 1.csv", text + " of a drop");
  folder.Finish();
}

std::string FolderRefusal(const fs::path& out) {
  try {
    CheckOutputFolder(out, kJobNames);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(OutputFolder, ManifestListsWhatWasWritten) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  WriteJob(out, "one");
  const auto json = nlohmann::json::parse(FileText(out / "manifest.json"));
  EXPECT_EQ(json.at("schema"), "impactlab.manifest/1");
  EXPECT_EQ(json.at("files").size(), 2u);
  EXPECT_EQ(json.at("files").at("table.csv"), Sha256("one"));
  EXPECT_EQ(json.at("files").at("poses/drop 1.csv"), Sha256("one of a drop"));
  EXPECT_FALSE(fs::exists(out / ".manifest.journal"));
  WriteJob(out, "two");
  EXPECT_EQ(FileText(out / "table.csv"), "two");
  EXPECT_EQ(nlohmann::json::parse(FileText(out / "manifest.json")).at("files").at("table.csv"),
            Sha256("two"));
}

TEST(OutputFolder, AJobThatWritesNothingLeavesNothing) {
  const TemporaryFolder scratch;
  { const OutputFolder folder(scratch / "out", kJobNames); }
  EXPECT_FALSE(fs::exists(scratch / "out"));
}

TEST(OutputFolder, ForeignFilesAreRefusedAndSurvive) {
  const TemporaryFolder scratch;
  for (const char* name : {"table.csv", "poses/mine.csv", "page.html", "manifest.json"}) {
    const fs::path out = scratch / fs::path(name).stem().string();
    PutFile(out / name, "mine");
    PutFile(out / "notes.txt", "notes");
    EXPECT_THAT(FolderRefusal(out), HasSubstr(name));
    EXPECT_THAT(FolderRefusal(out), HasSubstr("--move-aside"));
    EXPECT_THROW(WriteJob(out, "one"), ConfigError);
    EXPECT_EQ(FileText(out / name), "mine");
    EXPECT_EQ(FileText(out / "notes.txt"), "notes");
  }
}

TEST(OutputFolder, OtherNamesAreNobodysBusiness) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  PutFile(out / "other.csv", "mine");
  PutFile(out / "poses/readme.txt", "mine");
  WriteJob(out, "one");
  EXPECT_EQ(FileText(out / "other.csv"), "mine");
  EXPECT_EQ(FileText(out / "poses/readme.txt"), "mine");
}

TEST(OutputFolder, FilesThatWereChangedAreRefused) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  WriteJob(out, "one");
  PutFile(out / "table.csv", "one, with a remark");
  EXPECT_THAT(FolderRefusal(out), HasSubstr("table.csv, changed since ImpactLab wrote it"));
  EXPECT_THROW(WriteJob(out, "two"), ConfigError);
  EXPECT_EQ(FileText(out / "table.csv"), "one, with a remark");
  // As it was written it may be written again.
  PutFile(out / "table.csv", "one");
  WriteJob(out, "two");
  EXPECT_EQ(FileText(out / "table.csv"), "two");
}

TEST(OutputFolder, MovedAsideUnderNamesThatAreFree) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  PutFile(out / "table.csv", "first");
  PutFile(out / "poses/mine.csv", "pose");
  fs::create_directories(out / "page.html/inner");
  WriteJob(out, "one", true);
  EXPECT_EQ(FileText(out / "table.csv"), "one");
  EXPECT_EQ(FileText(out / "table.csv.aside"), "first");
  EXPECT_EQ(FileText(out / "poses/mine.csv.aside"), "pose");
  EXPECT_TRUE(fs::is_directory(out / "page.html.aside/inner"));
  PutFile(out / "table.csv", "second");
  WriteJob(out, "two", true);
  PutFile(out / "table.csv", "third");
  {
    const OutputFolder folder(out, kJobNames, true);
    EXPECT_THAT(folder.notes(), ElementsAre(HasSubstr("table.csv.aside3")));
  }
  EXPECT_EQ(FileText(out / "table.csv.aside"), "first");
  EXPECT_EQ(FileText(out / "table.csv.aside2"), "second");
  EXPECT_EQ(FileText(out / "table.csv.aside3"), "third");
  EXPECT_EQ(FolderRefusal(out), "");
}

TEST(OutputFolder, LinksAndFoldersInPlaceOfFilesAreForeign) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out", elsewhere = scratch / "elsewhere";
  WriteJob(out, "one");
  PutFile(elsewhere / "table.csv", "one");
  fs::remove(out / "table.csv");
  // The same bytes, but they are elsewhere: writing would change a file there.
  fs::create_symlink(elsewhere / "table.csv", out / "table.csv");
  EXPECT_THAT(FolderRefusal(out), HasSubstr("table.csv, not written by ImpactLab"));
  fs::remove(out / "table.csv");
  fs::create_symlink(elsewhere / "absent.csv", out / "table.csv");
  EXPECT_THAT(FolderRefusal(out), HasSubstr("table.csv"));
  fs::remove(out / "table.csv");
  fs::create_directory(out / "table.csv");
  EXPECT_THAT(FolderRefusal(out), HasSubstr("table.csv"));
  fs::remove(out / "table.csv");
  EXPECT_EQ(FolderRefusal(out), "");
  // A folder of the job that leads elsewhere.
  fs::remove_all(out / "poses");
  PutFile(elsewhere / "drop 1.csv", "mine");
  fs::create_directory_symlink(elsewhere, out / "poses");
  EXPECT_THAT(FolderRefusal(out), HasSubstr("poses, not written by ImpactLab"));
  WriteJob(out, "two", true);
  EXPECT_EQ(FileText(elsewhere / "drop 1.csv"), "mine");
  EXPECT_TRUE(fs::is_symlink(out / "poses.aside"));
  // What is kept for runs that go on is removed when it is old: not by way of a link.
  fs::create_directory_symlink(elsewhere, out / ".stages");
  EXPECT_THAT(FolderRefusal(out), HasSubstr(".stages"));
}

TEST(OutputFolder, AFolderMayItselfBeALink) {
  const TemporaryFolder scratch;
  fs::create_directory(scratch / "real");
  fs::create_directory_symlink(scratch / "real", scratch / "out");
  WriteJob(scratch / "out", "one");
  WriteJob(scratch / "real", "two");
  EXPECT_EQ(FileText(scratch / "out/table.csv"), "two");
}

TEST(OutputFolder, AJobThatWasKilledKnowsItsFiles) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  WriteJob(out, "one");
  // As if the process had ended with the journal: the manifest is that of before.
  const std::string before = FileText(out / "manifest.json");
  std::string journal;
  {
    OutputFolder folder(out, kJobNames);
    WriteFile(out / "table.csv", "two");
    journal = FileText(out / ".manifest.journal");
  }
  PutFile(out / "manifest.json", before);
  EXPECT_THAT(FolderRefusal(out), HasSubstr("table.csv"));
  PutFile(out / ".manifest.journal", journal + "[\"page.html\", \"cut of");
  EXPECT_EQ(FolderRefusal(out), "");
  PutFile(out / "page.html", "mine");
  EXPECT_THAT(FolderRefusal(out), HasSubstr("page.html"));
  fs::remove(out / "page.html");
  // Announced, but the file did not take its name any more.
  PutFile(out / "table.csv", "one");
  EXPECT_EQ(FolderRefusal(out), "");
  WriteJob(out, "three");
  EXPECT_FALSE(fs::exists(out / ".manifest.journal"));
  EXPECT_EQ(FolderRefusal(out), "");
}

TEST(OutputFolder, AnExceptionLeavesAManifest) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  try {
    OutputFolder folder(out, kJobNames);
    WriteFile(out / "table.csv", "half");
    throw DataError("no more");
  } catch (const DataError&) {
  }
  EXPECT_TRUE(fs::exists(out / "manifest.json"));
  EXPECT_EQ(FolderRefusal(out), "");
}

// Names that nobody declared, and files that come while the job works.
TEST(OutputFolder, WritersDoNotReplaceForeignFiles) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  PutFile(out / "undeclared.csv", "mine");
  OutputFolder folder(out, kJobNames);
  EXPECT_THROW(WriteFile(out / "undeclared.csv", "ours"), OutputError);
  PutFile(out / "page.html", "mine");
  EXPECT_THROW(WriteFile(out / "page.html", "ours"), OutputError);
  WriteFile(out / "table.csv", "ours");
  WriteFile(out / "table.csv", "ours again");
  EXPECT_EQ(FileText(out / "undeclared.csv"), "mine");
  EXPECT_EQ(FileText(out / "page.html"), "mine");
  EXPECT_FALSE(RemoveOutput(out / "page.html"));
  EXPECT_EQ(FileText(out / "page.html"), "mine");
  EXPECT_TRUE(RemoveOutput(out / "table.csv"));
  EXPECT_FALSE(RemoveOutput(out / "table.csv"));
}

TEST(OutputFolder, FoldersAreRemovedWithTheLastFileOfOurs) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  WriteJob(out, "one");
  fs::create_directory(out / "refused");
  OutputFolder folder(out, kJobNames);
  RemoveOutputs(out / "refused", {"events.csv"});
  EXPECT_TRUE(fs::exists(out / "refused"));
  PutFile(out / "poses/readme.txt", "mine");
  RemoveOutputs(out / "poses", {"drop 1.csv", "readme.txt"});
  EXPECT_FALSE(fs::exists(out / "poses/drop 1.csv"));
  EXPECT_EQ(FileText(out / "poses/readme.txt"), "mine");
  fs::remove(out / "poses/readme.txt");
  WriteFile(out / "poses/drop 2.csv", "two");
  RemoveOutputs(out / "poses", {"drop 2.csv"});
  EXPECT_FALSE(fs::exists(out / "poses"));
}

// Of versions that wrote no manifest.
TEST(OutputFolder, RunFoldersWithoutManifestAreTakenAsTheyAre) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  PutFile(out / "table.csv", "old");
  PutFile(out / "run.yaml", "name: x\nschema: other.tool/1\n");
  EXPECT_THAT(FolderRefusal(out), HasSubstr("table.csv"));
  PutFile(out / "run.yaml", "schema: impactlab.experiment/1\nname: x\n");
  {
    const OutputFolder folder(out, kJobNames);
    EXPECT_THAT(folder.notes(), ElementsAre(HasSubstr("earlier versions")));
  }
  EXPECT_EQ(FolderRefusal(out), "");
  PutFile(out / "table.csv", "changed");
  EXPECT_THAT(FolderRefusal(out), HasSubstr("table.csv, changed since"));
  PutFile(out / "table.csv", "old");
  // A step of its own in such a folder does not make the tables of the run foreign.
  PutFile(out / "events.csv", "old");
  CheckOutputFolder(out, {"events.csv"});
  {
    OutputFolder folder(out, {"run.yaml"});
    WriteFile(out / "run.yaml", "schema: impactlab.experiment/1\nname: x\nseed: 1\n");
  }
  // The run itself would have written them.
  EXPECT_THROW(CheckOutputFolder(out, {"events.csv"}), ConfigError);
}

// `run` writes the folder of `calibrate` inside its own; each may write it again.
TEST(OutputFolder, FoldersInsideFolders) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out", inner = out / "poses";
  const std::vector<std::string> names = {"drop 1.csv"};
  WriteJob(out, "one");
  {
    OutputFolder folder(inner, names);
    WriteFile(inner / "drop 1.csv", "by another job");
    EXPECT_THAT(folder.notes(), IsEmpty());
  }
  EXPECT_EQ(FolderRefusal(out), "");
  WriteJob(out, "two");
  CheckOutputFolder(inner, names);
  // Both at once: the inner one is asked.
  OutputFolder around(out, kJobNames);
  {
    OutputFolder folder(inner, names);
    WriteFile(inner / "drop 1.csv", "again");
  }
  around.Finish();
  EXPECT_EQ(nlohmann::json::parse(FileText(inner / "manifest.json")).at("files").at("drop 1.csv"),
            Sha256("again"));
}

TEST(OutputFolder, ManifestsOfNobodyKnowsWhat) {
  const TemporaryFolder scratch;
  for (const char* text : {"", "{}", "[1]", "{\"schema\": \"impactlab.manifest/1\"}",
                           "{\"schema\": \"impactlab.manifest/1\", \"files\": {\"table.csv\": 1}}",
                           "{\"schema\": \"impactlab.manifest/2\", \"files\": {}}", "\xff\xfe"}) {
    const fs::path out = scratch / "out";
    PutFile(out / "manifest.json", text);
    EXPECT_THAT(FolderRefusal(out), HasSubstr("manifest.json")) << text;
  }
  // Names that lead out of the folder say nothing.
  const fs::path out = scratch / "out";
  PutFile(scratch / "victim.csv", "mine");
  PutFile(out / "manifest.json", nlohmann::json{{"schema", "impactlab.manifest/1"},
                                                {"files", {{"../victim.csv", Sha256("mine")}}}}
                                     .dump());
  WriteJob(out, "one");
  EXPECT_EQ(FileText(scratch / "victim.csv"), "mine");
  EXPECT_THAT(FileText(out / "manifest.json"), Not(HasSubstr("victim")));
}

TEST(OutputFolder, LiteralPatternMatchesOneName) {
  const TemporaryFolder scratch;
  const fs::path out = scratch / "out";
  PutFile(out / "a[1]*?.csv", "mine");
  PutFile(out / "a1.csv", "mine");
  EXPECT_THROW(CheckOutputFolder(out, {LiteralPattern("a[1]*?.csv")}), ConfigError);
  fs::remove(out / "a[1]*?.csv");
  CheckOutputFolder(out, {LiteralPattern("a[1]*?.csv")});
}

}  // namespace
}  // namespace impactlab
