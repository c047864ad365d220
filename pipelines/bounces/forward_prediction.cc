#include "pipelines/bounces/forward_prediction.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "impact/motion/mechanism_bodies.h"
#include "impact/motion/simulate.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// of the search for where flight is clear of the floor [s]
constexpr double kStartStep = 1e-4, kLatestStart = 0.02;
// simulations go on after the recording, to see when they come to rest [s]
constexpr double kLonger = 1;
// between samples, which poses are interpolated from [s]
constexpr double kSampleStep = 1e-3;
// of a step: far below what a state is measured to
constexpr double kTolerance = 1e-9;
// an approach below that rebounds by less than a nanometre [m/s]
constexpr double kLeastRebound = 1e-4;
constexpr long kMostEvents = 200'000;  // of one simulation
// relative: draws that agree in a direction still have a distance
constexpr double kLeastVariance = 1e-9;
constexpr int kFewestDraws = 8;  // that a rank can be told from

// A motion by its poses, at rising times.
struct Path {
  std::vector<double> t;
  std::vector<Isometry3d> X_WB;
  std::vector<double> impacts;  // times
  std::string fault;

  Isometry3d At(double time) const {
    const auto above = std::upper_bound(t.begin(), t.end(), time);
    if (above == t.begin()) return X_WB.front();
    if (above == t.end()) return X_WB.back();
    const auto i = static_cast<std::size_t>(above - t.begin());
    const double share = (time - t[i - 1]) / (t[i] - t[i - 1]);
    const Isometry3d &a = X_WB[i - 1], &b = X_WB[i];
    Isometry3d out = Isometry3d::Identity();
    out.translation() = a.translation() + share * (b.translation() - a.translation());
    out.linear() = Eigen::Quaterniond(a.linear())
                       .slerp(share, Eigen::Quaterniond(b.linear()))
                       .toRotationMatrix();
    return out;
  }
};

double Reach(const Body& body) {
  double reach = std::max({body.radius, body.half_length, body.half_extents.maxCoeff()});
  for (const Vector3d& vertex : Vertices(body)) reach = std::max(reach, vertex.norm());
  return reach;
}

Vector3d RelativeRotation(const Matrix3d& from, const Matrix3d& to) {
  return LogSO3(to * from.transpose());
}

// Time from which on no point leaves its last place; nothing where that is not seen for long
// enough.
std::optional<double> RestTime(std::span<const double> t, std::span<const Isometry3d> X_WB,
                               double reach, const BounceOptions& options) {
  const Isometry3d& last = X_WB.back();
  std::size_t first = t.size() - 1;
  while (first > 0) {
    const Isometry3d& X = X_WB[first - 1];
    const double away = (X.translation() - last.translation()).norm() +
                        reach * RelativeRotation(last.linear(), X.linear()).norm();
    if (away > options.still_distance) break;
    --first;
  }
  if (t.back() - t[first] < options.still_time) return std::nullopt;
  return t[first];
}

// Where the measured flight after the impact is clear of the floor. Contact lasts a finite time in
// which surfaces yield, and arcs of flight meet inside the floor; a start from there would carry
// the depth along as height.
struct Start {
  BodyState state;
  double delay = 0, lift = 0;
};

Start Leave(const BounceSetting& setting, const BodyState& measured) {
  const auto gap = [&](const BodyState& state) {
    return ContactWithPlane(setting.body, state.X_WB, setting.floor).gap;
  };
  Start best{measured, 0, -gap(measured)};
  for (int k = 1; best.lift > 0 && k * kStartStep <= kLatestStart; ++k) {
    const BodyState state = Propagate(measured, setting.body, setting.flight, k * kStartStep);
    if (-gap(state) < best.lift) best = {state, k * kStartStep, -gap(state)};
  }
  best.lift = std::max(0.0, best.lift);
  best.state.X_WB.translation() += best.lift * setting.floor.normal.normalized();
  return best;
}

// Every impact may meet other coefficients.
using CoefficientSource = std::function<ImpactModel()>;

