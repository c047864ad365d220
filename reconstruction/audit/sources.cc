#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "reconstruction/audit/detail/evidence.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

// prior size of the effective contact time: hard bodies part within a few milliseconds [s]
constexpr double kContactTime = 2e-3;
// prior size of the depth at which arcs meet whatever the speed: rough, soft or dusty surfaces [m]
constexpr double kContactDepth = 5e-4;
constexpr int kFewestEvents = 6;  // for any fit of momentum
// a rest further than this from any way to lie leans on something [rad]
constexpr double kLargestLean = 0.35;

Source FromFit(const std::string& name, const RobustFit& fit, int n, const ErrorLayout& layout) {
  Source source;
  source.name = name;
  source.usable = fit.usable;
  source.reason = fit.reason;
  source.n = n;
  source.scatter = fit.scatter;
  source.typical = fit.typical;
  source.value = fit.usable ? fit.value : VectorXd::Zero(layout.size);
  source.information = fit.usable ? fit.information : MatrixXd::Zero(layout.size, layout.size);
  return source;
}

// Information that remains when `gone` may take any value.
void Marginalise(const std::vector<int>& gone, const ErrorLayout& layout, MatrixXd& information) {
  const MatrixXd U = layout.unit.asDiagonal();
  MatrixXd N = U * information * U;
  for (const int g : gone) {
    if (N(g, g) > 0) N -= (N.col(g) * N.row(g) / N(g, g)).eval();
    N.row(g).setZero();
    N.col(g).setZero();
  }
  information = U.inverse() * N * U.inverse();
}

Source Silent(const std::string& name, const ErrorLayout& layout, const std::string& reason) {
  RobustFit none;
  none.reason = reason;
  return FromFit(name, none, 0, layout);
}

std::vector<int> Concatenate(std::initializer_list<std::vector<int>> lists) {
  std::vector<int> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// A ball whose attitude is not in its data stands in the same one before every impact: an offset of
// its centre of mass would be one of the lever, the same for all, and stand for any inertia.
bool ShowsAttitude(const Body& body, std::span<const ImpactEvent* const> events) {
  constexpr double kAlike = 0.05;  // [rad]
  if (body.shape != BodyShape::kBall || events.empty()) return true;
  const Matrix3d& first = events.front()->X_WB.linear();
  return std::any_of(events.begin(), events.end(), [&](const ImpactEvent* event) {
    return Eigen::AngleAxisd(first.transpose() * event->X_WB.linear()).angle() > kAlike;
  });
}

std::vector<int> OfAttitude(const ErrorLayout& layout) {
  return layout.turns ? Concatenate({layout.blocks[0], layout.blocks[1]}) : std::vector<int>();
}

std::vector<int> Corner(const ErrorLayout& layout) {
  return layout.blocks.size() > 6 ? layout.blocks[6] : std::vector<int>();
}

// Better of several starts: the fit with the smallest typical residual.
RobustFit FitFromStarts(RobustProblem problem, const std::vector<VectorXd>& starts) {
  RobustFit best;
  for (const VectorXd& start : starts) {
    problem.start = start;
    const RobustFit fit = FitRobust(problem);
    if (!best.usable || (fit.usable && fit.typical < 0.99 * best.typical)) best = fit;
  }
  return best;
}

// No error, and the guess; both keep the scale of the guess, for a source that does not fit it.
std::vector<VectorXd> Starts(const ErrorLayout& layout, const VectorXd& start) {
  std::vector<VectorXd> starts = {VectorXd::Zero(layout.size)};
  if (start.size() != layout.size) return starts;
  starts[0](layout.scale) = start(layout.scale);
  if (start.cwiseAbs().maxCoeff() > 0) starts.push_back(start);
  return starts;
}

// Corrected height of the body's lowest point over the corrected floor, in recorded units.
double Gap(const ErrorLayout& layout, const VectorXd& p, const Body& rounded, const Plane& floor,
           const Eigen::Isometry3d& X) {
  const Matrix3d R = X.linear() * ExpSO3(layout.Rotation(p)).transpose();
  const Vector3d n = layout.Normal(p, floor.normal);
  const double scale = std::exp(p(layout.scale));
  const Vector3d centre = X.translation() / scale + R * layout.Com(p);
  const Vector3d foot = floor.normal * (floor.offset + p(layout.floor));
  return scale * (n.dot(centre - foot) + n.dot(R * SupportLever(rounded, R.transpose() * n)));
}

// Any two directions across `u`.
Eigen::Matrix<double, 3, 2> Across(const Vector3d& u) {
  Eigen::Matrix<double, 3, 2> axes;
  axes.col(0) = u.unitOrthogonal();
  axes.col(1) = u.cross(axes.col(0));
  return axes;
}

struct Rest {
  const RestPose* pose;
  int candidate;
};

// Which way each rest lies; rests that lean on something are left out.
std::vector<Rest> Classify(const AuditInput& input, const std::vector<RestCandidate>& candidates) {
  std::vector<Rest> rests;
  for (const RestPose& rest : input.rests) {
    if (!rest.X_WB.matrix().allFinite()) continue;
    const Vector3d up = rest.X_WB.linear().transpose() * input.floor.normal;
    int best = -1;
    double closest = std::cos(kLargestLean);
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const double c = candidates[k].up_B.dot(up);
      if (c > closest) {
        closest = c;
        best = k;
      }
    }
    if (best >= 0) rests.push_back({&rest, best});
  }
  return rests;
}

