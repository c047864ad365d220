#include "tracking/marker/detail/solve.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tracking/marker/detail/simd.h"

namespace impactlab::tracking {

namespace {

constexpr double kThinnest = 0.1;  // semi-axis [px]
// squared length of a step in standard deviations that ends the iteration
constexpr double kSolveTolerance = 1e-3;
// of chi-square: the number of nodes changes with the size, and with it the last digits
constexpr double kIndifferent = 0.05;
constexpr int kSolvePasses = 30;

// Mean, its derivative, and variance of max(X, 0) for normal X of this mean and variance.
struct Clipped {
  double mean, derivative, variance;
};
Clipped ClipBelow(double mean, double variance) {
  const double sd = std::sqrt(variance), z = mean / sd;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi),
               distribution = std::erfc(-z / std::numbers::sqrt2) / 2;
  const double clipped = mean * distribution + sd * density;
  const double square = (mean * mean + variance) * distribution + mean * sd * density;
  // The variance is at least a tenth of that without clipping, because what remains is not normally
  // distributed.
  return {clipped, distribution, std::max(square - clipped * clipped, 0.1 * variance + 1. / 12)};
}

bool Valid(const MarkerVector& p) { return p.allFinite(); }

bool Same(const Window& a, const Window& b) {
  return a.left == b.left && a.top == b.top && a.right == b.right && a.bottom == b.bottom;
}
bool Same(const MarkerOutline& a, const MarkerOutline& b) {
  return a.shape == b.shape && a.c == b.c && a.form == b.form && a.blur == b.blur &&
         a.motion == b.motion;
}

// The free unknowns of the problem in front, the others fixed with a unit pivot.
void FixOthers(const MarkerProblem& problem, MarkerMatrix* information, MarkerVector* gradient) {
  for (int k = 0; k < kMarkerUnknowns; ++k) {
    if (problem.Free(k)) continue;
    information->row(k).setZero();
    information->col(k).setZero();
    (*information)(k, k) = 1;
    if (gradient) (*gradient)[k] = 0;
  }
}

// Keeps the axes positive.
void Repair(const MarkerProblem& problem, MarkerVector* p) {
  MarkerVector& v = *p;
  if (problem.by_blur) v[kBlur] = std::clamp(v[kBlur], 0.1, 30.);
  if (problem.circle) {
    v[kForm0] = std::max(v[kForm0], kThinnest);
  } else if (problem.shape == MarkerShape::kStripe) {
    v[kForm0] = std::max(v[kForm0], kThinnest);
    v[kForm1] = std::max(v[kForm1], kThinnest);
  } else {
    const double mean = (v[kForm0] + v[kForm1]) / 2, difference = (v[kForm0] - v[kForm1]) / 2,
                 radius = std::hypot(difference, v[kForm2]);
    if (mean - radius >= kThinnest) return;
    const double new_mean = std::max(mean, kThinnest),
                 scale = radius > 0 ? (new_mean - kThinnest) / radius : 0;
    v[kForm0] = new_mean + scale * difference;
    v[kForm1] = new_mean - scale * difference;
    v[kForm2] *= scale;
  }
}

// Fraction of a step that stays within the range of the linearisation.
double Shorten(const MarkerProblem& problem, const MarkerVector& p, const MarkerVector& step) {
  const bool stripe = problem.shape == MarkerShape::kStripe;
  const double size = problem.circle ? p[kForm0]
                      : stripe       ? std::min(p[kForm0], p[kForm1])
                                     : (p[kForm0] + p[kForm1]) / 2;
  const double spread = problem.blur + size;
  double part = std::min(
      1., (0.5 * spread + 0.5) / std::max(1e-12, std::hypot(step[kCentreX], step[kCentreY])));
  for (int k : {kForm0, kForm1, kForm2}) {
    if (!problem.Free(k)) continue;
    const double most = stripe && k == kForm2   ? 0.2
                        : stripe && k == kForm0 ? 0.4 * p[kForm0] + 0.3
                                                : 0.4 * size + 0.3;
    part = std::min(part, most / std::max(1e-12, std::abs(step[k])));
  }
  if (problem.by_blur)
    part = std::min(part, 0.4 * p[kBlur] / std::max(1e-12, std::abs(step[kBlur])));
  return part;
}

}  // namespace

PixelMean MeanNearEnds(double intensity, double read, double gain) {
  PixelMean pixel{intensity, 1, read + gain * std::clamp(intensity, kBlack, kWhite)};
  double gap = intensity - kBlack;
  if (gap < 0 || gap * gap < kNear * kNear * pixel.variance) {
    const Clipped clipped = ClipBelow(gap, pixel.variance);
    pixel = {kBlack + clipped.mean, clipped.derivative, clipped.variance};
  }
  gap = kWhite - intensity;
  if (gap < 0 || gap * gap < kNear * kNear * pixel.variance) {
    const Clipped clipped = ClipBelow(gap, pixel.variance);
    pixel = {kWhite - clipped.mean, clipped.derivative, clipped.variance};
  }
  return pixel;
}

