#include "tracking/marker/detail/uneven.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>

#include "tracking/marker/detail/simd.h"

namespace impactlab::tracking {

namespace {

constexpr double kInside = 0.99;   // cover above which the background does not contribute
constexpr double kOutside = 0.03;  // cover up to which the picture is that of the background
constexpr double kWindow = 2.5;    // of the structure tensor, standard deviation [px]
constexpr int kWindowReach = 6;    // [px]
// variance of the steps near the marker over that of the picture beside it
constexpr double kRougher = 1.5;
constexpr double kSmoothest = 0.4;  // least variance of a step of B over that of a pixel
constexpr double kAlong = 0.1;      // least variance of a step along an edge over that across it
constexpr double kTooBright = 0.5;  // of the way from the background to the marker
constexpr int kUnevenPasses = 12;
// of the outline after which its surroundings are looked at again [px]
constexpr double kMoved = 0.15;
// of the outline up to which the factor of the pass before is good enough [px]
constexpr double kStill = 0.3;
// of the length of the step before, squared, from which on it is not
constexpr double kSlow = 0.3;
// squared length of a step in standard deviations that ends the iteration
constexpr double kUnevenTolerance = 1e-2;
constexpr int kBlock = 4;   // columns of the factor at a time
constexpr int kPlanes = 5;  // of the structure tensor: weight, xx, xy, yy, level

enum UnevenUnknown { kAtX, kAtY, kAtLevel, kAtForm0, kAtForm1, kAtForm2, kAtBlur };
constexpr int kPlace[] = {kCentreX, kCentreY, kAmplitude, kForm0, kForm1, kForm2, kBlur};

// data::Four columns of the factor are subtracted from the `n` that follow, and their right-hand
// sides from theirs. `column`: the four, from the first row of those that follow, zero for three
// rows beyond the last. The hot loop.
#ifdef IMPACTLAB_FMA
IMPACTLAB_FMA void SubtractColumnsFma(const double* const* column, int n, double* to,
                                      std::ptrdiff_t stride, const double* own, double* right) {
  const double *a = column[0], *b = column[1], *c = column[2], *d = column[3];
  const data::Four a0 = data::FourAt(own), a1 = data::FourAt(own + 4), b0 = data::FourAt(own + 8),
                   b1 = data::FourAt(own + 12), c0 = data::FourAt(own + 16),
                   c1 = data::FourAt(own + 20), d0 = data::FourAt(own + 24),
                   d1 = data::FourAt(own + 28);
  for (int m = 0; m < n; ++m, to += stride, right += 8) {
    const double fa = a[m], fb = b[m], fc = c[m], fd = d[m];
    for (int r = m; r < n; r += 4)
      data::FourAt(to + r - m) -= fa * data::FourAt(a + r) + fb * data::FourAt(b + r) +
                                  fc * data::FourAt(c + r) + fd * data::FourAt(d + r);
    data::FourAt(right) -= fa * a0 + fb * b0 + fc * c0 + fd * d0;
    data::FourAt(right + 4) -= fa * a1 + fb * b1 + fc * c1 + fd * d1;
  }
}
#endif
void SubtractColumns(const double* const* column, int n, double* to, std::ptrdiff_t stride,
                     const double* own, double* right) {
#ifdef IMPACTLAB_FMA
  if (data::HasFma()) return SubtractColumnsFma(column, n, to, stride, own, right);
#endif
  const double *a = column[0], *b = column[1], *c = column[2], *d = column[3];
  for (int m = 0; m < n; ++m, to += stride, right += 8) {
    const double fa = a[m], fb = b[m], fc = c[m], fd = d[m];
    for (int r = m; r < n; ++r) to[r - m] -= fa * a[r] + fb * b[r] + fc * c[r] + fd * d[r];
    for (int k = 0; k < 8; ++k)
      right[k] -= fa * own[k] + fb * own[8 + k] + fc * own[16 + k] + fd * own[24 + k];
  }
}

// out = sum over k of window[|k|] * in at k steps.
__attribute__((target_clones("arch=haswell", "default"), optimize("O3"))) void Smooth(
    const float* __restrict in, std::ptrdiff_t step, int n, const float* __restrict window,
    float* __restrict out) {
  for (int i = 0; i < n; ++i) {
    float sum = window[0] * in[i];
    for (int k = 1; k <= kWindowReach; ++k)
      sum += window[k] * (in[i - k * step] + in[i + k * step]);
    out[i] = sum;
  }
}

// sums += factor * row.
__attribute__((target_clones("arch=haswell", "default"), optimize("O3"))) void AddMultiples(
    const double* __restrict row, const double* __restrict factors, int n,
    double* __restrict sums) {
  for (int i = 0; i < n; ++i)
    for (int a = 0; a < 8; ++a) sums[a] += factors[i] * row[8 * i + a];
}

// Within a block of the factor: its columns after one another, `rows` below the first, and their
// right-hand sides. The inverse of the diagonal is left on it.
__attribute__((target_clones("arch=haswell", "default"), optimize("O3"))) void FactorBlock(
    double* first, std::ptrdiff_t stride, int rows, double* __restrict own) {
  for (int q = 0; q < kBlock; ++q) {
    double* __restrict column = first + q * stride;
    for (int before = 0; before < q; ++before) {
      const double* __restrict from = first + before * stride + q - before;
      const double f = from[0];
      for (int r = 0; r <= rows - q; ++r) column[r] -= f * from[r];
      for (int a = 0; a < 8; ++a) own[q * 8 + a] -= f * own[before * 8 + a];
    }
    const double inverse = 1 / std::sqrt(std::max(column[0], 1e-12));
    for (int r = 1; r <= rows - q; ++r) column[r] *= inverse;
    for (int a = 0; a < 8; ++a) own[q * 8 + a] *= inverse;
    column[0] = inverse;
  }
}

}  // namespace

void UnevenSolver::FindTensors(const MarkerPatch& patch, const MarkerProblem& problem) {
  const int columns = width_ - 1, rows = height_ - 1, stride = columns + 2 * kWindowReach;
  const std::size_t plane =
      static_cast<std::size_t>(stride) * static_cast<std::size_t>(rows + 2 * kWindowReach);
  planes_.assign(kPlanes * plane, 0);
  smooth_.assign(kPlanes * plane, 0);
  const auto outside = [&](int i) {
    return cover(i) < kOutside && patch.used[static_cast<std::size_t>(i)];
  };
  const auto place = [&](int y, int x) {
    return static_cast<std::size_t>(y + kWindowReach) * static_cast<std::size_t>(stride) +
           static_cast<std::size_t>(x + kWindowReach);
  };
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) {
      const int a = y * width_ + x;
      if (!outside(a) || !outside(a + 1) || !outside(a + width_) || !outside(a + width_ + 1))
        continue;
      const double* v = patch.values.data() + a;
      const double gx = (v[1] - v[0] + v[width_ + 1] - v[width_]) / 2,
                   gy = (v[width_] - v[0] + v[width_ + 1] - v[1]) / 2;
      const double level = (v[0] + v[1] + v[width_] + v[width_ + 1]) / 4;
      float* p = planes_.data() + place(y, x);
      const double terms[kPlanes] = {1, gx * gx, gx * gy, gy * gy, std::max(0., level)};
      for (int k = 0; k < kPlanes; ++k)
        p[static_cast<std::size_t>(k) * plane] = static_cast<float>(terms[k]);
    }
  static const auto window = [] {
    std::array<float, kWindowReach + 1> w;
    for (int k = 0; k <= kWindowReach; ++k)
      w[static_cast<std::size_t>(k)] =
          static_cast<float>(std::exp(-0.5 * k * k / (kWindow * kWindow)));
    return w;
  }();
  for (int k = 0; k < kPlanes; ++k)
    for (int y = 0; y < rows; ++y) {
      const std::size_t at = static_cast<std::size_t>(k) * plane + place(y, 0);
      Smooth(planes_.data() + at, 1, columns, window.data(), smooth_.data() + at);
    }
  for (int k = 0; k < kPlanes; ++k)
    for (int y = 0; y < rows; ++y) {
      const std::size_t at = static_cast<std::size_t>(k) * plane + place(y, 0);
      Smooth(smooth_.data() + at, stride, columns, window.data(), planes_.data() + at);
    }
  tensors_.resize(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows));
  Tensor* tensor = tensors_.data();
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x, ++tensor) {
      const float* s = planes_.data() + place(y, x);
      *tensor = {0, 0, 0};
      if (!(s[0] > 1e-9F)) continue;  // far inside, or without information
      const double per = 1 / static_cast<double>(s[0]), xx = per * s[plane],
                   xy = per * s[2 * plane], yy = per * s[3 * plane];
      const double noise = problem.noise.Variance(per * s[4 * plane]), least = kSmoothest * noise;
      // The noise of the pixels taken off, and no step without variance: eigenvalues not below
      // `least`.
      const double mean = (xx + yy) / 2 - noise, half = (xx - yy) / 2;
      const double radius = std::sqrt(half * half + xy * xy);
      const double large = std::max(kRougher * (mean + radius), least);
      const double small = std::max({kRougher * (mean - radius), least, kAlong * large});
      // of twice the angle
      const double cos = radius > 0 ? half / radius : 1, sin = radius > 0 ? xy / radius : 0;
      // A membrane whose steps have the weight T leaves half of 1 / T to the step between two
      // neighbours.
      const double a = 0.5 / large, b = 0.5 / small;
      *tensor = {(a + b) / 2 + (a - b) / 2 * cos, (a - b) / 2 * sin,
                 (a + b) / 2 - (a - b) / 2 * cos};
    }
}

