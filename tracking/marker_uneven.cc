#include "tracking/marker_uneven.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace impactlab::internal {

namespace {

constexpr double kInside = 0.99;    // cover from which on nothing behind the marker is felt
constexpr double kOutside = 0.03;   // cover up to which the picture is that of the background
constexpr double kWindow = 2.5;     // of the structure tensor, standard deviation [px]
constexpr int kWindowReach = 6;     // [px]
constexpr double kRougher = 1.5;    // variance of the steps near the marker over that of the picture beside it
constexpr double kSmoothest = 0.4;  // least variance of a step of B over that of a pixel
constexpr double kAlong = 0.1;      // least variance of a step along an edge over that across it
constexpr double kTooBright = 0.5;  // of the way from the background to the marker
constexpr int kPasses = 10;
constexpr double kMoved = 0.15;  // of the outline after which its surroundings are looked at again [px]
constexpr double kDone = 1e-2;   // squared length of a step in standard deviations that ends the iteration
constexpr int kUnknowns = 7;     // centre, level, form, blur
constexpr int kColumns = 8;      // those and the gradient

constexpr int kPlace[kUnknowns] = {kCentreX, kCentreY, kAmplitude, kForm0, kForm1, kForm2, kBlur};

// A column of the banded Cholesky factor is subtracted from those that follow, and its right-hand sides from theirs: the hot loop.
__attribute__((target_clones("arch=haswell", "default"), optimize("O3"))) void EliminateColumn(const double* __restrict column, int band,
                                                                                               int last, double* __restrict matrix,
                                                                                               const double* __restrict own,
                                                                                               double* __restrict right) {
  for (int k = 1; k <= last; ++k) {
    const double factor = column[k];
    if (factor == 0) continue;
    double* __restrict to = matrix + static_cast<std::ptrdiff_t>(k - 1) * (band + 1);
    const double* from = column + k;
    for (int m = 0; m <= last - k; ++m) to[m] -= factor * from[m];
    for (int a = 0; a < kColumns; ++a) right[(k - 1) * kColumns + a] -= factor * own[a];
  }
}

}  // namespace

void UnevenSolver::FindTensors(const MarkerPatch& patch, const MarkerProblem& problem) {
  const int n = width_ * height_;
  field_.assign(static_cast<std::size_t>(n), 0);
  std::vector<std::uint8_t> outside(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    const double c = cover_.pixel(i)[CoverChannel::kCover];
    field_[static_cast<std::size_t>(i)] = c < kInside;
    outside[static_cast<std::size_t>(i)] = c < kOutside && patch.used[static_cast<std::size_t>(i)];
  }
  struct Sum {
    double weight = 0, xx = 0, xy = 0, yy = 0, noise = 0;
  };
  const int columns = width_ - 1, rows = height_ - 1;
  std::vector<Sum> raw(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows)), part(raw.size());
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) {
      const int a = y * width_ + x;
      if (!outside[static_cast<std::size_t>(a)] || !outside[static_cast<std::size_t>(a) + 1] ||
          !outside[static_cast<std::size_t>(a + width_)] || !outside[static_cast<std::size_t>(a + width_) + 1])
        continue;
      const double* v = patch.values.data() + a;
      const double gx = (v[1] - v[0] + v[width_ + 1] - v[width_]) / 2, gy = (v[width_] - v[0] + v[width_ + 1] - v[1]) / 2;
      const double level = (v[0] + v[1] + v[width_] + v[width_ + 1]) / 4;
      raw[static_cast<std::size_t>(y * columns + x)] = {1, gx * gx, gx * gy, gy * gy, problem.noise.Variance(std::max(0., level))};
    }
  double window[kWindowReach + 1];
  for (int k = 0; k <= kWindowReach; ++k) window[k] = std::exp(-0.5 * k * k / (kWindow * kWindow));
  const auto smooth = [&](const std::vector<Sum>& in, std::vector<Sum>* out, bool across) {
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x) {
        Sum sum;
        const int at = across ? x : y, last = across ? columns - 1 : rows - 1, step = across ? 1 : columns;
        for (int k = std::max(-kWindowReach, -at); k <= std::min(kWindowReach, last - at); ++k) {
          const Sum& s = in[static_cast<std::size_t>(y * columns + x + k * step)];
          const double w = window[std::abs(k)];
          sum.weight += w * s.weight, sum.xx += w * s.xx, sum.xy += w * s.xy, sum.yy += w * s.yy, sum.noise += w * s.noise;
        }
        (*out)[static_cast<std::size_t>(y * columns + x)] = sum;
      }
  };
  smooth(raw, &part, true);
  smooth(part, &raw, false);
  tensors_.assign(raw.size(), {});
  for (std::size_t k = 0; k < raw.size(); ++k) {
    const Sum& s = raw[k];
    if (!(s.weight > 1e-9)) continue;  // far inside, or nothing to learn from
    const double noise = s.noise / s.weight, least = kSmoothest * noise;
    // The noise of the pixels taken off, and no step without variance: eigenvalues not below `least`.
    const double mean = (s.xx + s.yy) / s.weight / 2 - noise, half = (s.xx - s.yy) / s.weight / 2, xy = s.xy / s.weight;
    const double radius = std::hypot(half, xy);
    const double large = std::max(kRougher * (mean + radius), least), small = std::max({kRougher * (mean - radius), least, kAlong * large});
    const double cos = radius > 0 ? half / radius : 1, sin = radius > 0 ? xy / radius : 0;  // of twice the angle
    // A membrane whose steps have the weight T leaves half of 1 / T to the step between two neighbours.
    const double a = 0.5 / large, b = 0.5 / small;
    tensors_[k] = {(a + b) / 2 + (a - b) / 2 * cos, (a - b) / 2 * sin, (a + b) / 2 - (a - b) / 2 * cos};
  }
}

