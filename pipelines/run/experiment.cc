#include "pipelines/run/experiment.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/yaml.h"

namespace impactlab {
namespace {

using pipelines::YamlCount;
using pipelines::YamlFlag;
using pipelines::YamlLine;
using pipelines::YamlWord;

constexpr const char* kSchema = "impactlab.experiment/1";
constexpr double kMostCount = 1e9;  // counts fit an int

struct LikelihoodName {
  Likelihood likelihood;
  const char* name;
};
constexpr LikelihoodName kLikelihoods[] = {{Likelihood::kAdaptive, "adaptive"},
                                           {Likelihood::kGaussian, "gaussian"},
                                           {Likelihood::kStudentT, "student_t"},
                                           {Likelihood::kContamination, "contamination"}};
constexpr RestitutionLaw kLaws[] = {RestitutionLaw::kNewton, RestitutionLaw::kPoisson,
                                    RestitutionLaw::kEnergetic};

int Count(const YamlNode& node, const std::string& key, int otherwise, double least) {
  return static_cast<int>(node.Integer(key, otherwise, Closed(least, kMostCount)));
}

void ParseMarkerSource(const YamlNode& node, Experiment& e) {
  MarkerSource& m = e.markers.emplace();
  const std::filesystem::path folder = node.Folder();
  e.columns.planar = false;
  for (const char* key : {"names", "layout_m", "layout_sd_m"})
    if (node.Has(key))
      throw node.Fault(key, "it with kind: markers",
                       fmt::format("it in the tracking file, as markers.{}", key));
  m.plan = LoadTracking(folder / node.Text("tracking"));
  if (m.plan.track.layout.empty())
    throw node.Fault("tracking", "a tracking file without markers.layout_m",
                     "one with the places of the markers on the body");
  if (node.Has("tracks")) m.tracks = folder / node.Text("tracks");
  if (node.Has("calibration")) m.calibration = folder / node.Text("calibration");
  if (node.Has("rig")) m.rig = folder / node.Text("rig");
  if (!m.calibration.empty() && !m.rig.empty())
    throw node.Fault("rig", "a rig and a calibration", "one of them");
  if (m.calibration.empty() && m.rig.empty() && !m.plan.rig)
    throw node.Fault("rig", "no rig", "rig or calibration here, or rig in the tracking file");
}

void ParseRecordings(const YamlNode& node, Experiment& e) {
  const std::string kind = node.Choice(
      "kind", {"planar_poses", "spatial_poses", "marker_points", "planar_markers", "markers"});
  if (kind == "markers") {
    ParseMarkerSource(node, e);
    return;
  }
  e.recordings = node.Text("files");
  e.columns.planar = kind == "planar_poses" || kind == "planar_markers";
  if (kind == "planar_markers") {
    e.planar_camera = ParsePlanarSource(node);
    return;
  }
  if (kind == "marker_points") {
    e.points = ParsePointSource(node);
    return;
  }
  const YamlNode columns = node.MapOrEmpty("columns");
  const std::vector<std::string> keys =
      e.columns.planar ? std::vector<std::string>{"t", "x", "z", "theta"}
                       : std::vector<std::string>{"t", "x", "y", "z", "qw", "qx", "qy", "qz"};
  for (const std::string& key : keys) {
    if (columns.Has(key)) e.columns.names[key] = columns.Text(key);
  }
}

void ParseMotion(const YamlNode& node, MotionFitOptions& m) {
  m.min_frames = Count(node, "min_frames", m.min_frames, 3);
  m.max_frames = Count(node, "max_frames", m.max_frames, 3);
  if (m.max_frames < m.min_frames) {
    throw node.Fault("max_frames", std::to_string(m.max_frames),
                     fmt::format("at least min_frames, {}", m.min_frames));
  }
  m.contact_frames = Count(node, "contact_frames", m.contact_frames, 0);
  m.feature_tolerance_frames =
      node.Number("feature_tolerance_frames", m.feature_tolerance_frames, NonNegative());
  m.misfit_probability = node.Number("misfit_probability", m.misfit_probability, Open(0, 1));
  m.sigma_position = node.Number("sigma_position_m", m.sigma_position, NonNegative());
  m.sigma_angle = node.Number("sigma_angle_rad", m.sigma_angle, NonNegative());
  m.max_lost_frames = Count(node, "max_lost_frames", m.max_lost_frames, 0);
  m.jump_allowance_position =
      node.Number("jump_allowance_position_m", m.jump_allowance_position, NonNegative());
  m.jump_allowance_angle =
      node.Number("jump_allowance_angle_rad", m.jump_allowance_angle, NonNegative());
  m.first_impacts = Count(node, "first_impacts", m.first_impacts, 0);
}

// What is struck moves too: there is no floor, and impacts are fitted to poses.
void ParseSecond(const YamlNode& root, Experiment& e) {
  if (!root.Has("second_body")) return;
  const std::string kind = root.Map("recordings").Text("kind");
  if (e.columns.planar)
    throw root.Fault("second_body", "it with recordings of kind " + kind,
                     "it with spatial_poses, marker_points or markers");
  e.second = ParseSecondBody(root.Map("second_body"), kind);
  if (!e.body.mass_known)
    throw root.Map("body").Fault("mass_kg", "none with second_body",
                                 "the mass, which an impact of two bodies depends on");
  for (const auto& [key, why] :
       {std::pair("floor", "no floor: what is struck is second_body.surface"),
        std::pair("bundle", "no bundle fit: the impact of two bodies is fitted to their poses"),
        std::pair("budget", "no budget, which is made of bundle fits")})
    if (root.Has(key)) throw root.Fault(key, "it with second_body", why);
  const FrameCorrection& c = e.correction;
  if (c.mirrored || c.floor_offset != 0 || c.floor_tilt != 0)
    throw root.Fault("correction", "mirrored or an error of a floor with second_body",
                     "errors of the first body's frame, length_scale and clock_rate");
  if (!e.apply.empty())
    throw root.Map("audit").Fault("apply", JoinNames(e.apply) + " with second_body", "none");
  // Noise that the first body's markers state would stand for the second's where its own flights
  // are asked.
  if (e.points && (e.points->noise == PointNoise::kFlights) !=
                      (e.second->points->noise == PointNoise::kFlights))
    throw root.Map("second_body")
        .Fault("noise", "flights for one body alone", "flights for both bodies, or for none");
  e.audit.allow_mirror = false;  // a mirror image of two bodies is not one of the contact
}

void ParseBundle(const YamlNode& root, Experiment& e) {
  if (!e.markers || e.second) return;
  const YamlNode node = root.MapOrEmpty("bundle");
  ImpactBundleOptions& o = e.bundle;
  o.pixel_sd = node.Number("pixel_sd_px", o.pixel_sd, Closed(0, 100));
  o.exposure = node.Has("exposure_s") ? node.Number("exposure_s", Closed(0, 1)) : -1;
  o.contact_time = node.Number("contact_time_s", o.contact_time, Closed(0, 1));
  o.max_noise_scale = node.Number("max_noise_scale", o.max_noise_scale, AtLeast(1));
  o.outlier_sd = node.Number("outlier_sd", o.outlier_sd, Closed(1, 1e6));
  o.scale_noise = node.Flag("scale_noise", o.scale_noise);
  o.offset_sd = node.Has("offset_sd_s") ? node.Number("offset_sd_s", Closed(0, 1e3)) : -1;
  o.row_time_sd = node.Number("row_time_sd_s", o.row_time_sd, Closed(0, 1e-3));
  o.rate_sd = node.Number("rate_sd", o.rate_sd, Closed(0, 0.1));
  o.layout_sd = node.Number("layout_sd_m", o.layout_sd, Closed(0, 1));
  e.learn_layout = node.Flag("learn_layout", e.learn_layout);
  o.collinear_tolerance = node.Number("collinear_tolerance_m", o.collinear_tolerance, Closed(0, 1));
  o.spin_axis_prior_sd =
      node.Number("spin_axis_prior_sd_rad_per_s", o.spin_axis_prior_sd, Positive());
  o.spin_axis_prior_sd_plus =
      node.Number("spin_axis_prior_sd_plus_rad_per_s", o.spin_axis_prior_sd_plus, Positive());
  o.spin_axis_moment_sd =
      node.Number("spin_axis_moment_sd_rad_per_s", o.spin_axis_moment_sd, Positive());
  o.rig_covariance = node.Flag("rig_covariance", o.rig_covariance);
  e.inertia_sd = root.MapOrEmpty("budget").Number("inertia_sd", e.inertia_sd, Closed(0, 1));
  e.outline_sd = root.MapOrEmpty("budget").Number("outline_sd_m", e.outline_sd, Closed(0, 0.01));
}

void ParseAudit(const YamlNode& node, Experiment& e) {
  e.apply = node.Texts("apply", {});
  std::vector<std::string> known = pipelines::CorrectionNames();
  for (const char* word : {"all", "none"}) known.emplace_back(word);
  for (const std::string& name : e.apply) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string nearest = NearestName(name, known);
      throw node.Fault("apply", Excerpt(name) + (nearest.empty() ? "" : ", nearest is " + nearest),
                       JoinNames(known));
    }
    if ((name == "all" || name == "none") && e.apply.size() > 1)
      throw node.Fault("apply", name + " among other names", "it alone, or names without it");
  }
  if (e.apply.size() == 1 && e.apply[0] == "none") e.apply.clear();
  e.audit.significance = node.Number("significance", e.audit.significance, Positive());
  e.audit.allow_mirror = node.Flag("allow_mirror", e.audit.allow_mirror);
}

