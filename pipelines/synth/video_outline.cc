#include "pipelines/synth/video_outline.h"

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "impact/body/convex_hull.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kLead = 0.05;     // before the flash, between flash and release [s]
constexpr double kFlash = 0.05;    // [s]
constexpr double kEdgePiece = 24;  // pieces of straight edges, which the lens bends [px]
constexpr int kEndPoints = 40;     // on the outline of a round end
constexpr int kMostPieces = 64;

// Two unit vectors across `along`.
void Across(const Vector3d& along, Vector3d* u, Vector3d* v) {
  *u = along.unitOrthogonal();
  *v = along.cross(*u);
}

// Corners of a regular polygon of the area of its circle lie this much farther out.
double Outset(int corners) {
  const double turn = 2 * M_PI / corners;
  return std::sqrt(turn / std::sin(turn));
}

// Points in B whose tangents pass through the eye: outline of an ellipsoid with axes along B.
std::vector<Vector3d> Rim(const Vector3d& centre_B, const Vector3d& semi_axes,
                          const Vector3d& eye_B, int n) {
  const Vector3d eye = (eye_B - centre_B).cwiseQuotient(semi_axes);
  const double d2 = eye.squaredNorm();
  if (!(d2 > 1.0001)) return {};
  Vector3d u, v;
  Across(eye.normalized(), &u, &v);
  const double radius = std::sqrt(1 - 1 / d2) * Outset(n);
  std::vector<Vector3d> points;
  for (int k = 0; k < n; ++k) {
    const double a = 2 * M_PI * k / n;
    const Vector3d p = eye / d2 + radius * (std::cos(a) * u + std::sin(a) * v);
    points.push_back(centre_B + p.cwiseProduct(semi_axes));
  }
  return points;
}

// Closed outline through points of the body, straight in space; nothing where a part of it cannot
// be seen.
Polygon Straight(const Viewer& viewer, const std::vector<Vector3d>& corners_B, double t_row0,
                 const Isometry3d& X_CB) {
  const auto image = [&](const Vector3d& p_B) -> std::optional<Vector2d> {
    if (viewer.t_line() == 0) return Project(viewer.camera(), X_CB * p_B);
    const auto sight = viewer.See(p_B, t_row0);
    if (!sight) return std::nullopt;
    return sight->q;
  };
  Polygon polygon;
  std::vector<Vector2d> ends;
  for (const Vector3d& p : corners_B) {
    const auto q = image(p);
    if (!q) return {};
    ends.push_back(*q);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t next = i + 1 < ends.size() ? i + 1 : 0;
    polygon.push_back(ends[i]);
    const int pieces =
        std::min(kMostPieces, static_cast<int>((ends[next] - ends[i]).norm() / kEdgePiece) + 1);
    for (int k = 1; k < pieces; ++k) {
      const double s = static_cast<double>(k) / pieces;
      const auto q = image((1 - s) * corners_B[i] + s * corners_B[next]);
      if (q) polygon.push_back(*q);
    }
  }
  return polygon;
}

}  // namespace

Isometry3d Film::Pose(double t) const {
  Isometry3d X_WB = PoseAt(motion, *body, *flight, std::clamp(t - release, 0.0, motion.t_end));
  X_WB.translation() += shift;
  return X_WB;
}

bool Film::Strikes(double from, double to) const {
  for (const Strike& s : motion.strikes)
    if (release + s.t > from && release + s.t < to) return true;
  return release > from && release < to;
}

Film MakeFilm(const VideoScene& scene, int drop) {
  Film film;
  film.motion = DrawMotion(scene.motion, drop);
  film.body = &scene.motion.body;
  film.flight = &scene.motion.flight;
  if (!film.motion.strikes.empty()) {
    const Vector3d normal = CorrectedFloor(scene.motion.floor, scene.motion.error).normal;
    const Vector3d way = scene.centre_W - film.motion.strikes.front().event.X_WB.translation();
    film.shift = way - normal * normal.dot(way);
  }
  double start = 0;
  for (const SceneCamera& camera : scene.cameras) start = std::max(start, camera.t_offset);
  film.flash_on = film.flash_off = start + kLead;
  if (scene.flash) film.flash_off += kFlash;
  film.release = scene.flash ? film.flash_off + kLead : film.flash_on;
  film.end = film.release + film.motion.t_end;
  return film;
}

