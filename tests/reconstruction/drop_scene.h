#pragma once
// Marked bodies that fall, strike and fly on in front of a rig, for the tests of pose and drop fit. Nothing here calls the code under test:
// spin by fine Runge-Kutta steps, the impact by an impulse at the lowest vertex, images of discs and balls by their outline.

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "calibration/rig.h"
#include "impact/body.h"
#include "reconstruction/marker_pose.h"
#include "tracking/tracks.h"

namespace impactlab::test {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

inline Matrix3d Turned(const Vector3d& r) {
  const double angle = r.norm();
  return angle > 0 ? Eigen::AngleAxisd(angle, r / angle).toRotationMatrix() : Matrix3d::Identity();
}

inline Vector3d Normal3(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const double x = normal(random), y = normal(random), z = normal(random);
  return {x, y, z};
}

inline Matrix3d AnyRotation(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const double w = normal(random), x = normal(random), y = normal(random), z = normal(random);
  return Eigen::Quaterniond(w, x, y, z).normalized().toRotationMatrix();
}

// Cameras side by side at 0.9 m, 0.34 m apart, 1280 x 720, that look along W_y at the origin; z of W is up.
inline CameraRig DropRig(int cameras = 2) {
  CameraRig rig;
  for (int c = 0; c < cameras; ++c) {
    RigCamera camera;
    camera.name = "camera" + std::to_string(c);
    camera.camera.model = LensModel::kBrown;
    camera.camera.width = 1280;
    camera.camera.height = 720;
    Eigen::VectorXd x(9);
    x << 1060 + 3 * c, 1062 + 3 * c, 642, 357, -0.12, 0.05, 4e-4, -3e-4, 0;
    SetIntrinsics(camera.camera, x);
    const Vector3d p(0.34 * (c - 0.5 * (cameras - 1)), -0.9, 0.12 + 0.1 * (c % 3 == 2)), forward = (Vector3d(0, 0, 0.02) - p).normalized();
    const Vector3d right = forward.cross(Vector3d::UnitZ()).normalized();
    camera.X_WC.linear() << right, forward.cross(right), forward;
    camera.X_WC.translation() = p;
    rig.cameras.push_back(camera);
  }
  return rig;
}

// Covariance of a calibration: focal length and centre, and the pose of all cameras but the first, independent.
inline void GiveCovariance(CameraRig* rig, double sd_focal, double sd_angle, double sd_position) {
  Eigen::VectorXd sd = Eigen::VectorXd::Zero(ParameterCount(*rig));
  for (std::size_t c = 0; c < rig->cameras.size(); ++c) {
    const int at = FirstParameter(*rig, static_cast<int>(c)), pose = at + IntrinsicCount(rig->cameras[c].camera.model);
    sd.segment<4>(at).setConstant(sd_focal);
    sd.segment<3>(pose).setConstant(c == 0 ? 0 : sd_angle);
    sd.segment<3>(pose + 3).setConstant(c == 0 ? 0 : sd_position);
  }
  rig->covariance = sd.cwiseAbs2().asDiagonal();
}

// The rig as a calibration with an error drawn from the covariance would have it.
inline CameraRig Miscalibrated(const CameraRig& truth, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  CameraRig rig = truth;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    const int at = FirstParameter(rig, static_cast<int>(c)), n = IntrinsicCount(rig.cameras[c].camera.model);
    Eigen::VectorXd error(n + 6);
    for (int i = 0; i < n + 6; ++i) error[i] = std::sqrt(truth.covariance(at + i, at + i)) * normal(random);
    SetIntrinsics(rig.cameras[c].camera, Intrinsics(rig.cameras[c].camera) + error.head(n));
    rig.cameras[c].X_WC.linear() *= Turned(error.segment<3>(n));
    rig.cameras[c].X_WC.translation() += error.tail<3>();
  }
  return rig;
}

// Centroid of the area that a disc's or ball's image covers, from its outline; the projection of the centre where the radius is 0.
inline Vector2d CentroidOf(const RigCamera& camera, const BodyMarker& marker, const Isometry3d& X_WB) {
  const Isometry3d X_CB = camera.X_WC.inverse() * X_WB;
  const Vector3d c = X_CB * marker.p_BM;
  if (marker.radius == 0) return *Project(camera.camera, c);
  Vector3d n = X_CB.linear() * marker.normal_B, middle = c;
  double radius = marker.radius;
  if (marker.normal_B.norm() == 0) {
    // The circle along which the rays touch the ball.
    const double d2 = c.squaredNorm(), r2 = radius * radius;
    n = c.normalized();
    middle = c * (1 - r2 / d2);
    radius *= std::sqrt(1 - r2 / d2);
  }
  const Vector3d a = n.unitOrthogonal(), b = n.cross(a);
  double area = 0;
  Vector2d moment = Vector2d::Zero();
  const int steps = 720;
  Vector2d last = *Project(camera.camera, middle + radius * a);
  const Vector2d origin = last;
  for (int i = 1; i <= steps; ++i) {
    const double angle = 2 * M_PI * i / steps;
    const Vector2d next = *Project(camera.camera, middle + radius * (std::cos(angle) * a + std::sin(angle) * b));
    const Vector2d p = last - origin, q = next - origin;
    const double cross = p.x() * q.y() - p.y() * q.x();
    area += 0.5 * cross;
    moment += cross * (p + q) / 6;
    last = next;
  }
  return origin + moment / area;
}