double FramesOf(const RestPose& rest) { return std::max(1, rest.last - rest.first + 1); }

}  // namespace

ErrorLayout::ErrorLayout(const Body& body, std::span<const ImpactEvent* const> events)
    : planar(body.planar), turns(ShowsAttitude(body, events)), corner_given(body.corner_radius) {
  const int rotations = planar ? 1 : 3, coms = planar ? 2 : 3, tilts = planar ? 1 : 2;
  com = rotations;
  scale = com + coms;
  clock = scale + 1;
  floor = clock + 1;
  tilt = floor + 1;
  corner = tilt + tilts;
  inertia = corner + 1;
  contact_time = inertia + 1;
  contact_depth = contact_time + 1;
  handedness = contact_depth + 1;
  split = handedness + 1;
  size = split + 1;
  unit = VectorXd::Constant(size, 0.01);
  unit.segment(com, coms).setConstant(1e-3);
  unit(floor) = 1e-3;
  unit(corner) = 1e-3;
  unit(inertia) = unit(split) = 0.05;
  unit(contact_time) = unit(contact_depth) = 1e-3;
  unit(handedness) = 0.1;
  if (planar) {
    names = {"theta_offset_rad", "com_offset_x_m", "com_offset_z_m"};
  } else {
    names = {"rotation_offset_x_rad", "rotation_offset_y_rad", "rotation_offset_z_rad",
             "com_offset_x_m",        "com_offset_y_m",        "com_offset_z_m"};
  }
  names.insert(names.end(), {"length_scale", "clock_rate", "floor_offset_m", "floor_tilt_rad"});
  if (!planar) names.push_back("floor_tilt_y_rad");
  names.insert(names.end(), {"corner_radius_m", "inertia_scale", "contact_time_s",
                             "contact_depth_m", "mirrored", "split"});
  const auto block = [&](int first, int n) {
    blocks.emplace_back();
    for (int i = 0; i < n; ++i) blocks.back().push_back(first + i);
  };
  block(attitude, rotations);
  block(com, coms);
  block(scale, 1);
  block(clock, 1);
  block(floor, 1);
  block(tilt, tilts);
  if (body.shape == BodyShape::kBox ||
      (body.shape == BodyShape::kPolytope && body.corner_radius > 0))
    block(corner, 1);
}

Body ErrorLayout::Rounded(const Body& body, const VectorXd& p) const {
  Body rounded = body;
  rounded.corner_radius += p(corner);
  return rounded;
}

Vector3d ErrorLayout::Rotation(const VectorXd& p) const {
  return planar ? Vector3d(0, -p(attitude), 0) : Vector3d(p.segment<3>(attitude));
}
Vector3d ErrorLayout::Com(const VectorXd& p) const {
  return planar ? Vector3d(p(com), 0, p(com + 1)) : Vector3d(p.segment<3>(com));
}
Vector3d ErrorLayout::Normal(const VectorXd& p, const Vector3d& given) const {
  return ExpSO3(Vector3d(planar ? 0.0 : p(tilt + 1), -p(tilt), 0)) * given;
}

