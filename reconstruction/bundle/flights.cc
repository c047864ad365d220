#include "reconstruction/bundle/detail/flights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "data/math/least_squares.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "reconstruction/motion/arcs.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using Matrix12 = Eigen::Matrix<double, 12, 12>;
using Vector12 = Eigen::Matrix<double, 12, 1>;

// What rigs and layouts are wrong by, added to the noise of the images: a start is wanted, and
// flights are distinguished from impacts by pixels [px].
constexpr double kRoughPixel = 0.3;
constexpr double kRobust = 2;  // standard deviations at which an image's weight is half
// a one-sided stretch is taken where its misfit is less than this share of the one about the
// instant
constexpr double kBetter = 0.5;
constexpr double kSmall = 0.05;   // misfit that asks for nothing better
constexpr double kMargin = 0.05;  // stamps jitter by less than this [frame intervals]
// what a flight's rough states may differ by for other reasons [m/s], [rad/s]
constexpr double kSameVelocity = 0.02, kSameSpin = 0.1;
constexpr double kSameFlight = 40;  // chi-square of six
constexpr int kSteps = 15;
constexpr double kNoCost = 1e300;  // where a marker lies behind a camera
constexpr double kHeld = 1e8;      // weight that holds a roll nobody sees

Vector3d SpinChange(const Body& body, const Vector3d& omega_B) {
  return body.inertia_B.llt().solve((body.inertia_B * omega_B).cross(omega_B));
}

}  // namespace

BriefFlight After(const BriefFlight& flight, const DropProblem& problem, double dt) {
  BriefFlight then = flight;
  then.t += dt;
  then.X_WB.translation() += dt * flight.v_WB + 0.5 * dt * dt * problem.gravity_W;
  const Vector3d change = SpinChange(problem.body, flight.omega_B);
  then.X_WB.linear() = flight.X_WB.linear() * ExpSO3(dt * (flight.omega_B + 0.5 * dt * change));
  then.v_WB += dt * problem.gravity_W;
  then.omega_B += dt * change;
  return then;
}

bool Agree(const BriefFlight& a, const BriefFlight& b, const DropProblem& problem) {
  const BriefFlight then = After(a, problem, b.t - a.t);
  Eigen::Matrix<double, 6, 6> cov = a.cov + b.cov;
  cov.topLeftCorner<3, 3>().diagonal().array() += kSameVelocity * kSameVelocity;
  cov.bottomRightCorner<3, 3>().diagonal().array() +=
      std::pow(kSameSpin * (1 + 0.2 * b.omega_B.norm()), 2);
  Eigen::Matrix<double, 6, 1> change;
  change << then.v_WB - b.v_WB, then.omega_B - b.omega_B;
  return change.dot(cov.ldlt().solve(change)) < kSameFlight;
}

BriefFlights::BriefFlights(const DropProblem& problem, const std::vector<double>& offset,
                           double frame_interval)
    : problem_(problem), frame_interval_(frame_interval) {
  for (const DropPoint& point : problem.points) {
    const Eigen::Matrix2d cov = (point.root.transpose() * point.root).inverse() +
                                kRoughPixel * kRoughPixel * Eigen::Matrix2d::Identity();
    Image image{point.t + offset[point.clock], &point, {}};
    if (WeightRoot(cov, &image.root)) images_.push_back(image);
  }
  std::sort(images_.begin(), images_.end(),
            [](const Image& a, const Image& b) { return a.t < b.t; });
}

std::vector<const BriefFlights::Image*> BriefFlights::Between(double begin, double end) const {
  std::vector<const Image*> out;
  const auto first = std::lower_bound(images_.begin(), images_.end(), begin,
                                      [](const Image& i, double t) { return i.t < t; });
  for (auto i = first; i != images_.end() && i->t <= end; ++i) out.push_back(&*i);
  return out;
}

// Robust cost, with the normal equations where they are asked for.
double BriefFlights::Cost(const std::vector<const Image*>& images, const BriefFlight& flight,
                          Matrix12* H, Vector12* g) const {
  double sum = 0;
  if (H) H->setZero();
  if (g) g->setZero();
  BodyAt at;
  at.arc = 1;
  at.dphi_dturn.setIdentity();
  double at_time = std::numeric_limits<double>::quiet_NaN();
  for (const Image* image : images) {
    if (image->t != at_time) {
      at_time = image->t;
      at.s = image->t - flight.t;
      const BriefFlight now = After(flight, problem_, at.s);
      at.X_WB = now.X_WB;
      at.velocity = now.v_WB;
      at.omega_B = now.omega_B;
      at.dphi_dturn = now.X_WB.linear().transpose() * flight.X_WB.linear();
      at.dphi_domega = at.s * Matrix3d::Identity();
    }
    DropPoint point = *image->point;
    point.root = image->root;
    PointRow row;
    if (!RowOf(problem_, point, at, problem_.markers[point.marker].p_BM, H != nullptr, &row))
      return kNoCost;
    const double square = row.r.squaredNorm() / (kRobust * kRobust);
    sum += kRobust * kRobust * std::log1p(square);
    if (H == nullptr || g == nullptr) continue;
    const double weight = 1 / (1 + square);
    Eigen::Matrix<double, 2, 12> J;
    J << row.by_state.leftCols<6>(), row.by_state.middleCols<6>(kDropPlus);
    H->noalias() += weight * J.transpose() * J;
    g->noalias() += weight * J.transpose() * row.r;
  }
  if (problem_.has_axis) {
    const Vector3d& a = problem_.axis_B;
    const double sd = problem_.spin_sd[0], spin = a.dot(flight.omega_B) / sd;
    sum += spin * spin;
    if (H != nullptr && g != nullptr) {
      H->block<3, 3>(3, 3) += kHeld * a * a.transpose();
      H->block<3, 3>(9, 9) += a * a.transpose() / (sd * sd);
      g->segment<3>(9) += a * spin / sd;
    }
  }
  return sum;
}