void ParseIdentify(const YamlNode& node, Experiment& e) {
  std::vector<std::string> names;
  for (const RestitutionLaw law : kLaws) names.emplace_back(LawName(law));
  if (node.Has("laws")) {
    e.laws.clear();
    for (const std::string& word : node.Texts("laws")) {
      const auto place = std::find(names.begin(), names.end(), word);
      if (place == names.end()) throw node.Fault("laws", Excerpt(word), JoinNames(names, " | "));
      const RestitutionLaw law = kLaws[place - names.begin()];
      if (std::find(e.laws.begin(), e.laws.end(), law) != e.laws.end())
        throw node.Fault("laws", word + " again", "every law once");
      e.laws.push_back(law);
    }
  }
  IdentifyOptions& o = e.identify;
  std::string start;
  std::vector<std::string> likelihoods;
  for (const LikelihoodName& l : kLikelihoods) {
    likelihoods.emplace_back(l.name);
    if (l.likelihood == o.likelihood) start = l.name;
  }
  const std::string chosen = node.Choice("likelihood", start, likelihoods);
  for (const LikelihoodName& l : kLikelihoods) {
    if (chosen == l.name) o.likelihood = l.likelihood;
  }
  o.student_dof = node.Number("student_dof", o.student_dof, Positive());
  o.contamination = node.Number("contamination", o.contamination, Open(0, 1));
  Range above_one = AtLeast(1);
  above_one.lo_open = true;
  o.contamination_scale = node.Number("contamination_scale", o.contamination_scale, above_one);
  o.fit_discrepancy = node.Flag("fit_discrepancy", o.fit_discrepancy);
  o.fit_mu_s = node.Flag("fit_mu_s", o.fit_mu_s);
  o.bootstrap = Count(node, "bootstrap", o.bootstrap, 0);
  o.influence = node.Flag("influence", o.influence);
  o.grid = static_cast<int>(node.Integer("grid", o.grid, Closed(0, 501)));
}

