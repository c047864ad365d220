// The printed page as SVG and PDF, written directly from rectangles, circles and one line of text,
// so that no other program changes its scale.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "calibration/board/board.h"
#include "calibration/board/pattern.h"
#include "data/base/error.h"

namespace impactlab {
namespace {

using calibration::BoardPattern;
constexpr double kEdge = 0.005;   // printers leave this much white [m]
constexpr double kStrip = 0.012;  // height of ruler and text [m]

struct Segment {
  double x0, y0, x1, y1;
};
// Everything on the page [mm], y down from its upper left corner.
struct Page {
  double width, height;
  std::vector<BoardPattern::Rectangle> rectangles;
  struct Circle {
    double x, y, r;
  };
  std::vector<Circle> circles;
  std::vector<Segment> ruler;
  std::string text;
  double text_x, text_y, text_size;
};

std::string Description(const Board& board, double ruler) {
  const double mm = 1000;
  std::string s;
  switch (board.kind) {
    case BoardKind::kChessboard:
      s = fmt::format("chessboard, {} x {} inner corners, squares {:.6g} mm", board.columns,
                      board.rows, board.pitch * mm);
      break;
    case BoardKind::kCharuco:
      s = fmt::format("ChArUco{}, {} x {} inner corners, squares {:.6g} mm, markers {:.6g} mm, {}",
                      board.legacy ? " (legacy)" : "", board.columns, board.rows, board.pitch * mm,
                      board.marker_side * mm, board.dictionary);
      break;
    case BoardKind::kCircles:
      s = fmt::format("circle grid, {} x {} discs, spacing {:.6g} mm, diameter {:.6g} mm",
                      board.columns, board.rows, board.pitch * mm, board.disc_diameter * mm);
      break;
    case BoardKind::kAsymmetricCircles:
      s = fmt::format(
          "asymmetric circle grid, {} x {} discs, rows {:.6g} mm apart, diameter {:.6g} mm",
          board.columns, board.rows, board.pitch * mm, board.disc_diameter * mm);
      break;
  }
  return s + fmt::format("; the ruler must measure {:.6g} mm", ruler);
}

Page Layout(const Board& board, double page_width, double page_height) {
  if (const std::string fault = Fault(board); !fault.empty())
    throw ConfigError(fmt::format("board: {}", fault));
  const BoardPattern pattern(board);
  const Eigen::Vector2d size = pattern.upper - pattern.lower;
  const double rim = std::max(kEdge, board.pitch / 4);  // white around the pattern, for detection
  const double need_x = size.x() + 2 * rim, need_y = size.y() + 2 * rim + kStrip + kEdge;
  if (!(page_width >= need_x && page_height >= need_y) || !std::isfinite(page_width) ||
      !std::isfinite(page_height))
    throw ConfigError(
        fmt::format("page: {:.6g} x {:.6g} m, the board with its white rim and ruler needs at "
                    "least {:.4g} x {:.4g} m",
                    page_width, page_height, std::ceil(need_x * 1000 - 1e-6) / 1000,
                    std::ceil(need_y * 1000 - 1e-6) / 1000));
  const double mm = 1000;
  Page page;
  page.width = page_width * mm;
  page.height = page_height * mm;
  const double left = (page_width - size.x()) / 2, top = rim + (page_height - need_y) / 2;
  const Eigen::Vector2d shift = Eigen::Vector2d(left, top) - pattern.lower;
  for (const auto& r : pattern.BlackRectangles())
    page.rectangles.push_back(
        {(r.x + shift.x()) * mm, (r.y + shift.y()) * mm, r.width * mm, r.height * mm});
  if (page.rectangles.empty()) {
    for (int id = 0; id < PointCount(board); ++id) {
      const Eigen::Vector3d p = PointOnBoard(board, id);
      page.circles.push_back(
          {(p.x() + shift.x()) * mm, (p.y() + shift.y()) * mm, board.disc_diameter / 2 * mm});
    }
  }
  double ruler = 1;
  for (const double length : {2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 150.0, 200.0, 500.0})
    if (length <= 0.8 * page.width) ruler = length;
  const double x = (page.width - ruler) / 2, y = page.height - (kEdge + kStrip) * mm + 4;
  page.ruler.push_back({x, y, x + ruler, y});
  for (int k = 0; k <= 10; ++k) {
    const double at = x + ruler * k / 10, tick = k % 10 == 0 ? 3 : k == 5 ? 2 : 1.2;
    page.ruler.push_back({at, y - tick, at, y});
  }
  page.text = Description(board, ruler);
  // Helvetica is about half as wide as high.
  page.text_size =
      std::min(3.2, (page.width - 2 * kEdge * mm) / (0.5 * static_cast<double>(page.text.size())));
  page.text_x = std::max(
      kEdge * mm, (page.width - 0.48 * page.text_size * static_cast<double>(page.text.size())) / 2);
  page.text_y = y + 2 + page.text_size;
  return page;
}

constexpr double kLine = 0.2;  // width of the ruler's lines [mm]

}  // namespace

std::string BoardSvg(const Board& board, double page_width, double page_height) {
  const Page page = Layout(board, page_width, page_height);
  std::string s = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.6g}mm\" height=\"{1:.6g}mm\" "
      "viewBox=\"0 0 {0:.6g} {1:.6g}\">\n"
      "<rect width=\"{0:.6g}\" height=\"{1:.6g}\" fill=\"#fff\"/>\n",
      page.width, page.height);
  // one path, because adjacent paths leave a visible line between them when drawn with
  // anti-aliasing
  if (!page.rectangles.empty()) {
    s += "<path fill=\"#000\" d=\"";
    for (const auto& r : page.rectangles)
      s += fmt::format("M{:.5f} {:.5f}h{:.5f}v{:.5f}h{:.5f}z\n", r.x, r.y, r.width, r.height,
                       -r.width);
    s += "\"/>\n";
  }
  for (const auto& c : page.circles)
    s += fmt::format("<circle cx=\"{:.5f}\" cy=\"{:.5f}\" r=\"{:.5f}\"/>\n", c.x, c.y, c.r);
  s += fmt::format("<path fill=\"none\" stroke=\"#000\" stroke-width=\"{}\" d=\"", kLine);
  for (const Segment& l : page.ruler)
    s += fmt::format("M{:.5f} {:.5f}L{:.5f} {:.5f}", l.x0, l.y0, l.x1, l.y1);
  s += fmt::format(
      "\"/>\n<text x=\"{:.3f}\" y=\"{:.3f}\" text-anchor=\"middle\" font-family=\"Helvetica, "
      "Arial, sans-serif\" font-size=\"{:.3f}\">{}</text>\n</svg>\n",
      page.width / 2, page.text_y, page.text_size, page.text);
  return s;
}

