#include "tracking/track/marker_labelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <chrono>
#include <random>

#include "tests/tracking/track/drop_scene.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Names(std::size_t n) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n; ++i) names.push_back(std::string(1, static_cast<char>('a' + i)));
  return names;
}

// Tracks of a body that turns and tilts before an affine camera with some perspective; `order[k]`
// is the marker of track k.
std::vector<Track> Filmed(const std::vector<Eigen::Vector3d>& layout, const std::vector<int>& order,
                          std::mt19937_64& rng, double noise = 0.1) {
  std::normal_distribution<double> normal;
  std::vector<Track> tracks(order.size());
  const Eigen::AngleAxisd start(0.4 * normal(rng), Eigen::Vector3d::UnitY()),
      turned(3 * normal(rng), Eigen::Vector3d::UnitZ());
  for (int f = 0; f < 40; ++f) {
    const Eigen::Matrix3d r =
        (Eigen::AngleAxisd(0.02 * f, Eigen::Vector3d(0.2, 0.1, 1).normalized()) * turned * start)
            .toRotationMatrix();
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Eigen::Vector3d p = r * layout[order[k]];
      TrackStep step;
      step.frame = f;
      step.t = f / 120.0;
      step.observation = static_cast<int>(k);
      const double scale = 1000 / (1 + 0.3 * p.z());
      step.state.head<2>() = Eigen::Vector2d(640, 100 + f * 5) + scale * p.head<2>() +
                             noise * Eigen::Vector2d(normal(rng), normal(rng));
      step.state.segment<2>(2) << 0, 600;
      tracks[k].id = static_cast<int>(k);
      tracks[k].steps.push_back(step);
    }
  }
  return tracks;
}

const std::vector<Eigen::Vector3d> kRod{{-0.09, 0, 0}, {0.04, 0, 0}, {0.09, 0, 0}};
const std::vector<Eigen::Vector3d> kPlate{
    {-0.06, -0.04, 0}, {0.055, -0.035, 0}, {0.05, 0.04, 0}, {-0.04, 0.045, 0}, {0.005, -0.01, 0}};
const std::vector<Eigen::Vector3d> kSolid{{-0.06, -0.04, 0.03}, {0.055, -0.035, 0.03},
                                          {0.05, 0.04, 0.03},   {-0.03, 0.045, -0.02},
                                          {0.06, 0.01, -0.03},  {0.01, 0.0, 0.03}};

TEST(LabelTracks, ArrangementDecides) {
  std::mt19937_64 rng(41);
  for (const auto& layout : {kRod, kPlate, kSolid}) {
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<int> order(layout.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
      std::shuffle(order.begin(), order.end(), rng);
      const auto tracks = Filmed(layout, order, rng);
      const LabelResult result = LabelTracks(tracks, Names(layout.size()), layout, {});
      EXPECT_EQ(result.label, order);
      EXPECT_TRUE(result.complete);
      for (const double odds : result.odds) EXPECT_GT(odds, 3);
      EXPECT_THAT(result.notes, IsEmpty());
    }
  }
}

TEST(LabelTracks, ManyMarkersWithoutTryingAllOrders) {
  std::mt19937_64 rng(42);
  std::uniform_real_distribution<double> uniform(-0.1, 0.1);
  std::vector<Eigen::Vector3d> layout;
  layout.reserve(12);
  for (int i = 0; i < 12; ++i) layout.emplace_back(uniform(rng), uniform(rng), 0);
  std::vector<int> order(layout.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::shuffle(order.begin(), order.end(), rng);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(LabelTracks(Filmed(layout, order, rng), Names(12), layout, {}).label, order);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5);
}

TEST(LabelTracks, ASquareCannotBeToldAndSaysSo) {
  std::mt19937_64 rng(43);
  const std::vector<Eigen::Vector3d> square{
      {-0.05, -0.05, 0}, {0.05, -0.05, 0}, {0.05, 0.05, 0}, {-0.05, 0.05, 0}};
  const auto result = LabelTracks(Filmed(square, {2, 0, 1, 3}, rng), Names(4), square, {});
  for (const double odds : result.odds) EXPECT_LT(odds, 3);
  ASSERT_FALSE(result.notes.empty());
  EXPECT_THAT(result.notes.back(), HasSubstr("cannot tell"));
}

