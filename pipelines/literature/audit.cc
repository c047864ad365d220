#include "pipelines/literature/audit.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <set>

#include "pipelines/literature/attitude.h"
#include "pipelines/literature/predict.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr int kAuditAzimuths = 360;
constexpr double kInertiaTolerance = 0.01;  // real bodies are no ideal solids

// Motion before (6), after (6) and lever in B (3).
struct RowNumbers {
  VectorXd x, half;
};

RowNumbers NumbersOf(const PrintedRow& row, const PrintedMotion& after,
                     const Placement& placement) {
  RowNumbers n{VectorXd(15), VectorXd(15)};
  n.x << row.minus.value, after.value, placement.r_B;
  n.half << row.minus.half, after.half, placement.half_r_B;
  return n;
}

Vector3d Before(const VectorXd& x, const Vector3d& r) {
  return x.segment<3>(0) + Vector3d(x.segment<3>(3)).cross(r);
}
Vector3d After(const VectorXd& x, const Vector3d& r) {
  return x.segment<3>(6) + Vector3d(x.segment<3>(9)).cross(r);
}
Vector3d Change(const VectorXd& x) { return x.segment<3>(6) - x.segment<3>(0); }

double Friction(const Vector3d& J, const Vector3d& n) {
  const double J_n = n.dot(J);
  return J_n > 0 ? (J - n * J_n).norm() / J_n : std::numeric_limits<double>::infinity();
}

// Decimals that show a difference beyond `tolerance`.
std::string Text(double value, double tolerance) {
  const int decimals =
      tolerance > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(tolerance))), 0, 8) : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

class Auditor {
 public:
  Auditor(const PrintedTable& table, TableAudit& out)
      : table_(table), body_(table.body), out_(out) {}

  void Row(const PrintedRow& row) {
    RowAudit audit;
    row_ = row.name;
    Copies(row);
    if (row.placement) {
      audit.attitude = AttitudeSource::kStated;
      audit.placement = *row.placement;
      audit.attitude_note = row.assumption;
    } else {
      audit.solved = SolveAttitude(body_, row, table_.largest_misfit);
      const SolvedAttitude& s = *audit.solved;
      audit.attitude = s.usable ? AttitudeSource::kSolved : AttitudeSource::kNeeded;
      audit.placement = s.placement;
      audit.attitude_note =
          s.usable
              ? fmt::format(
                    "from momentum, which closes to {:.2g} rad/s ({:.1f} % of the angular "
                    "momentum); {}",
                    s.misfit, 100 * s.misfit_share,
                    s.solutions > 1
                        ? fmt::format(
                              "{} attitudes do as well, the one that needs least friction is shown",
                              s.solutions)
                        : "no other attitude does as well")
              : s.reason;
    }
    Energies(row, audit);
    if (audit.attitude == AttitudeSource::kStated)
      AtContact(row, audit);
    else
      AnyAttitude(row, audit);
    Labels(row, audit);
    out_.rows.push_back(std::move(audit));
  }

  void Whole() {
    row_.clear();
    Coefficients();
    Inertia();
    Frame();
  }

 private:
  void Add(const std::string& kind, const std::string& column, const std::string& printed,
           const std::string& recomputed, const std::string& unit, double tolerance,
           const std::string& sentence) {
    out_.faults.push_back({kind, row_, column, printed, recomputed, unit, tolerance, sentence});
  }

  void Copies(const PrintedRow& row) {
    if (!row.plus_again) return;
    static constexpr const char* kNames[] = {"v_plus_x",     "v_plus_y",     "v_plus_z",
                                             "omega_plus_x", "omega_plus_y", "omega_plus_z"};
    for (int i = 0; i < 6; ++i) {
      const double tolerance = row.plus.half[i] + row.plus_again->half[i], a = row.plus.value[i],
                   b = row.plus_again->value[i];
      if (std::abs(a - b) <= tolerance * (1 + 1e-9)) continue;
      Add("copy", kNames[i], Text(b, tolerance), Text(a, tolerance), i < 3 ? "m/s" : "rad/s",
          tolerance,
          fmt::format("the measured {} (in W) stands as {} among the states and as {} beside the "
                      "computed ones",
                      kNames[i], Text(a, tolerance), Text(b, tolerance)));
    }
  }

