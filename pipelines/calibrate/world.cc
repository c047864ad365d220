#include "pipelines/calibrate/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "data/base/error.h"
#include "data/files/text.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using pipelines::YamlLine;
using pipelines::YamlWord;

Eigen::Vector2d Pixel(const std::vector<double>& v) { return {v[0], v[1]}; }

void CheckCamera(const YamlNode& node, const std::string& name,
                 const std::vector<std::string>& cameras) {
  if (std::find(cameras.begin(), cameras.end(), name) == cameras.end())
    throw node.Fault(name, "a camera that is not in the list", JoinNames(cameras));
}

// {left: [x, y], right: [x, y]}
SeenBy ParseSeen(const YamlNode& parent, const std::string& key,
                 const std::vector<std::string>& cameras) {
  const YamlNode node = parent.Map(key);
  SeenBy seen;
  for (const std::string& name : node.Keys()) {
    CheckCamera(node, name, cameras);
    seen.emplace_back(name, Pixel(node.Vector(name, 2, Closed(-1e5, 1e5))));
  }
  if (seen.size() < 2)
    throw parent.Fault(key, fmt::format("{} cameras", seen.size()),
                       "pixels [x, y] in two cameras or more");
  return seen;
}

std::string SeenYaml(const SeenBy& seen) {
  std::string out;
  for (const auto& [name, q] : seen)
    out += fmt::format("{}{}: [{}, {}]", out.empty() ? "" : ", ", YamlQuote(name), q.x(), q.y());
  return "{" + out + "}";
}

