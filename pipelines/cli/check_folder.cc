// What is there of an experiment and what is still missing, in plain words.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "calibration/camera/rig.h"
#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/glob.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "data/yaml/yaml.h"
#include "pipelines/bench_tests/bench_tests.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/campaign/campaign.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/cli/first_steps.h"
#include "pipelines/config/foreign_columns.h"
#include "pipelines/config/input_files.h"
#include "pipelines/literature/literature.h"
#include "pipelines/map/impact_map.h"
#include "pipelines/plan/plan.h"
#include "pipelines/run/experiment.h"
#include "pipelines/run/recording_files.h"
#include "pipelines/simulate/config.h"
#include "pipelines/simulate/diagram.h"
#include "pipelines/simulate/system_config.h"
#include "reconstruction/pose/pose_recording.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

using Lines = std::vector<CheckLine>;
using Verdict = CheckLine::Verdict;

constexpr const char* kCorrect =
    "correct it; all keys with their meaning: impactlab reference, or data/REFERENCE.md";

void Good(Lines* lines, const std::string& where, const std::string& text) {
  lines->push_back({Verdict::kGood, where, text, ""});
}
void Note(Lines* lines, const std::string& where, const std::string& text,
          const std::string& cure = "") {
  lines->push_back({Verdict::kNote, where, text, cure});
}
void Missing(Lines* lines, const std::string& where, const std::string& text,
             const std::string& cure) {
  lines->push_back({Verdict::kMissing, where, text, cure});
}

// Runs `look` and turns what it throws into a line.
template <class Look>
bool Tried(Lines* lines, const std::filesystem::path& path, const char* cure, const Look& look) {
  try {
    look();
    return true;
  } catch (const ConfigError& error) {
    Missing(lines, path.string(), error.what(), kCorrect);
  } catch (const DataError& error) {
    Missing(lines, path.string(), error.what(), cure);
  }
  return false;
}

std::string Words(const VideoInfo& info) {
  return fmt::format("{} x {} pixels, {:.4g} frames/s, {}", info.width, info.height,
                     info.nominal_rate,
                     info.announced_frames > 0 ? fmt::format("{} frames", info.announced_frames)
                                               : std::string("length not stated"));
}

void CheckVideo(const std::filesystem::path& path, Lines* lines) {
  Tried(lines, path, "copy it again from the camera, or leave it out", [&] {
    const VideoInfo info = VideoReader(path).info();
    if (info.still) {
      Good(lines, path.string(), fmt::format("picture of {} x {} pixels", info.width, info.height));
      return;
    }
    // [1/s]: an impact of a body that falls half a metre leaves a few frames to either side
    constexpr double kSlow = 100;
    if (info.nominal_rate > 0 && info.nominal_rate < kSlow)
      Note(lines, path.string(), Words(info) + ": few frames about an impact",
           "film faster where you can; where the file was written for slow motion say rate_Hz in "
           "the tracking file");
    else
      Good(lines, path.string(), Words(info));
  });
}

// Videos that a configuration names; many good ones are one line.
void CheckVideos(const std::string& where, const std::vector<std::filesystem::path>& files,
                 Lines* lines) {
  Lines own;
  for (const std::filesystem::path& file : files) CheckVideo(file, &own);
  std::size_t good = 0;
  for (const CheckLine& line : own) {
    good += line.verdict == Verdict::kGood;
    if (line.verdict != Verdict::kGood) lines->push_back(line);
  }
  if (good > 0)
    Good(lines, where, fmt::format("{} of {} videos or pictures can be read", good, files.size()));
}

void CheckCalibration(const std::filesystem::path& path, Lines* lines) {
  Tried(lines, path, "put the clips or pictures of the board there, or change the names", [&] {
    const CalibrationConfig plan = LoadCalibration(path);
    for (const CameraSource& camera : plan.cameras) {
      const std::string where = fmt::format("{}: camera {}", path.string(), camera.name);
      Tried(lines, where, "put the clips or pictures of the board there, or change the names", [&] {
        CheckVideos(where,
                    pipelines::FindFiles(plan.video() ? camera.videos : camera.images,
                                         path.parent_path(), plan.video(), where),
                    lines);
      });
    }
    if (plan.world.empty())
      Note(lines, path.string(),
           "says nothing of the struck surface: W is the frame of the first camera",
           "lay the board on the surface in one shot and name it: world: {board: {shot: \"#1\"}}");
  });
}

