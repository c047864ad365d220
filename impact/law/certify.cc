#include "impact/law/certify.h"

#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "impact/law/detail/restitution_end.h"
#include "impact/law/detail/slip_quadrature.h"

namespace impactlab {
namespace {

using impact::ExpandSlipEnd;
using impact::Hermite;
using impact::SlipEnd;
using impact::SlipLength;

// Ten to a hundred times what a correct path of a well and of an ill conditioned A_F (1e4) leaves,
// and a tenth of the least error worth finding.
constexpr double kLimit = 1e-8;
// Slip slower than this, relative to |v_minus|, counts as none.
constexpr double kAtRest = 1e-12;

// Keeps the largest value; a NaN stays.
class Worst {
 public:
  void Add(double x) {
    if (!std::isnan(value_) && !(x <= value_)) value_ = x;
  }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

struct Scales {
  double v = 0, J = 0, work = 0;
};

// Without what tangential restitution adds behind the end.
int SizeOfPath(const ImpactOutcome& outcome) {
  const int n = outcome.path_size;
  return n > 0 && outcome.path[n - 1].event == PathEvent::kRecovery ? n - 1 : n;
}

// All points in order of J_n, each with the mode that holds from it on.
std::vector<PathPoint> MergedPath(const ImpactOutcome& outcome, int size) {
  std::vector<PathPoint> points;
  points.reserve(size + outcome.dense.size());
  size_t next = 0;
  for (int i = 0; i < size; ++i) {
    const PathPoint& point = outcome.path[i];
    for (; next < outcome.dense.size() && outcome.dense[next].J_F.z() <= point.J_F.z(); ++next) {
      points.push_back(outcome.dense[next]);
      points.back().mode_after = i > 0 ? outcome.path[i - 1].mode_after : ContactMode::kSlip;
    }
    points.push_back(point);
  }
  for (; next < outcome.dense.size(); ++next) points.push_back(outcome.dense[next]);
  return points;
}

bool AllFinite(const ImpactOutcome& outcome) {
  const auto finite = [](const PathPoint& p) {
    return p.J_F.allFinite() && p.v_F.allFinite() && std::isfinite(p.work_n) &&
           std::isfinite(p.work_t);
  };
  return outcome.J_F.allFinite() && outcome.v_plus_F.allFinite() &&
         std::isfinite(outcome.work_n_c) && std::isfinite(outcome.work_n_r) &&
         std::isfinite(outcome.work_t) &&
         std::all_of(outcome.path.begin(), outcome.path.begin() + outcome.path_size, finite) &&
         std::all_of(outcome.dense.begin(), outcome.dense.end(), finite);
}

class Judge {
 public:
  Judge(const ContactState& contact, const ImpactModel& model, const ImpactOutcome& outcome)
      : contact_(contact),
        model_(model),
        outcome_(outcome),
        size_(SizeOfPath(outcome)),
        points_(MergedPath(outcome, size_)) {
    if (size_ > 0) end_ = outcome.path[size_ - 1];
    scale_.v = contact.v_minus_F.norm();
    scale_.J = end_.J_F.norm();
    const Eigen::Matrix2d B = contact.A_F.topLeftCorner<2, 2>();
    const Eigen::Vector2d b = contact.A_F.topRightCorner<2, 1>();
    stick_friction_ = B.ldlt().solve(b).norm();
  }

  Certificate Run() {
    if (!CheckStructure()) return certificate_;
    for (size_t i = 1; i < points_.size(); ++i) Piece(points_[i - 1], points_[i]);
    scale_.work = std::abs(work_n_c_) + std::abs(work_t_);
    CheckPoints();
    CheckPieces();
    CheckStick();
    CheckCompression();
    CheckWork();
    CheckRestitution();
    CheckCase();
    if (model_.e_t != 0 || size_ != outcome_.path_size || outcome_.recovered != 0) CheckRecovery();
    certificate_.ok = std::all_of(certificate_.checks.begin(), certificate_.checks.end(),
                                  [](const CertificateCheck& c) { return c.ok; });
    return certificate_;
  }

 private:
  void Report(const char* name, double value, double limit) {
    certificate_.checks.push_back({name, value, limit, value <= limit});
  }

  double Slip(const PathPoint& point) const { return std::hypot(point.v_F.x(), point.v_F.y()); }
  bool Moves(const PathPoint& point) const { return Slip(point) > kAtRest * scale_.v; }

