#include "data/files/atomic_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "data/files/table.h"
#include "tests/data/message.h"

namespace impactlab {
namespace {

using test::Get;
using test::MessageOf;
using test::Put;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::size_t FilesIn(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                std::filesystem::directory_iterator()));
}

TEST(AtomicFile, AppearsAtCommitOnly) {
  test::TemporaryFolder folder;
  const auto path = folder / "deep/er/r\xC3\xA9sultat 1.csv";
  {
    AtomicFile file(path);
    file.Write("half");
    EXPECT_FALSE(std::filesystem::exists(path));
    file.Write(" and half\n");
    file.Commit();
  }
  EXPECT_EQ(Get(path), "half and half\n");
  EXPECT_EQ(FilesIn(path.parent_path()), 1u);
}

TEST(AtomicFile, AnInterruptedWriterLeavesTheLastGoodFile) {
  test::TemporaryFolder folder;
  const auto path = folder / "fit.json";
  WriteFile(path, "good");
  try {
    AtomicFile file(path);
    file.Write(std::string(300000, 'x'));
    throw std::runtime_error("interrupted");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(Get(path), "good");
  EXPECT_EQ(FilesIn(folder.path()), 1u);
  WriteFile(path, "better");
  EXPECT_EQ(Get(path), "better");
}

TEST(AtomicFile, MovesWithoutLosingOrDoubling) {
  test::TemporaryFolder folder;
  {
    AtomicFile first(folder / "a");
    first.Write("one ");
    AtomicFile second(std::move(first));
    second.Write("two");
    second.Commit();
    EXPECT_THROW(second.Write("three"), OutputError);
    EXPECT_THROW(second.Commit(), OutputError);
  }
  EXPECT_EQ(Get(folder / "a"), "one two");
  EXPECT_EQ(FilesIn(folder.path()), 1u);
}

TEST(AtomicFile, WithoutDiskItIsStillAllOrNothing) {
  test::TemporaryFolder folder;
  WriteFile(folder / "x", "one", false);
  {
    AtomicFile file(folder / "x", false);
    file.Write("two");
  }
  EXPECT_EQ(Get(folder / "x"), "one");
  EXPECT_EQ(FilesIn(folder.path()), 1u);
}

TEST(AtomicFile, TwoWritersOfOneFileDoNotMix) {
  test::TemporaryFolder folder;
  AtomicFile a(folder / "x"), b(folder / "x");
  a.Write("a");
  b.Write("b");
  a.Commit();
  EXPECT_EQ(Get(folder / "x"), "a");
  b.Commit();
  EXPECT_EQ(Get(folder / "x"), "b");
}

TEST(AtomicFile, NamesThatCannotBeWritten) {
  test::TemporaryFolder folder;
  const auto fault = [](const std::filesystem::path& path) {
    return MessageOf<OutputError>([&] { WriteFile(path, "x"); });
  };
  EXPECT_THAT(fault(""), HasSubstr("empty file name"));
  EXPECT_THAT(fault(folder.path()), HasSubstr("found a folder"));
  EXPECT_THAT(fault(folder / "new/"), HasSubstr("found a folder"));
  Put(folder / "file", "content");
  EXPECT_THAT(fault(folder / "file/below"), HasSubstr("file/below: "));
  EXPECT_EQ(Get(folder / "file"), "content");
  EXPECT_THAT(fault(folder / std::string(300, 'n')), HasSubstr("File name too long"));
  EXPECT_THAT(fault("/proc/impactlab/x"), HasSubstr("/proc/impactlab/x: "));
}

TEST(AtomicFile, TheLongestAllowedNameWorks) {
  test::TemporaryFolder folder;
  WriteFile(folder / std::string(255, 'n'), "x");
  EXPECT_EQ(Get(folder / std::string(255, 'n')), "x");
}

TEST(AtomicFile, LinksAreFollowedAndDevicesSurvive) {
  test::TemporaryFolder folder;
  Put(folder / "real/target.csv", "old");
  std::filesystem::create_symlink("real/target.csv", folder / "link.csv");
  WriteFile(folder / "link.csv", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.csv"));
  EXPECT_EQ(Get(folder / "real/target.csv"), "new");
  std::filesystem::create_symlink("real/fresh.csv", folder / "dangling.csv");
  WriteFile(folder / "dangling.csv", "fresh");
  EXPECT_EQ(Get(folder / "real/fresh.csv"), "fresh");
  WriteFile("/dev/null", "x");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFile, ModeOfAnExistingFileIsKept) {
  test::TemporaryFolder folder;
  WriteFile(folder / "x", "a");
  ASSERT_EQ(::chmod((folder / "x").c_str(), 0640), 0);
  WriteFile(folder / "x", "b");
  EXPECT_EQ(static_cast<int>(std::filesystem::status(folder / "x").permissions()), 0640);
}

TEST(AtomicFile, FullDeviceIsReported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "skipped: /dev/full absent";
  EXPECT_THAT(MessageOf<OutputError>([] { WriteFile("/dev/full", "x"); }),
              AllOf(HasSubstr("/dev/full: cannot write: "), HasSubstr("No space left")));
  EXPECT_THAT(MessageOf<OutputError>([] { WriteFile("/dev/full", std::string(1 << 20, 'x')); }),
              HasSubstr("No space left"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

// A disk that fills up half way: the limit on the size of files gives the same failing write, in a
// process of its own.
TEST(AtomicFile, DiskThatFillsUpKeepsTheLastGoodFile) {
  test::TemporaryFolder folder;
  const auto path = folder / "table.csv";
  WriteFile(path, "good");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100000, 100000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    try {
      CsvWriter out(path, {"a", "b"});
      for (int i = 0; i < 100000; ++i) out.Row({1.0 / (i + 1), 2});
      out.Commit();
    } catch (const OutputError& error) {
      ::_exit(std::string(error.what()).find("table.csv: cannot write: File too large") !=
                      std::string::npos
                  ? 0
                  : 3);
    } catch (...) {
      ::_exit(4);
    }
    ::_exit(5);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Get(path), "good");
  EXPECT_EQ(FilesIn(folder.path()), 1u);
}

TEST(AtomicFile, ProtectedFoldersAndFiles) {
  const test::OrdinaryUser user;
  test::TemporaryFolder folder;
  Put(folder / "kept", "old");
  ::chmod((folder / "kept").c_str(), 0444);
  EXPECT_THAT(MessageOf<OutputError>([&] { WriteFile(folder / "kept", "new"); }),
              HasSubstr("Permission denied"));
  EXPECT_EQ(Get(folder / "kept"), "old");
  ::chmod(folder.path().c_str(), 0555);
  EXPECT_THAT(MessageOf<OutputError>([&] { WriteFile(folder / "new", "x"); }),
              HasSubstr("Permission denied"));
  ::chmod(folder.path().c_str(), 0755);
}

TEST(ReadPieces, ReadsAndLimits) {
  test::TemporaryFolder folder;
  const std::string text(3500000, 'x');
  Put(folder / "big", text);
  std::size_t pieces = 0, bytes = 0;
  ReadPieces(folder / "big", 1 << 30, [&](std::string_view piece) {
    ++pieces;
    bytes += piece.size();
    EXPECT_LE(piece.size(), std::size_t{1} << 20);
  });
  EXPECT_EQ(bytes, text.size());
  EXPECT_GE(pieces, 4u);
  EXPECT_EQ(ReadFile(folder / "big"), text);
  EXPECT_THAT(MessageOf<DataError>([&] { ReadFile(folder / "big", 3499999); }),
              HasSubstr("allowed at most 3499999"));
  EXPECT_EQ(ReadFile(folder / "big", 3500000).size(), text.size());
  // A device has no size to ask for beforehand.
  EXPECT_THAT(MessageOf<DataError>([] { ReadFile("/dev/zero", 5 << 20); }),
              HasSubstr("/dev/zero: found"));
}

// A pipe without a writer would be waited for without end; one with a writer is a file that is read
// once.
TEST(ReadPieces, PipesAreReadOnlyWhereSomebodyWrites) {
  test::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(MessageOf<DataError>([&] { ReadFile(folder / "pipe"); }),
              HasSubstr("a pipe that nobody writes to"));
  EXPECT_THAT(MessageOf<DataError>([&] { ReadHead(folder / "pipe", 10); }),
              HasSubstr("found a pipe, allowed a regular file"));
  const int writer = ::open((folder / "pipe").c_str(), O_RDWR);
  ASSERT_GE(writer, 0);
  ASSERT_EQ(::write(writer, "some", 4), 4);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(::write(writer, " text", 5), 5);
    ::close(writer);
  });
  EXPECT_EQ(ReadFile(folder / "pipe"), "some text");
  later.join();
}

TEST(ReadHead, IsTheBeginning) {
  test::TemporaryFolder folder;
  Put(folder / "file", "abcdef");
  EXPECT_EQ(ReadHead(folder / "file", 3), "abc");
  EXPECT_EQ(ReadHead(folder / "file", 30), "abcdef");
  Put(folder / "empty", "");
  EXPECT_EQ(ReadHead(folder / "empty", 3), "");
  EXPECT_THAT(MessageOf<DataError>([&] { ReadHead(folder / "none", 3); }),
              HasSubstr("No such file"));
  EXPECT_THAT(MessageOf<DataError>([&] { ReadHead(folder.path(), 3); }), HasSubstr("directory"));
  EXPECT_THAT(MessageOf<DataError>([&] { ReadHead("/dev/null", 3); }), HasSubstr("found a device"));
}

TEST(CheckFolder, SaysWhyNothingCanBeWritten) {
  test::TemporaryFolder folder;
  CheckFolder(folder.path(), "--out");
  CheckFolder(folder / "a/b/c", "--out");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  Put(folder / "file", "");
  EXPECT_THAT(MessageOf<OutputError>([&] { CheckFolder(folder / "file", "--out"); }),
              HasSubstr("which is no folder"));
  EXPECT_THAT(MessageOf<OutputError>([&] { CheckFolder(folder / "file/a/b", "--out"); }),
              HasSubstr("file' is no folder"));
  std::filesystem::create_symlink("nowhere", folder / "link");
  EXPECT_THAT(MessageOf<OutputError>([&] { CheckFolder(folder / "link/a", "--out"); }),
              HasSubstr("link' is no folder"));
  const test::OrdinaryUser user;
  ::chmod(folder.path().c_str(), 0555);
  EXPECT_THAT(MessageOf<OutputError>([&] { CheckFolder(folder / "new", "--out"); }),
              HasSubstr("may not be written"));
  ::chmod(folder.path().c_str(), 0755);
}

}  // namespace
}  // namespace impactlab
