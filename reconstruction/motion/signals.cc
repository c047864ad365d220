#include "reconstruction/motion/signals.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "data/math/rotation.h"
#include "data/statistics/order_statistic.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Sums over frames of one segment about a reference frame, and the cost of the best line with a
// penalised acceleration.
template <int D>
struct Sums {
  double n = 0, u1 = 0, u2 = 0, u3 = 0, u4 = 0;
  std::array<double, D> y1{}, uy{}, uuy{}, yy{};

  void Add(double u, const double* y) {
    const double uu = u * u;
    n += 1;
    u1 += u;
    u2 += uu;
    u3 += uu * u;
    u4 += uu * uu;
    for (int d = 0; d < D; ++d) {
      y1[d] += y[d];
      uy[d] += u * y[d];
      uuy[d] += uu * y[d];
      yy[d] += y[d] * y[d];
    }
  }

  double Cost(const double* inverse_variance, const double* ridge) const {
    if (n < 3) return 0;
    // Moments about the mean time.
    const double m = u1 / n;
    const double c2 = u2 - m * u1;
    const double c3 = u3 - 3 * m * u2 + 2 * m * m * u1;
    const double c4 = u4 - 4 * m * u3 + 6 * m * m * u2 - 3 * m * m * m * u1;
    const double qq = 0.25 * std::max(0.0, c4 - c2 * c2 / n - c3 * c3 / c2);
    double cost = 0;
    for (int d = 0; d < D; ++d) {
      const double mean = y1[d] / n;
      const double s1 = uy[d] - m * y1[d];
      const double s2 = uuy[d] - 2 * m * uy[d] + m * m * y1[d];
      const double qy = 0.5 * (s2 - c2 * mean - c3 * s1 / c2);
      const double rss = yy[d] - mean * y1[d] - s1 * s1 / c2 - qy * qy / (qq + ridge[d]);
      cost += std::max(0.0, rss) * inverse_variance[d];
    }
    return cost;
  }
};

struct Weights {
  std::array<double, 6> inverse_variance{}, ridge{};
};

// Sums of squares lose their last digits: noise far below the size of the signal counts as this
// much.
Weights MakeWeights(const Signals& signals, const PerSignal& noise, const PerSignal& acceleration) {
  Weights weights;
  for (int d = 0; d < signals.dim; ++d) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const auto& y : signals.y) {
      low = std::min(low, y[d]);
      high = std::max(high, y[d]);
    }
    const double sd = std::max({noise[d], 3e-7 * (high - low), 1e-12});
    weights.inverse_variance[d] = 1 / (sd * sd);
    weights.ridge[d] = sd * sd / (acceleration[d] * acceleration[d]);
  }
  return weights;
}

template <int D>
std::vector<Segment> SplitFixed(const Signals& signals, const Weights& weights, double penalty) {
  const int n = static_cast<int>(signals.t.size());
  // A bend is penalised once a segment, so splitting can cost a little more than the whole: pruning
  // leaves that much room.
  const double slack = 6.0 * D;
  std::vector<double> best(n + 1, 0);
  std::vector<int> from(n + 1, 0);
  std::vector<char> active(n + 1, 1);
  std::vector<double> cost(n + 1, 0);
  best[0] = -penalty;
  int oldest = 0;
  for (int end = 1; end <= n; ++end) {
    const int last = end - 1;
    Sums<D> sums;
    best[end] = std::numeric_limits<double>::infinity();
    for (int first = last; first >= oldest; --first) {
      double y[D];
      for (int d = 0; d < D; ++d) y[d] = signals.y[first][d] - signals.y[last][d];
      sums.Add(signals.t[first] - signals.t[last], y);
      if (!active[first]) continue;
      cost[first] = best[first] + sums.Cost(weights.inverse_variance.data(), weights.ridge.data());
      if (cost[first] + penalty < best[end]) {
        best[end] = cost[first] + penalty;
        from[end] = first;
      }
    }
    for (int first = oldest; first <= last; ++first) {
      if (active[first] && cost[first] > best[end] + slack) active[first] = 0;
    }
    while (oldest < last && !active[oldest]) ++oldest;
  }
  std::vector<Segment> segments;
  for (int end = n; end > 0; end = from[end]) segments.push_back({from[end], end - 1});
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace

Signals LinearSignals(const PoseRecording& recording, const Body& body,
                      const FlightOptions& flight) {
  Signals signals;
  const std::size_t n = recording.t.size();
  signals.dim = recording.planar ? 3 : 6;
  signals.n_position = recording.planar ? 2 : 3;
  signals.t = recording.t;
  signals.y.resize(n);
  const double mean_inertia = MeanInertia(body);
  Vector3d turned = Vector3d::Zero();
  Vector3d drag_velocity = Vector3d::Zero(), drag = Vector3d::Zero(), velocity = Vector3d::Zero();
  const double t_middle = n > 0 ? 0.5 * (recording.t.front() + recording.t.back()) : 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) {
      const double dt = recording.t[i] - recording.t[i - 1];
      const Vector3d step = recording.X_WB[i].translation() - recording.X_WB[i - 1].translation();
      if (flight.drag_per_m > 0) {
        velocity = step / dt;
        const Vector3d deceleration = -flight.drag_per_m * velocity.norm() * velocity;
        drag += drag_velocity * dt + 0.5 * deceleration * dt * dt;
        drag_velocity += deceleration * dt;
      }
      if (!recording.planar) {
        const Matrix3d& R0 = recording.X_WB[i - 1].linear();
        const Vector3d turn_B = LogSO3(R0.transpose() * recording.X_WB[i].linear());
        const Matrix3d R_half = R0 * ExpSO3(0.5 * turn_B);
        turned += R_half * (body.inertia_B * turn_B) / mean_inertia;
      }
    }
    const double s = recording.t[i] - t_middle;
    const Vector3d p = recording.X_WB[i].translation() - 0.5 * s * s * flight.gravity_W - drag;
    if (recording.planar) {
      signals.y[i] = {p.x(), p.z(), recording.theta[i], 0, 0, 0};
    } else {
      signals.y[i] = {p.x(), p.y(), p.z(), turned.x(), turned.y(), turned.z()};
    }
  }
  return signals;
}

