#include "reconstruction/motion/flights.h"

#include <algorithm>
#include <cmath>

#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;

// Penalty a segment and signal: splitting noise gains three degrees of freedom a signal, and its
// place is free.
constexpr double kPenalty = 20;
// Acceleration beyond free flight that segmentation lets pass, relative to gravity; a rolling or
// sliding body exceeds four times as much.
constexpr double kAccelerationTolerance = 0.05;
constexpr int kRestFrames = 8;
// standard deviations between the extremes of a rest: ten thousand frames of noise reach 8
constexpr double kRestRange = 9;
constexpr double kNoNoise = 1e-9;  // [m], [rad] where a recording has no noise at all

double Reach(const Body& body) {
  double reach = std::max({body.half_extents.norm(), body.half_length, body.radius});
  for (const Vector3d& p : body.points_B) reach = std::max(reach, p.norm());
  return reach;
}

class FlightFinder {
 public:
  FlightFinder(const FlightModel& model, const Plane& floor, const MotionFitOptions& options)
      : model_(model),
        recording_(*model.recording),
        body_(*model.body),
        floor_(floor),
        options_(options) {
    const Vector3d fall_W = options.fall_ratio * options.flight.gravity_W;
    gravity_ = fall_W.norm();
    for (int d = 0; d < n_position(); ++d)
      fall_[d] = (fall_W - options.flight.gravity_W)[recording_.planar && d == 1 ? 2 : d];
    for (int d = 0; d < 6; ++d) {
      tolerance_[d] = kAccelerationTolerance * std::max(gravity_, 1.0);
      if (d >= n_position()) tolerance_[d] /= RadiusOfGyration(body_);
    }
  }

  Flights Run() {
    signals_ = LinearSignals(recording_, body_, options_.flight);
    FindFlights();
    FindRests();
    DropRestingFlights();
    EstimateAngleNoise();
    EstimateDrift();
    ReportArcs();
    for (const Segment& segment : segments_)
      out_.stretches.push_back({segment, KindOf(segment), Rests(segment)});
    return std::move(out_);
  }

 private:
  int n() const { return static_cast<int>(recording_.t.size()); }
  int n_position() const { return recording_.planar ? 2 : 3; }
  // Noise of a signal that the caller states; 0: not stated.
  double Given(int d) const {
    if (!IsAngle(d)) return options_.sigma_position;
    return recording_.planar ? options_.sigma_angle : 0;
  }
  bool IsAngle(int d) const { return d >= signals_.n_position; }

  // A stretch long enough that moves as free bodies do, within what the scale, clock and drag of a
  // recording may be wrong by.
  StretchKind KindOf(const Segment& segment) const {
    if (segment.size() < options_.min_frames) return StretchKind::kShort;
    double linear = 0, sd_linear = 0, angular = 0, sd_angular = 0;
    for (int d = 0; d < signals_.dim; ++d) {
      const BentLine line = FitBentLine(signals_, d, segment);
      (IsAngle(d) ? angular : linear) += std::pow(line.acceleration - fall_[d], 2);
      (IsAngle(d) ? sd_angular : sd_linear) += std::pow(line.sd_acceleration * noise_[d], 2);
    }
    // A few frames of a body at rest pass for the top of a small bounce: gravity has to be seen.
    if (gravity_ > 0 && !FallsVisibly(segment)) return StretchKind::kBlind;
    const double limit = kNotFlight * std::max(gravity_, 1.0);
    const bool free =
        std::sqrt(linear) <= limit + 4 * std::sqrt(sd_linear) &&
        std::sqrt(angular) <= limit / RadiusOfGyration(body_) + 4 * std::sqrt(sd_angular);
    return free ? StretchKind::kFlight : StretchKind::kForced;
  }