// State of a free body.
struct Flying {
  Vector3d p = Vector3d::Zero(), v = Vector3d::Zero(), omega = Vector3d::Zero();  // in W
  Matrix3d R = Matrix3d::Identity();
};

// Torque-free flight by Runge-Kutta steps of at most 1 ms: R' = R [omega_B], I omega_B' = (I omega_B) x omega_B.
inline Flying Fly(const Flying& from, const Matrix3d& inertia_B, const Vector3d& gravity, double dt) {
  Flying to = from;
  to.p = from.p + from.v * dt + 0.5 * dt * dt * gravity;
  to.v = from.v + dt * gravity;
  const int steps = std::max(1, static_cast<int>(std::ceil(std::abs(dt) / 1e-3)));
  const double h = dt / steps;
  const Matrix3d inverse = inertia_B.inverse();
  Eigen::Quaterniond q(from.R);
  Vector3d w = from.R.transpose() * from.omega;
  const auto spin = [&](const Vector3d& x) -> Vector3d { return inverse * (inertia_B * x).cross(x); };
  const auto turn = [](const Eigen::Vector4d& c, const Vector3d& x) -> Eigen::Vector4d {  // c = (x, y, z, w)
    const Eigen::Quaterniond product = Eigen::Quaterniond(c) * Eigen::Quaterniond(0, x.x(), x.y(), x.z());
    return 0.5 * product.coeffs();
  };
  for (int i = 0; i < steps; ++i) {
    const Eigen::Vector4d c = q.coeffs();
    const Vector3d k1 = spin(w), k2 = spin(w + 0.5 * h * k1), k3 = spin(w + 0.5 * h * k2), k4 = spin(w + h * k3);
    const Eigen::Vector4d l1 = turn(c, w), l2 = turn(c + 0.5 * h * l1, w + 0.5 * h * k1), l3 = turn(c + 0.5 * h * l2, w + 0.5 * h * k2),
                          l4 = turn(c + h * l3, w + h * k3);
    w += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    q.coeffs() = c + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
    q.normalize();
  }
  to.R = q.toRotationMatrix();
  to.omega = to.R * w;
  return to;
}

enum class Thing { kBox, kBar, kRod };

// One drop: the states at the impact, and what is known about the body.
struct Drop {
  Body body;
  std::vector<BodyMarker> markers;
  Vector3d gravity{0, 0, -9.80665};
  Flying minus, plus;  // at the impact
  Vector3d lever = Vector3d::Zero();
  double t = 0;                    // of the impact [s]
  double begin = -0.2, end = 0.2;  // of free flight about it, relative [s]

  Flying At(double time) const { return Fly(time < t ? minus : plus, body.inertia_B, gravity, time - t); }
};

