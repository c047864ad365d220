#include "impact/multi/certify.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "impact/multi/detail/friction_check.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// relative to what the impact moves; grows with the number of phases
constexpr double kMomentum = 1e-12;
constexpr double kLimit = 1e-9;  // all else: a tenth of the least error worth finding

// A pyramid of 16 edges inscribed in the cone falls short of it by this share between two edges: 1
// - cos(pi / 16).
constexpr double kPyramid = 0.01922;

// share of mu_s, where slip speeds of 1e-12 decide that a contact is at rest
constexpr double kStick = 1e-7;

constexpr double kMotion = 1e-8;  // springs: phases of hundreds of periods, integrated twice

double Positive(double x) { return std::max(0.0, x); }

class SystemJudge {
 public:
  SystemJudge(const ImpactSystem& system, const MultiOutcome& outcome,
              const std::vector<double>& e_star, RestitutionLaw law)
      : system_(system),
        outcome_(outcome),
        e_star_(e_star),
        law_(law),
        m_(static_cast<int>(system.contacts.size())),
        w_(system.width) {}

  Certificate Run() {
    if (!CheckStatus()) return certificate_;
    Scale();
    CheckMomentum();
    CheckForces();
    CheckSeparation();
    CheckWork();
    CheckLaw();
    certificate_.ok = std::all_of(certificate_.checks.begin(), certificate_.checks.end(),
                                  [](const CertificateCheck& c) { return c.ok; });
    return certificate_;
  }

 private:
  void Report(const char* name, double value, double limit) {
    certificate_.checks.push_back({name, value, limit, value <= limit});
  }
  bool Simultaneous() const {
    return outcome_.law == MultiLaw::kSimultaneousNewton ||
           outcome_.law == MultiLaw::kSimultaneousPoisson;
  }
  bool Global() const { return outcome_.law == MultiLaw::kGlobalEnergetic; }
  int Normal(int i) const { return w_ * i + w_ - 1; }
  double Slip(const VectorXd& v, int i) const {
    return w_ == 1 ? 0 : v.segment(w_ * i, w_ - 1).norm();
  }

  bool CheckStatus() {
    bool ok =
        outcome_.usable() &&
        (!Global() || (static_cast<int>(outcome_.work_c.size()) == outcome_.events &&
                       outcome_.share.size() == m_ &&
                       (outcome_.closure.rows() == 0 || outcome_.closure.cols() == w_ * m_))) &&
        outcome_.J.allFinite() && outcome_.v_plus.allFinite() && outcome_.u_plus.allFinite() &&
        outcome_.work_n.allFinite() && outcome_.work_t.allFinite() &&
        std::isfinite(outcome_.energy_change) && outcome_.J.size() == w_ * m_ &&
        outcome_.v_plus.size() == w_ * m_ && outcome_.u_plus.size() == system_.M.rows();
    for (const MultiPhase& phase : outcome_.phases) {
      ok = ok && phase.v_begin.size() == w_ * m_ && phase.v_end.size() == w_ * m_ &&
           phase.dJ.size() == w_ * m_ && phase.work_n.size() == m_ && phase.work_t.size() == m_ &&
           static_cast<int>(phase.mode.size()) == m_ && phase.v_begin.allFinite() &&
           phase.v_end.allFinite() && phase.dJ.allFinite() && phase.work_n.allFinite() &&
           phase.work_t.allFinite();
    }
    Report("status", ok ? 0 : 1, 0);
    return ok;
  }

  double Energy(const VectorXd& u) const { return 0.5 * u.dot(system_.M * u); }

