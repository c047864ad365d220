// Plan files.

#include <fmt/format.h>

#include <cmath>

#include "data/files/text.h"
#include "pipelines/config/yaml.h"
#include "pipelines/plan/plan.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

constexpr const char* kSchema = "impactlab.plan/1";
constexpr std::size_t kMostSettings = 240;
constexpr int kMostDrops = 1000;
constexpr RestitutionLaw kLaws[] = {RestitutionLaw::kNewton, RestitutionLaw::kPoisson,
                                    RestitutionLaw::kEnergetic};

RestitutionLaw LawOf(const std::string& name) {
  for (const RestitutionLaw law : kLaws)
    if (name == LawName(law)) return law;
  return RestitutionLaw::kEnergetic;
}

std::vector<std::string> LawNames() {
  std::vector<std::string> names;
  for (const RestitutionLaw law : kLaws) names.emplace_back(LawName(law));
  return names;
}

CoefficientPrior ParsePrior(const YamlNode& node, const Range& allowed) {
  CoefficientPrior prior;
  const int ways = node.Has("value") + node.Has("from") + node.Has("mean");
  if (ways != 1)
    throw node.Fault("", fmt::format("{} of value, from and mean", ways),
                     "value; from and to; or mean and sd");
  if (node.Has("value")) {
    prior.a = node.Number("value", allowed);
  } else if (node.Has("from")) {
    prior.kind = CoefficientPrior::Kind::kUniform;
    prior.a = node.Number("from", allowed);
    prior.b = node.Number("to", allowed);
    if (!(prior.b > prior.a)) throw node.Fault("to", FormatNumber(prior.b), "a number above from");
  } else {
    prior.kind = CoefficientPrior::Kind::kNormal;
    prior.a = node.Number("mean", allowed);
    prior.b = node.Number("sd", Positive());
  }
  return prior;
}

void ParseScatter(const YamlNode& node, ImpactScatter& s) {
  s.wrench.sd_tangential = node.Number("sd_tangential", s.wrench.sd_tangential, Closed(0, 1));
  s.wrench.sd_normal = node.Number("sd_normal", s.wrench.sd_normal, Closed(0, 1));
  s.wrench.sd_couple = node.Number("sd_couple", s.wrench.sd_couple, Closed(0, 10));
  s.sd_mu = node.Number("sd_mu", s.sd_mu, Closed(0, 1));
  s.sd_e = node.Number("sd_e", s.sd_e, Closed(0, 1));
  s.wild_share = node.Number("wild_share", s.wild_share, Closed(0, 0.5));
}

void ParseSettings(const YamlNode& node, ExperimentDesign& p) {
  const auto slopes = node.Vector("slope_rad", -1, {0.0}, Closed(-1.4, 1.4));
  const auto heights = node.Vector("height_m", -1, Positive());
  const auto leans = node.Vector("lean_rad", -1, {0.0}, Closed(-M_PI / 2, M_PI / 2));
  const auto speeds = node.Vector("speed_m_per_s", -1, {0.0}, Closed(-100, 100));
  const auto spins = node.Vector("spin_rad_per_s", -1, {0.0}, Closed(-1000, 1000));
  const std::size_t n =
      slopes.size() * heights.size() * leans.size() * speeds.size() * spins.size();
  if (n > kMostSettings)
    throw node.Fault("", fmt::format("{} settings", n), fmt::format("at most {}", kMostSettings));
  for (const double slope : slopes)
    for (const double height : heights)
      for (const double lean : leans)
        for (const double speed : speeds)
          for (const double spin : spins) p.settings.push_back({slope, height, lean, speed, spin});
  const auto vertices = static_cast<double>(Vertices(p.body).size());
  p.vertex = static_cast<int>(node.Integer("vertex", 0, Closed(0, std::max(0.0, vertices - 1))));
  ReleaseScatter& r = p.release;
  r.height = node.Number("sd_height_m", r.height, NonNegative());
  r.lean = node.Number("sd_lean_rad", r.lean, Closed(0, 3));
  r.azimuth = node.Number("sd_azimuth_rad", r.azimuth, Closed(0, 3));
  r.roll = node.Number("sd_roll_rad", r.roll, Closed(0, 3));
  r.speed = node.Number("sd_speed_m_per_s", r.speed, NonNegative());
  r.spin = node.Number("sd_spin_rad_per_s", r.spin, NonNegative());
}

