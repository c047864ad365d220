// Whether distances between markers tell a wrong layout from a right one.

#include "reconstruction/pose/layout_distances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <random>

namespace impactlab {
namespace {

using Eigen::Vector3d;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kNames = {"p", "q", "r", "s"};
const std::vector<Vector3d> kPlaces = {
    {0.045, 0.03, 0.025}, {-0.04, 0.035, -0.01}, {0.01, -0.035, 0.02}, {-0.03, -0.02, -0.025}};

// What `recordings` of 40 frames with errors of `sd` a coordinate say of the layout `given`; body
// turned at random in every frame.
LayoutVerdict Judge(const std::vector<Vector3d>& given, const std::vector<Vector3d>& real,
                    double sd, std::mt19937_64& random, double scale_sd = 0) {
  std::normal_distribution<double> normal;
  LayoutDistances distances(
      {kNames.begin(), kNames.begin() + static_cast<std::ptrdiff_t>(given.size())},
      {given.begin(), given.end()});
  for (int recording = 0; recording < 3; ++recording) {
    for (int frame = 0; frame < 40; ++frame) {
      const double w = normal(random), x = normal(random), y = normal(random), z = normal(random);
      const Eigen::Matrix3d R = Eigen::Quaterniond(w, x, y, z).normalized().toRotationMatrix();
      std::vector<std::pair<int, Eigen::VectorXd>> seen;
      for (std::size_t m = 0; m < real.size(); ++m) {
        if ((frame + static_cast<int>(m)) % 7 == 0) continue;  // hidden
        const double a = normal(random), b = normal(random), c = normal(random);
        seen.emplace_back(static_cast<int>(m), R * real[m] + sd * Vector3d(a, b, c));
      }
      distances.Add(recording, seen);
    }
  }
  return distances.CompareWithGiven(scale_sd);
}

TEST(LayoutDistances, ARightLayoutIsNotDoubted) {
  std::mt19937_64 random(11);
  int doubted = 0;
  for (int k = 0; k < 500; ++k) doubted += Judge(kPlaces, kPlaces, 1e-4, random).doubtful;
  EXPECT_EQ(doubted, 0);
}

TEST(LayoutDistances, TheMarkerThatIsElsewhereIsNamed) {
  std::mt19937_64 random(12);
  for (std::size_t m = 0; m < kPlaces.size(); ++m) {
    std::vector<Vector3d> given = kPlaces;
    given[m] += Vector3d(1.2e-3, -1.2e-3, 1.1e-3);
    const LayoutVerdict verdict = Judge(given, kPlaces, 1e-4, random);
    EXPECT_TRUE(verdict.doubtful);
    EXPECT_THAT(verdict.text,
                HasSubstr("marker '" + kNames[m] + "' is not where the layout has it"));
    EXPECT_GT(std::abs(verdict.furthest), 1e-3);
    EXPECT_LT(verdict.sd, 1e-4);
  }
}

TEST(LayoutDistances, AScaleIsToldFromAMarkerAndAllowedWhereItIsNotKnown) {
  std::mt19937_64 random(13);
  std::vector<Vector3d> given = kPlaces;
  for (Vector3d& p : given) p *= 1.02;
  EXPECT_THAT(Judge(given, kPlaces, 1e-4, random).text,
              HasSubstr("seen 1.96 % shorter than the layout has them"));
  EXPECT_THAT(Judge(given, kPlaces, 1e-4, random, 0.01).text, IsEmpty());
}

TEST(LayoutDistances, WhatTwoMarkersCannotTellIsSaid) {
  std::mt19937_64 random(14);
  const std::vector<Vector3d> real = {{0.05, 0, 0}, {-0.05, 0, 0}};
  EXPECT_THAT(Judge({{0.052, 0, 0}, {-0.05, 0, 0}}, real, 1e-4, random).text,
              HasSubstr("the layout or the scale of the recordings is wrong"));
}

TEST(LayoutDistances, SeveralAreSaidToBeSeveral) {
  std::mt19937_64 random(15);
  std::vector<Vector3d> given = kPlaces;
  given[0] += Vector3d(1e-3, 0, 1e-3);
  given[1] -= Vector3d(0, 2e-3, 0);
  EXPECT_THAT(Judge(given, kPlaces, 1e-4, random).text,
              HasSubstr("several markers are not where the layout has them"));
}

}  // namespace
}  // namespace impactlab
