#include "reconstruction/bundle/flight_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "reconstruction/bundle/detail/flight_check_setup.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;
using reconstruction::DropPoint;
using reconstruction::FlightPlaces;
using reconstruction::FlightProblem;
using reconstruction::FlightSolution;
using reconstruction::FlightStep;

constexpr double kAlike = 12;       // chi-square within which two suspects explain the images alike
constexpr double kMostNoise = 3;    // residuals so many times those declared are no noise
constexpr int kFramesToSpeak = 10;  // of a flight, to be believed against all others
// chi-square left by other names of the cameras, that makes them the right ones
constexpr double kSwapped = 0.1;

// Standard deviations of a normal variable as unlikely as chi-square.
double Sigmas(double chi_square, int dof) {
  const double tail = 1 - ChiSquareCdf(std::max(0.0, chi_square), dof);
  return tail > 1e-14 ? (tail < 1 ? NormalQuantile(1 - tail / 2) : 0) : std::sqrt(chi_square);
}

struct Suspect {
  FlightSuspect is;
  std::vector<std::pair<int, double>> free;  // parameters and their standard deviations
  FlightStep step;
};

class Checker {
 public:
  Checker(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers,
          const Body& body, const Plane& floor, const FlightCheckOptions& options)
      : tracks_(tracks),
        markers_(markers),
        options_(options),
        setup_(reconstruction::SetUpFlights(tracks, rig, markers, body, floor, options)) {}

  // Of the camera that saw the most of a flight.
  int Frames(std::size_t flight) const {
    std::map<int, std::set<long long>> frames;
    for (const DropPoint& point : problem_.flights[flight].points)
      frames[point.clock].insert(tracks_.points[point.index].frame);
    std::size_t most = 0;
    for (const auto& [clock, seen] : frames) most = std::max(most, seen.size());
    return static_cast<int>(most);
  }

  // `accuse`: not only the fit as declared, but who is to blame.
  FlightCheck Run(bool accuse = true) {
    check_.reason = setup_.reason;
    check_.flights = setup_.flights;
    if (check_.reason.empty()) {
      NameSuspects();
      check_.reason = Fit();
    }
    check_.usable = check_.reason.empty();
    if (!check_.usable || !accuse) return std::move(check_);
    Accuse();
    Measure();
    Conclude();
    return std::move(check_);
  }
  // What is left when all is as declared, a point.
  double misfit() const { return base_.chi_square / std::max(1, base_.points); }

 private:
  // Who may be wrong, and by how much.
  void NameSuspects() {
    const FlightPlaces& at = problem_.places;
    const double g = problem_.gravity_W.norm();
    const auto suspect = [&](FlightFault fault, std::string name,
                             std::vector<std::pair<int, double>> free) {
      Suspect s;
      s.is.fault = fault;
      s.is.name = std::move(name);
      s.is.dof = static_cast<int>(free.size());
      s.free = std::move(free);
      suspects_.push_back(std::move(s));
    };
    const FlightCheckOptions& o = options_;
    suspect(FlightFault::kScale, "scale", {{at.Scale(), o.wrong_scale}});
    suspect(FlightFault::kClock, "clock", {{at.Clock(), o.wrong_rate}});
    suspect(FlightFault::kLens, "lens", {{at.Lens(), o.wrong_focal}});
    suspect(FlightFault::kVertical, "vertical",
            {{at.Gravity(), g * o.wrong_vertical}, {at.Gravity() + 1, g * o.wrong_vertical}});
    for (int c = 0; c < at.cameras; ++c) {
      const int first = at.Camera(c);
      const std::string& name = tracks_.cameras[c];
      suspect(
          FlightFault::kView, "view " + name,
          {{first + 3, o.wrong_focal}, {first + 4, o.wrong_centre}, {first + 5, o.wrong_centre}});
      if (c == 0) continue;
      suspect(FlightFault::kSync, "sync " + name, {{first, o.wrong_offset}});
      suspect(FlightFault::kRate, "rate " + name, {{first + 2, o.wrong_rate}});
    }
    std::vector<std::pair<int, double>> all, torque, rows;
    for (int c = 0; c < at.cameras; ++c) rows.emplace_back(at.Camera(c) + 1, o.wrong_row_time);
    suspect(FlightFault::kRows, "rolling shutter", rows);
    for (int m = 0; m < at.markers; ++m) {
      std::vector<std::pair<int, double>> one;
      one.reserve(3);
      for (int i = 0; i < 3; ++i) one.emplace_back(at.Marker(m) + i, o.wrong_marker);
      all.insert(all.end(), one.begin(), one.end());
      suspect(FlightFault::kMarker, "marker " + tracks_.markers[m], one);
    }
    suspect(FlightFault::kLayout, "layout", all);
    for (int i = 0; i < 3 * at.flights; ++i) torque.emplace_back(at.Torque(0) + i, o.wrong_torque);
    suspect(FlightFault::kTorque, "angular momentum", torque);
  }