  bool CheckStructure() {
    const int n = size_;
    bool complete = n >= 3 && outcome_.path[0].event == PathEvent::kStart &&
                    outcome_.path[n - 1].event == PathEvent::kEnd;
    int compression_ends = 0, stops = 0;
    for (int i = 1; complete && i < n - 1; ++i) {
      compression_ends += outcome_.path[i].event == PathEvent::kCompressionEnds;
      stops += outcome_.path[i].event == PathEvent::kSlipStops;
      complete = outcome_.path[i].event == PathEvent::kCompressionEnds ||
                 outcome_.path[i].event == PathEvent::kSlipStops;
    }
    complete = complete && compression_ends == 1 && stops <= 1;
    Report("path", complete ? 0 : 1, 0);
    return complete;
  }

  // Integrals over the piece between two neighbouring points: friction, normal work, friction's
  // work.
  struct Integrals {
    Eigen::Vector2d J_t;
    double work_n, work_t;
  };

  // Where friction has one direction, velocities are linear in J_n.
  static Integrals Linear(const PathPoint& a, const PathPoint& b, const Eigen::Vector2d& friction) {
    const double J_n = b.J_F.z() - a.J_F.z();
    return {friction * J_n, 0.5 * (a.v_F.z() + b.v_F.z()) * J_n,
            0.5 * J_n * friction.dot((a.v_F + b.v_F).head<2>())};
  }

  Integrals Turning(const PathPoint& a, const PathPoint& b) const {
    const SlipEnd end_a = ExpandSlipEnd(a.v_F, contact_.A_F, model_.mu_k),
                  end_b = ExpandSlipEnd(b.v_F, contact_.A_F, model_.mu_k);
    const double d = SlipLength(end_a, end_b, b.J_F.z() - a.J_F.z()), mu = model_.mu_k;
    return {
        -mu * Eigen::Vector2d(Hermite(end_a.v_x, end_b.v_x, d), Hermite(end_a.v_y, end_b.v_y, d)),
        Hermite(end_a.power_n, end_b.power_n, d), -mu * Hermite(end_a.power_t, end_b.power_t, d)};
  }

  // What Coulomb's law makes of a piece of slip between its end velocities.
  Integrals SlipIntegrals(const PathPoint& a, const PathPoint& b) const {
    const Eigen::Vector2d u_a = a.v_F.head<2>(), u_b = b.v_F.head<2>();
    const PathPoint& faster = Slip(a) > Slip(b) ? a : b;
    Integrals linear = Linear(a, b, -model_.mu_k / Slip(faster) * faster.v_F.head<2>());
    if (model_.mu_k == 0 || !Moves(a) || !Moves(b)) return linear;
    const double angle = std::abs(std::atan2(u_a.x() * u_b.y() - u_a.y() * u_b.x(), u_a.dot(u_b)));
    if (angle < 3e-9) return linear;
    const Integrals turning = Turning(a, b);
    // A long piece that all but keeps its direction is better served by the linear rule, whose
    // error is of the size of the angle.
    const Eigen::Vector2d dJ_t = (b.J_F - a.J_F).head<2>();
    return angle < 1e-6 && (dJ_t - linear.J_t).norm() < (dJ_t - turning.J_t).norm() ? linear
                                                                                    : turning;
  }

  void Piece(const PathPoint& a, const PathPoint& b) {
    const Eigen::Vector3d dJ = b.J_F - a.J_F;
    const Eigen::Vector2d dJ_t = dJ.head<2>();
    unilateral_.Add(-dJ.z() / scale_.J);
    const bool moves = Moves(a) || Moves(b);
    Integrals sum = {dJ_t, 0.5 * (a.v_F.z() + b.v_F.z()) * dJ.z(),
                     0.5 * dJ_t.dot((a.v_F + b.v_F).head<2>())};
    if (a.mode_after == ContactMode::kStick) {
      static_cone_.Add((dJ_t.norm() - model_.mu_s * dJ.z()) / scale_.J);
      held_.Add(std::max(Slip(a), Slip(b)) / scale_.v);
    } else {
      cone_.Add((dJ_t.norm() - model_.mu_k * dJ.z()) / scale_.J);
      if (moves) {
        sum = SlipIntegrals(a, b);
      } else if (model_.mu_k > 0) {
        held_.Add(dJ.z() / scale_.J);  // slip cannot last at zero velocity
      }
      opposes_ += (dJ_t - sum.J_t).norm();
    }
    work_n_ += sum.work_n;
    work_t_ += sum.work_t;
    work_gap_n_.push_back(work_n_ - b.work_n);
    work_gap_t_.push_back(work_t_ - b.work_t);
    if (b.event == PathEvent::kCompressionEnds) work_n_c_ = work_n_;
  }

