#include "calibration/detect/detail/corner.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>

#include "data/statistics/order_statistic.h"

namespace impactlab::calibration {
namespace {

constexpr double kReach = 0.45;    // of the window along each side of a square
constexpr double kMostReach = 10;  // [px]
// distance of the lines of a square below which blur mixes corners [px]
constexpr double kLeastSquare = 5;
constexpr double kMarkerReach = 2;   // of a marker's blur [standard deviations]
constexpr double kLeastClear = 0.8;  // strip along the lines that is used in any case [px]
constexpr int kMostIterations = 20;
constexpr double kLeastContrast = 4;  // [grey levels]

// erf(t / sqrt 2) and its derivative by linear interpolation between values 1/256 apart: errors
// below 1e-5 and 1e-3.
struct ErrorFunction {
  static constexpr int kCount = 4 * 256 + 2;
  std::array<float, kCount> value, slope;
  ErrorFunction() {
    for (int k = 0; k < kCount; ++k) {
      const double t = k / 256.0;
      value[k] = static_cast<float>(std::erf(t / std::sqrt(2)));
      slope[k] = static_cast<float>(std::sqrt(2 / M_PI) * std::exp(-t * t / 2));
    }
  }
  void operator()(float t, float* e, float* de) const {
    const float a = std::abs(t) * 256;
    if (a >= 1024) {
      *e = t > 0 ? 1 : -1;
      *de = 0;
      return;
    }
    const int k = static_cast<int>(a);
    const float f = a - static_cast<float>(k);
    const float v = value[k] + f * (value[k + 1] - value[k]);
    *e = t > 0 ? v : -v;
    *de = slope[k] + f * (slope[k + 1] - slope[k]);
  }
};
const ErrorFunction& Erf() {
  static const ErrorFunction table;
  return table;
}

struct Pixel {
  float x, y, value;  // about the guess [px], [grey levels]
};

enum { kX, kY, kA1, kA2, kS, kM, kGx, kGy, kC, kCount };
using Parameters = Eigen::Matrix<double, kCount, 1>;
using Normal = Eigen::Matrix<double, kCount, kCount>;

// Scratch of one fit: single precision columns of the Jacobian, so that the sums over pixels run in
// vector registers.
struct Columns {
  std::array<Eigen::VectorXf, kCount> j;
  Eigen::VectorXf r;
};

// Sum of squared residuals, J'J and J'r.
double Evaluate(const std::vector<Pixel>& pixels, const Parameters& p, Columns* columns, Normal* A,
                Parameters* b) {
  const ErrorFunction& erf = Erf();
  const auto n = static_cast<Eigen::Index>(pixels.size());
  columns->r.resize(n);
  for (auto& j : columns->j) j.resize(n);
  const float w = static_cast<float>(1 / p[kS]), px = static_cast<float>(p[kX]),
              py = static_cast<float>(p[kY]);
  const float s1 = static_cast<float>(std::sin(p[kA1])) * w,
              c1 = static_cast<float>(std::cos(p[kA1])) * w;
  const float s2 = static_cast<float>(std::sin(p[kA2])) * w,
              c2 = static_cast<float>(std::cos(p[kA2])) * w;
  const float m = static_cast<float>(p[kM]), gx = static_cast<float>(p[kGx]),
              gy = static_cast<float>(p[kGy]), c = static_cast<float>(p[kC]);
  auto& j = columns->j;
  for (Eigen::Index k = 0; k < n; ++k) {
    const Pixel& pixel = pixels[k];
    const float x = pixel.x - px, y = pixel.y - py;
    // First line along (c1, s1), distance grows to its right hand (y down: towards +v); second
    // along (c2, s2), grows towards +u.
    const float t1 = c1 * y - s1 * x, t2 = s2 * x - c2 * y;
    float e1, d1, e2, d2;
    erf(t1, &e1, &d1);
    erf(t2, &e2, &d2);
    const float f1 = c * d1 * e2, f2 = c * e1 * d2, e = e1 * e2;  // f: derivatives to t1, t2
    columns->r[k] = pixel.value - (m + gx * x + gy * y + c * e);
    j[kX][k] = f1 * s1 - f2 * s2 - gx;
    j[kY][k] = f2 * c2 - f1 * c1 - gy;
    j[kA1][k] = -f1 * (c1 * x + s1 * y);
    j[kA2][k] = f2 * (c2 * x + s2 * y);
    j[kS][k] = -(f1 * t1 + f2 * t2) * w;
    j[kM][k] = 1;
    j[kGx][k] = x;
    j[kGy][k] = y;
    j[kC][k] = e;
  }
  for (int k = 0; k < kCount; ++k) {
    (*b)[k] = j[k].dot(columns->r);
    for (int l = 0; l <= k; ++l) (*A)(k, l) = j[k].dot(j[l]);
  }
  return columns->r.squaredNorm();
}

// Pixels of the window about `centre`, in the squares' own coordinates, with their place relative
// to `origin`.
std::vector<Pixel> Window(const GrayImage& image, const CornerGuess& guess,
                          const Eigen::Vector2d& centre, double width) {
  Eigen::Matrix2d to_px;
  to_px << guess.du, guess.dv;
  const Eigen::Matrix2d to_square = to_px.inverse();
  const double lu = guess.du.norm(), lv = guess.dv.norm();
  // Distance of a place from the lines, per unit of v and u.
  const double cross = std::abs(to_px.determinant()), h1 = cross / lu, h2 = cross / lv;
  const double ru = std::min(kReach, kMostReach / lu), rv = std::min(kReach, kMostReach / lv);
  const double span_x = ru * std::abs(guess.du.x()) + rv * std::abs(guess.dv.x());
  const double span_y = ru * std::abs(guess.du.y()) + rv * std::abs(guess.dv.y());
  const int x0 = std::max(0, static_cast<int>(std::ceil(centre.x() - span_x))),
            y0 = std::max(0, static_cast<int>(std::ceil(centre.y() - span_y)));
  const int x1 = std::min(image.width - 1, static_cast<int>(std::floor(centre.x() + span_x)));
  const int y1 = std::min(image.height - 1, static_cast<int>(std::floor(centre.y() + span_y)));
  // Away from the lines only as far as no blur of a marker reaches.
  const auto clear = [&](double lines) {
    return std::max(guess.clear - kMarkerReach * width / lines,
                    std::min(guess.clear, kLeastClear / lines));
  };
  const double clear_u = clear(h2), clear_v = clear(h1);
  std::vector<Pixel> pixels;
  for (int y = y0; y <= y1; ++y) {
    for (int x = x0; x <= x1; ++x) {
      const Eigen::Vector2d d(x - centre.x(), y - centre.y());
      const Eigen::Vector2d u = (to_square * d).cwiseAbs();
      if (u.x() > ru || u.y() > rv) continue;
      if (u.x() > clear_u && u.y() > clear_v) continue;  // may hold a marker
      pixels.push_back({static_cast<float>(x - guess.q.x()), static_cast<float>(y - guess.q.y()),
                        static_cast<float>(image.At(x, y))});
    }
  }
  return pixels;
}

// Grey levels of the fields from the pixels, at the blur and the lines of `p`.
bool StartLevels(const std::vector<Pixel>& pixels, double a1, double a2, Parameters* p) {
  double white = 0, sum = 0, sum_ee = 0, sum_e = 0;
  for (const Pixel& pixel : pixels) {
    const double t1 = -std::sin(a1) * pixel.x + std::cos(a1) * pixel.y,
                 t2 = std::sin(a2) * pixel.x - std::cos(a2) * pixel.y;
    const double e =
        std::erf(t1 / (*p)[kS] / std::sqrt(2)) * std::erf(t2 / (*p)[kS] / std::sqrt(2));
    white += e * pixel.value;
    sum += pixel.value;
    sum_e += e;
    sum_ee += e * e;
  }
  const double n = static_cast<double>(pixels.size()), det = n * sum_ee - sum_e * sum_e;
  if (!(det > 0)) return false;
  (*p)[kC] = (n * white - sum_e * sum) / det;
  (*p)[kM] = (sum - (*p)[kC] * sum_e) / n;
  return true;
}

// The least squares of a corner: parameters, their normal equations and cost.
struct CornerState {
  Parameters p = Parameters::Zero();
  Normal A;
  double cost = 0;
};

// Levenberg-Marquardt from `state`; false where the pixels show no corner. Not by the driver of
// data/math: matrices of fixed size, single-precision sums whose rounding ends the search, a
// bounded width, and an early end where there is no corner.
bool IterateCorner(const std::vector<Pixel>& pixels, double most_blur, CornerState* state) {
  Columns columns;
  Normal next_A;
  Parameters b, next_b;
  double lambda = 1e-3;
  auto& [p, A, cost] = *state;
  cost = Evaluate(pixels, p, &columns, &A, &b);
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    Normal damped = A.selfadjointView<Eigen::Lower>();
    for (int k = 0; k < kCount; ++k) damped(k, k) += lambda * A(k, k) + 1e-9;
    const Parameters step = damped.ldlt().solve(b);
    Parameters next = p + step;
    next[kS] = std::clamp(next[kS], 0.25, most_blur);
    if (!next.allFinite()) return false;
    const double next_cost = Evaluate(pixels, next, &columns, &next_A, &next_b);
    if (next_cost <= cost) {
      const bool settled = (next - p).head<2>().norm() < 1e-3 && cost - next_cost <= 1e-4 * cost;
      p = next;
      lambda = std::max(lambda * 0.1, 1e-9);
      cost = next_cost;
      A = next_A;
      b = next_b;
      if (settled) break;
    } else {
      if (step.head<2>().norm() < 1e-4) break;  // the limit of single precision
      lambda *= 10;
      if (lambda > 1e6) break;
    }
    // A residual this large after five steps: no corner is there.
    if (iteration == 5 && cost > 0.6 * 0.6 * p[kC] * p[kC] * static_cast<double>(pixels.size()))
      return false;
  }
  return true;
}

}  // namespace

