#include "pipelines/run/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "pipelines/config/restitution_keys.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"
#include "pipelines/tables/state_table.h"

namespace impactlab {
namespace {

using pipelines::EnumWord;
using pipelines::Keys;
using pipelines::Need;

constexpr EnumWord<Likelihood> kLikelihoods[] = {{Likelihood::kAdaptive, "adaptive"},
                                                 {Likelihood::kGaussian, "gaussian"},
                                                 {Likelihood::kStudentT, "student_t"},
                                                 {Likelihood::kContamination, "contamination"}};

enum class RecordingKind { kPlanarPoses, kSpatialPoses, kMarkerPoints, kPlanarMarkers, kMarkers };
constexpr EnumWord<RecordingKind> kKinds[] = {{RecordingKind::kPlanarPoses, "planar_poses"},
                                              {RecordingKind::kSpatialPoses, "spatial_poses"},
                                              {RecordingKind::kMarkerPoints, "marker_points"},
                                              {RecordingKind::kPlanarMarkers, "planar_markers"},
                                              {RecordingKind::kMarkers, "markers"}};

RecordingKind KindOf(const Experiment& e) {
  return e.markers          ? RecordingKind::kMarkers
         : e.planar_camera  ? RecordingKind::kPlanarMarkers
         : e.points         ? RecordingKind::kMarkerPoints
         : e.columns.planar ? RecordingKind::kPlanarPoses
                            : RecordingKind::kSpatialPoses;
}

std::string WordOf(RecordingKind kind) {
  for (const auto& [value, word] : kKinds)
    if (value == kind) return word;
  return "";
}

// Of counts, which fit an int.
Range From(double least) { return Closed(least, 1e9); }

void VisitMarkerSource(Keys& keys, MarkerSource& m) {
  const YamlNode* const node = keys.reading();
  for (const char* key : {"names", "layout_m", "layout_sd_m"})
    keys.Check(node == nullptr || !node->Has(key), key, "it with kind: markers",
               fmt::format("it in the tracking file, as markers.{}", key));
  std::filesystem::path tracking = m.plan.path;
  keys.File("tracking", tracking,
            "markers: tracking file with cameras, names, layout_m and recordings", Need::kRequired);
  if (node != nullptr) m.plan = LoadTracking(tracking);
  keys.Check(!m.plan.track.layout.empty(), "tracking", "a tracking file without markers.layout_m",
             "one with the places of the markers on the body");
  keys.File("tracks", m.tracks,
            "markers: tracks that are there already, in place of the videos. Default: the videos");
  keys.File("calibration", m.calibration,
            "markers: calibration file whose footage is solved first; or rig");
  keys.File("rig", m.rig,
            "markers: rig.yaml in place of a calibration; planar: rig.yaml whose camera sees the "
            "plane of motion. Default: markers: the rig of the tracking file");
  keys.Check(m.calibration.empty() || m.rig.empty(), "rig", "a rig and a calibration",
             "one of them");
  keys.Check(!m.calibration.empty() || !m.rig.empty() || m.plan.rig, "rig", "no rig",
             "rig or calibration here, or rig in the tracking file");
}

// Of the file, from the root of the file system; empty where there is no file.
std::filesystem::path FolderOf(const Experiment& e) {
  return e.path.empty() ? std::filesystem::path() : std::filesystem::absolute(e.path).parent_path();
}

// The text goes to a run folder, where a path relative to the experiment file would find nothing.
std::string FilesFromRoot(const Experiment& e) {
  std::filesystem::path files = e.recordings;
  if (files.is_relative() && !e.path.empty()) files = FolderOf(e) / files;
  return YamlQuote(files.string());
}

void VisitRecordings(Keys& keys, Experiment& e) {
  RecordingKind kind = KindOf(e);
  keys.Word("kind", kind, kKinds,
            "poses in a plane or in space, markers in space (marker_points), tracks of one "
            "camera that sees a plane of motion (planar_markers), or images of markers (markers)",
            Need::kRequired);
  e.columns.planar = kind == RecordingKind::kPlanarPoses || kind == RecordingKind::kPlanarMarkers;
  const bool reading = keys.reading() != nullptr;
  if (kind == RecordingKind::kMarkers) {
    if (reading) e.markers.emplace();
    VisitMarkerSource(keys, *e.markers);
    return;
  }
  keys.Custom(
      "files",
      "glob of the recordings, relative to this file: `*`, `?`, `[a-z]`, `**` for any depth; in "
      "natural order. Not with kind markers, whose tracking file names them",
      [&](const YamlNode& node, const char* key) { e.recordings = node.Text(key); },
      [&] { return FilesFromRoot(e); });
  keys.WriteOrder({"files", "kind"});
  if (kind == RecordingKind::kPlanarMarkers) {
    if (reading) e.planar_camera.emplace();
    Visit(keys, *e.planar_camera);
  } else if (kind == RecordingKind::kMarkerPoints) {
    if (reading) e.points.emplace();
    Visit(keys, *e.points);
  } else {
    pipelines::VisitColumns(keys, e.columns);
  }
}

// Names in tables of states; those that are not stated are ours.
void VisitStateColumns(Keys& keys, std::map<std::string, std::string>& columns) {
  keys.Stated(!columns.empty())
      .Map("columns",
           "our name of a column (v_minus_x, theta_dot_plus, sd_r_z, ...) and the name in the "
           "table; a name there that ends in a unit (or a space and a unit) is in that unit. "
           "Default: the columns of events.csv in any unit",
           [&](Keys& k) {
             for (const std::string& name : StateColumnNames()) {
               std::string column = columns.contains(name) ? columns.at(name) : "";
               const std::string meaning = "name of the column of " + name + " in the table";
               k.Stated(!column.empty()).Text(name.c_str(), column, meaning.c_str());
               if (!column.empty()) columns[name] = column;
             }
           });
}

void VisitMotion(Keys& keys, MotionFitOptions& m) {
  keys.Count("min_frames", m.min_frames, From(4),
             "fewest frames in a flight on either side of an impact");
  keys.Count("max_frames", m.max_frames, From(4), "most frames of a flight that are used");
  keys.Check(m.max_frames >= m.min_frames, "max_frames", std::to_string(m.max_frames),
             fmt::format("at least min_frames, {}", m.min_frames));
  keys.Count("contact_frames", m.contact_frames, From(0),
             "frames left out on either side of an impact");
  keys.Number("feature_tolerance_frames", m.feature_tolerance_frames, NonNegative(),
              "vertices that arrive within so many frames are not one contact");
  keys.Number("misfit_probability", m.misfit_probability, Open(0, 1),
              "flights with less likely residuals are rejected");
  keys.Number("sigma_position_m", m.sigma_position, NonNegative(),
              "noise of a coordinate of a pose; 0: estimated from the flights of the recording");
  keys.Number("sigma_angle_rad", m.sigma_angle, NonNegative(),
              "noise of an angle of a pose; 0: estimated");
  keys.Count("max_lost_frames", m.max_lost_frames, From(0),
             "frames that a tracker may lose at an impact");
  keys.Number("jump_allowance_position_m", m.jump_allowance_position, NonNegative(),
              "how well two flights need to meet, as contact lasts");
  keys.Number("jump_allowance_angle_rad", m.jump_allowance_angle, NonNegative(),
              "how well their attitudes need to meet");
  keys.Count("first_impacts", m.first_impacts, From(0),
             "only so many impacts of every recording; 0: all");
}

// What is struck moves too: there is no floor, and impacts are fitted to poses.
void CheckSecond(const YamlNode& root, Experiment& e) {
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

void VisitBundle(Keys& keys, Experiment& e) {
  ImpactBundleOptions& o = e.bundle;
  if (keys.reading() != nullptr) o.exposure = o.offset_sd = -1;  // as the tracking says
  keys.Number("pixel_sd_px", o.pixel_sd, Closed(0, 100), "added to every image");
  keys.Stated(o.exposure >= 0)
      .Number("exposure_s", o.exposure, Closed(0, 1),
              "images that saw both flights are left out. Default: that of the tracking file");
  keys.Number("contact_time_s", o.contact_time, Closed(0, 1), "how long an impact lasts");
  keys.Number("max_noise_scale", o.max_noise_scale, AtLeast(1),
              "an impact whose residuals are more times their noise is not accepted");
  keys.Number("outlier_sd", o.outlier_sd, Closed(1, 1e6),
              "standard deviations beyond which an image is left out");
  keys.Flag("scale_noise", o.scale_noise,
            "covariances follow the residuals where these are larger");
  keys.Stated(o.offset_sd >= 0)
      .Number("offset_sd_s", o.offset_sd, Closed(0, 1e3),
              "of the clocks of cameras after the first. Default: as the flash left them, 0.005 "
              "where its tracks are read again, 0 where the clocks are given");
  keys.Number("row_time_sd_s", o.row_time_sd, Closed(0, 1e-3), "of every rolling shutter");
  keys.Number("rate_sd", o.rate_sd, Closed(0, 0.1), "of the clocks, relative");
  keys.Number("layout_sd_m", o.layout_sd, Closed(0, 1),
              "above 0 the layout is fitted with every impact anew");
  keys.Flag("learn_layout", e.learn_layout,
            "places of the markers, known to the tracking file's layout_sd_m, are learned from all "
            "impacts together, and what is left unknown counts in every covariance; false: they "
            "stay as given, and their standard deviation counts");
  keys.Number("collinear_tolerance_m", o.collinear_tolerance, Closed(0, 1),
              "markers closer than this to a line do not show the spin about it");
  keys.Number("spin_axis_prior_sd_rad_per_s", o.spin_axis_prior_sd, Positive(),
              "of a spin that the markers do not show, before the impact");
  keys.Number("spin_axis_prior_sd_plus_rad_per_s", o.spin_axis_prior_sd_plus, Positive(),
              "of a spin that the markers do not show, after the impact");
  keys.Number("spin_axis_moment_sd_rad_per_s", o.spin_axis_moment_sd, Positive(),
              "where markers lie on a principal axis: the spin about it changes by what the moment "
              "of the impulse at the lowest point gives, to so much");
  keys.Flag("rig_covariance", o.rig_covariance, "the covariance of the rig counts");
}

void VisitBudget(Keys& keys, Experiment& e) {
  keys.Number("inertia_sd", e.inertia_sd, Closed(0, 1),
              "relative standard deviation of its moments");
  keys.Number("outline_sd_m", e.outline_sd, Closed(0, 0.01),
              "of how far it reaches where it touches, and of the radius of corners and caps");
}

void VisitAudit(Keys& keys, Experiment& e) {
  keys.Names("apply", e.apply, pipelines::CorrectionNames(), {},
             "frame errors that may be corrected where the audit finds them: names of "
             "`correction`, all, or none. Default: none");
  keys.Number("significance", e.audit.significance, Positive(),
              "standard deviations before a deviation counts");
  keys.Flag("allow_mirror", e.audit.allow_mirror, "mirror images are tried too");
}

void VisitIdentify(Keys& keys, Experiment& e) {
  pipelines::VisitLaws(keys, "laws", e.laws);
  IdentifyOptions& o = e.identify;
  Range above_one = AtLeast(1);
  above_one.lo_open = true;
  keys.Word("likelihood", o.likelihood, kLikelihoods,
            "of what the coefficients leave: adaptive is the likelier of gaussian and student_t");
  keys.Number("student_dof", o.student_dof, Positive(), "degrees of freedom of student_t");
  keys.Number("contamination", o.contamination, Open(0, 1),
              "share of wild impacts of contamination");
  keys.Number("contamination_scale", o.contamination_scale, above_one,
              "their standard deviation over that of the others");
  keys.Flag("fit_discrepancy", o.fit_discrepancy,
            "impacts scatter more than pixels explain, and how much is fitted; false: pixels alone "
            "explain it");
  keys.Flag("fit_mu_s", o.fit_mu_s, "static friction of its own; false: mu_s = mu_k");
  keys.Count("bootstrap", o.bootstrap, From(0), "resamples over recordings");
  keys.Flag("influence", o.influence, "what every impact does to the coefficients");
  keys.Count("grid", o.grid, Closed(0, 501),
             "points a side of the confidence region, for its picture");
}

void VisitValidation(Keys& keys, ValidationOptions& v) {
  keys.Count("folds", v.folds, From(2), "of the cross-validation over recordings");
  keys.Number("coverage", v.coverage, Positive(), "k of the validation uncertainty");
  keys.Number("tolerance_velocity_m_per_s", v.tolerance_velocity, Positive(),
              "adequate is what stays within it, uncertainty included");
  keys.Number("tolerance_spin_rad_per_s", v.tolerance_spin, Positive(),
              "adequate is a spin that stays within it");
  keys.Number("tolerance_ratio", v.tolerance_ratio, Positive(),
              "adequate is a ratio of impulse or energy that stays within it");
  keys.Flag("compliant", v.compliant,
            "predictions of hunt_crossley and spring_dashpot as well, planar contacts of finite "
            "stiffness");
}

void VisitBodyAndFloor(Keys& keys, Experiment& e) {
  keys.Map(
      "body", "what is dropped",
      [&](Keys& k) { pipelines::VisitBody(k, e.body, e.columns.planar); }, Need::kRequired);
  const YamlNode* const root = keys.reading();
  const bool planar = e.columns.planar;
  keys.Check(!e.points || e.points->layout.size() > 1 || e.body.shape == BodyShape::kBall, "body",
             "a body that is no ball, with one marker in names",
             "a ball, whose centre it is, or three markers or more");
  if (root != nullptr || !(e.floor_of_rig || e.second))
    pipelines::VisitFloor(keys, e.floor, planar);
  if (root != nullptr || !e.gravity_of_rig) pipelines::VisitFlight(keys, e.motion.flight, planar);
  if (root != nullptr) {
    e.floor_of_rig = e.markers && !root->Has("floor") && !root->Has("second_body");
    e.gravity_of_rig = e.markers && !root->Has("gravity_m_per_s2");
    e.audit.gravity_W = e.motion.flight.gravity_W;
  }
  keys.Check(!e.markers || e.motion.flight.drag_per_m == 0, "drag_per_m",
             FormatNumber(e.motion.flight.drag_per_m),
             "0 with recordings of markers, whose flights are free");
}

// theta turns the other way about y than omega.
void VisitRelease(Keys& keys, KnownSpin& spin, bool planar) {
  double sd = std::sqrt(spin.cov(1, 1)), rate = spin.omega_W.y() == 0 ? 0 : -spin.omega_W.y();
  if (planar)
    keys.Number("theta_dot_rad_per_s", rate, {}, "its spin in a plane, as theta counts");
  else
    pipelines::VisitVector(keys, "omega_rad_per_s", spin.omega_W, {}, "its spin in space, in W");
  keys.Number("sd_rad_per_s", sd, Positive(), "how well it is known, about every axis",
              Need::kRequired);
  spin = SpinOf(planar ? Eigen::Vector3d(0, rate == 0 ? 0 : -rate, 0) : spin.omega_W, sd);
}

// The whole file. What is refused depends on the parts before it, so that it is read in another
// order than run.yaml has.
void VisitExperiment(Keys& keys, Experiment& e) {
  keys.Schema("impactlab.experiment/1");
  keys.Text("name", e.name, "for reports. Default: name of the file");
  keys.Map(
      "recordings", "What was recorded.", [&](Keys& k) { VisitRecordings(k, e); }, Need::kRequired);
  keys.Stated(!e.state_columns.empty())
      .Map("states",
           "Tables of states made elsewhere, of `identify`, `validate`, `predict --events`.",
           [&](Keys& k) { VisitStateColumns(k, e.state_columns); });
  VisitBodyAndFloor(keys, e);
  const YamlNode* const root = keys.reading();
  keys.Check(
      root == nullptr || !root->Has("release") || (e.body.shape == BodyShape::kBall && !e.markers),
      "release", e.markers ? "it with kind: markers" : "it with a body that is no ball",
      "it with a ball whose centre alone is followed");
  keys.Stated(e.release.has_value())
      .Map("release",
           "spin of a ball whose centre alone is followed, where its recordings begin; impacts "
           "carry it on. Default: not known",
           [&](Keys& k) {
             if (root != nullptr) e.release.emplace();
             VisitRelease(k, *e.release, e.columns.planar);
           });
  keys.Map("motion", "the fit of two flights that meet at an impact",
           [&](Keys& k) { VisitMotion(k, e.motion); });
  pipelines::VisitCorrection(keys, "correction", e.correction, e.columns.planar);
  keys.Map("audit", "tests of the recordings that need no law of impact",
           [&](Keys& k) { VisitAudit(k, e); });
  const std::string kind = WordOf(KindOf(e));
  keys.Check(root == nullptr || !root->Has("second_body") || !e.columns.planar, "second_body",
             "it with recordings of kind " + kind,
             "it with spatial_poses, marker_points or markers");
  keys.Stated(e.second.has_value())
      .Map(
          "second_body",
          "what is struck moves as well; with spatial_poses, marker_points or markers, and without "
          "floor, bundle, budget, audit.apply and errors of a floor. Default: it does not move",
          [&](Keys& k) {
            if (root != nullptr) e.second.emplace();
            VisitSecondBody(k, *e.second, kind, FolderOf(e));
          });
  if (root != nullptr && e.second) CheckSecond(*root, e);
  // Of images of one body's markers alone: a bundle fit, and classical estimators beside it.
  const bool has_bundle = e.markers && !e.second;
  if (has_bundle) {
    keys.Map("bundle", "kind markers: the fit of every impact to the images",
             [&](Keys& k) { VisitBundle(k, e); });
    keys.Map("budget", "kind markers: what is known of the body, for the error budget",
             [&](Keys& k) { VisitBudget(k, e); });
  }
  keys.WriteOrder({"body", "second_body", "floor", "gravity_m_per_s2", "drag_per_m", "release",
                   "bundle", "budget", "motion", "correction", "audit"});
  keys.Map("identify", "friction and restitution", [&](Keys& k) { VisitIdentify(k, e); });
  keys.Map("coefficients", "what the coefficients depend on", e.coefficients);
  keys.Map("validate", "predictions against what was measured",
           [&](Keys& k) { VisitValidation(k, e.validation); });
  if (has_bundle)
    keys.Map("classical", "kind markers: classical estimators beside the bundle fit", e.classical);
  keys.Map("repeats", "drops that repeat one condition", e.repeats);
  keys.Count("seed", e.seed, NonNegative(), "of every random number");
}

}  // namespace

Experiment LoadExperiment(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  Experiment e;
  e.path = path;
  e.name = path.stem().string();
  Keys keys(root);
  VisitExperiment(keys, e);
  e.identify.seed = e.seed;
  pipelines::VisitProvenance(keys);
  root.Finish();
  return e;
}

std::string ToYaml(const Experiment& experiment) {
  Experiment copy = experiment;
  Keys keys(0);
  VisitExperiment(keys, copy);
  return keys.text();
}

RestitutionLaw MainLaw(const Experiment& e) {
  const bool reference = std::find(e.laws.begin(), e.laws.end(), kReferenceLaw) != e.laws.end();
  return reference || e.laws.empty() ? kReferenceLaw : e.laws.front();
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