  void CheckPoints() {
    Worst momentum, separation;
    const Eigen::Vector3d& v = contact_.v_minus_F;
    const auto check = [&](const Eigen::Vector3d& J_F, const Eigen::Vector3d& v_F) {
      momentum.Add((v + contact_.A_F * J_F - v_F).norm() / scale_.v);
    };
    for (const PathPoint& point : points_) check(point.J_F, point.v_F);
    check(outcome_.J_F, outcome_.v_plus_F);
    const PathPoint &first = points_.front(), &last = points_.back();
    momentum.Add((first.v_F - v).norm() / scale_.v);
    momentum.Add(first.J_F.norm() / scale_.J);
    const PathPoint& final = size_ == outcome_.path_size ? last : outcome_.path[size_];
    check(final.J_F, final.v_F);
    momentum.Add((final.v_F - outcome_.v_plus_F).norm() / scale_.v);
    momentum.Add((final.J_F - outcome_.J_F).norm() / scale_.J);
    separation.Add(-outcome_.v_plus_F.z() / scale_.v);
    Report("momentum", momentum.value(), kLimit);
    Report("separation", separation.value(), kLimit);
  }

  void CheckPieces() {
    Report("unilateral", unilateral_.value(), 1e-12);
    Report("cone", cone_.value(), kLimit);
    Report("opposes", opposes_ / scale_.J, kLimit);
  }

  // Sticking stays inside the static cone at v_t = 0; a contact at rest slips only where that cone
  // cannot hold it, and then moves off.
  void CheckStick() {
    Worst stick;
    stick.Add(static_cone_.value());
    stick.Add(held_.value());
    for (int i = 0; i < size_ - 1; ++i) {
      const PathPoint& point = outcome_.path[i];
      if (point.event == PathEvent::kSlipStops) stick.Add(Slip(point) / scale_.v);
      const bool from_rest = point.event == PathEvent::kSlipStops ||
                             (point.event == PathEvent::kStart && !Moves(point));
      if (from_rest && point.mode_after == ContactMode::kSlip)
        stick.Add(model_.mu_s - stick_friction_);
    }
    Report("stick", stick.value(), kLimit);
  }

  void CheckCompression() {
    Worst value;
    bool after = false;
    for (const PathPoint& point : points_) {
      if (point.event == PathEvent::kCompressionEnds) {
        after = true;
        value.Add(std::abs(point.v_F.z()) / scale_.v);
      } else if (after) {
        value.Add(-point.v_F.z() / scale_.v);
      }
    }
    Report("compression", value.value(), kLimit);
  }

  void CheckWork() {
    Worst value;
    const auto add = [&](double gap) { value.Add(std::abs(gap) / scale_.work); };
    for (const double gap : work_gap_n_) add(gap);
    for (const double gap : work_gap_t_) add(gap);
    add(outcome_.work_n_c - work_n_c_);
    add(outcome_.work_n_r - (work_n_ - work_n_c_));
    // What is given back at a contact without slip works along half of the slip it makes.
    const Eigen::Vector3d& J = outcome_.J_F;
    const double returned =
        0.5 * (J - end_.J_F).head<2>().dot((end_.v_F + outcome_.v_plus_F).head<2>());
    add(outcome_.work_t - (work_t_ + returned));
    const double change = J.dot(contact_.v_minus_F) + 0.5 * J.dot(contact_.A_F * J);
    add(change - (work_n_ + work_t_ + returned));
    Report("work", value.value(), kLimit);
    // Relative to the energy that an impact at v_minus can turn over at all.
    const double energy =
        0.5 * contact_.v_minus_F.dot(contact_.A_F.ldlt().solve(contact_.v_minus_F));
    Report("energy", change / energy, kLimit);
  }

  void CheckRestitution() {
    double J_c = 0;
    for (const PathPoint& point : points_) {
      if (point.event == PathEvent::kCompressionEnds) J_c = point.J_F.z();
    }
    const impact::FinishedPath path = {.e = model_.e,
                                       .vn_minus = contact_.v_minus_F.z(),
                                       .vn_plus = end_.v_F.z(),
                                       .J_c = J_c,
                                       .J_n = outcome_.J_F.z(),
                                       .W_c = work_n_c_,
                                       .W_r = work_n_ - work_n_c_,
                                       .speed = scale_.v,
                                       .work = scale_.work};
    Report("restitution", impact::VisitEnd(model_.law, [&](auto end) { return end.Misfit(path); }),
           kLimit);
  }

