#include "impact/law/solve.h"

#include <fmt/core.h>

#include <cmath>

#include "impact/law/detail/tangential_recovery.h"

namespace impactlab {
namespace impact {
namespace {

// Smallest pivot of A_F relative to its diagonal that still counts as positive definite: below it
// rounding decides.
constexpr double kSmallestPivot = 1e-13;
constexpr double kAsymmetry = 1e-9;

bool IsPositiveDefinite(const Eigen::Matrix3d& A) {
  const double xx = A(0, 0), xy = A(0, 1), xn = A(0, 2);
  if (!(xx > 0 && A(1, 1) > 0 && A(2, 2) > 0)) return false;
  const double yy = A(1, 1) - xy * xy / xx, yn = A(1, 2) - xy * xn / xx;
  if (!(yy > kSmallestPivot * A(1, 1))) return false;
  return A(2, 2) - xn * xn / xx - yn * yn / yy > kSmallestPivot * A(2, 2);
}

}  // namespace

std::string Invalid(const ContactState& contact, const ImpactModel& model) {
  const Eigen::Matrix3d& A = contact.A_F;
  const Eigen::Vector3d& v = contact.v_minus_F;
  for (int i = 0; i < 3; ++i) {
    if (!std::isfinite(v[i])) return fmt::format("v_minus_F[{}] is {}, must be finite", i, v[i]);
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (!std::isfinite(A(i, j)))
        return fmt::format("A_F[{}][{}] is {}, must be finite", i, j, A(i, j));
    }
  }
  const double largest = A.cwiseAbs().maxCoeff();
  for (const auto& [i, j] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
    if (std::abs(A(i, j) - A(j, i)) > kAsymmetry * largest) {
      return fmt::format("A_F is not symmetric: [{}][{}] is {}, [{}][{}] is {}", i, j, A(i, j), j,
                         i, A(j, i));
    }
  }
  if (!IsPositiveDefinite(A)) {
    return fmt::format("A_F is not positive definite: [[{}, {}, {}], [{}, {}, {}], [{}, {}, {}]]",
                       A(0, 0), A(0, 1), A(0, 2), A(1, 0), A(1, 1), A(1, 2), A(2, 0), A(2, 1),
                       A(2, 2));
  }
  // Products of four such numbers stay finite, and the smallest entry keeps digits beside the
  // largest.
  constexpr double kLargest = 1e60, kSpan = 1e12;
  const double least = A.diagonal().minCoeff();
  if (largest > kLargest || least < 1 / kLargest || largest > kSpan * least) {
    return fmt::format("A_F has entries from {} to {}, must lie in [{}, {}] and span at most {}",
                       least, largest, 1 / kLargest, kLargest, kSpan);
  }
  const double speed = v.cwiseAbs().maxCoeff();
  if (speed > kLargest)
    return fmt::format("v_minus_F has an entry of size {}, must be at most {}", speed, kLargest);
  if (!(model.e >= 0 && model.e <= 1))
    return fmt::format("{} is {}, must be in [0, 1]", CoefficientName(model.law), model.e);
  if (!(model.mu_k >= 0 && std::isfinite(model.mu_k)))
    return fmt::format("mu_k is {}, must be finite and >= 0", model.mu_k);
  if (!(model.mu_s >= model.mu_k && std::isfinite(model.mu_s))) {
    return fmt::format("mu_s is {}, must be finite and >= mu_k = {}", model.mu_s, model.mu_k);
  }
  if (!(model.e_t >= 0 && model.e_t <= 1))
    return fmt::format("e_t is {}, must be in [0, 1]", model.e_t);
  if (!IsRestitutionLaw(model.law))
    return fmt::format("law has the unknown code {}", static_cast<int>(model.law));
  return {};
}

namespace {

// The same tests as Invalid, without words and in one pass: this runs for every solve.
bool IsValid(const ContactState& contact, const ImpactModel& model) {
  const Eigen::Matrix3d& A = contact.A_F;
  const Eigen::Vector3d& v = contact.v_minus_F;
  // NaN and infinity make x - x differ from zero.
  const double sum = v.x() + v.y() + v.z() + A.sum() + model.mu_k + model.mu_s;
  if (!(sum - sum == 0)) return false;
  const double slack = kAsymmetry * std::max(std::max(A(0, 0), A(1, 1)), A(2, 2));
  const bool symmetric = std::abs(A(0, 1) - A(1, 0)) <= slack &&
                         std::abs(A(0, 2) - A(2, 0)) <= slack &&
                         std::abs(A(1, 2) - A(2, 1)) <= slack;
  return symmetric && model.e >= 0 && model.e <= 1 && model.mu_k >= 0 && model.mu_s >= model.mu_k &&
         model.e_t >= 0 && model.e_t <= 1 && IsRestitutionLaw(model.law) && IsPositiveDefinite(A);
}

void SetNoApproach(const ContactState& contact, ImpactOutcome& outcome) {
  outcome.status = SolveStatus::kNoApproach;
  outcome.reason = "the contact does not approach and nothing presses it together";
  outcome.v_plus_F = contact.v_minus_F;
  AddPoint(outcome, PathEvent::kStart, ContactMode::kSlip, Eigen::Vector3d::Zero(),
           contact.v_minus_F, 0, 0);
}

// 'a', 'b', 'c' by the components of slip that changed sign.
char Letter(const Eigen::Vector3d& before, const Eigen::Vector3d& after) {
  const double rounding = 1e-12 * before.norm();
  const auto reversed = [&](int i) {
    return before[i] * after[i] < 0 && std::min(std::abs(before[i]), std::abs(after[i])) > rounding;
  };
  const bool x = reversed(0), y = reversed(1);
  return x && y ? 'c' : x ? 'b' : y ? 'a' : ' ';
}

// Adds what tangential restitution gives back to a path that ends sticking.
void GiveBack(const ContactState& contact, const ImpactModel& model, ImpactOutcome& outcome) {
  if (model.e_t == 0 || !EndsStuck(outcome)) return;
  const Eigen::Vector3d& J = outcome.J_F;
  const Recovery<double> back = Recover(
      PlainInputs(contact, model), {J.x(), J.y(), J.z(), outcome.v_plus_F.z(), outcome.work_t});
  outcome.recovered = back.share;
  if (back.share == 0) return;
  outcome.J_F += Eigen::Vector3d(back.J_x, back.J_y, 0);
  outcome.v_plus_F += Eigen::Vector3d(back.v_x, back.v_y, back.v_n);
  outcome.work_t += back.work;
  AddPoint(outcome, PathEvent::kRecovery, ContactMode::kStick, outcome.J_F, outcome.v_plus_F,
           outcome.work_n_c + outcome.work_n_r, outcome.work_t);
}

void SolveSpatial(const ContactState& contact, const ImpactModel& model,
                  const SolveOptions& options, ImpactOutcome& outcome) {
  const SpatialProblem<double> problem = MakeSpatial(PlainInputs(contact, model), model, options);
  if (SpatialSeparates(problem)) return SetNoApproach(contact, outcome);
  const SpatialResult<double> result = SpatialWalk<double>(problem, outcome).Run();
  outcome.J_F = Eigen::Vector3d(result.J_t.x(), result.J_t.y(), result.J_n) * problem.impulse_unit;
  outcome.v_plus_F =
      Eigen::Vector3d(result.v_t.x(), result.v_t.y(), result.v_n) * problem.velocity_unit;
  if (outcome.path_case.digit == 2 || outcome.path_case.digit == 4)
    outcome.path_case.letter = Letter(contact.v_minus_F, outcome.v_plus_F);
  GiveBack(contact, model, outcome);
}

// Outside these magnitudes the squares of velocities would leave the range of doubles.
constexpr double kSmall = 1e-60, kLarge = 1e60;

bool NeedsScaling(const ContactState& contact) {
  const double v = contact.v_minus_F.cwiseAbs().maxCoeff(), A = contact.A_F.diagonal().maxCoeff();
  return (v > 0 && (v < kSmall || v > kLarge)) || A < kSmall || A > kLarge;
}

// Powers of two change no digit.
ImpactOutcome SolveScaled(const ContactState& contact, const ImpactModel& model,
                          const SolveOptions& options) {
  const double v_max = contact.v_minus_F.cwiseAbs().maxCoeff();
  const double v = v_max > 0 ? std::exp2(std::floor(std::log2(v_max))) : 1,
               A = std::exp2(std::floor(std::log2(contact.A_F.diagonal().maxCoeff())));
  ContactState scaled = contact;
  scaled.v_minus_F /= v;
  scaled.A_F /= A;
  ImpactOutcome outcome = Solve(scaled, model, options);
  const double J = v / A;
  outcome.v_plus_F *= v;
  outcome.J_F *= J;
  for (double* work : {&outcome.work_n_c, &outcome.work_n_r, &outcome.work_t}) *work *= v * J;
  const auto scale = [&](PathPoint& point) {
    point.v_F *= v;
    point.J_F *= J;
    point.work_n *= v * J;
    point.work_t *= v * J;
  };
  for (PathPoint& point : outcome.path) scale(point);
  for (PathPoint& point : outcome.dense) scale(point);
  return outcome;
}

}  // namespace
}  // namespace impact

