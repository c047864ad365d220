#include "tracking/overlay/detail/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace impactlab::tracking {
namespace {

// Strokes of the characters from ' ' to '~', on a grid 4 wide and 6 high (descenders to 8): points
// "xy", strokes parted by commas.
constexpr std::array<const char*, 95> kGlyphs = {
    "",                                                    // space
    "20 24,26",                                            // !
    "10 12,30 32",                                         // "
    "10 16,30 36,02 42,04 44",                             // #
    "42 31 11 02 13 33 44 35 15 04,20 26",                 // $
    "40 06,00 10 11 01 00,35 45 46 36 35",                 // %
    "46 12 11 20 31 32 04 05 16 26 44",                    // &
    "20 22",                                               // '
    "30 21 25 36",                                         // (
    "10 21 25 16",                                         // )
    "21 25,02 44,42 04",                                   // *
    "21 25,03 43",                                         // +
    "25 26 17",                                            // ,
    "03 43",                                               // -
    "26",                                                  // .
    "40 06",                                               // /
    "10 30 41 45 36 16 05 01 10",                          // 0
    "11 20 26,16 36",                                      // 1
    "01 10 30 41 42 06 46",                                // 2
    "01 10 30 41 42 33 13,33 44 45 36 16 05",              // 3
    "36 30 04 44",                                         // 4
    "40 00 03 12 32 43 45 36 16 05",                       // 5
    "30 20 02 05 16 36 45 44 33 13 04",                    // 6
    "00 40 16",                                            // 7
    "10 30 41 42 33 13 02 01 10,13 04 05 16 36 45 44 33",  // 8
    "16 26 44 41 30 10 01 02 13 33 42",                    // 9
    "22,26",                                               // :
    "22,25 26 17",                                         // ;
    "41 03 45",                                            // <
    "02 42,04 44",                                         // =
    "01 43 05",                                            // >
    "01 10 30 41 42 24,26",                                // ?
    "34 24 23 33 35 44 42 30 10 01 05 16 36",              // @
    "06 20 46,14 34",                                      // A
    "00 06 36 45 44 33 03,33 42 41 30 00",                 // B
    "41 30 10 01 05 16 36 45",                             // C
    "00 06 26 44 42 20 00",                                // D
    "40 00 06 46,03 33",                                   // E
    "40 00 06,03 33",                                      // F
    "41 30 10 01 05 16 36 45 43 23",                       // G
    "00 06,40 46,03 43",                                   // H
    "10 30,20 26,16 36",                                   // I
    "40 45 36 16 05",                                      // J
    "00 06,40 03 46",                                      // K
    "00 06 46",                                            // L
    "06 00 23 40 46",                                      // M
    "06 00 46 40",                                         // N
    "10 30 41 45 36 16 05 01 10",                          // O
    "06 00 30 41 42 33 03",                                // P
    "10 30 41 45 36 16 05 01 10,34 46",                    // Q
    "06 00 30 41 42 33 03,23 46",                          // R
    "41 30 10 01 02 13 33 44 45 36 16 05",                 // S
    "00 40,20 26",                                         // T
    "00 05 16 36 45 40",                                   // U
    "00 26 40",                                            // V
    "00 16 23 36 40",                                      // W
    "00 46,40 06",                                         // X
    "00 23 40,23 26",                                      // Y
    "00 40 06 46",                                         // Z
    "30 10 16 36",                                         // [
    "00 46",                                               // backslash
    "10 30 36 16",                                         // ]
    "02 20 42",                                            // ^
    "07 47",                                               // _
    "10 21",                                               // `
    "12 32 43 46 16 05 14 44",                             // a
    "00 06,03 12 32 43 45 36 16 05",                       // b
    "43 32 12 03 05 16 36 45",                             // c
    "40 46,43 32 12 03 05 16 36 45",                       // d
    "04 44 43 32 12 03 05 16 36 45",                       // e
    "40 30 21 26,12 32",                                   // f
    "42 47 38 18 07,43 32 12 03 05 16 36 45",              // g
    "00 06,03 12 32 43 46",                                // h
    "12 22 26,20",                                         // i
    "32 37 28 18,30",                                      // j
    "00 06,42 04 46",                                      // k
    "10 20 25 36",                                         // l
    "06 02,03 12 23 26,23 32 43 46",                       // m
    "02 06,03 12 32 43 46",                                // n
    "12 32 43 45 36 16 05 03 12",                          // o
    "02 08,03 12 32 43 45 36 16 05",                       // p
    "42 48,43 32 12 03 05 16 36 45",                       // q
    "02 06,03 12 32 43",                                   // r
    "42 12 03 14 34 45 36 06",                             // s
    "20 25 36 46,02 42",                                   // t
    "02 05 16 36 45,42 46",                                // u
    "02 26 42",                                            // v
    "02 16 23 36 42",                                      // w
    "02 46,42 06",                                         // x
    "02 26,42 18 08",                                      // y
    "02 42 06 46",                                         // z
    "30 20 22 13 24 26 36",                                // {
    "20 28",                                               // |
    "10 20 22 33 24 26 16",                                // }
    "04 13 33 42"                                          // ~
};
constexpr const char* kUnknownGlyph = "00 40 46 06 00";
constexpr double kAdvance = 6;  // units of the grid

// Distance of a place from a stretch.
double Distance(const Eigen::Vector2d& p, const Eigen::Vector2d& a, const Eigen::Vector2d& b) {
  const Eigen::Vector2d d = b - a;
  const double length = d.squaredNorm();
  const double s = length > 0 ? std::clamp((p - a).dot(d) / length, 0.0, 1.0) : 0;
  return (p - a - s * d).norm();
}

void Blend(std::uint8_t* pixel, Rgb color, double alpha) {
  const int values[3] = {color.r, color.g, color.b};
  for (int k = 0; k < 3; ++k)
    pixel[k] = static_cast<std::uint8_t>(std::lround(pixel[k] + alpha * (values[k] - pixel[k])));
}

std::vector<Path> Dashes(const std::vector<Path>& paths, double dash) {
  std::vector<Path> pieces;
  for (const Path& path : paths) {
    double along = 0;  // since the last change between dash and gap
    bool drawn = true;
    Path piece;
    if (!path.empty()) piece.push_back(path[0]);
    for (std::size_t k = 1; k < path.size(); ++k) {
      Eigen::Vector2d from = path[k - 1];
      double left = (path[k] - from).norm();
      while (left > 0) {
        const double step = std::min(left, dash - along);
        const Eigen::Vector2d to = from + (path[k] - from) * (step / left);
        left -= step;
        along += step;
        from = to;
        if (drawn) piece.push_back(to);
        if (along < dash - 1e-9) continue;
        along = 0;
        if (drawn) pieces.push_back(piece);
        drawn = !drawn;
        piece.assign(1, to);
      }
    }
    if (drawn && piece.size() > 1) pieces.push_back(piece);
  }
  return pieces;
}

std::vector<Path> GlyphPaths(std::string_view text, const Eigen::Vector2d& place, double unit) {
  std::vector<Path> paths;
  double at = place.x();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c & 0xC0) == 0x80) continue;  // rest of a letter of several bytes
    const char* glyph = c >= ' ' && c <= '~' ? kGlyphs[c - ' '] : kUnknownGlyph;
    bool fresh = true;
    for (const char* s = glyph; *s != 0; ++s) {
      if (*s == ',') {
        fresh = true;
      } else if (*s != ' ') {
        if (fresh) paths.emplace_back();
        fresh = false;
        paths.back().emplace_back(at + unit * (s[0] - '0'), place.y() + unit * (s[1] - '0'));
        ++s;
      }
    }
    at += kAdvance * unit;
  }
  return paths;
}

}  // namespace