  // True when the acceleration along gravity differs from that of a body that is carried.
  bool FallsVisibly(const Segment& segment) const {
    double along = gravity_, variance = 0;
    for (int d = 0; d < signals_.n_position; ++d) {
      const double g = options_.fall_ratio *
                       options_.flight.gravity_W[recording_.planar && d == 1 ? 2 : d] / gravity_;
      const BentLine line = FitBentLine(signals_, d, segment);
      along += g * (line.acceleration - fall_[d]);
      variance += std::pow(g * line.sd_acceleration * noise_[d], 2);
    }
    return along > 3 * std::sqrt(variance);
  }

  // The signals, straight where the body falls as the set does.
  Signals AlongFall() const {
    Signals out = signals_;
    if (options_.fall_ratio == 1) return out;
    for (std::size_t i = 0; i < out.y.size(); ++i) {
      const double t = out.t[i] - out.t.front();
      for (int d = 0; d < n_position(); ++d) out.y[i][d] -= 0.5 * fall_[d] * t * t;
    }
    return out;
  }

  // Noise of every signal from the residuals of the flights, each with an acceleration of its own.
  // One bad stretch does not count.
  void EstimateNoise() {
    for (int d = 0; d < signals_.dim; ++d) {
      if (Given(d) > 0) {
        noise_[d] = Given(d);
        continue;
      }
      std::vector<double> variance, weight;
      std::vector<BentLine> lines;
      for (const Segment& segment : out_.flights) {
        const BentLine line = FitBentLine(signals_, d, segment);
        if (line.dof < 1) continue;
        lines.push_back(line);
        variance.push_back(line.rss / line.dof);
        weight.push_back(line.dof);
      }
      if (lines.empty()) continue;
      const double typical = WeightedMedian(variance, weight);
      double rss = 0;
      int dof = 0;
      for (const BentLine& line : lines) {
        if (line.rss > ChiSquareQuantile(1 - 1e-6, line.dof) * 2 * typical) continue;
        rss += line.rss;
        dof += line.dof;
      }
      if (dof == 0) continue;
      noise_[d] = std::sqrt(rss / dof);
    }
    // In space the axes of attitude share one noise: they turn with the body.
    if (signals_.dim == 6) {
      const double mean =
          std::sqrt((noise_[3] * noise_[3] + noise_[4] * noise_[4] + noise_[5] * noise_[5]) / 3);
      noise_[3] = noise_[4] = noise_[5] = mean;
    }
    for (int d = 0; d < signals_.dim; ++d) noise_[d] = std::max(noise_[d], kNoNoise);
  }

  void FindFlights() {
    noise_ = RoughNoise(signals_);
    for (int d = 0; d < signals_.dim; ++d) {
      noise_[d] = std::max(Given(d) > 0 ? Given(d) : noise_[d], kNoNoise);
    }
    const Signals along_fall = AlongFall();
    for (int iteration = 0; iteration < 4; ++iteration) {
      segments_ = SplitIntoSegments(along_fall, noise_, tolerance_, kPenalty * signals_.dim);
      out_.flights.clear();
      for (const Segment& segment : segments_) {
        if (KindOf(segment) == StretchKind::kFlight) out_.flights.push_back(segment);
      }
      const PerSignal before = noise_;
      EstimateNoise();
      double change = 0;
      for (int d = 0; d < signals_.dim; ++d)
        change = std::max(change, std::abs(std::log(noise_[d] / before[d])));
      if (change < 0.1) break;
    }
    for (const Segment& segment : out_.flights) out_.dof += signals_.dim * (segment.size() - 3);
    double position = 0, angle = 0;
    for (int d = 0; d < signals_.dim; ++d) (IsAngle(d) ? angle : position) += noise_[d] * noise_[d];
    out_.sigma_position = std::sqrt(position / signals_.n_position);
    out_.sigma_angle = std::sqrt(angle / (signals_.dim - signals_.n_position));
    out_.noise.sd = noise_;
    height_tolerance_ = HeightTolerance(body_, out_.sigma_position);
  }

  // Rests hold short stretches that pass for flights where noise hides gravity.
  bool Rests(const Segment& stretch) const {
    for (const RestPose& rest : out_.rests) {
      const int common =
          std::min(rest.last, stretch.last) - std::max(rest.first, stretch.first) + 1;
      if (2 * common > stretch.size()) return true;
    }
    return false;
  }