  VectorXd Freed(const Suspect& s) const {
    VectorXd prior = prior_;
    for (const auto& [i, sd] : s.free) prior[i] = std::max(prior[i], sd);
    return prior;
  }

  // All suspects free: what is left is noise. Strangers go, then all is as declared.
  std::string Fit() {
    VectorXd free = prior_, x = start_;
    for (const Suspect& s : suspects_) free = free.cwiseMax(Freed(s));
    for (int c = 1; c < problem_.places.cameras; ++c)
      x[problem_.places.Camera(c)] = rough_offset_[c];
    FlightSolution loose;
    for (int round = 0; round < 2; ++round) {
      loose = reconstruction::SolveFlights(problem_, free, x);
      if (loose.points == 0) return "the flights of the body could not be fitted";
      x = loose.x;
      DropStrangers(x);
    }
    double sum = 0;
    int n = 0;
    const auto distances = reconstruction::FlightDistances(problem_, x);
    for (std::size_t f = 0; f < distances.size(); ++f) {
      for (std::size_t i = 0; i < distances[f].size(); ++i) {
        if (!problem_.flights[f].points[i].used) continue;
        sum += distances[f][i] * distances[f][i];
        n += 2;
      }
    }
    const int dof = n - 12 * problem_.places.flights;
    if (dof < 10) return "the flights are too short to be judged";
    if (sum > ChiSquareQuantile(0.99, dof)) check_.noise_scale = std::sqrt(sum / dof);
    for (reconstruction::DropProblem& flight : problem_.flights) {
      for (DropPoint& point : flight.points) point.root /= check_.noise_scale;
    }
    loose = reconstruction::SolveFlights(problem_, free, x);
    base_ = reconstruction::SolveFlights(problem_, prior_, start_);
    if (base_.points == 0) return "the flights of the body could not be fitted as declared";
    loose_gain_ = base_.chi_square - loose.chi_square;
    check_.chi_square = base_.chi_square;
    check_.dof = dof;
    return "";
  }

  void DropStrangers(const VectorXd& x) {
    const auto distances = reconstruction::FlightDistances(problem_, x);
    std::vector<double> squares;
    for (const auto& own : distances) {
      for (const double d : own) squares.push_back(std::isfinite(d) ? d * d : 1e300);
    }
    // Median of a chi-square of two degrees of freedom: 2 ln 2.
    const double scale = std::max(1.0, std::sqrt(Median(squares) / (2 * std::log(2.0))));
    check_.outliers = 0;
    for (std::size_t f = 0; f < distances.size(); ++f) {
      for (std::size_t i = 0; i < distances[f].size(); ++i) {
        DropPoint& point = problem_.flights[f].points[i];
        point.used = distances[f][i] <= options_.drop.outlier_sd * scale;
        check_.outliers += !point.used;
      }
    }
  }

  double Limit(int dof) const {
    return ChiSquareQuantile(1 - options_.probability / static_cast<double>(suspects_.size()), dof);
  }

