// Tracks of slides are divided where the body stops, and nowhere else.

#include "impact/identify/slide_course.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "data/base/error.h"

namespace impactlab {
namespace {

struct CourseTrack {
  std::vector<double> t, s;
};

CourseTrack CourseOf(const std::function<double(double)>& s, double duration, double noise,
                     unsigned seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal(0, noise > 0 ? noise : 1);
  CourseTrack out;
  for (int k = 0; k / 60.0 <= duration; ++k) {
    out.t.push_back(k / 60.0);
    out.s.push_back(s(k / 60.0) + (noise > 0 ? normal(rng) : 0));
  }
  return out;
}

SlideCourse Divided(const std::function<double(double)>& s, double duration, double noise = 2e-4,
                    unsigned seed = 1) {
  const CourseTrack track = CourseOf(s, duration, noise, seed);
  return DivideSlide(track.t, track.s);
}

TEST(SlideCourse, KindsOfCourses) {
  const SlideCourse moves = Divided([](double t) { return 0.1 * t + t * t; }, 0.8);
  EXPECT_EQ(moves.kind, SlideKind::kMoves);
  ASSERT_EQ(moves.branches.size(), 1U);
  EXPECT_NEAR(moves.branches[0].acceleration(), 2, 6 * moves.branches[0].fit.sd);

  const auto stops = [](double t) { return t < 0.5 ? 1.5 * t - 1.5 * t * t : 0.375; };
  for (const double sign : {1.0, -1.0}) {
    const SlideCourse rests = Divided([&](double t) { return sign * stops(t); }, 1);
    EXPECT_EQ(rests.kind, SlideKind::kComesToRest);
    EXPECT_NEAR(rests.t_turn, 0.5, 0.02);
    ASSERT_EQ(rests.branches.size(), 1U);
    EXPECT_NEAR(rests.branches[0].acceleration(), -3, 6 * rests.branches[0].fit.sd);
    EXPECT_EQ(rests.branches[0].sign, sign);
  }

  const SlideCourse starts =
      Divided([](double t) { return t < 0.4 ? 0.0 : (t - 0.4) * (t - 0.4); }, 1);
  EXPECT_EQ(starts.kind, SlideKind::kStarts);
  ASSERT_EQ(starts.branches.size(), 1U);
  EXPECT_NEAR(starts.branches[0].acceleration(), 2, 6 * starts.branches[0].fit.sd);

  const auto returns = [](double t) {
    return t < 0.3 ? -3 * (t - 0.3) * (t - 0.3) : -1.2 * (t - 0.3) * (t - 0.3);
  };
  const SlideCourse back = Divided(returns, 0.9);
  EXPECT_EQ(back.kind, SlideKind::kReturns);
  ASSERT_EQ(back.branches.size(), 2U);
  EXPECT_NEAR(back.branches[0].acceleration(), -6, 6 * back.branches[0].fit.sd);
  EXPECT_NEAR(back.branches[1].acceleration(), 2.4, 6 * back.branches[1].fit.sd);

  const auto pushed = [](double t) {
    return t < 0.4 ? -2 * (t - 0.4) * (t - 0.4) : 2 * (t - 0.4) * (t - 0.4);
  };
  EXPECT_EQ(Divided(pushed, 0.8).kind, SlideKind::kUneven);
}

// A turn without friction is one parabola, and still two ways.
TEST(SlideCourse, SmoothTurnsAreTurns) {
  const SlideCourse both = Divided([](double t) { return 1.2 * t - 2 * t * t; }, 0.6);
  EXPECT_EQ(both.kind, SlideKind::kReturns);
  ASSERT_EQ(both.branches.size(), 2U);
  // Places past the turn that are too few for a fit are left out.
  const SlideCourse barely = Divided([](double t) { return 1.2 * t - 2 * t * t; }, 0.34, 1e-5);
  EXPECT_EQ(barely.branches.size(), 1U);
  EXPECT_GT(barely.left_out, 0);
}

// Friction that changes on the way is no stop, and neither is rounding of exact places.
TEST(SlideCourse, NothingIsDividedWithoutAStop) {
  const auto bent = [](double t) { return 0.1 * t + 1.2 * t * t + 0.3 * t * t * t; };
  EXPECT_EQ(Divided(bent, 0.6).kind, SlideKind::kMoves);
  EXPECT_EQ(Divided([](double t) { return 2 * t - t * t; }, 0.7, 0).kind, SlideKind::kMoves);
  EXPECT_EQ(DivideSlide({0, 1, 2, 3}, {0, 1, 4, 9}).kind, SlideKind::kMoves);
  EXPECT_THROW(DivideSlide({0, 1, 2}, {0, 1, 4}), ConfigError);
  int divided = 0;
  for (unsigned seed = 0; seed < 400; ++seed)
    divided += Divided([](double t) { return 0.5 * t + t * t; }, 0.5, 5e-4, seed).kind !=
               SlideKind::kMoves;
  EXPECT_LE(divided, 4);
}

}  // namespace
}  // namespace impactlab