void ParseValidation(const YamlNode& node, ValidationOptions& v) {
  v.folds = Count(node, "folds", v.folds, 2);
  v.coverage = node.Number("coverage", v.coverage, Positive());
  v.tolerance_velocity =
      node.Number("tolerance_velocity_m_per_s", v.tolerance_velocity, Positive());
  v.tolerance_spin = node.Number("tolerance_spin_rad_per_s", v.tolerance_spin, Positive());
  v.tolerance_ratio = node.Number("tolerance_ratio", v.tolerance_ratio, Positive());
  v.compliant = node.Flag("compliant", v.compliant);
}

}  // namespace

Experiment LoadExperiment(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  Experiment e;
  e.path = path;
  root.Choice("schema", {kSchema});
  e.name = root.Text("name", path.stem().string());
  ParseRecordings(root.Map("recordings"), e);
  const bool planar = e.columns.planar;
  e.body = pipelines::ParseBody(root.Map("body"), planar);
  e.floor = pipelines::ParseFloor(root, planar);
  e.motion.flight = pipelines::ParseFlight(root, planar);
  e.floor_of_rig = e.markers && !root.Has("floor") && !root.Has("second_body");
  e.gravity_of_rig = e.markers && !root.Has("gravity_m_per_s2");
  if (e.markers && e.motion.flight.drag_per_m != 0)
    throw root.Fault("drag_per_m", FormatNumber(e.motion.flight.drag_per_m),
                     "0 with recordings of markers, whose flights are free");
  e.audit.gravity_W = e.motion.flight.gravity_W;
  ParseMotion(root.MapOrEmpty("motion"), e.motion);
  e.correction = pipelines::ParseCorrection(root, "correction", planar);
  ParseAudit(root.MapOrEmpty("audit"), e);
  ParseSecond(root, e);
  ParseBundle(root, e);
  ParseIdentify(root.MapOrEmpty("identify"), e);
  e.coefficients = ParseCoefficients(root.MapOrEmpty("coefficients"));
  ParseValidation(root.MapOrEmpty("validate"), e.validation);
  if (e.markers && !e.second) e.classical = ParseComparison(root.MapOrEmpty("classical"));
  e.repeats = ParseRepeats(root.MapOrEmpty("repeats"));
  e.seed = static_cast<std::uint64_t>(
      root.Integer("seed", static_cast<std::int64_t>(e.seed), NonNegative()));
  e.identify.seed = e.seed;
  root.Has("provenance");  // of a run.yaml: says where a result came from and changes nothing
  root.Finish();
  return e;
}

