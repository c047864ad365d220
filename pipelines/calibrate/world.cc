#include "pipelines/calibrate/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "data/base/error.h"
#include "data/files/text.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using pipelines::Keys;
using pipelines::Need;
using pipelines::Style;

constexpr const char* kWorld = "world";
constexpr const char* kGravity = "gravity";

Eigen::Vector2d Pixel(const std::vector<double>& v) { return {v[0], v[1]}; }

void CheckCamera(const YamlNode& node, const std::string& name,
                 const std::vector<std::string>& cameras) {
  if (std::find(cameras.begin(), cameras.end(), name) == cameras.end())
    throw node.Fault(name, "a camera that is not in the list", JoinNames(cameras));
}

// A camera's name as a key, which is written with quotes.
std::string KeyOf(const Keys& keys, const std::string& camera) {
  return keys.reading() != nullptr ? camera : YamlQuote(camera);
}

// {left: [x, y], right: [x, y]}
void VisitSeen(Keys& keys, const char* key, SeenBy& seen, const std::vector<std::string>& cameras,
               const char* meaning) {
  keys.Map(
      key, meaning,
      [&](Keys& k) {
        if (const YamlNode* node = k.reading())
          for (const std::string& name : node->Keys()) {
            CheckCamera(*node, name, cameras);
            seen.emplace_back(name, Eigen::Vector2d::Zero());
          }
        for (auto& [name, q] : seen) {
          std::vector<double> v = {q.x(), q.y()};
          k.Vector(KeyOf(k, name).c_str(), v, 2, Closed(-1e5, 1e5), meaning, Need::kRequired);
          q = Pixel(v);
        }
      },
      Need::kRequired, Style::kFlow);
  keys.Check(seen.size() >= 2, key, fmt::format("{} cameras", seen.size()),
             "pixels [x, y] in two cameras or more");
}

void VisitBoard(Keys& keys, WorldConfig& plan) {
  keys.Text("shot", plan.shot, "name of the shot, or of a picture of it", Need::kRequired);
  keys.Number("thickness_m", plan.board.thickness, Closed(0, 1),
              "from the surface to the printed plane");
  keys.Number("sd_thickness_m", plan.board.sd_thickness, Closed(0, 1), "its standard deviation");
}

void VisitPoint(Keys& keys, WorldConfig::Point& point, std::size_t n_before,
                const std::vector<std::string>& cameras) {
  if (keys.reading() != nullptr) point.name = fmt::format("point {}", n_before + 1);
  keys.Text("name", point.name, "of the point. Default: point 1, point 2, ...");
  pipelines::VisitVector(keys, "at_m", point.p_W, Closed(-1e4, 1e4), "in W", Need::kRequired);
  keys.Number("sd_m", point.sd, Closed(0, 1), "of a coordinate");
  keys.Number("sd_px", point.sd_pixel, Positive(), "of a pixel");
  VisitSeen(keys, "seen", point.seen, cameras, "pixel in every camera, two or more");
}

