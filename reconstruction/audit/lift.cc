#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "impact/body/unknown_spin.h"
#include "reconstruction/audit/detail/evidence.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr int kFewestArcs = 12;
constexpr double kClearly = 10;  // of the criterion: odds of 150 to 1
constexpr int kSpins = 2;        // as released, and after impacts

// A flight of a ball as the fit sees it: which spin it has, and its coordinates.
struct AirArc {
  const FlightArc* arc = nullptr;
  int spin = 0;
};

std::vector<AirArc> ArcsThatFly(std::span<const FlightArc> arcs) {
  std::map<std::string, int> first;  // frame at which the first flight of a recording begins
  for (const FlightArc& arc : arcs) {
    const auto at = first.try_emplace(arc.recording, arc.first).first;
    at->second = std::min(at->second, arc.first);
  }
  std::vector<AirArc> out;
  for (const FlightArc& arc : arcs)
    if (arc.acceleration_W.allFinite() && arc.sd_acceleration.allFinite() &&
        arc.velocity_W.allFinite())
      out.push_back({&arc, arc.first == first.at(arc.recording) ? 0 : 1});
  return out;
}

// Parameters: gravity, the k of quadratic drag [1/m], then of either spin the vector w of a lift
// w x v [1/s], in a plane its y alone.
struct AirLayout {
  bool planar;
  int rows() const { return planar ? 2 : 3; }
  int drag() const { return rows(); }
  int lift(int spin) const { return drag() + 1 + spin * (planar ? 1 : 3); }
  int size() const { return lift(kSpins); }
  int axis(int row) const { return planar && row == 1 ? 2 : row; }
  VectorXd Units() const {
    VectorXd unit = VectorXd::Constant(size(), 0.1);
    unit.head(rows()).setOnes();
    return unit;
  }
  Vector3d Lift(const VectorXd& p, int spin) const {
    return planar ? Vector3d(0, p(lift(spin)), 0) : Vector3d(p.segment<3>(lift(spin)));
  }
};

// What drag and lift add to the acceleration of an arc.
Vector3d ByAir(const AirLayout& layout, const VectorXd& p, const AirArc& at) {
  const Vector3d& v = at.arc->velocity_W;
  return layout.Lift(p, at.spin).cross(v) - p(layout.drag()) * v.norm() * v;
}

// Lift and drag with gravity as given, or gravity of any size and direction and drag.
enum class AirModel { kLift, kGravity };

std::vector<int> ActiveOf(const AirLayout& layout, AirModel model) {
  const bool lift = model == AirModel::kLift;
  std::vector<int> active(
      static_cast<std::size_t>(lift ? layout.size() - layout.drag() : layout.lift(0)));
  std::iota(active.begin(), active.end(), lift ? layout.drag() : 0);
  return active;
}

RobustFit FitAir(const std::vector<AirArc>& arcs, const AirLayout& layout, const Vector3d& gravity,
                 AirModel model) {
  const int n = static_cast<int>(arcs.size()), rows = layout.rows();
  RobustProblem problem;
  problem.groups = n;
  problem.rows = rows;
  problem.sd.resize(n * rows);
  problem.start = VectorXd::Zero(layout.size());
  problem.unit = layout.Units();
  problem.active = ActiveOf(layout, model);
  for (int k = 0; k < rows; ++k) {
    problem.start(k) = gravity(layout.axis(k));
    for (int i = 0; i < n; ++i)
      problem.sd(i * rows + k) = std::max(1e-6, arcs[i].arc->sd_acceleration(layout.axis(k)));
  }
  problem.residual = [&](const VectorXd& p, VectorXd& r) {
    for (int i = 0; i < n; ++i) {
      const Vector3d rest = ByAir(layout, p, arcs[i]) - arcs[i].arc->acceleration_W;
      for (int k = 0; k < rows; ++k) r(i * rows + k) = p(k) + rest(layout.axis(k));
    }
  };
  return FitRobust(problem);
}

// -2 log of the likelihood with Student's tails, of residuals whose scatter beyond their noise is
// `scatter`, and the penalty of Schwarz (1978) for the parameters.
double CriterionOf(const std::vector<AirArc>& arcs, const AirLayout& layout, const RobustFit& fit,
                   AirModel model, double scatter) {
  constexpr double kDof = 4;
  const int n = static_cast<int>(arcs.size()), rows = layout.rows();
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    double square = 0;
    for (int k = 0; k < rows; ++k) {
      const double sd = std::max(1e-6, arcs[i].arc->sd_acceleration(layout.axis(k)));
      square += std::pow(fit.residual(i * rows + k), 2) / (sd * sd + scatter * scatter);
    }
    sum += (kDof + rows) * std::log1p(square / kDof);
  }
  return sum + static_cast<double>(ActiveOf(layout, model).size()) * std::log(n * rows);
}