namespace {

// The text goes to a run folder: there a path relative to the experiment file would find nothing.
std::string RecordingsYaml(const Experiment& e) {
  const auto quoted = [](const std::filesystem::path& path) {
    return YamlQuote(std::filesystem::absolute(path).string());
  };
  std::string out = "recordings:\n";
  if (e.markers) {
    const MarkerSource& m = *e.markers;
    out += YamlWord(1, "kind", "markers") + YamlWord(1, "tracking", quoted(m.plan.path));
    if (!m.tracks.empty()) out += YamlWord(1, "tracks", quoted(m.tracks));
    if (!m.calibration.empty()) out += YamlWord(1, "calibration", quoted(m.calibration));
    if (!m.rig.empty()) out += YamlWord(1, "rig", quoted(m.rig));
    return out;
  }
  std::filesystem::path files = e.recordings;
  if (files.is_relative() && !e.path.empty())
    files = std::filesystem::absolute(e.path).parent_path() / files;
  out += YamlWord(1, "files", YamlQuote(files.string()));
  if (e.planar_camera)
    return out + YamlWord(1, "kind", "planar_markers") + ToYaml(*e.planar_camera);
  if (e.points) return out + YamlWord(1, "kind", "marker_points") + ToYaml(*e.points);
  out += YamlWord(1, "kind", e.columns.planar ? "planar_poses" : "spatial_poses");
  if (!e.columns.names.empty()) out += "  columns:\n";
  for (const auto& [key, name] : e.columns.names) out += YamlWord(2, key, YamlQuote(name));
  return out;
}

std::string BundleYaml(const Experiment& e) {
  const ImpactBundleOptions& o = e.bundle;
  std::string out = "bundle:\n" + YamlLine(1, "pixel_sd_px", o.pixel_sd);
  if (o.exposure >= 0) out += YamlLine(1, "exposure_s", o.exposure);
  out += YamlLine(1, "contact_time_s", o.contact_time) +
         YamlLine(1, "max_noise_scale", o.max_noise_scale) +
         YamlLine(1, "outlier_sd", o.outlier_sd) + YamlFlag(1, "scale_noise", o.scale_noise);
  if (o.offset_sd >= 0) out += YamlLine(1, "offset_sd_s", o.offset_sd);
  out += YamlLine(1, "row_time_sd_s", o.row_time_sd) + YamlLine(1, "rate_sd", o.rate_sd);
  return out + YamlLine(1, "layout_sd_m", o.layout_sd) +
         YamlFlag(1, "learn_layout", e.learn_layout) +
         YamlLine(1, "collinear_tolerance_m", o.collinear_tolerance) +
         YamlLine(1, "spin_axis_prior_sd_rad_per_s", o.spin_axis_prior_sd) +
         YamlLine(1, "spin_axis_prior_sd_plus_rad_per_s", o.spin_axis_prior_sd_plus) +
         YamlLine(1, "spin_axis_moment_sd_rad_per_s", o.spin_axis_moment_sd) +
         YamlFlag(1, "rig_covariance", o.rig_covariance);
}

}  // namespace

