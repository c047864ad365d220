#include "impact/multi/detail/friction_check.h"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/numeric/odeint/integrate/integrate_adaptive.hpp>
#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <cmath>

namespace impactlab::impact {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kAtRest = 1e-12;  // of the speed: below it slip has no direction
// of the impulse: friction that changes by more turned with the slip
constexpr double kTurns = 1e-11;
constexpr double kIntegrate = 1e-12;  // tolerance of the integration, of speed and energy

class PhaseCheck {
 public:
  PhaseCheck(const ImpactSystem& system, const MultiOutcome& outcome, const MultiPhase& phase,
             const MatrixXd& A, double speed, double impulse)
      : system_(system),
        outcome_(outcome),
        phase_(phase),
        A_(A),
        speed_(speed),
        impulse_(impulse),
        w_(system.width) {
    for (int i = 0; i < static_cast<int>(phase.mode.size()); ++i) {
      if (phase.mode[i] == PointMode::kOpen) continue;
      event_.push_back(i);
      if (phase.mode[i] == PointMode::kStick) {
        for (int t = 0; t + 1 < w_; ++t) held_.push_back(w_ * i + t);
      }
    }
    if (!held_.empty()) {
      const Eigen::JacobiSVD<MatrixXd> svd(A_(held_, held_),
                                           Eigen::ComputeThinU | Eigen::ComputeThinV);
      hold_ = MatrixXd::Zero(svd.cols(), svd.rows());
      for (Eigen::Index k = 0; k < svd.nonzeroSingularValues(); ++k) {
        const double value = svd.singularValues()[k];
        if (value > 1e-10 * svd.singularValues()[0])
          hold_ += svd.matrixV().col(k) * svd.matrixU().col(k).transpose() / value;
      }
    }
  }

  void Run(FrictionFaults& faults) {
    if (event_.empty()) return;
    for (const int i : event_) {
      if (phase_.mode[i] == PointMode::kStick)
        faults.opposes = std::max(
            {faults.opposes, Slip(phase_.v_begin, i) / speed_, Slip(phase_.v_end, i) / speed_});
    }
    double turn = 0;
    for (const VectorXd* v : {&phase_.v_begin, &phase_.v_end})
      turn = std::max(turn, FrictionFault(*v));
    if (turn <= kTurns) {
      faults.opposes = std::max(faults.opposes, turn);
      const VectorXd mean = 0.5 * (phase_.v_begin + phase_.v_end);
      for (const int i : event_) {
        faults.work = std::max(
            {faults.work, std::abs(phase_.work_n[i] - phase_.dJ[Normal(i)] * mean[Normal(i)]),
             std::abs(phase_.work_t[i] - Tangential(phase_.dJ, i).dot(Tangential(mean, i)))});
      }
      faults.division = std::max(faults.division, DivisionFault(phase_.v_begin));
    } else {
      Integrate(faults);
    }
    if (outcome_.closure.rows() == 0) faults.stick = std::max(faults.stick, StickFault());
  }

 private:
  int Normal(int i) const { return w_ * i + w_ - 1; }
  Eigen::VectorBlock<const VectorXd> Tangential(const VectorXd& x, int i) const {
    return x.segment(w_ * i, w_ - 1);
  }
  double Slip(const VectorXd& v, int i) const { return w_ == 1 ? 0 : Tangential(v, i).norm(); }
  bool Slides(int i) const {
    return w_ > 1 && phase_.mode[i] == PointMode::kSlip && system_.contacts[i].mu_k > 0;
  }

  // Friction of the phase against the slip at v.
  double FrictionFault(const VectorXd& v) const {
    double worst = 0;
    for (const int i : event_) {
      if (!Slides(i)) continue;
      const double slip = Slip(v, i), J_n = phase_.dJ[Normal(i)];
      if (slip <= kAtRest * speed_) continue;
      worst = std::max(worst, (Tangential(phase_.dJ, i) +
                               system_.contacts[i].mu_k * J_n / slip * Tangential(v, i))
                                      .norm() /
                                  impulse_);
    }
    return worst;
  }

