// Cameras and boards in space: data for the page's script, and a drawing for readers without it.
#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "pipelines/calibrate/detail/page_parts.h"
#include "pipelines/page/motion_json.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Vector3d;
using Json = nlohmann::ordered_json;

struct SceneBoard {
  std::string name, note;
  std::array<Vector3d, 4> corners;
  bool used = false, worst = false;
};
struct SceneCamera {
  std::string name;
  Vector3d eye;
  std::array<Vector3d, 4> corners;
};
// z up, y ahead of the cameras, x right, about the middle of the scene [m].
struct Scene {
  std::vector<SceneBoard> boards;
  std::vector<SceneCamera> cameras;
  Vector3d origin;
  std::array<Vector3d, 3> axes;  // ends of those of W
  double radius = 1;
};

Eigen::Matrix3d DisplayAxes(const CameraRig& rig) {
  Vector3d up = rig.world.gravity_W            ? Vector3d(-*rig.world.gravity_W)
                : rig.world.source == "camera" ? Vector3d(0, -1, 0)
                                               : Vector3d(0, 0, 1);
  up.normalize();
  Vector3d ahead = Vector3d::Zero();
  for (const RigCamera& camera : rig.cameras) ahead += camera.X_WC.linear().col(2);
  ahead -= up.dot(ahead) * up;
  if (ahead.norm() < 1e-3) {
    // The cameras look straight down: the upper edge of the first picture is ahead.
    ahead = -rig.cameras[0].X_WC.linear().col(1);
    ahead -= up.dot(ahead) * up;
  }
  if (ahead.norm() < 1e-9) ahead = up.unitOrthogonal();
  ahead.normalize();
  Eigen::Matrix3d rows;
  rows << ahead.cross(up).transpose(), ahead.transpose(), up.transpose();
  return rows;
}

Scene MakeScene(const RigContext& context) {
  const CalibrationRun& run = context.run;
  const CameraRig& rig = run.result.rig;
  Scene scene;
  const Eigen::Vector2d extent = Extent(run.problem.board);
  const Vector3d first = PointOnBoard(run.problem.board, 0);
  const Vector3d dx(extent.x(), 0, 0), dy(0, extent.y(), 0);
  double worst = 0;
  for (std::size_t k = 0; k < run.result.shots.size(); ++k) {
    const ShotResult& shot = run.result.shots[k];
    if (!shot.used) continue;
    SceneBoard board{
        .name = "shot " + run.problem.shots[k].name, .note = "", .corners = {}, .used = true};
    double rms = 0;
    for (std::size_t c = 0; c < context.cameras(); ++c) {
      if (!context.used(k, c)) continue;
      rms = std::max(rms, shot.views[c].rms);
      board.note += fmt::format("{}{} {:.3f} px", board.note.empty() ? "" : ", ", context.name(c),
                                shot.views[c].rms);
    }
    board.corners = {shot.X_WG * first, shot.X_WG * (first + dx), shot.X_WG * (first + dx + dy),
                     shot.X_WG * (first + dy)};
    if (rms > worst) {
      for (SceneBoard& other : scene.boards) other.worst = false;
      board.worst = true;
      worst = rms;
    }
    scene.boards.push_back(std::move(board));
  }
  Vector3d low = Vector3d::Constant(1e300), high = -low;
  const auto reach = [&](const Vector3d& p) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  };
  const Eigen::Matrix3d axes = DisplayAxes(rig);
  for (const SceneBoard& board : scene.boards)
    for (const Vector3d& corner : board.corners) reach(axes * corner);
  for (const RigCamera& camera : rig.cameras) reach(axes * camera.X_WC.translation());
  const Vector3d middle = 0.5 * (low + high);
  scene.radius = std::max(1e-6, 0.5 * (high - low).norm());
  const auto show = [&](const Vector3d& p) -> Vector3d { return axes * p - middle; };
  for (SceneBoard& board : scene.boards)
    for (Vector3d& corner : board.corners) corner = show(corner);
  for (const RigCamera& camera : rig.cameras) {
    SceneCamera out{.name = camera.name,
                    .eye = show(camera.X_WC.translation()),
                    .corners = ViewPyramid(camera, 0.16 * scene.radius)};
    for (Vector3d& corner : out.corners) corner = show(corner);
    scene.cameras.push_back(std::move(out));
  }
  scene.origin = show(Vector3d::Zero());
  for (int k = 0; k < 3; ++k)
    scene.axes[static_cast<std::size_t>(k)] =
        show(Vector3d(0.15 * scene.radius * Vector3d::Unit(k)));
  return scene;
}

