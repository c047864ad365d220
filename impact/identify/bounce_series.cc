#include "impact/identify/bounce_series.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "data/math/least_squares.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// Coordinates of a fit: the first time (of a series of times), the logarithms of the first speed
// and of e, then slope and drag where they are free.
struct SeriesPoint {
  double t_0 = 0, log_u = 0, log_e = 0, slope = 0, drag = 0;
};

class SeriesModel {
 public:
  SeriesModel(const BounceReadings& readings, const BounceSeriesSetting& setting, double v_0)
      : readings_(readings), setting_(setting), v_0_(v_0) {}

  int size() const {
    return 2 + (readings_.durations ? 0 : 1) + (setting_.fit_slope ? 1 : 0) +
           (setting_.fit_drag ? 1 : 0);
  }

  SeriesPoint Moved(SeriesPoint p, const VectorXd& step) const {
    Index k = 0;
    if (!readings_.durations) p.t_0 += step[k++];
    p.log_u += step[k++];
    p.log_e += step[k++];
    if (setting_.fit_slope) p.slope += step[k++];
    if (setting_.fit_drag) p.drag += step[k++];
    return p;
  }

  // Readings less the model, over their uncertainty; and coefficients along the way.
  bool Residuals(const SeriesPoint& p, VectorXd& r, double* first = nullptr,
                 double* last = nullptr) const {
    const auto n = static_cast<Index>(readings_.t.size());
    const double scale = readings_.u > 0 ? readings_.u : 1;
    r.resize(n);
    double u = std::exp(p.log_u), t = p.t_0;
    Index row = 0;
    if (!readings_.durations) r[row++] = (readings_.t[0] - t) / scale;
    bool begun = false;
    for (std::size_t k = 0; row < n; ++k, ++row) {
      const int flights = readings_.flights.empty() ? 1 : readings_.flights[k];
      double duration = 0;
      for (int f = 0; f < flights; ++f) {
        const DragFlight flight = FlyWithDrag(u, p.drag, setting_.gravity);
        duration += flight.duration;
        const double e = std::exp(p.log_e) + p.slope * (flight.landing - v_0_);
        const bool used = row + 1 < n || f + 1 < flights;  // its rebound is in the readings
        if (used && !(e > 0)) return false;
        if (used && first != nullptr && !begun) *first = e;
        if (used && last != nullptr) *last = e;
        begun = true;
        u = e * flight.landing;
      }
      t += duration;
      r[row] = (readings_.t[static_cast<std::size_t>(row)] - (readings_.durations ? duration : t)) /
               scale;
    }
    return r.allFinite();
  }

  SquaresAt At(const SeriesPoint& p, bool derivatives) const {
    SquaresAt at;
    VectorXd r;
    at.valid = Residuals(p, r);
    if (!at.valid) return at;
    at.cost = r.squaredNorm();
    if (!derivatives) return at;
    Eigen::MatrixXd J(r.size(), size());
    VectorXd up, down;
    for (Index k = 0; k < J.cols(); ++k) {
      VectorXd step = VectorXd::Zero(J.cols());
      step[k] = kStep;
      const bool ok = Residuals(Moved(p, step), up) && Residuals(Moved(p, -step), down);
      if (!ok) return SquaresAt{};
      J.col(k) = (up - down) / (2 * kStep);
    }
    at.information = J.transpose() * J;
    at.gradient = J.transpose() * r;
    return at;
  }

 private:
  static constexpr double kStep = 1e-6;
  const BounceReadings& readings_;
  const BounceSeriesSetting& setting_;
  double v_0_;
};

std::vector<double> DurationsOf(const BounceReadings& readings) {
  if (readings.durations) return readings.t;
  std::vector<double> out;
  for (std::size_t k = 1; k < readings.t.size(); ++k)
    out.push_back(readings.t[k] - readings.t[k - 1]);
  return out;
}