  void DropRestingFlights() {
    out_.flights.erase(std::remove_if(out_.flights.begin(), out_.flights.end(),
                                      [&](const Segment& flight) { return Rests(flight); }),
                       out_.flights.end());
  }

  // Attitude noise in space: the signals weigh axes by their moments of inertia, the residuals of
  // the arcs do not.
  void EstimateAngleNoise() {
    if (recording_.planar) return;
    if (options_.sigma_angle > 0) {
      out_.noise.sd[3] = options_.sigma_angle;
    } else {
      NoiseModel free = out_.noise;
      free.acceleration[3] = 1e6 * tolerance_[3];
      std::vector<double> variance, weight;
      double rss = 0;
      int dof = 0;
      for (const Segment& segment : out_.flights) {
        const Arc arc = FitArc(model_, segment, free);
        if (!arc.converged) continue;
        variance.push_back(arc.chi_square_rotation * free.sd[3] * free.sd[3] /
                           (3 * (segment.size() - 3)));
        weight.push_back(3 * (segment.size() - 3));
      }
      const double typical = variance.empty() ? 0 : WeightedMedian(variance, weight);
      for (std::size_t i = 0; i < variance.size(); ++i) {
        if (variance[i] * weight[i] > ChiSquareQuantile(1 - 1e-6, weight[i]) * 2 * typical)
          continue;
        rss += variance[i] * weight[i];
        dof += static_cast<int>(weight[i]);
      }
      if (dof > 0) out_.noise.sd[3] = std::max(kNoNoise, std::sqrt(rss / dof));
    }
    out_.sigma_angle = out_.noise.sd[3];
  }

  // Standard deviation of the accelerations that free flight does not explain, where the flights
  // show any: method of moments.
  void EstimateDrift() {
    for (const bool angle : {false, true}) {
      std::vector<double> value, variance;
      for (const Segment& segment : out_.flights) {
        if (segment.size() < 2 * options_.min_frames) continue;
        for (int d = 0; d < signals_.dim; ++d) {
          if (IsAngle(d) != angle) continue;
          const BentLine line = FitBentLine(signals_, d, segment);
          value.push_back(line.acceleration * line.acceleration);
          variance.push_back(std::pow(line.sd_acceleration * noise_[d], 2));
        }
      }
      double chi_square = 0;
      for (std::size_t i = 0; i < value.size(); ++i) chi_square += value[i] / variance[i];
      double drift = 0;
      if (!value.empty() &&
          chi_square > ChiSquareQuantile(0.999, static_cast<double>(value.size()))) {
        for (int iteration = 0; iteration < 20; ++iteration) {
          double sum = 0, weights = 0;
          for (std::size_t i = 0; i < value.size(); ++i) {
            const double w = 1 / std::pow(variance[i] + drift, 2);
            sum += w * (value[i] - variance[i]);
            weights += w;
          }
          drift = std::max(0.0, sum / weights);
        }
      }
      for (int d = 0; d < signals_.dim; ++d) {
        if (IsAngle(d) == angle) out_.noise.acceleration[d] = std::sqrt(drift);
      }
    }
  }

  // Factor by which noise that is alike from frame to frame, as of smoothed data, widens the sd of
  // an acceleration of the attitude: that of a first-order autoregression.
  double WideningByCorrelation() const {
    constexpr double kMostCorrelation = 0.95;
    double products = 0, squares = 0;
    for (const Segment& segment : out_.flights) {
      for (int d = signals_.n_position; d < signals_.dim; ++d) {
        const BentLine line = FitBentLine(signals_, d, segment);
        // An exact fit leaves nothing; three parameters draw neighbours apart.
        if (line.dof < 3) continue;
        products += line.neighbours + 3 * line.rss / (line.dof + 3);
        squares += line.rss;
      }
    }
    const double correlation =
        squares > 0 ? std::clamp(products / squares, 0.0, kMostCorrelation) : 0;
    return std::sqrt((1 + correlation) / (1 - correlation));
  }

