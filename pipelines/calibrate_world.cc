#include "pipelines/calibrate_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/text.h"
#include "pipelines/config_yaml.h"

namespace impactlab::internal {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

// A map from cameras to image points; each is `many` or one point.
std::vector<PixelObservation> ParsePixels(const YamlNode& node, const std::string& key, double sd, bool many,
                                          const std::vector<std::string>& cameras) {
  std::vector<PixelObservation> out;
  const YamlNode map = node.Map(key);
  for (const std::string& name : map.Keys()) {
    const auto at = std::find(cameras.begin(), cameras.end(), name);
    if (at == cameras.end()) throw map.Fault(name, "a camera that is not in the file", JoinNames(cameras));
    const auto points = many ? map.Vectors(name, 2) : std::vector<std::vector<double>>{map.Vector(name, 2)};
    for (const auto& p : points)
      out.push_back({static_cast<int>(at - cameras.begin()), Eigen::Vector2d(p[0], p[1]), sd * sd * Eigen::Matrix2d::Identity()});
  }
  return out;
}

double PixelSd(const YamlNode& node) { return node.Number("sd_px", Positive()); }

std::string Pair(const Eigen::Vector2d& q) { return "[" + FormatNumber(q.x()) + ", " + FormatNumber(q.y()) + "]"; }

std::string Pixels(const std::vector<PixelObservation>& observations, bool many, const std::vector<std::string>& cameras) {
  std::string out;
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    std::string points;
    for (const PixelObservation& o : observations)
      if (o.camera == static_cast<int>(c)) points += (points.empty() ? "" : ", ") + Pair(o.q);
    if (!points.empty()) out += (out.empty() ? "" : ", ") + YamlQuote(cameras[c]) + ": " + (many ? "[" + points + "]" : points);
  }
  return "{" + out + "}";
}

double SdOf(const std::vector<PixelObservation>& observations) { return observations.empty() ? 1 : std::sqrt(observations[0].cov(0, 0)); }

}  // namespace

WorldPlan ParseWorld(const YamlNode& root, const std::vector<std::string>& cameras) {
  WorldPlan plan;
  if (root.Has("lengths")) {
    for (const YamlNode& node : root.List("lengths")) {
      KnownLength length;
      length.name = node.Text("name");
      length.length = node.Number("length_m", Positive());
      length.sd = node.Number("sd_m", 0.0, NonNegative());
      const double sd = PixelSd(node);
      length.from = ParsePixels(node, "from", sd, false, cameras);
      length.to = ParsePixels(node, "to", sd, false, cameras);
      plan.lengths.push_back(std::move(length));
    }
  }
  if (!root.Has("world")) return plan;
  const YamlNode world = root.Map("world");
  const bool board = world.Has("board_shot"), points = world.Has("points");
  if (board && points) throw world.Fault("points", "board_shot as well", "one of board_shot and points");
  if (board) {
    plan.board_shot = world.Text("board_shot");
    plan.board.thickness = world.Number("thickness_m", 0.0, NonNegative());
    plan.board.sd_thickness = world.Number("sd_thickness_m", 0.0, NonNegative());
  }
  if (points) {
    for (const YamlNode& node : world.List("points")) {
      KnownPoint point;
      point.name = node.Text("name");
      const std::vector<double> p = node.Vector("position_m", 3);
      point.p_W = {p[0], p[1], p[2]};
      point.sd = node.Number("sd_m", 0.0, NonNegative());
      point.observations = ParsePixels(node, "pixels", PixelSd(node), false, cameras);
      plan.points.push_back(std::move(point));
    }
  }
  if (world.Has("gravity") && world.Has("plumb_line")) throw world.Fault("plumb_line", "gravity as well", "one of gravity and plumb_line");
  if (world.Has("gravity")) {
    const YamlNode node = world.Map("gravity");
    WorldPlan::Direction direction;
    direction.camera = static_cast<int>(std::find(cameras.begin(), cameras.end(), node.Choice("camera", cameras)) - cameras.begin());
    const std::vector<double> g = node.Vector("direction", 3);
    direction.gravity = {g[0], g[1], g[2]};
    if (!(direction.gravity.norm() > 0))
      throw node.Fault("direction", "no direction", "a vector that points down, in the frame of the camera");
    direction.sd = node.Number("sd_rad", NonNegative());
    plan.gravity = direction;
  }
  if (world.Has("plumb_line")) {
    const YamlNode node = world.Map("plumb_line");
    plan.plumb_line = ParsePixels(node, "pixels", PixelSd(node), true, cameras);
  }
  return plan;
}

