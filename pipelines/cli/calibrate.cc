// The verbs about cameras.

#include "pipelines/calibrate/calibrate.h"

#include <fmt/core.h>

#include <algorithm>

#include "calibration/formats/formats.h"
#include "data/base/error.h"
#include "data/cache/stage_cache.h"
#include "data/files/text.h"
#include "pipelines/calibrate/page.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/verb.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab::pipelines {
namespace {

struct Export {
  RigFormat format = RigFormat::kOpenCv;
  std::filesystem::path path;
};
std::vector<Export> ParseExports(const std::vector<std::string>& texts) {
  constexpr RigFormat kWritten[] = {RigFormat::kImpactLab, RigFormat::kOpenCv, RigFormat::kKalibr,
                                    RigFormat::kMrcal, RigFormat::kAniposelib};
  std::vector<std::string> names;
  for (const RigFormat format : kWritten) names.emplace_back(ToString(format));
  std::vector<Export> exports;
  for (const std::string& text : texts) {
    const auto at = text.find('=');
    const auto format = std::find(names.begin(), names.end(), text.substr(0, at));
    if (at == std::string::npos || at + 1 == text.size() || format == names.end()) {
      const std::string nearest = NearestName(text.substr(0, at), names);
      throw ConfigError(
          fmt::format("--export: found {}{}, allowed FORMAT=PATH with {}", Excerpt(text),
                      nearest.empty() || format != names.end() ? "" : ", nearest is " + nearest,
                      JoinNames(names, " | ")));
    }
    exports.push_back({kWritten[format - names.begin()], text.substr(at + 1)});
  }
  return exports;
}

// A camera file of another program, or a rig.yaml, into other formats.
struct ConvertArguments {
  std::filesystem::path file;
  std::vector<std::string> exports;  // FORMAT=PATH
  std::string format;                // of the file; empty: recognised
  std::vector<int> size;             // width and height for files that do not say [px]
  // one unit of length of the file [m]; 0: what the file says, else a metre
  double length_unit = 0;
  std::filesystem::path extrinsics;  // OpenCV: the file with R and T where it is another one
  // give up the pose of the first camera where a format cannot carry it
  bool relative = false;
};

int RunConvert(const ConvertArguments& arguments) {
  const std::vector<Export> exports = ParseExports(arguments.exports);
  RigReadOptions options;
  if (!arguments.format.empty()) {
    options.format = RigFormatFromString(arguments.format);
    if (!options.format)
      throw ConfigError(fmt::format(
          "--format: found {}, allowed impactlab, opencv, kalibr, mrcal, aniposelib, dlt, matlab",
          Excerpt(arguments.format)));
  }
  if (!arguments.size.empty())
    options.width = arguments.size[0], options.height = arguments.size[1];
  options.length_unit = arguments.length_unit;
  options.extrinsics = arguments.extrinsics;
  const CameraRig rig = ReadRig(arguments.file, options);
  fmt::print("{:<12} {:>11} {:<9} {:>9} {:>9}  {}\n", "camera", "pictures", "lens", "fx [px]",
             "fy [px]", "position [m]");
  for (const RigCamera& item : rig.cameras) {
    const Eigen::Vector3d p = item.X_WC.translation();
    fmt::print("{:<12} {:>11} {:<9} {:>9.2f} {:>9.2f}  {:.4f} {:.4f} {:.4f}\n", item.name,
               fmt::format("{} x {}", item.camera.width, item.camera.height),
               ToString(item.camera.model), item.camera.fx, item.camera.fy, p.x(), p.y(), p.z());
  }
  for (const Export& one : exports) {
    WriteRig(one.path, rig, one.format, {.relative = arguments.relative});
    fmt::print("{:<11} {}\n", ToString(one.format), one.path.string());
  }
  return kDone;
}

struct CalibrateArguments {
  std::filesystem::path file;
  std::filesystem::path out = "calibration";
  int threads = 0;
  bool report = true;
  bool quiet = false;
  std::vector<std::string> exports;  // "FORMAT=PATH"
  std::string command;               // command line, for run.yaml
  bool force = false;
  SharedOptions shared;
};

int RunCalibrate(const CalibrateArguments& arguments) {
  const std::vector<Export> exports = ParseExports(arguments.exports);
  const CalibrationConfig plan = LoadCalibration(arguments.file);
  std::vector<std::string> names = CalibrationNames("");
  for (const Export& one : exports)
    for (const std::string& name : NameWithin(arguments.out, one.path)) names.push_back(name);
  const auto folder = OpenOutput(arguments.out, names, arguments.shared);
  if (!folder) return kDone;
  StageCache stages(arguments.out / ".stages", arguments.force);
  const CalibrationRun run = RunCalibration(plan, {.threads = arguments.threads,
                                                   .quiet = arguments.quiet,
                                                   .cache = &stages,
                                                   .cancellation = &program_cancellation});
  WriteCalibration(arguments.out, run, arguments.command);
  if (arguments.report)
    WriteCalibrationPage(arguments.out / "calibration.html", run, IMPACTLAB_PLOT_LIBRARY);
  // An export that fails must hide neither the result nor the other exports.
  std::vector<std::string> written, failed;
  int failure = kDone;
  for (const Export& one : exports) {
    if (run.refused()) break;
    try {
      WriteRig(one.path, run.rig(), one.format, {.relative = true});
      written.push_back(fmt::format("{:<11} {}", ToString(one.format), one.path.string()));
    } catch (const std::runtime_error& error) {
      // What a format cannot hold is asked for by the call; a file that cannot be written is not.
      failure = std::max(failure,
                         dynamic_cast<const ConfigError*>(&error) != nullptr ? kUsage : kUnusable);
      failed.push_back(
          fmt::format("--export {}={}: {}", ToString(one.format), one.path.string(), error.what()));
    }
  }
  stages.Prune();
  folder->Finish();
  if (!arguments.quiet) {
    fmt::print("{}", BriefReport(run));
    fmt::print("\n{:.1f} s, of which {:.1f} s to find the boards; written to {}\n", run.seconds,
               run.seconds_detect, arguments.out.string());
    if (arguments.report)
      fmt::print("certificate {}\n", (arguments.out / "calibration.html").string());
  }
  if (!run.refused()) {
    if (!arguments.quiet)
      for (const std::string& line : written) fmt::print("{}\n", line);
    for (const std::string& line : failed) fmt::print(stderr, "impactlab: {}\n", line);
    return failure;
  }
  fmt::print(stderr, "impactlab: calibration refused, rig.yaml was not written: {}\n",
             WhyRefused(run));
  return kUnusable;
}

}  // namespace