namespace {

void AddRestCandidate(const Vector3d& up, double height, std::vector<RestCandidate>* candidates) {
  for (const RestCandidate& c : *candidates) {
    if (c.up_B.dot(up) > 1 - 1e-9) return;
  }
  candidates->push_back({up, height});
}

void AddEllipsoidRests(const Body& body, std::vector<RestCandidate>* candidates) {
  const Vector3d a = body.half_extents;
  const int axis = body.planar
                       ? (a.x() < a.z() ? 0 : 2)
                       : (a.x() < a.y() ? (a.x() < a.z() ? 0 : 2) : (a.y() < a.z() ? 1 : 2));
  double next = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    if (i != axis && !(body.planar && i == 1)) next = std::min(next, a(i));
  }
  if (a(axis) < 0.95 * next) {  // a near-circle lies anyhow
    AddRestCandidate(Vector3d::Unit(axis), a(axis), candidates);
    AddRestCandidate(-Vector3d::Unit(axis), a(axis), candidates);
  }
}

// A facet of a hull of size `size`: a plane through the vertex `at`, with the normal `up`, that has
// all other vertices above it, and the centre of mass over its inside (stable).
void AddFacetRest(const Body& body, const std::vector<Vector3d>& vertices, double size, Vector3d up,
                  const Vector3d& at, std::vector<RestCandidate>* candidates) {
  if (!(up.norm() > 1e-9 * size * (body.planar ? 1 : size))) return;
  up.normalize();
  if (up.dot(at) > 0) up = -up;
  for (const Vector3d& v : vertices) {
    if (up.dot(v - at) < -1e-9 * size) return;
  }
  // Tilting over any edge of the facet must lift the centre of mass: its foot lies inside the
  // facet's outline.
  const Vector3d foot = up * up.dot(at);
  std::vector<Vector3d> base;
  for (const Vector3d& v : vertices) {
    if (up.dot(v - at) < 1e-7 * size) base.push_back(v - foot);
  }
  const Eigen::Matrix<double, 3, 2> axes = Across(up);
  for (int k = 0; k < (body.planar ? 2 : 16); ++k) {
    const Vector3d d =
        body.planar
            ? Vector3d((k == 0 ? 1 : -1) * Vector3d::UnitY().cross(up))
            : Vector3d(std::cos(k * M_PI / 8) * axes.col(0) + std::sin(k * M_PI / 8) * axes.col(1));
    double reach = -size;
    for (const Vector3d& v : base) reach = std::max(reach, d.dot(v));
    if (reach <= 1e-3 * size) return;
  }
  AddRestCandidate(up, -up.dot(at), candidates);
}

void AddHullRests(const Body& body, std::vector<RestCandidate>* candidates) {
  const std::vector<Vector3d> vertices = Vertices(body);
  const int n = vertices.size();
  if (n > 60) return;
  double size = 0;
  for (const Vector3d& v : vertices) size = std::max(size, v.norm());
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) {
      const Vector3d edge = vertices[j] - vertices[i];
      if (body.planar) {
        AddFacetRest(body, vertices, size, Vector3d::UnitY().cross(edge), vertices[i], candidates);
        continue;
      }
      for (int k = j + 1; k < n; ++k)
        AddFacetRest(body, vertices, size, edge.cross(vertices[k] - vertices[i]), vertices[i],
                     candidates);
    }
  }
}

}  // namespace

std::vector<RestCandidate> RestCandidates(const Body& body) {
  std::vector<RestCandidate> candidates;
  if (body.shape == BodyShape::kEllipsoid) {
    AddEllipsoidRests(body, &candidates);
  } else if (body.shape == BodyShape::kRod) {
    if (body.planar) {
      AddRestCandidate(Vector3d::UnitZ(), body.radius, &candidates);
      AddRestCandidate(-Vector3d::UnitZ(), body.radius, &candidates);
    }
  } else if (body.shape == BodyShape::kBox) {
    for (int axis = 0; axis < 3; ++axis) {
      if (body.planar && axis == 1) continue;
      AddRestCandidate(Vector3d::Unit(axis), body.half_extents(axis), &candidates);
      AddRestCandidate(-Vector3d::Unit(axis), body.half_extents(axis), &candidates);
    }
  } else {
    AddHullRests(body, &candidates);
  }
  return candidates;
}