  // Velocity change for unit impulses from the equations of motion with multipliers for the joints.
  void Scale() {
    const Eigen::Index n = system_.M.rows(), c = system_.joints.rows();
    MatrixXd kkt = MatrixXd::Zero(n + c, n + c), right = MatrixXd::Zero(n + c, w_ * m_);
    // Joint rows scaled to the size of M, so that the rank of the whole is distinguished from
    // rounding.
    const double unit = system_.M.diagonal().mean();
    kkt.topLeftCorner(n, n) = system_.M;
    for (Eigen::Index i = 0; i < c; ++i) {
      const double norm = system_.joints.row(i).norm();
      if (norm == 0) continue;
      kkt.row(n + i).head(n) = unit / norm * system_.joints.row(i);
      kkt.col(n + i).head(n) = kkt.row(n + i).head(n).transpose();
    }
    right.topRows(n) = system_.rows.transpose();
    response_ = kkt.completeOrthogonalDecomposition().solve(right).topRows(n);
    A_ = system_.rows * response_;
    energy_ = Energy(system_.u_minus);
    speed_ = std::sqrt(2 * energy_ * A_.diagonal().maxCoeff());
    impulse_ = std::max(outcome_.J.cwiseAbs().maxCoeff(), speed_ / A_.diagonal().maxCoeff());
    // contacts may press hard against each other: rounding is of that size
    speed_ = std::max(speed_, impulse_ * A_.diagonal().maxCoeff());
  }

  void CheckMomentum() {
    double worst = 0;
    VectorXd u = system_.u_minus, v = system_.rows * u, J = VectorXd::Zero(w_ * m_);
    for (const MultiPhase& phase : outcome_.phases) {
      worst = std::max(worst, (phase.v_begin - v).norm() / speed_);
      u += response_ * phase.dJ;
      v = system_.rows * u;
      J += phase.dJ;
      worst = std::max(worst, (phase.v_end - v).norm() / speed_);
    }
    worst = std::max(
        {worst, (outcome_.v_plus - v).norm() / speed_, (outcome_.J - J).norm() / impulse_});
    const VectorXd du = outcome_.u_plus - u;
    worst = std::max(
        worst, std::sqrt(Positive(du.dot(system_.M * du)) * A_.diagonal().maxCoeff()) / speed_);
    if (system_.joints.rows() > 0) {
      const VectorXd rate = system_.joints * outcome_.u_plus;
      const double size =
          outcome_.u_plus.cwiseAbs().maxCoeff() + system_.u_minus.cwiseAbs().maxCoeff();
      for (Eigen::Index i = 0; i < rate.size(); ++i) {
        const double row = system_.joints.row(i).norm();
        if (row > 0) worst = std::max(worst, std::abs(rate[i]) / (row * size));
      }
    }
    Report("momentum", worst, kMomentum * (10 + static_cast<double>(outcome_.phases.size())));
  }

  void CheckForces() {
    double pull = 0, cone = 0, opposes = 0, open = 0;
    for (const MultiPhase& phase : outcome_.phases) {
      for (int i = 0; i < m_; ++i) {
        const double J_n = phase.dJ[Normal(i)], J_t = Slip(phase.dJ, i);
        const ContactProperties& c = system_.contacts[i];
        pull = std::max(pull, -J_n / impulse_);
        if (phase.mode[i] == PointMode::kOpen) {
          open = std::max(open, (std::abs(J_n) + J_t) / impulse_);
          continue;
        }
        const double mu = phase.mode[i] == PointMode::kStick ? c.mu_s : c.mu_k;
        cone = std::max(cone, (J_t - mu * Positive(J_n)) / impulse_);
        if (w_ == 1 || phase.struck >= 0 || Global()) continue;
        for (const VectorXd* v : {&phase.v_begin, &phase.v_end}) {
          if (Simultaneous() && v == &phase.v_begin) continue;
          const double slip = Slip(*v, i);
          if (phase.mode[i] == PointMode::kStick) {
            opposes = std::max(opposes, slip / speed_);
          } else {
            // dJ_t = -mu J_n s: the work lost at this end of the phase.
            const double dot = phase.dJ.segment(w_ * i, w_ - 1).dot(v->segment(w_ * i, w_ - 1));
            const double short_of =
                std::abs(dot + c.mu_k * J_n * slip) -
                (Simultaneous() && w_ == 3 ? kPyramid * c.mu_k * J_n * slip : 0);
            opposes = std::max(opposes, short_of / (impulse_ * speed_));
          }
        }
      }
    }
    if (Global()) {
      const impact::FrictionFaults faults =
          impact::CheckFriction(system_, outcome_, A_, speed_, impulse_);
      opposes = faults.opposes;
      work_fault_ = faults.work;
      Report("stick", faults.stick, kStick);
      Report("division", faults.division, kLimit);
    }
    Report("unilateral", pull, kLimit);
    Report("cone", cone, kLimit);
    Report("opposes", opposes, kLimit);
    Report("complementarity", std::max(open, OpenAndPressed()), kLimit);
  }