void CheckTracking(const std::filesystem::path& path, Lines* lines) {
  Tried(lines, path, "put the videos of the drops there, or change the patterns", [&] {
    const TrackConfig plan = LoadTracking(path);
    Good(lines, path.string(),
         fmt::format("{} recordings of {} cameras", plan.recordings.size(), plan.cameras.size()));
    for (std::size_t c = 0; c < plan.cameras.size(); ++c) {
      std::vector<std::filesystem::path> files;
      for (const TrackedRecording& recording : plan.recordings)
        files.insert(files.end(), recording.files[c].begin(), recording.files[c].end());
      CheckVideos(fmt::format("{}: camera {}", path.string(), plan.cameras[c].name), files, lines);
    }
    if (plan.markers.empty())
      Note(lines, path.string(), "has no layout_m: markers keep their names by their motion alone",
           "measure where the markers are on the body and write it to markers.layout_m");
  });
}

// The first thing that a fault quotes.
std::string QuotedIn(const std::string& fault) {
  const std::size_t from = fault.find('\''),
                    to = from == std::string::npos ? from : fault.find('\'', from + 1);
  return to == std::string::npos ? "" : fault.substr(from + 1, to - from - 1);
}

// A fault without its numbers and without what it quotes: rows of many files that fail alike differ
// in the cell found.
std::string KindOfFault(const std::string& fault) {
  std::string out = ParseDecimalComma(QuotedIn(fault)) ? "," : "";
  bool quoted = false;
  for (const char c : fault) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && !(c >= '0' && c <= '9')) out += c;
  }
  return out;
}

std::string Say(const PoseRecording& recording) {
  return fmt::format("{} poses in {:.3g} s", recording.t.size(),
                     recording.t.empty() ? 0 : recording.t.back() - recording.t.front());
}

// What to do about a table whose columns are those wanted; empty where it is they that are not.
std::string CellCure(const std::string& fault) {
  if (ParseDecimalComma(QuotedIn(fault)))
    return "write it again with decimal points (0.25 in place of 0,25), in every row";
  if (fault.find("found 0 rows") != std::string::npos)
    return "copy it again from where it was recorded, or leave it out: recordings.files says which "
           "count";
  if (fault.find(": row ") != std::string::npos)
    return "correct that row, or take it out whole: frames may be missing, but what is there must "
           "be numbers at times that rise";
  return {};
}

// What to do about a recording that cannot be read. Its columns may be a stranger's; else the fault
// is in a cell, or in the whole.
std::string PoseCure(const Experiment& e, const std::filesystem::path& file,
                     const std::string& fault) {
  const std::optional<ColumnGuess> guess = GuessColumns(file, e.columns.planar);
  if (!guess) return CellCure("found 0 rows");
  const std::string cure = CellCure(fault);
  return cure.empty() ? guess->Advice(e.path.string()) : cure;
}