// Pose of the first camera.
void VisitGiven(Keys& keys, WorldConfig& plan) {
  Eigen::Matrix3d R = plan.X_WA.linear();
  std::vector<std::vector<double>> rows;
  rows.reserve(3);
  for (int i = 0; i < 3; ++i) rows.push_back({R(i, 0), R(i, 1), R(i, 2)});
  keys.Vectors("rotation", rows, 3, Closed(-1, 1), Style::kFlow, "camera to world, three rows",
               Need::kRequired);
  keys.Check(rows.size() == 3, "rotation", fmt::format("{} rows", rows.size()),
             "three rows of three: R_WC of the first camera");
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      R(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  keys.Check(
      (R.transpose() * R - Eigen::Matrix3d::Identity()).norm() <= 1e-6 && R.determinant() >= 0,
      "rotation", "a matrix that is no rotation", "orthonormal rows, right-handed, to 1e-6");
  plan.X_WA.linear() = R;
  Eigen::Vector3d p = plan.X_WA.translation();
  pipelines::VisitVector(keys, "position_m", p, Closed(-1e4, 1e4), "of the camera in W",
                         Need::kRequired);
  plan.X_WA.translation() = p;
  keys.Number("sd_rotation_rad", plan.sd_rotation, NonNegative(), "of the rotation");
  keys.Number("sd_position_m", plan.sd_position, NonNegative(), "of a coordinate");
}

void VisitSource(Keys& keys, const Keys& root, WorldConfig& plan,
                 const std::vector<std::string>& cameras) {
  if (const YamlNode* node = keys.reading()) {
    int kinds = 0;
    for (const char* kind : {"board", "points", "given"}) {
      if (!node->Has(kind)) continue;
      plan.source = kind;
      ++kinds;
    }
    root.Check(kinds == 1, kWorld, fmt::format("{} of the keys board, points, given", kinds),
               "exactly one of them");
  }
  if (plan.source == "board") {
    keys.Map(
        "board",
        "A board that lies on the struck surface: x along its rows, z out of the surface, origin "
        "under point 0.",
        [&](Keys& k) { VisitBoard(k, plan); }, Need::kRequired);
  } else if (plan.source == "points") {
    keys.List(
        "points", plan.points, "three or more points whose place in W is known", Style::kFlow,
        [&](Keys& k, WorldConfig::Point& point) {
          VisitPoint(k, point, plan.points.size(), cameras);
        },
        Need::kRequired);
    keys.Check(plan.points.size() >= 3, "points", fmt::format("{} points", plan.points.size()),
               "three or more, not on a line");
  } else {
    keys.Map(
        "given", "pose of the first camera", [&](Keys& k) { VisitGiven(k, plan); },
        Need::kRequired);
  }
}

void VisitPlumbLine(Keys& keys, const Keys& gravity, WorldConfig& plan,
                    const std::vector<std::string>& cameras) {
  keys.Number("sd_px", plan.sd_plumb, Positive(), "of a pixel on it");
  if (const YamlNode* node = keys.reading())
    for (const std::string& name : node->Keys()) {
      if (name == "sd_px") continue;
      CheckCamera(*node, name, cameras);
      plan.plumb_line.emplace_back(name, std::vector<Eigen::Vector2d>());
    }
  for (auto& [name, points] : plan.plumb_line) {
    std::vector<std::vector<double>> rows;
    for (const Eigen::Vector2d& q : points) rows.push_back({q.x(), q.y()});
    keys.Vectors(KeyOf(keys, name).c_str(), rows, 2, Closed(-1e5, 1e5), Style::kFlow,
                 "pixels on the string, from the top down", Need::kRequired);
    keys.Check(rows.size() >= 2, name.c_str(), "one point",
               "two or more pixels [x, y] on the string, from the top down");
    points.clear();
    for (const std::vector<double>& row : rows) points.push_back(Pixel(row));
  }
  gravity.Check(plan.plumb_line.size() >= 2, "plumb_line",
                fmt::format("{} cameras", plan.plumb_line.size()),
                "the string in two cameras or more");
}

void VisitDown(Keys& keys, WorldConfig& plan, const std::vector<std::string>& cameras) {
  std::vector<std::string> frames = cameras;
  frames.insert(frames.begin(), "world");
  keys.Custom(
      "frame", "that the numbers are in Allowed: world, or a camera",
      [&](const YamlNode& node, const char* key) {
        plan.direction_frame = node.Choice(key, frames);
      },
      [&] { return YamlQuote(plan.direction_frame); });
  pipelines::VisitVector(keys, "down", plan.down, Closed(-1e6, 1e6), "of any length",
                         Need::kRequired);
  keys.Check(plan.down.norm() > 0, "down", "[0, 0, 0]", "a direction");
  keys.Number("sd_rad", plan.sd_down, Closed(0, 1), "its standard deviation");
}

void VisitGravity(Keys& keys, const Keys& root, WorldConfig& plan,
                  const std::vector<std::string>& cameras) {
  bool line = plan.gravity == "plumb_line";
  if (const YamlNode* node = keys.reading()) {
    line = node->Has("plumb_line");
    root.Check(line != node->Has("direction"), kGravity,
               line ? "both plumb_line and direction" : "neither plumb_line nor direction",
               "one of them");
    plan.gravity = line ? "plumb_line" : "direction";
  }
  if (line)
    keys.Map(
        "plumb_line", "a string with a weight, seen by two cameras or more",
        [&](Keys& k) { VisitPlumbLine(k, keys, plan, cameras); }, Need::kRequired);
  else
    keys.Map(
        "direction", "in numbers", [&](Keys& k) { VisitDown(k, plan, cameras); }, Need::kRequired,
        Style::kFlow);
}

void VisitLength(Keys& keys, WorldConfig::Length& length, std::size_t n_before,
                 const std::vector<std::string>& cameras) {
  if (keys.reading() != nullptr) length.name = fmt::format("length {}", n_before + 1);
  keys.Text("name", length.name, "of the length. Default: length 1, length 2, ...");
  keys.Number("length_m", length.length, Positive(), "between two points", Need::kRequired);
  keys.Number("sd_m", length.sd, NonNegative(), "its standard deviation");
  keys.Number("sd_px", length.sd_pixel, Positive(), "of a pixel");
  VisitSeen(keys, "from", length.from, cameras, "pixel of the first point in every camera");
  VisitSeen(keys, "to", length.to, cameras, "pixel of the second point");
}

std::vector<PixelObservation> Observations(const SeenBy& seen, double sd,
                                           const std::vector<std::string>& cameras) {
  std::vector<PixelObservation> observations;
  for (const auto& [name, q] : seen) {
    PixelObservation one;
    one.camera =
        static_cast<int>(std::find(cameras.begin(), cameras.end(), name) - cameras.begin());
    one.q = q;
    one.cov = sd * sd * Eigen::Matrix2d::Identity();
    observations.push_back(one);
  }
  return observations;
}

// Last run of digits without its leading zeros.
std::string LastNumber(const std::string& text) {
  const auto last = text.find_last_of("0123456789");
  if (last == std::string::npos) return {};
  auto first = last;
  while (first > 0 && text[first - 1] >= '0' && text[first - 1] <= '9') --first;
  while (first < last && text[first] == '0') ++first;
  return text.substr(first, last + 1 - first);
}

// By the shot's name, the file name of one of its pictures with or without extension, or the number
// in it where that is its alone.
int FindShot(const std::string& wanted, const CalibrationProblem& problem) {
  std::vector<std::string> names;
  std::vector<int> numbered;
  const bool number =
      !wanted.empty() && wanted.find_first_not_of("0123456789") == std::string::npos;
  for (std::size_t s = 0; s < problem.shots.size(); ++s) {
    if (problem.shots[s].name == wanted) return static_cast<int>(s);
    bool same_number = number && LastNumber(problem.shots[s].name) == LastNumber(wanted);
    for (const BoardView& view : problem.shots[s].views) {
      const std::filesystem::path file = std::filesystem::path(view.image).filename();
      if (!file.empty() && (file == wanted || file.stem() == wanted)) return static_cast<int>(s);
    }
    if (same_number) numbered.push_back(static_cast<int>(s));
    if (names.size() < 12) names.push_back(problem.shots[s].name);
  }
  if (numbered.size() == 1) return numbered.front();
  throw ConfigError(fmt::format(
      "world.board.shot: found {}, allowed the name of a shot or picture: {}{}", Excerpt(wanted),
      JoinNames(names), problem.shots.size() > names.size() ? ", ..." : ""));
}

GravityEstimate FindGravity(const WorldConfig& plan, const CameraRig& rig,
                            const std::vector<std::string>& cameras) {
  if (plan.gravity == "direction") {
    const auto at = std::find(cameras.begin(), cameras.end(), plan.direction_frame);
    const Eigen::Vector3d down = plan.down.normalized();
    return at == cameras.end()
               ? GravityInWorld(down, plan.sd_down)
               : GravityGiven(rig, static_cast<int>(at - cameras.begin()), down, plan.sd_down);
  }
  std::vector<PixelObservation> line;
  for (const auto& [name, points] : plan.plumb_line)
    for (const Eigen::Vector2d& q : points)
      for (const PixelObservation& one : Observations({{name, q}}, plan.sd_plumb, cameras))
        line.push_back(one);
  return GravityFromPlumbLine(rig, line);
}

}  // namespace