  // Stacked impulses by the normal impulse of each contact of the event, for slip as in v; sticking
  // contacts as they hold.
  MatrixXd ByContact(const VectorXd& v) const {
    MatrixXd p = MatrixXd::Zero(v.size(), static_cast<Eigen::Index>(event_.size()));
    for (size_t c = 0; c < event_.size(); ++c) {
      const int i = event_[c];
      p(Normal(i), c) = 1;
      const double slip = Slip(v, i);
      if (Slides(i) && slip > 0)
        p.col(c).segment(w_ * i, w_ - 1) = -system_.contacts[i].mu_k / slip * Tangential(v, i);
    }
    if (!held_.empty()) {
      const MatrixXd need = A_(held_, Eigen::all) * p;
      p(held_, Eigen::all) = -hold_ * need;
    }
    return p;
  }

  // How the normal impulses divide at v, by their sum: the shares, moved by the least that fulfils
  // the relations.
  VectorXd Division(const MatrixXd& p) const {
    VectorXd n(event_.size());
    for (size_t c = 0; c < event_.size(); ++c) n[c] = outcome_.share[event_[c]];
    std::vector<int> rows;
    for (Eigen::Index r = 0; r < outcome_.closure.rows(); ++r) {
      double inside = 0;
      for (const int i : event_)
        inside += outcome_.closure.row(r).segment(w_ * i, w_).squaredNorm();
      if (std::abs(inside - outcome_.closure.row(r).squaredNorm()) <= 1e-14 * inside)
        rows.push_back(static_cast<int>(r));
    }
    if (!rows.empty()) {
      const MatrixXd relations = outcome_.closure(rows, Eigen::all) * p;
      const Eigen::JacobiSVD<MatrixXd> svd(relations, Eigen::ComputeThinU | Eigen::ComputeThinV);
      for (Eigen::Index k = 0; k < svd.nonzeroSingularValues(); ++k) {
        const double value = svd.singularValues()[k];
        if (value > 1e-10 * svd.singularValues()[0] && value > 1e-12)
          n -= svd.matrixV().col(k) * svd.matrixV().col(k).dot(n);
      }
    }
    return n / n.sum();
  }

  double Sum() const {
    double sum = 0;
    for (const int i : event_) sum += phase_.dJ[Normal(i)];
    return sum;
  }

  // Velocities of straight slip; those at rest that slip away have their friction's own direction.
  double DivisionFault(VectorXd v) const {
    for (const int i : event_) {
      if (Slides(i) && Slip(v, i) <= kAtRest * speed_)
        v.segment(w_ * i, w_ - 1) = Tangential(phase_.v_end, i);
    }
    const VectorXd n = Division(ByContact(v));
    double worst = 0;
    for (size_t c = 0; c < event_.size(); ++c)
      worst = std::max(worst, std::abs(phase_.dJ[Normal(event_[c])] - n[c] * Sum()) / impulse_);
    return worst;
  }

