// The verb that writes files of other programs: markers in space, from tracks and a rig or from
// another such file; tables of a run; drawings.

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibration/camera/rig.h"
#include "data/base/error.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/config/foreign_columns.h"
#include "pipelines/tables/data_set.h"
#include "pipelines/tables/svg_pdf.h"
#include "reconstruction/formats/marker_files.h"
#include "reconstruction/pose/marker_points.h"
#include "tracking/track/tracks.h"

namespace impactlab::pipelines {
namespace {

// Markers in space: from tracks and a rig, or from a marker file, to a marker file.
struct ExportArguments {
  std::filesystem::path file;  // tracks.csv, or a marker CSV, TRC or C3D
  // .csv, .trc, .c3d; of several recordings NAME_RECORDING.trc for NAME.trc
  std::filesystem::path out;
  std::filesystem::path rig;  // of tracks
  std::string recording;      // of tracks; empty: all
  std::string format;         // of the output; empty: by its extension
  std::string up = "z";       // axis of the output that points up
  std::string up_of_file;     // of a marker file; empty: what a C3D says, else z
  std::string unit = "mm";    // of TRC and C3D
};

UpAxis ParseUp(const std::string& text, const char* flag) {
  const auto axis = UpAxisFromString(text);
  if (!axis) throw ConfigError(fmt::format("{}: found {}, allowed x, y, z", flag, Excerpt(text)));
  return *axis;
}

// A name that can be a part of a file's.
std::string FileName(std::string name) {
  for (char& c : name)
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20) c = '_';
  return name;
}

std::string Share(const MarkerPoints& points) {
  std::size_t seen = 0;
  for (const auto& list : points.p_WM)
    seen += static_cast<std::size_t>(
        std::count_if(list.begin(), list.end(), [](const auto& p) { return p.has_value(); }));
  const std::size_t all = points.markers.size() * points.t.size();
  return fmt::format(
      "{} markers, {} frames, {:.1f} % of the points", points.markers.size(), points.t.size(),
      100.0 * static_cast<double>(seen) / static_cast<double>(std::max<std::size_t>(all, 1)));
}

void WriteAndTell(const std::filesystem::path& out, const MarkerPoints& points,
                  const MarkerWriteOptions& options) {
  const std::vector<std::string> notes = WriteMarkerFile(out, points, options);
  fmt::print("{}: {}; written to {}\n", points.name, Share(points), out.string());
  for (const std::string& note : notes) fmt::print("  {}\n", note);
}

int FromTracks(const ExportArguments& arguments, const MarkerWriteOptions& write) {
  const CameraRig rig = RigFromYaml(arguments.rig);
  std::vector<MarkerTracks> recordings = ReadTracks(arguments.file);
  std::vector<std::string> names;
  names.reserve(recordings.size());
  for (const MarkerTracks& tracks : recordings) names.push_back(tracks.recording);
  if (!arguments.recording.empty()) {
    std::erase_if(recordings, [&](const MarkerTracks& tracks) {
      return tracks.recording != arguments.recording;
    });
    if (recordings.empty())
      throw ConfigError(fmt::format("--recording: found {}, allowed {}",
                                    Excerpt(arguments.recording), JoinNames(names)));
  }
  std::vector<TrackPoints> all;
  std::set<std::string> files;
  for (const MarkerTracks& tracks : recordings) {
    if (!files.insert(FileName(tracks.recording)).second)
      throw ConfigError(fmt::format(
          "recordings {}: two of them would be written to one file; choose one by --recording",
          JoinNames(names)));
    all.push_back(PointsFromTracks(tracks, rig));
  }
  for (const TrackPoints& one : all) {
    std::filesystem::path out = arguments.out;
    if (all.size() > 1)
      out.replace_filename(fmt::format("{}_{}{}", out.stem().string(), FileName(one.points.name),
                                       out.extension().string()));
    WriteAndTell(out, one.points, write);
    if (one.alone > 0)
      fmt::print("  {} images of a marker that no other camera sees at the time\n", one.alone);
    if (one.misfit > 0)
      fmt::print(
          "  {} points left out whose images are not of one point: where they move fast, clocks "
          "may be apart (`offset_s` in drops.csv of a "
          "run)\n",
          one.misfit);
    if (one.undetermined > 0)
      fmt::print("  {} points left out whose place is not determined\n", one.undetermined);
  }
  return kDone;
}

enum class CsvKind { kNone, kTracks, kMarkers, kTable };

// By the header: tracks have columns that nothing else has; markers three lengths with one name in
// front, beside a time.
CsvKind CsvKindOf(const std::filesystem::path& path) {
  if (path.extension() != ".csv" || std::filesystem::is_directory(path)) return CsvKind::kNone;
  const std::vector<std::string> columns = ColumnsOf(path);
  const auto has = [&](const std::string& name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  if (has("x_px") && has("camera")) return CsvKind::kTracks;
  // Tables of many recordings may hold places beside times as well.
  if (has("recording")) return CsvKind::kTable;
  bool time = false, place = false;
  for (const std::string& column : columns) {
    const UnitName parts = SplitUnit(column);
    time = time || (parts.stem == "t" && parts.quantity == Quantity::kTime);
    if (parts.quantity != Quantity::kLength || parts.stem.size() < 3 || !parts.stem.ends_with("_x"))
      continue;
    const std::string name = column.substr(0, parts.stem.size() - 1),
                      unit = column.substr(parts.stem.size());
    place =
        place || (has(fmt::format("{}y{}", name, unit)) && has(fmt::format("{}z{}", name, unit)));
  }
  return time && place ? CsvKind::kMarkers : CsvKind::kTable;
}

// What is neither read nor written as markers: folders and fits, drawings, tables, and the formats
// that hold any table.
bool IsData(const ExportArguments& arguments) {
  const auto in = arguments.file.extension(), out = arguments.out.extension();
  DataFormat format = DataFormat::kCsv;
  if (std::filesystem::is_directory(arguments.file) || in == ".json" || in == ".svg" ||
      out == ".pdf")
    return true;
  if (!DataFormatOf(arguments.out, &format)) return false;
  return format != DataFormat::kCsv || CsvKindOf(arguments.file) == CsvKind::kTable;
}

int ExportData(const ExportArguments& arguments) {
  if (!arguments.rig.empty() || !arguments.recording.empty() || !arguments.format.empty() ||
      !arguments.up_of_file.empty())
    throw ConfigError(
        fmt::format("{}: found no markers in space, which --rig, --recording, --format and "
                    "--up-axis-of-file are of",
                    arguments.file.string()));
  if (arguments.file.extension() == ".svg" || arguments.out.extension() == ".pdf") {
    if (arguments.file.extension() != ".svg" || arguments.out.extension() != ".pdf")
      throw ConfigError(fmt::format("--out: found {} from {}, allowed a .pdf from an .svg",
                                    arguments.out.string(), arguments.file.string()));
    SvgToPdf(arguments.file, arguments.out);
    fmt::print("{}: written to {}\n", arguments.file.string(), arguments.out.string());
    return kDone;
  }
  DataFormat format = DataFormat::kCsv;
  if (!DataFormatOf(arguments.out, &format))
    throw ConfigError(
        fmt::format("--out: found {}, allowed a name that ends in .csv, .json, .mat, .h5 or .tex",
                    arguments.out.string()));
  std::vector<std::string> notes;
  const DataSet data = ReadDataSet(arguments.file, &notes);
  const std::vector<std::string> more = WriteDataSet(arguments.out, data, format);
  notes.insert(notes.end(), more.begin(), more.end());
  std::vector<std::string> names;
  for (const DataTable& table : data.tables)
    names.push_back(fmt::format("{} ({})", table.name, table.n_rows()));
  fmt::print("{}: {}; written to {}\n", data.name, JoinNames(names), arguments.out.string());
  for (const std::string& note : notes) fmt::print("  {}\n", note);
  return kDone;
}

int RunExport(const ExportArguments& arguments) {
  std::error_code ignored;
  if (std::filesystem::equivalent(arguments.file, arguments.out, ignored))
    throw ConfigError(fmt::format("--out: found {}, the file that is read; allowed another one",
                                  arguments.out.string()));
  if (IsData(arguments)) return ExportData(arguments);
  MarkerWriteOptions write;
  write.up = ParseUp(arguments.up, "--up-axis");
  write.unit = arguments.unit;
  if (!arguments.format.empty()) {
    write.format = MarkerFormatFromString(arguments.format);
    if (!write.format)
      throw ConfigError(
          fmt::format("--format: found {}, allowed csv, trc, c3d", Excerpt(arguments.format)));
  } else if (!MarkerFormatOf(arguments.out)) {
    throw ConfigError(
        fmt::format("--out: found {}, allowed a name that ends in .csv, .trc or .c3d (markers), "
                    ".json, .mat, .h5, .tex (tables) or .pdf "
                    "(drawings), or --format",
                    Excerpt(arguments.out.string())));
  }
  if (write.unit != "m" && write.unit != "mm")
    throw ConfigError(fmt::format("--unit: found {}, allowed m, mm", Excerpt(write.unit)));
  const bool tracks = CsvKindOf(arguments.file) == CsvKind::kTracks;
  if (tracks && arguments.rig.empty())
    throw ConfigError(fmt::format(
        "--rig: found none, allowed the rig.yaml of the cameras that {} was tracked with",
        arguments.file.string()));
  if (tracks) return FromTracks(arguments, write);
  if (!arguments.rig.empty() || !arguments.recording.empty())
    throw ConfigError(
        fmt::format("{}: found markers in space, allowed with --rig and --recording: a tracks.csv",
                    arguments.file.string()));
  MarkerReadOptions read;
  if (!arguments.up_of_file.empty()) read.up = ParseUp(arguments.up_of_file, "--up-axis-of-file");
  const MarkerFile file = ReadMarkerFile(arguments.file, read);
  fmt::print("{}: {}, {} up\n", arguments.file.string(), ToString(file.format), ToString(file.up));
  for (const std::string& note : file.notes) fmt::print("  {}\n", note);
  WriteAndTell(arguments.out, file.points, write);
  return kDone;
}

}  // namespace

Action AddExport(CLI::App& verb, const Invocation&) {
  const auto arguments = std::make_shared<ExportArguments>();
  verb.add_option(
          "file", arguments->file,
          "run folder, CSV table or fit.json; tracks.csv, or a marker CSV, TRC or C3D; an .svg")
      ->required();
  verb.add_option("--out", arguments->out,
                  "file to write; of several recordings NAME_RECORDING.trc for NAME.trc")
      ->required();
  verb.add_option("--rig", arguments->rig, "rig.yaml of the cameras, for tracks");
  verb.add_option("--recording", arguments->recording, "the one to take, of tracks");
  verb.add_option("--format", arguments->format, "csv, trc, c3d, where the name does not say it");
  verb.add_option("--up-axis", arguments->up,
                  "axis of the file written that points up: x, y, z; OpenSim has y")
      ->capture_default_str();
  verb.add_option("--up-axis-of-file", arguments->up_of_file,
                  "the same of a marker file read; else what a C3D says, else z");
  verb.add_option("--unit", arguments->unit, "m or mm, of TRC and C3D")->capture_default_str();
  return [arguments] { return RunExport(*arguments); };
}

}  // namespace impactlab::pipelines