void UnevenSolver::Number() {
  const int wide = width_ + 2;
  number_.assign(static_cast<std::size_t>(wide) * static_cast<std::size_t>(height_ + 2), -1);
  pixel_.clear();
  for (int y = 0, i = 0; y < height_; ++y)
    for (int x = 0; x < width_; ++x, ++i) {
      if (!(cover(i) < kInside)) continue;
      number_[Bordered(y, x)] = static_cast<int>(pixel_.size());
      pixel_.push_back(i);
    }
}

// The steps of B: along both sides of every corner of a cell.
void UnevenSolver::FindSteps() {
  const int wide = width_ + 2;
  steps_.assign(number_.size(), {0, 0, 0, 0, 0});
  const Tensor* tensor = tensors_.data();
  for (int y = 0; y + 1 < height_; ++y)
    for (int x = 0; x + 1 < width_; ++x, ++tensor) {
      const int at[4] = {(y + 1) * wide + x + 1, (y + 1) * wide + x + 2, (y + 2) * wide + x + 1,
                         (y + 2) * wide + x + 2};
      bool felt[4];
      for (int k = 0; k < 4; ++k) felt[k] = number_[static_cast<std::size_t>(at[k])] >= 0;
      const double xx = tensor->xx / 4, yy = tensor->yy / 4;
      for (int corner = 0; corner < 4; ++corner) {
        const int beside = corner ^ 1, below = corner ^ 2;
        if (!felt[corner] || !felt[beside] || !felt[below]) continue;
        const bool main = corner == 0 || corner == 3;
        const double xy = (main ? 1 : -1) * tensor->xy / 4;
        steps_[static_cast<std::size_t>(at[beside])].own += xx;
        steps_[static_cast<std::size_t>(at[below])].own += yy;
        steps_[static_cast<std::size_t>(at[corner])].own += xx + yy + 2 * xy;
        steps_[static_cast<std::size_t>(at[corner & 2])].right -= xx + xy;
        steps_[static_cast<std::size_t>(at[corner & 1])].below -= yy + xy;
        // The two neighbours of the corner stand on the other diagonal.
        if (main)
          steps_[static_cast<std::size_t>(at[1])].below_left += xy;
        else
          steps_[static_cast<std::size_t>(at[0])].below_right += xy;
      }
    }
}

