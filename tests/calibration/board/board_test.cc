#include "calibration/board/board.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <sstream>

#include "calibration/board/pattern.h"
#include "data/base/aruco_opencv.h"
#include "data/base/error.h"
#if !IMPACTLAB_ARUCO_IN_OBJDETECT
#include <opencv2/aruco/charuco.hpp>
#endif

namespace impactlab {
namespace {

Board Chessboard(int columns, int rows) {
  Board board;
  board.columns = columns;
  board.rows = rows;
  return board;
}

Board Discs(BoardKind kind, int columns, int rows) {
  Board board;
  board.kind = kind;
  board.columns = columns;
  board.rows = rows;
  board.pitch = 0.02;
  board.disc_diameter = 0.012;
  return board;
}

Board Charuco(int columns, int rows, bool legacy) {
  Board board;
  board.kind = BoardKind::kCharuco;
  board.columns = columns;
  board.rows = rows;
  board.pitch = 1;
  board.marker_side = 0.7;
  board.dictionary = "5X5_100";
  board.legacy = legacy;
  return board;
}

TEST(BoardTest, PointsGoAlongRowsAndRowsDown) {
  const Board board = Chessboard(9, 6);
  EXPECT_EQ(PointCount(board), 54);
  EXPECT_EQ(PointOnBoard(board, 0), Eigen::Vector3d(0, 0, 0));
  EXPECT_NEAR(PointOnBoard(board, 8).x(), 0.2, 1e-15);
  EXPECT_NEAR(PointOnBoard(board, 9).y(), 0.025, 1e-15);
  EXPECT_EQ(PointOnBoard(board, 9).x(), 0);
  EXPECT_TRUE(Extent(board).isApprox(Eigen::Vector2d(0.2, 0.125)));
}

// The distances inside OpenCV's 4 x 11 pattern: (2 column + row % 2) pitch.
TEST(BoardTest, AsymmetricRowsAreMovedByHalfASpacing) {
  const Board board = Discs(BoardKind::kAsymmetricCircles, 4, 11);
  EXPECT_TRUE(PointOnBoard(board, 4).isApprox(Eigen::Vector3d(0.02, 0.02, 0)));
  EXPECT_TRUE(PointOnBoard(board, 8).isApprox(Eigen::Vector3d(0, 0.04, 0)));
  EXPECT_TRUE(PointOnBoard(board, 7).isApprox(Eigen::Vector3d(0.14, 0.02, 0)));
  EXPECT_TRUE(Extent(board).isApprox(Eigen::Vector2d(0.14, 0.2)));
}

TEST(BoardTest, FaultsNameTheFieldAndTheLimit) {
  EXPECT_EQ(Fault(Chessboard(9, 6)), "");
  EXPECT_NE(Fault(Chessboard(9, 1)).find("rows is 1, at least"), std::string::npos);
  EXPECT_NE(Fault(Chessboard(-3, 6)).find("columns is -3"), std::string::npos);
  EXPECT_NE(Fault(Chessboard(9, 100000)).find("at most"), std::string::npos);
  Board board = Chessboard(9, 6);
  board.pitch = NAN;
  EXPECT_NE(Fault(board).find("pitch"), std::string::npos);
  board.pitch = INFINITY;
  EXPECT_NE(Fault(board).find("pitch"), std::string::npos);

  board = Discs(BoardKind::kCircles, 7, 5);
  EXPECT_EQ(Fault(board), "");
  board.disc_diameter = 0.02;
  EXPECT_NE(Fault(board).find("touch"), std::string::npos);
  board.kind = BoardKind::kAsymmetricCircles;
  EXPECT_EQ(Fault(board), "");  // their nearest neighbours are sqrt(2) pitches away
  board.disc_diameter = 0.0283;
  EXPECT_NE(Fault(board).find("touch"), std::string::npos);
  board.disc_diameter = 0;
  EXPECT_NE(Fault(board).find("disc_diameter"), std::string::npos);

  board = Charuco(5, 7, false);
  EXPECT_EQ(Fault(board), "");
  board.marker_side = 1;
  EXPECT_NE(Fault(board).find("marker_side"), std::string::npos);
  board.marker_side = 0.7;
  board.dictionary = "4X4_51";
  EXPECT_NE(Fault(board).find("4X4_100"), std::string::npos);
  board.dictionary = "4X4_50";
  board.columns = 12;
  board.rows = 10;
  EXPECT_NE(Fault(board).find("has 50 markers, the board needs 71"), std::string::npos);
}

// A symmetry moves the points by one rigid motion of the plane, and where colours count it maps
// black onto black.
void ExpectSymmetric(const Board& board, bool with_colours, int expected) {
  SCOPED_TRACE(std::string(ToString(board.kind)) + " " + std::to_string(board.columns) + " x " +
               std::to_string(board.rows));
  const auto all = Symmetries(board, with_colours);
  ASSERT_EQ(static_cast<int>(all.size()), expected);
  const calibration::BoardPattern pattern(board);
  std::set<std::vector<int>> distinct(all.begin(), all.end());
  EXPECT_EQ(distinct.size(), all.size());
  for (int id = 0; id < PointCount(board); ++id) EXPECT_EQ(all[0][id], id);
  for (const auto& map : all) {
    const Eigen::Vector3d o = PointOnBoard(board, map[0]);
    const int other = board.columns;  // id of a point off the first row
    const Eigen::Vector3d a = PointOnBoard(board, 1), b = PointOnBoard(board, other);
    const Eigen::Vector3d ra = PointOnBoard(board, map[1]) - o,
                          rb = PointOnBoard(board, map[other]) - o;
    Eigen::Matrix2d from, to;
    from << a.head<2>(), b.head<2>();
    to << ra.head<2>(), rb.head<2>();
    const Eigen::Matrix2d R = to * from.inverse();
    EXPECT_NEAR(R.determinant(), 1, 1e-12);  // a mirror image would have -1
    EXPECT_TRUE((R * R.transpose()).isIdentity(1e-12));
    for (int id = 0; id < PointCount(board); ++id)
      EXPECT_LT((R * PointOnBoard(board, id).head<2>() + o.head<2>() -
                 PointOnBoard(board, map[id]).head<2>())
                    .norm(),
                1e-12);
    if (!with_colours) continue;
    const Eigen::Vector2d first = pattern.lower + Eigen::Vector2d(0.0013, 0.0017),
                          step = Eigen::Vector2d(0.0137, 0.0171)
                                     .cwiseProduct(pattern.upper - pattern.lower);
    for (int i = 0; first.x() + i * step.x() < pattern.upper.x(); ++i)
      for (int j = 0; first.y() + j * step.y() < pattern.upper.y(); ++j) {
        const double x = first.x() + i * step.x(), y = first.y() + j * step.y();
        const Eigen::Vector2d p = R * Eigen::Vector2d(x, y) + o.head<2>();
        ASSERT_EQ(pattern.Black(x, y), pattern.Black(p.x(), p.y())) << x << " " << y;
      }
  }
}

TEST(BoardTest, SymmetriesAreThoseOfTheGridAndOfItsColours) {
  ExpectSymmetric(Chessboard(9, 6), false, 2);
  ExpectSymmetric(Chessboard(9, 6), true, 1);
  ExpectSymmetric(Chessboard(9, 7), true, 2);
  ExpectSymmetric(Chessboard(8, 6), true, 2);
  ExpectSymmetric(Chessboard(7, 7), false, 4);
  ExpectSymmetric(Chessboard(7, 7), true, 2);
  ExpectSymmetric(Chessboard(6, 6), true, 4);  // all four corner squares are black
  ExpectSymmetric(Charuco(5, 6, false), false, 2);
  ExpectSymmetric(Charuco(5, 5, false), false, 4);
  ExpectSymmetric(Charuco(5, 5, false), true, 1);
  ExpectSymmetric(Discs(BoardKind::kCircles, 7, 5), true, 2);
  ExpectSymmetric(Discs(BoardKind::kCircles, 6, 6), true, 4);
  ExpectSymmetric(Discs(BoardKind::kAsymmetricCircles, 4, 11), true, 1);
  ExpectSymmetric(Discs(BoardKind::kAsymmetricCircles, 4, 10), true, 2);
  // no quarter turn: its corners are not all filled
  ExpectSymmetric(Discs(BoardKind::kAsymmetricCircles, 4, 8), true, 2);
}

// OpenCV draws the current pattern; ours has the same marker in the same square.
TEST(BoardTest, HostileT10CharucoPatternIsThatOfOpenCv) {
  for (const auto& [columns, rows] :
       {std::pair{4, 6}, std::pair{4, 5}, std::pair{5, 4}, std::pair{5, 5}}) {
    const Board board = Charuco(columns, rows, false);
    const calibration::BoardPattern pattern(board);
    const cv::aruco::Dictionary dictionary = ArucoDictionary(cv::aruco::DICT_5X5_100);
    const cv::Size size((columns + 1) * 100, (rows + 1) * 100);
    cv::Mat drawn;
#if IMPACTLAB_ARUCO_IN_OBJDETECT
    const cv::aruco::CharucoBoard theirs({columns + 1, rows + 1}, 1.0f, 0.7f, dictionary);
    theirs.generateImage(size, drawn, 0, 1);
    const std::size_t markers = theirs.getIds().size();
#else
    const auto theirs = cv::aruco::CharucoBoard::create(
        columns + 1, rows + 1, 1.0f, 0.7f, cv::makePtr<cv::aruco::Dictionary>(dictionary));
    theirs->draw(size, drawn, 0, 1);
    const std::size_t markers = theirs->ids.size();
#endif
    ASSERT_EQ(markers, pattern.marker_square.size());
    int wrong = 0;
    for (int y = 8; y < drawn.rows; y += 10)
      for (int x = 8; x < drawn.cols; x += 10)
        wrong += pattern.Black((x + 0.5) / 100 - 1, (y + 0.5) / 100 - 1) !=
                 (drawn.at<unsigned char>(y, x) < 128);
    EXPECT_EQ(wrong, 0);
  }
}

// The pattern before 4.6: with an even number of rows of squares the upper left one carries marker
// 0.
TEST(BoardTest, HostileT10LegacyPatternDiffersOnlyWithEvenRows) {
  const calibration::BoardPattern even(Charuco(4, 5, true)), odd(Charuco(4, 6, true));
  EXPECT_FALSE(even.first_black);
  EXPECT_EQ(even.marker_square[0], Eigen::Vector2i(0, 0));
  EXPECT_EQ(even.marker_square[1], Eigen::Vector2i(2, 0));
  EXPECT_TRUE(odd.first_black);
  EXPECT_EQ(odd.marker_square[0], Eigen::Vector2i(1, 0));
}

TEST(BoardPatternTest, UniformRectanglesAgreeWithTheirPoints) {
  for (const Board& board :
       {Chessboard(5, 4), Charuco(4, 5, true), Discs(BoardKind::kCircles, 4, 3),
        Discs(BoardKind::kAsymmetricCircles, 3, 5)}) {
    const calibration::BoardPattern pattern(board);
    const Eigen::Vector2d size = (pattern.upper - pattern.lower) * 1.1,
                          start = pattern.lower - size * 0.05;
    int decided = 0;
    for (int k = 0; k < 4000; ++k) {
      const double x = start.x() + size.x() * std::fmod(k * 0.61803398875, 1),
                   y = start.y() + size.y() * std::fmod(k * 0.7548776662, 1);
      const double w = board.pitch * 0.09 * std::fmod(k * 0.5698402909, 1);
      const int uniform = pattern.Uniform(x, y, x + w, y + w);
      if (uniform < 0) continue;
      ++decided;
      for (double a : {0.001, 0.25, 0.5, 0.75, 0.999})
        for (double b : {0.001, 0.25, 0.5, 0.75, 0.999})
          ASSERT_EQ(pattern.Black(x + a * w, y + b * w), uniform == 1);
    }
    EXPECT_GT(decided, 2000);
  }
}

TEST(BoardPatternTest, RectanglesCoverWhatIsBlack) {
  for (const Board& board : {Chessboard(5, 4), Charuco(4, 5, false), Charuco(4, 5, true)}) {
    const calibration::BoardPattern pattern(board);
    const auto rectangles = pattern.BlackRectangles();
    for (int k = 1; k < 3000; ++k) {
      const double x =
          pattern.lower.x() + (pattern.upper - pattern.lower).x() * std::fmod(k * 0.61803398875, 1);
      const double y =
          pattern.lower.y() + (pattern.upper - pattern.lower).y() * std::fmod(k * 0.7548776662, 1);
      int covered = 0;
      for (const auto& r : rectangles)
        covered += x > r.x && x < r.x + r.width && y > r.y && y < r.y + r.height;
      ASSERT_EQ(covered, pattern.Black(x, y) ? 1 : 0) << x << " " << y;
    }
  }
}

// Numbers of the drawing itself, read back from the text [mm].
std::vector<std::array<double, 4>> RectanglesOf(const std::string& text,
                                                const std::string& format) {
  std::vector<std::array<double, 4>> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const auto start = line.rfind('M'); format == "svg" && start != std::string::npos)
      line = line.substr(start);
    std::array<double, 4> r{};
    char tail[8] = {0};
    const bool is =
        format == "svg"
            ? std::sscanf(line.c_str(), "M%lf %lfh%lfv%lfh", &r[0], &r[1], &r[2], &r[3]) == 4
            : std::sscanf(line.c_str(), "%lf %lf %lf %lf %3s", &r[0], &r[1], &r[2], &r[3], tail) ==
                      5 &&
                  std::string(tail) == "re";
    if (is) all.push_back(r);
  }
  return all;
}