double UnevenSolver::Energy(const MarkerPatch& patch, const MarkerProblem& problem, const MarkerVector& p, bool assemble) {
  const int n = width_ * height_;
  double energy = 0;
  n_used_ = 0;
  if (assemble) {
    matrix_.assign(static_cast<std::size_t>(n + band_) * static_cast<std::size_t>(band_ + 1), 0.);
    right_.assign(static_cast<std::size_t>(n + band_) * kColumns, 0.);
    information_.setZero();
    gradient_.setZero();
  }
  const auto entry = [&](int i, int j) -> double& {  // of the lower triangle
    if (i < j) std::swap(i, j);
    return matrix_[static_cast<std::size_t>(j) * static_cast<std::size_t>(band_ + 1) + static_cast<std::size_t>(i - j)];
  };
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double* c = cover_.pixel(i);
    const double cover = c[CoverChannel::kCover], left = 1 - cover, height = p[kLevel] - behind_[at];
    const PixelMean mean = MeanOf(behind_[at] + cover * height, problem.noise);
    const double r = patch.values[at] - mean.mean, weight = 1 / mean.variance;
    residuals_[at] = r * std::sqrt(weight);
    if (assemble && !field_[at]) entry(i, i) = 1;
    if (!patch.used[at]) continue;
    energy += r * r * weight;
    n_used_ += mean.derivative > 0.5 || r * r * weight > 1;
    if (!assemble) continue;
    const double d = mean.derivative;
    const double by_c = d * height;
    double j[kUnknowns] = {by_c * c[kByX],        by_c * c[kByY],        d * cover,        by_c * c[kByForm],
                           by_c * c[kByForm + 1], by_c * c[kByForm + 2], by_c * c[kByBlur]};
    if (problem.circle) j[3] += j[4], j[4] = j[5] = 0;
    for (int a = 0; a < kUnknowns; ++a) {
      gradient_[a] += weight * r * j[a];
      for (int b = 0; b <= a; ++b) information_(a, b) += weight * j[a] * j[b];
    }
    if (!field_[at]) continue;
    const double by = d * left;
    entry(i, i) += weight * by * by;
    double* right = right_.data() + at * kColumns;
    for (int a = 0; a < kUnknowns; ++a) right[a] += weight * by * j[a];
    right[kUnknowns] += weight * by * r;
  }
  // The steps of B: along both sides of every corner of a cell.
  for (int y = 0; y + 1 < height_; ++y)
    for (int x = 0; x + 1 < width_; ++x) {
      const Tensor& t = tensors_[static_cast<std::size_t>(y * (width_ - 1) + x)];
      for (int corner = 0; corner < 4; ++corner) {
        const int sx = corner % 2 ? -1 : 1, sy = corner / 2 ? -1 : 1;
        const int a = (y + corner / 2) * width_ + x + corner % 2, b = a + sx, c = a + sy * width_;
        if (!field_[static_cast<std::size_t>(a)] || !field_[static_cast<std::size_t>(b)] || !field_[static_cast<std::size_t>(c)]) continue;
        const double xx = t.xx / 4, yy = t.yy / 4, xy = sx * sy * t.xy / 4;
        const double u = behind_[static_cast<std::size_t>(b)] - behind_[static_cast<std::size_t>(a)];
        const double v = behind_[static_cast<std::size_t>(c)] - behind_[static_cast<std::size_t>(a)];
        energy += xx * u * u + 2 * xy * u * v + yy * v * v;
        if (!assemble) continue;
        const double by_b = xx * u + xy * v, by_c = xy * u + yy * v;
        right_[static_cast<std::size_t>(b) * kColumns + kUnknowns] -= by_b;
        right_[static_cast<std::size_t>(c) * kColumns + kUnknowns] -= by_c;
        right_[static_cast<std::size_t>(a) * kColumns + kUnknowns] += by_b + by_c;
        entry(b, b) += xx;
        entry(c, c) += yy;
        entry(a, a) += xx + yy + 2 * xy;
        entry(b, c) += xy;
        entry(a, b) -= xx + xy;
        entry(a, c) -= yy + xy;
      }
    }
  return energy;
}

