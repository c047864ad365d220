#pragma once
// Marked bodies that fall, strike and fly on in front of a rig, for the tests of pose and drop fit.
// Nothing here calls the code under test: spin by fine Runge-Kutta steps, the impact by an impulse
// at the lowest vertex, images of discs and balls by their outline.

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "impact/body/body.h"
#include "reconstruction/pose/marker_pose.h"
#include "tracking/track/tracks.h"

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

// Cameras side by side at 0.9 m, 0.34 m apart, 1280 x 720, that look along W_y at the origin; z of
// W is up.
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
    const Vector3d p(0.34 * (c - 0.5 * (cameras - 1)), -0.9, 0.12 + 0.1 * (c % 3 == 2)),
        forward = (Vector3d(0, 0, 0.02) - p).normalized();
    const Vector3d right = forward.cross(Vector3d::UnitZ()).normalized();
    camera.X_WC.linear() << right, forward.cross(right), forward;
    camera.X_WC.translation() = p;
    rig.cameras.push_back(camera);
  }
  return rig;
}

// Covariance of a calibration: focal length and centre, and the pose of all cameras but the first,
// independent.
inline void GiveCovariance(CameraRig* rig, double sd_focal, double sd_angle, double sd_position) {
  Eigen::VectorXd sd = Eigen::VectorXd::Zero(ParameterCount(*rig));
  for (std::size_t c = 0; c < rig->cameras.size(); ++c) {
    const int at = FirstParameter(*rig, static_cast<int>(c)),
              pose = at + IntrinsicCount(rig->cameras[c].camera.model);
    sd.segment<4>(at).setConstant(sd_focal);
    sd.segment<3>(pose).setConstant(c == 0 ? 0 : sd_angle);
    sd.segment<3>(pose + 3).setConstant(c == 0 ? 0 : sd_position);
  }
  rig->covariance = sd.cwiseAbs2().asDiagonal();
}