TEST(BoardPageTest, DrawsThePatternToScale) {
  Board board = Charuco(4, 5, false);
  board.pitch = 0.025;
  board.marker_side = 0.018;
  const calibration::BoardPattern pattern(board);
  for (const std::string format : {"svg", "pdf"}) {
    const auto drawn = RectanglesOf(
        format == "svg" ? BoardSvg(board, 0.21, 0.297) : BoardPdf(board, 0.21, 0.297), format);
    const auto expected = pattern.BlackRectangles();
    ASSERT_EQ(drawn.size(), expected.size());
    for (std::size_t k = 0; k < drawn.size(); ++k) {
      EXPECT_NEAR(drawn[k][0] - drawn[0][0], (expected[k].x - expected[0].x) * 1000, 1e-4);
      EXPECT_NEAR(drawn[k][1] - drawn[0][1], (expected[k].y - expected[0].y) * 1000, 1e-4);
      EXPECT_NEAR(drawn[k][2], expected[k].width * 1000, 1e-4);
      EXPECT_NEAR(drawn[k][3], expected[k].height * 1000, 1e-4);
      EXPECT_TRUE(drawn[k][0] > 5 && drawn[k][1] > 5 && drawn[k][0] + drawn[k][2] < 205 &&
                  drawn[k][1] + drawn[k][3] < 275);
    }
  }
  EXPECT_NE(BoardSvg(board, 0.21, 0.297)
                .find("ChArUco, 4 x 5 inner corners, squares 25 mm, markers 18 mm, 5X5_100; the "
                      "ruler must measure 150 mm"),
            std::string::npos);
}

