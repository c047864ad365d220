// The spin about an axis that no image shows: what friction gives of it, and what markers beside the axis do to the spin across it.

#include <gtest/gtest.h>

#include "data/statistics.h"
#include "reconstruction/drop_fit.h"
#include "reconstruction/drop_fit_problem.h"
#include "tests/reconstruction/drop_errors.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {
namespace {

using internal::DropProblem;
using internal::DropState;

DropProblem ProblemOf(const Drop& drop, const Vector3d& axis_B) {
  DropProblem problem;
  problem.body = drop.body;
  problem.has_axis = true;
  problem.axis_B = axis_B;
  problem.spin_sd[0] = 0.7;
  problem.spin_sd[1] = 1.3;
  problem.floor_normal = drop.normal;
  problem.spin_by_slip = internal::SpinBySlip(drop.body, axis_B);
  return problem;
}

DropState StateOf(const Drop& drop) {
  DropState state;
  state.p = drop.minus.p;
  state.q = Eigen::Quaterniond(drop.minus.R);
  state.v[0] = drop.minus.v;
  state.v[1] = drop.plus.v;
  state.omega[0] = drop.minus.R.transpose() * drop.minus.omega;
  state.omega[1] = drop.minus.R.transpose() * drop.plus.omega;
  return state;
}

TEST(DropFitSpin, GainIsThatOfTheImpulseOnSlopesToo) {
  std::mt19937_64 random(31);
  double most = 0;
  for (int k = 0; k < 40; ++k) {
    const double slope = 0.02 * k;
    for (const Thing thing : {Thing::kRod, Thing::kBall}) {
      const Drop drop = DrawDrop(thing, random, 0.2, {std::sin(slope), 0, std::cos(slope)});
      const Vector3d axis = thing == Thing::kRod ? Vector3d::UnitZ() : Normal3(random).normalized();
      const DropState state = StateOf(drop);
      const double gain = axis.dot(state.omega[1] - state.omega[0]);
      EXPECT_NEAR(internal::SpinGain(ProblemOf(drop, axis), state), gain, 1e-9 * (1 + std::abs(gain)));
      most = std::max(most, std::abs(gain));
    }
  }
  EXPECT_GT(most, 10);
}

TEST(DropFitSpin, NothingIsGainedWhereTheContactDependsOnTheRoll) {
  std::mt19937_64 random(32);
  const Drop bar = DrawDrop(Thing::kBar, random), rod = DrawDrop(Thing::kRod, random);
  EXPECT_EQ(internal::SpinBySlip(bar.body, Vector3d::UnitZ()), 0);
  EXPECT_EQ(internal::SpinBySlip(rod.body, Vector3d::UnitX()), 0);
  EXPECT_GT(internal::SpinBySlip(rod.body, -Vector3d::UnitZ()), 0);
}

TEST(DropFitSpin, DerivativesAreThoseOfDifferences) {
  std::mt19937_64 random(33);
  for (const bool linked : {true, false}) {
    const Drop drop = DrawDrop(Thing::kRod, random);
    DropProblem problem = ProblemOf(drop, Vector3d(0.01, -0.02, 1).normalized());
    if (!linked) problem.spin_by_slip = 0;
    const DropState at = StateOf(drop);
    Eigen::Matrix<double, 2, kDropDim> by_state;
    internal::SpinResiduals(problem, at, &by_state);
    for (int i = 0; i < kDropDim; ++i) {
      constexpr double kStep = 1e-5;
      Eigen::Vector2d side[2];
      for (const int s : {0, 1}) {
        DropState moved = at;
        Eigen::VectorXd d = Eigen::VectorXd::Zero(kDropDim);
        d[i] = s == 0 ? -kStep : kStep;
        moved.p += d.segment<3>(kDropPose);
        moved.q = Eigen::Quaterniond(at.q.toRotationMatrix() * Turned(d.segment<3>(kDropPose + 3)));
        for (const int arc : {0, 1}) {
          moved.v[arc] += d.segment<3>(arc == 0 ? kDropMinus : kDropPlus);
          moved.omega[arc] += d.segment<3>((arc == 0 ? kDropMinus : kDropPlus) + 3);
        }
        side[s] = internal::SpinResiduals(problem, moved, nullptr);
      }
      const Eigen::Vector2d slope = (side[1] - side[0]) / (2 * kStep);
      EXPECT_LT((slope - by_state.col(i)).norm(), 1e-6 * (1 + slope.norm())) << "state " << i;
    }
  }
}

// Mean square of the errors of the spin across the axis after the impact, in what is stated, of rods that spin about themselves unseen and
// whose markers sit beside the axis; along it they are where they should be, as where that was learned. `measured`: the layout says how
// far, but no image shows on which side; else it says they were on the axis, and how well.
double ErrorAcross(bool measured, int drops, std::uint64_t seed) {
  constexpr double kLayoutSd = 1e-4, kLeastSpin = 15, kMostSpin = 30;
  const Vector3d beside(kLayoutSd, kLayoutSd, 0);
  std::mt19937_64 random(seed);
  const CameraRig rig = DropRig(2);
  double chi_square = 0;
  for (int k = 0; k < drops;) {
    Drop drop = DrawDrop(Thing::kRod, random, 0.2, Vector3d::UnitZ(), 0.1);
    const double spin = drop.minus.R.col(2).dot(drop.plus.omega);
    if (std::abs(spin) < kLeastSpin || std::abs(spin) > kMostSpin) continue;
    ++k;
    std::vector<BodyMarker> layout = drop.markers;
    for (BodyMarker& marker : drop.markers) marker.p_BM += beside.cwiseProduct(Normal3(random));
    DropFitOptions options;
    if (measured) {
      layout = drop.markers;
    } else {
      options.layout.cov = beside.cwiseAbs2().replicate<3, 1>().asDiagonal().toDenseMatrix();
    }
    const DropFit fit = FitDrop(Film(drop, rig, {}, random), rig, layout, drop.body, {}, options);
    EXPECT_TRUE(fit.usable) << fit.reason;
    EXPECT_FALSE(fit.observable);
    const Eigen::VectorXd error = StateError(fit, drop);
    const double sd = std::sqrt(fit.cov(kDropPlus + 5, kDropPlus + 5));
    EXPECT_LT(std::abs(error[kDropPlus + 5]), 6 * sd);
    EXPECT_LT(sd, 0.4 * std::abs(spin));
    const Eigen::Vector2d across = error.segment<2>(kDropPlus + 3);
    chi_square += across.dot(fit.cov.block<2, 2>(kDropPlus + 3, kDropPlus + 3).inverse() * across);
  }
  return chi_square;
}

TEST(DropFitSpin, SpinAcrossIsCoveredWhereTheRodSpinsUnseen) {
  constexpr int kDrops = 80;
  const Interval band = ChiSquareBand(2 * kDrops, 1e-3);
  for (const bool measured : {false, true}) {
    const double chi_square = ErrorAcross(measured, kDrops, 34);
    EXPECT_GT(chi_square, band.lower) << measured;
    EXPECT_LT(chi_square, band.upper) << measured;
  }
}

}  // namespace
}  // namespace impactlab::test