  // All lengths as gravity wants them: far from what was declared, a scale is not found step by
  // step.
  VectorXd Rescaled() const {
    const FlightPlaces& at = problem_.places;
    VectorXd prior = prior_;
    const double g = problem_.gravity_W.norm();
    prior.segment<3>(at.Gravity()).setConstant(g);
    VectorXd x = reconstruction::SolveFlights(problem_, prior, base_.x).x;
    const double k =
        g /
        std::max(0.1 * g,
                 (problem_.gravity_W + problem_.gravity_axes * x.segment<3>(at.Gravity())).norm());
    const Vector3d centre = problem_.rig->cameras[problem_.camera_of_clock[0]].X_WC.translation();
    x.segment<3>(at.Gravity()).setZero();
    x[at.Scale()] = k - 1;
    for (int f = 0; f < at.flights; ++f) {
      const reconstruction::DropState& start = problem_.start[f];
      auto p = x.segment<3>(at.State(f)), v = x.segment<3>(at.State(f) + 6);
      p = (centre + k * (start.p + p - centre) - start.p).eval();
      v = (k * (start.v[0] + v) - start.v[0]).eval();
    }
    for (int m = 0; m < at.markers; ++m) {
      auto p = x.segment<3>(at.Marker(m));
      p = (k * (markers_[m].p_BM + p) - markers_[m].p_BM).eval();
    }
    return x;
  }

  // How much each suspect explains: one step from what was declared, and a fit of its own where any
  // explains much.
  void Accuse() {
    bool any = false;
    for (Suspect& s : suspects_) {
      const VectorXd prior = Freed(s);
      s.step = reconstruction::StepFlights(base_, prior_, prior);
      s.is.gain = s.step.gain;
      any = any || s.is.gain > Limit(s.is.dof);
    }
    if (any) {
      for (Suspect& s : suspects_) {
        const VectorXd prior = Freed(s);
        VectorXd x = s.is.fault == FlightFault::kScale ? Rescaled() : base_.x;
        if (s.is.fault == FlightFault::kSync) {
          for (int c = 1; c < problem_.places.cameras; ++c) {
            if (s.free[0].first == problem_.places.Camera(c)) x[s.free[0].first] = rough_offset_[c];
          }
        }
        const FlightSolution own = reconstruction::SolveFlights(problem_, prior, x);
        s.step = reconstruction::StepFlights(own, prior, prior);
        s.is.gain = base_.chi_square - own.chi_square;
      }
    }
    for (Suspect& s : suspects_) {
      for (const auto& [i, sd] : s.free) {
        if (std::abs(s.step.x[i]) > std::abs(s.is.value)) s.is.value = s.step.x[i];
      }
      if (s.is.fault == FlightFault::kVertical)
        s.is.value = std::hypot(s.step.x[s.free[0].first], s.step.x[s.free[1].first]) /
                     problem_.gravity_W.norm();
      if (s.is.fault == FlightFault::kView) {
        s.is.value = s.step.x[s.free[0].first];
        s.is.shift = {s.step.x[s.free[1].first], s.step.x[s.free[2].first]};
      }
      check_.suspects.push_back(s.is);
    }
    std::stable_sort(check_.suspects.begin(), check_.suspects.end(),
                     [](const auto& a, const auto& b) { return a.gain > b.gain; });
  }

  void Add(std::string name, std::string unit, double value, double expected, double sd, double z) {
    const double limit = NormalQuantile(1 - options_.probability / 2 / 20);
    check_.quantities.push_back(
        {std::move(name), std::move(unit), value, expected, sd, z, std::abs(z) < limit});
  }