double UnevenSolver::Energy(const MarkerPatch& patch, const MarkerProblem& problem,
                            const MarkerVector& p, bool factor) {
  const int wide = width_ + 2;
  const double read = problem.noise.read * problem.noise.read + 1. / 12, gain = problem.noise.gain;
  double energy = 0, sums[kColumns * kColumns] = {};
  n_used_ = 0;
  if (factor) right_.resize((pixel_.size() + kBlock) * kColumns);
  rows_.resize(static_cast<std::size_t>(width_) * (kColumns + 1));
  double* const row_weights = rows_.data() + static_cast<std::ptrdiff_t>(width_) * kColumns;
  for (int y = 0, i = 0; y < height_; ++y) {
    int n_rows = 0;
    for (int x = 0; x < width_; ++x, ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto b = Bordered(y, x);
      const double* c = cover_.pixel(i);
      const double cover = c[CoverChannel::kCover], height = p[kLevel] - behind_[b];
      const PixelMean mean = ClippedMean(behind_[b] + cover * height, read, gain);
      const double r = patch.values[at] - mean.mean, weight = 1 / mean.variance,
                   d = mean.derivative;
      const double used = patch.used[at] ? weight : 0, by_c = d * height, by_b = d * (1 - cover);
      weights_[at] = weight;
      double* j = rows_.data() + static_cast<std::ptrdiff_t>(n_rows) * kColumns;
      const double terms[kColumns] = {
          by_c * c[kByX],        by_c * c[kByY],        d * cover,         by_c * c[kByForm],
          by_c * c[kByForm + 1], by_c * c[kByForm + 2], by_c * c[kByBlur], r};
      std::copy_n(terms, kColumns, j);
      if (problem.circle) j[kAtForm0] += j[kAtForm1], j[kAtForm1] = j[kAtForm2] = 0;
      energy += r * r * used;
      n_used_ += used > 0 && (d > 0.5 || r * r * weight > 1);
      if (cover > 0) row_weights[n_rows++] = used;  // else only the gradient by B is needed
      const int number = number_[b];
      if (number < 0) continue;
      // Gradient of the prior of B: a row of the precision times B.
      const Steps& s = steps_[b];
      const double* v = behind_.data() + b;
      const double pull = s.own * v[0] + s.right * v[1] + s.below_left * v[wide - 1] +
                          s.below * v[wide] + s.below_right * v[wide + 1] + (&s)[-1].right * v[-1] +
                          (&s)[1 - wide].below_left * v[1 - wide] + (&s)[-wide].below * v[-wide] +
                          (&s)[-wide - 1].below_right * v[-wide - 1];
      energy += pull * v[0];
      const double f = used * by_b, gradient = f * r - pull;
      forward_[static_cast<std::size_t>(number)] = gradient;
      if (!factor) continue;
      by_b_[static_cast<std::size_t>(number)] = f * by_b;
      double* right = right_.data() + static_cast<std::size_t>(number) * kColumns;
      for (int a = 0; a < kUnknowns; ++a) right[a] = f * j[a];
      right[kUnknowns] = gradient;
    }
    AddProducts<kColumns>(rows_.data(), row_weights, n_rows, sums);
  }
  for (int a = 0; a < kUnknowns; ++a) {
    gradient_[a] = sums[kUnknowns * kColumns + a];
    for (int k = 0; factor && k <= a; ++k)
      information_(a, k) = information_(k, a) = sums[a * kColumns + k];
  }
  return energy;
}