// Times are those since the impact.
Path Follow(const BounceSetting& setting, const Start& from, double duration,
            const CoefficientSource& next) {
  const BodyState& start = from.state;
  const auto properties = [](const ImpactModel& model) {
    ContactProperties out;
    out.mu_k = model.mu_k;
    out.mu_s = std::max(model.mu_k, model.mu_s);
    out.e = model.e;
    return out;
  };
  MovingBody moving;
  moving.start = {setting.body, start.X_WB, start.v_WB, start.omega_WB};
  moving.linear_drag = setting.linear_drag;
  moving.quadratic_drag = setting.flight.drag_per_m;
  MovingPlane plane;
  plane.plane = setting.floor;
  Path path;
  BodyMechanism made =
      MakeBodyMechanism({moving}, {}, {plane}, EveryBodyOnEveryPlane(1, 1, properties(next())),
                        setting.flight.gravity_W);
  if (setting.body.planar && setting.spin_drag > 0) {
    const double damping = setting.spin_drag * setting.body.inertia_B(1, 1);
    made.mechanism.terms = [terms = made.mechanism.terms, damping](const MechanismState& state,
                                                                   MechanismTerms& out) {
      terms(state, out);
      out.force(2) -= damping * state.u(2);
    };
  }
  SimulateOptions options;
  options.duration = duration;
  options.law = setting.model.law;
  options.tolerance = kTolerance;
  options.least_rebound = kLeastRebound;
  options.sample_step = kSampleStep;
  options.most_events = kMostEvents;
  SimulationObserver observer;
  const auto keep = [&](const MechanismState& state) {
    if (!path.t.empty() && state.t <= path.t.back()) return;
    path.t.push_back(state.t);
    path.X_WB.push_back(made.StateOf(state, 0).X_WB);
  };
  observer.sample = [&](const MechanismState& state, const std::vector<PointMode>&,
                        const VectorXd&) { keep(state); };
  observer.event = [&](const SimulationEvent& event) {
    keep(event.after);
    if (event.kind != SimulationEventKind::kImpact) return;
    path.impacts.push_back(event.t);
    const ContactProperties drawn = properties(next());
    for (ContactProperties& contact : made.mechanism.contacts)
      contact.mu_k = drawn.mu_k, contact.mu_s = drawn.mu_s, contact.e = drawn.e;
  };
  made.start.t = from.delay;
  options.duration -= from.delay;
  const SimulationResult result = Simulate(made.mechanism, made.start, options, observer);
  keep(result.state);
  if (result.end == SimulationEnd::kGivenUp)
    path.fault = "the simulation was given up: " + result.reason;
  // A steady roll goes on as it is.
  if (result.end == SimulationEnd::kSteady || result.end == SimulationEnd::kRest) {
    const BodyState last = made.StateOf(result.state, 0);
    while (path.t.back() + kSampleStep <= duration) {
      const double t = path.t.back() + kSampleStep;
      Isometry3d X = last.X_WB;
      X.translation() += last.v_WB * (t - result.state.t);
      X.linear() = ExpSO3((t - result.state.t) * last.omega_WB) * last.X_WB.linear();
      path.t.push_back(t);
      path.X_WB.push_back(X);
    }
  }
  return path;
}

// Share of all points, the first among them, that lie at least as far out as the first; a row is a
// point. Distances are by the covariance of all points, or plain ones.
double RankOf(const MatrixXd& points, bool plain = false) {
  const auto n = static_cast<double>(points.rows());
  const MatrixXd centred = points.rowwise() - points.colwise().mean();
  if (plain) {
    const VectorXd squares = centred.rowwise().squaredNorm();
    return static_cast<double>((squares.array() >= squares(0)).count()) / n;
  }
  MatrixXd cov = centred.transpose() * centred / n;
  cov.diagonal().array() += kLeastVariance * cov.trace() + std::numeric_limits<double>::min();
  const MatrixXd whitened = cov.llt().matrixL().solve(centred.transpose());
  const VectorXd distance = whitened.colwise().squaredNorm().transpose();
  return static_cast<double>((distance.array() >= distance(0)).count()) / n;
}

// Draws of the state after the impact, about its joint covariance, and of the coefficients of every
// later one.
class Draws {
 public:
  Draws(const ImpactEvent& event, const BounceSetting& setting, std::mt19937_64& random)
      : event_(event),
        setting_(setting),
        random_(random),
        state_root_(Root(event.cov.block<9, 9>(kVPlus, kVPlus))),
        coefficient_root_(Root(setting.cov)) {}

  double Normal() { return normal_(random_); }