// Covariance of a calibration by `boards` pictures of a chessboard (9 x 6 corners, 23 mm) that both
// cameras see at once, corners with noise of `sd` pixels: the inverse of the Fisher information,
// boards marginalised. The first board stands at the origin and is the world.
inline void CalibrateByBoards(CameraRig* rig, int boards, double sd, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const int n = ParameterCount(*rig);
  Eigen::MatrixXd information = Eigen::MatrixXd::Zero(n, n);
  for (int b = 0; b < boards; ++b) {
    Isometry3d X_WO = Isometry3d::Identity();
    const double turn = uniform(random), tip = uniform(random), roll = uniform(random);
    // Faces the cameras, which look along W_y.
    X_WO.linear() =
        Turned({0.6 * tip, 0, 0.6 * turn}) * Turned({M_PI / 2, 0, 0}) * Turned({0, 0, 0.5 * roll});
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    X_WO.translation() = Vector3d(0.16 * x, 0.15 * y, 0.1 * z);
    if (b == 0) X_WO.linear() = Turned({M_PI / 2, 0, 0});
    if (b == 0) X_WO.translation().setZero();
    X_WO.translation() -= X_WO.linear() * Vector3d(0.092, 0.0575, 0);
    Eigen::MatrixXd by_board = Eigen::MatrixXd::Zero(n, 6);
    Eigen::Matrix<double, 6, 6> board = Eigen::Matrix<double, 6, 6>::Zero();
    for (std::size_t c = 0; c < rig->cameras.size(); ++c) {
      const RigCamera& camera = rig->cameras[c];
      const int at = FirstParameter(*rig, static_cast<int>(c)),
                k = IntrinsicCount(camera.camera.model);
      const Isometry3d X_CW = camera.X_WC.inverse();
      for (int i = 0; i < 54; ++i) {
        const int column = i % 9, row = i / 9;
        const Vector3d p_O(0.023 * column, 0.023 * row, 0), p_W = X_WO * p_O, p_C = X_CW * p_W;
        Eigen::Matrix<double, 2, 3> dq_dp;
        Eigen::Matrix<double, 2, Eigen::Dynamic> dq_dk;
        const auto q = Project(camera.camera, p_C, &dq_dp, &dq_dk);
        if (!q || q->x() < 0 || q->y() < 0 || q->x() > camera.camera.width - 1 ||
            q->y() > camera.camera.height - 1)
          continue;
        Eigen::MatrixXd J = Eigen::MatrixXd::Zero(2, k + 6), B(2, 6);
        J.leftCols(k) = dq_dk;
        Matrix3d cross_C, cross_O;
        cross_C << 0, -p_C.z(), p_C.y(), p_C.z(), 0, -p_C.x(), -p_C.y(), p_C.x(), 0;
        cross_O << 0, -p_O.z(), p_O.y(), p_O.z(), 0, -p_O.x(), -p_O.y(), p_O.x(), 0;
        J.middleCols<3>(k) = dq_dp * cross_C;
        J.rightCols<3>() = -dq_dp * X_CW.linear();
        B.leftCols<3>() = dq_dp * X_CW.linear();
        B.rightCols<3>() = -dq_dp * X_CW.linear() * X_WO.linear() * cross_O;
        information.block(at, at, k + 6, k + 6) += J.transpose() * J / (sd * sd);
        by_board.middleRows(at, k + 6) += J.transpose() * B / (sd * sd);
        board += B.transpose() * B / (sd * sd);
      }
    }
    if (b > 0) information -= by_board * board.ldlt().solve(by_board.transpose());
  }
  const Eigen::VectorXd scale = information.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd scaled = scale.asDiagonal() * information * scale.asDiagonal();
  rig->covariance = scale.asDiagonal() * scaled.ldlt().solve(Eigen::MatrixXd::Identity(n, n)) *
                    scale.asDiagonal();
  rig->covariance = (0.5 * (rig->covariance + rig->covariance.transpose())).eval();
}

// The rig as a calibration with an error drawn from the covariance would have it.
inline CameraRig Miscalibrated(const CameraRig& truth, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const Eigen::VectorXd sd = truth.covariance.diagonal().cwiseMax(1e-300).cwiseSqrt();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(
      sd.cwiseInverse().asDiagonal() * truth.covariance * sd.cwiseInverse().asDiagonal());
  Eigen::VectorXd error = eigen.eigenvalues().cwiseMax(0).cwiseSqrt();
  for (double& x : error) x *= normal(random);
  error = sd.asDiagonal() * (eigen.eigenvectors() * error);
  CameraRig rig = truth;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    const int at = FirstParameter(rig, static_cast<int>(c)),
              n = IntrinsicCount(rig.cameras[c].camera.model);
    SetIntrinsics(rig.cameras[c].camera, Intrinsics(rig.cameras[c].camera) + error.segment(at, n));
    rig.cameras[c].X_WC.linear() *= Turned(error.segment<3>(at + n));
    rig.cameras[c].X_WC.translation() += error.segment<3>(at + n + 3);
  }
  return rig;
}