  // Spin of a flight and its change beyond free flight. `rough`: factor of the sd.
  void ReportSpin(const Arc& flight, double rough, FlightArc* arc) const {
    if (!flight.converged) return;
    if (recording_.planar) {
      // theta is counter-clockwise, about -W_y.
      arc->omega_B.y() = -flight.line[2].coefficients[1];
      arc->spin_acceleration_B.y() = -flight.line[2].coefficients[2];
      arc->sd_spin_acceleration.y() = rough * std::sqrt(flight.line[2].cov(2, 2));
      return;
    }
    arc->omega_B = flight.omega_B;
    arc->spin_acceleration_B = flight.alpha_B;
    arc->sd_spin_acceleration =
        rough * flight.cov_rotation.diagonal().tail<3>().cwiseMax(0).cwiseSqrt();
  }

  void ReportArcs() {
    NoiseModel free = out_.noise;
    const double correlated = WideningByCorrelation();
    for (int d = 0; d < 6; ++d) free.acceleration[d] = 1e6 * tolerance_[d];
    for (const Segment& segment : out_.flights) {
      if (segment.size() < 2 * options_.min_frames) continue;
      FlightArc arc;
      arc.recording = recording_.name;
      arc.first = segment.first;
      arc.last = segment.last;
      arc.duration = recording_.t[segment.last] - recording_.t[segment.first];
      arc.acceleration_W = options_.flight.gravity_W;
      arc.velocity_W = (recording_.X_WB[segment.last].translation() -
                        recording_.X_WB[segment.first].translation()) /
                       arc.duration;
      double rss_position = 0, rss_angle = 0;
      const int free_frames = segment.size() - 3;
      for (int d = 0; d < signals_.dim; ++d) {
        const BentLine line = FitBentLine(signals_, d, segment);
        (IsAngle(d) ? rss_angle : rss_position) += line.rss;
        if (IsAngle(d)) continue;
        const int axis = recording_.planar && d == 1 ? 2 : d;
        arc.acceleration_W[axis] += line.acceleration;
        // An arc rougher than the recording's noise says so in its own sd.
        arc.sd_acceleration[axis] =
            line.sd_acceleration * std::max(noise_[d], std::sqrt(line.rss / line.dof));
      }
      if (recording_.planar) arc.acceleration_W.y() = 0;
      arc.rms_position = std::sqrt(rss_position / (signals_.n_position * free_frames));
      const Arc flight = FitArc(model_, segment, free);
      if (recording_.planar) {
        arc.rms_angle = std::sqrt(rss_angle / free_frames);
        const double spin = std::abs(flight.line[2].coefficients[1]);
        arc.omega_drift =
            spin > 0 ? std::abs(flight.line[2].coefficients[2]) * arc.duration / spin : 0;
      } else {
        arc.rms_angle = std::sqrt(rss_angle / (3 * free_frames));
        const Vector3d momentum = body_.inertia_B * flight.omega_B;
        const double size = momentum.norm();
        arc.omega_drift =
            size > 0 ? (body_.inertia_B * flight.alpha_B).norm() * arc.duration / size : 0;
      }
      const double noise = out_.noise.sd[recording_.planar ? 2 : 3];
      ReportSpin(flight, correlated * std::max(1.0, arc.rms_angle / noise), &arc);
      out_.arcs.push_back(arc);
    }
  }

  double Gap(int frame) const {
    return ContactWithPlane(body_, recording_.X_WB[frame], floor_).gap;
  }

