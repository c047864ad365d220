#pragma once
// Drawing by exact area: polygons over grids of cells, the blur of a lens, the noise of a sensor.

#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace impactlab::pipelines {

// Pixels [x0, x1) x [y0, y1).
struct Box {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  int width() const { return x1 - x0; }
  int height() const { return y1 - y0; }
  bool empty() const { return x1 <= x0 || y1 <= y0; }
  Box Grown(int by) const { return {x0 - by, y0 - by, x1 + by, y1 + by}; }
};
Box Intersection(const Box& a, const Box& b);
Box Union(const Box& a, const Box& b);  // an empty one counts for nothing

// Corners [px]; pixel (0, 0) is the unit square about the origin. Simple, of any direction.
using Polygon = std::vector<Eigen::Vector2d>;
Box Bounds(const Polygon& polygon);   // of the pixels it touches
double Area(const Polygon& polygon);  // [px^2]
// Area and centroid of a polygon.
double Moments(const Polygon& polygon, Eigen::Vector2d* centroid);

// A grid of `sub` x `sub` cells a pixel over a box, with one value a cell.
struct Grid {
  Box box;
  int sub = 1, width = 0, height = 0;  // cells
  std::vector<float> values;           // rows from the top, `width` cells each
  void Reset(const Box& box, int sub, float value = 0);
  float* Row(int y) { return &values[static_cast<std::size_t>(y) * width]; }
  const float* Row(int y) const { return &values[static_cast<std::size_t>(y) * width]; }
};

// Share of every cell that polygons cover, times their weights, summed. The cost of adding
// is proportional to the length of the outline: every edge leaves the change of the covered area
// from cell to cell, and one sum along the rows at the end gives the areas (as in scan conversion
// of outline fonts). What lies outside of the box is cut off exactly.
class AreaSum {
 public:
  void Reset(const Box& box, int sub);
  void Add(const Polygon& polygon, double weight);
  void Finish(Grid* grid) const;

 private:
  void Edge(double x0, double y0, double x1, double y1, double weight);
  void Piece(double x0, double y0, double x1, double y1, double weight);
  Box box_;
  int sub_ = 1, width_ = 0, height_ = 0;
  std::vector<float> change_;  // width + 2 a row
};

// Half of a symmetric kernel from its middle; {1} for sigma 0. `sigma` in cells.
std::vector<float> GaussianKernel(double sigma);
// Blurs a grid; what lies within the kernel's reach of its border is wrong and for the caller to
// cut off.
void Blur(const std::vector<float>& kernel, Grid* grid, std::vector<float>* scratch);

// Light of a pixel in units of 1/64 grey level and standard deviation of its noise in 1/1024, for
// fast sums. [grey levels]; light beyond it is clipped to it: white with any noise
constexpr float kBrightest = 312;
// Light of `n` pixels [grey levels] to fixed point.
void ToFixed(const float* light, int n, float read_variance, float gain, std::int16_t* fixed_light,
             std::int16_t* fixed_noise);
// Normal noise added, rounded, clipped to 0..255. The noise is a stretch of a long fixed sequence
// that starts at a place drawn by `key`.
void Expose(const std::int16_t* light, const std::int16_t* noise, int n, std::uint64_t key,
            std::uint8_t* pixels);
std::uint64_t Mix(std::uint64_t a, std::uint64_t b);  // a hash of two numbers

}  // namespace impactlab::pipelines