void CheckPoses(const Experiment& e, const std::vector<std::filesystem::path>& files,
                Lines* lines) {
  std::size_t good = 0;
  // What many files have in common is one thing to do.
  struct Fault {
    std::filesystem::path first;
    std::string text, what;  // with and without the name of the file
    std::size_t files = 0;
    bool same = true;  // to the last cell
  };
  std::vector<Fault> faults;
  for (const std::filesystem::path& file : files) {
    try {
      const PoseRecording recording = ReadPoses(file, e.columns);
      ++good;
      if (recording.t.size() < 12)
        Note(lines, file.string(),
             Say(recording) + ": too few for a flight on either side of an impact",
             "record the whole drop");
    } catch (const ConfigError& error) {
      Missing(lines, e.path.string(), error.what(), kCorrect);
      return;
    } catch (const DataError& error) {
      const std::string text = error.what(), path = file.string();
      const std::string what = text.starts_with(path) ? text.substr(path.size()) : text;
      const auto known = std::find_if(faults.begin(), faults.end(), [&](const Fault& f) {
        return KindOfFault(f.what) == KindOfFault(what);
      });
      if (known == faults.end()) {
        faults.push_back({file, text, what, 1, true});
      } else {
        ++known->files;
        known->same = known->same && known->what == what;
      }
    }
  }
  for (const Fault& fault : faults) {
    const char* others = fault.files == 2 ? "" : "s";
    const std::string more =
        fault.same ? fmt::format("; so {} {} other{}", fault.files == 2 ? "is" : "are",
                                 fault.files - 1, others)
                   : fmt::format("; {} other{} {} alike", fault.files - 1, others,
                                 fault.files == 2 ? "is" : "are");
    Missing(lines, fault.first.string(), fault.text + (fault.files == 1 ? "" : more),
            PoseCure(e, fault.first, fault.text));
  }
  if (good > 0)
    Good(lines, e.path.string(),
         fmt::format("{} of {} recordings can be read", good, files.size()));
}

void CheckExperiment(const std::filesystem::path& path, Lines* lines) {
  std::optional<Experiment> e;
  if (!Tried(lines, path, "put the files there, or change their names in the file",
             [&] { e = LoadExperiment(path); }))
    return;
  if (e->markers) {
    Good(lines, path.string(),
         fmt::format("markers {} on the body '{}'", JoinNames(e->markers->plan.track.names),
                     e->body.name));
    return;  // the tracking and calibration files are looked at themselves
  }
  const std::filesystem::path folder = path.parent_path();
  std::vector<std::filesystem::path> files = ExpandGlob(e->recordings, folder);
  // Beside a run its tables may match as well.
  std::erase_if(files, [](const std::filesystem::path& file) {
    std::error_code absent;
    return pipelines::IsRunTable(file.filename().string()) &&
           std::filesystem::exists(file.parent_path() / "run.yaml", absent);
  });
  if (files.empty()) {
    const std::filesystem::path wanted =
        folder / std::filesystem::path(e->recordings).parent_path();
    Missing(
        lines, path.string(),
        fmt::format("no recording yet: nothing matches '{}'", (folder / e->recordings).string()),
        e->planar_camera ? "follow the markers first: impactlab track tracking.yaml --out tracks"
                         : fmt::format("put one file a drop in '{}'", wanted.string()));
    return;
  }
  if (e->points || e->planar_camera)
    Good(lines, path.string(), fmt::format("{} recordings are there", files.size()));
  else
    CheckPoses(*e, files, lines);
  if (files.size() < 5)
    Note(
        lines, path.string(),
        fmt::format("{} recordings: intervals will be wide and nothing can be cross-validated well",
                    files.size()),
        "a dozen drops or more; impactlab plan says how many pin mu and e*");
}

void CheckCsv(const std::filesystem::path& path, Lines* lines) {
  for (const bool planar : {true, false}) {
    try {
      PoseColumns own;
      own.planar = planar;
      const PoseRecording recording = ReadPoses(path, own);
      Good(lines, path.string(),
           fmt::format("{}, {}; kind: {}", planar ? "poses in a plane" : "poses in space",
                       Say(recording), planar ? "planar_poses" : "spatial_poses"));
      return;
    } catch (const DataError& error) {
      // Rows are read where all columns are there.
      if (const std::string cure = CellCure(error.what()); !cure.empty())
        return Missing(lines, path.string(), error.what(), cure);
    } catch (const std::exception&) {  // a stranger, or the other kind
    }
  }
  if (!Tried(lines, path, "write a table with one header line and numbers, see data/README.md",
             [&] { ColumnsOf(path); }))
    return;
  std::optional<ColumnGuess> guess;
  for (const bool planar : {false, true})
    if (!guess || !guess->missing.empty())
      if (auto next = GuessColumns(path, planar);
          next && (!guess || next->missing.size() < guess->missing.size()))
        guess = next;
  const std::string found = "columns found: " + JoinNames(ColumnsOf(path));
  if (!guess || guess->names.size() < 2)
    Missing(lines, path.string(), found,
            "none looks like a time or a place; see 'Pose recordings' in data/README.md");
  else if (guess->missing.empty() && guess->fault.empty())
    Note(lines, path.string(), found, guess->Advice("the experiment file"));
  else
    Missing(lines, path.string(), found, guess->Advice("the experiment file"));
}