  Recomputed Energy(const PrintedMotion& motion, const Matrix3d& I_W) const {
    return Recompute(
        [&](const VectorXd& u) {
          return 0.5 * body_.mass * u.head<3>().squaredNorm() +
                 0.5 * u.tail<3>().dot(I_W * u.tail<3>());
        },
        motion.value, motion.half);
  }

  Recomputed Loss(const PrintedRow& row, const PrintedMotion& after, const Matrix3d& I_minus,
                  const Matrix3d& I_plus) const {
    VectorXd x(12), half(12);
    x << row.minus.value, after.value;
    half << row.minus.half, after.half;
    const auto energy = [&](const Matrix3d& I_W, const VectorXd& v, const VectorXd& w) {
      return 0.5 * body_.mass * v.squaredNorm() + 0.5 * w.dot(I_W * w);
    };
    return Recompute(
        [&](const VectorXd& u) {
          return 1 - energy(I_plus, u.segment(6, 3), u.segment(9, 3)) /
                         energy(I_minus, u.segment(0, 3), u.segment(3, 3));
        },
        x, half);
  }

  void Energies(const PrintedRow& row, RowAudit& audit) {
    const auto inertia = [&](const Matrix3d& I_B) {
      return Matrix3d(audit.placement.R_WB * I_B * audit.placement.R_WB.transpose());
    };
    const bool known = audit.attitude != AttitudeSource::kNeeded;
    const Eigen::SelfAdjointEigenSolver<Matrix3d> moments(body_.inertia_B);
    const Matrix3d least = moments.eigenvalues()[0] * Matrix3d::Identity(),
                   most = moments.eigenvalues()[2] * Matrix3d::Identity();
    const Matrix3d I_W = known ? inertia(body_.inertia_B) : Matrix3d(0.5 * (least + most));
    audit.T_minus = Energy(row.minus, I_W);
    audit.T_plus = Energy(row.plus, I_W);
    if (!known) {
      audit.T_plus.bound += (audit.T_plus.value - Energy(row.plus, least).value);
      audit.T_minus.bound += (audit.T_minus.value - Energy(row.minus, least).value);
    }
    const std::string where = audit.attitude == AttitudeSource::kSolved
                                  ? " at the attitude solved from momentum"
                              : audit.attitude == AttitudeSource::kNeeded ? " at any attitude"
                                                                          : "";
    const auto check = [&](const PrintedMotion& after, const Printed& printed, const char* column,
                           const char* whose) {
      Recomputed loss = Loss(row, after, I_W, I_W);
      double low = loss.value - loss.bound, high = loss.value + loss.bound;
      if (!known) {
        const Recomputed slow = Loss(row, after, most, least), fast = Loss(row, after, least, most);
        low = fast.value - fast.bound;
        high = slow.value + slow.bound;
        loss = {0.5 * (low + high), 0.5 * (high - low), loss.u};
      }
      const std::string recomputed = known ? fmt::format("{:.1f}", 100 * loss.value)
                                           : fmt::format("{:.1f} to {:.1f}", 100 * low, 100 * high);
      const std::string words =
          high < 0 ? fmt::format("gain {:.1f} % of the energy, which no passive surface gives{}",
                                 -100 * loss.value, where)
                   : fmt::format("lose {} % of the energy{}", recomputed, where);
      const std::string other = fmt::format("{:.1f}", 100 * audit.loss_printed_inertia.value);
      const bool differs = &after == &row.plus && std::isfinite(audit.loss_printed_inertia.value) &&
                           high >= 0 && other != recomputed;
      const std::string beside =
          differs ? fmt::format(" ({} % with the inertia printed)", other) : "";
      const double value = 0.01 * printed.value, half = 0.01 * printed.half;
      if (printed.there() && (value + half < low || value - half > high))
        Add("energy", column, printed.text, recomputed, "%", 100 * (loss.bound + half),
            fmt::format("the {} states {}{}; a loss of {} % is printed", whose, words, beside,
                        printed.text));
      else if (high < 0)
        Add("energy", column, printed.text, recomputed, "%", 100 * loss.bound,
            fmt::format("the {} states {}", whose, words));
      return loss;
    };
    if (table_.inertia_printed_B && known)
      audit.loss_printed_inertia = Loss(row, row.plus, inertia(*table_.inertia_printed_B),
                                        inertia(*table_.inertia_printed_B));
    audit.loss = check(row.plus, row.loss_measured, "dissipation_experiment_percent", "measured");
    if (!known) {
      audit.loss_least = audit.loss.value - audit.loss.bound;
      audit.loss_most = audit.loss.value + audit.loss.bound;
    }
    if (row.computed)
      audit.loss_computed =
          check(*row.computed, row.loss_computed, "dissipation_computation_percent", "computed");
    if (known && row.computed)
      audit.error_computed =
          EnergyNormError(body_, audit.placement.R_WB, row.computed->value, row.plus.value);
  }