void UnevenSolver::Assemble() {
  const int n = static_cast<int>(pixel_.size()), wide = width_ + 2;
  last_.resize(static_cast<std::size_t>(n));
  const auto bordered = [&](int k) { return Bordered(pixel_[static_cast<std::size_t>(k)]); };
  int longest = 0;
  for (int k = 0, last = 0; k < n; ++k) {
    const std::size_t b = bordered(k);
    for (int step : {1, wide - 1, wide, wide + 1})
      last = std::max(last, number_[b + static_cast<std::size_t>(step)]);
    last_[static_cast<std::size_t>(k)] = last = std::max(last, k);
    longest = std::max(longest, last - k);
  }
  stride_ = longest + 3 * kBlock;  // the columns of a block end where its last one does
  matrix_.assign(static_cast<std::size_t>(stride_) * static_cast<std::size_t>(n + kBlock), 0.);
  for (int k = 0; k < n; ++k) {
    const std::size_t b = bordered(k);
    const Steps& s = steps_[b];
    double* column = matrix_.data() + k * stride_;
    column[0] = s.own + by_b_[static_cast<std::size_t>(k)];
    const auto add = [&](int step, double value) {
      const int number = number_[b + static_cast<std::size_t>(step)];
      if (number >= 0) column[number - k] = value;
    };
    add(1, s.right), add(wide - 1, s.below_left), add(wide, s.below), add(wide + 1, s.below_right);
  }
  // Columns that fill the last block.
  for (int k = n; k < n + kBlock; ++k) {
    matrix_[static_cast<std::size_t>(k * stride_)] = 1;
    std::fill_n(right_.begin() + static_cast<std::ptrdiff_t>(k) * kColumns, kColumns, 0.);
  }
}

