#include "reconstruction/motion/planar_camera.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/math/least_squares.h"

namespace impactlab {
namespace {

using Eigen::Matrix2d;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

// a mirror image has to leave this little of what the layout leaves before it is named
constexpr double kMirrorShare = 0.1;

// a quarter turn counter-clockwise in x-z
Vector2d Quarter(const Vector2d& a) { return {-a.y(), a.x()}; }

// Shifts and scales points to the origin and a mean distance of 1.
Matrix3d Normaliser(const std::vector<Vector2d>& points) {
  Vector2d mean = Vector2d::Zero();
  for (const Vector2d& p : points) mean += p / static_cast<double>(points.size());
  double size = 0;
  for (const Vector2d& p : points) size += (p - mean).norm() / static_cast<double>(points.size());
  Matrix3d T = Matrix3d::Identity() / size;
  T(2, 2) = 1;
  T.topRightCorner<2, 1>() = -mean / size;
  return T;
}

// Image of (x, z) and its derivatives by (x, z) and by E, H (1 + E).
struct Seen {
  Vector2d q;
  Matrix2d dq_dp;
  Eigen::Matrix<double, 2, 8> dq_dE;
};
Seen See(const Matrix3d& H, const Vector2d& p) {
  const Vector3d h = H * p.homogeneous();
  Eigen::Matrix<double, 2, 3> dq_dh;
  dq_dh << 1 / h.z(), 0, -h.x() / (h.z() * h.z()), 0, 1 / h.z(), -h.y() / (h.z() * h.z());
  Seen out;
  out.q = h.hnormalized();
  out.dq_dp = dq_dh * H.leftCols<2>();
  const Eigen::Matrix<double, 2, 3> by_u = dq_dh * H;
  const Vector3d p1 = p.homogeneous();
  for (int k = 0; k < 8; ++k) out.dq_dE.col(k) = by_u.col(k / 3) * p1(k % 3);
  return out;
}

Matrix3d Full(const Eigen::Matrix<double, 8, 1>& e) {
  Matrix3d E;
  E << e(0), e(1), e(2), e(3), e(4), e(5), e(6), e(7), 0;
  return E;
}

// A small error delta(p) of the map from true to seen positions: its gradient at p, and the change
// of that as p moves along v.
struct Field {
  Matrix2d G = Matrix2d::Zero();
  Matrix2d rate = Matrix2d::Zero();
};

// Of one entry of E: seen p' with (1 + E) p' ~ p, so delta = -(u - p w), u and w the first two rows
// and the last of E (p, 1).
Field FieldOfE(int k, const Vector2d& p, const Vector2d& v) {
  const Matrix3d E = Full(Eigen::Matrix<double, 8, 1>::Unit(k));
  const Vector3d u = E * p.homogeneous();
  const Vector2d w_row(E(2, 0), E(2, 1));
  Field f;
  f.G = -(E.topLeftCorner<2, 2>() - u.z() * Matrix2d::Identity() - p * w_row.transpose());
  f.rate = w_row.dot(v) * Matrix2d::Identity() + v * w_row.transpose();
  return f;
}

// What a field does to the states of a body at p with attitude R that moves with v and turns with w
// (counter-clockwise), as the markers see it: Procrustes on points displaced by delta(p) + G r.
struct Effect {
  Vector2d v = Vector2d::Zero();  // of the centre of mass
  double theta = 0, w = 0;
};
Effect EffectOf(const Field& f, const std::vector<PlanarMarker>& layout, const Matrix2d& R,
                const Vector2d& v, double w) {
  Vector2d mean_B = Vector2d::Zero();
  for (const PlanarMarker& m : layout) mean_B += m.p_BM / static_cast<double>(layout.size());
  Matrix2d M = Matrix2d::Zero();
  for (const PlanarMarker& m : layout)
    M += (R * (m.p_BM - mean_B)) * (R * (m.p_BM - mean_B)).transpose();
  Matrix2d J;
  J << 0, -1, 1, 0;
  // Sum of r x (G r) over that of r^2: with r r' = M it is the antisymmetric part of G M.
  const auto turn = [&](const Matrix2d& GM) { return (GM(1, 0) - GM(0, 1)) / M.trace(); };
  Effect out;
  out.theta = turn(f.G * M);
  out.w = turn(f.rate * M + f.G * (w * (J * M - M * J)));
  const Vector2d c = R * mean_B;  // centroid of the markers, from the centre of mass
  // Seen centre of mass: seen centroid less the layout turned by theta + d_theta.
  out.v = f.G * v + f.rate * c + f.G * (w * Quarter(c)) - out.w * Quarter(c) -
          out.theta * w * Quarter(Quarter(c));
  return out;
}

}  // namespace

PlaneView ViewFromPoints(const std::vector<PlanePoint>& points, double sd, const Vector2d& foot,
                         double distance) {
  const std::size_t n = points.size();
  if (n < 4) throw ConfigError(fmt::format("homography: found {} points, allowed four or more", n));
  if (!(distance > 0) || !(sd >= 0))
    throw ConfigError(fmt::format(
        "homography: found a camera at {} m, images to {} px, allowed above 0", distance, sd));
  std::vector<Vector2d> p, q;
  for (const PlanePoint& point : points) {
    p.push_back(point.p);
    q.push_back(point.q);
  }
  const Matrix3d Tp = Normaliser(p), Tq = Normaliser(q);
  MatrixXd A(2 * n, 9);
  for (std::size_t i = 0; i < n; ++i) {
    const Vector3d a = Tp * p[i].homogeneous();
    const Vector3d b = Tq * q[i].homogeneous();
    A.row(2 * i) << a.transpose(), 0, 0, 0, -b.x() * a.transpose();
    A.row(2 * i + 1) << 0, 0, 0, a.transpose(), -b.y() * a.transpose();
  }
  const Eigen::JacobiSVD<MatrixXd> svd(A, Eigen::ComputeFullV);
  if (!(svd.singularValues()(7) > 1e-6 * svd.singularValues()(0)))
    throw ConfigError(
        "homography: found points that lie on a line but for one, allowed four of which no three "
        "do");
  const VectorXd h = svd.matrixV().col(8);
  Matrix3d N;
  N << h(0), h(1), h(2), h(3), h(4), h(5), h(6), h(7), h(8);
  PlaneView view;
  view.foot = foot;
  view.distance = distance;
  view.H = Tq.inverse() * N * Tp;
  view.H /= view.H(2, 2);
  SquaresProblem problem;
  problem.evaluate = [&](const VectorXd&, bool) {
    SquaresAt at{true, 0, MatrixXd::Zero(8, 8), VectorXd::Zero(8)};
    for (std::size_t i = 0; i < n; ++i) {
      const Seen seen = See(view.H, p[i]);
      const Vector2d r = seen.q - q[i];
      at.information += seen.dq_dE.transpose() * seen.dq_dE;
      at.gradient += seen.dq_dE.transpose() * r;
      at.cost += r.squaredNorm();
    }
    return at;
  };
  problem.accept = [&](const VectorXd& step) {
    view.H = view.H * (Matrix3d::Identity() + Full(step));
  };
  const SquaresAt found_at =
      MinimizeSquares(problem, 8, {.max_steps = 20, .damped = false, .small_step = 1e-9}).at;
  const double squares = found_at.cost;
  view.rms = std::sqrt(squares / (2 * static_cast<double>(n)));
  const double found = n > 4 ? std::sqrt(squares / (2 * static_cast<double>(n) - 8)) : 0;
  view.cov_E = std::pow(std::max(sd, found), 2) * found_at.information.inverse();
  return view;
}

PlaneView ViewFromCamera(const RigCamera& camera, double depth) {
  const Vector3d p = camera.X_WC.translation();
  if (!(std::abs(p.y() - depth) > 1e-6))
    throw ConfigError(
        fmt::format("camera {}: found it in the plane of motion y = {} m, allowed beside it",
                    Excerpt(camera.name), depth));
  PlaneView view;
  view.camera = camera;
  view.depth = depth;
  view.foot = {p.x(), p.z()};
  view.distance = std::abs(p.y() - depth);
  return view;
}

std::optional<PlacedInPlane> PlaceInPlane(const PlaneView& view, const Vector2d& q) {
  PlacedInPlane out;
  if (!view.camera) {
    const Vector3d h = view.H.inverse() * q.homogeneous();
    if (!(std::abs(h.z()) > 1e-12)) return std::nullopt;
    out.p = h.hnormalized();
    out.dp_dq = See(view.H, out.p).dq_dp.inverse();
    return out;
  }
  Eigen::Matrix<double, 3, 2> dray_dq;
  const auto ray_C = Unproject(view.camera->camera, q, &dray_dq);
  if (!ray_C) return std::nullopt;
  const Matrix3d& R = view.camera->X_WC.linear();
  const Vector3d ray = R * *ray_C, from = view.camera->X_WC.translation();
  const double s = (view.depth - from.y()) / ray.y();
  if (!(s > 0) || !std::isfinite(s)) return std::nullopt;
  const Vector3d p = from + s * ray;
  out.p = {p.x(), p.z()};
  const Eigen::Matrix<double, 3, 2> dray = R * dray_dq;
  const Eigen::Matrix<double, 3, 2> dp = s * (dray - ray * dray.row(1) / ray.y());
  out.dp_dq << dp.row(0), dp.row(2);
  return out;
}

namespace {

// Place in the layout by marker of the tracks.
std::map<int, int> LayoutPlaces(const MarkerTracks& tracks,
                                const std::vector<PlanarMarker>& layout) {
  std::map<int, int> place;
  std::set<std::string> names;
  for (std::size_t k = 0; k < layout.size(); ++k) {
    const PlanarMarker& marker = layout[k];
    if (!names.insert(marker.name).second)
      throw ConfigError(
          fmt::format("layout: marker {}: found its name twice", Excerpt(marker.name)));
    const auto at = std::find(tracks.markers.begin(), tracks.markers.end(), marker.name);
    if (at != tracks.markers.end())
      place[static_cast<int>(at - tracks.markers.begin())] = static_cast<int>(k);
  }
  return place;
}

int CameraOfPlane(const MarkerTracks& tracks, const std::string& camera) {
  const auto named = std::find(tracks.cameras.begin(), tracks.cameras.end(), camera);
  if (named == tracks.cameras.end() && (!camera.empty() || tracks.cameras.size() != 1))
    throw ConfigError(fmt::format("{}: found camera {}, allowed one of {}", tracks.recording,
                                  Excerpt(camera), JoinNames(tracks.cameras)));
  return named == tracks.cameras.end() ? 0 : static_cast<int>(named - tracks.cameras.begin());
}

// A marker placed in the plane of motion.
struct PlacedMarker {
  int marker;
  Vector2d p_B, p;
  double weight, t;
};

std::map<long long, std::vector<PlacedMarker>> PlacedByFrame(
    const MarkerTracks& tracks, const PlaneView& view, const std::vector<PlanarMarker>& layout,
    const std::map<int, int>& place, int camera) {
  std::map<long long, std::vector<PlacedMarker>> frames;
  for (const TrackPoint& point : tracks.points) {
    const auto at = place.find(point.marker);
    if (point.camera != camera || at == place.end() || (point.flags & (kPredicted | kOutlier)) != 0)
      continue;
    std::vector<PlacedMarker>& markers = frames[point.frame];
    const auto placed = PlaceInPlane(view, point.q);
    if (!placed) continue;
    markers.push_back({at->second, layout[static_cast<std::size_t>(at->second)].p_BM, placed->p,
                       2 / (placed->dp_dq * point.cov * placed->dp_dq.transpose()).trace(),
                       point.t});
  }
  return frames;
}

// Weighted Procrustes of one frame.
struct PlanarFit {
  Vector2d p = Vector2d::Zero();  // of the body's origin
  double theta = 0, t = 0;
  double squares = 0;     // of the distances left [m^2]
  bool mirrored = false;  // the mirror image of the layout fits far better
};

PlanarFit FitFrame(const std::vector<PlacedMarker>& markers) {
  PlanarFit out;
  double all = 0;
  Vector2d mean_B = Vector2d::Zero(), mean = Vector2d::Zero();
  for (const PlacedMarker& m : markers) {
    all += m.weight;
    mean_B += m.weight * m.p_B;
    mean += m.weight * m.p;
    out.t += m.t / static_cast<double>(markers.size());
  }
  mean_B /= all;
  mean /= all;
  Matrix2d C = Matrix2d::Zero();
  for (const PlacedMarker& m : markers) C += m.weight * (m.p - mean) * (m.p_B - mean_B).transpose();
  out.theta = std::atan2(C(1, 0) - C(0, 1), C.trace());
  const Matrix2d R = Eigen::Rotation2Dd(out.theta).toRotationMatrix();
  double size_B = 0, size = 0;
  for (const PlacedMarker& m : markers) {
    out.squares += (m.p - mean - R * (m.p_B - mean_B)).squaredNorm();
    size_B += m.weight * (m.p_B - mean_B).squaredNorm();
    size += m.weight * (m.p - mean).squaredNorm();
  }
  const double plain = size + size_B - 2 * std::hypot(C(1, 0) - C(0, 1), C.trace());
  const double reflected = size + size_B - 2 * std::hypot(C(1, 0) + C(0, 1), C(0, 0) - C(1, 1));
  out.mirrored = reflected < kMirrorShare * plain;
  out.p = mean - R * mean_B;
  return out;
}

// Why a recording has no usable poses; empty where it has.
std::string PlanarFault(const PlanarPoses& out, int mirrored, std::size_t markers) {
  if (2 * mirrored > out.misfit + static_cast<int>(out.poses.t.size()))
    return "the layout is mirrored: does the camera look along W_y, with x to the right?";
  if (!out.poses.t.empty()) return {};
  if (markers < 2)
    return fmt::format("{} markers of the layout are in the recording, a planar pose needs two",
                       markers);
  return out.misfit > 0 ? "the distances of the markers are not those of the layout"
                        : "no frame shows two markers of the layout";
}

}  // namespace

PlanarPoses PosesInPlane(const MarkerTracks& tracks, const PlaneView& view,
                         const std::vector<PlanarMarker>& layout, const std::string& camera,
                         double max_rms, LayoutDistances* distances, int number) {
  const std::map<int, int> place = LayoutPlaces(tracks, layout);
  if (layout.size() < 2)
    throw ConfigError(fmt::format("layout: found {} markers, allowed two or more", layout.size()));
  const auto frames = PlacedByFrame(tracks, view, layout, place, CameraOfPlane(tracks, camera));
  PlanarPoses out;
  out.poses.name = tracks.recording;
  out.poses.planar = true;
  double squares = 0, last = 0;
  int dof = 0, mirrored = 0;
  for (const auto& [frame, markers] : frames) {
    if (markers.size() < 2) {
      ++out.too_few;
      continue;
    }
    const PlanarFit fit = FitFrame(markers);
    if (std::sqrt(fit.squares / (2 * static_cast<double>(markers.size()))) > max_rms) {
      ++out.misfit;
      mirrored += fit.mirrored;
      continue;
    }
    if (distances != nullptr) {
      std::vector<std::pair<int, Eigen::VectorXd>> seen;
      for (const PlacedMarker& m : markers) seen.emplace_back(m.marker, m.p);
      distances->Add(number, seen);
    }
    squares += fit.squares;
    dof += 2 * static_cast<int>(markers.size()) - 3;
    const double unwrapped =
        out.poses.t.empty() ? fit.theta : last + std::remainder(fit.theta - last, 2 * M_PI);
    last = unwrapped;
    out.poses.t.push_back(fit.t);
    out.poses.theta.push_back(unwrapped);
    out.poses.X_WB.push_back(PlanarPose(fit.p.x(), fit.p.y(), unwrapped));
  }
  out.rms = dof > 0 ? std::sqrt(squares / dof) : 0;
  out.reason = PlanarFault(out, mirrored, place.size());
  out.usable = out.reason.empty();
  if (!out.usable) out.poses = {tracks.recording, true, {}, {}, {}};
  return out;
}

void AddOutOfPlane(const PlaneView& view, const std::vector<PlanarMarker>& layout,
                   const OutOfPlane& off, const Body& body, const Plane& floor,
                   ImpactEvent* event) {
  const Vector2d p(event->X_WB.translation().x(), event->X_WB.translation().z());
  const Matrix2d R = Eigen::Rotation2Dd(PlanarAngle(event->X_WB)).toRotationMatrix();
  const Vector2d v[2] = {{event->v_minus.x(), event->v_minus.z()},
                         {event->v_plus.x(), event->v_plus.z()}};
  const double w[2] = {-event->omega_minus.y(), -event->omega_plus.y()};
  const Vector3d lever_by_theta =
      -LeverByRotation(body, event->X_WB.linear(), floor.normal.normalized()).col(1);
  using Column = Eigen::Matrix<double, kEventDim, 1>;
  // `which`: 0 before the impact, 1 after it, 2 both.
  const auto column = [&](const Field fields[2], int which) {
    Column c = Column::Zero();
    for (int side = 0; side < 2; ++side) {
      if (which != 2 && which != side) continue;
      const Effect e = EffectOf(fields[side], layout, R, v[side], w[side]);
      const int row = side == 0 ? kVMinus : kVPlus;
      c.segment<3>(row) = Vector3d(e.v.x(), 0, e.v.y());
      c(row + 4) = -e.w;
      // Both flights tell the attitude at the impact.
      c.segment<3>(kLever) += 0.5 * e.theta * lever_by_theta;
    }
    return c;
  };
  const Vector2d arm = (p - view.foot) / view.distance;
  Field depth[2];
  for (Field& field : depth) field.G = Matrix2d::Identity() / view.distance;
  const Column by_depth = column(depth, 2);
  event->cov += off.depth_sd * off.depth_sd * by_depth * by_depth.transpose();
  for (int axis = 0; axis < 2; ++axis) {
    Field tilt[2];
    for (int side = 0; side < 2; ++side) {
      const Vector2d e = Vector2d::Unit(axis);
      tilt[side].G = arm * e.transpose();
      tilt[side].rate =
          (v[side] * e.transpose() + e.dot(v[side]) * Matrix2d::Identity()) / view.distance;
    }
    for (int side = 0; side < 2; ++side) {
      const Column by_tilt = column(tilt, side);
      event->cov += off.tilt_sd * off.tilt_sd * by_tilt * by_tilt.transpose();
    }
  }
  if (view.camera) return;
  Eigen::Matrix<double, kEventDim, 8> by_E;
  for (int k = 0; k < 8; ++k) {
    const Field fields[2] = {FieldOfE(k, p, v[0]), FieldOfE(k, p, v[1])};
    by_E.col(k) = column(fields, 2);
  }
  event->cov += by_E * view.cov_E * by_E.transpose();
}

}  // namespace impactlab