  void Measure() {
    const FlightPlaces& at = problem_.places;
    // Gravity: free in size and direction.
    const double g = problem_.gravity_W.norm();
    VectorXd prior = prior_;
    prior.segment<3>(at.Gravity()).setConstant(g);
    FlightStep step = reconstruction::StepFlights(base_, prior_, prior);
    if (std::abs(step.x[at.Gravity() + 2]) > 0.02 * g) {
      const FlightSolution own = reconstruction::SolveFlights(problem_, prior, base_.x);
      step = reconstruction::StepFlights(own, prior, prior);
    }
    const Vector3d wrong = step.x.segment<3>(at.Gravity());
    const Eigen::Matrix3d cov = step.cov.block<3, 3>(at.Gravity(), at.Gravity());
    const double size = (problem_.gravity_W + problem_.gravity_axes * wrong).norm(),
                 sd = std::hypot(std::sqrt(cov(2, 2)), options_.gravity_sd);
    Add("gravity", "m_per_s2", size, g, sd, (size - g) / sd);
    const Eigen::Matrix2d tilt = cov.topLeftCorner<2, 2>() + std::pow(g * options_.vertical_sd, 2) *
                                                                 Eigen::Matrix2d::Identity();
    const double tilt2 = wrong.head<2>().dot(tilt.ldlt().solve(wrong.head<2>()));
    Add("vertical", "rad", wrong.head<2>().norm() / size, 0, std::sqrt(tilt.trace() / 2) / g,
        Sigmas(tilt2, 2));
    for (const Suspect& s : suspects_) {
      const int i = s.free[0].first;
      const double own = std::sqrt(std::max(0.0, s.step.cov(i, i))), declared = prior_[i],
                   value = s.step.x[i];
      const double all = std::hypot(own, declared);
      switch (s.is.fault) {
        case FlightFault::kScale:
        case FlightFault::kClock:
        case FlightFault::kLens:
        case FlightFault::kView:
        case FlightFault::kRate:
          Add(s.is.name, "", 1 + value, 1, all, value / all);
          break;
        case FlightFault::kSync:
          Add(s.is.name, "s", value, 0, all, value / all);
          break;
        case FlightFault::kRows:
          MeasureRows(s);
          break;
        case FlightFault::kTorque:
          MeasureTorque(s);
          break;
        case FlightFault::kLayout:
          MeasureDistances(s);
          break;
        default:
          break;
      }
    }
    check_.quantities.push_back(
        {"reprojection", "", check_.noise_scale, 1, 0, 0, check_.noise_scale < kMostNoise});
  }

  // Beyond the row times that the points' times hold already.
  void MeasureRows(const Suspect& s) {
    for (std::size_t c = 0; c < s.free.size(); ++c) {
      const int i = s.free[c].first;
      const double value = s.step.x[i],
                   sd = std::hypot(std::sqrt(std::max(0.0, s.step.cov(i, i))), prior_[i]);
      Add("row time " + tracks_.cameras[c], "s", value, 0, sd, value / sd);
    }
  }

  // Change of the angular momentum over a flight, as a share of it; the largest of all flights.
  void MeasureTorque(const Suspect& s) {
    double chi_square = 0, share = 0, sd = 0;
    for (int f = 0; f < problem_.places.flights; ++f) {
      const int i = problem_.places.Torque(f);
      const Vector3d alpha = s.step.x.segment<3>(i);
      const Eigen::Matrix3d cov = s.step.cov.block<3, 3>(i, i);
      chi_square += alpha.dot(cov.ldlt().solve(alpha));
      const double per = (check_.flights[f].second - check_.flights[f].first) /
                         std::max(1e-3, problem_.start[f].omega[0].norm());
      if (alpha.norm() * per < share) continue;
      share = alpha.norm() * per;
      sd = std::sqrt(alpha.dot(cov * alpha)) / std::max(1e-300, alpha.norm()) * per;
    }
    Add(s.is.name, "", share, 0, sd, Sigmas(chi_square, s.is.dof));
  }

  void MeasureDistances(const Suspect& s) {
    const FlightPlaces& at = problem_.places;
    const auto place = [&](int m) -> Vector3d {
      return markers_[m].p_BM + s.step.x.segment<3>(at.Marker(m));
    };
    for (int a = 0; a < at.markers; ++a) {
      for (int b = a + 1; b < at.markers; ++b) {
        const Vector3d between = place(a) - place(b);
        const double length = between.norm(),
                     expected = (markers_[a].p_BM - markers_[b].p_BM).norm();
        VectorXd row = VectorXd::Zero(at.Size());
        row.segment<3>(at.Marker(a)) = between / length;
        row.segment<3>(at.Marker(b)) = -between / length;
        const double sd = std::sqrt(row.dot(s.step.cov * row) + 2 * layout_sd_ * layout_sd_);
        Add(fmt::format("distance {} {}", tracks_.markers[a], tracks_.markers[b]), "m", length,
            expected, sd, (length - expected) / sd);
      }
    }
  }