// Centroid of the area that a disc's or ball's image covers, from its outline; the projection of
// the centre where the radius is 0.
inline Vector2d CentroidOf(const RigCamera& camera, const BodyMarker& marker,
                           const Isometry3d& X_WB) {
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
    const Vector2d next =
        *Project(camera.camera, middle + radius * (std::cos(angle) * a + std::sin(angle) * b));
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

// Torque-free flight by Runge-Kutta steps of at most 1 ms: R' = R [omega_B], I omega_B' = (I
// omega_B) x omega_B.
inline Flying Fly(const Flying& from, const Matrix3d& inertia_B, const Vector3d& gravity,
                  double dt) {
  Flying to = from;
  to.p = from.p + from.v * dt + 0.5 * dt * dt * gravity;
  to.v = from.v + dt * gravity;
  const int steps = std::max(1, static_cast<int>(std::ceil(std::abs(dt) / 1e-3)));
  const double h = dt / steps;
  const Matrix3d inverse = inertia_B.inverse();
  Eigen::Quaterniond q(from.R);
  Vector3d w = from.R.transpose() * from.omega;
  const auto spin = [&](const Vector3d& x) -> Vector3d {
    return inverse * (inertia_B * x).cross(x);
  };
  // c = (x, y, z, w)
  const auto turn = [](const Eigen::Vector4d& c, const Vector3d& x) -> Eigen::Vector4d {
    const Eigen::Quaterniond product =
        Eigen::Quaterniond(c) * Eigen::Quaterniond(0, x.x(), x.y(), x.z());
    return 0.5 * product.coeffs();
  };
  for (int i = 0; i < steps; ++i) {
    const Eigen::Vector4d c = q.coeffs();
    const Vector3d k1 = spin(w), k2 = spin(w + 0.5 * h * k1), k3 = spin(w + 0.5 * h * k2),
                   k4 = spin(w + h * k3);
    const Eigen::Vector4d l1 = turn(c, w), l2 = turn(c + 0.5 * h * l1, w + 0.5 * h * k1),
                          l3 = turn(c + 0.5 * h * l2, w + 0.5 * h * k2),
                          l4 = turn(c + h * l3, w + h * k3);
    w += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    q.coeffs() = c + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
    q.normalize();
  }
  to.R = q.toRotationMatrix();
  to.omega = to.R * w;
  return to;
}

enum class Thing { kBox, kBar, kRod, kBall };

// Heights of what can touch the floor (through the origin, normal n) over it, smallest first.
inline std::vector<double> Heights(const Body& body, const Flying& f,
                                   const Vector3d& n = Vector3d::UnitZ()) {
  std::vector<double> heights;
  if (body.shape == BodyShape::kBall) return {n.dot(f.p) - body.radius, 1e300};
  if (body.shape == BodyShape::kRod) {
    for (double side : {1.0, -1.0})
      heights.push_back(n.dot(f.p + side * (body.half_length - body.radius) * f.R.col(2)) -
                        body.radius);
  } else {
    for (int i = 0; i < 8; ++i) {
      const Vector3d corner(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
      heights.push_back(n.dot(f.p + f.R * corner.cwiseProduct(body.half_extents)));
    }
  }
  std::sort(heights.begin(), heights.end());
  return heights;
}

inline Vector3d LowestLever(const Body& body, const Matrix3d& R,
                            const Vector3d& n = Vector3d::UnitZ()) {
  if (body.shape == BodyShape::kBall) return -body.radius * n;
  if (body.shape == BodyShape::kRod) {
    const double side = n.dot(R.col(2)) > 0 ? -1 : 1;
    return side * (body.half_length - body.radius) * R.col(2) - body.radius * n;
  }
  Vector3d lever = Vector3d::Zero();
  for (int i = 0; i < 3; ++i)
    lever += (n.dot(R.col(i)) > 0 ? -1 : 1) * body.half_extents[i] * R.col(i);
  return lever;
}

// After an impulse at the lowest point that reverses the approach with restitution e (of Newton,
// but for the friction's share); friction 0.2 against the slip. Leaves the body as it is where that
// is no impact.
inline bool Strike(const Body& body, const Vector3d& n, double least_approach, double e,
                   Flying* f) {
  const Vector3d lever = LowestLever(body, f->R, n), u = f->v + f->omega.cross(lever);
  if (n.dot(u) > -least_approach) return false;
  Vector3d slip = u - n * n.dot(u);
  if (slip.norm() > 1e-9) slip *= 0.2 / slip.norm();
  const Vector3d direction = n - slip;
  const Matrix3d inverse_W = f->R * body.inertia_B.inverse() * f->R.transpose();
  const double per_impulse =
      n.dot(direction / body.mass + (inverse_W * lever.cross(direction)).cross(lever));
  if (!(per_impulse > 0)) return false;
  const double J = -(1 + e) * n.dot(u) / per_impulse;
  f->v += J * direction / body.mass;
  f->omega += inverse_W * lever.cross(J * direction);
  return true;
}

// What falls: flights one after another, the first ending at the first impact.
struct Drop {
  Body body;
  std::vector<BodyMarker> markers;
  Vector3d gravity{0, 0, -9.80665};
  Vector3d normal = Vector3d::UnitZ();  // of the floor, through the origin
  Flying minus, plus;                   // at the first impact
  Vector3d lever = Vector3d::Zero();
  double t = 0;                    // of the first impact [s]
  double begin = -0.2, end = 0.2;  // of free flight about it, relative [s]
  struct Later {
    double t = 0;
    Flying minus, plus;
  };
  std::vector<Later> later;  // impacts after the first

  Plane floor() const { return {normal, 0}; }
  Flying At(double time) const {
    if (!later.empty() && time >= later.front().t) {
      std::size_t k = later.size() - 1;
      while (later[k].t > time) --k;
      return Fly(later[k].plus, body.inertia_B, gravity, time - later[k].t);
    }
    return Fly(time < t ? minus : plus, body.inertia_B, gravity, time - t);
  }
};

inline void GiveBody(Thing thing, Drop* drop) {
  const auto marker = [&](double x, double y, double z) {
    drop->markers.push_back({Vector3d(x, y, z), Vector3d::Zero(), 0});
  };
  if (thing == Thing::kBox) {
    drop->body = MakeBox({0.10, 0.07, 0.05}, 0.3);
    marker(0.045, 0.03, 0.025), marker(-0.04, 0.035, -0.01), marker(0.01, -0.035, 0.02),
        marker(-0.03, -0.02, -0.025);
  } else if (thing == Thing::kBar) {
    drop->body = MakeBox({0.03, 0.02, 0.20}, 0.2);
    marker(0.012, -0.01, 0.09), marker(-0.012, -0.01, 0.01), marker(0.012, 0.01, -0.085);
  } else if (thing == Thing::kRod) {
    drop->body = MakeRod(0.2, 0.006, 0.1);
    marker(0, 0, -0.09), marker(0, 0, 0.01), marker(0, 0, 0.085);
  } else {
    drop->body = MakeBall(0.03, 0.2);
    marker(0.026, 0, 0), marker(-0.008, 0.02, -0.012), marker(-0.01, -0.018, 0.014),
        marker(0, 0.006, 0.025);
  }
}

inline Drop DrawDrop(Thing thing, std::mt19937_64& random, double duration = 0.2,
                     const Vector3d& floor_normal = Vector3d::UnitZ(), double least_after = 0.03) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto vector = [&] {
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    return Vector3d(x, y, z);
  };
  Drop drop;
  drop.normal = floor_normal;
  GiveBody(thing, &drop);
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
    drop.lever = LowestLever(drop.body, m.R, drop.normal);
    m.p -= drop.normal * drop.normal.dot(m.p + drop.lever);
    if (Heights(drop.body, m, drop.normal)[1] < least_lean) continue;
    drop.plus = m;
    if (!Strike(drop.body, drop.normal, 0.6 * floor_normal.z(), 0.8, &drop.plus)) continue;
    drop.t = 0.3 + 0.01 * uniform(random);
    // Free flight ends where anything touches again, with a few milliseconds to spare.
    drop.begin = -duration;
    drop.end = 0;
    bool clean = true;
    Flying before = m, after = drop.plus;
    for (double s = 2e-3; s < duration && clean; s += 2e-3) {
      before = Fly(before, drop.body.inertia_B, drop.gravity, -2e-3);
      clean = Heights(drop.body, before, drop.normal)[0] > 0;
    }
    if (!clean) continue;
    while (drop.end < duration) {
      after = Fly(after, drop.body.inertia_B, drop.gravity, 2e-3);
      if (Heights(drop.body, after, drop.normal)[0] <= 0) break;
      drop.end += 2e-3;
    }
    drop.end -= 2e-3;
    if (drop.end > least_after) return drop;
  }
}

