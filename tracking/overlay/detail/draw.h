#pragma once
// Lines, ellipses and text on colour pictures. Private to the room.
//
// Places are pixels with (0, 0) in the middle of the first one; edges are smooth; nothing outside
// of the picture is touched.

#include <Eigen/Core>
#include <string>
#include <string_view>
#include <vector>

#include "tracking/video/writer.h"

namespace impactlab::tracking {

struct Rgb {
  int r = 255, g = 255, b = 255;
};
using Path = std::vector<Eigen::Vector2d>;  // a path of one point is a dot

struct Pen {
  Rgb color;
  double width = 1.5;  // [px]
  double alpha = 1;
  double dash = 0;  // length of a dash and of the gap behind it [px]; 0: drawn through
};

ColorImage MakeColor(int width, int height, Rgb fill);
ColorImage MakeColor(const GrayImage& image);

void DrawPaths(ColorImage* image, const std::vector<Path>& paths, const Pen& pen);
// Half axes, angle of the first one from x towards y [rad].
void DrawEllipse(ColorImage* image, const Eigen::Vector2d& centre, double major, double minor,
                 double angle, const Pen& pen);
// Both corners included.
void FillBox(ColorImage* image, double left, double top, double right, double bottom, Rgb color,
             double alpha);
void DrawBox(ColorImage* image, double left, double top, double right, double bottom,
             const Pen& pen);

// A line of text, drawn with strokes, each letter as wide as the others. `height` is that of
// capitals; `place` is the upper left corner of the first one. Letters outside of ASCII are shown
// as a box. The halo is a dark rim that keeps it legible on any ground.
void DrawText(ColorImage* image, const Eigen::Vector2d& place, std::string_view text, double height,
              Rgb color, bool halo = true);
double TextWidth(std::string_view text, double height);

// The part of `image` from `left`, `top` on, enlarged (bilinear) to width x height pixels; what
// lies outside is black.
ColorImage EnlargedCut(const GrayImage& image, double left, double top, double scale, int width,
                       int height);
void PasteImage(const ColorImage& from, int left, int top, ColorImage* to);

}  // namespace impactlab::tracking