Json PointJson(const Vector3d& p) { return {Rounded(p.x()), Rounded(p.y()), Rounded(p.z())}; }
template <std::size_t n>
Json PointJson(const std::array<Vector3d, n>& points) {
  Json out = Json::array();
  for (const Vector3d& p : points) out.push_back(PointJson(p));
  return out;
}

// The start view of the script, for readers without one.
std::string SceneSvg(const Scene& scene) {
  constexpr double kAzimuth = -0.6, kElevation = 0.45, kWidth = 900, kHeight = 540;
  const double ca = std::cos(kAzimuth), sa = std::sin(kAzimuth), ce = std::cos(kElevation),
               se = std::sin(kElevation);
  const auto flat = [&](const Vector3d& p) {
    const double ahead = ca * p.y() - sa * p.x();
    return Eigen::Vector2d(ca * p.x() + sa * p.y(), -(ce * p.z() + se * ahead));
  };
  Eigen::AlignedBox2d box;
  for (const SceneBoard& board : scene.boards)
    for (const Vector3d& corner : board.corners) box.extend(flat(corner));
  for (const SceneCamera& camera : scene.cameras) {
    box.extend(flat(camera.eye));
    for (const Vector3d& corner : camera.corners) box.extend(flat(corner));
  }
  const double scale = std::min((kWidth - 110) / std::max(1e-9, box.sizes().x()),
                                (kHeight - 110) / std::max(1e-9, box.sizes().y()));
  const auto point = [&](const Vector3d& p) {
    const Eigen::Vector2d at =
        scale * (flat(p) - box.center()) + Eigen::Vector2d(kWidth / 2, kHeight / 2);
    return fmt::format("{:.1f} {:.1f}", at.x(), at.y());
  };
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Cameras and boards in space\">", kWidth,
      kHeight);
  for (const SceneBoard& board : scene.boards)
    svg += fmt::format("<path class=\"board\" d=\"M{}L{}L{}L{}Z\"/>", point(board.corners[0]),
                       point(board.corners[1]), point(board.corners[2]), point(board.corners[3]));
  for (const SceneCamera& camera : scene.cameras) {
    std::string d = fmt::format("M{}L{}L{}L{}Z", point(camera.corners[0]), point(camera.corners[1]),
                                point(camera.corners[2]), point(camera.corners[3]));
    for (const Vector3d& corner : camera.corners)
      d += fmt::format("M{}L{}", point(camera.eye), point(corner));
    const std::string at = point(camera.eye);
    svg += fmt::format(
        "<path class=\"eye\" d=\"{}\"/><text x=\"{}\" y=\"{}\" dx=\"8\" dy=\"16\">{}</text>", d,
        at.substr(0, at.find(' ')), at.substr(at.find(' ') + 1), Escape(camera.name));
  }
  return svg + "</svg>";
}

}  // namespace

std::string SceneJson(const RigContext& context) {
  const Scene scene = MakeScene(context);
  Json json = {{"radius", Rounded(scene.radius)},
               {"origin", PointJson(scene.origin)},
               {"axes", PointJson(scene.axes)}};
  json["cameras"] = Json::array();
  for (const SceneCamera& c : scene.cameras)
    json["cameras"].push_back(
        {{"name", c.name}, {"eye", PointJson(c.eye)}, {"corners", PointJson(c.corners)}});
  json["boards"] = Json::array();
  for (const SceneBoard& b : scene.boards)
    json["boards"].push_back({{"name", b.name},
                              {"note", b.note},
                              {"used", b.used},
                              {"worst", b.worst},
                              {"corners", PointJson(b.corners)}});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Section SpaceSection(const RigContext& context) {
  const std::string source = context.run.result.rig.world.source;
  return {"space",
          "Cameras and boards in space",
          "<p>Drag to turn. The dot marks the first point of a board, the thick edge the top of a "
          "picture; the board that fits worst is orange.</p><div id=\"rig-view\"><div "
          "class=\"controls\"></div><div class=\"sight\"><p class=\"told\" "
          "aria-live=\"polite\"></p>" +
              SceneSvg(MakeScene(context)) + "</div></div>\n<p class=\"foot\">x, y, z: " +
              (source == "camera" ? "frame of the first camera (x right, y down, z ahead)."
                                  : "lab frame W, from " + Escape(source) + ".") +
              "</p>\n",
          {}};
}

}  // namespace impactlab::pipelines