std::string ToYaml(const Experiment& e) {
  std::string out;
  out +=
      YamlWord(0, "schema", kSchema) + YamlWord(0, "name", YamlQuote(e.name)) + RecordingsYaml(e);
  out += pipelines::BodyYaml(e.body);
  if (e.second)
    out += ToYaml(*e.second, e.path.empty() ? std::filesystem::path()
                                            : std::filesystem::absolute(e.path).parent_path());
  if (!e.floor_of_rig && !e.second) out += pipelines::FloorYaml(e.floor);
  if (!e.gravity_of_rig) out += pipelines::FlightYaml(e.motion.flight);
  if (e.markers && !e.second)
    out += BundleYaml(e) + "budget:\n" + YamlLine(1, "inertia_sd", e.inertia_sd) +
           YamlLine(1, "outline_sd_m", e.outline_sd);
  const MotionFitOptions& m = e.motion;
  out += "motion:\n" + YamlCount(1, "min_frames", m.min_frames) +
         YamlCount(1, "max_frames", m.max_frames) +
         YamlCount(1, "contact_frames", m.contact_frames) +
         YamlLine(1, "feature_tolerance_frames", m.feature_tolerance_frames) +
         YamlLine(1, "misfit_probability", m.misfit_probability) +
         YamlLine(1, "sigma_position_m", m.sigma_position) +
         YamlLine(1, "sigma_angle_rad", m.sigma_angle) +
         YamlCount(1, "max_lost_frames", m.max_lost_frames) +
         YamlLine(1, "jump_allowance_position_m", m.jump_allowance_position) +
         YamlLine(1, "jump_allowance_angle_rad", m.jump_allowance_angle) +
         YamlCount(1, "first_impacts", m.first_impacts);
  out += pipelines::CorrectionYaml("correction", e.correction, e.columns.planar);
  out += "audit:\n" +
         YamlWord(1, "apply", e.apply.empty() ? "none" : "[" + JoinNames(e.apply) + "]") +
         YamlLine(1, "significance", e.audit.significance) +
         YamlFlag(1, "allow_mirror", e.audit.allow_mirror);
  std::vector<std::string> laws;
  for (const RestitutionLaw law : e.laws) laws.emplace_back(LawName(law));
  const IdentifyOptions& o = e.identify;
  out += "identify:\n" + YamlWord(1, "laws", "[" + JoinNames(laws) + "]");
  for (const LikelihoodName& l : kLikelihoods) {
    if (l.likelihood == o.likelihood) out += YamlWord(1, "likelihood", l.name);
  }
  out += YamlLine(1, "student_dof", o.student_dof) + YamlLine(1, "contamination", o.contamination) +
         YamlLine(1, "contamination_scale", o.contamination_scale) +
         YamlFlag(1, "fit_discrepancy", o.fit_discrepancy) + YamlFlag(1, "fit_mu_s", o.fit_mu_s) +
         YamlCount(1, "bootstrap", o.bootstrap) + YamlFlag(1, "influence", o.influence) +
         YamlCount(1, "grid", o.grid);
  out += ToYaml(e.coefficients);
  const ValidationOptions& v = e.validation;
  out += "validate:\n" + YamlCount(1, "folds", v.folds) + YamlLine(1, "coverage", v.coverage) +
         YamlLine(1, "tolerance_velocity_m_per_s", v.tolerance_velocity) +
         YamlLine(1, "tolerance_spin_rad_per_s", v.tolerance_spin) +
         YamlLine(1, "tolerance_ratio", v.tolerance_ratio) + YamlFlag(1, "compliant", v.compliant);
  if (e.markers && !e.second) out += ToYaml(e.classical);
  out += ToYaml(e.repeats);
  return out + YamlWord(0, "seed", std::to_string(e.seed));
}

RestitutionLaw MainLaw(const Experiment& e) {
  const bool energetic =
      std::find(e.laws.begin(), e.laws.end(), RestitutionLaw::kEnergetic) != e.laws.end();
  return energetic || e.laws.empty() ? RestitutionLaw::kEnergetic : e.laws.front();
}

FrameCorrection AllowedCorrection(const FrameCorrection& correction,
                                  const std::vector<std::string>& apply) {
  const auto allows = [&](const char* name) {
    return std::any_of(apply.begin(), apply.end(),
                       [&](const std::string& word) { return word == "all" || word == name; });
  };
  FrameCorrection out;
  for (int k = 0; k < 3; ++k) {
    constexpr const char* kTurns[] = {"rotation_offset_x_rad", "rotation_offset_y_rad",
                                      "rotation_offset_z_rad"};
    constexpr const char* kShifts[] = {"com_offset_x_m", "com_offset_y_m", "com_offset_z_m"};
    if (allows(kTurns[k]) || (k == 1 && allows("theta_offset_rad")))
      out.rotation_offset_B(k) = correction.rotation_offset_B(k);
    if (allows(kShifts[k])) out.com_offset_B(k) = correction.com_offset_B(k);
  }
  if (allows("length_scale")) out.length_scale = correction.length_scale;
  if (allows("clock_rate")) out.clock_rate = correction.clock_rate;
  if (allows("mirrored")) out.mirrored = correction.mirrored;
  if (allows("theta_flipped")) out.theta_flipped = correction.theta_flipped;
  if (allows("floor_offset_m")) out.floor_offset = correction.floor_offset;
  if (allows("floor_tilt_rad")) out.floor_tilt = correction.floor_tilt;
  return out;
}

}  // namespace impactlab