// Cameras side by side that look at the place of the impact, along W_y and down by the elevation.
CameraRig DescribedRig(const YamlNode& node, const Vector3d& centre, double distance) {
  const int count = static_cast<int>(node.Integer("count", 2, Closed(1, 16)));
  const double focal = node.Number("focal_px", Positive()),
               elevation = node.Number("elevation_rad", 0.15, Closed(-1.4, 1.4));
  const double baseline = count > 1 ? node.Number("baseline_m", Positive()) : 0;
  CameraRig rig;
  for (int c = 0; c < count; ++c) {
    RigCamera camera;
    camera.name = fmt::format("camera{}", c + 1);
    camera.camera.width = static_cast<int>(node.Integer("width_px", Closed(16, 1e5)));
    camera.camera.height = static_cast<int>(node.Integer("height_px", Closed(16, 1e5)));
    Eigen::VectorXd x = Eigen::VectorXd::Zero(9);
    x.head<4>() << focal, focal, 0.5 * (camera.camera.width - 1), 0.5 * (camera.camera.height - 1);
    SetIntrinsics(camera.camera, x);
    const Vector3d from(baseline * (c - 0.5 * (count - 1)), -distance * std::cos(elevation),
                        distance * std::sin(elevation));
    const Vector3d forward = -from.normalized(),
                   right = forward.cross(Vector3d::UnitZ()).normalized();
    camera.X_WC.linear() << right, forward.cross(right), forward;
    camera.X_WC.translation() = centre + from;
    rig.cameras.push_back(camera);
  }
  return rig;
}

void ParseMarkers(const YamlNode& node, ExperimentDesign& p) {
  const auto places = node.Vectors("layout_m", 3);
  const double radius = node.Number("radius_m", 0.0, Closed(0, 10));
  const auto normals =
      node.Has("normals") ? node.Vectors("normals", 3) : std::vector<std::vector<double>>{};
  if (!normals.empty() && normals.size() != places.size())
    throw node.Fault("normals", fmt::format("{} directions", normals.size()),
                     fmt::format("one of each of the {} markers", places.size()));
  const std::size_t least = p.body.planar ? 2 : 3;
  if (places.size() < least)
    throw node.Fault("layout_m", fmt::format("{} markers", places.size()),
                     fmt::format("at least {}", least));
  for (std::size_t k = 0; k < places.size(); ++k) {
    BodyMarker marker;
    marker.p_BM = Vector3d(places[k][0], places[k][1], places[k][2]);
    marker.radius = radius;
    if (!normals.empty()) {
      const Vector3d n(normals[k][0], normals[k][1], normals[k][2]);
      if (n.norm() > 0) marker.normal_B = n.normalized();
    }
    p.markers.push_back(marker);
  }
  p.layout_sd = node.Number("layout_sd_m", p.layout_sd, Closed(0, 1));
}

void ParseCameras(const YamlNode& root, ExperimentDesign& p) {
  const YamlNode node = root.Map("cameras");
  ParseMarkers(root.Map("markers"), p);
  p.rate = node.Number("rate_Hz", Positive());
  p.exposure = node.Number("exposure_s", 0.0, Closed(0, 1));
  p.pixel_sd = node.Number("sd_px", p.pixel_sd, Open(0, 100));
  p.offset_sd = node.Number("offset_sd_s", p.offset_sd, Closed(0, 1));
  if (p.exposure * p.rate > 1)
    throw node.Fault("exposure_s", FormatNumber(p.exposure),
                     "at most the time between two frames, " + FormatNumber(1 / p.rate));
  if (p.body.planar) {
    // One camera that looks squarely at the plane of motion: the pose of a frame by least squares
    // from its markers.
    const double scale =
        node.Number("distance_m", Positive()) / node.Number("focal_px", Positive());
    const auto n = static_cast<double>(p.markers.size());
    Vector3d middle = Vector3d::Zero();
    for (const BodyMarker& m : p.markers) middle += m.p_BM / n;
    double spread = 0;
    for (const BodyMarker& m : p.markers)
      spread += std::pow(m.p_BM.x() - middle.x(), 2) + std::pow(m.p_BM.z() - middle.z(), 2);
    if (!(spread > 0))
      throw root.Map("markers").Fault("layout_m", "markers in one place",
                                      "markers apart in x and z");
    p.noise_angle = p.pixel_sd * scale / std::sqrt(spread);
    p.noise_position =
        std::hypot(p.pixel_sd * scale / std::sqrt(n),
                   p.noise_angle * std::hypot(middle.x(), middle.z()) / std::sqrt(2.0));
    return;
  }
  p.rig_known = node.Has("rig");
  if (p.rig_known) {
    for (const char* key : {"focal_px", "distance_m", "baseline_m", "count", "elevation_rad"})
      if (node.Has(key)) throw node.Fault(key, "it beside rig", "one of them");
    p.rig = RigFromYaml(node.Folder() / node.Text("rig"));
    if (p.rig.world.gravity_W)
      p.gravity_W = p.gravity_W.norm() * p.rig.world.gravity_W->normalized();
  } else {
    p.rig = DescribedRig(node, p.centre_W, node.Number("distance_m", Positive()));
  }
}