// Cholesky factor of the part of B, and the right hand sides divided by it.
void UnevenSolver::Eliminate() {
  const int n = width_ * height_;
  for (int j = 0; j < n; ++j) {
    double* column = matrix_.data() + static_cast<std::ptrdiff_t>(j) * (band_ + 1);
    double* right = right_.data() + static_cast<std::ptrdiff_t>(j) * kColumns;
    const double inverse = 1 / std::sqrt(std::max(column[0], 1e-12));
    column[0] = inverse;  // of the diagonal
    for (int a = 0; a < kColumns; ++a) right[a] *= inverse;
    if (!field_[static_cast<std::size_t>(j)]) continue;
    const int last = std::min(band_, n - 1 - j);
    for (int k = 1; k <= last; ++k) column[k] *= inverse;
    EliminateColumn(column, band_, last, column + band_ + 1, right, right + kColumns);
  }
}

MarkerSolution UnevenSolver::Solve(const MarkerPatch& patch, const MarkerProblem& problem, const MarkerVector& start) {
  width_ = patch.width, height_ = patch.height, band_ = width_ + 1;
  const int n = width_ * height_;
  MarkerSolution solution;
  solution.p = solution.at = start;
  if (width_ < 3 || height_ < 3) return solution;
  MarkerVector p = start;
  const double background = start[kLevel] + start.segment<2>(kSlopeX).dot(start.head<2>() - patch.origin);
  p[kLevel] = background + start[kAmplitude];  // of the marker, here
  behind_.resize(static_cast<std::size_t>(n));
  residuals_.resize(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    behind_[static_cast<std::size_t>(i)] = start[kLevel] + start.segment<2>(kSlopeX).dot(patch.Place(i) - patch.origin);
  double energy = 0, before = 1e300, moved = 0;
  Eigen::Matrix<double, kUnknowns, kUnknowns> normal;
  for (int pass = 0; pass < kPasses; ++pass) {
    cover_.Evaluate(problem.Outline(p), patch.window, problem.by_blur);
    if (pass == 0 || (pass == 1 && moved > kMoved)) FindTensors(patch, problem), before = 1e300;
    energy = Energy(patch, problem, p, true);
    if (!std::isfinite(energy) || energy > 1.1 * before + 10) return solution;
    before = energy;
    Eliminate();
    normal = information_.topLeftCorner<kUnknowns, kUnknowns>().selfadjointView<Eigen::Lower>();
    Eigen::Matrix<double, kUnknowns, 1> gradient = gradient_.head<kUnknowns>();
    for (int i = 0; i < n; ++i) {
      const Eigen::Map<const Eigen::Matrix<double, kUnknowns, 1>> row(right_.data() + static_cast<std::ptrdiff_t>(i) * kColumns);
      const double g = right_[static_cast<std::size_t>(i) * kColumns + kUnknowns];
      if (!field_[static_cast<std::size_t>(i)]) continue;
      normal.noalias() -= row * row.transpose();
      gradient -= g * row;
    }
    if (problem.circle) normal(4, 4) = normal(5, 5) = 1;
    if (!problem.by_blur) normal(6, 6) = 1;
    const Eigen::Matrix<double, kUnknowns, 1> scale = normal.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
    const Eigen::LDLT<Eigen::Matrix<double, kUnknowns, kUnknowns>> ldlt(scale.asDiagonal() * normal * scale.asDiagonal());
    Eigen::Matrix<double, kUnknowns, 1> step = scale.cwiseProduct(ldlt.solve(scale.cwiseProduct(gradient)));
    if (!step.allFinite() || ldlt.info() != Eigen::Success) return solution;
    const double length = step.dot(normal * step);
    // What the linearisation cannot promise is not gone.
    const double largest = std::max({std::abs(step[0]), std::abs(step[1]), std::abs(step[3]), std::abs(step[4]), std::abs(step[5])});
    const double part = std::min(1., 1 / std::max(largest, 1e-9));
    for (int a = 0; a < kUnknowns; ++a) p[kPlace[a] == kAmplitude ? static_cast<int>(kLevel) : kPlace[a]] += part * step[a];
    if (problem.circle) p[kForm1] = p[kForm0], p[kForm2] = 0;
    // B follows, from the last pixel back.
    std::vector<double>& b = residuals_;  // not needed any more
    for (int i = n - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      if (!field_[at]) {
        b[at] = 0;
        continue;
      }
      const double* column = matrix_.data() + static_cast<std::ptrdiff_t>(i) * (band_ + 1);
      const double* right = right_.data() + static_cast<std::ptrdiff_t>(i) * kColumns;
      double sum = right[kUnknowns];
      for (int a = 0; a < kUnknowns; ++a) sum -= right[a] * part * step[a];
      const int last = std::min(band_, n - 1 - i);
      for (int k = 1; k <= last; ++k) sum -= column[k] * b[at + static_cast<std::size_t>(k)];
      b[at] = sum * column[0];
      behind_[at] += b[at];
    }
    if (problem.by_blur) p[kBlur] = std::clamp(p[kBlur], 0.1, 30.);
    if (!(p[kForm0] > 0.3) || !p.allFinite()) return solution;
    const double dof = std::max(1, n_used_ + 2 - problem.CountFree());
    moved = part * largest;
    if (pass > 0 && length < kDone * std::max(1., energy / dof)) {
      solution.converged = true;
      break;
    }
  }
  cover_.Evaluate(problem.Outline(p), patch.window);
  solution.chi_square = Energy(patch, problem, p, false);
  double sum = 0, weight = 0;
  for (int i = 0; i < n; ++i) {
    const double c = cover_.pixel(i)[CoverChannel::kCover], rim = field_[static_cast<std::size_t>(i)] ? c * (1 - c) : 0;
    sum += rim * behind_[static_cast<std::size_t>(i)];
    weight += rim;
  }
  const double mean = weight > 0 ? sum / weight : background, height = p[kLevel] - mean;
  for (int i = 0; i < n; ++i) {
    const double c = cover_.pixel(i)[CoverChannel::kCover];
    if (c > 0.05 && c < 0.95 && (behind_[static_cast<std::size_t>(i)] - mean) / height > kTooBright) solution.converged = false;
  }
  solution.p = p;
  solution.p[kAmplitude] = height;
  solution.p[kLevel] = mean;
  solution.p[kSlopeX] = solution.p[kSlopeY] = 0;
  solution.at = solution.p;
  solution.n = n_used_ + 2;
  solution.information.setIdentity();
  for (int a = 0; a < kUnknowns; ++a)
    for (int b = 0; b < kUnknowns; ++b) solution.information(kPlace[a], kPlace[b]) = normal(a, b);
  return solution;
}

}  // namespace impactlab::internal