// Cholesky factor of the part of B, and the right hand sides divided by it. The inverse of the
// diagonal stands on it.
void UnevenSolver::Eliminate() {
  const int n = static_cast<int>(pixel_.size());
  for (int j = 0; j < n; j += kBlock) {
    const int last =
        std::max(last_[static_cast<std::size_t>(std::min(j + kBlock, n) - 1)], j + kBlock - 1);
    double* first = matrix_.data() + j * stride_;
    double* own = right_.data() + static_cast<std::ptrdiff_t>(j) * kColumns;
    FactorBlock(first, stride_, last - j, own);
    const double* four[kBlock];
    for (int q = 0; q < kBlock; ++q) four[q] = first + q * stride_ + kBlock - q;
    SubtractColumns(four, last - j - kBlock + 1, first + kBlock * stride_, stride_, own,
                    own + static_cast<std::ptrdiff_t>(kBlock) * kColumns);
  }
}

// The gradient by B divided by the factor at hand.
void UnevenSolver::Forward() {
  const int n = static_cast<int>(pixel_.size());
  for (int k = 0; k < n; ++k) {
    const double* column = matrix_.data() + k * stride_;
    double* y = forward_.data() + k;
    const double own = y[0] *= column[0];
    const int rows = last_[static_cast<std::size_t>(k)] - k;
    for (int r = 1; r <= rows; ++r) y[r] -= own * column[r];
  }
}

// Subtracts the part of the information that B absorbs.
void UnevenSolver::Reduce(bool factor, Vector* gradient, Matrix* normal) {
  const std::size_t n = pixel_.size();
  const double* row = right_.data();
  double sums[kColumns * kColumns] = {};
  if (factor) {
    ones_.resize(std::max(ones_.size(), n), 1.);
    AddProducts<kColumns>(row, ones_.data(), static_cast<int>(n), sums);
    for (std::size_t k = 0; k < n; ++k) forward_[k] = right_[k * kColumns + kUnknowns];
    for (int a = 0; a < kUnknowns; ++a)
      for (int b = 0; b <= a; ++b)
        (*normal)(a, b) = (*normal)(b, a) = (*normal)(a, b) - sums[a * kColumns + b];
  } else {
    AddMultiples(row, forward_.data(), static_cast<int>(n), sums + kUnknowns * kColumns);
  }
  for (int a = 0; a < kUnknowns; ++a) (*gradient)[a] -= sums[kUnknowns * kColumns + a];
}

// B follows a step of the marker's unknowns, from the last pixel back.
void UnevenSolver::FollowB(const Vector& step) {
  const int n = static_cast<int>(pixel_.size());
  for (int k = n - 1; k >= 0; --k) {
    const double* column = matrix_.data() + k * stride_;
    const double* right = right_.data() + static_cast<std::ptrdiff_t>(k) * kColumns;
    double* b = forward_.data() + k;
    double sum = b[0];
    for (int a = 0; a < kUnknowns; ++a) sum -= right[a] * step[a];
    const int rows = last_[static_cast<std::size_t>(k)] - k;
    for (int r = 1; r <= rows; ++r) sum -= column[r] * b[r];
    b[0] = sum * column[0];
    const int i = pixel_[static_cast<std::size_t>(k)];
    behind_[Bordered(i)] += b[0];
  }
}

