#pragma once
// Private to the tracking room: the cover of the pixels by a blurred, moving shape, and its
// derivatives.
//
//   C(q) = (shape * Gauss(blur) * line of length |motion| * unit square)(q)
//
// By the divergence theorem the convolution of a shape with a kernel is an integral along its
// outline. The kernel of Gauss and pixel is a product K(x) K(y) with a closed form, so that with F
// the integral of K
//
//   C(q)     = - int F(x - X) K(y - Y) n_x dl        over the outline (X, Y) with outer normal n
//   dC/dp    =   int K(x - X) K(y - Y) (V_p . n) dl  V_p: how the outline moves with parameter p
//   dC/dblur = - blur int grad(K K) . n dl
//
// On an ellipse in its angle the trapezoidal rule converges like the transform of the kernel falls,
// faster than any power (Trefethen and Weideman, SIAM Review 56, 2014): a node every 1.35 blur is
// enough. Sides of a rectangle and the line of the motion take Gauss-Legendre rules. A node touches
// only the pixels within 4.5 blur of it, and F is summed up along the rows at the end.

#include <Eigen/Core>
#include <vector>

#include "tracking/marker/fit.h"

namespace impactlab::tracking {

struct MarkerOutline {
  MarkerShape shape = MarkerShape::kDisc;
  Eigen::Vector2d c = Eigen::Vector2d::Zero();  // [px]
  // Of a disc the symmetric matrix S = [0, 2; 2, 1] that takes the unit circle to the ellipse: no
  // angle, so that a circle is nothing special. Of a stripe half its length, half its width, and
  // the angle of its length.
  Eigen::Vector3d form = Eigen::Vector3d::Ones();
  double blur = 0.7;                                 // [px]
  Eigen::Vector2d motion = Eigen::Vector2d::Zero();  // [px]

  double Area() const;
  // Half the sides of the box around the outline, with its motion [px].
  Eigen::Vector2d HalfBox() const;
};

// Semi-axes, and the angle of the longer one in (-pi/2, pi/2].
struct FormAxes {
  double major = 0, minor = 0, angle = 0;
};
FormAxes AxesOf(const MarkerOutline& outline);
Eigen::Vector3d FormOf(MarkerShape shape, const FormAxes& axes);

// Values a pixel: derivatives by c and form, then C itself, then the derivative by the blur.
enum CoverChannel { kByX = 0, kByY = 1, kByForm = 2, kCover = 5, kByBlur = 6, kCoverChannels = 8 };

class MarkerCover {  // keeps its storage
 public:
  // Over `window`, which may lie anywhere. The derivative by the blur is zero unless asked for.
  void Evaluate(const MarkerOutline& outline, const Window& window, bool by_blur = false);
  // kCoverChannels values of pixel i, row by row.
  const double* pixel(int i) const {
    return values_.data() + static_cast<std::size_t>(i) * kCoverChannels;
  }

 private:
  struct Node {
    double x, y, nx, ny;  // place, outer normal times length
    double by_form[3];    // V . n dl
  };
  void PlaceNodes(const MarkerOutline& outline);
  void TabulateKernel();
  template <bool kWithBlur>
  void Stamp(const Node& node, double x, double y, double weight);
  struct Kernels;
  // Blurred kernel about a place in the pixels of `reach`; its derivatives with respect to the blur
  // where they are asked for.
  template <bool kWithBlur>
  void KernelsAt(double x, double y, const Window& reach, Kernels* k) const;

  Window window_;
  int width_ = 0, height_ = 0;
  double blur_ = 1;
  std::vector<Node> nodes_;
  std::vector<double> values_;
  double table_blur_ = 0;
  int table_reach_ = 0, table_width_ = 0;
  std::vector<double> table_;  // of the phases: Taylor series of kernel and rise
};

}  // namespace impactlab::tracking
