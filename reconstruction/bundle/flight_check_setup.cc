#include "reconstruction/bundle/detail/flight_check_setup.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "data/statistics/statistics.h"
#include "reconstruction/bundle/detail/recording.h"
#include "reconstruction/motion/arcs.h"

namespace impactlab {

const char* FaultName(FlightFault fault) {
  switch (fault) {
    case FlightFault::kScale:
      return "scale";
    case FlightFault::kClock:
      return "clock";
    case FlightFault::kRate:
      return "rate";
    case FlightFault::kSync:
      return "sync";
    case FlightFault::kRows:
      return "rows";
    case FlightFault::kLens:
      return "lens";
    case FlightFault::kView:
      return "view";
    case FlightFault::kLayout:
      return "layout";
    case FlightFault::kMarker:
      return "marker";
    case FlightFault::kVertical:
      return "vertical";
    case FlightFault::kTorque:
      return "torque";
    case FlightFault::kCamerasSwapped:
      return "cameras_swapped";
    case FlightFault::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace impactlab

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr int kFewestPoses = 6;  // of a flight
// A stretch falls when its acceleration along gravity is between these shares of it: more than what
// a wrong clock or scale makes of it, and far from that of a body which is held or lies.
constexpr double kLeastFall = 0.4, kMostFall = 2.5;
// least rms of positions about a parabola that says it is none [m]
constexpr double kStraight = 2e-4;
// poses left out beside what is no flight, such as the hand: a parabola notices it that late
constexpr int kTrimGuard = 4;
// States are free: far beyond what the start can be wrong by [m, rad, m/s, rad/s].
constexpr std::array<double, 4> kStateSd = {1, 1, 10, 50};

// Longest stretch of the poses `whole` whose positions are one parabola that falls; nothing where
// there is none. Whether its acceleration is that of gravity is not asked: that is what is to be
// checked.
std::optional<Segment> Falling(const PoseRecording& poses, Segment whole,
                               const Vector3d& gravity_W) {
  const int n = whole.last - whole.first + 1;
  if (n < kFewestPoses) return std::nullopt;
  std::vector<double> jerks;
  for (int i = whole.first + 3; i <= whole.last; ++i) {
    const auto p = [&](int k) -> Vector3d { return poses.X_WB[k].translation(); };
    jerks.push_back((p(i) - 3 * p(i - 1) + 3 * p(i - 2) - p(i - 3)).norm());
  }
  // Of three components: the median norm of a normal vector is 1.54 standard deviations; third
  // differences have 20 times the variance.
  const double noise = Median(jerks) / (1.54 * std::sqrt(20.0)),
               limit = std::max(kStraight, 3 * noise);
  const double g = gravity_W.norm();
  const auto falls = [&](int first, int last) {
    const int count = last - first + 1;
    Eigen::MatrixXd powers(count, 3), p(count, 3);
    const double middle = 0.5 * (poses.t[first] + poses.t[last]);
    for (int k = 0; k < count; ++k) {
      const double t = poses.t[first + k] - middle;
      powers.row(k) << 1, t, 0.5 * t * t;
      p.row(k) = poses.X_WB[first + k].translation().transpose();
    }
    const Eigen::MatrixXd fit = powers.householderQr().solve(p);
    const double rms = std::sqrt((p - powers * fit).squaredNorm() / (3.0 * count));
    const double fall = Vector3d(fit.row(2)).dot(gravity_W) / (g * g);
    return rms < limit && fall > kLeastFall && fall < kMostFall;
  };
  for (int count = n; count >= kFewestPoses; --count) {
    for (int first = whole.first; first + count - 1 <= whole.last; ++first) {
      const int last = first + count - 1;
      if (!falls(first, last)) continue;
      Segment out{first, last};
      if (first > whole.first) out.first += kTrimGuard;
      if (last < whole.last) out.last -= kTrimGuard;
      if (out.last - out.first + 1 < kFewestPoses) return std::nullopt;
      return out;
    }
  }
  return std::nullopt;
}

class Builder {
 public:
  Builder(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers,
          const Body& body, const Plane& floor, const FlightCheckOptions& options)
      : tracks_(tracks),
        rig_(rig),
        markers_(markers),
        body_(body),
        floor_(floor),
        options_(options) {}

  FlightSetup Run() {
    out_.reason = Build();
    return std::move(out_);
  }

 private:
  std::string Build() {
    ImpactBundleOptions wide = options_.drop;
    if (tracks_.cameras.size() > 1)
      wide.offset_sd = std::max(wide.offset_sd, options_.wrong_offset);
    // A wrong clock or scale hides flights: they are sought under other gravities too.
    DropRecording recording;
    for (const double factor : {1.0, 0.7, 1.4}) {
      wide.motion.flight.gravity_W = factor * options_.drop.motion.flight.gravity_W;
      recording = PrepareDrops(tracks_, rig_, markers_, body_, floor_, wide);
      if (!recording.reason.empty()) return recording.reason;
      if (!options_.flights.empty() || !recording.rough.flights.empty()) break;
    }
    out_.flights = options_.flights;
    const double guard = options_.guard_frames * recording.frame_interval;
    if (out_.flights.empty()) {
      for (const Segment& between : recording.rough.flights)
        if (const auto flight =
                Falling(recording.poses, between, options_.drop.motion.flight.gravity_W))
          out_.flights.emplace_back(recording.poses.t[flight->first] + guard,
                                    recording.poses.t[flight->last] - guard);
    }
    problem_.rig = &rig_;
    for (const std::string& name : tracks_.cameras) {
      const auto found = std::find_if(rig_.cameras.begin(), rig_.cameras.end(),
                                      [&](const RigCamera& c) { return c.name == name; });
      problem_.camera_of_clock.push_back(static_cast<int>(found - rig_.cameras.begin()));
    }
    problem_.gravity_W = options_.drop.motion.flight.gravity_W;
    const Vector3d down = problem_.gravity_W.normalized(), side = down.unitOrthogonal();
    problem_.gravity_axes << side, down.cross(side), down;
    problem_.distances = options_.drop.distances;
    std::erase_if(out_.flights, [&](const auto& flight) {
      return !AddFlight(recording, flight.first, flight.second);
    });
    if (problem_.flights.empty()) return "no free flight of six frames or more";
    double t_reference = 0;
    for (const DropState& start : problem_.start)
      t_reference += start.tau / static_cast<double>(problem_.start.size());
    for (DropProblem& flight : problem_.flights) flight.t_reference = t_reference;
    Place(recording);
    return "";
  }

  bool AddFlight(const DropRecording& recording, double from, double to) {
    DropProblem flight = recording.problem;
    // an instant for every row
    flight.row_time_sd = std::max(options_.drop.row_time_sd, options_.wrong_row_time);
    std::erase_if(flight.points, [&](const DropPoint& p) {
      const double t = p.t + recording.offset[p.clock];
      return t < from || t > to;
    });
    LinkInstants(&flight);
    PoseRecording poses;
    for (std::size_t i = 0; i < recording.poses.t.size(); ++i) {
      if (recording.poses.t[i] < from || recording.poses.t[i] > to) continue;
      poses.t.push_back(recording.poses.t[i]);
      poses.X_WB.push_back(recording.poses.X_WB[i]);
    }
    const int n = static_cast<int>(poses.t.size());
    if (n < kFewestPoses) return false;
    FlightModel model;
    model.recording = &poses;
    model.body = &flight.body;
    model.flight.gravity_W = problem_.gravity_W;
    NoiseModel noise;
    noise.sd.fill(1e-3);
    noise.acceleration.fill(0);
    for (int i = 0; i < 3; ++i) noise.acceleration[i] = 5;
    const Arc arc = FitArc(model, {0, n - 1}, noise);
    if (!arc.converged) return false;
    DropState state;
    state.tau = 0.5 * (from + to);
    const ArcState<6> at = StateAt<6>(arc, model, state.tau);
    state.p = at.pose.head<3>();
    state.q = Eigen::Quaterniond(at.R).normalized();
    for (int side = 0; side < 2; ++side) {
      state.v[side] = at.velocity.head<3>();
      state.omega[side] = at.velocity.tail<3>();
      if (flight.has_axis)
        state.omega[side] -= flight.axis_B * flight.axis_B.dot(state.omega[side]);
    }
    state.clock.assign(tracks_.cameras.size(), {});
    for (const BodyMarker& marker : flight.markers) state.p_BM.push_back(marker.p_BM);
    problem_.flights.push_back(std::move(flight));
    problem_.start.push_back(std::move(state));
    return true;
  }

  // Places of all parameters and their priors as declared.
  void Place(const DropRecording& recording) {
    FlightPlaces& at = problem_.places;
    at.flights = static_cast<int>(problem_.flights.size());
    at.cameras = static_cast<int>(tracks_.cameras.size());
    at.markers = static_cast<int>(markers_.size());
    problem_.rig_axes = Eigen::MatrixXd::Zero(ParameterCount(rig_), 0);
    if (rig_.covariance.size() > 0 && options_.drop.rig_covariance) {
      const VectorXd sd = rig_.covariance.diagonal().cwiseMax(1e-300).cwiseSqrt(),
                     inverse = sd.cwiseInverse();
      const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(
          inverse.asDiagonal() * rig_.covariance * inverse.asDiagonal());
      const VectorXd root = eigen.eigenvalues().cwiseMax(0).cwiseSqrt();
      const auto kept = (root.array() > 1e-8).count();
      problem_.rig_axes =
          sd.asDiagonal() * eigen.eigenvectors().rightCols(kept) * root.tail(kept).asDiagonal();
    }
    at.rig = static_cast<int>(problem_.rig_axes.cols());
    const ImpactBundleOptions& drop = options_.drop;
    out_.prior = VectorXd::Zero(at.Size());
    out_.start = VectorXd::Zero(at.Size());
    out_.rough_offset = recording.offset;
    for (int f = 0; f < at.flights; ++f) {
      for (int i = 0; i < 12; ++i) out_.prior[at.State(f) + i] = kStateSd[i / 3];
    }
    const double g = problem_.gravity_W.norm();
    out_.prior.segment<2>(at.Gravity()).setConstant(g * options_.vertical_sd);
    out_.prior[at.Gravity() + 2] = options_.gravity_sd;
    out_.layout_sd = drop.layout_sd > 0 ? drop.layout_sd : options_.layout_sd;
    out_.prior.segment(at.Marker(0), 3 * at.markers).setConstant(out_.layout_sd);
    out_.prior.tail(at.rig).setOnes();
    for (int c = 0; c < at.cameras; ++c) {
      const int first = at.Camera(c);
      out_.prior[first] = c > 0 ? drop.offset_sd : 0;
      out_.prior[first + 1] = drop.row_time_sd;
      out_.prior[first + 2] = drop.rate_sd;
      if (out_.prior[first] > 0) out_.start[first] = out_.rough_offset[c];
    }
  }

  const MarkerTracks& tracks_;
  const CameraRig& rig_;
  const std::vector<BodyMarker>& markers_;
  const Body& body_;
  const Plane& floor_;
  const FlightCheckOptions& options_;
  FlightSetup out_;
  FlightProblem& problem_ = out_.problem;
};

}  // namespace

FlightSetup SetUpFlights(const MarkerTracks& tracks, const CameraRig& rig,
                         const std::vector<BodyMarker>& markers, const Body& body,
                         const Plane& floor, const FlightCheckOptions& options) {
  return Builder(tracks, rig, markers, body, floor, options).Run();
}

}  // namespace impactlab::reconstruction