Viewer::Viewer(const RigCamera& camera, double t_line, const Film& film)
    : camera_(&camera), t_line_(t_line), film_(&film), X_CW_(camera.X_WC.inverse()) {}

std::optional<Sight> Viewer::See(const Vector3d& p_BM, double t_row0) const {
  Sight sight{t_row0, Vector2d::Zero()};
  double before = t_row0;
  // The row moves by far less than the point, so that this converges in a few steps; at an impact
  // it may go to and fro once.
  for (int k = 0; k < 12; ++k) {
    const auto q = Project(camera_->camera, PoseInCamera(sight.t) * p_BM);
    if (!q) return std::nullopt;
    sight.q = *q;
    if (t_line_ == 0) return sight;
    const double t = t_row0 + q->y() * t_line_;
    before = sight.t;
    sight.t = t;
    if (std::abs(t - before) < 1e-10) break;
  }
  return sight;
}

MarkerOutline OutlineOf(const Viewer& viewer, const SceneMarker& marker, double t_row0,
                        int corners) {
  const auto sight = viewer.See(marker.p_BM, t_row0);
  if (!sight) return {};
  const Isometry3d X_CB = viewer.PoseInCamera(sight->t);
  const Vector3d centre = X_CB * marker.p_BM;
  MarkerOutline outline;
  outline.distance = centre.norm();
  Vector3d u, v, middle = centre;
  if (marker.normal_B.isZero(0)) {
    // A ball is seen by the circle where lines of sight touch it.
    const double ratio = marker.radius / outline.distance;
    if (!(ratio < 0.9)) return {};
    middle = centre * (1 - ratio * ratio);
    Across(centre.normalized(), &u, &v);
    u *= marker.radius * std::sqrt(1 - ratio * ratio);
    v *= marker.radius * std::sqrt(1 - ratio * ratio);
  } else {
    const Vector3d normal_B = marker.normal_B.normalized(), normal = X_CB.linear() * normal_B;
    if (normal.dot(centre) >= 0) return {};
    // Of an ellipse `radius` lies along B_z as far as the surface lets it, along B_x on a surface
    // across B_z.
    Vector3d along = Vector3d::UnitZ() - normal_B * normal_B.z();
    if (along.norm() < 1e-3) along = Vector3d::UnitX() - normal_B * normal_B.x();
    along.normalize();
    u = X_CB.linear() * along * marker.radius;
    v = X_CB.linear() * normal_B.cross(along) *
        (marker.second_radius > 0 ? marker.second_radius : marker.radius);
  }
  // A rolling shutter shears and stretches the outline by the velocity of the image.
  Vector2d velocity = Vector2d::Zero();
  if (viewer.t_line() != 0) {
    constexpr double h = 1e-5;
    const auto a = Project(viewer.camera(), viewer.PoseInCamera(sight->t - h) * marker.p_BM);
    const auto b = Project(viewer.camera(), viewer.PoseInCamera(sight->t + h) * marker.p_BM);
    if (a && b) velocity = (*b - *a) / (2 * h);
  }
  const double stretch = 1 / std::max(0.05, 1 - velocity.y() * viewer.t_line());
  const double outset = Outset(corners);
  outline.polygon.reserve(static_cast<std::size_t>(corners));
  for (int k = 0; k < corners; ++k) {
    const double a = 2 * M_PI * k / corners;
    auto q = Project(viewer.camera(), middle + outset * (std::cos(a) * u + std::sin(a) * v));
    if (!q) return {};
    if (viewer.t_line() != 0) {
      const double rows = (q->y() - sight->q.y()) * stretch;
      q->x() += velocity.x() * viewer.t_line() * rows;
      q->y() = sight->q.y() + rows;
    }
    outline.polygon.push_back(*q);
  }
  return outline;
}