Action AddConvert(CLI::App& verb, const Invocation&) {
  const auto arguments = std::make_shared<ConvertArguments>();
  verb.add_option("file", arguments->file,
                  "rig.yaml, OpenCV, Kalibr, mrcal, aniposelib, DLT or MATLAB file")
      ->required();
  verb.add_option("--export", arguments->exports,
                  "FORMAT=PATH with impactlab, opencv, kalibr, mrcal, aniposelib; without "
                  "it the cameras are shown");
  verb.add_option("--format", arguments->format, "of the file, where it is not recognised");
  verb.add_option("--size-px", arguments->size,
                  "width and height of the pictures, where the file does not say")
      ->expected(2);
  verb.add_option("--length-unit-m", arguments->length_unit,
                  "one unit of length of the file; 0: what it says, else a metre");
  verb.add_option("--extrinsics", arguments->extrinsics,
                  "OpenCV: the file with R and T where it is another one");
  verb.add_flag("--relative", arguments->relative,
                "give up the pose of the first camera where a format cannot carry it");
  return [arguments] { return RunConvert(*arguments); };
}

Action AddCalibrate(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<CalibrateArguments>();
  verb.add_option("file", arguments->file, "calibration file (YAML)")->required();
  AddOutFolder(verb, arguments->out);
  AddThreads(verb, arguments->threads);
  AddQuiet(verb, arguments->quiet);
  AddForce(verb, arguments->force);
  verb.add_flag("!--no-report", arguments->report, "leave calibration.html out");
  verb.add_option("--export", arguments->exports,
                  "FORMAT=PATH: the rig in a foreign format as well");
  return [arguments, &call] {
    arguments->command = call.command;
    arguments->shared = call.shared;
    return RunCalibrate(*arguments);
  };
}

}  // namespace impactlab::pipelines