  void Conclude() {
    // Cost of each suspect: what it leaves, and a price for its freedoms.
    const double price = std::log(static_cast<double>(2 * base_.points));
    const auto cost = [&](const FlightSuspect& s) { return -s.gain + price * s.dof; };
    std::vector<FlightSuspect> guilty;
    for (const FlightSuspect& s : check_.suspects) {
      if (s.gain > Limit(s.dof)) guilty.push_back(s);
    }
    const bool noisy = check_.noise_scale >= kMostNoise;
    check_.passed = guilty.empty() && !noisy;
    if (check_.passed) {
      check_.verdict = "free flight agrees with gravity, lengths, clocks and lenses as declared";
      return;
    }
    std::sort(guilty.begin(), guilty.end(),
              [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
    for (const FlightSuspect& s : guilty) {
      if (cost(s) < cost(guilty.front()) + std::max(kAlike, 0.01 * guilty.front().gain))
        check_.culprits.push_back(s);
    }
    const double explained =
        guilty.empty() || !(loose_gain_ > 0) ? 0 : guilty.front().gain / loose_gain_;
    if (guilty.empty() || (explained < 0.5 && loose_gain_ > 100)) {
      FlightSuspect unknown;
      unknown.name = "unknown";
      check_.culprits = {unknown};
      check_.verdict = fmt::format(
          "residuals of {:.1f} times their noise, or flights that disagree with what was declared: "
          "no single cause explains it",
          check_.noise_scale);
      return;
    }
    for (const FlightSuspect& s : check_.culprits)
      check_.verdict += (check_.verdict.empty() ? "" : ", or ") + Describe(s);
    if (check_.culprits.size() > 1)
      check_.verdict +=
          ": these flights cannot tell which; a known length (layout, distance) or clock would";
    else if (explained < 0.9)
      check_.verdict += ": the most likely cause, but it does not explain all";
  }

  static std::string Describe(const FlightSuspect& s) {
    switch (s.fault) {
      case FlightFault::kSync:
        return fmt::format("{}: times are {:.3f} ms early", s.name, 1e3 * s.value);
      case FlightFault::kRows:
        return fmt::format(
            "{}: rows are read {:.2f} us further apart than declared (t_line_s of the cameras)",
            s.name, 1e6 * s.value);
      case FlightFault::kMarker:
      case FlightFault::kLayout:
        return fmt::format("{}: off by up to {:.2f} mm", s.name, 1e3 * std::abs(s.value));
      case FlightFault::kVertical:
        return fmt::format("{}: off by {:.2f} degrees", s.name, s.value * 180 / M_PI);
      case FlightFault::kTorque:
        return fmt::format("{}: changes by {:.2f} rad/s^2", s.name, std::abs(s.value));
      case FlightFault::kView:
        return fmt::format(
            "{}: focal length {:+.2f} %, centre of the picture ({:+.1f}, {:+.1f}) px off (focus, "
            "zoom or crop changed)",
            s.name, 100 * s.value, s.shift.x(), s.shift.y());
      default:
        return fmt::format("{}: true value is {:.2f} % {} the declared one", s.name,
                           100 * std::abs(s.value), s.value < 0 ? "below" : "above");
    }
  }

  const MarkerTracks& tracks_;
  const std::vector<BodyMarker>& markers_;
  const FlightCheckOptions& options_;
  reconstruction::FlightSetup setup_;
  FlightProblem& problem_ = setup_.problem;
  const VectorXd &prior_ = setup_.prior, &start_ = setup_.start;
  const std::vector<double>& rough_offset_ = setup_.rough_offset;
  const double& layout_sd_ = setup_.layout_sd;
  double loose_gain_ = 0;
  std::vector<Suspect> suspects_;
  FlightSolution base_;
  FlightCheck check_;
};

void CheckOptions(const MarkerTracks& tracks, const CameraRig& rig,
                  const std::vector<BodyMarker>& markers, const FlightCheckOptions& o) {
  const auto bad = [](double x) { return !(x > 0) || !std::isfinite(x); };
  const double g = o.drop.motion.flight.gravity_W.norm();
  if (bad(g) || bad(o.gravity_sd) || bad(o.vertical_sd) || bad(o.layout_sd) ||
      !(o.guard_frames >= 0) || !(o.probability > 0) || !(o.probability < 0.5) ||
      bad(o.wrong_scale) || bad(o.wrong_rate) || bad(o.wrong_focal) || bad(o.wrong_offset) ||
      bad(o.wrong_row_time) || bad(o.wrong_centre) || bad(o.wrong_marker) ||
      bad(o.wrong_vertical) || bad(o.wrong_torque)) {
    throw ConfigError(
        "check of flights: found an option without meaning, allowed: a gravity, standard "
        "deviations above 0, a probability below 0.5");
  }
  if (markers.size() > tracks.markers.size()) {
    throw ConfigError(
        fmt::format("check of flights: found a layout of {} markers, allowed: the {} that the "
                    "tracks name at most",
                    markers.size(), tracks.markers.size()));
  }
  reconstruction::CheckLayout(markers);
  reconstruction::CheckRig(rig, "check of flights");
}

}  // namespace

FlightCheck CheckFlights(const MarkerTracks& tracks, const CameraRig& rig,
                         const std::vector<BodyMarker>& markers, const Body& body,
                         const Plane& floor, const FlightCheckOptions& options) {
  CheckOptions(tracks, rig, markers, options);
  CheckBody(body);
  Checker declared(tracks, rig, markers, body, floor, options);
  FlightCheck check = declared.Run();
  if (check.usable && check.passed) return check;
  if (check.usable) {
    FlightCheckOptions longer = options;
    longer.flights.clear();
    std::vector<std::pair<double, double>> brief;
    for (std::size_t f = 0; f < check.flights.size(); ++f) {
      (declared.Frames(f) < kFramesToSpeak ? brief : longer.flights).push_back(check.flights[f]);
    }
    if (!brief.empty() && !longer.flights.empty()) {
      FlightCheck others = Checker(tracks, rig, markers, body, floor, longer).Run();
      if (others.usable && others.passed) {
        others.verdict += fmt::format(
            "; {} of {} flights, of fewer than {} frames, disagree with the others too and are not "
            "judged",
            brief.size(), check.flights.size(), kFramesToSpeak);
        others.unjudged = std::move(brief);
        return others;
      }
    }
  }
  for (std::size_t a = 0; a < tracks.cameras.size(); ++a) {
    for (std::size_t b = a + 1; b < tracks.cameras.size(); ++b) {
      MarkerTracks swapped = tracks;
      std::swap(swapped.cameras[a], swapped.cameras[b]);
      Checker other(swapped, rig, markers, body, floor, options);
      const FlightCheck with = other.Run(false);
      if (!with.usable || with.noise_scale >= kMostNoise) continue;
      if (check.usable && !(other.misfit() * with.noise_scale * with.noise_scale <
                            kSwapped * (check.chi_square - check.suspects.front().gain) /
                                check.dof * std::pow(check.noise_scale, 2)))
        continue;
      FlightSuspect suspect;
      suspect.fault = FlightFault::kCamerasSwapped;
      suspect.name = fmt::format("cameras {} and {}", tracks.cameras[a], tracks.cameras[b]);
      check = Checker(swapped, rig, markers, body, floor, options).Run();
      check.passed = false;
      check.culprits = {suspect};
      check.verdict = suspect.name + " are swapped: exchanged, their images are of one body";
      return check;
    }
  }
  return check;
}

}  // namespace impactlab