ColorImage MakeColor(int width, int height, Rgb fill) {
  ColorImage image{width, height,
                   std::vector<std::uint8_t>(3 * static_cast<std::size_t>(width) *
                                             static_cast<std::size_t>(height))};
  for (std::size_t k = 0; k < image.rgb.size(); k += 3) Blend(image.rgb.data() + k, fill, 1);
  return image;
}

ColorImage MakeColor(const GrayImage& image) {
  ColorImage color{image.width, image.height, std::vector<std::uint8_t>(3 * image.pixels.size())};
  for (std::size_t k = 0; k < image.pixels.size(); ++k)
    color.rgb[3 * k] = color.rgb[3 * k + 1] = color.rgb[3 * k + 2] = image.pixels[k];
  return color;
}

void DrawPaths(ColorImage* image, const std::vector<Path>& given, const Pen& pen) {
  const std::vector<Path> dashed = pen.dash > 0 ? Dashes(given, pen.dash) : std::vector<Path>();
  const std::vector<Path>& paths = pen.dash > 0 ? dashed : given;
  const double reach = pen.width / 2 + 0.5;
  Eigen::Vector2d low(1e9, 1e9), high(-1e9, -1e9);
  for (const Path& path : paths)
    for (const Eigen::Vector2d& p : path) {
      if (!p.allFinite()) return;
      low = low.cwiseMin(p), high = high.cwiseMax(p);
    }
  const Eigen::Vector2d size(image->width, image->height);
  const Eigen::Vector2i first =
      (low.array() - reach).floor().max(0).matrix().cwiseMin(size).cast<int>();
  const Eigen::Vector2i last = (high.array() + reach)
                                   .ceil()
                                   .max(-1)
                                   .matrix()
                                   .cwiseMin(size - Eigen::Vector2d::Ones())
                                   .cast<int>();
  if (first.x() > last.x() || first.y() > last.y()) return;
  // Stretches that meet must not darken each other: the largest cover of each pixel counts.
  const int width = last.x() - first.x() + 1, height = last.y() - first.y() + 1;
  std::vector<float> cover(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (const Path& path : paths) {
    for (std::size_t k = 0; k < path.size(); ++k) {
      if (k == 0 && path.size() > 1) continue;
      const Eigen::Vector2d &a = path[k == 0 ? 0 : k - 1], &b = path[k];
      const auto clip = [](double v, int l, int h) {
        return static_cast<int>(std::clamp(v, static_cast<double>(l), static_cast<double>(h)));
      };
      const int left = clip(std::floor(std::min(a.x(), b.x()) - reach), first.x(), last.x());
      const int right = clip(std::ceil(std::max(a.x(), b.x()) + reach), first.x(), last.x());
      const int top = clip(std::floor(std::min(a.y(), b.y()) - reach), first.y(), last.y());
      const int bottom = clip(std::ceil(std::max(a.y(), b.y()) + reach), first.y(), last.y());
      for (int y = top; y <= bottom; ++y)
        for (int x = left; x <= right; ++x) {
          const double c =
              std::clamp(reach - Distance({x, y}, a, b), 0.0, std::min(1.0, pen.width));
          float& here =
              cover[static_cast<std::size_t>(y - first.y()) * static_cast<std::size_t>(width) +
                    static_cast<std::size_t>(x - first.x())];
          here = std::max(here, static_cast<float>(c));
        }
    }
  }
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const float c = cover[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                            static_cast<std::size_t>(x)];
      if (c > 0)
        Blend(image->rgb.data() + 3 * (static_cast<std::size_t>(y + first.y()) *
                                           static_cast<std::size_t>(image->width) +
                                       static_cast<std::size_t>(x + first.x())),
              pen.color, pen.alpha * c);
    }
}

