#include "reconstruction/bundle/detail/flight_check_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/math/least_squares.h"
#include "data/math/rotation.h"
#include "reconstruction/motion/arcs.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr int kMostSteps = 200;
constexpr double kFlightHuber = 2.5;  // [standard deviations]

// The rig with its errors, scale and lenses.
CameraRig RigAt(const FlightProblem& problem, const VectorXd& x) {
  const FlightPlaces& at = problem.places;
  CameraRig rig;
  rig.cameras = problem.rig->cameras;
  const VectorXd error = problem.rig_axes * x.tail(at.rig);
  const Vector3d centre = rig.cameras[problem.camera_of_clock[0]].X_WC.translation();
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    RigCamera& camera = rig.cameras[c];
    const int first = FirstParameter(*problem.rig, static_cast<int>(c)),
              n = IntrinsicCount(camera.camera.model);
    VectorXd intrinsics = Intrinsics(camera.camera) + error.segment(first, n);
    double focal = 1 + x[at.Lens()];
    for (int k = 0; k < at.cameras; ++k) {
      if (problem.camera_of_clock[k] != static_cast<int>(c)) continue;
      focal += x[at.Camera(k) + 3];
      intrinsics.segment<2>(2) += x.segment<2>(at.Camera(k) + 4);
    }
    intrinsics.head<2>() *= focal;
    SetIntrinsics(camera.camera, intrinsics);
    camera.X_WC.linear() *= ExpSO3(Vector3d(error.segment<3>(first + n)));
    const Vector3d p = camera.X_WC.translation() + error.segment<3>(first + n + 3);
    camera.X_WC.translation() = centre + (1 + x[at.Scale()]) * (p - centre);
  }
  return rig;
}

// State and problem of one flight at x.
struct FlightAt {
  DropState state;
  std::vector<BodyAt> at;
};

FlightAt FlightOf(const FlightProblem& problem, int f, const VectorXd& x, DropProblem* now) {
  const FlightPlaces& places = problem.places;
  const auto own = x.segment<12>(places.State(f));
  FlightAt out;
  out.state = problem.start[f];
  out.state.p += own.head<3>();
  out.state.q =
      Eigen::Quaterniond(out.state.q.toRotationMatrix() * ExpSO3(Vector3d(own.segment<3>(3))))
          .normalized();
  for (int arc = 0; arc < 2; ++arc) {
    out.state.v[arc] += own.segment<3>(6);
    out.state.omega[arc] += own.tail<3>();
  }
  for (int c = 0; c < places.cameras; ++c) {
    ClockState& clock = out.state.clock[c];
    const auto of_camera = x.segment<6>(places.Camera(c));
    // The rate of all clocks turns about the middle of each flight, that of one about the common
    // reference.
    clock.offset += of_camera[0] + x[places.Clock()] * (now->t_reference - out.state.tau);
    clock.row_time += of_camera[1];
    clock.rate += of_camera[2] + x[places.Clock()];
  }
  for (int m = 0; m < places.markers; ++m) out.state.p_BM[m] += x.segment<3>(places.Marker(m));
  now->gravity_W = problem.gravity_W + problem.gravity_axes * x.segment<3>(places.Gravity());
  out.at = FollowStates(*now, out.state);
  const Vector3d torque = x.segment<3>(places.Torque(f));
  for (BodyAt& at : out.at)
    at.X_WB.linear() = ExpSO3(Vector3d(0.5 * at.s * at.s * torque)) * at.X_WB.linear();
  return out;
}

struct Normal {
  bool valid = false;
  double chi_square = 0;  // of the points, robust
  MatrixXd information;
  VectorXd gradient;
  int points = 0;
};

// Measured distances between markers.
void AddDistances(const FlightProblem& problem, const VectorXd& x, bool derivatives,
                  Normal* normal) {
  const FlightPlaces& places = problem.places;
  const int size = places.Size();
  for (const KnownDistance& known : problem.distances) {
    const int a = places.Marker(known.marker1), b = places.Marker(known.marker2);
    const auto place = [&](int m) -> Vector3d {
      return problem.start[0].p_BM[m] + x.segment<3>(places.Marker(m));
    };
    const Vector3d between = place(known.marker1) - place(known.marker2);
    const double length = between.norm(), r = (length - known.distance) / known.sd;
    normal->chi_square += r * r;
    if (!derivatives) continue;
    MatrixXd row = MatrixXd::Zero(size, 1);
    row.middleRows<3>(a) = between / (length * known.sd);
    row.middleRows<3>(b) = -between / (length * known.sd);
    normal->information.selfadjointView<Eigen::Lower>().rankUpdate(row);
    normal->gradient += r * row;
  }
}