  // Spin that the impulse m dv gives against the one that is printed.
  void Momentum(const PrintedRow& row, const PrintedMotion& after, const Placement& p,
                const char* whose, RowAudit* audit) {
    const RowNumbers n = NumbersOf(row, after, p);
    const Matrix3d inverse = p.R_WB * body_.inertia_B.inverse() * p.R_WB.transpose();
    const auto turned = [&](const VectorXd& x) -> Vector3d {
      return inverse * Vector3d(p.R_WB * x.segment<3>(12)).cross(body_.mass * Change(x));
    };
    const Vector3d change = n.x.segment<3>(9) - n.x.segment<3>(3);
    const double spin = turned(n.x).norm(), printed = change.norm();
    if (audit != nullptr) audit->spin_turned = spin, audit->spin_tabulated = printed;
    Recomputed worst;
    double excess = 0;
    for (int i = 0; i < 3; ++i) {
      // Along principal axes: what a rod does not show about its axis must not spread over the
      // others.
      const Vector3d axis = p.R_WB.col(i);
      const Recomputed r = Recompute(
          [&](const VectorXd& x) {
            return axis.dot(Vector3d(x.segment<3>(9) - x.segment<3>(3)) - turned(x));
          },
          n.x, n.half);
      if (std::abs(r.value) - r.bound > excess) excess = std::abs(r.value) - r.bound, worst = r;
    }
    if (excess > 0)
      Add("momentum", std::string("omega_plus ") + whose, Text(printed, worst.bound),
          Text(spin, worst.bound), "rad/s", worst.bound,
          fmt::format("the {} impulse m dv turns the body by {} rad/s about its centre, the spins "
                      "differ by {} rad/s; {} rad/s about one axis "
                      "cannot come from it",
                      whose, Text(spin, worst.bound), Text(printed, worst.bound),
                      Text(std::abs(worst.value), worst.bound)));
  }