  void Integrate(FrictionFaults& faults) const {
    using State = std::vector<double>;
    using Map = Eigen::Map<VectorXd>;
    using ConstMap = Eigen::Map<const VectorXd>;
    namespace odeint = boost::numeric::odeint;
    const Eigen::Index size = phase_.v_begin.size(),
                       m = static_cast<Eigen::Index>(phase_.mode.size());
    // Velocities and impulses in units of speed and impulse, works in units of their product.
    State y(2 * size + 2 * m, 0.0);
    Map(y.data(), size) = phase_.v_begin / speed_;
    const auto rate = [&](const State& x, State& dx, double) {
      const VectorXd v = speed_ * ConstMap(x.data(), size);
      const MatrixXd by_contact = ByContact(v);
      const VectorXd p = by_contact * Division(by_contact);
      Map(dx.data(), size) = A_ * p * (impulse_ / speed_);
      Map(dx.data() + size, size) = p;
      for (int i = 0; i < m; ++i) {
        dx[2 * size + i] = p[Normal(i)] * v[Normal(i)] / speed_;
        dx[2 * size + m + i] = Tangential(p, i).dot(Tangential(v, i)) / speed_;
      }
    };
    const double length = Sum() / impulse_;
    odeint::integrate_adaptive(
        odeint::make_controlled(kIntegrate, 0.0, odeint::runge_kutta_dopri5<State>()), rate, y, 0.0,
        length, length);
    faults.opposes = std::max(
        faults.opposes, (ConstMap(y.data(), size) - phase_.v_end / speed_).cwiseAbs().maxCoeff());
    const VectorXd J = impulse_ * ConstMap(y.data() + size, size);
    for (const int i : event_) {
      if (Slides(i))
        faults.opposes = std::max(faults.opposes,
                                  (Tangential(J, i) - Tangential(phase_.dJ, i)).norm() / impulse_);
      faults.division =
          std::max(faults.division, std::abs(J[Normal(i)] - phase_.dJ[Normal(i)]) / impulse_);
      const double unit = impulse_ * speed_;
      faults.work = std::max({faults.work, std::abs(unit * y[2 * size + i] - phase_.work_n[i]),
                              std::abs(unit * y[2 * size + m + i] - phase_.work_t[i])});
    }
  }

  // Share of mu_s that is left at the contact nearest to letting go if all contacts at rest are
  // held, where one of them leaves rest. Not judged where contacts at rest depend on each other:
  // friction that holds them is not unique then.
  double StickFault() const {
    bool leaves = false;
    std::vector<int> rest, entries;
    for (const int i : event_) {
      if (w_ == 1 || system_.contacts[i].mu_s == 0) continue;
      const bool starts = Slides(i) && Slip(phase_.v_begin, i) <= 0.1 * kAtRest * speed_ &&
                          Slip(phase_.v_end, i) > 10 * kAtRest * speed_;
      if (phase_.mode[i] != PointMode::kStick && !starts) continue;
      leaves = leaves || starts;
      rest.push_back(i);
      for (int t = 0; t + 1 < w_; ++t) entries.push_back(w_ * i + t);
    }
    const double sum = Sum();
    if (!leaves || !(sum > 0)) return 0;
    VectorXd p = phase_.dJ / sum;
    for (const int i : event_) {  // directions of slip at the beginning of the phase
      if (Slides(i) && Slip(phase_.v_begin, i) > kAtRest * speed_)
        p.segment(w_ * i, w_ - 1) = -system_.contacts[i].mu_k * p[Normal(i)] /
                                    Slip(phase_.v_begin, i) * Tangential(phase_.v_begin, i);
    }
    p(entries).setZero();
    const Eigen::FullPivLU<MatrixXd> lu = MatrixXd(A_(entries, entries)).fullPivLu();
    if (lu.rcond() < 1e-8) return 0;
    const VectorXd need = A_(entries, Eigen::all) * p;
    p(entries) = -lu.solve(need);
    double left = 1;
    for (const int i : rest) {
      const double hold = system_.contacts[i].mu_s * p[Normal(i)];
      left = std::min(left, (hold - Tangential(p, i).norm()) / hold);
    }
    return std::max(0.0, left);
  }

  const ImpactSystem& system_;
  const MultiOutcome& outcome_;
  const MultiPhase& phase_;
  const MatrixXd& A_;
  double speed_, impulse_;
  int w_;
  std::vector<int> event_, held_;  // contacts of the event; tangential entries of those that stick
  // friction that holds them, by the rates without it, with the opposite sign
  MatrixXd hold_;
};

}  // namespace

FrictionFaults CheckFriction(const ImpactSystem& system, const MultiOutcome& outcome,
                             const MatrixXd& A, double speed, double impulse) {
  FrictionFaults faults;
  for (const MultiPhase& phase : outcome.phases)
    PhaseCheck(system, outcome, phase, A, speed, impulse).Run(faults);
  return faults;
}

}  // namespace impactlab::impact