Normal NormalAt(const FlightProblem& problem, const VectorXd& x, bool derivatives) {
  const FlightPlaces& places = problem.places;
  const int size = places.Size();
  Normal normal;
  if (derivatives) {
    normal.information = MatrixXd::Zero(size, size);
    normal.gradient = VectorXd::Zero(size);
  }
  const CameraRig rig = RigAt(problem, x);
  const std::vector<View> views = RigViews(rig);
  const Vector3d centre = rig.cameras[problem.camera_of_clock[0]].X_WC.translation();
  MatrixXd J(size, 2);
  Eigen::Matrix<double, 2, Eigen::Dynamic> by_rig;
  for (int f = 0; f < places.flights; ++f) {
    DropProblem now = problem.flights[f];
    now.views = views;
    const FlightAt flight = FlightOf(problem, f, x, &now);
    for (const DropPoint& point : now.points) {
      if (!point.used) continue;
      const BodyAt& at = flight.at[point.instant];
      PointRow row;
      if (!RowOf(now, point, at, flight.state.p_BM[point.marker], derivatives, &row)) return normal;
      const double distance = row.r.norm(),
                   weight = distance > kFlightHuber ? kFlightHuber / distance : 1;
      normal.chi_square += distance > kFlightHuber ? kFlightHuber * (2 * distance - kFlightHuber)
                                                   : distance * distance;
      ++normal.points;
      if (!derivatives) continue;
      J.setZero();
      const int own = places.State(f), first = at.arc == 0 ? kDropMinus : kDropPlus;
      const Eigen::Matrix<double, 2, 3> by_p = row.by_state.leftCols<3>(),
                                        by_phi = row.by_state.middleCols<3>(3) *
                                                 at.dphi_dturn.transpose();
      J.middleRows<6>(own) = row.by_state.leftCols<6>().transpose();
      J.middleRows<6>(own + 6) = row.by_state.middleCols<6>(first).transpose();
      const double half = 0.5 * at.s * at.s;
      J.middleRows<3>(places.Torque(f)) =
          half * (by_phi * at.X_WB.linear().transpose()).transpose();
      J.middleRows<3>(places.Gravity()) = half * (by_p * problem.gravity_axes).transpose();
      const double since = point.t - now.t_reference;
      J.row(places.Clock()) = (point.t - flight.state.tau) * row.by_time.transpose();
      const int camera = places.Camera(point.clock);
      J.row(camera) = row.by_time.transpose();
      J.row(camera + 1) = point.q.y() * row.by_time.transpose();
      J.row(camera + 2) = since * row.by_time.transpose();
      J.middleRows<3>(places.Marker(point.marker)) = row.by_marker.transpose();
      BodyMarker marker = now.markers[point.marker];
      marker.p_BM = flight.state.p_BM[point.marker];
      Eigen::Vector2d q;
      const View& view = now.views[point.view];
      if (!ImageOf(view, marker, at.X_WB, &q, nullptr, &by_rig)) return normal;
      const MatrixXd E = point.root * by_rig;
      const Camera& lens = view.camera->camera;
      J.row(places.Lens()) = (lens.fx * E.col(0) + lens.fy * E.col(1)).transpose();
      J.row(camera + 3) = J.row(places.Lens());
      J.middleRows<2>(camera + 4) = E.middleCols<2>(2).transpose();
      const Vector3d from_centre = view.camera->X_WC.translation() - centre;
      J.row(places.Scale()) =
          (E.rightCols<3>() * from_centre).transpose() / (1 + x[places.Scale()]);
      if (places.rig > 0)
        J.bottomRows(places.rig) =
            (E * problem.rig_axes.middleRows(view.first_parameter, E.cols())).transpose();
      normal.information.selfadjointView<Eigen::Lower>().rankUpdate(J, weight);
      normal.gradient.noalias() += weight * (J * row.r);
    }
  }
  AddDistances(problem, x, derivatives, &normal);
  if (derivatives)
    normal.information = MatrixXd(normal.information.selfadjointView<Eigen::Lower>());
  normal.valid = std::isfinite(normal.chi_square);
  return normal;
}

std::vector<int> FreeOnes(const VectorXd& prior_sd) {
  std::vector<int> free;
  for (int i = 0; i < prior_sd.size(); ++i) {
    if (prior_sd[i] > 0) free.push_back(i);
  }
  return free;
}

double Priors(const VectorXd& prior_sd, const VectorXd& x) {
  double sum = 0;
  for (int i = 0; i < x.size(); ++i) {
    if (prior_sd[i] > 0) sum += std::pow(x[i] / prior_sd[i], 2);
  }
  return sum;
}

// Normal equations of the free parameters, priors included.
void AddFreeEquations(const std::vector<int>& free, const MatrixXd& information,
                      const VectorXd& gradient, const VectorXd& prior_sd, const VectorXd& x,
                      SquaresAt* at) {
  const auto n = static_cast<Eigen::Index>(free.size());
  at->information.resize(n, n);
  at->gradient.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) at->information(i, j) = information(free[i], free[j]);
    const double weight = 1 / (prior_sd[free[i]] * prior_sd[free[i]]);
    at->information(i, i) += weight;
    at->gradient[i] = gradient[free[i]] + weight * x[free[i]];
  }
}