std::string ImpactCase::Name() const {
  std::string name = std::to_string(digit);
  if (letter != ' ') name += letter;
  return name;
}

ImpactOutcome Solve(const ContactState& contact, const ImpactModel& model,
                    const SolveOptions& options) {
  using namespace impact;
  ImpactOutcome outcome;
  if (!IsValid(contact, model)) {
    outcome.reason = Invalid(contact, model);
    if (outcome.reason.empty()) outcome.reason = "v_minus_F or A_F is too large to be added up";
    outcome.status = SolveStatus::kInvalid;
    return outcome;
  }
  if (NeedsScaling(contact)) return SolveScaled(contact, model, options);
  if (!IsPlanar(contact)) {
    SolveSpatial(contact, model, options, outcome);
    return outcome;
  }
  const PlanarProblem<double> problem = MakePlanar(PlainInputs(contact, model), model);
  if (PlanarSeparates(problem)) {
    SetNoApproach(contact, outcome);
    return outcome;
  }
  const PlanarResult<double> result = SolvePlanar(problem, outcome);
  outcome.J_F = Eigen::Vector3d(result.J_x, 0, result.J_n);
  outcome.v_plus_F = Eigen::Vector3d(result.v_x, 0, result.v_n);
  GiveBack(contact, model, outcome);
  return outcome;
}

}  // namespace impactlab