  void AtContact(const PrintedRow& row, RowAudit& audit) {
    const Placement& p = audit.placement;
    const RowNumbers numbers = NumbersOf(row, row.plus, p);
    const Vector3d n = SlopeNormal(row.slope, p.downhill);
    const auto lever = [&](const VectorXd& x) { return Vector3d(p.R_WB * x.segment<3>(12)); };
    const auto recompute = [&](const std::function<double(const VectorXd&)>& f) {
      return Recompute(f, numbers.x, numbers.half);
    };
    Momentum(row, row.plus, p, "measured", &audit);
    if (row.computed) Momentum(row, *row.computed, p, "computed", nullptr);
    audit.restitution = recompute(
        [&](const VectorXd& x) { return -n.dot(After(x, lever(x))) / n.dot(Before(x, lever(x))); });
    audit.friction = recompute([&](const VectorXd& x) { return Friction(Change(x), n); });
    audit.slip = recompute([&](const VectorXd& x) {
      const Vector3d v = Before(x, lever(x));
      return (v - n * n.dot(v)).norm();
    });
    const Recomputed approach =
        recompute([&](const VectorXd& x) { return -n.dot(Before(x, lever(x))); });
    if (approach.value + approach.bound < 0)
      Add("contact", "v_minus", "", Text(-approach.value, approach.bound), "m/s", approach.bound,
          "the contact does not approach the slope before the impact");
    const Recomputed& e = audit.restitution;
    if (e.value + e.bound < 0)
      Add("contact", "v_plus", "", Text(e.value, e.bound), "1", e.bound,
          "the contact does not leave the slope after the impact");
    if (e.value - e.bound > 1)
      Add("contact", "e", row.e.text, Text(e.value, e.bound), "1", e.bound,
          fmt::format("the contact leaves {} times as fast along the normal as it came{}",
                      Text(e.value, e.bound),
                      row.e.there() ? "; e = " + row.e.text + " is stated" : ""));
    Cone(row, audit.friction, "");
  }

  void Cone(const PrintedRow& row, const Recomputed& ratio, const std::string& where) {
    const Printed& mu = row.mu_s.there() ? row.mu_s : row.mu_k;
    if (!mu.there()) return;
    const double allowed =
        std::max(mu.value + mu.half, row.mu_k.there() ? row.mu_k.value + row.mu_k.half : 0);
    if (ratio.value - ratio.bound > allowed)
      Add("friction", "mu_s", mu.text, Text(ratio.value, ratio.bound), "1", ratio.bound + mu.half,
          fmt::format(
              "the impulse needs J_t / J_n = {}{}, outside the friction of {} that is stated",
              Text(ratio.value, ratio.bound), where, mu.text));
  }

  // What no attitude and no azimuth of the slope can mend.
  void AnyAttitude(const PrintedRow& row, RowAudit& audit) {
    const RowNumbers numbers = NumbersOf(row, row.plus, {});
    const double reach = LargestLever(body_);
    const auto over = [&](const std::function<double(const VectorXd&, const Vector3d&)>& f,
                          bool largest) {
      return Recompute(
          [&](const VectorXd& x) {
            double best = largest ? -std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::infinity();
            for (int k = 0; k < kAuditAzimuths; ++k) {
              const double value = f(x, SlopeNormal(row.slope, 2 * M_PI * k / kAuditAzimuths));
              best = largest ? std::max(best, value) : std::min(best, value);
            }
            return best;
          },
          numbers.x, numbers.half);
    };
    audit.friction =
        over([](const VectorXd& x, const Vector3d& n) { return Friction(Change(x), n); }, false);
    Cone(row, audit.friction, " whatever the azimuth of the slope");
    const Recomputed leaves = over(
        [&](const VectorXd& x, const Vector3d& n) {
          return n.dot(x.segment<3>(6)) + reach * x.segment<3>(9).norm();
        },
        true);
    const Recomputed comes = over(
        [&](const VectorXd& x, const Vector3d& n) {
          return -n.dot(x.segment<3>(0)) - reach * x.segment<3>(3).norm();
        },
        false);
    // Slower than half of what the stated e asks for: slip that changes moves e at the contact by
    // less than that in every case that was solved.
    if (row.e.there() &&
        leaves.value + leaves.bound < 0.5 * (row.e.value - row.e.half) * comes.value)
      Add("contact", "v_plus", row.e.text, Text(std::max(0.0, leaves.value), leaves.bound), "m/s",
          leaves.bound,
          fmt::format("no attitude lets the contact leave the slope faster than {} m/s after an "
                      "approach at {} m/s or more; e = {} is stated",
                      Text(std::max(0.0, leaves.value), leaves.bound),
                      Text(comes.value, comes.bound), row.e.text));
    audit.slip = over(
        [&](const VectorXd& x, const Vector3d& n) {
          const Vector3d v = x.segment<3>(0);
          return std::max(0.0, (v - n * n.dot(v)).norm() - reach * x.segment<3>(3).norm());
        },
        false);
    const SolvedAttitude& s = *audit.solved;
    const double tolerance =
        (numbers.half.segment<3>(3) + numbers.half.segment<3>(9)).norm() +
        reach * body_.mass * (numbers.half.segment<3>(0) + numbers.half.segment<3>(6)).norm() /
            Eigen::SelfAdjointEigenSolver<Matrix3d>(body_.inertia_B).eigenvalues()[2];
    const double change = (row.plus.value - row.minus.value).tail<3>().norm();
    audit.spin_tabulated = change;
    if (s.misfit > tolerance)
      Add("momentum", "omega_plus measured", Text(change, tolerance), Text(s.misfit, tolerance),
          "rad/s", tolerance,
          fmt::format("no attitude lets the measured impulse turn the body as printed: of {} rad/s "
                      "at least {} rad/s are left",
                      Text(change, tolerance), Text(s.misfit, tolerance)));
  }

