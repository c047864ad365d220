// Plan files.

#include <fmt/format.h>

#include <cmath>

#include "data/files/text.h"
#include "pipelines/config/restitution_keys.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"
#include "pipelines/plan/plan.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using pipelines::EnumWord;
using pipelines::Keys;
using pipelines::Need;
using pipelines::Style;

constexpr std::size_t kMostSettings = 240;
constexpr int kMostDrops = 1000;
constexpr EnumWord<bool> kMotions[] = {{true, "planar"}, {false, "spatial"}};
constexpr EnumWord<DesignCriterion> kCriteria[] = {{DesignCriterion::kA, "A"},
                                                   {DesignCriterion::kD, "D"}};

void VisitPrior(Keys& keys, CoefficientPrior& prior, const Range& allowed) {
  using Kind = CoefficientPrior::Kind;
  const YamlNode& node = *keys.reading();
  const int ways = node.Has("value") + node.Has("from") + node.Has("mean");
  keys.Check(ways == 1, "", fmt::format("{} of value, from and mean", ways),
             "value; from and to; or mean and sd");
  if (node.Has("value")) {
    keys.Number("value", prior.a, allowed, "friction or restitution that is known",
                Need::kRequired);
  } else if (node.Has("from")) {
    prior.kind = Kind::kUniform;
    keys.Number("from", prior.a, allowed, "least, of a uniform range", Need::kRequired);
    keys.Number("to", prior.b, allowed, "most, of a uniform range", Need::kRequired);
    keys.Check(prior.b > prior.a, "to", FormatNumber(prior.b), "a number above from");
  } else {
    prior.kind = Kind::kNormal;
    keys.Number("mean", prior.a, allowed,
                "of a normal distribution, cut at the ends of what is possible", Need::kRequired);
    keys.Number("sd", prior.b, Positive(), "its standard deviation", Need::kRequired);
  }
}

void VisitModel(Keys& keys, ExperimentDesign& p) {
  pipelines::VisitLaw(keys, p.law, "of impact");
  keys.Map(
      "mu_k", "friction, believed beforehand: a value, a range, or mean and standard deviation",
      [&](Keys& k) { VisitPrior(k, p.mu, Closed(0, 10)); }, Need::kRequired);
  keys.Map(
      CoefficientName(p.law),
      ("restitution, believed beforehand; " + OtherCoefficientWords()).c_str(),
      [&](Keys& k) { VisitPrior(k, p.e, Closed(0, 1)); }, Need::kRequired);
}

void VisitScatter(Keys& keys, ImpactScatter& s) {
  keys.Number("sd_tangential", s.wrench.sd_tangential, Closed(0, 1),
              "of the impulse along the surface, relative to m_eff abs(v_n-)");
  keys.Number("sd_normal", s.wrench.sd_normal, Closed(0, 1),
              "of the impulse along the normal, relative to the same");
  keys.Number("sd_couple", s.wrench.sd_couple, Closed(0, 10),
              "of its moment, relative to the same times the radius of gyration");
  keys.Number("sd_mu", s.sd_mu, Closed(0, 1), "of friction itself");
  keys.Number("sd_e", s.sd_e, Closed(0, 1), "of restitution itself");
  keys.Number("wild_share", s.wild_share, Closed(0, 0.5),
              "share of impacts with ten times the scatter of the impulse");
}

void VisitRelease(Keys& keys, ReleaseScatter& r) {
  keys.Number("sd_height_m", r.height, NonNegative(), "what releases scatter by in height");
  keys.Number("sd_lean_rad", r.lean, Closed(0, 3), "in lean");
  keys.Number("sd_azimuth_rad", r.azimuth, Closed(0, 3), "in azimuth of the lean, in space");
  keys.Number("sd_roll_rad", r.roll, Closed(0, 3), "in roll about the leaning line, in space");
  keys.Number("sd_speed_m_per_s", r.speed, NonNegative(), "in speed");
  keys.Number("sd_spin_rad_per_s", r.spin, NonNegative(), "in spin");
}