void DrawEllipse(ColorImage* image, const Eigen::Vector2d& centre, double major, double minor,
                 double angle, const Pen& pen) {
  if (!(major > 0) || !(minor > 0) || major > 1e5 || !centre.allFinite()) return;
  const Eigen::Vector2d u(std::cos(angle), std::sin(angle)), v(-u.y(), u.x());
  const int n = static_cast<int>(std::clamp(4 * major, 24.0, 400.0));
  Path path;
  for (int k = 0; k <= n; ++k) {
    const double t = 2 * M_PI * k / n;
    path.push_back(centre + major * std::cos(t) * u + minor * std::sin(t) * v);
  }
  DrawPaths(image, {path}, pen);
}

void FillBox(ColorImage* image, double left, double top, double right, double bottom, Rgb color,
             double alpha) {
  const int l = std::max(0, static_cast<int>(std::lround(left))),
            r = std::min(image->width - 1, static_cast<int>(std::lround(right)));
  const int t = std::max(0, static_cast<int>(std::lround(top))),
            b = std::min(image->height - 1, static_cast<int>(std::lround(bottom)));
  for (int y = t; y <= b; ++y)
    for (int x = l; x <= r; ++x)
      Blend(image->rgb.data() +
                3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(image->width) +
                     static_cast<std::size_t>(x)),
            color, alpha);
}