  void Labels(const PrintedRow& row, RowAudit& audit) {
    if (audit.attitude != AttitudeSource::kNeeded)
      audit.predictions = PredictRow(body_, row, audit.placement);
    const std::optional<CaseLabel> label = ReadCaseLabel(row.case_label);
    if (!label) return;
    const std::string mode = ModeOf(row.mode_label), meant = ModeOf(label->path_case);
    if (!mode.empty() && mode != meant)
      Add("label", "mode", row.mode_label, meant, "", 0,
          fmt::format(
              "case {}{} is {}, the label reads \"{}\"", row.case_label,
              label->plot_code ? " (the number of " + label->path_case.Name() + " in plots)" : "",
              meant, row.mode_label));
    if (label->path_case.digit >= 5 && audit.slip.value > audit.slip.bound) {
      Add("case", "case", row.case_label,
          audit.predictions.empty() ? "0 to 4" : audit.predictions[0].path_case, "m/s",
          audit.slip.bound,
          fmt::format("case {} begins at rest, but the contact slips at {} m/s{} along a slope of "
                      "{:.0f} deg",
                      row.case_label, Text(audit.slip.value, audit.slip.bound),
                      row.placement ? "" : " or more", row.slope * 180 / M_PI));
      return;
    }
    if (audit.attitude != AttitudeSource::kStated) return;
    for (const RowPrediction& p : audit.predictions) {
      if (p.law != table_.law ||
          std::count(p.digits.begin(), p.digits.end(), label->path_case.digit) > 0)
        continue;
      Add("case", "case", row.case_label, p.path_case, "", 0,
          fmt::format("the printed inputs give case {} ({}){}, case {} is printed", p.path_case,
                      ModeOf(*ReadPathCase(p.path_case)),
                      p.case_share < 1
                          ? fmt::format(" in {:.0f} % of what rounds to them", 100 * p.case_share)
                          : "",
                      row.case_label));
    }
  }

  static std::optional<ImpactCase> ReadPathCase(const std::string& name) {
    const auto label = ReadCaseLabel(name);
    return label ? std::optional(label->path_case) : std::nullopt;
  }

  void Coefficients() {
    std::set<std::string> said;
    for (const PrintedRow& row : table_.rows) {
      const std::pair<const char*, const Printed*> stated[] = {
          {"mu_s", &row.mu_s}, {"mu_k", &row.mu_k}, {"e", &row.e}};
      for (const auto& [name, printed] : stated) {
        if (!printed->there()) continue;
        for (const MeasuredCoefficient& m : table_.measured) {
          const double tolerance = printed->half + m.value.half;
          if (m.name != name || std::abs(printed->value - m.value.value) <= tolerance * (1 + 1e-9))
            continue;
          if (!said.insert(m.name + printed->text + m.where).second) continue;
          Add("coefficient", name, printed->text, m.value.text, "1", tolerance,
              fmt::format("the table uses {} = {}, {} gives {}", name, printed->text, m.where,
                          m.value.text));
        }
      }
      if (row.mu_s.there() && row.mu_k.there() &&
          row.mu_s.value + row.mu_s.half < row.mu_k.value - row.mu_k.half &&
          said.insert("order" + row.mu_s.text + row.mu_k.text).second)
        Add("coefficient", "mu_s", row.mu_s.text, row.mu_k.text, "1", row.mu_s.half + row.mu_k.half,
            fmt::format("static friction {} below kinetic friction {}", row.mu_s.text,
                        row.mu_k.text));
    }
  }