PixelMean MeanOf(double intensity, const PixelNoise& noise) {
  return ClippedMean(intensity, noise.read * noise.read + 1. / 12, noise.gain);
}

int MarkerProblem::CountFree() const {
  int n = 0;
  for (int k = 0; k < kMarkerUnknowns; ++k) n += Free(k);
  return n;
}

MarkerOutline MarkerProblem::Outline(const MarkerVector& p) const {
  MarkerOutline outline;
  outline.shape = shape;
  outline.c = p.head<2>();
  outline.form =
      circle ? Eigen::Vector3d(p[kForm0], p[kForm0], 0) : Eigen::Vector3d(p.segment<3>(kForm0));
  outline.blur = by_blur ? p[kBlur] : blur;
  outline.motion = motion;
  return outline;
}

MarkerMatrix MarkerSolution::Covariance(const MarkerProblem& problem) const {
  MarkerMatrix m = information;
  FixOthers(problem, &m, nullptr);
  // Units differ by orders of magnitude: invert with a unit diagonal.
  const MarkerVector scale = m.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
  m = scale.asDiagonal() * m * scale.asDiagonal();
  MarkerMatrix cov = m.ldlt().solve(MarkerMatrix::Identity());
  cov = scale.asDiagonal() * cov * scale.asDiagonal();
  for (int k = 0; k < kMarkerUnknowns; ++k)
    if (!problem.Free(k)) cov(k, k) = 0;
  return cov;
}

template <int kN>
void MarkerSolver::Sum(const MarkerPatch& patch, const MarkerProblem& problem,
                       const MarkerVector& p, Sums* sums) {
  constexpr int kWide = (kN + 4) / 4 * 4;  // derivatives and, behind them, the residual
  double products[kWide * kWide] = {};
  double chi_square = 0, merit = 0;
  int n = 0, i = 0;
  rows_.assign(static_cast<std::size_t>(patch.width) * (kWide + 1), 0.);
  // weights in the fit
  double* const used = rows_.data() + static_cast<std::ptrdiff_t>(patch.width) * kWide;
  const double read = problem.noise.read * problem.noise.read + 1. / 12, gain = problem.noise.gain;
  const double amplitude = p[kAmplitude], shade_x = problem.shaded ? p[kShadeX] : 0,
               shade_y = problem.shaded ? p[kShadeY] : 0;
  for (int row = 0; row < patch.height; ++row) {
    const double dy = patch.window.top + row - patch.origin[1],
                 from_y = patch.window.top + row - p[kCentreY];
    double* j = rows_.data();
    for (int column = 0; column < patch.width; ++column, ++i, j += kWide) {
      const double* c = cover_.pixel(i);
      const double dx = patch.window.left + column - patch.origin[0];
      const double from_x = patch.window.left + column - p[kCentreX];
      const double shade = kN == kMarkerUnknowns ? 1 + shade_x * from_x + shade_y * from_y : 1;
      const double bright = amplitude * shade;
      const double intensity =
          p[kLevel] + p[kSlopeX] * dx + p[kSlopeY] * dy + bright * c[CoverChannel::kCover];
      const auto [mean, derivative, variance] = ClippedMean(intensity, read, gain);
      const double r = patch.values[i] - mean, weight = 1 / variance;
      residuals_[i] = r * std::sqrt(weight);
      weights_[i] = weight;
      used[column] = patch.used[i] ? weight : 0;
      if (!patch.used[i]) continue;
      merit += r * r * weights_before_[i];
      // A clipped pixel where the model is clipped too carries no information and is not counted.
      if (derivative > 0.5 || r * r * weight > 1) {
        chi_square += r * r * weight;
        ++n;
      }
      const double d = derivative, by_c = d * bright;
      j[kCentreX] = by_c * c[CoverChannel::kByX];
      j[kCentreY] = by_c * c[CoverChannel::kByY];
      j[kAmplitude] = d * shade * c[CoverChannel::kCover];
      j[kLevel] = d;
      j[kSlopeX] = d * dx;
      j[kSlopeY] = d * dy;
      if constexpr (kN == 8) {
        j[kForm0] = by_c * (c[CoverChannel::kByForm] + c[CoverChannel::kByForm + 1]);
      } else {
        j[kForm0] = by_c * c[CoverChannel::kByForm];
        j[kForm1] = by_c * c[CoverChannel::kByForm + 1];
        j[kForm2] = by_c * c[CoverChannel::kByForm + 2];
        if (kN == kMarkerUnknowns && problem.circle) j[kForm0] += j[kForm1];
      }
      if constexpr (kN == kMarkerUnknowns) {
        const double shaded = d * amplitude * c[CoverChannel::kCover];
        j[kCentreX] -= shaded * shade_x;
        j[kCentreY] -= shaded * shade_y;
        j[kBlur] = by_c * c[CoverChannel::kByBlur];
        j[kShadeX] = shaded * from_x;
        j[kShadeY] = shaded * from_y;
      }
      j[kN] = r;
    }
    AddProducts<kWide>(rows_.data(), used, patch.width, products);
  }
  sums->information.setZero();
  sums->gradient.setZero();
  for (int a = 0; a < kN; ++a) {
    sums->gradient[a] = products[kN * kWide + a];
    for (int b = 0; b <= a; ++b)
      sums->information(a, b) = sums->information(b, a) = products[a * kWide + b];
  }
  sums->chi_square = chi_square;
  sums->merit = merit;
  sums->n = n;
}