// From the durations alone, as if one coefficient and no drag had made them.
SeriesPoint StartOf(const BounceReadings& readings, const BounceSeriesSetting& setting) {
  const std::vector<double> T = DurationsOf(readings);
  // Durations per flight fall by e a flight: a line through the logarithms by their number.
  double x = 0, mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  std::vector<double> at, y;
  for (std::size_t k = 0; k < T.size(); ++k) {
    const int flights = readings.flights.empty() ? 1 : readings.flights[k];
    at.push_back(x + 0.5 * (flights - 1));
    y.push_back(std::log(T[k] / flights));
    x += flights;
    mean_x += at.back() / static_cast<double>(T.size());
    mean_y += y.back() / static_cast<double>(T.size());
  }
  for (std::size_t k = 0; k < T.size(); ++k) {
    xx += (at[k] - mean_x) * (at[k] - mean_x);
    xy += (at[k] - mean_x) * (y[k] - mean_y);
  }
  SeriesPoint p;
  p.t_0 = readings.t.front();
  p.log_e = std::min(-1e-3, xy / xx);
  p.log_u = mean_y - p.log_e * mean_x + std::log(0.5 * setting.gravity);
  p.drag = setting.drag;
  return p;
}

// When the impact was that the mended series puts inside an interval; not a number where it puts
// none.
double ExpectedTime(const BounceReadings& readings, const BounceSuspicion& s, double gravity) {
  const bool inside =
      s.fault == BounceFault::kMissing ||
      (s.fault == BounceFault::kMisread && s.at > 0 && s.at + 1 < readings.t.size());
  if (!inside || readings.durations) return std::numeric_limits<double>::quiet_NaN();
  const std::size_t interval = s.fault == BounceFault::kMissing ? s.at : s.at - 1;
  double u = s.fit.first_speed;
  for (std::size_t k = 0; k < interval; ++k)
    for (int f = 0; f < s.readings.flights[k]; ++f) {
      const double landing = FlyWithDrag(u, s.fit.drag, gravity).landing;
      u = landing * (s.fit.e + s.fit.slope * (landing - s.fit.v_0));
    }
  return readings.t[interval] + FlyWithDrag(u, s.fit.drag, gravity).duration;
}

}  // namespace

DragFlight FlyWithDrag(double u, double drag, double gravity) {
  const double z = drag * u * u / gravity;
  DragFlight out;
  out.landing = u / std::sqrt(1 + z);
  double factor = 0;  // of the duration without drag
  if (std::abs(z) < 1e-3)
    factor = 1 + z * (-0.25 + z * (0.1375 - 0.09375 * z));
  else if (z > 0)
    factor = (std::atan(std::sqrt(z)) + std::asinh(std::sqrt(z))) / (2 * std::sqrt(z));
  else
    factor = (std::atanh(std::sqrt(-z)) + std::asin(std::sqrt(-z))) / (2 * std::sqrt(-z));
  out.duration = 2 * u / gravity * factor;
  return out;
}

double GravityOfDrop(double height, double duration, double e, double drag) {
  if (drag == 0) return 8 * e * e * height / (duration * duration);
  // x = u sqrt(k / g) depends on the height alone, and the duration is a function of x over
  // sqrt(g k).
  const double x = e * std::sqrt(-std::expm1(-2 * drag * height));
  const double sum = (std::atan(x) + std::asinh(x)) / duration;
  return sum * sum / drag;
}