void ParseGiven(const YamlNode& given, WorldConfig* plan) {
  const auto rows = given.Vectors("rotation", 3, Closed(-1, 1));
  if (rows.size() != 3)
    throw given.Fault("rotation", fmt::format("{} rows", rows.size()),
                      "three rows of three: R_WC of the first camera");
  Eigen::Matrix3d R;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      R(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  if ((R.transpose() * R - Eigen::Matrix3d::Identity()).norm() > 1e-6 || R.determinant() < 0)
    throw given.Fault("rotation", "a matrix that is no rotation",
                      "orthonormal rows, right-handed, to 1e-6");
  plan->X_WA.linear() = R;
  const std::vector<double> p = given.Vector("position_m", 3, Closed(-1e4, 1e4));
  plan->X_WA.translation() << p[0], p[1], p[2];
  plan->sd_rotation = given.Number("sd_rotation_rad", 0, NonNegative());
  plan->sd_position = given.Number("sd_position_m", 0, NonNegative());
}

void ParseWorld(const YamlNode& root, const std::vector<std::string>& cameras, WorldConfig* plan) {
  if (!root.Has("world")) return;
  const YamlNode node = root.Map("world");
  int kinds = 0;
  for (const char* kind : {"board", "points", "given"}) {
    if (!node.Has(kind)) continue;
    plan->source = kind;
    ++kinds;
  }
  if (kinds != 1)
    throw root.Fault("world", fmt::format("{} of the keys board, points, given", kinds),
                     "exactly one of them");
  if (plan->source == "board") {
    const YamlNode board = node.Map("board");
    plan->shot = board.Text("shot");
    plan->board.thickness = board.Number("thickness_m", 0, Closed(0, 1));
    plan->board.sd_thickness = board.Number("sd_thickness_m", 0, Closed(0, 1));
  } else if (plan->source == "points") {
    for (const YamlNode& item : node.List("points")) {
      WorldConfig::Point point;
      point.name = item.Text("name", fmt::format("point {}", plan->points.size() + 1));
      const std::vector<double> at = item.Vector("at_m", 3, Closed(-1e4, 1e4));
      point.p_W << at[0], at[1], at[2];
      point.sd = item.Number("sd_m", 0, Closed(0, 1));
      point.sd_pixel = item.Number("sd_px", point.sd_pixel, Positive());
      point.seen = ParseSeen(item, "seen", cameras);
      plan->points.push_back(point);
    }
    if (plan->points.size() < 3)
      throw node.Fault("points", fmt::format("{} points", plan->points.size()),
                       "three or more, not on a line");
  } else {
    ParseGiven(node.Map("given"), plan);
  }
}

void ParseGravity(const YamlNode& root, const std::vector<std::string>& cameras,
                  WorldConfig* plan) {
  if (!root.Has("gravity")) return;
  const YamlNode node = root.Map("gravity");
  const bool line = node.Has("plumb_line"), direction = node.Has("direction");
  if (line == direction)
    throw root.Fault("gravity",
                     line ? "both plumb_line and direction" : "neither plumb_line nor direction",
                     "one of them");
  if (line) {
    plan->gravity = "plumb_line";
    const YamlNode map = node.Map("plumb_line");
    plan->sd_plumb = map.Number("sd_px", plan->sd_plumb, Positive());
    for (const std::string& name : map.Keys()) {
      if (name == "sd_px") continue;
      CheckCamera(map, name, cameras);
      std::vector<Eigen::Vector2d> points;
      for (const auto& q : map.Vectors(name, 2, Closed(-1e5, 1e5))) points.push_back(Pixel(q));
      if (points.size() < 2)
        throw map.Fault(name, "one point",
                        "two or more pixels [x, y] on the string, from the top down");
      plan->plumb_line.emplace_back(name, points);
    }
    if (plan->plumb_line.size() < 2)
      throw node.Fault("plumb_line", fmt::format("{} cameras", plan->plumb_line.size()),
                       "the string in two cameras or more");
    return;
  }
  plan->gravity = "direction";
  const YamlNode map = node.Map("direction");
  std::vector<std::string> frames = cameras;
  frames.insert(frames.begin(), "world");
  plan->direction_frame = map.Choice("frame", frames);
  const std::vector<double> down = map.Vector("down", 3, Closed(-1e6, 1e6));
  plan->down << down[0], down[1], down[2];
  if (!(plan->down.norm() > 0)) throw map.Fault("down", "[0, 0, 0]", "a direction");
  plan->sd_down = map.Number("sd_rad", 0, Closed(0, 1));
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

WorldConfig WorldFromYaml(const YamlNode& root, const std::vector<std::string>& cameras) {
  WorldConfig plan;
  ParseWorld(root, cameras, &plan);
  ParseGravity(root, cameras, &plan);
  if (!root.Has("lengths")) return plan;
  for (const YamlNode& item : root.List("lengths")) {
    WorldConfig::Length length;
    length.name = item.Text("name", fmt::format("length {}", plan.lengths.size() + 1));
    length.length = item.Number("length_m", Positive());
    length.sd = item.Number("sd_m", 0, NonNegative());
    length.sd_pixel = item.Number("sd_px", length.sd_pixel, Positive());
    length.from = ParseSeen(item, "from", cameras);
    length.to = ParseSeen(item, "to", cameras);
    plan.lengths.push_back(length);
  }
  return plan;
}

std::string ToYaml(const WorldConfig& plan) {
  std::string out;
  if (plan.source == "board") {
    out += "world:\n  board:\n" + YamlWord(2, "shot", YamlQuote(plan.shot)) +
           YamlLine(2, "thickness_m", plan.board.thickness) +
           YamlLine(2, "sd_thickness_m", plan.board.sd_thickness);
  } else if (plan.source == "points") {
    out += "world:\n  points:\n";
    for (const WorldConfig::Point& p : plan.points)
      out += fmt::format("    - {{name: {}, at_m: [{}, {}, {}], sd_m: {}, sd_px: {}, seen: {}}}\n",
                         YamlQuote(p.name), p.p_W.x(), p.p_W.y(), p.p_W.z(), p.sd, p.sd_pixel,
                         SeenYaml(p.seen));
  } else if (plan.source == "given") {
    const Eigen::Matrix3d R = plan.X_WA.linear();
    out += "world:\n  given:\n";
    out += fmt::format("    rotation: [[{}, {}, {}], [{}, {}, {}], [{}, {}, {}]]\n", R(0, 0),
                       R(0, 1), R(0, 2), R(1, 0), R(1, 1), R(1, 2), R(2, 0), R(2, 1), R(2, 2));
    const Eigen::Vector3d p = plan.X_WA.translation();
    out += YamlLine(2, "position_m", {p.x(), p.y(), p.z()}) +
           YamlLine(2, "sd_rotation_rad", plan.sd_rotation) +
           YamlLine(2, "sd_position_m", plan.sd_position);
  }
  if (plan.gravity == "plumb_line") {
    out += "gravity:\n  plumb_line:\n" + YamlLine(2, "sd_px", plan.sd_plumb);
    for (const auto& [name, points] : plan.plumb_line) {
      std::string list;
      for (const auto& q : points)
        list += fmt::format("{}[{}, {}]", list.empty() ? "" : ", ", q.x(), q.y());
      out += YamlWord(2, YamlQuote(name), "[" + list + "]");
    }
  } else if (plan.gravity == "direction") {
    out += fmt::format("gravity:\n  direction: {{frame: {}, down: [{}, {}, {}], sd_rad: {}}}\n",
                       YamlQuote(plan.direction_frame), plan.down.x(), plan.down.y(), plan.down.z(),
                       plan.sd_down);
  }
  if (!plan.lengths.empty()) out += "lengths:\n";
  for (const WorldConfig::Length& l : plan.lengths)
    out += fmt::format("  - {{name: {}, length_m: {}, sd_m: {}, sd_px: {}, from: {}, to: {}}}\n",
                       YamlQuote(l.name), l.length, l.sd, l.sd_pixel, SeenYaml(l.from),
                       SeenYaml(l.to));
  return out;
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