// Tables of one program say the same of each: one line a kind of finding.
void CheckTables(const std::vector<std::filesystem::path>& files, Lines* lines) {
  struct Finding {
    CheckLine line;
    std::size_t others = 0;
  };
  std::vector<std::pair<std::string, Finding>> findings;
  for (const std::filesystem::path& file : files) {
    Lines own;
    CheckCsv(file, &own);
    for (CheckLine& line : own) {
      const std::string path = file.string(), kind = line.text.starts_with(path)
                                                         ? line.text.substr(path.size())
                                                         : line.text;
      const auto known = std::find_if(findings.begin(), findings.end(), [&](const auto& one) {
        return one.second.line.verdict == line.verdict &&
               KindOfFault(one.first) == KindOfFault(kind);
      });
      if (known == findings.end())
        findings.push_back({kind, {std::move(line), 0}});
      else
        ++known->second.others;
    }
  }
  for (auto& [kind, finding] : findings) {
    if (finding.others > 0)
      finding.line.text += fmt::format("; {} other table{} alike", finding.others,
                                       finding.others == 1 ? " is" : "s are");
    lines->push_back(std::move(finding.line));
  }
}

void CheckYaml(const std::filesystem::path& path, Lines* lines) {
  std::string schema;
  if (!Tried(lines, path, kCorrect, [&] {
        const YamlNode root = LoadYaml(path);
        schema = root.Text("schema", root.Has("board")     ? "impactlab.calibration/1"
                                     : root.Has("markers") ? "impactlab.tracking/1"
                                                           : "");
      }))
    return;
  const auto load = [&](const auto& look) {
    if (Tried(lines, path, "put the files it names there, or change the names", look))
      Good(lines, path.string(), schema + ", can be used");
  };
  if (schema == "impactlab.experiment/1") return CheckExperiment(path, lines);
  if (schema == "impactlab.calibration/1") return CheckCalibration(path, lines);
  if (schema == "impactlab.tracking/1") return CheckTracking(path, lines);
  if (schema == "impactlab.published/1") return load([&] { LoadPublished(path); });
  if (schema == "impactlab.coefficients/1") return load([&] { LoadCoefficients(path); });
  if (schema == "impactlab.scenario/1") return load([&] { LoadScenario(path); });
  if (schema == "impactlab.system/1") return load([&] { LoadSystem(path); });
  if (schema == "impactlab.plan/1") return load([&] { LoadPlan(path); });
  if (schema == "impactlab.diagram/1") return load([&] { LoadDiagram(path); });
  if (schema == "impactlab.map/1") return load([&] { LoadMapSweep(path); });
  if (schema == "impactlab.rig/1") return load([&] { RigFromYaml(path); });
  if (schema == "impactlab.campaign/1") {
    std::optional<Campaign> campaign;
    if (!Tried(lines, path, kCorrect, [&] { campaign = LoadCampaign(path, "out"); })) return;
    for (const CampaignMember& member : campaign->members) {
      const std::filesystem::path file =
          member.experiment.empty() ? member.run / "run.yaml" : member.experiment;
      std::error_code absent;
      if (std::filesystem::is_regular_file(file, absent))
        CheckExperiment(file, lines);
      else
        Missing(lines, path.string(),
                fmt::format("member {}: '{}' is not there", member.name, file.string()),
                fmt::format("impactlab new poses '{}' makes one", file.parent_path().string()));
    }
    return;
  }
  Note(lines, path.string(),
       schema.empty() ? "has no schema"
                      : "schema " + schema + " is checked by the verb that reads it");
}

std::string Extension(const std::filesystem::path& path) {
  return LowerCase(path.extension().string());
}