TEST(LabelTracks, HintsDecideOutright) {
  std::mt19937_64 rng(44);
  const std::vector<Eigen::Vector3d> square{
      {-0.05, -0.05, 0}, {0.05, -0.05, 0}, {0.05, 0.05, 0}, {-0.05, 0.05, 0}};
  const auto tracks = Filmed(square, {2, 0, 1, 3}, rng);
  const auto hint = [&](const char* name, int track, long long frame) {
    return MarkerHint{name, frame,
                      tracks[track].steps[frame].state.head<2>() + Eigen::Vector2d(5, -6)};
  };
  // Three on a square: the fourth follows.
  const auto result =
      LabelTracks(tracks, Names(4), square, {hint("c", 0, 3), hint("a", 1, 3), hint("b", 2, 20)});
  EXPECT_EQ(result.label, (std::vector<int>{2, 0, 1, 3}));
  // Without a layout too.
  const auto alone = LabelTracks(
      tracks, Names(4), {}, {hint("c", 0, 3), hint("a", 1, 3), hint("b", 2, 20), hint("d", 3, 0)});
  EXPECT_EQ(alone.label, (std::vector<int>{2, 0, 1, 3}));
  EXPECT_THAT(alone.notes, IsEmpty());
}

TEST(LabelTracks, BadHintsAreNoted) {
  std::mt19937_64 rng(45);
  const auto tracks = Filmed(kRod, {0, 1, 2}, rng);
  const Eigen::Vector2d q = tracks[0].steps[2].state.head<2>();
  const auto result =
      LabelTracks(tracks, Names(3), kRod, {{"a", 2, {5, 5}}, {"z", 2, q}, {"a", 99, q}});
  EXPECT_EQ(result.label, (std::vector<int>{0, 1, 2})) << "the arrangement still decides";
  ASSERT_EQ(result.notes.size(), 3u);
  EXPECT_THAT(result.notes[0] + result.notes[1] + result.notes[2], HasSubstr("names no marker"));
  EXPECT_THAT(result.notes[0] + result.notes[1] + result.notes[2], HasSubstr("met no track"));
}

TEST(LabelTracks, WithoutLayoutFromTheLeft) {
  std::mt19937_64 rng(46);
  const auto tracks = Filmed(kRod, {2, 0, 1}, rng);
  const auto result = LabelTracks(tracks, Names(3), {}, {});
  std::vector<std::pair<double, int>> order;
  order.reserve(3);
  for (int k = 0; k < 3; ++k) order.emplace_back(tracks[k].steps[20].state(0), k);
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(result.label[order[i].second], i);
  ASSERT_FALSE(result.notes.empty());
  EXPECT_THAT(result.notes[0], HasSubstr("from left to right"));
}

// A marker hidden for a while comes back as another track; clutter stands about.
TEST(LabelTracks, FragmentsShareANameAndClutterGetsNone) {
  std::mt19937_64 rng(47);
  auto tracks = Filmed(kPlate, {0, 1, 2, 3, 4}, rng);
  Track late = tracks[2];
  late.steps.erase(late.steps.begin(), late.steps.begin() + 25);
  tracks[2].steps.resize(18);
  tracks.push_back(late);
  Track still = tracks[0];
  still.still = true;
  for (TrackStep& step : still.steps) step.state.head<2>() << 300, 300;
  tracks.push_back(still);
  const auto result = LabelTracks(tracks, Names(5), kPlate, {});
  EXPECT_EQ(result.label, (std::vector<int>{0, 1, 2, 3, 4, 2, -1}));
  EXPECT_TRUE(result.complete);
}

TEST(LabelTracks, NothingToNameAndBadArguments) {
  const auto none = LabelTracks({}, Names(2), {}, {});
  EXPECT_FALSE(none.complete);
  EXPECT_EQ(none.notes.size(), 2u);
  EXPECT_THROW(LabelTracks({}, Names(2), kRod, {}), std::invalid_argument);
  EXPECT_THROW(LabelTracks({}, {"a", "a"}, {}, {}), std::invalid_argument);
  std::mt19937_64 rng(48);
  const auto tracks = Filmed(kRod, {0}, rng);
  EXPECT_EQ(LabelTracks(tracks, {"only"}, {{0, 0, 0}}, {}).label, std::vector<int>{0});
  EXPECT_EQ(LabelTracks(tracks, {}, {}, {}).label, std::vector<int>{-1});
}

