// The verb that examines recordings before anything is measured in them.

#include "tracking/doctor/doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/cli/detail/command_line.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/config/input_files.h"

namespace impactlab::pipelines {
namespace {

struct DoctorArguments {
  std::vector<std::filesystem::path> files;  // videos, or folders of pictures
  // a clip of the same camera, of its calibration say; empty: none
  std::filesystem::path reference;
  std::filesystem::path stamps;  // table of stamps of the one recording; empty: none
  double rate = 0;               // true rate [1/s]; 0: as stamped
  double exposure = 0;           // [s]; 0: not known
  double t_line = 0;             // row time of a rolling shutter [s]; 0: not known
  long long max_frames = 20000;
  bool json = false;          // JSON on the terminal
  std::filesystem::path out;  // JSON file to write; empty: none
};

constexpr const char* kStampTable = "stamps.csv";

// A video, or a folder of pictures in the order of their numbers, with the table of stamps that
// lies among them.
FrameSource SourceOf(const std::filesystem::path& path, const DoctorArguments& arguments) {
  FrameSource source;
  source.rate = arguments.rate, source.t_line = arguments.t_line;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    source.video = path;
    return source;
  }
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (IsPicture(entry.path())) source.images.push_back(entry.path());
  if (error) throw DataError(fmt::format("{}: {}", path.string(), error.message()));
  if (source.images.empty()) throw DataError(fmt::format("{}: holds no pictures", path.string()));
  std::sort(source.images.begin(), source.images.end(),
            [](const auto& a, const auto& b) { return NaturalLess(a.string(), b.string()); });
  // A rate that was given is meant; the table is then only spoken of.
  if (source.rate <= 0 && arguments.stamps.empty() &&
      std::filesystem::is_regular_file(path / kStampTable, error))
    source.stamps = path / kStampTable;
  return source;
}

// What a clip to compare with looks like does not depend on its times, nor do stamps given for the
// recording belong to it.
FrameSource ReferenceOf(const DoctorArguments& arguments) {
  DoctorArguments own = arguments;
  own.stamps.clear();
  FrameSource source = SourceOf(arguments.reference, own);
  if (!source.images.empty() && source.rate <= 0) source.stamps.clear(), source.rate = 1;
  return source;
}

// Says where the times of a folder come from, when nobody named the table.
void TellTable(const std::filesystem::path& folder, const DoctorArguments& arguments,
               const FrameSource& source, TimeBaseReport* report) {
  std::error_code error;
  if (source.images.empty() || !std::filesystem::is_regular_file(folder / kStampTable, error))
    return;
  if (arguments.stamps.empty() && arguments.rate <= 0) {
    AddFinding(report, {"stamp_table", Severity::kFine,
                        fmt::format("times are those of {} in the folder", kStampTable), "", 0});
  } else {
    AddFinding(report, {"stamp_table", Severity::kNote,
                        fmt::format("{} in the folder is left aside, since {} given", kStampTable,
                                    arguments.stamps.empty() ? "a rate is" : "another table is"),
                        "leave out the option to have the times of the table", 0});
  }
}

int RunDoctor(const DoctorArguments& arguments) {
  if (!std::isfinite(arguments.rate) || arguments.rate < 0)
    throw ConfigError(
        fmt::format("--rate-hz: found {}, allowed frames a second above 0", arguments.rate));
  if (!std::isfinite(arguments.exposure) || arguments.exposure < 0)
    throw ConfigError(
        fmt::format("--exposure-s: found {}, allowed a time above 0", arguments.exposure));
  if (!std::isfinite(arguments.t_line))
    throw ConfigError(fmt::format("--t-line-s: found {}, allowed a finite time", arguments.t_line));
  if (!arguments.stamps.empty() && arguments.files.size() > 1)
    throw ConfigError("--stamps: goes with one recording only");
  DoctorOptions options;
  options.exposure = arguments.exposure;
  options.max_frames = arguments.max_frames;

  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::string text;
  std::size_t unreadable = 0;
  for (const std::filesystem::path& file : arguments.files) {
    // One that cannot be read does not keep the others from being examined.
    try {
      FrameSource source = SourceOf(file, arguments);
      if (!arguments.stamps.empty()) source.stamps = arguments.stamps;
      TimeBaseReport report = ExamineTimeBase(source, options);
      TellTable(file, arguments, source, &report);
      if (!arguments.reference.empty()) {
        for (TimeFinding& finding : CompareClips(ReferenceOf(arguments), source, options))
          AddFinding(&report, std::move(finding));
      }
      all.push_back(nlohmann::ordered_json::parse(ToJson(report)));
      text += (text.empty() ? "" : "\n") + BriefReport(report);
    } catch (const DataError& error) {
      if (arguments.files.size() == 1) throw;
      ++unreadable;
      all.push_back({{"file", file.string()}, {"error", error.what()}});
      text += fmt::format("{}{}\n  verdict   cannot be examined: {}\n", text.empty() ? "" : "\n",
                          file.string(), error.what());
    }
  }
  const std::string json =
      all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (!arguments.out.empty()) WriteFile(arguments.out, json);
  fmt::print("{}", arguments.json ? json : text);
  return unreadable == arguments.files.size() ? kUnusable : kDone;
}

}  // namespace

Action AddDoctor(CLI::App& verb, const Invocation&) {
  const auto arguments = std::make_shared<DoctorArguments>();
  verb.add_option("files", arguments->files, "videos, or folders of pictures")->required();
  verb.add_option("--reference", arguments->reference,
                  "clip of the same camera (its calibration) to compare the view with");
  verb.add_option("--rate-hz", arguments->rate,
                  "true frame rate, where the files do not know it (slow motion, pictures)");
  verb.add_option("--stamps", arguments->stamps, "CSV with a column t_s, one row a frame");
  verb.add_option("--exposure-s", arguments->exposure, "exposure time; 0: not known");
  verb.add_option("--t-line-s", arguments->t_line, "row time of a rolling shutter; 0: not known");
  verb.add_option("--max-frames", arguments->max_frames, "frames examined of each file")
      ->check(WholeNumber(1, 100000000))
      ->capture_default_str();
  verb.add_flag("--json", arguments->json, "JSON instead of text");
  verb.add_option("--out", arguments->out, "JSON file to write as well");
  return [arguments] { return RunDoctor(*arguments); };
}

}  // namespace impactlab::pipelines