std::string WorldYaml(const WorldPlan& plan, const std::vector<std::string>& cameras) {
  std::string out;
  if (plan.places() || plan.gravity || !plan.plumb_line.empty()) out += "world:\n";
  if (!plan.board_shot.empty())
    out += YamlWord(1, "board_shot", YamlQuote(plan.board_shot)) + YamlLine(1, "thickness_m", plan.board.thickness) +
           YamlLine(1, "sd_thickness_m", plan.board.sd_thickness);
  if (!plan.points.empty()) out += "  points:\n";
  for (const KnownPoint& p : plan.points)
    out += "    - " + YamlWord(0, "name", YamlQuote(p.name)) + YamlLine(3, "position_m", {p.p_W.x(), p.p_W.y(), p.p_W.z()}) +
           YamlLine(3, "sd_m", p.sd) + YamlLine(3, "sd_px", SdOf(p.observations)) +
           YamlWord(3, "pixels", Pixels(p.observations, false, cameras));
  if (plan.gravity) {
    const Eigen::Vector3d& g = plan.gravity->gravity;
    out += "  gravity:\n" + YamlWord(2, "camera", YamlQuote(cameras[static_cast<std::size_t>(plan.gravity->camera)])) +
           YamlLine(2, "direction", {g.x(), g.y(), g.z()}) + YamlLine(2, "sd_rad", plan.gravity->sd);
  }
  if (!plan.plumb_line.empty())
    out += "  plumb_line:\n" + YamlLine(2, "sd_px", SdOf(plan.plumb_line)) + YamlWord(2, "pixels", Pixels(plan.plumb_line, true, cameras));
  if (!plan.lengths.empty()) out += "lengths:\n";
  for (const KnownLength& l : plan.lengths)
    out += "  - " + YamlWord(0, "name", YamlQuote(l.name)) + YamlLine(2, "length_m", l.length) + YamlLine(2, "sd_m", l.sd) +
           YamlLine(2, "sd_px", SdOf(l.from)) + YamlWord(2, "from", Pixels(l.from, false, cameras)) +
           YamlWord(2, "to", Pixels(l.to, false, cameras));
  return out;
}

WorldResult FindWorld(const WorldPlan& plan, const CalibrationProblem& problem, const CalibrationResult& result) {
  WorldResult out;
  const CameraRig& rig = result.rig;
  if (!plan.lengths.empty()) out.scale = CheckScale(rig, plan.lengths);
  const bool wants_gravity = plan.gravity || !plan.plumb_line.empty();
  if (!plan.places() && !wants_gravity) return out;
  FrameEstimate frame;
  std::string source = "camera";
  if (!plan.board_shot.empty()) {
    const auto shot =
        std::find_if(problem.shots.begin(), problem.shots.end(), [&](const BoardShot& s) { return s.name == plan.board_shot; });
    if (shot == problem.shots.end()) {
      std::vector<std::string> names;
      for (const BoardShot& s : problem.shots) names.push_back(s.name);
      const std::string nearest = NearestName(plan.board_shot, names);
      out.problem =
          fmt::format("world.board_shot: there is no shot '{}'{}", plan.board_shot, nearest.empty() ? "" : ", nearest is " + nearest);
      return out;
    }
    source = "board";
    frame = FrameFromBoard(result, static_cast<int>(shot - problem.shots.begin()), plan.board);
  } else if (!plan.points.empty()) {
    source = "points";
    out.points = FrameFromPoints(rig, plan.points);
    frame = out.points.frame;
  } else {
    frame = FrameGiven(Eigen::Isometry3d::Identity());
  }
  if (!frame.usable) {
    out.problem = "world: " + frame.reason;
    return out;
  }
  std::optional<GravityEstimate> gravity;
  if (plan.gravity) gravity = GravityGiven(rig, plan.gravity->camera, plan.gravity->gravity, plan.gravity->sd);
  if (!plan.plumb_line.empty()) gravity = GravityFromPlumbLine(rig, plan.plumb_line);
  if (gravity && !gravity->usable) {
    out.problem = "world: " + gravity->reason;
    return out;
  }
  out.world = MakeWorld(rig, frame, gravity, source);
  Eigen::MatrixXd& cov = out.world->rig.covariance;
  cov = (0.5 * (cov + cov.transpose())).eval();
  return out;
}

std::string BriefReport(const WorldResult& result) {
  std::string out;
  if (!result.problem.empty()) out += "  " + result.problem + "\n";
  if (result.world) {
    const WorldFrame& frame = result.world->rig.world;
    out += fmt::format("  the rig stands in the lab frame, from {}\n", frame.source);
    if (frame.gravity_W && frame.source != "camera")
      out += fmt::format("  surface against the horizontal: {:.2f} +- {:.2f} degrees\n", result.world->slope / kDegree,
                         result.world->sd_slope / kDegree);
    for (const std::string& note : result.world->notes) out += "  " + note + "\n";
  }
  for (const PointResult& p : result.points.points) {
    out += p.problem.empty() ? fmt::format("  point {}: {:.2g} mm off\n", p.name, 1e3 * p.residual_W.norm())
                             : fmt::format("  point {} was not used: {}\n", p.name, p.problem);
  }
  if (!result.points.points.empty() && !result.points.scale_consistent)
    out += fmt::format("  ! the known points come out {:.4f} times as far apart\n", result.points.scale);
  if (result.scale) {
    if (result.scale->usable) out += fmt::format("  {}{}\n", result.scale->consistent ? "" : "! ", result.scale->verdict);
    for (const LengthResult& l : result.scale->lengths)
      if (!l.problem.empty()) out += fmt::format("  length {} was not used: {}\n", l.name, l.problem);
  }
  return out.empty() ? out : "\nworld\n" + out;
}

}  // namespace impactlab::internal