  // Springs: how far open contacts are inside and pressed ones pull, at the ends of the phases.
  // (The time between is judged in "springs".)
  double OpenAndPressed() const {
    double worst = 0;
    if (outcome_.law != MultiLaw::kSprings) return worst;
    for (const MultiPhase& phase : outcome_.phases) {
      for (int i = 0; i < m_; ++i) {
        if (phase.stiffness[i] == 0) continue;
        const double scale = speed_ / std::sqrt(phase.stiffness[i] * A_.diagonal().maxCoeff());
        worst = std::max({worst, (phase.delta_begin[i] - phase.reference[i]) / scale,
                          (phase.delta_end[i] - phase.reference[i]) / scale});
      }
    }
    return worst;
  }

  void CheckSeparation() {
    double approach = 0;
    for (int i = 0; i < m_; ++i)
      approach = std::max(approach, -outcome_.v_plus[Normal(i)] / speed_);
    Report("separation", approach, kLimit);
  }

  void CheckWork() {
    const double change = Energy(outcome_.u_plus) - energy_;
    double sum = 0, worst = std::max(work_fault_, std::abs(outcome_.energy_change - change));
    VectorXd work_n = VectorXd::Zero(m_), work_t = work_n;
    for (const MultiPhase& phase : outcome_.phases) {
      work_n += phase.work_n;
      work_t += phase.work_t;
      // the change of energy in the phase, whatever its path
      const double total = 0.5 * phase.dJ.dot(phase.v_begin + phase.v_end);
      worst = std::max(worst, std::abs(phase.work_n.sum() + phase.work_t.sum() - total));
      if (outcome_.law == MultiLaw::kSprings || phase.struck >= 0 || Global()) continue;
      for (int i = 0; i < m_; ++i) {  // velocities are linear in the impulse
        const double normal =
            0.5 * phase.dJ[Normal(i)] * (phase.v_begin[Normal(i)] + phase.v_end[Normal(i)]);
        worst = std::max(worst, std::abs(phase.work_n[i] - normal));
      }
    }
    sum = outcome_.work_n.sum() + outcome_.work_t.sum();
    worst = std::max({worst, std::abs(sum - change), (work_n - outcome_.work_n).norm(),
                      (work_t - outcome_.work_t).norm()});
    Report("work", worst / std::max(energy_, 0.5 * impulse_ * speed_), kLimit);
    Report("energy", change / energy_, 1e-12 * (10 + static_cast<double>(outcome_.phases.size())));
  }

  void CheckLaw() {
    switch (outcome_.law) {
      case MultiLaw::kSprings:
        Report("restitution", SpringRestitution(), kLimit);
        Report("springs", SpringMotion(), kMotion);
        break;
      case MultiLaw::kSequence:
        Report("single", SingleImpacts(), 0);
        break;
      case MultiLaw::kSimultaneousNewton:
        Report("restitution", NewtonComplementarity(), kLimit);
        break;
      case MultiLaw::kSimultaneousPoisson:
        Report("restitution", PoissonComplementarity(), kLimit);
        break;
      case MultiLaw::kGlobalEnergetic:
        Report("restitution", GlobalRestitution(), kLimit);
        break;
    }
  }

  // Number of single impacts whose own certificate fails, or whose impulse is not that of its
  // phase. Newton's and Poisson's laws may gain energy in each.
  double SingleImpacts() const {
    ContactSpace space;
    space.width = w_;
    space.n_contacts = m_;
    space.A = A_;
    int bad = 0;
    for (const MultiPhase& phase : outcome_.phases) {
      const ContactProperties& c = system_.contacts[phase.struck];
      VectorXd J = VectorXd::Zero(w_ * m_);
      for (int t = 0; t + 1 < w_; ++t) J[w_ * phase.struck + t] = phase.single.J_F[t];
      J[Normal(phase.struck)] = phase.single.J_F.z();
      const Certificate certificate =
          Certify(SingleContact(space, phase.v_begin, phase.struck), {c, law_}, phase.single);
      bool ok = (J - phase.dJ).norm() <= kLimit * impulse_;
      for (const CertificateCheck& check : certificate.checks) {
        // An impact too weak to matter, such as the last of a long sequence, is judged by what it
        // changes in the whole.
        const bool weak = check.value * phase.dJ.cwiseAbs().maxCoeff() <= kLimit * impulse_;
        ok = ok && (check.ok || weak || (check.name == "energy" && !InfoOf(law_).keeps_energy));
      }
      bad += !ok;
    }
    return bad;
  }

