#include "data/cache/stage_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "data/files/atomic_file.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

enum class Colour { kRed, kGreen };
struct Inner {
  double a = 0;
  std::optional<Eigen::Vector3d> place;
  std::vector<bool> flags;
};
struct Outer {
  std::string name;
  Colour colour = Colour::kRed;
  std::vector<Inner> parts;
  Eigen::MatrixXd matrix;
  Eigen::Matrix<double, 6, Eigen::Dynamic> wide;
  Eigen::Isometry3d pose = Eigen::Isometry3d::Identity();
  std::map<std::string, int> counts;
  std::array<Eigen::Matrix2d, 2> pair = {Eigen::Matrix2d::Zero(), Eigen::Matrix2d::Zero()};
  std::filesystem::path path;
  std::function<void()> progress;
};

Outer Sample() {
  Outer out;
  out.name = std::string("a\0b", 3);
  out.colour = Colour::kGreen;
  out.parts = {{0.1,
                Eigen::Vector3d(1, -0.0, std::numeric_limits<double>::denorm_min()),
                {true, false, true}},
               {std::nan(""), std::nullopt, {}}};
  out.matrix = Eigen::MatrixXd::Constant(2, 3, 1.0 / 3);
  out.wide = Eigen::MatrixXd::Constant(6, 2, M_PI);
  out.pose.translate(Eigen::Vector3d(1, 2, 3));
  out.counts = {{"x", 1}, {"y", -2}};
  out.pair[1](0, 1) = 7;
  out.path = "ü/a b";
  return out;
}

TEST(ExactBytes, GiveBackEveryFieldToTheLastBit) {
  const Outer value = Sample();
  const Outer back = FromBytes<Outer>(ToBytes(value));
  EXPECT_EQ(back.name, value.name);
  EXPECT_EQ(back.colour, Colour::kGreen);
  ASSERT_EQ(back.parts.size(), 2u);
  EXPECT_TRUE(std::signbit((*back.parts[0].place).y()));
  EXPECT_EQ((*back.parts[0].place).z(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(back.parts[0].flags, value.parts[0].flags);
  EXPECT_TRUE(std::isnan(back.parts[1].a));
  EXPECT_FALSE(back.parts[1].place);
  EXPECT_EQ(back.matrix, value.matrix);
  EXPECT_EQ(back.wide, value.wide);
  EXPECT_EQ(back.pose.translation(), Eigen::Vector3d(1, 2, 3));
  EXPECT_EQ(back.counts, value.counts);
  EXPECT_EQ(back.pair[1](0, 1), 7);
  EXPECT_EQ(back.path, value.path);
  EXPECT_EQ(ToBytes(back), ToBytes(value));
}

TEST(ExactBytes, TellEveryFieldApart) {
  const std::string bytes = ToBytes(Sample());
  const auto differs = [&](auto change) {
    Outer other = Sample();
    change(other);
    return ToBytes(other) != bytes;
  };
  EXPECT_TRUE(differs([](Outer& o) { o.parts[0].flags[1] = true; }));
  EXPECT_TRUE(differs([](Outer& o) { o.colour = Colour::kRed; }));
  EXPECT_TRUE(differs([](Outer& o) { o.pair[0](1, 1) = 1e-300; }));
  EXPECT_TRUE(differs([](Outer& o) { o.counts["z"] = 0; }));
  EXPECT_TRUE(differs([](Outer& o) { o.matrix.resize(3, 2), o.matrix.setConstant(1.0 / 3); }));
}

TEST(ExactBytes, RefuseBytesThatAreCutOrTooMany) {
  const std::string bytes = ToBytes(Sample());
  for (const std::size_t n : {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1})
    EXPECT_THROW(FromBytes<Outer>(std::string_view(bytes).substr(0, n)), DataError) << n;
  EXPECT_THROW(FromBytes<Outer>(bytes + "x"), DataError);
}

int Square(StageCache* cache, int x, int* calls) {
  return StageResult<int>(
      cache, "square", [&] { return ++*calls, x * x; }, x);
}

TEST(StageCache, DoesAStageOnceForTheSameInputs) {
  const test::TemporaryFolder folder;
  int calls = 0;
  EXPECT_EQ(Square(nullptr, 3, &calls) + Square(nullptr, 3, &calls), 18);
  EXPECT_EQ(calls, 2) << "nothing is kept where nobody asks for it";
  for (int run = 0; run < 2; ++run) {
    StageCache cache(folder.path() / "stages");
    EXPECT_EQ(Square(&cache, 3, &calls), 9);
    EXPECT_EQ(Square(&cache, 4, &calls), 16);
    EXPECT_EQ(cache.Counts()["square"].reused, run == 0 ? 0 : 2);
    EXPECT_EQ(cache.Counts()["square"].made, run == 0 ? 2 : 0);
  }
  EXPECT_EQ(calls, 4);
  StageCache forced(folder.path() / "stages", true);
  EXPECT_EQ(Square(&forced, 3, &calls), 9);
  EXPECT_EQ(calls, 5);
}

TEST(StageCache, SeesThatTheContentOfAFileChanged) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.txt";
  int calls = 0;
  const auto length = [&] {
    StageCache cache(folder.path() / "stages");
    return StageResult<int>(
        &cache, "length", [&] { return ++calls, static_cast<int>(ReadFile(file).size()); },
        ContentOf(&cache, {file}));
  };
  WriteFile(file, "one");
  EXPECT_EQ(length(), 3);
  WriteFile(file, "one");  // another time, the same content
  EXPECT_EQ(length(), 3);
  EXPECT_EQ(calls, 1);
  WriteFile(file, "four");
  EXPECT_EQ(length(), 4);
  EXPECT_EQ(calls, 2);
}

TEST(StageCache, TakesADamagedEntryForAbsentAndDropsWhatIsNotUsed) {
  const test::TemporaryFolder folder;
  const std::filesystem::path stages = folder.path() / "stages";
  int calls = 0;
  {
    StageCache cache(stages);
    Square(&cache, 3, &calls);
    Square(&cache, 4, &calls);
  }
  for (const auto& entry : std::filesystem::directory_iterator(stages)) {
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x55');
  }
  StageCache cache(stages);
  EXPECT_EQ(Square(&cache, 3, &calls), 9);
  EXPECT_EQ(calls, 3);
  cache.Prune();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(stages), {}), 1);
}

TEST(StageCache, KeepsNothingOfAStageThatThrows) {
  const test::TemporaryFolder folder;
  int calls = 0;
  StageCache cache(folder.path() / "stages");
  const auto fails = [&]() -> int {
    return StageResult<int>(
        &cache, "fails", [&]() -> int { throw DataError(std::to_string(++calls)); }, 1);
  };
  EXPECT_THROW(fails(), DataError);
  EXPECT_THROW(fails(), DataError);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace impactlab