// A drop that strikes `impacts` times in all, with at least `least` and at most `most` of flight
// between any two [s].
inline Drop DrawBounces(Thing thing, int impacts, double least, double most,
                        std::mt19937_64& random) {
  while (true) {
    Drop drop = DrawDrop(thing, random, 0.2, Vector3d::UnitZ(), std::min(0.03, least) - 2e-3);
    Flying f = drop.plus;
    double t = drop.t;
    bool good = true;
    while (good && static_cast<int>(drop.later.size()) + 1 < impacts) {
      double s = 0;
      const double step = 5e-4;
      Flying next = f;
      while (s < most && (s < step || Heights(drop.body, next)[0] > 0)) {
        next = Fly(next, drop.body.inertia_B, drop.gravity, step);
        s += step;
      }
      good = s < most && s > least;
      if (!good) break;
      // Back to the floor: the lowest point moves evenly over half a millisecond.
      for (int k = 0; k < 4; ++k) {
        const Vector3d lever = LowestLever(drop.body, next.R);
        const double back = Heights(drop.body, next)[0] / (next.v + next.omega.cross(lever)).z();
        next = Fly(next, drop.body.inertia_B, drop.gravity, -back);
        s -= back;
      }
      t += s;
      Drop::Later later{t, next, next};
      good = Strike(drop.body, drop.normal, 0.15, 0.8, &later.plus) &&
             Heights(drop.body, next)[1] > 2e-3;
      f = later.plus;
      drop.later.push_back(later);
    }
    if (!good) continue;
    double s = 0;
    Flying after = f;
    while (s < most && (s < 1e-3 || Heights(drop.body, after)[0] > 0)) {
      after = Fly(after, drop.body.inertia_B, drop.gravity, 1e-3);
      s += 1e-3;
    }
    if (s < std::max(least, 0.04)) continue;
    drop.end = t + s - 2e-3 - drop.t;
    return drop;
  }
}

