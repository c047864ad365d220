#include <fmt/format.h>

#include <algorithm>

#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/yaml.h"
#include "pipelines/synth/motion.h"
#include "pipelines/synth/synth.h"
#include "pipelines/tables/event_columns.h"

namespace impactlab {
namespace {

using pipelines::YamlCount;
using pipelines::YamlLine;
using pipelines::YamlWord;

constexpr const char* kSceneSchema = "impactlab.scene/1";
constexpr RestitutionLaw kLaws[] = {RestitutionLaw::kNewton, RestitutionLaw::kPoisson,
                                    RestitutionLaw::kEnergetic};

// Scalar options of a scene: key and field, in the order of the file.
struct Field {
  const char* key;
  double SynthOptions::*value;
  Range allowed;
  bool recorder = false;  // of poses, not of the motion
};

std::vector<Field> Fields() {
  const Range share = Closed(0, 1);
  return {{"frame_rate_Hz", &SynthOptions::frame_rate, Closed(1, 1e6), true},
          {"height_min_m", &SynthOptions::height_min, Positive()},
          {"height_max_m", &SynthOptions::height_max, Closed(1e-6, 1000)},
          {"speed_tangential_m_per_s", &SynthOptions::speed_tangential, Closed(0, 1000)},
          {"spin_rad_per_s", &SynthOptions::spin, Closed(0, 1e5)},
          {"lean_min_rad", &SynthOptions::lean_min, Closed(0, 1.5)},
          {"duration_after_s", &SynthOptions::duration_after, Closed(0, 60)},
          {"contact_time_s", &SynthOptions::contact_time, Closed(0, 0.05)},
          {"sd_tangential", &SynthOptions::sd_tangential, NonNegative()},
          {"sd_normal", &SynthOptions::sd_normal, NonNegative()},
          {"sd_couple", &SynthOptions::sd_couple, NonNegative()},
          {"sd_mu", &SynthOptions::sd_mu, NonNegative()},
          {"sd_e", &SynthOptions::sd_e, NonNegative()},
          {"wild_share", &SynthOptions::wild_share, share},
          {"noise_position_m", &SynthOptions::noise_position, NonNegative(), true},
          {"noise_angle_rad", &SynthOptions::noise_angle, NonNegative(), true},
          {"noise_dof", &SynthOptions::noise_dof, NonNegative(), true},
          {"lost_frame_share", &SynthOptions::lost_frame_share, share, true},
          {"double_strike_share", &SynthOptions::double_strike_share, share}};
}

ImpactModel ParseModel(const YamlNode& node) {
  std::vector<std::string> names;
  for (const RestitutionLaw law : kLaws) names.emplace_back(LawName(law));
  const std::string word = node.Choice("law", names);
  ImpactModel model;
  model.law = kLaws[std::find(names.begin(), names.end(), word) - names.begin()];
  model.e = node.Number(CoefficientName(model.law), Closed(0, 1));
  model.mu_k = node.Number("mu_k", NonNegative());
  model.mu_s = node.Number("mu_s", model.mu_k, AtLeast(model.mu_k));
  return model;
}

std::string SceneYaml(const SynthOptions& o) {
  std::string out = YamlWord(0, "schema", kSceneSchema) +
                    YamlWord(0, "kind", o.body.planar ? "planar_poses" : "spatial_poses");
  out +=
      pipelines::BodyYaml(o.body) + pipelines::FloorYaml(o.floor) + pipelines::FlightYaml(o.flight);
  out += "model:\n" + YamlWord(1, "law", LawName(o.model.law)) +
         YamlLine(1, CoefficientName(o.model.law), o.model.e) + YamlLine(1, "mu_k", o.model.mu_k) +
         YamlLine(1, "mu_s", o.model.mu_s);
  out += YamlCount(0, "drops", o.drops) + YamlCount(0, "max_impacts", o.max_impacts) +
         YamlWord(0, "clean_first", o.clean_first ? "true" : "false") +
         YamlWord(0, "to_rest", o.to_rest ? "true" : "false");
  for (const Field& field : Fields()) out += YamlLine(0, field.key, o.*field.value);
  out += pipelines::CorrectionYaml("error", o.error, o.body.planar);
  return out + YamlWord(0, "seed", std::to_string(o.seed));
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

SynthOptions pipelines::ParseMotion(const YamlNode& root, bool planar, bool poses) {
  SynthOptions o;
  o.body = ParseBody(root.Map("body"), planar);
  o.floor = ParseFloor(root, planar);
  o.flight = ParseFlight(root, planar);
  o.model = ParseModel(root.Map("model"));
  o.drops = static_cast<int>(root.Integer("drops", o.drops, Closed(1, 1e6)));
  o.clean_first = root.Flag("clean_first", o.clean_first);
  o.to_rest = root.Flag("to_rest", o.to_rest);
  o.max_impacts = static_cast<int>(root.Integer("max_impacts", o.max_impacts, Closed(1, 1e4)));
  for (const Field& field : Fields())
    if (poses || !field.recorder)
      o.*field.value = root.Number(field.key, o.*field.value, field.allowed);
  if (o.height_max < o.height_min) {
    throw root.Fault(root.Has("height_max_m") ? "height_max_m" : "height_min_m",
                     FormatNumber(root.Has("height_max_m") ? o.height_max : o.height_min),
                     root.Has("height_max_m")
                         ? fmt::format("at least height_min_m, {}", FormatNumber(o.height_min))
                         : fmt::format("at most height_max_m, {}", FormatNumber(o.height_max)));
  }
  o.seed = static_cast<std::uint64_t>(
      root.Integer("seed", static_cast<std::int64_t>(o.seed), NonNegative()));
  return o;
}

SynthOptions LoadScene(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  root.Choice("schema", {kSceneSchema});
  const bool planar = root.Choice("kind", {"planar_poses", "spatial_poses"}) == "planar_poses";
  SynthOptions o = pipelines::ParseMotion(root, planar, true);
  if (o.noise_dof > 0 && o.noise_dof <= 2) {
    throw root.Fault(
        "noise_dof", FormatNumber(o.noise_dof),
        "0 (Gaussian) or a number above 2, below which there is no standard deviation");
  }
  o.error = pipelines::ParseCorrection(root, "error", planar);
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