std::vector<int> MomentumParameters(const ErrorLayout& layout) {
  return Concatenate({OfAttitude(layout), Corner(layout), {layout.inertia}});
}

RobustFit FitMomentum(const AuditInput& all, const ErrorLayout& layout, const VectorXd& start,
                      const std::vector<int>& active, const VectorXd& prior_sd) {
  const AuditInput input = WithMeasuredSpins(all);
  const int n = input.events.size(), rows = layout.planar ? 1 : 3;
  RobustProblem problem;
  problem.groups = n;
  problem.rows = rows;
  problem.unit = layout.unit;
  problem.active = active;
  problem.prior_sd = prior_sd;
  if (n < kFewestEvents) {
    RobustFit none;
    none.reason = fmt::format("{} accepted events{}: at least {} are needed", n,
                              all.events.size() > input.events.size() ? " with measured spin" : "",
                              kFewestEvents);
    return none;
  }
  const Body& body = *input.body;
  const Matrix3d inverse =
      layout.planar ? Matrix3d(Vector3d(0, body.mass / body.inertia_B(1, 1), 0).asDiagonal())
                    : Matrix3d(body.mass * body.inertia_B.inverse());
  problem.sd.resize(n * rows);
  for (int i = 0; i < n; ++i) {
    const SpinResidual e = MomentumResidual(*input.events[i], body, input.floor.normal);
    // Rounding keeps exact events from having no noise at all.
    const double least =
        1e-9 * (1 + (input.events[i]->omega_plus - input.events[i]->omega_minus).norm());
    for (int k = 0; k < rows; ++k)
      problem.sd(i * rows + k) =
          std::max(least, std::sqrt(e.cov(rows == 1 ? 1 : k, rows == 1 ? 1 : k)));
  }
  problem.residual = [&](const VectorXd& p, VectorXd& r) {
    const Matrix3d undo = ExpSO3(layout.Rotation(p)).transpose();
    const Vector3d com = layout.Com(p);
    const Body rounded = layout.Rounded(body, p);
    const double split = std::exp(-p(layout.split));
    const double per_inertia = std::exp(-p(layout.inertia)), per_scale = std::exp(-p(layout.scale));
    for (int i = 0; i < n; ++i) {
      const ImpactEvent& event = *input.events[i];
      const Matrix3d R = event.X_WB.linear() * undo;
      const Vector3d lever_B = SupportLever(rounded, R.transpose() * input.floor.normal);
      const Vector3d spin_B = R.transpose() * (event.omega_plus - event.omega_minus);
      Vector3d dv_W = per_scale * (event.v_plus - event.v_minus);
      dv_W(layout.planar ? 0 : 1) *= 1 - 2 * p(layout.handedness);
      Vector3d dv_B = R.transpose() * dv_W + spin_B.cross(com);
      if (split != 1) {
        const Vector3d n_B = R.transpose() * input.floor.normal, normal = n_B.dot(dv_B) * n_B;
        dv_B = normal + split * (dv_B - normal);
      }
      const Vector3d e = spin_B - per_inertia * (inverse * lever_B.cross(dv_B));
      if (rows == 1) {
        r(i) = e.y();
      } else {
        r.segment<3>(3 * i) = e;
      }
    }
  };
  return FitFromStarts(problem, Starts(layout, start));
}

Source MomentumSource(const AuditInput& input, const ErrorLayout& layout, const VectorXd& start) {
  return FromFit("momentum", FitMomentum(input, layout, start, MomentumParameters(layout)),
                 input.events.size(), layout);
}