void VisitSettings(Keys& keys, ExperimentDesign& p) {
  std::vector<double> slopes = {0}, heights, leans = {0}, speeds = {0}, spins = {0};
  keys.Vector("slope_rad", slopes, -1, Closed(-1.4, 1.4), "of the surface, downhill along W_x");
  keys.Vector("height_m", heights, -1, Positive(), "fall of the lowest point", Need::kRequired);
  keys.Vector("lean_rad", leans, -1, Closed(-M_PI / 2, M_PI / 2),
              "of the line from the striking vertex to the centre of mass (smooth bodies: of B_z) "
              "from the normal, downhill positive");
  keys.Vector("speed_m_per_s", speeds, -1, Closed(-100, 100),
              "along the surface, downhill, at the release");
  keys.Vector("spin_rad_per_s", spins, -1, Closed(-1000, 1000), "about -W_y, at the release");
  const std::size_t n =
      slopes.size() * heights.size() * leans.size() * speeds.size() * spins.size();
  keys.Check(n <= kMostSettings, "", fmt::format("{} settings", n),
             fmt::format("at most {}", kMostSettings));
  for (const double slope : slopes)
    for (const double height : heights)
      for (const double lean : leans)
        for (const double speed : speeds)
          for (const double spin : spins) p.settings.push_back({slope, height, lean, speed, spin});
  const auto vertices = static_cast<double>(Vertices(p.body).size());
  keys.Count("vertex", p.vertex, Closed(0, std::max(0.0, vertices - 1)),
             "that strikes (box: bits 0, 1, 2 for +x, +y, +z; planar box: (+,+), (-,+), (-,-), "
             "(+,-); rod: 0 is the tip at +z, or +x in a plane)");
  VisitRelease(keys, p.release);
}