// The lift of a spin that the arcs tell from gravity and drag; undetermined where they do not.
Estimate LiftOf(const RobustFit& fit, const AirLayout& layout, const MatrixXd& C, int spin) {
  const Vector3d w = layout.Lift(fit.value, spin);
  const int at = layout.lift(spin), n = layout.planar ? 1 : 3;
  if (!(w.norm() > 0)) return Undetermined("no lift");
  const VectorXd direction = fit.value.segment(at, n) / w.norm();
  const double sd = std::sqrt(std::max(0.0, direction.dot(C.block(at, at, n, n) * direction)));
  return MakeEstimate(w.norm(), sd);
}

std::string AxisWords(const Vector3d& w) {
  return fmt::format("about ({:.2f}, {:.2f}, {:.2f})", w.normalized().x(), w.normalized().y(),
                     w.normalized().z());
}

// Drag that the flights show beyond the one they were fitted with.
void AddDrag(const Estimate& drag, double significance, AuditResult* result) {
  result->evidence.push_back({"drag_per_m", "free_flight", drag});
  if (!(std::abs(drag.value) > significance * drag.sd)) return;
  Finding finding;
  finding.parameter = "drag_per_m";
  finding.estimate = drag;
  finding.text = fmt::format(
      "drag_per_m: flights are slowed by {} /m of the square of their speed more than declared",
      PlusMinus(drag));
  result->findings.push_back(finding);
}

}  // namespace

std::optional<std::vector<FlightArc>> WithoutLift(const AuditInput& input, AuditResult& result) {
  const Body& body = *input.body;
  const bool unknown = std::any_of(input.events.begin(), input.events.end(),
                                   [](const ImpactEvent* event) { return SpinIsUnknown(*event); });
  if (body.shape != BodyShape::kBall || body.flat || !unknown) return std::nullopt;
  const std::vector<AirArc> arcs = ArcsThatFly(input.arcs);
  if (static_cast<int>(arcs.size()) < kFewestArcs) return std::nullopt;
  const AirLayout layout{body.planar};
  const Vector3d& gravity = input.options.gravity_W;
  const RobustFit fit = FitAir(arcs, layout, gravity, AirModel::kLift),
                  other = FitAir(arcs, layout, gravity, AirModel::kGravity);
  if (!fit.usable || !other.usable) return std::nullopt;
  const double scatter = std::min(fit.scatter, other.scatter);
  const double better = CriterionOf(arcs, layout, other, AirModel::kGravity, scatter) -
                        CriterionOf(arcs, layout, fit, AirModel::kLift, scatter);
  const std::vector<int> active = ActiveOf(layout, AirModel::kLift);
  const int n = static_cast<int>(active.size());
  MatrixXd C = MatrixXd::Zero(layout.size(), layout.size());
  C.bottomRightCorner(n, n) = Covariance(fit.information, layout.Units(), active);
  const double k = input.options.significance;
  int told = -1;
  for (int spin = 0; spin < kSpins; ++spin) {
    const Estimate lift = LiftOf(fit, layout, C, spin);
    result.evidence.push_back({"lift_per_s", "free_flight", lift});
    if (told < 0 && lift.determined && lift.value > k * lift.sd) told = spin;
  }
  if (told < 0 || better < 0) return std::nullopt;

  std::vector<FlightArc> out;
  double most = 0;
  for (const AirArc& at : arcs) {
    out.push_back(*at.arc);
    out.back().acceleration_W -= ByAir(layout, fit.value, at);
    most = std::max(most, layout.Lift(fit.value, at.spin).cross(at.arc->velocity_W).norm());
  }
  // A lift that changes no arc's acceleration by a fiftieth of gravity would not mislead anybody.
  if (most < 0.02 * input.options.gravity_W.norm()) return std::nullopt;
  Finding finding;
  finding.parameter = "lift_per_s";
  finding.estimate = LiftOf(fit, layout, C, told);
  const double drag = fit.value(layout.drag()),
               sd_drag = std::sqrt(std::max(0.0, C(layout.drag(), layout.drag())));
  finding.text = fmt::format(
      "lift_per_s: flights {} are bent across their velocity by {} /s of it, {}, as those of a "
      "ball that spins (Magnus); a wrong clock or scale would explain them {}; taken out before "
      "gravity is judged",
      told == 0 ? "before the first impact" : "after impacts", PlusMinus(finding.estimate),
      AxisWords(layout.Lift(fit.value, told)),
      better > kClearly ? "less well" : "hardly less well");
  result.findings.push_back(finding);
  AddDrag(MakeEstimate(drag, sd_drag), k, &result);
  return out;
}

}  // namespace impactlab::reconstruction