  Start State() {
    const VectorXd d = state_root_ * Vector(9);
    BodyState out{event_.X_WB, event_.v_plus + d.segment<3>(0),
                  event_.omega_plus + d.segment<3>(3)};
    // The lever is fixed in the body: its error is one of attitude.
    const Vector3d r = event_.p_WP - event_.X_WB.translation(),
                   turn = r.cross(d.segment<3>(6)) / r.squaredNorm();
    out.X_WB.linear() = ExpSO3(turn) * event_.X_WB.linear();
    return Leave(setting_, out);
  }

  // The fit's error is common to all impacts of a draw, the surface is not.
  CoefficientSource Surface() {
    const Eigen::Vector2d d = coefficient_root_ * Vector(2);
    return [this, d, tangential = setting_.scatter.sd_tangential,
            normal = setting_.scatter.sd_normal]() {
      ImpactModel model = setting_.model;
      // J_t = mu J_n and J_n = (1 + e) m_eff |v_n| where nothing couples them.
      const double sd_mu = tangential / (1 + model.e), friction = model.mu_k;
      model.mu_k = std::max(0.0, model.mu_k + d(0) + sd_mu * Normal());
      model.mu_s = std::max(model.mu_k, model.mu_s + model.mu_k - friction);
      model.e = std::clamp(model.e + d(1) + normal * Normal(), 0.0, 1.0);
      return model;
    };
  }

 private:
  static MatrixXd Root(const MatrixXd& cov) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(cov);
    return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
  }
  VectorXd Vector(int n) {
    VectorXd out(n);
    for (double& x : out) x = Normal();
    return out;
  }

  const ImpactEvent& event_;
  const BounceSetting& setting_;
  std::mt19937_64& random_;
  std::normal_distribution<double> normal_;
  MatrixXd state_root_, coefficient_root_;
};

int CountApart(const std::vector<double>& times, double until, double apart) {
  int count = 0;
  double last = -std::numeric_limits<double>::infinity();
  for (const double t : times) {
    if (t > until) break;
    count += t - last > apart;
    last = t;
  }
  return count;
}

// Spread of the draws and the recording's rank among them.
void Judge(const std::vector<Path>& paths, double time, const Isometry3d& recorded,
           const Isometry3d& nominal, const ImpactEvent& event, const Matrix3d& R_WF, Draws& noise,
           BounceError* error) {
  if (static_cast<int>(paths.size()) < kFewestDraws) return;
  const int rows = static_cast<int>(paths.size()) + 1, wide = event.planar ? 1 : 2,
            turns = event.planar ? 1 : 3;
  MatrixXd along(rows, wide), angle(rows, turns);
  double squared_angle = 0;
  for (int i = 0; i < rows; ++i) {
    const Isometry3d X = i == 0 ? recorded : paths[static_cast<std::size_t>(i) - 1].At(time);
    const Vector3d p = R_WF.transpose() * (X.translation() - nominal.translation()),
                   turn = RelativeRotation(nominal.linear(), X.linear());
    along.row(i) = p.head(wide).transpose();
    angle.row(i) = turn.segment(event.planar ? 1 : 0, turns).transpose();
    if (i == 0) continue;
    squared_angle += angle.row(i).squaredNorm();
    for (int k = 0; k < wide; ++k) along(i, k) += event.sigma_position * noise.Normal();
    for (int k = 0; k < turns; ++k) angle(i, k) += event.sigma_angle * noise.Normal();
  }
  const MatrixXd drawn = along.bottomRows(rows - 1);
  error->spread_along =
      std::sqrt((drawn.rowwise() - drawn.colwise().mean()).squaredNorm() / (rows - 1));
  error->spread_angle = std::sqrt(squared_angle / (rows - 1));
  error->p_along = RankOf(along);
  // Draws that stand on one face do not tilt at all, and a covariance would take any tilt of a
  // recording for a wonder.
  error->p_angle = RankOf(angle, true);
}

// The time of rest as recorded among those of the draws.
void CompareRest(const std::vector<double>& rests, BounceRow* row) {
  if (static_cast<int>(rests.size()) < kFewestDraws) return;
  row->rest_spread = StandardDeviation(rests);
  if (!std::isfinite(row->rest_recorded)) return;
  MatrixXd points(rests.size() + 1, 1);
  points(0, 0) = row->rest_recorded;
  for (std::size_t i = 0; i < rests.size(); ++i)
    points(static_cast<Eigen::Index>(i) + 1, 0) = rests[i];
  row->p_rest = RankOf(points);
}