// The way of a body looked up in steps of a millisecond: thousands of images of one drop are cheap.
class Path {
 public:
  explicit Path(const Drop& drop) : drop_(drop) {
    std::vector<double> edges = {drop.t};
    for (const Drop::Later& later : drop.later) edges.push_back(later.t);
    pieces_.push_back(Piece(drop.t, drop.minus, -0.35));
    for (std::size_t k = 0; k < edges.size(); ++k)
      pieces_.push_back(Piece(edges[k], k == 0 ? drop.plus : drop.later[k - 1].plus,
                              (k + 1 < edges.size() ? edges[k + 1] - edges[k] : 0.35)));
  }
  Flying At(double time) const {
    std::size_t k = 0;
    while (k + 1 < pieces_.size() && time >= pieces_[k + 1].t) ++k;
    const Part& part = pieces_[k];
    const double s = (time - part.t) / part.step;
    const auto i =
        static_cast<std::size_t>(std::clamp(s, 0.0, static_cast<double>(part.at.size() - 1)));
    return Fly(part.at[i], drop_.body.inertia_B, drop_.gravity,
               time - part.t - static_cast<double>(i) * part.step);
  }

 private:
  struct Part {
    double t = 0, step = 0;
    std::vector<Flying> at;
  };
  Part Piece(double t, const Flying& start, double length) const {
    Part part{t, length > 0 ? 1e-3 : -1e-3, {start}};
    for (int i = 0; 1e-3 * i < std::abs(length); ++i)
      part.at.push_back(Fly(part.at.back(), drop_.body.inertia_B, drop_.gravity, part.step));
    return part;
  }
  const Drop& drop_;
  std::vector<Part> pieces_;
};

