// The verb that draws calibration boards.

#include "calibration/board/board.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/verb.h"

namespace impactlab::pipelines {
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

struct BoardArguments {
  std::string kind = "chessboard";
  std::string corners = "9x6";  // points in a row x points in a column; discs of circle grids
  // side of a square, spacing of discs, half the spacing of an asymmetric grid [m]
  double square = 0;
  double marker = 0;         // ChArUco [m]; 0: 0.75 of the square
  double disc_diameter = 0;  // circle grids [m]; 0: half of the distance between discs
  std::string dictionary = "4X4_50";
  bool legacy = false;
  std::string page = "a4";
  std::filesystem::path out = "board.pdf";  // .pdf or .svg
};

Board MakeBoard(const BoardArguments& arguments) {
  Board board;
  bool known = false;
  std::vector<std::string> kinds;
  for (const BoardKind kind : kBoardKinds) {
    kinds.emplace_back(ToString(kind));
    if (arguments.kind != ToString(kind)) continue;
    board.kind = kind;
    known = true;
  }
  if (!known)
    throw ConfigError(
        fmt::format("--kind: found {}, allowed {}", Excerpt(arguments.kind), JoinNames(kinds)));
  if (!ParsePair(LowerCase(arguments.corners), &board.columns, &board.rows))
    throw ConfigError(fmt::format("--corners: found {}, allowed COLUMNSxROWS such as 9x6",
                                  Excerpt(arguments.corners)));
  if (!std::isfinite(arguments.square) || arguments.square <= 0)
    throw ConfigError(
        fmt::format("--square-m: found {}, allowed a length above 0", arguments.square));
  board.pitch = arguments.square;
  if (board.kind == BoardKind::kCharuco) {
    // whole micrometres, to be typed again
    board.marker_side =
        arguments.marker > 0 ? arguments.marker : std::round(0.75e6 * board.pitch) / 1e6;
    board.dictionary = arguments.dictionary;
    board.legacy = arguments.legacy;
  }
  const double apart =
      board.kind == BoardKind::kAsymmetricCircles ? std::sqrt(2.0) * board.pitch : board.pitch;
  if (!HasSquares(board.kind))
    board.disc_diameter = arguments.disc_diameter > 0 ? arguments.disc_diameter : 0.5 * apart;
  if (const std::string fault = Fault(board); !fault.empty()) throw ConfigError("board: " + fault);
  return board;
}

struct BoardPage {
  double width = 0, height = 0;  // upright [m]
};
BoardPage ParsePage(const std::string& text) {
  constexpr std::pair<const char*, BoardPage> kPages[] = {
      {"a4", {0.210, 0.297}}, {"a3", {0.297, 0.420}}, {"a2", {0.420, 0.594}},
      {"a1", {0.594, 0.841}}, {"a0", {0.841, 1.189}}, {"letter", {0.2159, 0.2794}}};
  for (const auto& [name, page] : kPages)
    if (LowerCase(text) == name) return page;
  BoardPage page;
  if (ParsePair(LowerCase(text), &page.width, &page.height) && page.width > 0 && page.height > 0 &&
      page.width <= 20 && page.height <= 20)
    return page;
  throw ConfigError(
      fmt::format("--page: found {}, allowed a4, a3, a2, a1, a0, letter, or WIDTHxHEIGHT in metres",
                  Excerpt(text)));
}

int RunBoard(const BoardArguments& arguments) {
  const Board board = MakeBoard(arguments);
  BoardPage page = ParsePage(arguments.page);
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

}  // namespace

Action AddBoard(CLI::App& verb, const Invocation&) {
  const auto arguments = std::make_shared<BoardArguments>();
  verb.add_option("--kind", arguments->kind, "chessboard, charuco, circles or asymmetric-circles")
      ->capture_default_str();
  verb.add_option("--corners", arguments->corners,
                  "inner corners (squares less one) or discs, columns x rows")
      ->capture_default_str();
  verb.add_option("--square-m", arguments->square,
                  "side of a square; spacing of discs (asymmetric grids: half of it)")
      ->required();
  verb.add_option("--marker-m", arguments->marker, "side of a marker; 0: 0.75 of the square");
  verb.add_option("--disc-diameter-m", arguments->disc_diameter,
                  "diameter of a disc; 0: half of the distance between discs");
  verb.add_option("--dictionary", arguments->dictionary, "of ChArUco markers")
      ->capture_default_str();
  verb.add_flag("--legacy", arguments->legacy, "ChArUco pattern of OpenCV before 4.6");
  verb.add_option("--page", arguments->page,
                  "a4, a3, a2, a1, a0, letter, or WIDTHxHEIGHT in metres")
      ->capture_default_str();
  verb.add_option("-o,--out", arguments->out, "file to write: .pdf or .svg")->capture_default_str();
  return [arguments] { return RunBoard(*arguments); };
}

}  // namespace impactlab::pipelines