void DrawBox(ColorImage* image, double left, double top, double right, double bottom,
             const Pen& pen) {
  DrawPaths(image, {{{left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}}},
            pen);
}

void DrawText(ColorImage* image, const Eigen::Vector2d& place, std::string_view text, double height,
              Rgb color, bool halo) {
  const std::vector<Path> paths = GlyphPaths(text, place, height / 6);
  const double width = std::max(1.1, 0.14 * height);
  if (halo) DrawPaths(image, paths, {{0, 0, 0}, width + 2.6, 0.75, 0});
  DrawPaths(image, paths, {color, width, 1, 0});
}

double TextWidth(std::string_view text, double height) {
  double letters = 0;
  for (const char c : text) letters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return std::max(0.0, kAdvance * letters - 2) * height / 6;
}

ColorImage EnlargedCut(const GrayImage& image, double left, double top, double scale, int width,
                       int height) {
  ColorImage result = MakeColor(width, height, {0, 0, 0});
  for (int y = 0; y < height; ++y) {
    const double v = top + (y + 0.5) / scale - 0.5;
    for (int x = 0; x < width; ++x) {
      const double u = left + (x + 0.5) / scale - 0.5;
      if (u < -0.5 || v < -0.5 || u > image.width - 0.5 || v > image.height - 0.5) continue;
      const double cu = std::clamp(u, 0.0, image.width - 1.0),
                   cv = std::clamp(v, 0.0, image.height - 1.0);
      const int i = std::min(static_cast<int>(cu), std::max(0, image.width - 2)),
                j = std::min(static_cast<int>(cv), std::max(0, image.height - 2));
      const int i1 = std::min(i + 1, image.width - 1), j1 = std::min(j + 1, image.height - 1);
      const double a = cu - i, b = cv - j;
      const double value = (1 - b) * ((1 - a) * image.At(i, j) + a * image.At(i1, j)) +
                           b * ((1 - a) * image.At(i, j1) + a * image.At(i1, j1));
      std::uint8_t* p =
          result.rgb.data() + 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                                   static_cast<std::size_t>(x));
      p[0] = p[1] = p[2] = static_cast<std::uint8_t>(std::lround(value));
    }
  }
  return result;
}

void PasteImage(const ColorImage& from, int left, int top, ColorImage* to) {
  for (int y = std::max(0, -top); y < std::min(from.height, to->height - top); ++y)
    for (int x = std::max(0, -left); x < std::min(from.width, to->width - left); ++x)
      for (std::size_t k = 0; k < 3; ++k)
        to->rgb[3 * (static_cast<std::size_t>(y + top) * static_cast<std::size_t>(to->width) +
                     static_cast<std::size_t>(x + left)) +
                k] =
            from.rgb[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(from.width) +
                          static_cast<std::size_t>(x)) +
                     k];
}

}  // namespace impactlab::tracking