std::optional<CornerFit> FitCorner(const GrayImage& image, const CornerGuess& guess) {
  const double lu = guess.du.norm(), lv = guess.dv.norm(),
               cross = guess.du.x() * guess.dv.y() - guess.du.y() * guess.dv.x();
  if (!guess.q.allFinite() || !(lu > 0) || !(lv > 0) ||
      !(std::abs(cross) / std::max(lu, lv) > kLeastSquare))
    return std::nullopt;
  const double nearest_line = std::abs(cross) / std::max(lu, lv);
  if (guess.q.x() < 2 || guess.q.y() < 2 || guess.q.x() > image.width - 3 ||
      guess.q.y() > image.height - 3)
    return std::nullopt;

  CornerState state;
  Parameters& p = state.p;
  const double a1 = std::atan2(guess.du.y(), guess.du.x()),
               a2 = std::atan2(guess.dv.y(), guess.dv.x());
  p[kA1] = a1;
  p[kA2] = a2;
  p[kS] = std::clamp(0.12 * nearest_line, 0.8, 2.0);
  std::vector<Pixel> pixels = Window(image, guess, guess.q, 1.0);
  for (int round = 0; round < 3; ++round) {
    if (pixels.size() < 24) return std::nullopt;
    if (round == 0 && !StartLevels(pixels, a1, a2, &p)) return std::nullopt;
    if (!IterateCorner(pixels, std::max(0.3 * nearest_line, 1.0), &state)) return std::nullopt;
    if (std::hypot(p[kX], p[kY]) > 0.45 * std::min(lu, lv)) return std::nullopt;
    if (round == 2) break;
    // The window follows the corner when it was off by more than half a pixel, and the blur where
    // there are markers.
    if (std::hypot(p[kX], p[kY]) < 0.5 && (guess.clear > 0.5 || round > 0)) break;
    std::vector<Pixel> again = Window(image, guess, guess.q + p.head<2>(), p[kS]);
    pixels = std::move(again);
  }

  CornerFit fit;
  fit.q = guess.q + p.head<2>();
  // t1 t2 > 0 in the field (-x, -y) and its opposite, whatever the sense of (du, dv)
  fit.contrast = p[kC];
  fit.width = p[kS];
  fit.rms = std::sqrt(
      state.cost / static_cast<double>(std::max<int>(1, static_cast<int>(pixels.size()) - kCount)));
  const auto turn = [](double a, double b) { return std::abs(std::remainder(a - b, 2 * M_PI)); };
  if (std::abs(p[kC]) < kLeastContrast || fit.rms > 0.35 * std::abs(p[kC])) return std::nullopt;
  if (turn(p[kA1], a1) > 0.5 || turn(p[kA2], a2) > 0.5) return std::nullopt;
  if (fit.q.x() < 1 || fit.q.y() < 1 || fit.q.x() > image.width - 2 || fit.q.y() > image.height - 2)
    return std::nullopt;

  const Normal full = state.A.selfadjointView<Eigen::Lower>();
  const Parameters column_x = full.ldlt().solve(Parameters::Unit(kX)),
                   column_y = full.ldlt().solve(Parameters::Unit(kY));
  const double trace = column_x[kX] + column_y[kY];
  if (!(trace > 0) || !std::isfinite(trace)) return std::nullopt;
  fit.unit_sd = std::sqrt(trace / 2);
  return fit;
}