  void Inertia() {
    if (!table_.inertia_printed_B) return;
    static constexpr const char* kNames[] = {"I_xx", "I_yy", "I_zz"};
    for (int i = 0; i < 3; ++i) {
      const double printed = (*table_.inertia_printed_B)(i, i), used = body_.inertia_B(i, i);
      if (std::abs(printed / used - 1) <= kInertiaTolerance) continue;
      const double factor = std::max(printed / used, used / printed);
      Add("inertia", kNames[i], fmt::format("{:.4g}", printed), fmt::format("{:.4g}", used),
          "kg m^2", kInertiaTolerance * used,
          fmt::format("{} of {} is printed as {:.4g} kg m^2; size and mass give {:.4g} kg m^2, "
                      "{:.3g} times as {}{}",
                      kNames[i], body_.name, printed, used, factor,
                      used > printed ? "much" : "little", factor > 100 ? ": a unit slipped" : ""));
    }
  }

  // A fall goes along gravity: where all motions before the impact do so although the surfaces
  // slope, the table is in the frame of gravity, and what is read off its axes is not what happens
  // along the normal.
  void Frame() {
    double off = 0, least = M_PI, most = 0;
    for (const PrintedRow& row : table_.rows) {
      const Vector3d v = row.minus.value.head<3>();
      off = std::max(off, std::acos(std::clamp(-v.z() / v.norm(), -1.0, 1.0)));
      least = std::min(least, row.slope);
      most = std::max(most, row.slope);
    }
    const double deg = 180 / M_PI;
    if (!(off < 0.75 * least)) return;
    Add("frame", "v_minus", "", fmt::format("{:.1f}", off * deg), "deg", 0,
        fmt::format("all bodies fall within {:.1f} deg of gravity on slopes of {:.0f} to {:.0f} "
                    "deg: velocities are in the frame of gravity, "
                    "friction, restitution and cases need that of the slope",
                    off * deg, least * deg, most * deg));
    for (std::size_t k = 0; k < table_.rows.size(); ++k) {
      const PrintedRow& row = table_.rows[k];
      const RowAudit& audit = out_.rows[k];
      if (audit.attitude != AttitudeSource::kStated || !row.e.there() || !(row.slope > 0)) continue;
      const RowNumbers n = NumbersOf(row, row.plus, audit.placement);
      const Recomputed vertical =
          Recompute([](const VectorXd& x) { return -x[8] / x[2]; }, n.x, n.half);
      const Recomputed& normal = audit.restitution;
      if (std::abs(row.e.value - vertical.value) > vertical.bound + row.e.half ||
          std::abs(row.e.value - normal.value) <= normal.bound + row.e.half)
        continue;
      row_ = row.name;
      Add("frame", "e", row.e.text, Text(normal.value, normal.bound), "1",
          normal.bound + row.e.half,
          fmt::format("e = {} is the ratio of the vertical velocities of the centre of mass; at "
                      "the contact along the normal of the slope it is {}",
                      row.e.text, Text(normal.value, normal.bound)));
    }
  }

  const PrintedTable& table_;
  const Body& body_;
  TableAudit& out_;
  std::string row_;
};

}  // namespace

TableAudit AuditTable(const PrintedTable& table) {
  TableAudit out;
  Auditor auditor(table, out);
  for (const PrintedRow& row : table.rows) auditor.Row(row);
  auditor.Whole();
  return out;
}

}  // namespace impactlab