MarkerSolution UnevenSolver::Solve(const MarkerPatch& patch, const MarkerProblem& problem,
                                   const MarkerVector& start) {
  width_ = patch.width, height_ = patch.height;
  const int n = width_ * height_, wide = width_ + 2;
  MarkerSolution solution;
  solution.p = solution.at = start;
  if (width_ < 3 || height_ < 3) return solution;
  MarkerVector p = start;
  // of the marker, here
  p[kLevel] += start.segment<2>(kSlopeX).dot(start.head<2>() - patch.origin) + start[kAmplitude];
  behind_.assign(static_cast<std::size_t>(wide) * static_cast<std::size_t>(height_ + 2), 0.);
  for (int i = 0; i < n; ++i)
    behind_[Bordered(i)] =
        start[kLevel] + start.segment<2>(kSlopeX).dot(patch.Place(i) - patch.origin);
  weights_.resize(static_cast<std::size_t>(n));
  by_b_.resize(static_cast<std::size_t>(n));
  forward_.resize(static_cast<std::size_t>(n) + kBlock);
  double energy = 0, before = 1e300, moved = 1e300, length_before = 1e300;
  Matrix normal;
  Eigen::LDLT<Matrix> ldlt;
  Vector scale;
  bool slow = false;
  for (int pass = 0; pass < kUnevenPasses && !solution.converged; ++pass) {
    cover_.Evaluate(problem.Outline(p), patch.window, problem.by_blur);
    const bool look = pass == 0 || (pass == 1 && moved > kMoved),
               factor = look || pass < 2 || slow || moved > kStill;
    if (look) {
      FindTensors(patch, problem);
      Number();
      if (pixel_.empty()) return solution;
      FindSteps();
      before = 1e300;
    }
    energy = Energy(patch, problem, p, factor);
    if (!std::isfinite(energy) || energy > 1.1 * before + 10) return solution;
    before = energy;
    Vector gradient = gradient_;
    if (factor) {
      Assemble();
      Eliminate();
      normal = information_;
    } else {
      Forward();
    }
    Reduce(factor, &gradient, &normal);
    if (factor) {
      if (problem.circle) normal(kAtForm1, kAtForm1) = normal(kAtForm2, kAtForm2) = 1;
      if (!problem.by_blur) normal(kAtBlur, kAtBlur) = 1;
      scale = normal.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
      ldlt.compute(scale.asDiagonal() * normal * scale.asDiagonal());
      if (ldlt.info() != Eigen::Success) return solution;
    }
    const Vector step = scale.cwiseProduct(ldlt.solve(scale.cwiseProduct(gradient)));
    if (!step.allFinite()) return solution;
    const double length = step.dot(normal * step);
    slow = !factor && length > kSlow * length_before;
    length_before = length;
    // Steps beyond the range of the linearisation are shortened.
    const double largest =
        std::max({std::abs(step[kAtX]), std::abs(step[kAtY]), std::abs(step[kAtForm0]),
                  std::abs(step[kAtForm1]), std::abs(step[kAtForm2])});
    const double part = std::min(1., 1 / std::max(largest, 1e-9));
    for (int a = 0; a < kUnknowns; ++a)
      p[kPlace[a] == kAmplitude ? static_cast<int>(kLevel) : kPlace[a]] += part * step[a];
    if (problem.circle) p[kForm1] = p[kForm0], p[kForm2] = 0;
    FollowB(part * step);
    if (problem.by_blur) p[kBlur] = std::clamp(p[kBlur], 0.1, 30.);
    if (!(p[kForm0] > 0.3) || !p.allFinite()) return solution;
    const double dof = std::max(1, n_used_ + 2 - problem.CountFree());
    moved = part * largest;
    // The last step is so small that the model need not be evaluated again.
    solution.converged = pass > 0 && length < kUnevenTolerance * std::max(1., energy / dof);
  }
  solution.chi_square = energy;
  solution.converged = Finish(p, &solution) && solution.converged;
  for (int a = 0; a < kUnknowns; ++a)
    for (int b = 0; b < kUnknowns; ++b) solution.information(kPlace[a], kPlace[b]) = normal(a, b);
  return solution;
}

// In the parameters of the plain fit. False where B is no background.
bool UnevenSolver::Finish(const MarkerVector& p, MarkerSolution* solution) const {
  double sum = 0, weight = 0;
  const auto rim = [&](const auto& take) {
    for (std::size_t k = 0; k < pixel_.size(); ++k) {
      const int i = pixel_[k];
      const double c = cover(i);
      if (c > 1e-6) take(c, behind_[Bordered(i)]);
    }
  };
  rim([&](double c, double b) { sum += c * (1 - c) * b, weight += c * (1 - c); });
  if (!(weight > 0)) return false;
  const double mean = sum / weight, height = p[kLevel] - mean;
  bool background = true;
  rim([&](double c, double b) {
    background &= !(c > 0.05 && c < 0.95 && (b - mean) / height > kTooBright);
  });
  solution->p = p;
  solution->p[kAmplitude] = height;
  solution->p[kLevel] = mean;
  solution->p[kSlopeX] = solution->p[kSlopeY] = 0;
  solution->at = solution->p;
  solution->n = n_used_ + 2;
  solution->information.setIdentity();
  return background;
}

}  // namespace impactlab::tracking