BounceSeries FitBounceSeries(const BounceReadings& readings, const BounceSeriesSetting& setting,
                             const BounceSeries* start) {
  const std::size_t least = readings.durations ? 2 : 3;
  if (readings.t.size() < least)
    throw ConfigError("bounces: found fewer than three impacts, allowed three or more");
  BounceSeries out;
  SeriesPoint point = StartOf(readings, setting);
  const std::vector<double> T = DurationsOf(readings);
  out.v_0 = start != nullptr ? start->v_0
                             : 0.5 * setting.gravity * std::sqrt(T.front() * T[T.size() - 2]);
  if (start != nullptr)
    point = {readings.t.front(), std::log(start->first_speed), std::log(start->e), start->slope,
             setting.fit_drag ? start->drag : setting.drag};
  const SeriesModel model(readings, setting, out.v_0);
  SquaresProblem problem;
  problem.evaluate = [&](const VectorXd& step, bool derivatives) {
    return model.At(model.Moved(point, step), derivatives);
  };
  problem.accept = [&](const VectorXd& step) { point = model.Moved(point, step); };
  LeastSquaresOptions options;
  options.max_steps = start != nullptr ? 6 : 100;
  options.small_step = readings.u > 0 ? 1e-3 : 1e-9;
  const LeastSquaresResult found = MinimizeSquares(problem, model.size(), options);
  VectorXd r;
  if (!model.Residuals(point, r, &out.e_first, &out.e_last)) return out;
  out.ok = start != nullptr || found.converged() || found.status == LeastSquaresStatus::kNoDescent;
  out.e = std::exp(point.log_e);
  out.slope = point.slope;
  out.drag = point.drag;
  out.first_speed = std::exp(point.log_u);
  out.chi_square = r.squaredNorm();
  out.dof = static_cast<int>(readings.t.size()) - model.size();
  if (out.dof > 0 && readings.u > 0) out.probability = 1 - ChiSquareCdf(out.chi_square, out.dof);
  if (start != nullptr || !(readings.u > 0)) return out;
  const SquaresAt at = model.At(point, true);
  if (!at.valid) return out;
  const Eigen::MatrixXd cov = at.information.inverse();
  Index k = readings.durations ? 1 : 2;
  out.sd_e = out.e * std::sqrt(cov(k, k));
  if (setting.fit_slope) ++k, out.sd_slope = std::sqrt(cov(k, k));
  if (setting.fit_drag) ++k, out.sd_drag = std::sqrt(cov(k, k));
  return out;
}

std::vector<BounceSuspicion> SuspectBounces(const BounceReadings& readings,
                                            const BounceSeriesSetting& setting, double level) {
  std::vector<BounceSuspicion> out;
  const std::size_t n = readings.t.size(), intervals = readings.durations ? n : n - 1;
  const auto consider = [&](BounceFault fault, std::size_t at, const BounceReadings& mended) {
    if (mended.t.size() < (readings.durations ? 3U : 4U)) return;
    BounceSuspicion s{fault, at, 0, mended, FitBounceSeries(mended, setting)};
    if (s.fit.ok && s.fit.dof > 0 && s.fit.probability > level && s.fit.e <= 1)
      out.push_back(std::move(s));
  };
  for (std::size_t k = 0; k < intervals; ++k) {
    BounceReadings mended = readings;
    if (mended.flights.empty()) mended.flights.assign(intervals, 1);
    ++mended.flights[k];
    consider(BounceFault::kMissing, k, mended);
  }
  for (std::size_t k = 0; k < n && !readings.durations; ++k)
    for (const BounceFault fault : {BounceFault::kExtra, BounceFault::kMisread}) {
      const bool inside = k > 0 && k + 1 < n;
      if (!inside && fault == BounceFault::kExtra) continue;
      BounceReadings mended = readings;
      mended.t.erase(mended.t.begin() + static_cast<std::ptrdiff_t>(k));
      mended.flights.assign(intervals - 1, 1);
      if (inside && fault == BounceFault::kMisread) mended.flights[k - 1] = 2;
      consider(fault, k, mended);
    }
  for (BounceSuspicion& s : out) s.expected = ExpectedTime(readings, s, setting.gravity);
  std::sort(out.begin(), out.end(), [](const BounceSuspicion& a, const BounceSuspicion& b) {
    return a.fit.probability > b.fit.probability;
  });
  return out;
}

}  // namespace impactlab