Source ContactHeightSource(const AuditInput& input, const ErrorLayout& layout,
                           const VectorXd& start) {
  const int n = input.events.size();
  const Body& body = *input.body;
  RobustProblem problem;
  problem.groups = n;
  problem.unit = layout.unit;
  problem.active = Concatenate({OfAttitude(layout),
                                {layout.scale, layout.floor},
                                layout.blocks[5],
                                Corner(layout),
                                {layout.contact_time, layout.contact_depth}});
  problem.held = Concatenate({{layout.scale}, Corner(layout)});
  problem.prior_sd = VectorXd::Zero(layout.size);
  problem.prior_sd(layout.contact_time) = kContactTime;
  problem.prior_sd(layout.contact_depth) = kContactDepth;
  if (n < static_cast<int>(problem.active.size()) + 3) {
    return Silent(
        "contact_height", layout,
        fmt::format("{} accepted events: at least {} are needed", n, problem.active.size() + 3));
  }
  problem.sd.resize(n);
  std::vector<double> approach(n);
  for (int i = 0; i < n; ++i) {
    const ImpactEvent& event = *input.events[i];
    const Vector3d lever = event.X_WB.linear() *
                           SupportLever(body, event.X_WB.linear().transpose() * input.floor.normal);
    approach[i] = input.floor.normal.dot(event.v_minus + event.omega_minus.cross(lever));
    problem.sd(i) = std::max(1e-7, std::hypot(event.sigma_position, approach[i] * event.sd_t));
  }
  problem.residual = [&](const VectorXd& p, VectorXd& r) {
    const Body rounded = layout.Rounded(body, p);
    for (int i = 0; i < n; ++i)
      r(i) = Gap(layout, p, rounded, input.floor, input.events[i]->X_WB) -
             p(layout.contact_time) * approach[i] + p(layout.contact_depth);
  };
  Source source =
      FromFit("contact_height", FitFromStarts(problem, Starts(layout, start)), n, layout);
  // Arcs of a contact that lasts meet below the surface, by an amount that changes with the lean,
  // and worn corners reach less far than sharp ones. Both look like a wrong scale, so this source
  // has no effect on it.
  if (source.usable) Marginalise({layout.scale}, layout, source.information);
  return source;
}

Source FreeFlightSource(const AuditInput& input, const ErrorLayout& layout) {
  const double g = input.options.gravity_W.norm();
  if (!(g > 0)) return Silent("free_flight", layout, "no gravity to compare with");
  const Vector3d down = input.options.gravity_W / g;
  std::vector<double> ratio, sd;
  for (const FlightArc& arc : input.arcs) {
    const double a = arc.acceleration_W.dot(down),
                 s = arc.sd_acceleration.cwiseProduct(down).norm();
    // An arc that does not know gravity to a third tells little, and its logarithm less.
    if (std::isfinite(a) && a > 0.2 * g && s < 0.3 * g) {
      ratio.push_back(std::log(a / g));
      sd.push_back(std::max(1e-6, s / a));
    }
  }
  const int n = ratio.size();
  if (n < 4)
    return Silent("free_flight", layout, fmt::format("{} flight arcs: at least 4 are needed", n));
  RobustProblem problem;
  problem.groups = n;
  problem.unit = layout.unit;
  problem.active = {layout.scale};
  problem.start = VectorXd::Zero(layout.size);
  problem.sd = Eigen::Map<VectorXd>(sd.data(), n);
  problem.residual = [&](const VectorXd& p, VectorXd& r) {
    for (int i = 0; i < n; ++i) r(i) = p(layout.scale) - ratio[i];
  };
  Source source = FromFit("free_flight", FitRobust(problem), n, layout);
  // Recorded acceleration = length_scale / clock_rate^2 times the true one.
  const double information = source.information(layout.scale, layout.scale);
  VectorXd row = VectorXd::Zero(layout.size);
  row(layout.scale) = 1;
  row(layout.clock) = -2;
  source.information = information * row * row.transpose();
  return source;
}