// How far a simulated pose is from the recorded one, in the contact frame of the first impact.
BounceError ErrorOf(const Isometry3d& simulated, const Isometry3d& recorded,
                    const ImpactEvent& first, const Matrix3d& R_WF) {
  BounceError error;
  const Vector3d d = R_WF.transpose() * (simulated.translation() - recorded.translation());
  error.along = d.head<2>().norm();
  error.height = d.z();
  error.angle = RelativeRotation(recorded.linear(), simulated.linear()).norm();
  const Vector3d up = R_WF.col(2), a = recorded.linear().transpose() * up,
                 b = simulated.linear().transpose() * up;
  error.tilt = std::atan2(a.cross(b).norm(), a.dot(b));
  error.moved =
      (R_WF.transpose() * (recorded.translation() - first.X_WB.translation())).head<2>().norm();
  return error;
}

}  // namespace

BounceRow FollowBounces(const ImpactEvent& first, std::span<const double> later,
                        const PoseRecording& recording, const BounceSetting& setting,
                        const BounceOptions& options, std::mt19937_64& random) {
  BounceRow row;
  row.recording = first.recording;
  row.frames_lost = first.frames_lost;
  row.rest_recorded = row.rest_simulated = kNaN;
  std::vector<double> intervals;
  for (std::size_t i = 1; i < recording.t.size(); ++i)
    intervals.push_back(recording.t[i] - recording.t[i - 1]);
  const auto begin = static_cast<std::size_t>(
      std::upper_bound(recording.t.begin(), recording.t.end(), first.t) - recording.t.begin());
  if (begin + 2 > recording.t.size()) {
    row.reason = "fewer than two frames after the first impact";
    return row;
  }
  const double interval = Median(intervals);
  std::vector<double> t;  // since the first impact
  for (std::size_t i = begin; i < recording.t.size(); ++i)
    t.push_back(recording.t[i] - first.t + first.frames_lost * interval);
  const std::span<const Isometry3d> poses = std::span(recording.X_WB).subspan(begin);
  const double duration = t.back() + kLonger, reach = Reach(setting.body);

  const Start start = Leave(setting, {first.X_WB, first.v_plus, first.omega_plus});
  row.start_delay = start.delay;
  row.lift = start.lift;
  const Path nominal = Follow(setting, start, duration, [&] { return setting.model; });
  if (!nominal.fault.empty()) {
    row.reason = nominal.fault;
    return row;
  }
  Draws draws(first, setting, random);
  std::vector<Path> paths;
  std::vector<double> rests;
  for (int k = 0; k < options.draws; ++k) {
    const Start drawn = draws.State();
    Path path = Follow(setting, drawn, duration, draws.Surface());
    if (!path.fault.empty()) continue;
    if (const auto rest = RestTime(path.t, path.X_WB, reach, options)) rests.push_back(*rest);
    paths.push_back(std::move(path));
  }
  row.draws = static_cast<int>(paths.size());
  row.impacts_simulated = CountApart(nominal.impacts, t.back(), interval);
  row.rest_simulated = RestTime(nominal.t, nominal.X_WB, reach, options).value_or(kNaN);
  row.rest_recorded = RestTime(t, poses, reach, options).value_or(kNaN);
  CompareRest(rests, &row);

  const Matrix3d R_WF =
      ContactFrame(setting.floor, first.p_WP, setting.flight.gravity_W, first.planar).linear();
  const auto compare = [&](const std::string& at, std::size_t frame) {
    const Isometry3d &recorded = poses[frame], simulated = nominal.At(t[frame]);
    BounceError error = ErrorOf(simulated, recorded, first, R_WF);
    error.at = at;
    error.t = recording.t[begin + frame];
    Judge(paths, t[frame], recorded, simulated, first, R_WF, draws, &error);
    row.errors.push_back(std::move(error));
  };
  for (const double time : later) {
    if (time <= recording.t[begin]) continue;
    ++row.impacts_recorded;
    // Beside the impact a spin that jumps a frame early or late would be compared, not the flight.
    const auto after = static_cast<std::size_t>(
        std::upper_bound(recording.t.begin(), recording.t.end(), time - interval) -
        recording.t.begin());
    if (after > begin) compare("impact_" + std::to_string(row.impacts_recorded), after - 1 - begin);
  }
  compare("end", t.size() - 1);
  return row;
}

}  // namespace impactlab
