// The verb that takes tracks of other programs.

#include "tracking/import/import.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "data/base/error.h"
#include "data/files/text.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/verb.h"

namespace impactlab {
namespace {

// Time of a frame of a file without video, counted at `rate` from the nearest frame of the camera
// that has a point; NaN, that is, as the points of the frame say, where it has points itself, and
// where no rate is known.
double TimeFromOthers(const MarkerTracks& tracks, int camera, long long frame, double rate) {
  const double unknown = std::nan("");
  const TrackPoint* nearest = nullptr;
  for (const TrackPoint& p : tracks.points)
    if (p.camera == camera &&
        (nearest == nullptr || std::abs(p.frame - frame) < std::abs(nearest->frame - frame)))
      nearest = &p;
  if (!(rate > 0) || (nearest != nullptr && nearest->frame == frame)) return unknown;
  return nearest == nullptr ? static_cast<double>(frame) / rate
                            : nearest->t + static_cast<double>(frame - nearest->frame) / rate;
}

}  // namespace

int ImportCommand(const ImportArguments& arguments) {
  ImportOptions options;
  if (!arguments.format.empty()) {
    options.format = TrackFormatFromString(arguments.format);
    if (!options.format)
      throw ConfigError(
          fmt::format("--format: found {}, allowed impactlab, dltdv, tracker, deeplabcut, table",
                      Excerpt(arguments.format)));
  }
  options.cameras = arguments.cameras;
  options.rate = arguments.rate;
  options.height = arguments.height;
  options.rows_from_top = arguments.rows_from_top;
  options.sd = arguments.sd;
  const std::vector<Correction> corrections = arguments.corrections.empty()
                                                  ? std::vector<Correction>{}
                                                  : ReadCorrections(arguments.corrections);
  TracksWriter writer(arguments.out);
  std::size_t points = 0;
  std::set<std::string> names;
  for (const std::filesystem::path& file : arguments.files) {
    MarkerTracks tracks = ImportTracks(file, options);
    const std::string own = tracks.recording;
    for (int count = 2; !names.insert(tracks.recording).second; ++count)
      tracks.recording = fmt::format("{}~{}", own, count);
    const int changed = ApplyCorrections(
        corrections, arguments.corrections.string(),
        [&](int camera, long long frame, double) {
          return TimeFromOthers(tracks, camera, frame, arguments.rate);
        },
        &tracks);
    fmt::print("{}: {} points of {} markers in {} cameras{}{}\n", file.string(),
               tracks.points.size(), tracks.markers.size(), tracks.cameras.size(),
               changed > 0 ? fmt::format(", {} corrected by hand", changed) : "",
               tracks.recording == own
                   ? ""
                   : fmt::format("; named '{}', as there is a recording '{}' before it",
                                 tracks.recording, own));
    points += tracks.points.size();
    writer.Write(tracks);
  }
  if (points == 0) throw DataError("no file holds a point");
  std::set<std::string> strangers;
  for (const Correction& correction : corrections)
    if (!names.contains(correction.recording)) strangers.insert(Excerpt(correction.recording));
  writer.Commit();
  if (!strangers.empty())
    fmt::print("corrections passed over, of recordings not here: {}\n",
               JoinNames({strangers.begin(), strangers.end()}));
  fmt::print("written to {}\n", arguments.out.string());
  return kDone;
}

pipelines::Action pipelines::AddImport(CLI::App& verb, const Invocation&) {
  const auto arguments = std::make_shared<ImportArguments>();
  verb.add_option("files", arguments->files,
                  "DLTdv, Tracker or DeepLabCut export, or a table; one recording each")
      ->required();
  verb.add_option("--out", arguments->out, "file to write")->capture_default_str();
  verb.add_option("--format", arguments->format,
                  "impactlab, dltdv, tracker, deeplabcut, table, where it is not recognised");
  verb.add_option("--cameras", arguments->cameras, "names, in the order of the file's cameras")
      ->delimiter(',');
  verb.add_option("--rate-hz", arguments->rate, "frame rate, for files that count frames");
  verb.add_option("--height-px", arguments->height,
                  "height of the pictures, for files that count rows from below");
  verb.add_flag("--rows-from-top", arguments->rows_from_top, "DLTdv from version 7 on");
  verb.add_option("--sd-px", arguments->sd,
                  "standard deviation of a point, where the file does not say")
      ->capture_default_str();
  verb.add_option("--corrections", arguments->corrections, "corrections.csv to apply");
  return [arguments] { return ImportCommand(*arguments); };
}

}  // namespace impactlab