void Visit(Keys& keys, WorldConfig& plan, const std::vector<std::string>& cameras) {
  keys.Stated(!plan.source.empty())
      .Map(kWorld, "the frame W. Default: that of the first camera",
           [&](Keys& k) { VisitSource(k, keys, plan, cameras); });
  keys.Stated(!plan.gravity.empty())
      .Map(kGravity, "which way is down. Default: not known",
           [&](Keys& k) { VisitGravity(k, keys, plan, cameras); });
  keys.List("lengths", plan.lengths, "known lengths that check the scale. Default: none",
            Style::kFlow, [&](Keys& k, WorldConfig::Length& length) {
              VisitLength(k, length, plan.lengths.size(), cameras);
            });
}

WorldRun PlaceWorld(const WorldConfig& plan, const CalibrationProblem& problem,
                    const CalibrationResult& result) {
  WorldRun run;
  run.rig = result.rig;
  std::vector<std::string> cameras;
  for (const RigCamera& camera : result.rig.cameras) cameras.push_back(camera.name);
  if (plan.source == "board") {
    run.frame = FrameFromBoard(result, FindShot(plan.shot, problem), plan.board);
  } else if (plan.source == "points") {
    std::vector<KnownPoint> known;
    for (const WorldConfig::Point& p : plan.points)
      known.push_back({p.name, p.p_W, p.sd, Observations(p.seen, p.sd_pixel, cameras)});
    run.points = FrameFromPoints(result.rig, known);
    run.frame = run.points->frame;
  } else if (plan.source == "given") {
    run.frame = FrameGiven(plan.X_WA, plan.sd_rotation, plan.sd_position);
  }
  if (run.frame && !run.frame->usable) {
    run.problem = "the world frame cannot be had: " + run.frame->reason;
    if (run.points)
      for (const PointResult& point : run.points->points)
        if (!point.problem.empty())
          run.problem += fmt::format("; {}: {}", point.name, point.problem);
    return run;
  }
  if (!plan.gravity.empty()) run.gravity = FindGravity(plan, result.rig, cameras);
  if (run.gravity && !run.gravity->usable) {
    run.problem = "the direction of gravity cannot be had: " + run.gravity->reason;
    return run;
  }
  if (run.frame || run.gravity) {
    const World world =
        MakeWorld(result.rig, run.frame.value_or(FrameGiven(Eigen::Isometry3d::Identity())),
                  run.gravity, run.frame ? plan.source : result.rig.world.source);
    run.rig = world.rig;
    run.slope = world.slope;
    run.sd_slope = world.sd_slope;
    run.downhill = world.downhill;
    run.sd_downhill = world.sd_downhill;
    run.notes = world.notes;
  }
  if (!plan.lengths.empty()) {
    std::vector<KnownLength> known;
    for (const WorldConfig::Length& l : plan.lengths)
      known.push_back({l.name, l.length, l.sd, Observations(l.from, l.sd_pixel, cameras),
                       Observations(l.to, l.sd_pixel, cameras)});
    run.scale = CheckScale(result.rig, known);
  }
  return run;
}

