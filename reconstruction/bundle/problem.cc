#include "reconstruction/bundle/detail/problem.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "reconstruction/motion/arcs.h"

namespace impactlab::reconstruction {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;

int DropProblem::clocks() const {
  int n = 0;
  for (const DropPoint& point : points) n = std::max(n, point.clock + 1);
  return n;
}

void SetPush(DropProblem* problem, const Eigen::Quaterniond& q, const Vector3d& n) {
  if (!(problem->moment_sd > 0)) return;
  const Matrix3d R = q.toRotationMatrix();
  const Vector3d& z = problem->principal_B;
  const double inertia = z.dot(problem->body.inertia_B * z);
  problem->by_push_W =
      problem->body.mass / inertia * (R * z.cross(SupportLever(problem->body, R.transpose() * n)));
}

void LinkInstants(DropProblem* problem) {
  // Rows of one picture move differently where their time is not known.
  const auto key = [&](const DropPoint& point) {
    return std::tuple(point.clock, point.t, problem->row_time_sd > 0 ? point.q.y() : 0.0);
  };
  std::map<std::tuple<int, double, double>, int> place;
  for (const DropPoint& point : problem->points) place[key(point)] = 0;
  problem->instants.clear();
  for (auto& [at, i] : place) {
    i = static_cast<int>(problem->instants.size());
    problem->instants.push_back({std::get<0>(at), std::get<1>(at), std::get<2>(at)});
  }
  for (DropPoint& point : problem->points) point.instant = place.at(key(point));
}

std::vector<BodyAt> FollowStates(const DropProblem& problem, const DropState& state) {
  const std::vector<Instant>& instants = problem.instants;
  const int n = static_cast<int>(instants.size());
  const Matrix3d R = state.q.toRotationMatrix();
  std::vector<BodyAt> all(instants.size());
  std::vector<double> since(instants.size());
  for (int i = 0; i < n; ++i)
    since[i] =
        problem.Time(state.clock[instants[i].clock], instants[i].t, instants[i].row) - state.tau;
  int first = 0;
  while (first < n) {
    int end = first;
    while (end < n && instants[end].clock == instants[first].clock) ++end;
    // Away from the impact on both sides, each step from the one before.
    for (int arc = 0; arc < 2; ++arc) {
      TorqueFree turn;
      turn.omega_B = state.omega[arc];
      double s = 0;
      for (int k = 0; k < end - first; ++k) {
        const int i = arc == 0 ? end - 1 - k : first + k;
        if ((since[i] >= 0) != (arc == 1)) continue;
        turn = TurnTorqueFree(problem.body, turn, since[i] - s);
        s = since[i];
        BodyAt& at = all[i];
        at.s = s;
        at.arc = arc;
        at.X_WB.translation() = state.p + s * state.v[arc] + 0.5 * s * s * problem.gravity_W;
        at.X_WB.linear() = R * turn.Q;
        at.velocity = state.v[arc] + s * problem.gravity_W;
        at.omega_B = turn.omega_B;
        at.dphi_dturn = turn.Q.transpose();
        at.dphi_domega = turn.dphi_domega;
      }
    }
    first = end;
  }
  return all;
}

DropPlaces PlacesOf(const DropProblem& problem, int clocks) {
  DropPlaces places;
  const auto take = [&](bool free) { return free ? places.clocks_end++ : -1; };
  for (int c = 0; c < clocks; ++c) {
    places.offset.push_back(take(problem.free_offset(c)));
    places.row_time.push_back(take(problem.row_time_sd > 0));
    places.rate.push_back(take(problem.rate_sd > 0));
  }
  places.per_marker = problem.free_layout() ? 3 : problem.beside() ? 2 : 0;
  places.size = places.clocks_end + places.per_marker * static_cast<int>(problem.markers.size());
  return places;
}

bool RowOf(const DropProblem& problem, const DropPoint& point, const BodyAt& at,
           const Vector3d& p_BM, bool derivatives, PointRow* row) {
  BodyMarker marker = problem.markers[point.marker];
  marker.p_BM = p_BM;
  Eigen::Vector2d q;
  ImageDerivatives d;
  if (!ImageOf(problem.views[point.view], marker, at.X_WB, &q, derivatives ? &d : nullptr))
    return false;
  row->r = point.root * (q - point.q);
  if (!derivatives) return true;
  const Eigen::Matrix<double, 2, 3> by_p = point.root * d.by_p_W, by_phi = point.root * d.by_phi_B;
  row->by_marker = point.root * d.by_p_BM;
  row->by_time = by_p * at.velocity + by_phi * at.omega_B;
  row->by_state.setZero();
  row->by_state.leftCols<3>() = by_p;
  row->by_state.middleCols<3>(3) = by_phi * at.dphi_dturn;
  const int first = at.arc == 0 ? kDropMinus : kDropPlus;
  row->by_state.middleCols<3>(first) = by_p * at.s;
  row->by_state.middleCols<3>(first + 3) = by_phi * at.dphi_domega;
  row->by_state.col(kDropTime) = -row->by_time;
  return true;
}

namespace {

void AddPriors(const DropProblem& problem, const DropState& state, const DropPlaces& places,
               DropNormal* normal) {
  const auto add = [&](const Eigen::VectorXd& row, double r) {
    normal->information.noalias() += row * row.transpose();
    normal->chi_square += r * r;
    ++normal->residuals;
  };
  Eigen::VectorXd row = Eigen::VectorXd::Zero(places.size);
  for (int arc = 0; problem.has_axis && arc < 2; ++arc) {
    row.setZero();
    row.segment<3>((arc == 0 ? kDropMinus : kDropPlus) + 3) = problem.axis_B / problem.spin_sd[arc];
    add(row, problem.axis_B.dot(state.omega[arc]) / problem.spin_sd[arc]);
  }
  if (problem.moment_sd > 0) {
    row.setZero();
    const double w = 1 / problem.moment_sd;
    row.segment<3>(kDropPlus + 3) = w * problem.principal_B;
    row.segment<3>(kDropMinus + 3) = -w * problem.principal_B;
    row.segment<3>(kDropPlus) = -w * problem.by_push_W;
    row.segment<3>(kDropMinus) = w * problem.by_push_W;
    add(row, w * (problem.principal_B.dot(state.omega[1] - state.omega[0]) -
                  problem.by_push_W.dot(state.v[1] - state.v[0])));
  }
  const auto add_one = [&](int k, double x, double sd) {
    if (k < 0) return;
    row.setZero();
    row[k] = 1 / sd;
    add(row, x / sd);
  };
  for (std::size_t c = 0; c < state.clock.size(); ++c) {
    add_one(places.offset[c], state.clock[c].offset, problem.offset_sd);
    add_one(places.row_time[c], state.clock[c].row_time, problem.row_time_sd);
    add_one(places.rate[c], state.clock[c].rate, problem.rate_sd);
  }
  for (std::size_t m = 0; places.per_marker > 0 && m < problem.markers.size(); ++m) {
    const Vector3d off = state.p_BM[m] - problem.markers[m].p_BM;
    const int place = places.Marker(static_cast<int>(m));
    for (int i = 0; problem.free_layout() && i < 3; ++i)
      add_one(place + i, off[i], problem.layout_sd);
    for (int i = 0; problem.beside() && i < 2; ++i)
      add_one(place + i, problem.turn.col(i).dot(off), problem.beside_sd);
  }
  if (!problem.free_layout()) return;
  for (const KnownDistance& known : problem.distances) {
    const Vector3d between = state.p_BM[known.marker1] - state.p_BM[known.marker2];
    const double length = between.norm();
    row.setZero();
    row.segment<3>(places.Marker(known.marker1)) = between / (length * known.sd);
    row.segment<3>(places.Marker(known.marker2)) = -between / (length * known.sd);
    add(row, (length - known.distance) / known.sd);
  }
}

}  // namespace

DropNormal NormalEquations(const DropProblem& problem, const DropState& state, int rig_size) {
  DropNormal normal;
  const int clocks = static_cast<int>(state.clock.size());
  const DropPlaces places = PlacesOf(problem, clocks);
  const int size = places.size;
  normal.information = MatrixXd::Zero(size, size);
  const int given =
      rig_size + (problem.free_layout() ? 0 : 3 * static_cast<int>(problem.markers.size()));
  normal.by_given = MatrixXd::Zero(size, given);
  normal.given_information = MatrixXd::Zero(given, given);
  normal.given_gradient = Eigen::VectorXd::Zero(given);
  normal.parameters = size - 3 + static_cast<int>(problem.turn.cols());
  const std::vector<BodyAt> at = FollowStates(problem, state);
  MatrixXd J(2, size);
  Eigen::Matrix<double, 2, Eigen::Dynamic> by_rig;
  for (const DropPoint& point : problem.points) {
    if (!point.used) continue;
    PointRow row;
    const BodyAt& now = at[point.instant];
    if (!RowOf(problem, point, now, state.p_BM[point.marker], true, &row)) return normal;
    J.setZero();
    J.leftCols<kDropDim>() = row.by_state;
    if (const int k = places.offset[point.clock]; k >= 0) J.col(k) = row.by_time;
    if (const int k = places.row_time[point.clock]; k >= 0) J.col(k) = row.by_time * point.q.y();
    if (const int k = places.rate[point.clock]; k >= 0)
      J.col(k) = row.by_time * (point.t - problem.t_reference);
    if (const int k = places.Marker(point.marker); k >= 0) {
      if (problem.free_layout()) {
        J.middleCols<3>(k) = row.by_marker;
      } else {
        J.middleCols<2>(k) = row.by_marker * problem.turn;
      }
    }
    normal.information.noalias() += J.transpose() * J;
    normal.chi_square += row.r.squaredNorm();
    normal.arc_chi_square[now.arc] += row.r.squaredNorm();
    normal.arc_residuals[now.arc] += 2;
    normal.residuals += 2;
    if (!problem.free_layout()) {
      const Eigen::Index place = rig_size + 3 * point.marker;
      normal.by_given.middleCols<3>(place).noalias() += J.transpose() * row.by_marker;
      normal.given_information.block<3, 3>(place, place).noalias() +=
          row.by_marker.transpose() * row.by_marker;
      normal.given_gradient.segment<3>(place).noalias() += row.by_marker.transpose() * row.r;
    }
    if (rig_size > 0) {
      BodyMarker marker = problem.markers[point.marker];
      marker.p_BM = state.p_BM[point.marker];
      Eigen::Vector2d q;
      const View& view = problem.views[point.view];
      if (!ImageOf(view, marker, now.X_WB, &q, nullptr, &by_rig)) return normal;
      const Eigen::Index first = view.first_parameter, n = by_rig.cols();
      const Eigen::Matrix<double, 2, Eigen::Dynamic> E = point.root * by_rig;
      normal.by_given.middleCols(first, n).noalias() += J.transpose() * E;
      normal.given_information.block(first, first, n, n).noalias() += E.transpose() * E;
      normal.given_gradient.segment(first, n).noalias() += E.transpose() * row.r;
      if (problem.free_layout()) continue;
      const Eigen::Index place = rig_size + 3 * point.marker;
      normal.given_information.block(place, first, 3, n).noalias() += row.by_marker.transpose() * E;
      normal.given_information.block(first, place, n, 3).noalias() += E.transpose() * row.by_marker;
    }
  }
  AddPriors(problem, state, places, &normal);
  normal.valid = normal.information.allFinite() && std::isfinite(normal.chi_square);
  return normal;
}

bool InvertNormal(const DropProblem& problem, const MatrixXd& information, MatrixXd* inverse) {
  const Eigen::Index size = information.rows(), k = problem.turn.cols();
  MatrixXd T = MatrixXd::Zero(size, size - 3 + k);
  T.topLeftCorner<3, 3>().setIdentity();
  T.block(3, 3, 3, k) = problem.turn;
  T.bottomRightCorner(size - 6, size - 6).setIdentity();
  const MatrixXd free = T.transpose() * information * T;
  const Eigen::VectorXd scale = free.diagonal().cwiseSqrt().cwiseInverse();
  if (!scale.allFinite()) return false;
  const Eigen::LLT<MatrixXd> llt(scale.asDiagonal() * free * scale.asDiagonal());
  if (llt.info() != Eigen::Success || llt.rcond() < 1e-15) return false;
  const MatrixXd inner = scale.asDiagonal() *
                         llt.solve(MatrixXd::Identity(free.rows(), free.cols())) *
                         scale.asDiagonal();
  *inverse = T * inner * T.transpose();
  return inverse->allFinite();
}

}  // namespace impactlab::reconstruction