ExperimentDesign Parse(const YamlNode& root) {
  if (root.Text("schema") != kSchema)
    throw root.Fault("schema", Excerpt(root.Text("schema")), kSchema);
  ExperimentDesign p;
  p.name = root.Text("name");
  const bool planar = root.Choice("motion", {"planar", "spatial"}) == "planar";
  p.body = pipelines::ParseBody(root.Map("body"), planar);
  const YamlNode model = root.Map("model");
  p.law = LawOf(model.Choice("law", "energetic", LawNames()));
  p.mu = ParsePrior(model.Map("mu_k"), Closed(0, 10));
  p.e = ParsePrior(model.Map(CoefficientName(p.law)), Closed(0, 1));
  ParseScatter(root.MapOrEmpty("scatter"), p.scatter);
  ParseSettings(root.Map("settings"), p);
  p.drops = static_cast<int>(root.Integer("drops", p.drops, Closed(4, kMostDrops)));
  const auto centre = root.Vector("centre_m", 3, {0.0, 0.0, 0.0});
  p.centre_W = Vector3d(centre[0], centre[1], centre[2]);
  p.duration_after = root.Number("duration_after_s", p.duration_after, Closed(0.01, 10));
  if (root.Has("cameras") == root.Has("poses"))
    throw root.Fault("cameras", root.Has("poses") ? "it beside poses" : "neither cameras nor poses",
                     "one of them");
  if (root.Has("poses")) {
    const YamlNode node = root.Map("poses");
    p.rate = node.Number("rate_Hz", Positive());
    p.noise_position = node.Number("noise_position_m", Positive());
    p.noise_angle = node.Number("noise_angle_rad", Positive());
  } else {
    ParseCameras(root, p);
  }
  p.inertia_sd = root.Number("inertia_sd", p.inertia_sd, Closed(0, 0.5));
  const YamlNode wanted = root.MapOrEmpty("wanted");
  if (wanted.Has("mu_k")) p.wanted.x() = wanted.Number("mu_k", Positive());
  if (wanted.Has(CoefficientName(p.law)))
    p.wanted.y() = wanted.Number(CoefficientName(p.law), Positive());
  p.wanted_sd_velocity = wanted.Number("sd_velocity_m_per_s", 0.0, Positive());
  p.wanted_sd_spin = wanted.Number("sd_spin_rad_per_s", 0.0, Positive());
  p.criterion =
      root.Choice("criterion", "A", {"A", "D"}) == "A" ? DesignCriterion::kA : DesignCriterion::kD;
  std::vector<std::string> others;
  for (const RestitutionLaw law : kLaws)
    if (law != p.law) others.emplace_back(LawName(law));
  if (!root.Has("tell_from") || root.Texts("tell_from") != std::vector<std::string>{"none"})
    for (const std::string& name : root.Texts("tell_from", others)) {
      if (std::find(others.begin(), others.end(), name) == others.end())
        throw root.Fault("tell_from", Excerpt(name), JoinNames(others) + ", or none alone");
      p.rivals.push_back(LawOf(name));
    }
  p.effort = root.Number("effort", p.effort, Closed(0.01, 1000));
  p.seed = static_cast<std::uint64_t>(root.Integer("seed", 1, Closed(0, 1e15)));
  root.Finish();
  return p;
}

}  // namespace

ExperimentDesign LoadPlan(const std::filesystem::path& path) {
  ExperimentDesign plan = Parse(LoadYaml(path));
  plan.path = path;
  return plan;
}

ExperimentDesign ParsePlan(const std::string& text, const std::string& name) {
  ExperimentDesign plan = Parse(ParseYaml(text, name));
  plan.path = name;
  return plan;
}

}  // namespace impactlab