// T34: layouts that no picture can tell are refused, with a remedy that works.
TEST(LayoutFault, HostileT34SymmetricLayoutsAreRefused) {
  constexpr double kSd = 2e-4;
  const std::vector<Eigen::Vector3d> square{
      {-0.05, -0.05, 0}, {0.05, -0.05, 0}, {0.05, 0.05, 0}, {-0.05, 0.05, 0}};
  const std::vector<Eigen::Vector3d> rectangle{
      {-0.07, -0.05, 0}, {0.07, -0.05, 0}, {0.07, 0.05, 0}, {-0.07, 0.05, 0}};
  const std::vector<Eigen::Vector3d> isosceles{{0, 0.08, 0}, {-0.03, 0, 0}, {0.03, 0, 0}};
  const std::vector<Eigen::Vector3d> even_rod{{-0.09, 0, 0}, {0, 0, 0}, {0.09, 0, 0}};
  const std::vector<Eigen::Vector3d> nearly_even{{-0.09, 0, 0}, {0.0002, 0, 0}, {0.09, 0, 0}};
  std::vector<Eigen::Vector3d> cube;
  cube.reserve(8);
  for (int i = 0; i < 8; ++i)
    cube.emplace_back(i & 1 ? 0.03 : -0.03, i & 2 ? 0.03 : -0.03, i & 4 ? 0.03 : -0.03);
  for (const auto& layout : {square, rectangle, isosceles, even_rod, nearly_even, cube}) {
    const std::string fault = LayoutFault(Names(layout.size()), layout, kSd);
    EXPECT_THAT(fault, HasSubstr("can be exchanged"));
    EXPECT_THAT(fault, HasSubstr(" mm"));
  }
  EXPECT_THAT(LayoutFault(Names(3), even_rod, kSd), HasSubstr("markers a and c"));
  EXPECT_THAT(LayoutFault(Names(3), even_rod, kSd), HasSubstr("along the line"));
  EXPECT_THAT(LayoutFault({"left", "right"}, {{0, 0, 0}, {0.1, 0, 0}}, kSd),
              HasSubstr("left and right"));
}

TEST(LayoutFault, GoodLayoutsPass) {
  constexpr double kSd = 2e-4;
  EXPECT_EQ(LayoutFault(Names(3), kRod, kSd), "");
  EXPECT_EQ(LayoutFault(Names(5), kPlate, kSd), "");
  EXPECT_EQ(LayoutFault(Names(6), kSolid, kSd), "");
  EXPECT_EQ(LayoutFault({"one"}, {{0, 0, 0}}, kSd), "");
  EXPECT_EQ(LayoutFault({}, {}, kSd), "");
  // The same rod measured so badly that its ends cannot be told.
  EXPECT_NE(LayoutFault(Names(3), kRod, 0.02), "");
}

TEST(LayoutFault, MirrorImagesDifferInSpaceOnly) {
  // Four corners of which two are images of each other in a mirror; a fifth marker off all planes
  // that keeps the mirror symmetry.
  const std::vector<Eigen::Vector3d> mirrored{
      {-0.05, 0, 0}, {0.05, 0, 0}, {0, 0.03, 0.02}, {0, -0.04, 0.05}};
  // The exchange of a and b needs a reflection of space: told apart there.
  EXPECT_EQ(LayoutFault(Names(4), mirrored, 2e-4), "");
  // In one plane a body seen from behind is its mirror image.
  const std::vector<Eigen::Vector3d> kite{{-0.05, 0, 0}, {0.05, 0, 0}, {0, 0.03, 0}, {0, -0.07, 0}};
  EXPECT_THAT(LayoutFault(Names(4), kite, 2e-4), HasSubstr("markers a and b"));
}

TEST(LayoutFault, TheAdviceWorks) {
  constexpr double kSd = 2e-4;
  std::vector<Eigen::Vector3d> layout{{-0.09, 0, 0}, {0, 0, 0}, {0.09, 0, 0}};
  const std::string fault = LayoutFault(Names(3), layout, kSd);
  const std::size_t at = fault.find("move ");
  ASSERT_NE(at, std::string::npos) << fault;
  const int marker = fault[at + 5] - 'a';
  const double mm = std::stod(fault.substr(fault.find("by ", at) + 3));
  ASSERT_GE(marker, 0);
  ASSERT_LT(marker, 3);
  layout[marker].x() += 1e-3 * mm;
  EXPECT_EQ(LayoutFault(Names(3), layout, kSd), "") << fault;
}

