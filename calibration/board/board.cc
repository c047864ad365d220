#include "calibration/board/board.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include "calibration/board/pattern.h"
#include "data/base/aruco_opencv.h"
#include "data/base/enum_rows.h"

namespace impactlab {
namespace {

static_assert(!IsEnumerator<static_cast<BoardKind>(std::size(kBoardKinds))>(),
              "a kind of board without its place in kBoardKinds");

constexpr int kMostPoints = 200;  // in a row or column

struct NamedDictionary {
  const char* name;
  int id, size;
};
constexpr std::array<NamedDictionary, 21> kDictionaries{{
    {"4X4_50", cv::aruco::DICT_4X4_50, 50},
    {"4X4_100", cv::aruco::DICT_4X4_100, 100},
    {"4X4_250", cv::aruco::DICT_4X4_250, 250},
    {"4X4_1000", cv::aruco::DICT_4X4_1000, 1000},
    {"5X5_50", cv::aruco::DICT_5X5_50, 50},
    {"5X5_100", cv::aruco::DICT_5X5_100, 100},
    {"5X5_250", cv::aruco::DICT_5X5_250, 250},
    {"5X5_1000", cv::aruco::DICT_5X5_1000, 1000},
    {"6X6_50", cv::aruco::DICT_6X6_50, 50},
    {"6X6_100", cv::aruco::DICT_6X6_100, 100},
    {"6X6_250", cv::aruco::DICT_6X6_250, 250},
    {"6X6_1000", cv::aruco::DICT_6X6_1000, 1000},
    {"7X7_50", cv::aruco::DICT_7X7_50, 50},
    {"7X7_100", cv::aruco::DICT_7X7_100, 100},
    {"7X7_250", cv::aruco::DICT_7X7_250, 250},
    {"7X7_1000", cv::aruco::DICT_7X7_1000, 1000},
    {"ARUCO_ORIGINAL", cv::aruco::DICT_ARUCO_ORIGINAL, 1024},
    {"APRILTAG_16h5", cv::aruco::DICT_APRILTAG_16h5, 30},
    {"APRILTAG_25h9", cv::aruco::DICT_APRILTAG_25h9, 35},
    {"APRILTAG_36h10", cv::aruco::DICT_APRILTAG_36h10, 2320},
    {"APRILTAG_36h11", cv::aruco::DICT_APRILTAG_36h11, 587},
}};

// Place of a point in units of the pitch.
Eigen::Vector2i GridPlace(const Board& board, int id) {
  const int row = id / board.columns, column = id % board.columns;
  if (board.kind == BoardKind::kAsymmetricCircles) return {2 * column + row % 2, row};
  return {column, row};
}

}  // namespace

namespace calibration {

int DictionaryId(const std::string& name) {
  for (const NamedDictionary& d : kDictionaries)
    if (name == d.name) return d.id;
  return -1;
}

int DictionarySize(const std::string& name) {
  for (const NamedDictionary& d : kDictionaries)
    if (name == d.name) return d.size;
  return -1;
}

std::string DictionaryNames() {
  std::string all;
  for (const NamedDictionary& d : kDictionaries)
    all += (all.empty() ? "" : ", ") + std::string(d.name);
  return all;
}

BoardPattern::BoardPattern(const Board& b) : board(b) {
  if (!HasSquares(board.kind)) {
    const Eigen::Vector2d r = Eigen::Vector2d::Constant(board.disc_diameter / 2);
    lower = -r;
    upper = Extent(board) + r;
    return;
  }
  squares_x = board.columns + 1;
  squares_y = board.rows + 1;
  lower = Eigen::Vector2d::Constant(-board.pitch);
  upper = Eigen::Vector2d(board.columns, board.rows) * board.pitch;
  if (board.kind == BoardKind::kChessboard) return;

  first_black = !(board.legacy && squares_y % 2 == 0);
  const cv::aruco::Dictionary dictionary = ArucoDictionary(DictionaryId(board.dictionary));
  cells = dictionary.markerSize + 2;
  for (int j = 0; j < squares_y; ++j) {
    for (int i = 0; i < squares_x; ++i) {
      if (((i + j) % 2 == 0) == first_black) {
        marker_of_square.push_back(-1);
        continue;
      }
      const int id = static_cast<int>(marker_square.size());
      marker_of_square.push_back(id);
      marker_square.emplace_back(i, j);
      std::vector<std::uint8_t> black(static_cast<std::size_t>(cells) * cells, 1);
      const cv::Mat bits = cv::aruco::Dictionary::getBitsFromByteList(
          dictionary.bytesList.rowRange(id, id + 1), dictionary.markerSize);
      for (int y = 0; y < bits.rows; ++y)
        for (int x = 0; x < bits.cols; ++x)
          black[static_cast<std::size_t>(y + 1) * cells + x + 1] = bits.at<std::uint8_t>(y, x) == 0;
      marker_black.push_back(std::move(black));
    }
  }
}

Eigen::Vector2d BoardPattern::MarkerCorner(int marker) const {
  const double rim = (board.pitch - board.marker_side) / 2;
  return (marker_square[marker].cast<double>().array() - 1.0).matrix() * board.pitch +
         Eigen::Vector2d::Constant(rim);
}

bool BoardPattern::Black(double x, double y) const {
  if (!(x >= lower.x() && x <= upper.x() && y >= lower.y() && y <= upper.y())) return false;
  if (!HasSquares(board.kind)) {
    const double r2 = board.disc_diameter * board.disc_diameter / 4;
    if (board.kind == BoardKind::kCircles) {
      const double dx = x - board.pitch * std::round(x / board.pitch),
                   dy = y - board.pitch * std::round(y / board.pitch);
      return dx * dx + dy * dy < r2;
    }
    const int nearest = static_cast<int>(std::round(y / board.pitch));
    for (int row = nearest - 1; row <= nearest + 1; ++row) {
      if (row < 0 || row >= board.rows) continue;
      const double shift = row % 2 * board.pitch, step = 2 * board.pitch;
      const double column = std::round((x - shift) / step);
      if (column < 0 || column >= board.columns) continue;
      const double dx = x - shift - step * column, dy = y - board.pitch * row;
      if (dx * dx + dy * dy < r2) return true;
    }
    return false;
  }
  const double u = x / board.pitch + 1, v = y / board.pitch + 1;
  const int i = std::min(static_cast<int>(u), squares_x - 1),
            j = std::min(static_cast<int>(v), squares_y - 1);
  if (((i + j) % 2 == 0) == first_black) return true;
  if (board.kind == BoardKind::kChessboard) return false;
  const double scale = cells * board.pitch / board.marker_side,
               start = (board.pitch - board.marker_side) / (2 * board.pitch);
  const double a = (u - i - start) * scale, b = (v - j - start) * scale;
  if (a < 0 || b < 0 || a >= cells || b >= cells) return false;
  const int marker = marker_of_square[static_cast<std::size_t>(j) * squares_x + i];
  return marker_black[marker][static_cast<std::size_t>(b) * cells + static_cast<std::size_t>(a)] !=
         0;
}

int BoardPattern::Uniform(double x0, double y0, double x1, double y1) const {
  if (x1 < lower.x() || y1 < lower.y() || x0 > upper.x() || y0 > upper.y()) return 0;
  if (x0 < lower.x() || y0 < lower.y() || x1 > upper.x() || y1 > upper.y()) return -1;
  if (!HasSquares(board.kind)) {
    const double x = (x0 + x1) / 2, y = (y0 + y1) / 2, reach = std::hypot(x1 - x0, y1 - y0) / 2,
                 r = board.disc_diameter / 2;
    const bool shifted = board.kind == BoardKind::kAsymmetricCircles;
    double nearest = INFINITY;
    const int row = static_cast<int>(std::round(y / board.pitch));
    for (int k = row - 1; k <= row + 1; ++k) {
      if (k < 0 || k >= board.rows) continue;
      const double shift = shifted ? k % 2 * board.pitch : 0,
                   step = shifted ? 2 * board.pitch : board.pitch;
      const double c = std::clamp(std::round((x - shift) / step), 0.0, board.columns - 1.0);
      nearest = std::min(nearest, std::hypot(x - shift - step * c, y - board.pitch * k));
    }
    return nearest + reach < r ? 1 : nearest - reach > r ? 0 : -1;
  }
  const double u0 = x0 / board.pitch + 1, u1 = x1 / board.pitch + 1, v0 = y0 / board.pitch + 1,
               v1 = y1 / board.pitch + 1;
  const int i = std::min(static_cast<int>(u0), squares_x - 1),
            j = std::min(static_cast<int>(v0), squares_y - 1);
  if (u1 > i + 1 || v1 > j + 1) return -1;
  if (((i + j) % 2 == 0) == first_black) return 1;
  if (board.kind == BoardKind::kChessboard) return 0;
  const double scale = cells * board.pitch / board.marker_side,
               start = (board.pitch - board.marker_side) / (2 * board.pitch);
  const double a0 = (u0 - i - start) * scale, a1 = (u1 - i - start) * scale,
               b0 = (v0 - j - start) * scale, b1 = (v1 - j - start) * scale;
  if (a1 < 0 || b1 < 0 || a0 > cells || b0 > cells) return 0;
  if (a0 < 0 || b0 < 0 || a1 >= cells || b1 >= cells) return -1;
  const int a = static_cast<int>(a0), b = static_cast<int>(b0);
  if (a1 > a + 1 || b1 > b + 1) return -1;
  const int marker = marker_of_square[static_cast<std::size_t>(j) * squares_x + i];
  return marker_black[marker][static_cast<std::size_t>(b) * cells + a];
}

std::vector<BoardPattern::Rectangle> BoardPattern::BlackRectangles() const {
  std::vector<Rectangle> all;
  if (!HasSquares(board.kind)) return all;
  for (int j = 0; j < squares_y; ++j)
    for (int i = 0; i < squares_x; ++i)
      if (((i + j) % 2 == 0) == first_black)
        all.push_back({(i - 1) * board.pitch, (j - 1) * board.pitch, board.pitch, board.pitch});
  const double cell = cells > 0 ? board.marker_side / cells : 0;
  for (std::size_t m = 0; m < marker_black.size(); ++m) {
    const Eigen::Vector2d corner = MarkerCorner(static_cast<int>(m));
    for (int b = 0; b < cells; ++b) {
      for (int a = 0, end = 0; a < cells; a = end) {
        end = a + 1;
        if (!marker_black[m][static_cast<std::size_t>(b) * cells + a]) continue;
        while (end < cells && marker_black[m][static_cast<std::size_t>(b) * cells + end]) ++end;
        all.push_back({corner.x() + a * cell, corner.y() + b * cell, (end - a) * cell, cell});
      }
    }
  }
  return all;
}

}  // namespace calibration

namespace {

// What is said of a kind, in one place.
struct KindWords {
  const char* word;  // in files
  const char* for_people;
  bool squares;
};

KindWords WordsOf(BoardKind kind) {
  switch (kind) {
    case BoardKind::kChessboard:
      return {"chessboard", "chessboard", true};
    case BoardKind::kCharuco:
      return {"charuco", "ChArUco board", true};
    case BoardKind::kCircles:
      return {"circles", "grid of discs", false};
    case BoardKind::kAsymmetricCircles:
      return {"asymmetric-circles", "staggered grid of discs", false};
  }
  return {"", "", false};
}

}  // namespace

const char* ToString(BoardKind kind) { return WordsOf(kind).word; }

const char* BoardWords(BoardKind kind) { return WordsOf(kind).for_people; }

bool HasSquares(BoardKind kind) { return WordsOf(kind).squares; }

std::string Fault(const Board& board) {
  // The detectors need three inner corners in each direction to distinguish a chessboard from any
  // other crossing of lines.
  const int least = board.kind == BoardKind::kChessboard ? 3 : 2;
  if (board.columns < least) return fmt::format("columns is {}, at least {}", board.columns, least);
  if (board.rows < least) return fmt::format("rows is {}, at least {}", board.rows, least);
  if (board.columns > kMostPoints)
    return fmt::format("columns is {}, at most {}", board.columns, kMostPoints);
  if (board.rows > kMostPoints)
    return fmt::format("rows is {}, at most {}", board.rows, kMostPoints);
  if (!(board.pitch > 0) || !std::isfinite(board.pitch))
    return fmt::format("pitch is {} m, must be above 0", board.pitch);
  if (!HasSquares(board.kind)) {
    if (!(board.disc_diameter > 0))
      return fmt::format("disc_diameter is {} m, must be above 0", board.disc_diameter);
    const double nearest =
        board.kind == BoardKind::kCircles ? board.pitch : std::sqrt(2.0) * board.pitch;
    if (!(board.disc_diameter < nearest))
      return fmt::format("disc_diameter is {} m, the discs touch: must be below {:.6g} m",
                         board.disc_diameter, nearest);
  }
  if (board.kind == BoardKind::kCharuco) {
    if (!(board.marker_side > 0))
      return fmt::format("marker_side is {} m, must be above 0", board.marker_side);
    if (!(board.marker_side < board.pitch))
      return fmt::format("marker_side is {} m, must be below pitch ({} m)", board.marker_side,
                         board.pitch);
    const int size = calibration::DictionarySize(board.dictionary);
    if (size < 0)
      return fmt::format("dictionary is '{}', known: {}", board.dictionary,
                         calibration::DictionaryNames());
    const int squares = (board.columns + 1) * (board.rows + 1);
    const bool first_black = !(board.legacy && (board.rows + 1) % 2 == 0);
    const int markers = first_black ? squares / 2 : (squares + 1) / 2;
    if (markers > size)
      return fmt::format("dictionary {} has {} markers, the board needs {}", board.dictionary, size,
                         markers);
  }
  return "";
}

int PointCount(const Board& board) { return board.columns * board.rows; }

Eigen::Vector3d PointOnBoard(const Board& board, int id) {
  const Eigen::Vector2i place = GridPlace(board, id);
  return {place.x() * board.pitch, place.y() * board.pitch, 0};
}

Eigen::Vector2d Extent(const Board& board) {
  double columns = board.columns - 1;
  if (board.kind == BoardKind::kAsymmetricCircles)
    columns = 2.0 * (board.columns - 1) + (board.rows > 1 ? 1 : 0);
  return Eigen::Vector2d(columns, board.rows - 1) * board.pitch;
}

std::vector<std::vector<int>> Symmetries(const Board& board, bool with_colours) {
  std::vector<std::vector<int>> all;
  const int n = PointCount(board);
  std::vector<int> identity(n);
  for (int id = 0; id < n; ++id) identity[id] = id;
  all.push_back(identity);
  if (board.kind == BoardKind::kCharuco && with_colours)
    return all;  // the markers identify the points

  // Every quarter turn that maps the set of places onto itself. Turned by 90 degrees (x, y) goes to
  // (-y, x).
  std::vector<Eigen::Vector2i> places(n);
  for (int id = 0; id < n; ++id) places[id] = GridPlace(board, id);
  const auto less = [](const Eigen::Vector2i& a, const Eigen::Vector2i& b) {
    return a.y() != b.y() ? a.y() < b.y() : a.x() < b.x();
  };
  for (int quarter = 1; quarter < 4; ++quarter) {
    std::vector<Eigen::Vector2i> turned = places;
    for (Eigen::Vector2i& p : turned)
      for (int k = 0; k < quarter; ++k) p = Eigen::Vector2i(-p.y(), p.x());
    Eigen::Vector2i shift = turned[0];
    for (const Eigen::Vector2i& p : turned) shift = shift.cwiseMin(p);
    std::vector<int> map(n);
    bool onto = true;
    for (int id = 0; id < n && onto; ++id) {
      // Places are in ascending order by construction.
      const auto found =
          std::lower_bound(places.begin(), places.end(), Eigen::Vector2i(turned[id] - shift), less);
      onto = found != places.end() && *found == turned[id] - shift;
      if (onto) map[id] = static_cast<int>(found - places.begin());
    }
    if (!onto) continue;
    if (with_colours && HasSquares(board.kind)) {
      // The square up and left of a corner is black when column + row is even. A quarter turn
      // brings another of the four squares there, and two neighbours differ in colour.
      const Eigen::Vector2i end = GridPlace(board, map[0]);
      if ((end.x() + end.y() + quarter) % 2 != 0) continue;
    }
    all.push_back(map);
  }
  return all;
}

}  // namespace impactlab