bool IsVideo(const std::filesystem::path& path) {
  static const std::set<std::string> kVideos = {".mp4", ".mov", ".avi",  ".mkv",
                                                ".m4v", ".mts", ".webm", ".cine"};
  return kVideos.contains(Extension(path));
}

void CheckDirectory(const std::filesystem::path& folder, Lines* lines) {
  std::vector<std::filesystem::path> yaml, csv, videos;
  for (const char* pattern : {"*", "*/*"})
    for (const std::filesystem::path& file : ExpandGlob(pattern, folder)) {
      if (Extension(file) == ".yaml" || Extension(file) == ".yml") yaml.push_back(file);
      if (Extension(file) == ".csv") csv.push_back(file);
      if (IsVideo(file)) videos.push_back(file);
    }
  bool any = false;
  for (const std::filesystem::path& file : yaml) {
    // A run folder inside tells of what was done, not of what is to do.
    if (std::filesystem::exists(file.parent_path() / "events.csv") && file.filename() == "run.yaml")
      continue;
    any = true;
    CheckYaml(file, lines);
  }
  if (any) return;
  if (csv.empty() && videos.empty()) {
    Missing(lines, folder.string(), "holds no configuration, table or video",
            "impactlab new KIND FOLDER makes a folder to fill in");
    return;
  }
  CheckTables(csv, lines);
  if (!videos.empty()) CheckVideos(folder.string(), videos, lines);
  Missing(lines, folder.string(),
          fmt::format("{} tables and {} videos, but no experiment file", csv.size(), videos.size()),
          fmt::format("impactlab new {} FOLDER makes one; then put these files where it says",
                      videos.empty() ? "poses" : "stereo"));
}

}  // namespace

std::vector<CheckLine> CheckPath(const std::filesystem::path& path) {
  Lines lines;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    Missing(&lines, path.string(), "is not there",
            "look at the spelling, or make it: impactlab new KIND FOLDER");
  } else if (std::filesystem::is_directory(path, error)) {
    CheckDirectory(path, &lines);
  } else if (Extension(path) == ".yaml" || Extension(path) == ".yml") {
    CheckYaml(path, &lines);
  } else if (IsVideo(path) || pipelines::IsPicture(path)) {
    CheckVideo(path, &lines);
  } else {
    CheckCsv(path, &lines);
  }
  return lines;
}

int CheckCommand(const CheckArguments& arguments) {
  constexpr const char* kWords[] = {"ok", "note", "missing"};
  std::size_t missing = 0;
  nlohmann::json json = nlohmann::json::array();
  for (const std::filesystem::path& path : arguments.paths) {
    for (const CheckLine& line : CheckPath(path)) {
      missing += line.verdict == Verdict::kMissing;
      const char* word = kWords[static_cast<int>(line.verdict)];
      json.push_back(
          {{"verdict", word}, {"where", line.where}, {"text", line.text}, {"cure", line.cure}});
      if (arguments.json) continue;
      // The text of an error names its file itself.
      const bool named = line.text.starts_with(line.where);
      fmt::print("{:<8} {}{}{}\n", word, named ? "" : line.where, named ? "" : ": ", line.text);
      if (!line.cure.empty()) fmt::print("         -> {}\n", line.cure);
    }
  }
  if (arguments.json)
    fmt::print(
        "{}\n",
        nlohmann::json{{"schema", "impactlab.check/1"}, {"missing", missing}, {"lines", json}}.dump(
            1, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}\n", missing == 0 ? "nothing is missing"
                                    : fmt::format("{} thing{} missing", missing,
                                                  missing == 1 ? " is" : "s are"));
  return missing == 0 ? kDone : kUnusable;
}

pipelines::Action pipelines::AddCheck(CLI::App& verb, const Invocation&) {
  const auto arguments = std::make_shared<CheckArguments>();
  verb.add_option("paths", arguments->paths, "folders, configurations, tables or videos")
      ->required();
  verb.add_flag("--json", arguments->json, "JSON instead of text");
  return [arguments] { return CheckCommand(*arguments); };
}

}  // namespace impactlab
