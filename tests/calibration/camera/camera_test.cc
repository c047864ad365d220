#include "calibration/camera/camera.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <numbers>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <random>

#include "calibration/camera/lens.h"
#include "data/base/error.h"

namespace impactlab {
namespace {

constexpr LensModel kModels[] = {LensModel::kBrown, LensModel::kRational, LensModel::kFisheye};
using Random = std::mt19937_64;

double Uniform(Random& random, double lo, double hi) {
  return std::uniform_real_distribution<double>(lo, hi)(random);
}

// Any signs and sizes a lens, or a bad calibration, may have; `size` 1 is strong.
Camera RandomCamera(Random& random, LensModel model, double size) {
  Camera camera;
  camera.model = model;
  camera.width = 1280, camera.height = 960;
  Eigen::VectorXd values(IntrinsicCount(model));
  values[0] = Uniform(random, 300, 3000);
  values[1] = values[0] * Uniform(random, 0.9, 1.1);
  values[2] = Uniform(random, 500, 780), values[3] = Uniform(random, 380, 580);
  const double brown[] = {0.5, 0.5, 0.02, 0.02, 0.3, 0.8, 0.5, 0.2},
               fisheye[] = {0.1, 0.05, 0.02, 0.005};
  for (int i = 4; i < values.size(); ++i) {
    values[i] = size * Uniform(random, -1, 1) *
                (model == LensModel::kFisheye ? fisheye[i - 4] : brown[i - 4]);
  }
  SetIntrinsics(camera, values);
  return camera;
}

Eigen::Vector3d Direction(double angle, double azimuth) {
  return {std::sin(angle) * std::cos(azimuth), std::sin(angle) * std::sin(azimuth),
          std::cos(angle)};
}

// Least determinant and least outward speed of the distortion on a circle around the axis, by brute
// force.
double LeastDeterminant(const Camera& camera, double angle) {
  const Eigen::VectorXd intrinsics = Intrinsics(camera);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 720; ++i) {
    const double azimuth = 2 * std::numbers::pi * i / 720;
    const Eigen::Vector3d ray = Direction(angle, azimuth);
    const Eigen::Vector3d outward = Direction(angle + std::numbers::pi / 2, azimuth);
    const Eigen::Vector3d around(-std::sin(azimuth), std::cos(azimuth), 0);
    Eigen::Vector2d q;
    Eigen::Matrix<double, 2, 3, Eigen::RowMajor> dq_dp;
    if (!calibration::ProjectLens(camera.model, intrinsics.data(), ray, &q, &dq_dp, nullptr))
      return -1;
    Eigen::Matrix2d derivative;
    derivative << dq_dp * outward, dq_dp * around;
    least = std::min(least, derivative.determinant() / (camera.fx * camera.fy));
    const Eigen::Vector2d radial(std::cos(azimuth) / camera.fx, std::sin(azimuth) / camera.fy);
    least = std::min(least, radial.dot(derivative.col(0)));
  }
  return least;
}

TEST(Camera, NamesCountsAndOrder) {
  EXPECT_EQ(
      IntrinsicNames(LensModel::kBrown),
      (std::vector<std::string>{"fx_px", "fy_px", "cx_px", "cy_px", "k1", "k2", "p1", "p2", "k3"}));
  EXPECT_EQ(IntrinsicNames(LensModel::kRational).back(), "k6");
  EXPECT_EQ(IntrinsicNames(LensModel::kFisheye)[6], "k3");
  for (const LensModel model : kModels) {
    EXPECT_EQ(IntrinsicNames(model).size(), static_cast<std::size_t>(IntrinsicCount(model)));
    EXPECT_EQ(LensModelFromString(ToString(model)), model);
  }
  EXPECT_FALSE(LensModelFromString("Brown"));
  Camera camera;
  camera.model = LensModel::kFisheye;
  EXPECT_THROW(SetIntrinsics(camera, Eigen::VectorXd::Zero(9)), ConfigError);
  Random random(1);
  camera = RandomCamera(random, LensModel::kRational, 0.5);
  Camera other = camera;
  other.distortion = {};
  SetIntrinsics(other, Intrinsics(camera));
  EXPECT_EQ(other.distortion, camera.distortion);
  other.model = LensModel::kFisheye;
  SetIntrinsics(other, Eigen::VectorXd::Constant(8, 0.01));
  EXPECT_EQ(other.distortion[4], 0) << "left over from the richer model";
}

TEST(Camera, DerivativesOfTheLensAgainstDifferences) {
  Random random(2);
  int checked = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const LensModel model = kModels[trial % 3];
    const Camera camera = RandomCamera(random, model, 0.6);
    const Eigen::VectorXd intrinsics = Intrinsics(camera);
    const double angle = trial % 10 == 0
                             ? Uniform(random, 0, 1e-6)
                             : Uniform(random, 0, model == LensModel::kFisheye ? 2.5 : 1.1);
    const double depth = Uniform(random, 0.1, 5);
    const Eigen::Vector3d p = depth * Direction(angle, Uniform(random, 0, 6.28));
    Eigen::Vector2d q;
    Eigen::Matrix<double, 2, 3, Eigen::RowMajor> dq_dp;
    calibration::IntrinsicDerivative dq_di;
    if (!calibration::ProjectLens(model, intrinsics.data(), p, &q, &dq_dp, &dq_di)) continue;
    if (q.norm() > 1e5) continue;
    ++checked;
    const double scale = dq_dp.norm() + 1;
    for (int i = 0; i < 3; ++i) {
      const double h = 1e-6 * depth;
      Eigen::Vector3d step = Eigen::Vector3d::Zero();
      step[i] = h;
      Eigen::Vector2d plus, minus;
      ASSERT_TRUE(
          calibration::ProjectLens(model, intrinsics.data(), p + step, &plus, nullptr, nullptr));
      ASSERT_TRUE(
          calibration::ProjectLens(model, intrinsics.data(), p - step, &minus, nullptr, nullptr));
      EXPECT_LT(((plus - minus) / (2 * h) - dq_dp.col(i)).norm(), 1e-6 * scale)
          << ToString(model) << " angle " << angle << " axis " << i;
    }
    for (int i = 0; i < intrinsics.size(); ++i) {
      Eigen::VectorXd up = intrinsics, down = intrinsics;
      const double h = i < 4 ? 1e-3 : 1e-6;
      up[i] += h, down[i] -= h;
      Eigen::Vector2d plus, minus;
      if (!calibration::ProjectLens(model, up.data(), p, &plus, nullptr, nullptr)) continue;
      if (!calibration::ProjectLens(model, down.data(), p, &minus, nullptr, nullptr)) continue;
      EXPECT_LT(((plus - minus) / (2 * h) - dq_di.col(i)).norm(),
                2e-6 * (1 + dq_di.col(i).norm() + q.norm()))
          << ToString(model) << " " << IntrinsicNames(model)[i];
    }
  }
  EXPECT_GT(checked, 500);
}