// Cameras side by side that look at the place of the impact, along W_y and down by the elevation.
CameraRig VisitDescribedRig(Keys& keys, const Vector3d& centre) {
  double distance = 0, focal = 0, elevation = 0.15, baseline = 0;
  int count = 2, width = 0, height = 0;
  keys.Number("distance_m", distance, Positive(), "from the impacts; not with rig",
              Need::kRequired);
  keys.Count("count", count, Closed(1, 16), "of cameras, in space; not with rig");
  keys.Number("focal_px", focal, Positive(), "focal length; not with rig", Need::kRequired);
  keys.Number("elevation_rad", elevation, Closed(-1.4, 1.4),
              "of the cameras over the impacts, in space; not with rig");
  if (count > 1)
    keys.Number("baseline_m", baseline, Positive(), "between the cameras, in space; not with rig",
                Need::kRequired);
  keys.Count("width_px", width, Closed(16, 1e5), "of the pictures; in space, without rig",
             Need::kRequired);
  keys.Count("height_px", height, Closed(16, 1e5), "of the pictures; in space, without rig",
             Need::kRequired);
  CameraRig rig;
  for (int c = 0; c < count; ++c) {
    RigCamera camera;
    camera.name = fmt::format("camera{}", c + 1);
    camera.camera.width = width;
    camera.camera.height = height;
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

void VisitMarkers(Keys& keys, ExperimentDesign& p) {
  std::vector<std::vector<double>> places, normals;
  double radius = 0;
  keys.Vectors("layout_m", places, 3, {}, Style::kFlow,
               "places on the body, from the centre of mass, in B; planar: [x, z]",
               Need::kRequired);
  keys.Number("radius_m", radius, Closed(0, 10), "of a marker");
  keys.Vectors("normals", normals, 3, {}, Style::kFlow,
               "of flat discs; a disc that is turned away is not seen. Default: balls");
  keys.Check(normals.empty() || normals.size() == places.size(), "normals",
             fmt::format("{} directions", normals.size()),
             fmt::format("one of each of the {} markers", places.size()));
  const std::size_t least = p.body.planar ? 2 : 3;
  keys.Check(places.size() >= least, "layout_m", fmt::format("{} markers", places.size()),
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
  keys.Number("layout_sd_m", p.layout_sd, Closed(0, 1), "their standard deviation");
}

// One camera that looks squarely at the plane of motion: the pose of a frame by least squares from
// its markers.
void VisitPlanarCamera(Keys& keys, const Keys& root, ExperimentDesign& p) {
  double distance = 0, focal = 0;
  keys.Number("distance_m", distance, Positive(), "", Need::kRequired);
  keys.Number("focal_px", focal, Positive(), "", Need::kRequired);
  const double scale = distance / focal;
  const auto n = static_cast<double>(p.markers.size());
  Vector3d middle = Vector3d::Zero();
  for (const BodyMarker& m : p.markers) middle += m.p_BM / n;
  double spread = 0;
  for (const BodyMarker& m : p.markers)
    spread += std::pow(m.p_BM.x() - middle.x(), 2) + std::pow(m.p_BM.z() - middle.z(), 2);
  if (!(spread > 0))
    throw root.reading()->Map("markers").Fault("layout_m", "markers in one place",
                                               "markers apart in x and z");
  p.noise_angle = p.pixel_sd * scale / std::sqrt(spread);
  p.noise_position =
      std::hypot(p.pixel_sd * scale / std::sqrt(n),
                 p.noise_angle * std::hypot(middle.x(), middle.z()) / std::sqrt(2.0));
}

void VisitCameras(Keys& keys, const Keys& root, ExperimentDesign& p) {
  keys.Number("rate_Hz", p.rate, Positive(), "frames a second", Need::kRequired);
  keys.Number("exposure_s", p.exposure, Closed(0, 1), "time the shutter is open");
  keys.Number("sd_px", p.pixel_sd, Open(0, 100), "of a centroid, one coordinate");
  keys.Number("offset_sd_s", p.offset_sd, Closed(0, 1), "of the clocks of cameras after the first");
  keys.Check(p.exposure * p.rate <= 1, "exposure_s", FormatNumber(p.exposure),
             "at most the time between two frames, " + FormatNumber(1 / p.rate));
  if (p.body.planar) return VisitPlanarCamera(keys, root, p);
  const YamlNode& node = *keys.reading();
  p.rig_known = node.Has("rig");
  if (!p.rig_known) {
    p.rig = VisitDescribedRig(keys, p.centre_W);
    return;
  }
  for (const char* key : {"focal_px", "distance_m", "baseline_m", "count", "elevation_rad"})
    keys.Check(!node.Has(key), key, "it beside rig", "one of them");
  std::filesystem::path file;
  keys.File("rig", file,
            "a rig.yaml, whose covariance is counted and whose gravity is used; instead of "
            "focal_px and the places",
            Need::kRequired);
  p.rig = RigFromYaml(file);
  if (p.rig.world.gravity_W) p.gravity_W = p.gravity_W.norm() * p.rig.world.gravity_W->normalized();
}

void VisitPoses(Keys& keys, ExperimentDesign& p) {
  keys.Number("rate_Hz", p.rate, Positive(), "poses a second", Need::kRequired);
  keys.Number("noise_position_m", p.noise_position, Positive(),
              "standard deviation of a coordinate", Need::kRequired);
  keys.Number("noise_angle_rad", p.noise_angle, Positive(), "standard deviation of an angle",
              Need::kRequired);
}

void VisitWanted(Keys& keys, ExperimentDesign& p) {
  keys.Stated(true).Number("mu_k", p.wanted.x(), Positive(), "95 % half width. Default: not asked");
  keys.Stated(true).Number(
      CoefficientName(p.law), p.wanted.y(), Positive(),
      ("95 % half width; " + OtherCoefficientWords() + ". Default: not asked").c_str());
  keys.Number("sd_velocity_m_per_s", p.wanted_sd_velocity, Positive(),
              "of a velocity after an impact; 0: not asked");
  keys.Number("sd_spin_rad_per_s", p.wanted_sd_spin, Positive(),
              "of a spin after an impact; 0: not asked");
}

void VisitRivals(Keys& keys, ExperimentDesign& p) {
  std::vector<std::string> others;
  for (const RestitutionLaw law : AllRestitutionLaws())
    if (law != p.law) others.emplace_back(LawName(law));
  std::vector<std::string> names = others;
  keys.Texts("tell_from", names,
             "other laws that the drops shall tell from this one, or none. Default: all others");
  if (names == std::vector<std::string>{"none"}) return;
  for (const std::string& name : names) {
    keys.Check(std::find(others.begin(), others.end(), name) != others.end(), "tell_from",
               Excerpt(name), JoinNames(others) + ", or none alone");
    p.rivals.push_back(*RestitutionLawOf(name));
  }
}

// The whole file. Plans are read only.
void VisitPlan(Keys& keys, ExperimentDesign& p) {
  const YamlNode& root = *keys.reading();
  keys.Schema("impactlab.plan/1");
  keys.Text("name", p.name, "of the plan", Need::kRequired);
  bool planar = false;
  keys.Word("motion", planar, kMotions, "in a plane, or in space", Need::kRequired);
  keys.Map(
      "body", "As `body` of an experiment.",
      [&](Keys& k) { pipelines::VisitBody(k, p.body, planar); }, Need::kRequired);
  keys.Map(
      "model", "what is believed of the impacts", [&](Keys& k) { VisitModel(k, p); },
      Need::kRequired);
  keys.Map(
      "scatter",
      "from impact to impact. Default: between those of the square drops and of the cube tosses",
      [&](Keys& k) { VisitScatter(k, p.scatter); });
  keys.Map(
      "settings", "lists; every combination is a setting that may be used, at most 240",
      [&](Keys& k) { VisitSettings(k, p); }, Need::kRequired);
  keys.Count("drops", p.drops, Closed(4, kMostDrops), "at most so many will be made");
  pipelines::VisitVector(keys, "centre_m", p.centre_W, {}, "place of the impacts in W");
  keys.Number("duration_after_s", p.duration_after, Closed(0.01, 10), "filmed after the impacts");
  const bool cameras = root.Has("cameras"), poses = root.Has("poses");
  keys.Check(cameras != poses, "cameras", poses ? "it beside poses" : "neither cameras nor poses",
             "one of them");
  if (poses) {
    keys.Map(
        "poses", "in place of cameras and markers", [&](Keys& k) { VisitPoses(k, p); },
        Need::kRequired);
  } else {
    keys.Map(
        "cameras",
        "side by side, looking at centre_m along W_y and down; planar: one camera square to the "
        "plane. Or poses",
        [&](Keys& k) {
          keys.Map(
              "markers", "with cameras", [&](Keys& m) { VisitMarkers(m, p); }, Need::kRequired);
          VisitCameras(k, keys, p);
        },
        Need::kRequired);
  }
  keys.Number("inertia_sd", p.inertia_sd, Closed(0, 0.5), "of all moments of the body, relative");
  keys.Map("wanted", "what the experiment shall reach. Default: nothing",
           [&](Keys& k) { VisitWanted(k, p); });
  keys.Word("criterion", p.criterion, kCriteria,
            "A: least variances in units of the half widths wanted; D: least area of the "
            "confidence region");
  VisitRivals(keys, p);
  keys.Number("effort", p.effort, Closed(0.01, 1000),
              "campaigns drawn, in units of the usual numbers (planar 400; in space 60 to 300, 8 "
              "to 24 of them with intervals)");
  keys.Count("seed", p.seed, Closed(0, 1e15), "of every random number");
}

}  // namespace

ExperimentDesign LoadPlan(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  ExperimentDesign plan;
  plan.path = path;
  Keys keys(root);
  VisitPlan(keys, plan);
  root.Finish();
  return plan;
}

}  // namespace impactlab