std::optional<BriefFlight> BriefFlights::Solve(const std::vector<const Image*>& images,
                                               BriefFlight flight, bool moves) const {
  const int n = moves ? 12 : 6;
  std::set<int> markers;
  for (const Image* image : images) markers.insert(image->point->marker);
  const std::size_t fewest = problem_.has_axis ? 2 : 3;
  if (markers.size() < fewest || 2 * images.size() < static_cast<std::size_t>(n))
    return std::nullopt;
  BriefFlight trial = flight;
  SquaresProblem problem;
  problem.evaluate = [&](const Eigen::VectorXd& step, bool derivatives) {
    Vector12 x = Vector12::Zero();
    x.head(n) = step;
    trial = flight;
    trial.X_WB.translation() += x.head<3>();
    trial.X_WB.linear() = flight.X_WB.linear() * ExpSO3(x.segment<3>(3));
    trial.v_WB += x.segment<3>(6);
    trial.omega_B += x.tail<3>();
    Matrix12 H;
    Vector12 g;
    SquaresAt at;
    at.cost = Cost(images, trial, derivatives ? &H : nullptr, derivatives ? &g : nullptr);
    at.valid = at.cost < kNoCost;
    if (derivatives && at.valid) {
      at.information = H.topLeftCorner(n, n);
      at.gradient = g.head(n);
    }
    return at;
  };
  problem.accept = [&](const Eigen::VectorXd&) { flight = trial; };
  const SquaresAt start = problem.evaluate(Eigen::VectorXd::Zero(n), true);
  if (!start.valid) return std::nullopt;
  if (moves) {
    const Eigen::VectorXd scale =
        start.information.diagonal().cwiseMax(1e-12).cwiseSqrt().cwiseInverse();
    const Eigen::LLT<Eigen::MatrixXd> llt(scale.asDiagonal() * start.information *
                                          scale.asDiagonal());
    if (llt.info() != Eigen::Success || llt.rcond() < 1e-9) return std::nullopt;
  }
  LeastSquaresOptions options;
  options.max_steps = kSteps;
  options.damping = 1e-4;
  options.most_damping = 1e3;
  options.small_gain = 1e-7 * static_cast<double>(images.size());
  options.small_gain_relative = 1e-4;
  if (MinimizeSquares(problem, start, options).status == LeastSquaresStatus::kSingular)
    return std::nullopt;
  flight.misfit = Cost(images, flight, nullptr, nullptr) / static_cast<double>(images.size());
  return flight;
}

std::optional<BriefFlight> BriefFlights::Fit(const BriefFlight& start) const {
  std::optional<BriefFlight> best;
  std::vector<const Image*> chosen;
  for (const auto& [before, after] : {std::pair(1, 1), std::pair(2, 0), std::pair(0, 2)}) {
    const double margin = kMargin * frame_interval_;
    const std::vector<const Image*> images = Between(start.t - before * frame_interval_ - margin,
                                                     start.t + after * frame_interval_ + margin);
    const std::optional<BriefFlight> fit = Solve(images, start, true);
    if (!fit || (best && fit->misfit > (before == 2 ? kBetter : 1) * best->misfit)) continue;
    best = fit;
    chosen = images;
    best->begin = images.front()->t;
    best->end = images.back()->t;
    if (before == 1 && best->misfit < kSmall) break;
  }
  if (!best) return best;
  std::vector<double> off;
  for (const Image* image : chosen) {
    const Isometry3d X_WB = After(*best, problem_, image->t - best->t).X_WB;
    Eigen::Vector2d q;
    if (ImageOf(problem_.views[image->point->view], problem_.markers[image->point->marker], X_WB,
                &q))
      off.push_back((image->root * (q - image->point->q)).norm());
  }
  Matrix12 H;
  Vector12 g;
  Cost(chosen, *best, &H, &g);
  const Vector12 scale = H.diagonal().cwiseMax(1e-12).cwiseSqrt().cwiseInverse();
  const Matrix12 scaled = scale.asDiagonal() * H * scale.asDiagonal();
  best->cov = (scale.asDiagonal() * scaled.ldlt().solve(Matrix12::Identity()) * scale.asDiagonal())
                  .bottomRightCorner<6, 6>();
  best->off = off.empty() ? std::numeric_limits<double>::infinity() : Median(off);
  return best;
}

BriefFlight BriefFlights::Alone(const BriefFlight& flight) const {
  std::vector<const Image*> near;
  const double reach = (1 + kMargin) * frame_interval_;
  // Images beyond its own may be of another flight.
  for (const Image* image :
       Between(std::max(flight.begin, flight.t - reach), std::min(flight.end, flight.t + reach))) {
    const auto same = std::find_if(near.begin(), near.end(), [&](const Image* other) {
      return other->point->clock == image->point->clock &&
             other->point->marker == image->point->marker;
    });
    if (same == near.end())
      near.push_back(image);
    else if (std::abs(image->t - flight.t) < std::abs((*same)->t - flight.t))
      *same = image;
  }
  std::set<int> clocks;
  for (const Image* image : near) clocks.insert(image->point->clock);
  if (clocks.size() < 2) return flight;
  return Solve(near, flight, false).value_or(flight);
}

}  // namespace impactlab::reconstruction