std::string BoardPdf(const Board& board, double page_width, double page_height) {
  const Page page = Layout(board, page_width, page_height);
  const double point = 72 / 25.4;  // per mm
  // Units mm, y down, as above.
  std::string s =
      fmt::format("{0:.9f} 0 0 {1:.9f} 0 {2:.6f} cm\n0 g\n", point, -point, page.height * point);
  for (const auto& r : page.rectangles)
    s += fmt::format("{:.5f} {:.5f} {:.5f} {:.5f} re\n", r.x, r.y, r.width, r.height);
  if (!page.rectangles.empty()) s += "f\n";
  for (const auto& c : page.circles) {
    const double k = 0.5519150244935106 * c.r;  // four cubic arcs, within 2e-4 of the radius
    s += fmt::format("{:.5f} {:.5f} m\n", c.x + c.r, c.y);
    const std::array<Eigen::Vector2d, 4> axis{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
    for (int a = 0; a < 4; ++a) {
      const Eigen::Vector2d o(c.x, c.y);
      const Eigen::Vector2d &from = axis[a], &to = axis[(a + 1) % 4];
      const Eigen::Vector2d p1 = o + c.r * from + k * to, p2 = o + c.r * to + k * from,
                            p3 = o + c.r * to;
      s += fmt::format("{:.5f} {:.5f} {:.5f} {:.5f} {:.5f} {:.5f} c\n", p1.x(), p1.y(), p2.x(),
                       p2.y(), p3.x(), p3.y());
    }
    s += "f\n";
  }
  s += fmt::format("{} w\n", kLine);
  for (const Segment& l : page.ruler)
    s += fmt::format("{:.5f} {:.5f} m {:.5f} {:.5f} l S\n", l.x0, l.y0, l.x1, l.y1);
  std::string text;
  for (const char c : page.text)
    text += (c == '(' || c == ')' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  s += fmt::format("BT /F1 1 Tf {0:.4f} 0 0 {1:.4f} {2:.4f} {3:.4f} Tm ({4}) Tj ET\n",
                   page.text_size, -page.text_size, page.text_x, page.text_y, text);

  const std::vector<std::string> objects{
      "<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      fmt::format("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {:.4f} {:.4f}] /Contents 4 0 R "
                  "/Resources << /Font << /F1 5 0 R >> >> >>",
                  page.width * point, page.height * point),
      fmt::format("<< /Length {} >>\nstream\n{}endstream", s.size(), s),
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  };
  std::string pdf = "%PDF-1.6\n";  // 1.6: the viewer is told not to scale
  std::vector<std::size_t> offsets;
  for (std::size_t k = 0; k < objects.size(); ++k) {
    offsets.push_back(pdf.size());
    pdf += fmt::format("{} 0 obj\n{}\nendobj\n", k + 1, objects[k]);
  }
  const std::size_t table = pdf.size();
  pdf += fmt::format("xref\n0 {}\n0000000000 65535 f \n", objects.size() + 1);
  for (const std::size_t offset : offsets) pdf += fmt::format("{:010} 00000 n \n", offset);
  pdf += fmt::format("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{}\n%%EOF\n",
                     objects.size() + 1, table);
  return pdf;
}

}  // namespace impactlab
