// The verbs about cameras.

#include "pipelines/calibrate/calibrate.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "calibration/board/board.h"
#include "calibration/formats/formats.h"
#include "data/base/error.h"
#include "data/cache/stage_cache.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/calibrate/page.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/signals.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab {
namespace {

// "AxB" as two numbers.
template <typename Number>
bool ParsePair(const std::string& text, Number* a, Number* b) {
  const auto at = text.find('x');
  if (at == std::string::npos) return false;
  const char *first = text.data(), *middle = first + at, *last = first + text.size();
  const auto [end_a, error_a] = std::from_chars(first, middle, *a);
  const auto [end_b, error_b] = std::from_chars(middle + 1, last, *b);
  return error_a == std::errc() && error_b == std::errc() && end_a == middle && end_b == last;
}

Board MakeBoard(const BoardArguments& arguments) {
  Board board;
  bool known = false;
  for (const BoardKind kind : {BoardKind::kChessboard, BoardKind::kCharuco, BoardKind::kCircles,
                               BoardKind::kAsymmetricCircles}) {
    if (arguments.kind != ToString(kind)) continue;
    board.kind = kind;
    known = true;
  }
  if (!known)
    throw ConfigError(
        fmt::format("--kind: found {}, allowed chessboard, charuco, circles, asymmetric-circles",
                    Excerpt(arguments.kind)));
  if (!ParsePair(LowerCase(arguments.corners), &board.columns, &board.rows))
    throw ConfigError(fmt::format("--corners: found {}, allowed COLUMNSxROWS such as 9x6",
                                  Excerpt(arguments.corners)));
  if (!std::isfinite(arguments.square) || arguments.square <= 0)
    throw ConfigError(
        fmt::format("--square-m: found {}, allowed a length above 0", arguments.square));
  board.pitch = arguments.square;
  if (board.kind == BoardKind::kCharuco) {
    board.marker_side =
        // whole micrometres, to be typed again
        arguments.marker > 0 ? arguments.marker : std::round(0.75e6 * board.pitch) / 1e6;
    board.dictionary = arguments.dictionary;
    board.legacy = arguments.legacy;
  }
  const double apart =
      board.kind == BoardKind::kAsymmetricCircles ? std::sqrt(2.0) * board.pitch : board.pitch;
  if (board.kind == BoardKind::kCircles || board.kind == BoardKind::kAsymmetricCircles)
    board.disc_diameter = arguments.disc_diameter > 0 ? arguments.disc_diameter : 0.5 * apart;
  if (const std::string fault = Fault(board); !fault.empty()) throw ConfigError("board: " + fault);
  return board;
}

struct Page {
  double width = 0, height = 0;  // upright [m]
};
Page ParsePage(const std::string& text) {
  constexpr std::pair<const char*, Page> kPages[] = {
      {"a4", {0.210, 0.297}}, {"a3", {0.297, 0.420}}, {"a2", {0.420, 0.594}},
      {"a1", {0.594, 0.841}}, {"a0", {0.841, 1.189}}, {"letter", {0.2159, 0.2794}}};
  for (const auto& [name, page] : kPages)
    if (LowerCase(text) == name) return page;
  Page page;
  if (ParsePair(LowerCase(text), &page.width, &page.height) && page.width > 0 && page.height > 0 &&
      page.width <= 20 && page.height <= 20)
    return page;
  throw ConfigError(
      fmt::format("--page: found {}, allowed a4, a3, a2, a1, a0, letter, or WIDTHxHEIGHT in metres",
                  Excerpt(text)));
}

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

}  // namespace

int ConvertCommand(const ConvertArguments& arguments) {
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

int CalibrateCommand(const CalibrateArguments& arguments) {
  const std::vector<Export> exports = ParseExports(arguments.exports);
  const CalibrationConfig plan = LoadCalibration(arguments.file);
  CheckFolder(arguments.out, "--out");
  StageCache stages(arguments.out / ".stages", arguments.force);
  const CalibrationRun run =
      RunCalibration(plan, {.threads = arguments.threads,
                            .quiet = arguments.quiet,
                            .cache = &stages,
                            .cancellation = &pipelines::program_cancellation});
  WriteCalibration(arguments.out, run, arguments.command);
  if (arguments.report)
    WriteCalibrationPage(arguments.out / "calibration.html", run, IMPACTLAB_PLOT_LIBRARY);
  // An export that fails must hide neither the result nor the other exports.
  std::vector<std::string> written, failed;
  for (const Export& one : exports) {
    if (run.refused()) break;
    try {
      WriteRig(one.path, run.rig(), one.format, {.relative = true});
      written.push_back(fmt::format("{:<11} {}", ToString(one.format), one.path.string()));
    } catch (const std::runtime_error& error) {
      failed.push_back(
          fmt::format("--export {}={}: {}", ToString(one.format), one.path.string(), error.what()));
    }
  }
  stages.Prune();
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
    return failed.empty() ? kDone : kUsage;
  }
  fmt::print(stderr, "impactlab: calibration refused, rig.yaml was not written: {}\n",
             WhyRefused(run));
  return kUnusable;
}

int BoardCommand(const BoardArguments& arguments) {
  const Board board = MakeBoard(arguments);
  Page page = ParsePage(arguments.page);
  const std::string extension = LowerCase(arguments.out.extension().string());
  if (extension != ".pdf" && extension != ".svg")
    throw ConfigError(fmt::format("--out: found '{}', allowed a name that ends in .pdf or .svg",
                                  arguments.out.string()));
  // Across where the board is wider than high.
  const Eigen::Vector2d extent = Extent(board);
  if ((extent.x() > extent.y()) != (page.width > page.height)) std::swap(page.width, page.height);
  const auto draw = [&](const Board& b) {
    return extension == ".pdf" ? BoardPdf(b, page.width, page.height)
                               : BoardSvg(b, page.width, page.height);
  };
  std::string text;
  try {
    text = draw(board);
  } catch (const ConfigError& error) {
    // A size that fits is better than a sum to do.
    for (int half_mm = static_cast<int>(std::ceil(2000 * board.pitch)) - 1; half_mm > 2;
         --half_mm) {
      Board smaller = board;
      const double scale = 0.0005 * half_mm / board.pitch;
      smaller.pitch = 0.0005 * half_mm;
      smaller.marker_side *= scale;
      smaller.disc_diameter *= scale;
      try {
        draw(smaller);
      } catch (const ConfigError&) {
        continue;
      }
      throw ConfigError(fmt::format("{}; use a larger --page, or --square-m {:.4g}", error.what(),
                                    smaller.pitch));
    }
    throw;
  }
  WriteFile(arguments.out, text);
  fmt::print(
      "written to {}\nPrint at 100 % (no fitting to the page), measure the ruler, glue the sheet "
      "to something flat and stiff.\nFor the "
      "calibration file, with the length as measured:\n\n{}",
      arguments.out.string(), BoardYaml(board));
  return kDone;
}

}  // namespace impactlab