  // 0 <= J perpendicular to x >= 0.
  double Complementarity(double J, double x) const {
    return std::max({Positive(-J) / impulse_, Positive(-x) / speed_,
                     std::min(std::abs(J) / impulse_, std::abs(x) / speed_)});
  }

  double NewtonComplementarity() const {
    double worst = 0;
    const VectorXd v_minus = system_.rows * system_.u_minus;
    for (int i = 0; i < m_; ++i) {
      const double wanted = system_.contacts[i].e * std::max(0.0, -v_minus[Normal(i)]);
      worst = std::max(worst,
                       Complementarity(outcome_.J[Normal(i)], outcome_.v_plus[Normal(i)] - wanted));
    }
    return worst;
  }

  double PoissonComplementarity() const {
    if (outcome_.phases.empty()) return 0;
    if (outcome_.phases.size() != 2) return 1;
    double worst = 0;
    const MultiPhase &c = outcome_.phases[0], &r = outcome_.phases[1];
    for (int i = 0; i < m_; ++i) {
      const int n = Normal(i);
      worst = std::max({worst, Complementarity(c.dJ[n], c.v_end[n]),
                        Complementarity(r.dJ[n] - system_.contacts[i].e * c.dJ[n], r.v_end[n])});
    }
    return worst;
  }

  // Normal work of each event: W = (1 - e_star^2) W_min along the path, or, in compression (e_star
  // < 0), of the W_c the outcome names.
  double GlobalRestitution() const {
    double worst = 0;
    for (int event = 0; event < outcome_.events; ++event) {
      const double e = e_star_[std::min<size_t>(event, e_star_.size() - 1)];
      double W = 0, least = 0, falling = 0;
      for (const MultiPhase& phase : outcome_.phases) {
        if (phase.event != event) continue;
        double begin = 0, end = 0;  // dW by the fraction of the phase
        for (int i = 0; i < m_; ++i) {
          begin += phase.dJ[Normal(i)] * phase.v_begin[Normal(i)];
          end += phase.dJ[Normal(i)] * phase.v_end[Normal(i)];
        }
        // Along turning slip the work is not quadratic, and every phase is all compression or all
        // restitution.
        const bool straight = std::abs(phase.work_n.sum() - 0.5 * (begin + end)) <= 1e-12 * energy_;
        if (straight && begin < 0 && end > 0)
          least = std::min(least, W + 0.5 * begin * begin / (begin - end));
        if (!straight) worst = std::max(worst, std::min(Positive(-begin), Positive(end)) / energy_);
        W += phase.work_n.sum();
        least = std::min(least, W);
        falling = end;
      }
      const double W_c = e < 0 ? outcome_.work_c[event] : least;
      if (e < 0) worst = std::max(worst, Positive(falling) / energy_);
      worst = std::max({worst, std::abs(W - (1 - e * e) * W_c) / energy_,
                        std::abs(outcome_.work_c[event] - W_c) / energy_});
    }
    return worst;
  }

  // Every cycle of a contact gives back e^2 of the work stored at its deepest point.
  double SpringRestitution() const {
    double worst = 0;
    for (int i = 0; i < m_; ++i) {
      const double e2 = system_.contacts[i].e * system_.contacts[i].e,
                   k = system_.contacts[i].stiffness;
      double taken = 0, deepest = 0, surface = 0;
      bool pressed = false;
      const auto finish = [&](double at) {
        if (pressed) taken += 0.5 * k * deepest * deepest;
        pressed = false, deepest = 0, surface = at;
      };
      double last = system_.contacts[i].gap;
      for (const MultiPhase& phase : outcome_.phases) {
        if (phase.stiffness[i] == 0)
          finish(e2 == 1 ? 0 : (pressed ? last : surface));
        else
          pressed = true,
          deepest =
              std::min({deepest, phase.delta_begin[i] - surface, phase.delta_end[i] - surface});
        last = phase.delta_end[i];
      }
      finish(last);
      // An elastic spring turns inside a phase, where its deepest point is not seen; it gives
      // everything back.
      worst = std::max(worst, std::abs(outcome_.work_n[i] + (1 - e2) * taken) / energy_);
    }
    return worst;
  }