std::string BriefReport(const WorldRun& world) {
  if (!world.problem.empty()) return "Refused: " + world.problem + "\n";
  constexpr double kDegrees = 180 / M_PI;
  std::string out;
  if (world.frame)
    out += fmt::format(
        "world       from {}; place of the first camera known to {:.2g} mm and {:.2g} deg\n",
        world.rig.world.source, 1e3 * std::sqrt(world.frame->cov.diagonal().tail<3>().maxCoeff()),
        kDegrees * std::sqrt(world.frame->cov.diagonal().head<3>().maxCoeff()));
  if (world.points) {
    for (const PointResult& point : world.points->points)
      out += point.problem.empty()
                 ? fmt::format("  {:<10} {:.2f} mm from where it was given\n", point.name,
                               1e3 * point.residual_W.norm())
                 : fmt::format("  {:<10} not used: {}\n", point.name, point.problem);
    out += fmt::format(
        "  scale      {:.4f} +- {:.4f}{}\n", world.points->scale, world.points->sd_scale,
        world.points->scale_consistent ? "" : ": the points and the board do not agree on lengths");
  }
  if (world.gravity) {
    out += fmt::format("slope       {:.2f} +- {:.2f} deg between the surface and the horizontal",
                       kDegrees * world.slope, kDegrees * world.sd_slope);
    out += std::isfinite(world.sd_downhill)
               ? fmt::format("; downhill {:.0f} +- {:.2g} deg from x\n", kDegrees * world.downhill,
                             kDegrees * world.sd_downhill)
               : "; too nearly level, no downhill direction\n";
  }
  if (world.scale) {
    for (const LengthResult& length : world.scale->lengths)
      out +=
          length.problem.empty()
              ? fmt::format("  {:<10} {:.2f} +- {:.2f} mm, {:.4f} of its length [{:.4f}, {:.4f}]\n",
                            length.name, 1e3 * length.measured, 1e3 * length.sd_measured,
                            length.ratio, length.lower95, length.upper95)
              : fmt::format("  {:<10} not measured: {}\n", length.name, length.problem);
    out += "lengths     " + world.scale->verdict + "\n";
  }
  for (const std::string& note : world.notes) out += "  " + note + "\n";
  return out;
}

}  // namespace impactlab