PerSignal RoughNoise(const Signals& signals) {
  PerSignal noise{};
  const int n = static_cast<int>(signals.t.size());
  std::vector<double> residuals;
  for (int d = 0; d < signals.dim; ++d) {
    residuals.clear();
    for (int i = 0; i + 3 < n; ++i) {
      // Weights of the third divided difference, scaled to unit length.
      double sum = 0, norm = 0;
      for (int j = 0; j < 4; ++j) {
        double w = 1;
        for (int k = 0; k < 4; ++k) {
          if (k != j) w /= signals.t[i + j] - signals.t[i + k];
        }
        sum += w * (signals.y[i + j][d] - signals.y[i][d]);
        norm += w * w;
      }
      // Frames that repeat each other exactly (a tracker that holds its last pose, a filtered rest)
      // know nothing of the noise.
      const double residual = std::abs(sum) / std::sqrt(norm);
      if (residual > 0) residuals.push_back(residual);
    }
    if (residuals.empty()) continue;
    noise[d] = UpperMedian(std::move(residuals)) / 0.6745;
  }
  return noise;
}

std::vector<Segment> SplitIntoSegments(const Signals& signals, const PerSignal& noise,
                                       const PerSignal& acceleration, double penalty) {
  const Weights weights = MakeWeights(signals, noise, acceleration);
  return signals.dim == 3 ? SplitFixed<3>(signals, weights, penalty)
                          : SplitFixed<6>(signals, weights, penalty);
}

BentLine FitBentLine(const Signals& signals, int signal, const Segment& segment) {
  BentLine line;
  const int n = segment.size();
  if (n < 3) return line;
  const double t0 = 0.5 * (signals.t[segment.first] + signals.t[segment.last]);
  const double scale = std::max(1e-300, 0.5 * (signals.t[segment.last] - signals.t[segment.first]));
  Matrix3d normal = Matrix3d::Zero();
  Vector3d right = Vector3d::Zero();
  const double y0 = signals.y[segment.first][signal];
  for (int i = segment.first; i <= segment.last; ++i) {
    const double u = (signals.t[i] - t0) / scale;
    const Vector3d row(1, u, 0.5 * u * u);
    normal += row * row.transpose();
    right += row * (signals.y[i][signal] - y0);
  }
  const Matrix3d inverse = normal.inverse();
  const Vector3d fit = inverse * right;
  double before = 0;
  for (int i = segment.first; i <= segment.last; ++i) {
    const double u = (signals.t[i] - t0) / scale;
    const double residual = signals.y[i][signal] - y0 - fit[0] - fit[1] * u - 0.5 * fit[2] * u * u;
    line.rss += residual * residual;
    line.neighbours += residual * before;
    before = residual;
  }
  line.acceleration = fit[2] / (scale * scale);
  line.sd_acceleration = std::sqrt(inverse(2, 2)) / (scale * scale);
  line.dof = n - 3;
  return line;
}

}  // namespace impactlab::reconstruction