  void CheckCase() {
    int digit = Moves(outcome_.path[0])                              ? 0
                : outcome_.path[0].mode_after == ContactMode::kStick ? 5
                                                                     : 6;
    bool restitution = false;
    for (int i = 1; i < size_; ++i) {
      restitution = restitution || outcome_.path[i].event == PathEvent::kCompressionEnds;
      if (outcome_.path[i].event != PathEvent::kSlipStops) continue;
      digit = (restitution ? 3 : 1) + (outcome_.path[i].mode_after == ContactMode::kStick ? 0 : 1);
    }
    Report("case", std::abs(digit - outcome_.path_case.digit), 0);
  }

  void CheckRecovery() {
    const bool stuck = size_ > 1 && outcome_.path[size_ - 2].mode_after == ContactMode::kStick;
    const double s = outcome_.recovered;
    const Eigen::Vector2d v_t = contact_.v_minus_F.head<2>(), J_t = outcome_.J_F.head<2>();
    const Eigen::Vector2d back = (outcome_.J_F - end_.J_F).head<2>();
    const double returned = 0.5 * back.dot((end_.v_F + outcome_.v_plus_F).head<2>());
    // How far each bound still is, in shares of what it bounds.
    const double cone = (model_.mu_k * outcome_.J_F.z() - J_t.norm()) / scale_.J,
                 separation = outcome_.v_plus_F.z() / scale_.v,
                 work = -(work_t_ + returned) / scale_.work;
    Worst value;
    value.Add(std::abs(outcome_.J_F.z() - end_.J_F.z()) / scale_.J);
    value.Add((stuck ? Eigen::Vector2d(outcome_.v_plus_F.head<2>() + s * v_t)
                     : Eigen::Vector2d(back / scale_.J * scale_.v))
                  .norm() /
              scale_.v);
    value.Add(-s);
    value.Add(s - model_.e_t);
    if (s > 0)
      for (const double slack : {cone, separation, work}) value.Add(-slack);
    // Less than e_t comes back only where a bound holds; a path that ends at or beyond the cone
    // leaves nothing to give.
    if (stuck && s < model_.e_t && v_t.norm() > kAtRest * scale_.v)
      value.Add(std::min({std::max(0.0, cone), std::abs(separation), std::abs(work)}));
    Report("recovery", value.value(), kLimit);
  }

  const ContactState& contact_;
  const ImpactModel& model_;
  const ImpactOutcome& outcome_;
  int size_ = 0;   // points of the path itself
  PathPoint end_;  // its last
  std::vector<PathPoint> points_;
  Certificate certificate_;
  Scales scale_;
  double stick_friction_ = 0;  // friction that holds v_t = 0, by the normal impulse
  Worst unilateral_, cone_, static_cone_, held_;
  double opposes_ = 0;
  double work_n_ = 0, work_n_c_ = 0, work_t_ = 0;
  std::vector<double> work_gap_n_, work_gap_t_;
};

// No impact: nothing may have changed, and nothing may press the bodies together.
Certificate CertifyNoApproach(const ContactState& contact, const ImpactModel& model,
                              const ImpactOutcome& outcome) {
  Certificate certificate;
  const Eigen::Vector3d& v = contact.v_minus_F;
  const auto report = [&](const char* name, double value) {
    certificate.checks.push_back({name, value, 0, value <= 0});
  };
  report("momentum", (outcome.v_plus_F - v).norm() + outcome.J_F.norm());
  report("separation", -v.z());
  const double slip = std::hypot(v.x(), v.y());
  double press = 0;
  if (v.z() == 0 && slip > kAtRest * v.norm()) {
    press = model.mu_k * (contact.A_F(2, 0) * v.x() + contact.A_F(2, 1) * v.y()) / slip -
            contact.A_F(2, 2);
  }
  report("compression", press / contact.A_F(2, 2) - kLimit);
  certificate.ok = std::all_of(certificate.checks.begin(), certificate.checks.end(),
                               [](const CertificateCheck& c) { return c.ok; });
  return certificate;
}

}  // namespace

std::string Certificate::Failed(const std::string& separator) const {
  std::vector<std::string> names;
  for (const CertificateCheck& check : checks)
    if (!check.ok) names.push_back(check.name);
  return JoinNames(names, separator);
}

Certificate Certify(const ContactState& contact, const ImpactModel& model,
                    const ImpactOutcome& outcome) {
  if (!outcome.usable() || !AllFinite(outcome)) {
    Certificate certificate;
    certificate.checks.push_back({"status", 1, 0, false});
    return certificate;
  }
  if (outcome.status == SolveStatus::kNoApproach) return CertifyNoApproach(contact, model, outcome);
  return Judge(contact, model, outcome).Run();
}

}  // namespace impactlab