TEST(LayoutFault, ManySymmetricMarkersInReasonableTime) {
  std::vector<Eigen::Vector3d> ring;
  ring.reserve(24);
  for (int i = 0; i < 24; ++i)
    ring.emplace_back(0.1 * std::cos(2 * M_PI * i / 24), 0.1 * std::sin(2 * M_PI * i / 24), 0);
  std::vector<std::string> names;
  names.reserve(24);
  for (int i = 0; i < 24; ++i) names.push_back(std::to_string(i));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(LayoutFault(names, ring, 2e-4), HasSubstr("can be exchanged"));
  ring[5] *= 1.2;
  ring[6] *= 0.8;
  EXPECT_EQ(LayoutFault(names, ring, 2e-4), "");
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 3);
}

TEST(LayoutFault, HostileInputs) {
  EXPECT_THROW(LayoutFault(Names(2), kRod, 1e-3), std::invalid_argument);
  EXPECT_THROW(LayoutFault(Names(3), kRod, std::nan("")), std::invalid_argument);
  EXPECT_THROW(LayoutFault(Names(3), {{0, 0, 0}, {std::nan(""), 0, 0}, {1, 0, 0}}, 1e-3),
               std::invalid_argument);
  // Two markers in one place.
  EXPECT_NE(LayoutFault(Names(3), {{0, 0, 0}, {0.1, 0, 0}, {0.1, 0, 0}}, 1e-4), "");
  EXPECT_NE(LayoutFault(Names(3), {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 1e-4), "");
}

// A ball and a box that look almost the same after half a turn: the pairs are named, and what is
// advised helps.
TEST(LayoutFault, NearlySymmetricBallAndBoxAreRefusedWithAdviceThatWorks) {
  constexpr double kSd = 5e-4;
  std::mt19937_64 rng(61);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(-1, 1);
  const auto half_turn = [&](std::vector<Eigen::Vector3d> half) {
    const std::size_t n = half.size();
    for (std::size_t i = 0; i < n; ++i) {
      half.emplace_back(-half[i].x() + kSd * normal(rng), -half[i].y() + kSd * normal(rng),
                        half[i].z() + kSd * normal(rng));
    }
    return half;
  };
  std::vector<Eigen::Vector3d> ball, box;
  while (ball.size() < 6) {
    const Eigen::Vector3d p = 0.05 * Eigen::Vector3d(unit(rng), unit(rng), unit(rng)).normalized();
    if (p.head<2>().norm() > 0.015) ball.push_back(p);
  }
  for (int i = 0; i < 3; ++i) {
    box.emplace_back(0.06, 0.04 * unit(rng), 0.03 * unit(rng));
    box.emplace_back(0.05 * unit(rng), 0.045, 0.03 * unit(rng));
    box.emplace_back(0.02 + 0.015 * i, 0.03 * unit(rng), 0.035 * (i - 1));
  }
  for (std::vector<Eigen::Vector3d> layout : {half_turn(ball), half_turn(box)}) {
    const std::size_t n = layout.size();
    const std::vector<std::string> names = Names(n);
    const std::string fault = LayoutFault(names, layout, kSd);
    for (std::size_t i = 0; i < n / 2; ++i)
      EXPECT_THAT(fault, HasSubstr(names[i] + " and " + names[i + n / 2]));
    const std::size_t move = fault.find("move "), along = fault.find(" along ");
    ASSERT_NE(move, std::string::npos) << fault;
    ASSERT_NE(along, std::string::npos) << fault;
    const double by = 1e-3 * std::stod(fault.substr(fault.find("by ", move) + 3)) *
                      (fault[along + 7] == '-' ? -1 : 1);
    layout.at(static_cast<std::size_t>(fault[move + 5] - 'a'))[fault.at(along + 8) - 'x'] += by;
    EXPECT_EQ(LayoutFault(names, layout, kSd), "") << fault;
  }
}

}  // namespace
}  // namespace impactlab
