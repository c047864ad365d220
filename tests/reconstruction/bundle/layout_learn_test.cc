// Whether the layout that all impacts agree on is found, also where one of them is nonsense.

#include "reconstruction/bundle/layout_learn.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <random>

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kPriorSd = 1e-4;
constexpr int kMarkers = 3, kDim = 3 * kMarkers;

VectorXd Normals(int n, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  return VectorXd::NullaryExpr(n, [&] { return normal(random); });
}

// An impact whose images tell some directions of the layout to about 0.1 mm and others not at all,
// where the layout is off by `off`.
ImpactBundle Impact(const VectorXd& off, std::mt19937_64& random) {
  const MatrixXd seen =
      1e4 / 3 * MatrixXd::NullaryExpr(kDim - 2, kDim, [&] { return Normals(1, random)[0]; });
  ImpactBundle fit;
  fit.usable = fit.observable = true;
  fit.noise_scale = 1;
  fit.layout_information = seen.transpose() * seen;
  fit.layout_rig_information = MatrixXd::Zero(kDim, 0);
  fit.layout_gradient = -seen.transpose() * (seen * off + Normals(kDim - 2, random));
  return fit;
}

LearnedLayout Learn(const std::vector<ImpactBundle>& fits) {
  std::vector<const ImpactBundle*> pointers;
  pointers.reserve(fits.size());
  for (const ImpactBundle& fit : fits) pointers.push_back(&fit);
  return LearnLayout(pointers, {}, std::vector<BodyMarker>(kMarkers),
                     std::vector<BodyMarker>(kMarkers), kPriorSd, 2);
}

VectorXd Moved(const LearnedLayout& layout) {
  VectorXd out(kDim);
  for (int m = 0; m < kMarkers; ++m)
    out.segment<3>(3 * m) = layout.markers[static_cast<std::size_t>(m)].p_BM;
  return out;
}

TEST(LayoutLearn, ErrorsAreThoseThatAreStated) {
  std::mt19937_64 random(21);
  constexpr int kRepeats = 200;
  double sum = 0;
  for (int k = 0; k < kRepeats; ++k) {
    const VectorXd off = kPriorSd * Normals(kDim, random);
    std::vector<ImpactBundle> fits;
    fits.reserve(8);
    for (int i = 0; i < 8; ++i) fits.push_back(Impact(off, random));
    const LearnedLayout layout = Learn(fits);
    EXPECT_EQ(layout.impacts, 8);
    const VectorXd error = Moved(layout) - off;
    sum += error.dot(Eigen::LLT<MatrixXd>(layout.knowledge.cov).solve(error)) / kDim;
  }
  EXPECT_NEAR(sum / kRepeats, 1, 5 * std::sqrt(2.0 / (kDim * kRepeats)));
}

TEST(LayoutLearn, AFitThatWentWrongDoesNotMoveTheOthers) {
  std::mt19937_64 random(22);
  for (int k = 0; k < 20; ++k) {
    const VectorXd off = kPriorSd * Normals(kDim, random);
    std::vector<ImpactBundle> fits;
    fits.reserve(9);
    for (int i = 0; i < 8; ++i) fits.push_back(Impact(off, random));
    const LearnedLayout right = Learn(fits);
    fits.push_back(Impact(off, random));
    // Says little of the layout, and claims thousands of standard deviations.
    fits.back().layout_information *= 1e-3;
    fits.back().layout_gradient = fits.back().layout_information * (13 * Normals(kDim, random));
    const LearnedLayout with = Learn(fits);
    for (int m = 0; m < kMarkers; ++m)
      for (int i = 0; i < 3; ++i) {
        const auto at = static_cast<std::size_t>(m);
        EXPECT_LT(std::abs(with.markers[at].p_BM[i] - right.markers[at].p_BM[i]), right.sd[at][i]);
      }
  }
}

}  // namespace
}  // namespace impactlab