std::vector<double> RelativeSd(const std::vector<double>& unit_sd, const std::vector<double>& rms) {
  // The residuals of most corners are the noise of the picture; a corner that fits worse has its
  // own residuals for noise. Rounding to whole grey levels alone gives 0.29.
  const double typical = std::max(UpperMedian(rms), 0.3);
  std::vector<double> sd(unit_sd.size());
  for (std::size_t k = 0; k < sd.size(); ++k) {
    const double noise = rms[k] > 1.5 * typical ? rms[k] : typical;
    sd[k] = std::hypot(kFloorSd, unit_sd[k] * noise) / kFloorSd;
  }
  return sd;
}

std::optional<Eigen::Matrix3d> FitHomography(const std::vector<Eigen::Vector2d>& from,
                                             const std::vector<Eigen::Vector2d>& to,
                                             const std::vector<double>* weights) {
  if (from.size() < 4 || from.size() != to.size()) return std::nullopt;
  const auto normaliser = [](const std::vector<Eigen::Vector2d>& p) {
    Eigen::Vector2d mean = Eigen::Vector2d::Zero();
    for (const auto& v : p) mean += v;
    mean /= static_cast<double>(p.size());
    double spread = 0;
    for (const auto& v : p) spread += (v - mean).squaredNorm();
    const double s = std::sqrt(static_cast<double>(p.size()) / std::max(spread, 1e-300));
    Eigen::Matrix3d T;
    T << s, 0, -s * mean.x(), 0, s, -s * mean.y(), 0, 0, 1;
    return T;
  };
  const Eigen::Matrix3d Tf = normaliser(from), Tt = normaliser(to);
  using Vector8 = Eigen::Matrix<double, 8, 1>;
  Vector8 h = Vector8::Zero();  // h33 = 1: the centre of the points is never at infinity
  bool started = false;
  for (int iteration = 0; iteration < 8; ++iteration) {
    // First the linear problem (residual times denominator), then Gauss-Newton on distances in the
    // image.
    Eigen::Matrix<double, 8, 8> A = Eigen::Matrix<double, 8, 8>::Zero();
    Vector8 b = Vector8::Zero();
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Eigen::Vector2d p = ApplyHomography(Tf, from[k]), q = ApplyHomography(Tt, to[k]);
      double weight = weights != nullptr ? (*weights)[k] : 1;
      const double d = started ? h[6] * p.x() + h[7] * p.y() + 1 : 1;
      if (!(d > 1e-6)) return std::nullopt;
      weight /= d * d;
      const double u = started ? (h[0] * p.x() + h[1] * p.y() + h[2]) / d : q.x(),
                   v = started ? (h[3] * p.x() + h[4] * p.y() + h[5]) / d : q.y();
      Vector8 ju, jv;
      ju << p.x(), p.y(), 1, 0, 0, 0, -u * p.x(), -u * p.y();
      jv << 0, 0, 0, p.x(), p.y(), 1, -v * p.x(), -v * p.y();
      A += weight * (ju * ju.transpose() + jv * jv.transpose());
      b += weight *
           (started ? (ju * (q.x() - u) + jv * (q.y() - v)) * d : Vector8(ju * q.x() + jv * q.y()));
    }
    const auto ldlt = A.ldlt();
    const auto diagonal = ldlt.vectorD();
    if (ldlt.info() != Eigen::Success || !(diagonal.minCoeff() > 1e-12 * diagonal.maxCoeff()))
      return std::nullopt;
    const Vector8 step = ldlt.solve(b);
    if (!step.allFinite()) return std::nullopt;
    h += step;
    if (started && step.norm() < 1e-12) break;
    started = true;
  }
  Eigen::Matrix3d H;
  H << h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], 1;
  return Eigen::Matrix3d(Tt.inverse() * H * Tf);
}

}  // namespace impactlab::calibration