// Heights of what can touch the floor over it, smallest first.
inline std::vector<double> Heights(const Body& body, const Flying& f) {
  std::vector<double> heights;
  if (body.shape == BodyShape::kRod) {
    for (double side : {1.0, -1.0}) heights.push_back(f.p.z() + side * (body.half_length - body.radius) * f.R(2, 2) - body.radius);
  } else {
    for (int i = 0; i < 8; ++i) {
      const Vector3d corner(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
      heights.push_back(f.p.z() + (f.R * corner.cwiseProduct(body.half_extents)).z());
    }
  }
  std::sort(heights.begin(), heights.end());
  return heights;
}

inline Vector3d LowestLever(const Body& body, const Matrix3d& R) {
  if (body.shape == BodyShape::kRod) {
    const double side = R(2, 2) > 0 ? -1 : 1;
    return side * (body.half_length - body.radius) * R.col(2) - body.radius * Vector3d::UnitZ();
  }
  Vector3d lever = Vector3d::Zero();
  for (int i = 0; i < 3; ++i) lever += (R(2, i) > 0 ? -1 : 1) * body.half_extents[i] * R.col(i);
  return lever;
}

inline Drop DrawDrop(Thing thing, std::mt19937_64& random, double duration = 0.2) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto vector = [&] {
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    return Vector3d(x, y, z);
  };
  Drop drop;
  const auto marker = [&](double x, double y, double z) { drop.markers.push_back({Vector3d(x, y, z), Vector3d::Zero(), 0}); };
  if (thing == Thing::kBox) {
    drop.body = MakeBox({0.10, 0.07, 0.05}, 0.3);
    marker(0.045, 0.03, 0.025), marker(-0.04, 0.035, -0.01), marker(0.01, -0.035, 0.02), marker(-0.03, -0.02, -0.025);
  } else if (thing == Thing::kBar) {
    drop.body = MakeBox({0.03, 0.02, 0.20}, 0.2);
    marker(0.012, -0.01, 0.09), marker(-0.012, -0.01, 0.01), marker(0.012, 0.01, -0.085);
  } else {
    drop.body = MakeRod(0.2, 0.006, 0.1);
    marker(0, 0, -0.09), marker(0, 0, 0.01), marker(0, 0, 0.085);
  }
  const double least_lean = thing == Thing::kRod ? 0.05 : thing == Thing::kBox ? 0.015 : 0.006;
  while (true) {
    Flying& m = drop.minus;
    m = {};
    m.R = AnyRotation(random);
    m.v = Vector3d(0.3, 0.2, 0.4).cwiseProduct(vector()) + Vector3d(0, 0, -1.6);
    m.omega = 4 * vector();
    // A rod that was released at rest does not spin about itself.
    if (thing == Thing::kRod) m.omega -= m.R.col(2) * m.R.col(2).dot(m.omega);
    m.p = 0.05 * vector();
    drop.lever = LowestLever(drop.body, m.R);
    m.p.z() = -drop.lever.z();
    const std::vector<double> heights = Heights(drop.body, m);
    if (heights[1] < least_lean) continue;
    const Vector3d u = m.v + m.omega.cross(drop.lever);
    if (u.z() > -0.6) continue;
    // Impulse along the normal with friction 0.2 against the slip.
    Vector3d direction(-u.x(), -u.y(), 0);
    direction *= 0.2 / direction.norm();
    direction.z() = 1;
    const Matrix3d inverse_W = m.R * drop.body.inertia_B.inverse() * m.R.transpose();
    const double per_impulse = (direction / drop.body.mass + (inverse_W * drop.lever.cross(direction)).cross(drop.lever)).z();
    if (!(per_impulse > 0)) continue;
    const double J = -1.8 * u.z() / per_impulse;
    drop.plus = m;
    drop.plus.v += J * direction / drop.body.mass;
    drop.plus.omega += inverse_W * drop.lever.cross(J * direction);
    drop.t = 0.3 + 0.01 * uniform(random);
    // Free flight ends where anything touches again, with a few milliseconds to spare.
    drop.begin = -duration;
    drop.end = 0;
    bool clean = true;
    Flying before = m, after = drop.plus;
    for (double s = 2e-3; s < duration && clean; s += 2e-3) {
      before = Fly(before, drop.body.inertia_B, drop.gravity, -2e-3);
      clean = Heights(drop.body, before)[0] > 0;
    }
    if (!clean) continue;
    while (drop.end < duration) {
      after = Fly(after, drop.body.inertia_B, drop.gravity, 2e-3);
      if (Heights(drop.body, after)[0] <= 0) break;
      drop.end += 2e-3;
    }
    drop.end -= 2e-3;
    if (drop.end > 0.03) return drop;
  }
}

struct Filming {
  double rate = 240;                          // [1/s]
  double pixel_sd = 0.05;                     // [px]
  std::vector<double> offset = {0, 0, 0, 0};  // true time less stamp, by camera [s]
  std::vector<double> late = {0, 0, 0, 0};    // exposures later than those of the first camera, stamps say so [s]
  double t_line = 0;                          // rows one after another; times of the points say so [s]
  bool flags = true;                          // of the impact
};

inline MarkerTracks Film(const Drop& drop, const CameraRig& rig, const Filming& filming, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  MarkerTracks tracks;
  tracks.recording = "drop";
  for (std::size_t m = 0; m < drop.markers.size(); ++m) tracks.markers.push_back("m" + std::to_string(m + 1));
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    tracks.cameras.push_back(rig.cameras[c].name);
    const RigCamera& camera = rig.cameras[c];
    const auto look = [&](std::size_t m, double time) {
      const Flying f = drop.At(time);
      Isometry3d X = Isometry3d::Identity();
      X.linear() = f.R;
      X.translation() = f.p;
      return CentroidOf(camera, drop.markers[m], X);
    };
    for (std::size_t m = 0; m < drop.markers.size(); ++m) {
      for (long long frame = 0; frame < 400; ++frame) {
        const double stamp = static_cast<double>(frame) / filming.rate + filming.late[c];
        const double true_time = stamp + filming.offset[c];
        if (true_time < drop.t + drop.begin || true_time > drop.t + drop.end) continue;
        double row = 0;
        for (int k = 0; k < (filming.t_line > 0 ? 4 : 0); ++k) row = filming.t_line * look(m, true_time + row).y();
        TrackPoint point;
        point.camera = static_cast<int>(c);
        point.marker = static_cast<int>(m);
        point.frame = frame;
        point.t = stamp + row;
        const double x = normal(random), y = normal(random);
        point.q = look(m, true_time + row) + filming.pixel_sd * Vector2d(x, y);
        point.cov = std::pow(std::max(filming.pixel_sd, 1e-3), 2) * Eigen::Matrix2d::Identity();
        if (filming.flags && std::abs(true_time + row - drop.t) < 0.7 / filming.rate) point.flags |= kImpact;
        tracks.points.push_back(point);
      }
    }
  }
  return tracks;
}

}  // namespace impactlab::test