std::vector<Patch> OutlinesOf(const Viewer& viewer, const BodyOutline& body, double t_row0,
                              double shading, const Vector3d& light_W) {
  std::vector<Patch> patches;
  const auto middle = viewer.See(Vector3d::Zero(), t_row0);
  if (!middle) return patches;
  const Isometry3d X_CB = viewer.PoseInCamera(middle->t), X_BC = X_CB.inverse();
  const Vector3d eye_B = X_BC.translation();
  for (const BodyOutline::Face& face : body.faces) {
    if (face.normal_B.dot(eye_B - face.corners_B[0]) <= 0) continue;
    const Vector3d normal_W =
        viewer.WorldInCamera().linear().transpose() * (X_CB.linear() * face.normal_B);
    patches.push_back(
        {Straight(viewer, face.corners_B, t_row0, X_CB), 1 + shading * normal_W.dot(light_W)});
  }
  std::vector<Vector3d> rim;
  for (const Vector3d& centre : body.centres_B) {
    const std::vector<Vector3d> more = Rim(centre, body.semi_axes, eye_B, kEndPoints);
    rim.insert(rim.end(), more.begin(), more.end());
  }
  if (!rim.empty()) {
    // The hull of the ends is taken in the plane where straight lines are straight, before the lens
    // bends them.
    std::vector<Vector2d> plane;
    for (const Vector3d& p : rim) {
      const Vector3d p_C = X_CB * p;
      if (!(p_C.z() > 1e-6)) return patches;
      plane.emplace_back(p_C.x() / p_C.z(), p_C.y() / p_C.z());
    }
    std::vector<Vector3d> corners;
    for (const int i : impact::PlanarHull(plane))
      corners.push_back(rim[static_cast<std::size_t>(i)]);
    patches.push_back({Straight(viewer, corners, t_row0, X_CB), 1});
  }
  std::erase_if(patches, [](const Patch& p) { return p.polygon.size() < 3; });
  return patches;
}

RoundShade::RoundShade(const Viewer& viewer, const BodyOutline& body, double t_row0, double shading,
                       const Vector3d& light_W) {
  if (body.centres_B.empty()) return;
  const auto a = viewer.See(body.centres_B.front(), t_row0),
             b = viewer.See(body.centres_B.back(), t_row0);
  if (!a || !b) return;
  const Vector3d light_C = viewer.WorldInCamera().linear() * light_W;
  const double size = body.semi_axes.mean() * 0.5 * (viewer.camera().fx + viewer.camera().fy);
  const double z_a = (viewer.PoseInCamera(a->t) * body.centres_B.front()).norm(),
               z_b = (viewer.PoseInCamera(b->t) * body.centres_B.back()).norm();
  ax_ = static_cast<float>(a->q.x());
  ay_ = static_cast<float>(a->q.y());
  dx_ = static_cast<float>(b->q.x() - a->q.x());
  dy_ = static_cast<float>(b->q.y() - a->q.y());
  length2_ = dx_ * dx_ + dy_ * dy_;
  radius_a_ = static_cast<float>(size / z_a);
  radius_b_ = static_cast<float>(size / z_b);
  shading_ = static_cast<float>(shading);
  lx_ = static_cast<float>(light_C.x());
  ly_ = static_cast<float>(light_C.y());
  lz_ = static_cast<float>(light_C.z());
}

float RoundShade::At(float x, float y) const {
  if (shading_ == 0) return 1;
  float ux = x - ax_, uy = y - ay_, s = 0;
  if (length2_ > 0) s = std::clamp((ux * dx_ + uy * dy_) / length2_, 0.0f, 1.0f);
  const float radius = radius_a_ + s * (radius_b_ - radius_a_);
  ux = (ux - s * dx_) / radius;
  uy = (uy - s * dy_) / radius;
  const float out2 = ux * ux + uy * uy;
  if (out2 >= 1) {
    const float out = std::sqrt(out2);
    return 1 + shading_ * (ux * lx_ + uy * ly_) / out;
  }
  return 1 + shading_ * (ux * lx_ + uy * ly_ - std::sqrt(1 - out2) * lz_);
}

}  // namespace impactlab::pipelines
