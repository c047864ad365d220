#include "impact/motion/detail/contact_forces.h"

#include <gtest/gtest.h>

namespace impactlab {
namespace {

// A tetrahedron that stands still on one edge and is about to slide at one of its ends: along the
// edge the forces of the ends are not unique, and steps from contact to contact settle slowly.
TEST(ContactForces, AnEdgeAtTheLimitOfFrictionHasForces) {
  impact::ForceProblem problem;
  problem.width = 3;
  problem.W.resize(6, 6);
  problem.W << 11.469212002654091, 2.5831709022451017, -1.5146451384399957, -0.33440262136782506,
      -5.9593266645850616, 3.3816321973436949, 2.5831709022451017, 5.0664111785060886,
      4.3869502642123166, -1.4271277609238884, 2.1640827254351267, -2.5296564815302678,
      -1.5146451384399957, 4.3869502642123166, 9.0840658669721659, -1.3037460792091538,
      4.5395818739109082, -4.4696345628113328, -0.33440262136782506, -1.4271277609238884,
      -1.3037460792091538, 7.0014835033093092, 3.8819907901903044, 3.4794241658520364,
      -5.9593266645850616, 2.1640827254351267, 4.5395818739109082, 3.8819907901903044,
      9.2864289803466846, -2.4588825974576838, 3.3816321973436949, -2.5296564815302678,
      -4.4696345628113328, 3.4794241658520364, -2.4588825974576838, 8.0021167171219041;
  problem.b.resize(6);
  problem.b << -0.61909314633576717, -0.50605227044485346, -8.323105530255777, -0.54229124587111832,
      -0.45046929279392389, -8.1335135737104203;
  problem.v = Eigen::VectorXd::Zero(6);
  problem.slip = Eigen::MatrixX2d::Zero(2, 2);
  problem.mu_k = problem.mu_s = {0.29558533086169825, 0.29558533086169825};
  const impact::ForceSolution s = impact::SolveContactForces(problem);
  ASSERT_TRUE(s.solved);
  EXPECT_EQ(s.mode, (std::vector<PointMode>{PointMode::kStick, PointMode::kSlip}));
  const Eigen::VectorXd a = problem.b + problem.W * s.lambda;
  for (int i = 0; i < 2; ++i) {
    SCOPED_TRACE(i);
    const Eigen::Vector3d force = s.lambda.segment<3>(3 * i), accel = a.segment<3>(3 * i);
    EXPECT_GT(force.z(), 1);
    EXPECT_NEAR(accel.z(), 0, 1e-5);
    EXPECT_LE(force.head<2>().norm(), problem.mu_s[0] * force.z() * (1 + 1e-9));
    if (s.mode[static_cast<std::size_t>(i)] == PointMode::kStick) {
      EXPECT_LT(accel.head<2>().norm(), 1e-4);
    } else {
      EXPECT_NEAR(force.head<2>().norm(), problem.mu_k[0] * force.z(), 1e-9);
      EXPECT_LT(accel.head<2>().dot(force.head<2>()), 0);
    }
  }
}

}  // namespace
}  // namespace impactlab