TEST(BoardPageTest, PdfTableOfOffsetsIsRight) {
  for (const Board& board : {Chessboard(6, 4), Discs(BoardKind::kCircles, 6, 4),
                             Discs(BoardKind::kAsymmetricCircles, 4, 7)}) {
    const std::string pdf = BoardPdf(board, 0.21, 0.297);
    EXPECT_EQ(pdf.rfind("%PDF-1.", 0), 0u);
    const std::size_t table = std::stoul(pdf.substr(pdf.rfind("startxref") + 10));
    ASSERT_EQ(pdf.substr(table, 4), "xref");
    std::size_t line = pdf.find("65535 f", table) + 9;
    for (int k = 1; k <= 5; ++k, line += 20) {
      const std::size_t offset = std::stoul(pdf.substr(line, 10));
      EXPECT_EQ(pdf.substr(offset, 8), std::to_string(k) + " 0 obj\n");
    }
    const std::size_t start = pdf.find("stream\n") + 7,
                      length = std::stoul(pdf.substr(pdf.find("/Length ") + 8));
    EXPECT_EQ(pdf.substr(start + length, 9), "endstream");
  }
}

TEST(BoardPageTest, BoardsLargerThanThePageAreRefusedWithTheSizeTheyNeed) {
  Board board = Chessboard(9, 6);
  EXPECT_THROW(BoardSvg(board, 0.21, 0.297), ConfigError);
  EXPECT_NO_THROW(BoardSvg(board, 0.297, 0.21));
  board.pitch = 0.03;
  try {
    BoardPdf(board, 0.297, 0.21);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("needs at least 0.315 x 0.242 m"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(BoardSvg(Chessboard(9, 6), NAN, 1), ConfigError);
  EXPECT_THROW(BoardSvg(Chessboard(1, 6), 1, 1), ConfigError);
}

}  // namespace
}  // namespace impactlab
