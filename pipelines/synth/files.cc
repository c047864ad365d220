#include <fmt/format.h>

#include <algorithm>

#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/restitution_keys.h"
#include "pipelines/config/yaml.h"
#include "pipelines/synth/motion.h"
#include "pipelines/synth/synth.h"
#include "pipelines/tables/event_columns.h"

namespace impactlab {
namespace {

using pipelines::EnumWord;
using pipelines::Keys;
using pipelines::Need;
using pipelines::YamlLine;
using pipelines::YamlWord;

constexpr EnumWord<bool> kKinds[] = {{true, "planar_poses"}, {false, "spatial_poses"}};

void VisitImpactModel(Keys& keys, ImpactModel& model) {
  pipelines::VisitLaw(keys, model.law, "of impact", Need::kRequired);
  keys.Number(CoefficientName(model.law), model.e, Closed(0, 1),
              ("restitution; " + OtherCoefficientWords()).c_str(), Need::kRequired);
  keys.Number("mu_k", model.mu_k, NonNegative(), "kinetic friction", Need::kRequired);
  if (keys.reading() != nullptr) model.mu_s = model.mu_k;
  keys.Number("mu_s", model.mu_s, AtLeast(model.mu_k),
              "static friction. Allowed: number of at least mu_k Default: mu_k");
}

void VisitReleases(Keys& keys, SynthOptions& o) {
  keys.Number("height_min_m", o.height_min, Positive(),
              "least height of the lowest point over the floor at the release");
  keys.Number("height_max_m", o.height_max, Closed(1e-6, 1000),
              "greatest height Allowed: number of at least height_min_m");
  keys.Number("speed_tangential_m_per_s", o.speed_tangential, Closed(0, 1000),
              "at the release, each component uniform in plus and minus");
  keys.Number("spin_rad_per_s", o.spin, Closed(0, 1e5),
              "at the release, each component uniform in plus and minus");
  keys.Number("lean_min_rad", o.lean_min, Closed(0, 1.5),
              "least angle between the floor and an edge of the touching vertex at the first "
              "impact");
  keys.Number("duration_after_s", o.duration_after, Closed(0, 60),
              "recorded after the first impact, or after the rest");
}

void VisitScatterOf(Keys& keys, SynthOptions& o) {
  keys.Number("contact_time_s", o.contact_time, Closed(0, 0.05),
              "how long an impact lasts: its impulse rises and falls like a raised cosine from the "
              "first touch on; the truth is that of its middle");
  keys.Number("sd_tangential", o.sd_tangential, NonNegative(),
              "scatter of the impulse along the surface from impact to impact, relative to m_eff "
              "abs(v_n-)");
  keys.Number("sd_normal", o.sd_normal, NonNegative(),
              "scatter of the impulse along the normal, relative to the same");
  keys.Number("sd_couple", o.sd_couple, NonNegative(),
              "scatter of its moment, relative to the same times the radius of gyration");
  keys.Number("sd_mu", o.sd_mu, NonNegative(), "scatter of friction");
  keys.Number("sd_e", o.sd_e, NonNegative(), "scatter of restitution");
  keys.Number("wild_share", o.wild_share, Closed(0, 1),
              "share of impacts with ten times the scatter of the impulse");
}

// What a recorder of poses adds to the motion.
void VisitNoise(Keys& keys, SynthOptions& o) {
  keys.Number("noise_position_m", o.noise_position, NonNegative(),
              "standard deviation of a coordinate of a pose");
  keys.Number("noise_angle_rad", o.noise_angle, NonNegative(),
              "standard deviation of an angle of a pose");
  keys.Number("noise_dof", o.noise_dof, NonNegative(),
              "degrees of freedom of Student-t noise of that standard deviation, above 2; 0 is "
              "Gaussian");
  keys.Number("lost_frame_share", o.lost_frame_share, Closed(0, 1),
              "share of impacts at which one frame is lost: the stamps stay regular, what follows "
              "comes one interval early on them");
}

void CheckHeights(const YamlNode& root, const SynthOptions& o) {
  if (o.height_max >= o.height_min) return;
  const bool most = root.Has("height_max_m");
  throw root.Fault(most ? "height_max_m" : "height_min_m",
                   FormatNumber(most ? o.height_max : o.height_min),
                   most ? fmt::format("at least height_min_m, {}", FormatNumber(o.height_min))
                        : fmt::format("at most height_max_m, {}", FormatNumber(o.height_max)));
}

void VisitScene(Keys& keys, SynthOptions& o) {
  keys.Schema("impactlab.scene/1");
  bool planar = o.body.planar;
  keys.Word("kind", planar, kKinds, "of the recordings", Need::kRequired);
  pipelines::VisitMotion(keys, o, planar, true);
  keys.Check(o.noise_dof <= 0 || o.noise_dof > 2, "noise_dof", FormatNumber(o.noise_dof),
             "0 (Gaussian) or a number above 2, below which there is no standard deviation");
  pipelines::VisitCorrection(keys, "error", o.error, planar);
  keys.WriteOrder({"error", "seed"});
}

std::string SceneYaml(const SynthOptions& o) {
  SynthOptions copy = o;
  Keys keys(0);
  VisitScene(keys, copy);
  return keys.text();
}

// The experiment as a user would describe it who knows body and floor, but none of the frame errors
// put in.
std::string PoseExperimentYaml(const SynthOptions& o) {
  std::string out =
      YamlWord(0, "schema", "impactlab.experiment/1") + YamlWord(0, "name", "synthetic drops");
  out += "recordings:\n" + YamlWord(1, "files", "drop_*.csv") +
         YamlWord(1, "kind", o.body.planar ? "planar_poses" : "spatial_poses");
  out += pipelines::BodyYaml(o.body) + pipelines::FloorYaml(o.floor);
  out += YamlLine(0, "gravity_m_per_s2",
                  {o.flight.gravity_W.x(), o.flight.gravity_W.y(), o.flight.gravity_W.z()});
  return out + "audit:\n  apply: all\n" + YamlWord(0, "seed", std::to_string(o.seed));
}

void WriteRecording(const std::filesystem::path& path, const PoseRecording& recording) {
  if (recording.planar) {
    CsvWriter out(path, {"t_s", "x_m", "z_m", "theta_rad"});
    for (std::size_t i = 0; i < recording.t.size(); ++i) {
      const Eigen::Vector3d p = recording.X_WB[i].translation();
      out.Row({recording.t[i], p.x(), p.z(), recording.theta[i]});
    }
    out.Commit();
    return;
  }
  CsvWriter out(path, {"t_s", "x_m", "y_m", "z_m", "qw", "qx", "qy", "qz"});
  Eigen::Quaterniond last = Eigen::Quaterniond::Identity();
  for (std::size_t i = 0; i < recording.t.size(); ++i) {
    const Eigen::Vector3d p = recording.X_WB[i].translation();
    Eigen::Quaterniond q(recording.X_WB[i].linear());
    // of the two quaternions of an attitude the one that follows on
    if (q.dot(last) < 0) q.coeffs() = -q.coeffs();
    last = q;
    out.Row({recording.t[i], p.x(), p.y(), p.z(), q.w(), q.x(), q.y(), q.z()});
  }
  out.Commit();
}

}  // namespace

void pipelines::VisitMotion(Keys& keys, SynthOptions& o, bool planar, bool poses) {
  keys.Map(
      "body", "As `body` of an experiment.", [&](Keys& k) { VisitBody(k, o.body, planar); },
      Need::kRequired);
  VisitFloor(keys, o.floor, planar);
  VisitFlight(keys, o.flight, planar);
  keys.Map(
      "model", "of the impacts", [&](Keys& k) { VisitImpactModel(k, o.model); }, Need::kRequired);
  keys.Count("drops", o.drops, Closed(1, 1e6), "recordings");
  keys.Flag(
      "clean_first", o.clean_first,
      "leave out drops whose first impact the truth does not accept: a second corner within a "
      "frame, too short a flight");
  keys.Flag("to_rest", o.to_rest,
            "recordings go on until the body rests or rolls on steadily, and duration_after_s "
            "beyond; at most 20 s after the first impact");
  keys.Count("max_impacts", o.max_impacts, Closed(1, 1e4),
             "impacts of a drop that truth.csv lists and that scatter; those after them happen by "
             "the law alone");
  if (poses)
    keys.Number("frame_rate_Hz", o.frame_rate, Closed(1, 1e6),
                "frames a second; the phase of the frames is random");
  VisitReleases(keys, o);
  VisitScatterOf(keys, o);
  if (poses) VisitNoise(keys, o);
  keys.Number("double_strike_share", o.double_strike_share, Closed(0, 1),
              "share of drops turned so that they land nearly flat and a second corner strikes "
              "within two frames");
  if (const YamlNode* root = keys.reading()) CheckHeights(*root, o);
  keys.Count("seed", o.seed, NonNegative(), "of every random number");
  keys.WriteOrder({"drops", "max_impacts", "clean_first", "to_rest"});
}

SynthOptions LoadScene(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  SynthOptions o;
  Keys keys(root);
  VisitScene(keys, o);
  root.Finish();
  return o;
}

void pipelines::WriteTruth(const std::filesystem::path& path, const SynthTruth& truth) {
  std::vector<std::string> columns = pipelines::EventColumns();
  for (const char* name : {"law", "e", "mu_k", "mu_s", "double_strike"}) columns.emplace_back(name);
  CsvWriter out(path, columns);
  for (std::size_t k = 0; k < truth.events.size(); ++k) {
    pipelines::WriteEventCells(out, truth.events[k]);
    const ImpactModel& model = truth.models[k];
    out.Text(LawName(model.law))
        .Number(model.e)
        .Number(model.mu_k)
        .Number(model.mu_s)
        .Integer(truth.double_strike[k] ? 1 : 0);
    out.EndRow();
  }
  out.Commit();
}

void pipelines::WriteRests(const std::filesystem::path& path, const SynthTruth& truth,
                           bool planar) {
  CsvWriter out(path, planar
                          ? std::vector<std::string>{"recording", "t_s", "x_m", "z_m", "theta_rad"}
                          : std::vector<std::string>{"recording", "t_s", "x_m", "y_m", "z_m", "qw",
                                                     "qx", "qy", "qz"});
  for (const SynthRest& rest : truth.rests) {
    const Eigen::Vector3d p = rest.X_WB.translation();
    const Eigen::Quaterniond q(rest.X_WB.linear());
    out.Text(rest.recording).Number(rest.t);
    for (const double value :
         planar ? std::vector<double>{p.x(), p.z(), rest.theta}
                : std::vector<double>{p.x(), p.y(), p.z(), q.w(), q.x(), q.y(), q.z()})
      out.Number(value);
    out.EndRow();
  }
  out.Commit();
}

void WriteSynth(const std::filesystem::path& folder, const SynthOptions& options,
                const SynthSet& set) {
  for (const PoseRecording& recording : set.recordings)
    WriteRecording(folder / (recording.name + ".csv"), recording);
  pipelines::WriteTruth(folder / "truth.csv", set.truth);
  if (options.to_rest)
    pipelines::WriteRests(folder / "truth_rest.csv", set.truth, options.body.planar);
  WriteFile(folder / "experiment.yaml", PoseExperimentYaml(options));
  WriteFile(folder / "scene.yaml", SceneYaml(options));
}

}  // namespace impactlab