  // Stretches in which no signal of the pose leaves its mean by more than noise.
  void FindRests() {
    const auto pose = [&](int i, int d) {
      if (recording_.planar)
        return d == 2 ? recording_.theta[i] : recording_.X_WB[i].translation()[d == 0 ? 0 : 2];
      return d < 3 ? recording_.X_WB[i].translation()[d] : signals_.y[i][d];
    };
    int first = 0;
    while (first + kRestFrames <= n()) {
      int last = first;
      PerSignal low{}, high{};
      for (int i = first; i < n(); ++i) {
        bool still = true;
        PerSignal l = low, h = high;
        for (int d = 0; d < signals_.dim; ++d) {
          const double y = pose(i, d);
          l[d] = i == first ? y : std::min(l[d], y);
          h[d] = i == first ? y : std::max(h[d], y);
          if (h[d] - l[d] > kRestRange * noise_[d]) still = false;
        }
        if (!still) break;
        low = l;
        high = h;
        last = i;
      }
      const int frames = last - first + 1;
      if (frames < kRestFrames || Moves(first, last, pose) ||
          Gap((first + last) / 2) > height_tolerance_) {
        ++first;
        continue;
      }
      AddRest(first, last);
      first = last + 1;
    }
  }

  // True when a stretch has a speed, or falls: noise alone would not hide it.
  template <class Pose>
  bool Moves(int first, int last, const Pose& pose) const {
    const int frames = last - first + 1;
    const double middle = 0.5 * (recording_.t[first] + recording_.t[last]);
    for (int d = 0; d < signals_.dim; ++d) {
      double tt = 0, ty = 0, mean = 0;
      for (int i = first; i <= last; ++i) mean += pose(i, d) / frames;
      for (int i = first; i <= last; ++i) {
        const double s = recording_.t[i] - middle;
        tt += s * s;
        ty += s * (pose(i, d) - mean);
      }
      const double drift = std::abs(ty / tt) * (recording_.t[last] - recording_.t[first]);
      if (drift > 5 * noise_[d]) return true;
    }
    // Noise so large that even a fall would hide in it proves no rest.
    const double duration = recording_.t[last] - recording_.t[first];
    return gravity_ * duration * duration / 8 < 5 * out_.sigma_position && gravity_ > 0;
  }

  void AddRest(int first, int last) {
    RestPose rest;
    rest.recording = recording_.name;
    rest.first = first;
    rest.last = last;
    const int frames = last - first + 1;
    const Eigen::Matrix3d R0 = recording_.X_WB[first].linear();
    Vector3d p = Vector3d::Zero(), turn = Vector3d::Zero();
    for (int i = first; i <= last; ++i) {
      p += recording_.X_WB[i].translation() / frames;
      turn += LogSO3(R0.transpose() * recording_.X_WB[i].linear()) / frames;
    }
    rest.X_WB.linear() = R0 * ExpSO3(turn);
    rest.X_WB.translation() = p;
    double position = 0, angle = 0;
    for (int i = first; i <= last; ++i) {
      position += (recording_.X_WB[i].translation() - p).squaredNorm();
      angle += LogSO3(rest.X_WB.linear().transpose() * recording_.X_WB[i].linear()).squaredNorm();
    }
    rest.sd_position = std::sqrt(position / ((recording_.planar ? 2 : 3) * (frames - 1)));
    rest.sd_angle = std::sqrt(angle / ((recording_.planar ? 1 : 3) * (frames - 1)));
    out_.rests.push_back(rest);
  }

  const FlightModel& model_;
  const PoseRecording& recording_;
  const Body& body_;
  const Plane& floor_;
  const MotionFitOptions& options_;
  Signals signals_;
  double gravity_ = 0, height_tolerance_ = 0;  // gravity_: of the fall as recorded [m/s^2]
  PerSignal tolerance_{}, noise_{};
  PerSignal fall_{};  // acceleration of the fall as recorded beyond gravity [m/s^2]
  std::vector<Segment> segments_;
  Flights out_;
};

}  // namespace

double HeightTolerance(const Body& body, double sigma_position) {
  return std::max(0.15 * Reach(body), 5 * sigma_position);
}

Flights FindFlights(const FlightModel& model, const Plane& floor, const MotionFitOptions& options) {
  return FlightFinder(model, floor, options).Run();
}

}  // namespace impactlab::reconstruction
