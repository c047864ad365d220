#include "pipelines/cli/detail/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "data/base/error.h"
#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"
#include "data/files/glob.h"
#include "data/files/number_json.h"
#include "data/yaml/yaml.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/first_steps.h"
#include "pipelines/config/input_files.h"
#include "pipelines/run/recording_files.h"

namespace impactlab::pipelines {
namespace {

using Json = nlohmann::json;

std::string Text(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Names of the files of a run folder, in order, without what is kept for a run that goes on.
std::vector<std::string> FilesOf(const std::filesystem::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (auto at = std::filesystem::recursive_directory_iterator(folder, error);
       !error && at != std::filesystem::end(at); at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
      continue;
    }
    if (at->is_regular_file(error))
      names.insert(at->path().lexically_relative(folder).generic_string());
  }
  return {names.begin(), names.end()};
}

// Every file that a run would read.
std::vector<std::filesystem::path> InputsOf(const Experiment& e, const RunArguments& arguments) {
  std::vector<std::filesystem::path> files = {arguments.experiment};
  const auto add = [&](const std::vector<std::filesystem::path>& more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  if (!e.markers) {
    add(RecordingsOf(e, arguments.recordings, arguments.out).files);
    return files;
  }
  const MarkerSource& source = *e.markers;
  if (!source.calibration.empty()) {
    const CalibrationConfig plan = LoadCalibration(source.calibration);
    files.push_back(source.calibration);
    for (const CameraSource& camera : plan.cameras)
      add(FindFiles(plan.video() ? camera.videos : camera.images, plan.path.parent_path(),
                    plan.video(), fmt::format("{}: camera {}", plan.path.string(), camera.name)));
  }
  files.push_back(source.plan.path);
  if (!source.tracks.empty()) {
    files.push_back(source.tracks);
    return files;
  }
  for (const TrackConfig* plan :
       {&source.plan, e.second && e.second->plan ? &*e.second->plan : nullptr}) {
    if (plan == nullptr) continue;
    for (const TrackedRecording& recording : plan->recordings) {
      for (const auto& of_camera : recording.files) add(of_camera);
      for (const auto& stamps : recording.stamps)
        if (!stamps.empty()) files.push_back(stamps);
    }
  }
  return files;
}

// Hashes that the provenance of the last run in the folder states.
std::map<std::string, std::string> LastInputs(const std::filesystem::path& out) {
  std::map<std::string, std::string> hashes;
  for (const char* name : {"run.yaml", "calibration/run.yaml", "tracking/run.yaml"}) {
    try {
      for (const InputFile& input : ProvenanceFromYaml(LoadYaml(out / name)).inputs)
        hashes[std::filesystem::absolute(input.path).lexically_normal().string()] = input.sha256;
    } catch (const std::exception&) {  // no such run
    }
  }
  return hashes;
}

// Why a file cannot be used; empty where it can. What the experiment file names has been found
// before.
std::string FaultOf(const Experiment& e, const std::filesystem::path& file) {
  // these are told apart by their content, all together
  if (e.points || e.planar_camera) return "";
  if (!e.markers) {
    ReadPoses(file, e.columns);
    return "";
  }
  for (const CheckLine& line : CheckPath(file))
    if (line.verdict == CheckLine::Verdict::kMissing) return line.text;
  return "";
}

}  // namespace

std::string AnswerJson(const std::string& verb, const RunResult& run,
                       const std::filesystem::path& out,
                       const std::map<std::string, StageCount>& stages, bool report) {
  const Analysis& best = run.best();
  std::map<std::string, int> rejected;
  int accepted = 0;
  for (const ImpactEvent& event : best.events) {
    accepted += event.accepted;
    if (!event.accepted) ++rejected[ReasonName(event.reason)];
  }
  Json coefficients = Json::object();
  for (const LawFit& law : best.fit.fits)
    for (const ParameterEstimate& p : ListParameters(law))
      coefficients[law.law][p.name] = {
          {"value", NumberJson<Json>(p.value)},     {"sd", NumberJson<Json>(p.sd)},
          {"lower95", NumberJson<Json>(p.lower95)}, {"upper95", NumberJson<Json>(p.upper95)},
          {"identifiable", p.identifiable},         {"reason", p.reason}};
  Json done = Json::object();
  for (const auto& [stage, count] : stages)
    done[stage] = {{"reused", count.reused}, {"made", count.made}};
  return Text({{"schema", "impactlab.answer/1"},
               {"verb", verb},
               {"name", run.experiment.name},
               {"out", out.string()},
               {"report", report ? Json((out / "report.html").string()) : Json(nullptr)},
               {"recordings", run.n_recordings()},
               {"impacts", best.events.size()},
               {"accepted", accepted},
               {"rejected", rejected},
               {"corrected", run.has_corrected},
               {"verdict", run.verdict.verdict},
               {"reason", run.verdict.reason},
               {"withheld", run.verdict.withheld},
               {"coefficients", coefficients},
               {"stages", done},
               {"files", FilesOf(out)},
               {"seconds", NumberJson<Json>(run.seconds)}});
}

std::string FolderAnswerJson(const std::string& verb, const std::filesystem::path& out,
                             const std::string& result, int code, double seconds) {
  return Text({{"schema", "impactlab.answer/1"},
               {"verb", verb},
               {"out", out.string()},
               {"code", code},
               {"result", result.empty() ? Json(nullptr) : Json::parse(ReadFile(out / result))},
               {"files", FilesOf(out)},
               {"seconds", NumberJson<Json>(seconds)}});
}

std::string ErrorAnswerJson(int code, const std::string& what) {
  return Text({{"schema", "impactlab.error/1"}, {"code", code}, {"error", what}});
}

int DryRun(const RunArguments& arguments) {
  const Experiment e = LoadExperiment(arguments.experiment);
  const std::vector<std::filesystem::path> inputs = InputsOf(e, arguments);
  const std::map<std::string, std::string> last = LastInputs(arguments.out);
  Json files = Json::array();
  std::uintmax_t bytes = 0;
  int unusable = 0, changed = 0;
  std::string text;
  for (const std::filesystem::path& file : inputs) {
    std::uint64_t size = 0;
    std::string hash, fault, state = "new";
    try {
      hash = Sha256File(file, &size);
      if (file != arguments.experiment) fault = FaultOf(e, file);
    } catch (const DataError& error) {
      fault = error.what();
    }
    const auto before = last.find(std::filesystem::absolute(file).lexically_normal().string());
    if (before != last.end()) state = before->second == hash ? "as in the last run" : "changed";
    changed += state != "as in the last run";
    unusable += !fault.empty();
    bytes += size;
    files.push_back({{"file", file.string()}, {"bytes", size}, {"state", state}, {"fault", fault}});
    text += fmt::format("{:>12} bytes  {:<18}  {}{}\n", size, state, file.string(),
                        fault.empty() ? "" : ": cannot be used: " + fault);
  }
  std::map<std::string, int> kept;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(arguments.out / ".stages", error)) {
    const std::string name = entry.path().filename().string();
    ++kept[name.substr(0, name.rfind('-'))];
  }
  const auto stage = [&](const std::string& what, std::initializer_list<const char*> names) {
    int n = 0;
    for (const char* name : names) n += kept.contains(name) ? kept[name] : 0;
    const std::string how =
        n == 0 || arguments.force ? "to do"
        : changed == 0
            ? "kept by an earlier run"
            : fmt::format("kept, but for what {} changed or new file{} of above change{}", changed,
                          changed == 1 ? "" : "s", changed == 1 ? "s" : "");
    text += fmt::format("{:<28}{}\n", what, how);
    return Json{{"stage", what}, {"state", how}, {"kept", n}};
  };
  Json stages = Json::array();
  text += "\n";
  if (e.markers && !e.markers->calibration.empty())
    stages.push_back(stage("cameras", {"footage", "board", "boards", "solve"}));
  if (e.markers && e.markers->tracks.empty()) stages.push_back(stage("tracks", {"tracks"}));
  if (e.markers && !e.second) stages.push_back(stage("fits of all impacts", {"drops"}));
  stages.push_back(stage("motion and audit", {"motion"}));
  stages.push_back(stage("coefficients", {"fit", "coefficients"}));
  stages.push_back(stage("validation", {"validation", "scrutiny"}));
  const bool all = unusable > 0 && unusable >= static_cast<int>(inputs.size()) - 1;
  if (arguments.json) {
    fmt::print("{}", Text({{"schema", "impactlab.plan_of_run/1"},
                           {"name", e.name},
                           {"out", arguments.out.string()},
                           {"bytes", bytes},
                           {"unusable", unusable},
                           {"files", files},
                           {"stages", stages}}));
  } else {
    fmt::print("{}: {} files, {} bytes\n{}\nwould be written to {}\n", e.name, inputs.size(), bytes,
               text, arguments.out.string());
  }
  if (unusable == 0) return kDone;
  fmt::print(stderr, "impactlab: {} of {} files cannot be used{}\n", unusable, inputs.size(),
             all ? ", nothing is left" : "");
  return kUnusable;
}

}  // namespace impactlab::pipelines