TEST(Camera, InvertibleAngleIsTheFirstFold) {
  Random random(3);
  int folds = 0, open = 0;
  for (int trial = 0; trial < 240; ++trial) {
    const LensModel model = kModels[trial % 3];
    Camera camera = RandomCamera(random, model, trial % 2 ? 1 : 0.2);
    if (trial % 7 == 0 && model != LensModel::kFisheye)
      camera.distortion[2] *= 30, camera.distortion[3] *= 30;
    camera.fy = camera.fx;
    SetIntrinsics(camera, Intrinsics(camera));
    const double angle = camera.invertible_angle;
    ASSERT_GT(angle, 0);
    for (int i = 1; i <= 40; ++i) {
      ASSERT_GT(LeastDeterminant(camera, angle * (1 - 1e-9) * i / 40), 0)
          << ToString(model) << " " << trial << " of " << angle;
    }
    const bool limited =
        angle <
        (model == LensModel::kFisheye ? std::numbers::pi : 89 * std::numbers::pi / 180) - 1e-12;
    (limited ? folds : open) += 1;
    // Just beyond, some direction folds (the brute force looks every half degree, so give it some
    // room).
    if (limited) {
      EXPECT_LE(LeastDeterminant(camera, angle * (1 + 1e-4)), 0)
          << ToString(model) << " " << trial << " " << angle;
    }
  }
  EXPECT_GT(folds, 80);
  EXPECT_GT(open, 20);
}