struct Filming {
  double rate = 240;                          // [1/s]
  double pixel_sd = 0.05;                     // [px]
  std::vector<double> offset = {0, 0, 0, 0};  // true time less stamp, by camera [s]
  // exposures later than those of the first camera, stamps say so [s]
  std::vector<double> late = {0, 0, 0, 0};
  // rows one after another; times of the points say so [s]
  double t_line = 0;
  // the same, by camera; times of the points do not say so [s]
  std::vector<double> more_line = {0, 0, 0, 0};
  // true time less stamp grows by this with the time since the impact, by camera
  std::vector<double> clock_rate = {0, 0, 0, 0};
  double exposure = 0;  // images are means over it [s]
  double wild = 0;      // share of points that are wrong by up to 30 px
  bool flags = true;    // of the impacts
};

inline MarkerTracks Film(const Drop& drop, const Path& path, const CameraRig& rig,
                         const Filming& filming, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  MarkerTracks tracks;
  tracks.recording = "drop";
  std::vector<double> impacts = {drop.t};
  for (const Drop::Later& later : drop.later) impacts.push_back(later.t);
  for (std::size_t m = 0; m < drop.markers.size(); ++m)
    tracks.markers.push_back("m" + std::to_string(m + 1));
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    tracks.cameras.push_back(rig.cameras[c].name);
    const RigCamera& camera = rig.cameras[c];
    const auto look_at = [&](std::size_t m, double time) {
      const Flying f = path.At(time);
      Isometry3d X = Isometry3d::Identity();
      X.linear() = f.R;
      X.translation() = f.p;
      return CentroidOf(camera, drop.markers[m], X);
    };
    const auto look = [&](std::size_t m, double time) -> Vector2d {
      if (filming.exposure == 0) return look_at(m, time);
      Vector2d sum = Vector2d::Zero();
      for (int k = 0; k < 16; ++k)
        sum += look_at(m, time + filming.exposure * ((k + 0.5) / 16 - 0.5)) / 16;
      return sum;
    };
    const double line = filming.t_line + filming.more_line[c];
    for (std::size_t m = 0; m < drop.markers.size(); ++m) {
      for (long long frame = 0; frame < 400; ++frame) {
        const double stamp = static_cast<double>(frame) / filming.rate + filming.late[c];
        const double true_time =
            stamp + filming.offset[c] + filming.clock_rate[c] * (stamp - drop.t);
        if (true_time < drop.t + drop.begin || true_time > drop.t + drop.end) continue;
        double row = 0;
        for (int k = 0; k < (line > 0 ? 4 : 0); ++k) row = line * look(m, true_time + row).y();
        TrackPoint point;
        point.camera = static_cast<int>(c);
        point.marker = static_cast<int>(m);
        point.frame = frame;
        const Vector2d q = look(m, true_time + row);
        point.t = stamp + filming.t_line * q.y();
        const double x = normal(random), y = normal(random);
        point.q = q + filming.pixel_sd * Vector2d(x, y);
        if (filming.wild > 0 && std::abs(uniform(random)) < filming.wild) {
          const double dx = uniform(random), dy = uniform(random);
          point.q += 30 * Vector2d(dx, dy);
        }
        point.cov = std::pow(std::max(filming.pixel_sd, 1e-3), 2) * Eigen::Matrix2d::Identity();
        for (const double t : impacts) {
          if (filming.flags && std::abs(true_time + row - t) < 0.7 / filming.rate)
            point.flags |= kImpact;
        }
        tracks.points.push_back(point);
      }
    }
  }
  return tracks;
}

inline MarkerTracks Film(const Drop& drop, const CameraRig& rig, const Filming& filming,
                         std::mt19937_64& random) {
  return Film(drop, Path(drop), rig, filming, random);
}

}  // namespace impactlab::test