double MarkerSolver::PriorMerit(const MarkerProblem& problem, const MarkerVector& p) const {
  double merit = 0;
  for (int k = 0; k < kMarkerUnknowns; ++k)
    if (problem.Free(k)) merit += std::pow((p[k] - problem.prior_mean[k]) / problem.prior_sd[k], 2);
  return merit;
}

void MarkerSolver::Evaluate(const MarkerPatch& patch, const MarkerProblem& problem,
                            const MarkerVector& p, Sums* sums) {
  const MarkerOutline outline = problem.Outline(p);
  if (!drawn_ || by_blur_ != problem.by_blur || !Same(window_, patch.window) ||
      !Same(outline_, outline)) {
    cover_.Evaluate(outline, patch.window, problem.by_blur);
    outline_ = outline;
    window_ = patch.window;
    by_blur_ = problem.by_blur;
    drawn_ = true;
  }
  weights_before_.swap(weights_);
  if (problem.by_blur || problem.shaded)
    Sum<kMarkerUnknowns>(patch, problem, p, sums);
  else if (problem.circle)
    Sum<8>(patch, problem, p, sums);
  else
    Sum<10>(patch, problem, p, sums);
  for (int k = 0; k < kMarkerUnknowns; ++k) {
    if (!problem.Free(k)) continue;
    const double weight = 1 / (problem.prior_sd[k] * problem.prior_sd[k]);
    sums->information(k, k) += weight;
    sums->gradient[k] += weight * (problem.prior_mean[k] - p[k]);
  }
  sums->merit += PriorMerit(problem, p);
  FixOthers(problem, &sums->information, &sums->gradient);
}

MarkerSolution MarkerSolver::EvaluateAt(const MarkerPatch& patch, const MarkerProblem& problem,
                                        const MarkerVector& p) {
  residuals_.resize(patch.values.size());
  weights_.assign(patch.values.size(), 1);
  weights_before_.assign(patch.values.size(), 1);
  Sums sums;
  Evaluate(patch, problem, p, &sums);
  MarkerSolution solution;
  solution.p = solution.at = p;
  solution.information = sums.information;
  solution.gradient = sums.gradient;
  solution.chi_square = sums.chi_square;
  solution.n = sums.n;
  return solution;
}

MarkerSolution MarkerSolver::Solve(const MarkerPatch& patch, const MarkerProblem& problem,
                                   const MarkerVector& start) {
  const std::size_t n = patch.values.size();
  residuals_.resize(n);
  weights_.assign(n, 1);
  weights_before_.assign(n, 1);
  MarkerVector p = start;
  Repair(problem, &p);
  Sums at, trial;
  Evaluate(patch, problem, p, &at);
  double damping = 1e-3;
  MarkerSolution solution;
  solution.at = p;
  for (int pass = 0; pass < kSolvePasses; ++pass) {
    const MarkerVector scale =
        at.information.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
    MarkerMatrix normal = scale.asDiagonal() * at.information * scale.asDiagonal();
    normal.diagonal().array() += damping;
    const Eigen::LDLT<MarkerMatrix> ldlt(normal);
    const MarkerVector scaled = ldlt.solve(scale.cwiseProduct(at.gradient));
    MarkerVector step = scale.cwiseProduct(scaled);
    if (!Valid(step)) break;
    const double length = step.dot(at.information * step), part = Shorten(problem, p, step);
    MarkerVector next = p + part * step;
    Repair(problem, &next);
    // Where the model does not fit a standard deviation is larger than the noise makes it.
    const double excess = std::max(1., at.chi_square / std::max(1, at.n));
    if (length < kSolveTolerance * excess && damping < 0.1) {
      // So near that the step is taken without another evaluation: residuals and information are
      // those at a distance of a few hundredths of a standard deviation.
      p = next;
      solution.converged = true;
      break;
    }
    // Merit of the present point with the weights of the trial.
    double merit = PriorMerit(problem, p);
    for (std::size_t i = 0; i < n; ++i)
      if (patch.used[i]) merit += residuals_[i] * residuals_[i];
    Evaluate(patch, problem, next, &trial);
    if (std::isfinite(trial.merit) && trial.merit <= merit * (1 + 1e-6) + kIndifferent) {
      p = solution.at = next;
      at = trial;
      damping = std::max(damping * 0.1, 1e-9);
      continue;
    }
    solution.converged = length < 0.1 * excess;
    damping = std::max(damping * 10, 1e-3);
    if (solution.converged || damping > 1e8) break;
    Evaluate(patch, problem, p, &at);
  }
  solution.p = p;
  solution.information = at.information;
  solution.chi_square = at.chi_square;
  solution.n = at.n;
  return solution;
}

}  // namespace impactlab::tracking
