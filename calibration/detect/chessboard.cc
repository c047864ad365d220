// Chessboards: fits the corners of a grid, counts its lines and determines its order.

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "calibration/detect/detail/features.h"
#include "data/statistics/order_statistic.h"

namespace impactlab::calibration {
namespace {

// longer pictures are searched at a reduced size and fitted at full size [px]
constexpr int kLargestChessboardSearch = 1600;
constexpr int kMostLines = 60;  // that a grid is grown by on a side
constexpr double kLeastRelativeContrast = 0.7;
// of the corners of a line, or of the board, that must be there
constexpr double kLeastCornerShare = 0.6;

// Vectors from corner to corner about (column, row), right at the rim too.
void Steps(const CornerGrid& grid, int column, int row, Eigen::Vector2d* du, Eigen::Vector2d* dv) {
  const auto at = [&](int c, int r) -> const Eigen::Vector2d& {
    return grid.q[static_cast<std::size_t>(r) * grid.columns + c];
  };
  const int c0 = std::max(0, column - 1), c1 = std::min(grid.columns - 1, column + 1);
  const int r0 = std::max(0, row - 1), r1 = std::min(grid.rows - 1, row + 1);
  *du = (at(c1, row) - at(c0, row)) / std::max(1, c1 - c0);
  *dv = (at(column, r1) - at(column, r0)) / std::max(1, r1 - r0);
}

// +1 when the field between -x and -y of corner (0, 0) is white, -1 when black, by vote of all
// corners.
int FirstFieldVote(const CornerGrid& grid) {
  int vote = 0;
  for (int r = 0; r < grid.rows; ++r)
    for (int c = 0; c < grid.columns; ++c)
      if (const auto& fit = grid.fits[static_cast<std::size_t>(r) * grid.columns + c])
        vote += (fit->contrast > 0) == ((r + c) % 2 == 0) ? 1 : -1;
  return vote > 0 ? 1 : -1;
}

// Rows below the last one. Other sides are grown by turning the grid.
void GrowBelow(const GrayImage& image, CornerGrid* grid) {
  const int sign = FirstFieldVote(*grid);
  for (int grown = 0; grown < kMostLines && grid->rows >= 3; ++grown) {
    std::vector<Eigen::Vector2d> places;
    std::vector<std::optional<CornerFit>> fits;
    std::vector<double> relative_contrast;
    int present = 0, inside = 0;
    const int row = grid->rows;
    for (int c = 0; c < grid->columns; ++c) {
      const auto at = [&](int r) {
        return grid->q[static_cast<std::size_t>(r) * grid->columns + c];
      };
      // A line in perspective: the ratio of successive steps is constant.
      const Eigen::Vector2d last = at(row - 1) - at(row - 2), before = at(row - 2) - at(row - 3);
      const double ratio = std::clamp(last.norm() / std::max(before.norm(), 1e-9), 0.7, 1.4);
      CornerGuess guess;
      guess.q = at(row - 1) + last * ratio;
      Steps(*grid, c, row - 1, &guess.du, &guess.dv);
      guess.dv = last * ratio;
      inside += guess.q.x() > 3 && guess.q.y() > 3 && guess.q.x() < image.width - 4 &&
                guess.q.y() < image.height - 4;
      auto fit = FitCorner(image, guess);
      const int expected = (row + c) % 2 == 0 ? sign : -sign;
      if (fit && ((fit->contrast > 0) != (expected > 0) ||
                  (fit->q - guess.q).norm() > 0.3 * std::min(guess.du.norm(), guess.dv.norm())))
        fit.reset();
      present += fit.has_value();
      if (const auto& above = grid->fits[static_cast<std::size_t>(row - 1) * grid->columns + c];
          fit && above)
        relative_contrast.push_back(std::abs(fit->contrast / above->contrast) /
                                    std::max(1.0, fit->width / above->width / 1.2));
      places.push_back(fit ? fit->q : guess.q);
      fits.push_back(fit);
    }
    if (present < 3 || present < kLeastCornerShare * grid->columns ||
        inside < kLeastCornerShare * grid->columns)
      break;
    // At the rim of the board three fields of four are white: seen as a corner, it has half the
    // contrast.
    if (relative_contrast.empty() || UpperMedian(relative_contrast) < kLeastRelativeContrast) break;
    grid->q.insert(grid->q.end(), places.begin(), places.end());
    grid->fits.insert(grid->fits.end(), fits.begin(), fits.end());
    ++grid->rows;
  }
}

// Removes lines that the picture does not have.
void TrimBelow(CornerGrid* grid) {
  for (; grid->rows > 1; --grid->rows) {
    const auto last = grid->fits.end() - grid->columns;
    if (static_cast<double>(std::count_if(last, grid->fits.end(), [](const auto& f) {
          return f.has_value();
        })) >= kLeastCornerShare * grid->columns)
      return;
    grid->fits.erase(last, grid->fits.end());
    grid->q.erase(grid->q.end() - grid->columns, grid->q.end());
  }
}

// By 90 degrees, to the right-handed or left-handed grid it was: (column, row) -> (rows - 1 - row,
// column). The field between -x and -y becomes a neighbour's, so contrasts change sign.
CornerGrid Turned(const CornerGrid& grid) {
  CornerGrid turned{grid.rows, grid.columns, grid.q, grid.fits};
  for (int r = 0; r < grid.rows; ++r) {
    for (int c = 0; c < grid.columns; ++c) {
      const std::size_t to = static_cast<std::size_t>(c) * turned.columns + (grid.rows - 1 - r);
      turned.q[to] = grid.q[static_cast<std::size_t>(r) * grid.columns + c];
      turned.fits[to] = grid.fits[static_cast<std::size_t>(r) * grid.columns + c];
      if (turned.fits[to]) turned.fits[to]->contrast *= -1;
    }
  }
  return turned;
}

CornerGrid Reflected(const CornerGrid& grid) {
  CornerGrid out = grid;
  for (int r = 0; r < grid.rows; ++r) {
    const auto row = static_cast<std::ptrdiff_t>(r) * grid.columns;
    std::reverse(out.q.begin() + row, out.q.begin() + row + grid.columns);
    std::reverse(out.fits.begin() + row, out.fits.begin() + row + grid.columns);
  }
  for (auto& fit : out.fits)
    if (fit) fit->contrast *= -1;
  return out;
}

double Handedness(const CornerGrid& grid) {
  double sum = 0;
  for (int r = 0; r + 1 < grid.rows; ++r) {
    for (int c = 0; c + 1 < grid.columns; ++c) {
      const std::size_t k = static_cast<std::size_t>(r) * grid.columns + c;
      const Eigen::Vector2d u = grid.q[k + 1] - grid.q[k], v = grid.q[k + grid.columns] - grid.q[k];
      sum += u.x() * v.y() - u.y() * v.x();
    }
  }
  return sum;
}

// How much x points to the right in the image: cosine of the mean direction.
double Rightward(const CornerGrid& grid) {
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  for (int r = 0; r < grid.rows; ++r)
    sum += grid.q[static_cast<std::size_t>(r + 1) * grid.columns - 1] -
           grid.q[static_cast<std::size_t>(r) * grid.columns];
  return sum.x() / std::max(sum.norm(), 1e-12);
}

// Fits again from the fitted corners, so that the result does not depend on the start positions.
void Refit(const GrayImage& image, CornerGrid* grid) {
  const CornerGrid before = *grid;
  for (int r = 0; r < grid->rows; ++r) {
    for (int c = 0; c < grid->columns; ++c) {
      const std::size_t k = static_cast<std::size_t>(r) * grid->columns + c;
      if (!before.fits[k]) continue;
      CornerGuess guess;
      guess.q = before.q[k];
      Steps(before, c, r, &guess.du, &guess.dv);
      if (const auto fit = FitCorner(image, guess);
          fit && (fit->contrast > 0) == (before.fits[k]->contrast > 0)) {
        grid->fits[k] = fit;
        grid->q[k] = fit->q;
      }
    }
  }
}

struct Search {
  cv::Mat image;
  int scale = 1;
};

std::optional<CornerGrid> Grid(const std::vector<cv::Point2f>& corners, int columns, int rows,
                               int scale) {
  if (static_cast<int>(corners.size()) != columns * rows || columns < 2 || rows < 2)
    return std::nullopt;
  CornerGrid grid{columns, rows, {}, {}};
  for (const cv::Point2f& p : corners)
    grid.q.emplace_back((p.x + 0.5) * scale - 0.5, (p.y + 0.5) * scale - 0.5);
  grid.fits.resize(grid.q.size());
  return grid;
}

std::optional<CornerGrid> FindClassic(const Search& search, const Board& board) {
  std::vector<cv::Point2f> corners;
  if (!cv::findChessboardCorners(
          search.image, {board.columns, board.rows}, corners,
          cv::CALIB_CB_ADAPTIVE_THRESH | cv::CALIB_CB_NORMALIZE_IMAGE | cv::CALIB_CB_FAST_CHECK))
    return std::nullopt;
  return Grid(corners, board.columns, board.rows, search.scale);
}

std::optional<CornerGrid> FindSector(const Search& search, const Board& board, int flags) {
  std::vector<cv::Point2f> corners;
  if (!cv::findChessboardCornersSB(search.image, {board.columns, board.rows}, corners,
                                   flags | cv::CALIB_CB_NORMALIZE_IMAGE))
    return std::nullopt;
  return Grid(corners, board.columns, board.rows, search.scale);
}

// The picture for the detectors of OpenCV, made smaller where it is large.
Search MakeSearch(const GrayImage& image) {
  const cv::Mat full(image.height, image.width, CV_8U,
                     const_cast<std::uint8_t*>(image.pixels.data()));
  Search search{full, 1};
  if (const int longest = std::max(image.width, image.height); longest > kLargestChessboardSearch) {
    search.scale = (longest + kLargestChessboardSearch - 1) / kLargestChessboardSearch;
    // Whole blocks of pixels only, so that positions map exactly.
    const cv::Rect whole(0, 0, image.width / search.scale * search.scale,
                         image.height / search.scale * search.scale);
    cv::Mat smaller;
    cv::resize(full(whole), smaller, {whole.width / search.scale, whole.height / search.scale}, 0,
               0, cv::INTER_AREA);
    search.image = smaller;
  }
  return search;
}

bool HasSizeOf(const Board& board, const CornerGrid& g) {
  return std::minmax(g.columns, g.rows) == std::minmax(board.columns, board.rows);
}

// Grids of corners in the picture, by the detectors that the options name, in order until one has
// the size of the board. `detected` is that of OpenCV, where it was asked.
std::vector<CornerGrid> FindBoardGrids(const GrayImage& image, const Board& board,
                                       const DetectOptions& options, const Search& search,
                                       std::optional<CornerGrid>* detected) {
  using Method = DetectOptions::Method;
  std::vector<CornerGrid> grids;
  const auto found = [&] {
    return std::any_of(grids.begin(), grids.end(),
                       [&](const CornerGrid& g) { return HasSizeOf(board, g); });
  };
  const auto add = [&](std::optional<CornerGrid> grid) {
    *detected = std::move(grid);
    if (!*detected) return;
    grids.push_back(**detected);
    FitGrid(image, &grids.back());
  };
  if (options.method == Method::kClassic) add(FindClassic(search, board));
  if (options.method == Method::kSector) add(FindSector(search, board, cv::CALIB_CB_ACCURACY));
  // From its saddle points, fine, then coarse against noise and blur: also tells a wrong number of
  // squares from an absent board.
  for (int scale = search.scale; scale <= 2 * search.scale && !found(); scale *= 2) {
    std::vector<CornerGrid> more = FindGrids(image, scale);
    grids.insert(grids.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }
  // The classic search takes seconds over a board that is cut off; where part of a grid was seen
  // the sector based one takes a fifth of that.
  if (!found() && options.method == Method::kAuto)
    add(grids.empty() ? FindClassic(search, board) : FindSector(search, board, 0));
  return grids;
}

}  // namespace

void FitGrid(const GrayImage& image, CornerGrid* grid) {
  grid->fits.assign(grid->q.size(), std::nullopt);
  for (int r = 0; r < grid->rows; ++r) {
    for (int c = 0; c < grid->columns; ++c) {
      const std::size_t k = static_cast<std::size_t>(r) * grid->columns + c;
      CornerGuess guess;
      guess.q = grid->q[k];
      Steps(*grid, c, r, &guess.du, &guess.dv);
      grid->fits[k] = FitCorner(image, guess);
    }
  }
  for (std::size_t k = 0; k < grid->q.size(); ++k)
    if (grid->fits[k]) grid->q[k] = grid->fits[k]->q;
  // A fit that does not alternate with its neighbours is a corner of something else.
  const int sign = FirstFieldVote(*grid);
  for (int r = 0; r < grid->rows; ++r) {
    for (int c = 0; c < grid->columns; ++c) {
      auto& fit = grid->fits[static_cast<std::size_t>(r) * grid->columns + c];
      if (fit && (fit->contrast > 0) != (((r + c) % 2 == 0) == (sign > 0))) fit.reset();
    }
  }
  for (int side = 0; side < 4; ++side) {
    TrimBelow(grid);
    *grid = Turned(*grid);
  }
  const auto fitted = std::count_if(grid->fits.begin(), grid->fits.end(),
                                    [](const auto& f) { return f.has_value(); });
  if (fitted < kLeastCornerShare * static_cast<double>(grid->q.size())) return;
  for (int side = 0; side < 4; ++side) {
    GrowBelow(image, grid);
    *grid = Turned(*grid);
  }
}

bool CanonicalOrder(const Board& board, CornerGrid* grid, bool* orientation_known) {
  *orientation_known = false;
  if (Handedness(*grid) < 0) *grid = Reflected(*grid);
  if (grid->columns != board.columns || grid->rows != board.rows) *grid = Turned(*grid);
  if (grid->columns != board.columns || grid->rows != board.rows) return false;
  std::vector<CornerGrid> candidates;
  CornerGrid turned = *grid;
  for (int quarter = 0; quarter < 4; ++quarter, turned = Turned(turned))
    if (turned.columns == board.columns && turned.rows == board.rows) candidates.push_back(turned);
  // Colours decide between turns of the board only where its turns differ in colour.
  const auto symmetric = Symmetries(board, true).size();
  std::vector<CornerGrid> black;
  for (const CornerGrid& g : candidates)
    if (FirstFieldVote(g) < 0) black.push_back(g);
  if (!black.empty()) candidates = black;
  *orientation_known = symmetric == 1;
  *grid = *std::max_element(
      candidates.begin(), candidates.end(),
      [](const CornerGrid& a, const CornerGrid& b) { return Rightward(a) < Rightward(b); });
  return true;
}

void DetectChessboard(const GrayImage& image, const Board& board, const DetectOptions& options,
                      BoardView* view) {
  const Search search = MakeSearch(image);
  std::optional<CornerGrid> detected;
  const std::vector<CornerGrid> grids = FindBoardGrids(image, board, options, search, &detected);
  if (grids.empty()) {
    view->problem = "no chessboard was found";
    return;
  }
  auto best = std::find_if(grids.begin(), grids.end(),
                           [&](const CornerGrid& g) { return HasSizeOf(board, g); });
  if (best == grids.end())
    best = std::max_element(
        grids.begin(), grids.end(),
        [](const CornerGrid& a, const CornerGrid& b) { return a.q.size() < b.q.size(); });
  CornerGrid found = *best;
  const int columns = std::max(found.columns, found.rows),
            rows = std::min(found.columns, found.rows);
  Refit(image, &found);
  bool known = false;
  if (!CanonicalOrder(board, &found, &known)) {
    const bool turned = board.columns < board.rows;
    view->problem =
        fmt::format("a grid of {} x {} inner corners was found, {} x {} asked",
                    turned ? rows : columns, turned ? columns : rows, board.columns, board.rows);
    return;
  }
  std::vector<double> unit_sd, rms, width;
  std::vector<int> ids;
  for (int id = 0; id < static_cast<int>(found.q.size()); ++id) {
    if (!found.fits[id]) continue;
    ids.push_back(id);
    unit_sd.push_back(found.fits[id]->unit_sd);
    rms.push_back(found.fits[id]->rms);
    width.push_back(found.fits[id]->width);
  }
  if (static_cast<double>(ids.size()) < kLeastCornerShare * PointCount(board)) {
    view->problem = fmt::format(
        "a chessboard was found, but only {} of its {} corners can be measured (blur, glare or too "
        "small)",
        ids.size(), PointCount(board));
    return;
  }
  const std::vector<double> sd = RelativeSd(unit_sd, rms);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    Eigen::Vector2d q = found.q[ids[k]];
    if (!options.refine) {  // the detector's own position, where it had one
      for (const Eigen::Vector2d& p : detected ? detected->q : std::vector<Eigen::Vector2d>())
        if ((p - q).norm() < 3.0 * search.scale + 1) q = p;
    }
    view->points.push_back({ids[k], q, sd[k]});
  }
  view->orientation_known = known;
  view->sharpness = 1 / UpperMedian(width);
}

}  // namespace impactlab::calibration