Source RestAttitudeSource(const AuditInput& input, const ErrorLayout& layout) {
  const std::vector<RestCandidate> candidates = RestCandidates(*input.body);
  if (candidates.empty())
    return Silent("rest_attitude", layout, "the body's shape has no attitude at rest");
  const std::vector<Rest> rests = Classify(input, candidates);
  const int n = rests.size(), rows = layout.planar ? 1 : 2;
  RobustProblem problem;
  problem.groups = n;
  problem.rows = rows;
  problem.unit = layout.unit;
  problem.active = Concatenate({layout.blocks[0], layout.blocks[5]});
  problem.within_clusters = layout.blocks[5];
  if (layout.planar) problem.within_clusters.clear();  // both turn a planar rest alike
  if (n < 4)
    return Silent("rest_attitude", layout, fmt::format("{} rests: at least 4 are needed", n));
  problem.start = VectorXd::Zero(layout.size);
  problem.sd.resize(n * rows);
  problem.cluster.resize(n * rows);
  std::vector<Eigen::Matrix<double, 3, 2>> axes(candidates.size());
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    axes[k] = Across(candidates[k].up_B);
    if (layout.planar) axes[k].col(0) = Vector3d::UnitY().cross(candidates[k].up_B);
  }
  for (int i = 0; i < n; ++i) {
    const double sd = std::max(1e-6, rests[i].pose->sd_angle / std::sqrt(FramesOf(*rests[i].pose)));
    for (int k = 0; k < rows; ++k) {
      problem.sd(i * rows + k) = sd;
      problem.cluster[i * rows + k] = rests[i].candidate * rows + k;
    }
  }
  problem.residual = [&](const VectorXd& p, VectorXd& r) {
    const Matrix3d rotation = ExpSO3(layout.Rotation(p));
    const Vector3d normal = layout.Normal(p, input.floor.normal);
    for (int i = 0; i < n; ++i) {
      const Vector3d up = rotation * (rests[i].pose->X_WB.linear().transpose() * normal);
      const auto& across = axes[rests[i].candidate];
      for (int k = 0; k < rows; ++k) r(i * rows + k) = across.col(k).dot(up);
    }
  };
  return FromFit("rest_attitude", FitRobust(problem), n, layout);
}

Source RestHeightSource(const AuditInput& input, const ErrorLayout& layout, const VectorXd& start) {
  const Body& body = *input.body;
  const std::vector<RestCandidate> candidates = RestCandidates(body);
  std::vector<Rest> rests;
  std::vector<double> height;
  if (candidates.empty()) {  // round bodies: the lowest point tells the height in any attitude
    for (const RestPose& rest : input.rests) {
      if (!rest.X_WB.matrix().allFinite()) continue;
      rests.push_back({&rest, 0});
    }
  } else {
    rests = Classify(input, candidates);
  }
  const int n = rests.size();
  RobustProblem problem;
  problem.groups = n;
  problem.unit = layout.unit;
  problem.active = Concatenate({layout.blocks[1], {layout.scale, layout.floor}, layout.blocks[5]});
  problem.within_clusters = layout.blocks[5];
  if (n < 4)
    return Silent("rest_height", layout, fmt::format("{} rests: at least 4 are needed", n));
  problem.start = start;
  problem.sd.resize(n);
  if (!candidates.empty()) problem.cluster.resize(n);
  for (int i = 0; i < n; ++i) {
    problem.sd(i) =
        std::max(1e-7, rests[i].pose->sd_position / std::sqrt(FramesOf(*rests[i].pose)));
    if (!candidates.empty()) problem.cluster[i] = rests[i].candidate;
  }
  problem.residual = [&](const VectorXd& p, VectorXd& r) {
    const double scale = std::exp(p(layout.scale));
    const Vector3d n_W = layout.Normal(p, input.floor.normal), com = layout.Com(p),
                   foot = input.floor.normal * (input.floor.offset + p(layout.floor));
    for (int i = 0; i < n; ++i) {
      const Eigen::Isometry3d& X = rests[i].pose->X_WB;
      // A body at rest on a facet has the attitude of that facet, whatever the attitude recorded.
      const Vector3d n_B = candidates.empty() ? Vector3d(X.linear().transpose() * n_W)
                                              : candidates[rests[i].candidate].up_B;
      const double h = candidates.empty() ? -n_B.dot(SupportLever(body, n_B))
                                          : candidates[rests[i].candidate].height;
      r(i) = n_W.dot(X.translation()) + scale * (n_B.dot(com) - n_W.dot(foot) - h);
    }
  };
  return FromFit("rest_height", FitRobust(problem), n, layout);
}

}  // namespace impactlab::reconstruction