TEST(Camera, InvertibleAngleOfClosedForms) {
  Camera camera;
  camera.width = 640, camera.height = 480;
  const auto angle = [&](LensModel model, std::vector<double> k) {
    camera.model = model;
    Eigen::VectorXd values = Eigen::VectorXd::Zero(IntrinsicCount(model));
    values.head(4) << 500, 500, 320, 240;
    for (std::size_t i = 0; i < k.size(); ++i) values[4 + i] = k[i];
    SetIntrinsics(camera, values);
    return camera.invertible_angle;
  };
  // r + k1 r^3 turns back at r = 1 / sqrt(-3 k1).
  EXPECT_NEAR(angle(LensModel::kBrown, {-0.3}), std::atan(1 / std::sqrt(0.9)), 1e-11);
  EXPECT_NEAR(angle(LensModel::kRational, {-0.3}), std::atan(1 / std::sqrt(0.9)), 1e-11);
  EXPECT_NEAR(angle(LensModel::kFisheye, {-0.3}), 1 / std::sqrt(0.9), 1e-11);
  // Pole of 1 / (1 - r^2 / 4) at r = 2.
  EXPECT_NEAR(angle(LensModel::kRational, {0, 0, 0, 0, 0, -0.25}), std::atan(2), 1e-11);
  // Tangential terms alone: 1 - 6 |p| r = 0.
  EXPECT_NEAR(angle(LensModel::kBrown, {0, 0, 0.06, 0.08}), std::atan(1 / 0.6), 1e-11);
  EXPECT_NEAR(angle(LensModel::kBrown, {}), 89 * std::numbers::pi / 180, 1e-15);
  EXPECT_EQ(angle(LensModel::kFisheye, {}), std::numbers::pi);
  // Two folds: the inner one counts. 1 - 3 t + 2 t^2 is 0 at t = 1/2 and 1.
  EXPECT_NEAR(angle(LensModel::kBrown, {-1, 0.4}), std::atan(std::sqrt(0.5)), 1e-11);
  // It nearly touches zero and rises again: not taken for a fold. (1 - t)^2 + 1e-3.
  const double touch = 1.001;
  EXPECT_GT(angle(LensModel::kBrown, {-2 / touch / 3, 1 / touch / 5}), 1.55);
}