  // What distances of contact i are measured by: its indentation, and what the rounding of a
  // velocity makes of a long flight between walls.
  double Length(int i, const MultiPhase& phase) const {
    return speed_ / std::sqrt(system_.contacts[i].stiffness * A_.diagonal().maxCoeff()) +
           1e-6 * speed_ * phase.duration;
  }

  // delta'' = -A_nn K (delta - reference), integrated by Taylor series in contact space: no modes,
  // no independent contacts. Also watches that no open contact goes inside and no pressed one
  // outside within a phase.
  double SpringMotion() const {
    double worst = 0;
    MatrixXd A(m_, m_);
    for (int i = 0; i < m_; ++i) {
      for (int j = 0; j < m_; ++j) A(i, j) = A_(Normal(i), Normal(j));
    }
    VectorXd surface = VectorXd::Zero(m_);
    for (const MultiPhase& phase : outcome_.phases) {
      const MatrixXd D = A * phase.stiffness.asDiagonal();
      const double fastest = std::sqrt(std::max(1e-300, D.cwiseAbs().rowwise().sum().maxCoeff()));
      const int steps = static_cast<int>(std::ceil(std::min(1e5, fastest * phase.duration))) + 1;
      const double h = phase.duration / steps;
      VectorXd x = phase.delta_begin - phase.reference, v(m_), J = VectorXd::Zero(m_);
      for (int i = 0; i < m_; ++i) v[i] = phase.v_begin[Normal(i)];
      for (int step = 0; step < steps; ++step) {
        // c_n: n-th derivative times h^n / n!
        VectorXd even = x, odd = h * v, x1 = x, v1 = v, integral = h * x;
        v1.setZero();
        x1 += odd;
        v1 += odd / h;
        integral += 0.5 * h * odd;
        for (int n = 2; n < 26; n += 2) {
          even = -h * h / (n * (n - 1)) * (D * even);
          odd = -h * h / (n * (n + 1)) * (D * odd);
          x1 += even + odd;
          v1 += (n * even + (n + 1) * odd) / h;
          integral += h * (even / (n + 1) + odd / (n + 2));
        }
        J -= phase.stiffness.cwiseProduct(integral);
        x = x1, v = v1;
        if (step + 1 < steps) {
          for (int i = 0; i < m_; ++i) {
            const double k = phase.stiffness[i],
                         scale = speed_ / std::sqrt((k > 0 ? k : system_.contacts[i].stiffness) *
                                                    A_.diagonal().maxCoeff());
            if (k > 0)
              worst = std::max(worst, x[i] / scale);
            else
              worst = std::max(worst, (surface[i] - x[i] - phase.reference[i]) / scale);
          }
        }
      }
      for (int i = 0; i < m_; ++i) {
        const double scale = Length(i, phase);
        worst = std::max({worst, std::abs(v[i] - phase.v_end[Normal(i)]) / speed_,
                          std::abs(J[i] - phase.dJ[Normal(i)]) / impulse_,
                          std::abs(x[i] + phase.reference[i] - phase.delta_end[i]) / scale});
        if (phase.stiffness[i] > 0 && system_.contacts[i].e < 1) surface[i] = phase.delta_end[i];
      }
    }
    return worst;
  }

  const ImpactSystem& system_;
  const MultiOutcome& outcome_;
  const std::vector<double>& e_star_;
  RestitutionLaw law_;
  int m_, w_;
  MatrixXd response_, A_;
  double energy_ = 0, speed_ = 0, impulse_ = 0, work_fault_ = 0;
  Certificate certificate_;
};

}  // namespace

Certificate CertifySystem(const ImpactSystem& system, const MultiOutcome& outcome,
                          const std::vector<double>& e_star, RestitutionLaw law) {
  CheckSystem(system);
  return SystemJudge(system, outcome, e_star, law).Run();
}

}  // namespace impactlab