// A trial step may go far astray where the images belong to no flight at all; there is no need to
// follow such a turning body.
bool Tumbles(const FlightProblem& problem, const VectorXd& x) {
  constexpr double kMostSpin = 1e4;  // [rad/s]
  for (int f = 0; f < problem.places.flights; ++f) {
    const double spin =
        x.segment<3>(problem.places.State(f) + 9).norm() + problem.start[f].omega[0].norm();
    if (!(spin < kMostSpin)) return true;
  }
  return false;
}

}  // namespace

FlightSolution SolveFlights(const FlightProblem& problem, const VectorXd& prior_sd,
                            const VectorXd& start) {
  FlightSolution out;
  out.x = start;
  if (Tumbles(problem, start)) return out;
  const std::vector<int> free = FreeOnes(prior_sd);
  const auto n = static_cast<Eigen::Index>(free.size());
  VectorXd trial = start;
  SquaresProblem squares;
  squares.evaluate = [&](const VectorXd& step, bool derivatives) {
    trial = out.x;
    for (Eigen::Index i = 0; i < n; ++i) trial[free[i]] += step[i];
    SquaresAt at;
    if (Tumbles(problem, trial)) return at;
    const Normal normal = NormalAt(problem, trial, derivatives);
    at.valid = normal.valid;
    at.cost = normal.chi_square + Priors(prior_sd, trial);
    if (derivatives && normal.valid)
      AddFreeEquations(free, normal.information, normal.gradient, prior_sd, trial, &at);
    return at;
  };
  squares.accept = [&](const VectorXd&) { out.x = trial; };
  LeastSquaresOptions options;
  options.max_steps = kMostSteps;
  options.most_damping = 1e7;
  options.raise = 20;
  // Chi-square to a millionth. To a thousandth is not enough: along directions that are known
  // badly the search would end a fifth of a standard deviation away.
  options.small_gain = 1e-6;
  options.small_gain_relative = 1e-9;
  const LeastSquaresResult result =
      MinimizeSquares(squares, static_cast<int>(free.size()), options);
  if (result.status == LeastSquaresStatus::kInvalid) return out;
  Normal normal = NormalAt(problem, out.x, true);
  if (!normal.valid) return out;
  out.converged = result.converged();
  out.chi_square = result.at.cost;
  out.information = std::move(normal.information);
  out.gradient = std::move(normal.gradient);
  out.points = normal.points;
  return out;
}

std::vector<std::vector<double>> FlightDistances(const FlightProblem& problem, const VectorXd& x) {
  const CameraRig rig = RigAt(problem, x);
  std::vector<std::vector<double>> distances;
  for (int f = 0; f < problem.places.flights; ++f) {
    DropProblem now = problem.flights[f];
    now.views = RigViews(rig);
    const FlightAt flight = FlightOf(problem, f, x, &now);
    std::vector<double> own;
    for (const DropPoint& point : now.points) {
      PointRow row;
      const bool seen =
          RowOf(now, point, flight.at[point.instant], flight.state.p_BM[point.marker], false, &row);
      own.push_back(seen ? row.r.norm() : std::numeric_limits<double>::infinity());
    }
    distances.push_back(own);
  }
  return distances;
}

FlightStep StepFlights(const FlightSolution& at, const VectorXd& prior_at,
                       const VectorXd& prior_sd) {
  const std::vector<int> free = FreeOnes(prior_sd);
  SquaresAt here;
  AddFreeEquations(free, at.information, at.gradient, prior_sd, at.x, &here);
  // Scaled to a unit diagonal: the parameters are of very different sizes.
  const VectorXd scale = here.information.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
  const Eigen::LDLT<MatrixXd> ldlt(scale.asDiagonal() * here.information * scale.asDiagonal());
  const VectorXd step = -scale.cwiseProduct(ldlt.solve(scale.cwiseProduct(here.gradient)));
  const MatrixXd inverse = ldlt.solve(MatrixXd::Identity(step.size(), step.size()));
  FlightStep out;
  out.x = at.x;
  out.cov = MatrixXd::Zero(at.x.size(), at.x.size());
  for (std::size_t i = 0; i < free.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    out.x[free[i]] += step[row];
    for (std::size_t j = 0; j < free.size(); ++j) {
      const auto column = static_cast<Eigen::Index>(j);
      out.cov(free[i], free[j]) = scale[row] * inverse(row, column) * scale[column];
    }
  }
  out.gain = -step.dot(here.gradient) + Priors(prior_at, at.x) - Priors(prior_sd, at.x);
  return out;
}

}  // namespace impactlab::reconstruction