TEST(Camera, RoundTripOfRays) {
  Random random(4);
  int checked = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const LensModel model = kModels[trial % 3];
    Camera camera = RandomCamera(random, model, std::pow(10, Uniform(random, -2, 0.3)));
    if (trial % 11 == 0 && model != LensModel::kFisheye) {
      camera.distortion[2] *= 20, camera.distortion[3] *= 20;
      SetIntrinsics(camera, Intrinsics(camera));
    }
    for (int i = 0; i < 8; ++i) {
      // Up to the very fold, where Newton's method has the least to hold on to.
      const double share =
          i < 4 ? std::sqrt(Uniform(random, 0, 1)) : 1 - std::pow(10, -2.0 * (i - 3));
      const Eigen::Vector3d ray =
          Direction(share * camera.invertible_angle, Uniform(random, 0, 6.28));
      const auto q = Project(camera, ray);
      ASSERT_TRUE(q);
      if ((*q - Eigen::Vector2d(camera.cx, camera.cy)).norm() > 1e5) continue;
      Eigen::Matrix<double, 2, 3> dq_dp;
      Project(camera, ray, &dq_dp);
      // Beside a pole of the rational model the last digit of a ray is more than 1e-9 px.
      if (dq_dp.norm() > 1e6) continue;
      const auto back = Unproject(camera, *q);
      ASSERT_TRUE(back) << ToString(model) << " trial " << trial << " share " << share << " angle "
                        << camera.invertible_angle << " q " << q->transpose();
      EXPECT_NEAR(back->norm(), 1, 1e-15);
      EXPECT_LE((*Project(camera, *back * (1 - 1e-16)) - *q).norm(), 2e-9);
      // Where a pixel tells the ray apart, it is the same ray.
      if (share < 0.999) {
        EXPECT_LT((*back - ray).norm(), 1e-9) << ToString(model) << " " << trial << " " << share;
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 15000);
}

// Strong tangential terms, poles and folds of every kind; the last rays of a disc are where
// Newton's method alone loses the way.
TEST(Camera, RoundTripOfExtremeCameras) {
  Random random(14);
  int checked = 0;
  const auto check = [&](const Camera& camera, double share, double azimuth) {
    const Eigen::Vector3d ray = Direction(share * camera.invertible_angle, azimuth);
    Eigen::Matrix<double, 2, 3> dq_dp;
    const auto q = Project(camera, ray, &dq_dp);
    ASSERT_TRUE(q);
    if ((*q - Eigen::Vector2d(camera.cx, camera.cy)).norm() > 2e4 || dq_dp.norm() > 1e6) return;
    const auto back = Unproject(camera, *q);
    ASSERT_TRUE(back) << "share " << share << " azimuth " << azimuth << " intrinsics "
                      << Intrinsics(camera).transpose();
    ASSERT_LE((*Project(camera, *back * (1 - 1e-16)) - *q).norm(), 2e-9);
    ++checked;
  };
  Camera camera;
  camera.width = 1280, camera.height = 960;
  const auto set = [&](LensModel model, std::vector<double> k) {
    camera.model = model;
    Eigen::VectorXd values(IntrinsicCount(model));
    values.head(4) << 1000, 1000, 640, 480;
    for (int i = 4; i < values.size(); ++i) values[i] = k[i - 4];
    SetIntrinsics(camera, values);
  };
  // The region ends at a pole, to the last digit.
  set(LensModel::kRational,
      {-0.74729648330618959, 0.14006717662605239, -0.0082452269458180658, -0.025322779277328233,
       -1.056539619871127, -0.73932783108116451, -0.33263868083868758, -0.57858314317406112});
  for (const double share : {0.1, 0.5, 0.9}) check(camera, share, 1);
  // A solution which steps downhill do not reach.
  set(LensModel::kRational,
      {-0.12936820641614716, 0.25305130624138189, -0.14941838818615194, -0.14668571115336282,
       -0.3148549107868574, 0.047704131229967396, -0.37284953744504967, -0.0054763935898228455});
  check(camera, 0.872184 / 0.913878, 2.88132);
  check(camera, 0.904739 / 0.913878, 1.86402);
  EXPECT_EQ(checked, 5);
  for (int trial = 0; trial < 15000; ++trial) {
    const double size = std::pow(10, Uniform(random, -1, 0.5)),
                 tangential = std::pow(10, Uniform(random, -2, 0.7));
    std::vector<double> k(8);
    for (int i = 0; i < 8; ++i)
      k[i] = (i == 2 || i == 3 ? tangential : size) * Uniform(random, -1, 1);
    set(trial % 2 ? LensModel::kRational : LensModel::kBrown, k);
    for (int i = 0; i < 8; ++i) {
      check(camera, i < 4 ? std::sqrt(Uniform(random, 0, 1)) : 1 - std::pow(10, -1.0 * (i - 3)),
            Uniform(random, 0, 6.28));
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  EXPECT_GT(checked, 80000);
}

TEST(Camera, RoundTripOfPixels) {
  Random random(5);
  int inside = 0, outside = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    const Camera camera =
        RandomCamera(random, kModels[trial % 3], std::pow(10, Uniform(random, -2, 0.5)));
    for (int i = 0; i < 6; ++i) {
      const Eigen::Vector2d q(Uniform(random, -500, 1800), Uniform(random, -500, 1500));
      const auto ray = Unproject(camera, q);
      (ray ? inside : outside) += 1;
      if (!ray) continue;
      EXPECT_LE(std::atan2(ray->head<2>().norm(), ray->z()), camera.invertible_angle * (1 + 1e-9));
      Eigen::Vector2d image;
      ASSERT_TRUE(calibration::ProjectLens(camera.model, Intrinsics(camera).data(), *ray, &image,
                                           nullptr, nullptr));
      EXPECT_LE((image - q).norm(), 1e-9);
    }
  }
  EXPECT_GT(inside, 3000);
  EXPECT_GT(outside, 500);
}

// What is refused has no ray: a fine net of all rays inside the invertible angle comes nowhere
// near.
TEST(Camera, RefusedPixelsHaveNoRay) {
  Random random(6);
  int refused = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Camera camera = RandomCamera(random, kModels[trial % 3], 1.5);
    if (trial % 2 && camera.model != LensModel::kFisheye) camera.distortion[2] = 0.1;
    SetIntrinsics(camera, Intrinsics(camera));
    // Pixels around the outer rim of the image of the disc, inside and outside.
    for (int i = 0; i < 10; ++i) {
      const double azimuth = Uniform(random, 0, 6.28);
      const auto rim = Project(camera, Direction(camera.invertible_angle * (1 - 1e-12), azimuth));
      ASSERT_TRUE(rim);
      const Eigen::Vector2d centre(camera.cx, camera.cy), outward = (*rim - centre).normalized();
      if ((*rim - centre).norm() > 1e5) continue;
      const Eigen::Vector2d q = *rim + outward * Uniform(random, 0.1, 30);
      if (Unproject(camera, q)) {
        // Then another part of the rim reaches farther; the ray is in the disc and right (tested
        // above).
        continue;
      }
      ++refused;
      double nearest = 1e9;
      for (int j = 0; j < 3000; ++j) {
        const auto other =
            Project(camera, Direction(camera.invertible_angle, 2 * std::numbers::pi * j / 3000));
        if (other) nearest = std::min(nearest, (*other - q).norm());
      }
      // Net of the disc: coarse, so only a hit that a Newton step confirms counts.
      for (int a = 1; a <= 30; ++a) {
        for (int b = 0; b < 60; ++b) {
          const auto other = Project(camera, Direction(camera.invertible_angle * a / 30.001,
                                                       2 * std::numbers::pi * b / 60));
          if (other) {
            ASSERT_GT((*other - q).norm(), 1e-3);
          }
        }
      }
      EXPECT_GT(nearest, 1e-3);
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(Camera, DerivativesOfTheRayAgainstDifferences) {
  Random random(7);
  int checked = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const Camera camera = RandomCamera(random, kModels[trial % 3], 0.5);
    const Eigen::Vector3d ray =
        Direction(Uniform(random, 0, 0.8) * camera.invertible_angle, Uniform(random, 0, 6.28));
    const auto q = Project(camera, ray);
    ASSERT_TRUE(q);
    if (q->norm() > 2e4) continue;
    Eigen::Matrix<double, 3, 2> dray_dq;
    Eigen::Matrix<double, 3, Eigen::Dynamic> dray_di;
    ASSERT_TRUE(Unproject(camera, *q, &dray_dq, &dray_di));
    const double h = 1e-3;
    for (int i = 0; i < 2; ++i) {
      Eigen::Vector2d step = Eigen::Vector2d::Zero();
      step[i] = h;
      const auto plus = Unproject(camera, *q + step), minus = Unproject(camera, *q - step);
      if (!plus || !minus) continue;
      EXPECT_LT(((*plus - *minus) / (2 * h) - dray_dq.col(i)).norm(), 1e-5 * dray_dq.norm() + 1e-9)
          << ToString(camera.model);
      ++checked;
    }
    for (int i = 0; i < IntrinsicCount(camera.model); ++i) {
      const double hi = i < 4 ? 1e-3 : 1e-6;
      Camera up = camera, down = camera;
      Eigen::VectorXd values = Intrinsics(camera);
      values[i] += hi;
      SetIntrinsics(up, values);
      values[i] -= 2 * hi;
      SetIntrinsics(down, values);
      const auto plus = Unproject(up, *q), minus = Unproject(down, *q);
      if (!plus || !minus) continue;
      EXPECT_LT(((*plus - *minus) / (2 * hi) - dray_di.col(i)).norm(),
                1e-4 * dray_di.col(i).norm() + 1e-6)
          << ToString(camera.model) << " " << IntrinsicNames(camera.model)[i];
      ++checked;
    }
    EXPECT_LT((ray.transpose() * dray_dq).norm(), 1e-12)
        << "the derivative of a unit vector is normal to it";
  }
  EXPECT_GT(checked, 3000);
}

TEST(Camera, AgreesWithOpenCv) {
  Random random(8);
  int checked = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const LensModel model = kModels[trial % 3];
    const Camera camera = RandomCamera(random, model, 0.5);
    std::vector<cv::Point3d> points;
    for (int i = 0; i < 20; ++i) {
      const Eigen::Vector3d p =
          Direction(Uniform(random, 0, 0.95) * std::min(camera.invertible_angle, 1.5),
                    Uniform(random, 0, 6.28)) *
          Uniform(random, 0.1, 10);
      points.emplace_back(p.x(), p.y(), p.z());
    }
    const cv::Matx33d K(camera.fx, 0, camera.cx, 0, camera.fy, camera.cy, 0, 0, 1);
    const std::vector<double> distortion(camera.distortion.begin(),
                                         camera.distortion.begin() + DistortionCount(model));
    std::vector<cv::Point2d> images;
    if (model == LensModel::kFisheye) {
      cv::fisheye::projectPoints(points, images, cv::Vec3d(0, 0, 0), cv::Vec3d(0, 0, 0), K,
                                 distortion);
    } else {
      cv::projectPoints(points, cv::Vec3d(0, 0, 0), cv::Vec3d(0, 0, 0), K, distortion, images);
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto q = Project(camera, {points[i].x, points[i].y, points[i].z});
      ASSERT_TRUE(q);
      EXPECT_LE(std::hypot(q->x() - images[i].x, q->y() - images[i].y),
                1e-10 * std::max(1.0, q->norm() / 1000))
          << ToString(model);
      ++checked;
    }
  }
  EXPECT_EQ(checked, 6000);
}

TEST(Camera, WhatHasNoImage) {
  Random random(9);
  for (const LensModel model : kModels) {
    const Camera camera = RandomCamera(random, model, 0.1);
    const double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
    EXPECT_FALSE(Project(camera, {0, 0, 0}));
    EXPECT_FALSE(Project(camera, {0, 0, -1}));
    EXPECT_FALSE(Project(camera, {nan, 0, 1}));
    EXPECT_FALSE(Project(camera, {0, inf, inf}));
    EXPECT_FALSE(Unproject(camera, {nan, 0}));
    EXPECT_FALSE(Unproject(camera, {inf, 3}));
    EXPECT_FALSE(Unproject(camera, {1e300, -1e300}));
    if (model != LensModel::kFisheye) {
      EXPECT_FALSE(Project(camera, {0.1, 0.1, -1}));
    }
    // The axis itself, exactly.
    const auto axis = Unproject(camera, {camera.cx, camera.cy});
    ASSERT_TRUE(axis);
    EXPECT_EQ(*axis, Eigen::Vector3d::UnitZ());
    // A camera put together by hand without its invertible angle works the same.
    Camera bare = camera;
    bare.invertible_angle = 0;
    EXPECT_EQ(*Unproject(bare, {100, 100}), *Unproject(camera, {100, 100}));
  }
  // A fisheye sees behind itself.
  Camera wide;
  wide.model = LensModel::kFisheye;
  wide.width = wide.height = 1000;
  Eigen::VectorXd values = Eigen::VectorXd::Zero(8);
  values.head(4) << 180, 180, 500, 500;
  SetIntrinsics(wide, values);
  const Eigen::Vector3d behind = Direction(2.4, 1);
  const auto q = Project(wide, behind * 3);
  ASSERT_TRUE(q);
  EXPECT_NEAR((*q - Eigen::Vector2d(500, 500)).norm(), 180 * 2.4, 1e-10);
  EXPECT_LT((*Unproject(wide, *q) - behind).norm(), 1e-13);
}

// Barrel distortion for which cv::undistortPoints runs away without a word.
TEST(Camera, HostileT14DivergingInverse) {
  Camera camera;
  camera.width = 1600, camera.height = 1200;
  Eigen::VectorXd values(9);
  values << 1100, 1100, 800, 600, -0.36, 0.05, 0.002, -0.001, 0;
  SetIntrinsics(camera, values);
  const cv::Matx33d K(camera.fx, 0, camera.cx, 0, camera.fy, camera.cy, 0, 0, 1);
  const std::vector<double> distortion(camera.distortion.begin(), camera.distortion.begin() + 5);
  int valid = 0, refused = 0;
  double worst_peer = 0;
  for (int column = 0; column < 100; ++column) {
    for (int row = 0; row < 100; ++row) {
      const double x = 15.99 * column, y = 11.99 * row;
      const Eigen::Vector2d q(x, y);
      const auto ray = Unproject(camera, q);
      (ray ? valid : refused) += 1;
      if (ray) {
        const auto back = Project(camera, *ray);
        ASSERT_TRUE(back);
        ASSERT_LE((*back - q).norm(), 1e-9);
      }
      std::vector<cv::Point2d> in = {{x, y}}, out;
      cv::undistortPoints(in, out, K, distortion);
      std::vector<cv::Point2d> again;
      cv::projectPoints(std::vector<cv::Point3d>{{out[0].x, out[0].y, 1}}, cv::Vec3d(0, 0, 0),
                        cv::Vec3d(0, 0, 0), K, distortion, again);
      worst_peer = std::max(worst_peer, std::hypot(again[0].x - x, again[0].y - y));
    }
  }
  EXPECT_GT(valid, 5000);
  EXPECT_GT(refused, 100);
  EXPECT_GT(worst_peer, 100) << "the trap this test is about";
  // The corner lies beyond the fold.
  EXPECT_FALSE(Unproject(camera, {1598, 2}));
  // Nor does a point outside the invertible angle get an image that a point inside has.
  EXPECT_FALSE(Project(camera, Direction(camera.invertible_angle + 1e-6, 0.3)));
  EXPECT_TRUE(Project(camera, Direction(camera.invertible_angle - 1e-6, 0.3)));
}

TEST(Camera, HostileT16UnreasonableCoefficients) {
  Random random(10);
  const auto make = [](LensModel model, std::vector<double> values) {
    Camera camera;
    camera.model = model;
    camera.width = 1280, camera.height = 960;
    values.resize(IntrinsicCount(model));
    SetIntrinsics(camera, Eigen::Map<Eigen::VectorXd>(values.data(), values.size()));
    return camera;
  };
  const auto expect_fault = [&](const Camera& camera, const std::string& words) {
    const std::string fault = Fault(camera);
    EXPECT_NE(fault.find(words), std::string::npos) << "found: " << fault << "; wanted: " << words;
  };
  const Camera good =
      make(LensModel::kBrown, {1000, 1000, 640, 480, -0.25, 0.1, 1e-3, -1e-3, -0.02});
  EXPECT_EQ(Fault(good), "");
  EXPECT_EQ(Fault(make(LensModel::kFisheye, {400, 400, 640, 480, -0.02, 0.005, -0.002, 0.0003})),
            "");
  EXPECT_EQ(Fault(make(LensModel::kRational,
                       {900, 905, 600, 500, 5.2, 2.1, 1e-4, 1e-4, 0.1, 5.6, 3.6, 0.6})),
            "");
  // Narrow lenses have large and harmless coefficients.
  EXPECT_EQ(Fault(make(LensModel::kBrown, {20000, 20000, 640, 480, 5, -900, 0, 0, 30000})), "");

  expect_fault(make(LensModel::kBrown, {1000, 1000, 640, 480, -5}), "folds inside the image");
  expect_fault(make(LensModel::kBrown, {600, 600, 640, 480, -0.8, 0.2}), "folds inside the image");
  expect_fault(make(LensModel::kBrown, {1000, 1000, 640, 480, 0, 0, 0.9, 0.9}),
               "folds inside the image");
  expect_fault(make(LensModel::kFisheye, {400, 400, 640, 480, -2}), "folds inside the image");
  expect_fault(make(LensModel::kBrown, {1000, 1000, 640, 480, -1e30}), "folds inside the image");
  expect_fault(make(LensModel::kBrown, {1000, 1000, 640, 480, 1e30}), "magnification");
  expect_fault(make(LensModel::kBrown, {1000, 1000, 640, 480, 3, -1e5, 0, 0, 1e30}), "");
  EXPECT_NE(Fault(make(LensModel::kBrown, {1000, 1000, 640, 480, 3, -1e5, 0, 0, 1e30})), "");
  EXPECT_NE(
      Fault(make(LensModel::kBrown, {1000, 1000, 640, 480, 1e300, 1e300, 1e300, 1e300, 1e300})),
      "");
  EXPECT_NE(
      Fault(make(LensModel::kRational, {1000, 1000, 640, 480, 1, 1, 0, 0, 1, -1e3, 1e8, -1e8})),
      "");
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 9; ++i) {
    for (const double bad : {nan, inf, -inf}) {
      Camera camera = good;
      Eigen::VectorXd values = Intrinsics(good);
      values[i] = bad;
      SetIntrinsics(camera, values);
      expect_fault(camera, IntrinsicNames(camera.model)[i]);
      EXPECT_FALSE(Unproject(camera, {-7000, 100}) && i < 4) << "no silent value";
    }
  }
  expect_fault(make(LensModel::kBrown, {0, 1000, 640, 480}), "fx_px is 0");
  expect_fault(make(LensModel::kBrown, {1000, -1000, 640, 480}), "fy_px is -1000");
  expect_fault(make(LensModel::kBrown, {1, 1, 640, 480}), "fx_px");
  expect_fault(make(LensModel::kBrown, {1e9, 1e9, 640, 480}), "fx_px");
  expect_fault(make(LensModel::kBrown, {1000, 10, 640, 480}), "fy_px");
  expect_fault(make(LensModel::kBrown, {10000, 1000, 640, 480}), "fx / fy");
  expect_fault(make(LensModel::kBrown, {1000, 1000, 64000, 480}), "cx_px");
  Camera sized = good;
  sized.width = 0;
  expect_fault(sized, "image is 0 x 960");
  sized = good;
  sized.height = 1 << 20;
  expect_fault(sized, "image is");
  sized = good;
  sized.distortion[6] = 0.1;
  expect_fault(sized, "model brown has 5 coefficients");
  sized = good;
  sized.invertible_angle = 1.5;
  EXPECT_EQ(Fault(sized).empty(), InvertibleAngle(good) >= 1.5);
  // Never a silent value or a hang, whatever the numbers.
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> values(12);
    for (double& value : values)
      value = std::pow(10, Uniform(random, -30, 30)) * (random() % 2 ? 1 : -1);
    values[0] = values[1] = 1000, values[2] = 640, values[3] = 480;
    const Camera camera = make(kModels[trial % 3], values);
    const Eigen::Vector2d q(Uniform(random, 0, 1280), Uniform(random, 0, 960));
    if (const auto ray = Unproject(camera, q)) {
      EXPECT_LE((*Project(camera, *ray) - q).norm(), 1e-9);
    }
  }
}

}  // namespace
}  // namespace impactlab
