#include "impact/multi/global.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "impact/multi/detail/turning.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using impact::EventRates;
using impact::SlipStretch;
using impact::TurningSlip;

constexpr double kPathRounding = 1e-13;  // relative to the speed of the impact
// approach that counts as none: events go on until all others have ended
constexpr double kApproach = 1e-11;
// share of a rate across the slip below which slip does not turn
constexpr double kStraight = 1e-12;
constexpr double kBreaks = 1e-10;  // share by which friction exceeds mu_s where sticking ends
// Change of other slips, all but spent, that a slip may make which leaves rest: at less it would be
// at rest again after every piece.
constexpr double kLeavesRest = 1e-11;
constexpr int kMaxPieces = 5000;  // of an event; slip that dies out takes some dozens
constexpr double kInf = std::numeric_limits<double>::infinity();

class GlobalImpact {
 public:
  GlobalImpact(const ImpactSystem& system, const ContactSpace& space, const GlobalOptions& options,
               MultiOutcome& outcome)
      : system_(system),
        space_(space),
        options_(options),
        outcome_(outcome),
        m_(space.n_contacts),
        v_(space.v_minus) {
    speed_ = impact::SpeedScale(space);
    frozen_.assign(m_, false);
    if (Thesis()) {
      // w(theta) = theta' work_ theta with the columns of pinv(rows) split into tangential and
      // normal ones (eq. 4.7).
      const MatrixXd inverse = system.rows.completeOrthogonalDecomposition().pseudoInverse();
      MatrixXd T = inverse, N = inverse;
      for (int i = 0; i < m_; ++i) {
        T.col(space.Normal(i)).setZero();
        if (space.width == 2) N.col(space.Tangent(i)).setZero();
      }
      const MatrixXd w = T.transpose() * system.M * N + 0.5 * N.transpose() * system.M * N;
      work_ = 0.5 * (w + w.transpose());
    }
  }

  void Run() {
    while (!impact::NoneApproaches(space_, v_, kApproach * speed_)) {
      if (outcome_.events >= options_.max_events) {
        double fastest = 0;
        for (int i = 0; i < m_; ++i) fastest = std::max(fastest, -NormalVelocity(i));
        Fail(fmt::format(
            "contacts still approach after {} events, at {:.1e} of the speed of the impact",
            outcome_.events, fastest / speed_));
        return;
      }
      const size_t last = options_.e_star.size() - 1;
      if (!Event(options_.e_star[std::min<size_t>(outcome_.events, last)])) return;
      ++outcome_.events;
    }
  }

  const VectorXd& v() const { return v_; }

 private:
  // What ends an event: restitution by e, or in compression work W_stop, or (thesis) the curve of
  // the segment compression ends in.
  struct Goal {
    double e = 0;
    double W_stop = -kInf;
    bool in_segment = false;
    bool Compresses() const { return W_stop > -kInf; }
  };
  enum class Progress { kGoesOn, kOver, kFailed };

  Progress Fail(const std::string& reason) {
    outcome_.status = SolveStatus::kNotConverged;
    outcome_.reason = reason;
    return Progress::kFailed;
  }

  bool Thesis() const { return options_.mode == GlobalMode::kThesis; }
  double NormalVelocity(int i) const { return v_[space_.Normal(i)]; }

  // One event of the contacts that approach or rest.
  bool Event(double e) {
    std::vector<int> set;
    for (int i = 0; i < m_; ++i) {
      if (!frozen_[i] && NormalVelocity(i) <= kPathRounding * speed_) set.push_back(i);
    }
    const VectorXd start = v_;
    const size_t first = outcome_.phases.size();
    Goal goal{std::max(0.0, e), -kInf, e < 0 && Thesis()};
    if (goal.in_segment) goal.e = std::abs(e);
    if (!Walk(goal, set)) return false;
    if (e < 0 && !Thesis()) {
      // By work, the whole of compression must be known before a part of it can be.
      const double W_c = W_c_;
      v_ = start;
      outcome_.phases.resize(first);
      goal.W_stop = (1 - e * e) * W_c;
      if (!Walk(goal, set)) return false;
      W_c_ = W_c;
    }
    outcome_.work_c.push_back(W_c_);
    for (int i = 0; i < m_ && Thesis(); ++i)
      frozen_[i] = frozen_[i] || NormalVelocity(i) > kPathRounding * speed_;
    return true;
  }

  bool Walk(const Goal& goal, const std::vector<int>& set) {
    EventRates rates(system_, space_, outcome_.share, outcome_.closure, set);
    TurningSlip turning(space_, speed_, 0.5 * space_.w_minus.squaredNorm());
    W_ = W_c_ = 0;
    choose_ = true;
    for (int piece = 0, choices = 0;; ++piece) {
      if (choices > 100 * m_ + 100)
        return Fail("the contacts change their modes without end"), false;
      if (piece > kMaxPieces) return Fail("slip turns without end"), false;
      if (choose_) {
        ++choices;
        if (!rates.ChooseModes(v_, kPathRounding * speed_)) return Fail(rates.refusal()), false;
        HoldStill(rates);
      } else if (!rates.Find(rates.Directions(v_))) {
        return Fail(rates.refusal()), false;
      }
      const double reach = StraightReach(rates);
      const Progress progress =
          reach > 0 ? Straight(rates, reach, goal) : Turn(rates, turning, goal);
      if (progress == Progress::kFailed) return false;
      if (progress == Progress::kOver) return true;
    }
  }

  void HoldStill(const EventRates& rates) {
    for (const int i : rates.set()) {
      if (rates.Sticks(i)) v_.segment(space_.Tangent(i), rates.tangents()).setZero();
    }
  }

  // How far rates are as good as constant: without end where no slip turns, some way where slip has
  // just left rest or is about to stop, else 0.
  double StraightReach(const EventRates& rates) const {
    struct Slip {
      double s, along, across, fastest;
    };
    std::vector<Slip> slips;
    bool turns = false;
    double starts = kInf, reach = 0;
    const VectorXd fastest = space_.A.cwiseAbs() * rates.p().cwiseAbs();
    for (const int i : rates.set()) {
      if (!rates.Slips(i) || rates.mu_k(i) == 0 || rates.tangents() < 2) continue;
      const VectorXd e = rates.Tangential(rates.direction(), i),
                     r = rates.Tangential(rates.rate(), i);
      const double along = r.dot(e);
      slips.push_back({rates.Tangential(v_, i).norm(), along, (r - along * e).norm(),
                       rates.Tangential(fastest, i).maxCoeff()});
      const Slip& slip = slips.back();
      turns = turns || slip.across > kStraight * slip.fastest;
      // From rest as far as makes slip large against rounding and small against all else.
      if (slip.s <= kPathRounding * speed_)
        starts = std::min(starts,
                          std::min(1e-9 / std::max(along, 1e-300), 1e-6 / slip.fastest) * speed_);
    }
    if (!turns) return kInf;
    if (starts < kInf) {
      for (const Slip& slip : slips) {
        if (slip.s > kPathRounding * speed_)
          starts = std::min(starts, std::max(0.1 * slip.s, kLeavesRest * speed_) / slip.fastest);
      }
      return starts;
    }
    for (const Slip& stopping : slips) {
      if (stopping.s > 1e-7 * speed_ || stopping.along >= 0) continue;
      const double dP = stopping.s / -stopping.along;
      double error = 0;
      for (const Slip& slip : slips)
        error +=
            slip.across * dP * (&slip == &stopping ? 1 : std::min(1.0, slip.fastest * dP / slip.s));
      if (error <= kPathRounding * speed_) reach = std::max(reach, dP);
    }
    return reach;
  }

  // A piece with constant rates: velocities linear and work quadratic in P.
  Progress Straight(const EventRates& rates, double reach, const Goal& goal) {
    double b = 0, a = 0;
    // One contact alone is determinate: event 2 of Rodriguez's block takes its true work.
    if (Thesis() && rates.set().size() > 1) {
      b = 2 * v_.dot(work_ * rates.rate());
      a = rates.rate().dot(work_ * rates.rate());
    } else {
      b = rates.Power(v_);
      a = 0.5 * rates.Power(rates.rate());
    }
    const double stop = std::min(reach, NextStop(rates)), vertex = a > 0 ? -b / (2 * a) : kInf;
    const auto work = [&](double x) { return W_ + b * x + a * x * x; };
    // Lowest work so far. Rodriguez 2014 takes the vertex of the segment's own curve, wherever it
    // lies.
    if (Thesis() && a > 0)
      W_c_ = work(vertex);
    else if (vertex > 0 && vertex <= stop)
      W_c_ = std::min(W_c_, work(vertex));
    double end = kInf;
    const double target = (1 - goal.e * goal.e) * W_c_;
    if (goal.in_segment) {
      if (a > 0) end = std::max(0.0, vertex - goal.e * std::sqrt(std::max(0.0, -W_c_ / a)));
    } else if (goal.Compresses()) {
      // Root on the falling branch, in the form that does not cancel.
      const double last = std::min(stop, vertex), fall = W_ - goal.W_stop;
      if (b < 0 && (last == kInf || work(last) <= goal.W_stop))
        end =
            std::clamp(2 * fall / (-b + std::sqrt(std::max(0.0, b * b - 4 * a * fall))), 0.0, last);
    } else if (b < 0 && a > 0 && vertex <= stop) {
      end = vertex + std::sqrt(std::max(0.0, target - work(vertex)) / a);
    } else if (b >= 0 && W_c_ < 0) {
      // Restitution: from the vertex on in this segment, or, where work already rises, from its
      // start.
      const double rise = std::max(0.0, target - W_), root = b * b + 4 * a * rise;
      if (rise == 0)
        end = 0;
      else if (root >= 0)
        end = 2 * rise / (b + std::sqrt(root));
    }
    const double x = std::min(end, stop);
    if (!std::isfinite(x)) return Fail("compression cannot end: friction jams the contacts");
    SlipStretch stretch{v_, x * rates.p(), VectorXd::Zero(m_), VectorXd::Zero(m_)};
    for (Eigen::Index k = 0; k < v_.size(); ++k) {
      if (!frozen_[k / space_.width]) stretch.v[k] += x * rates.rate()[k];
    }
    const VectorXd mean = v_ + 0.5 * x * rates.rate();
    for (const int i : rates.set()) {
      stretch.work_n[i] = stretch.J[space_.Normal(i)] * mean[space_.Normal(i)];
      stretch.work_t[i] = rates.Tangential(stretch.J, i).dot(rates.Tangential(mean, i));
    }
    W_ = work(x);
    if (!Thesis()) W_c_ = std::min(W_c_, W_);
    Record(rates, stretch);
    // What has just stopped is at rest exactly.
    for (const int i : rates.set()) {
      if (!rates.Rough(i)) continue;
      const bool slows =
          rates.Tangential(rates.rate(), i).dot(rates.Tangential(rates.direction(), i)) < 0;
      if (slows && rates.Tangential(v_, i).norm() <= 10 * kPathRounding * speed_)
        v_.segment(space_.Tangent(i), rates.tangents()).setZero();
    }
    choose_ = true;
    return end <= stop ? Progress::kOver : Progress::kGoesOn;
  }

  // P at which the next slip stops.
  double NextStop(const EventRates& rates) const {
    double next = kInf;
    for (const int i : rates.set()) {
      if (!rates.Slips(i)) continue;
      const VectorXd e = rates.Tangential(rates.direction(), i),
                     r = rates.Tangential(rates.rate(), i);
      const double slows = -r.dot(e);
      // Without friction slip may pass rest by.
      if (slows <= 0 || (rates.mu_k(i) == 0 && (r + slows * e).norm() > kStraight * slows))
        continue;
      next = std::min(next, std::max(0.0, rates.Tangential(v_, i).dot(e)) / slows);
    }
    return next;
  }

  // A step of slip that turns, up to what happens first: work turns (so that it is monotone in
  // every piece), its power does, the event ends, a contact that sticks breaks loose, or slip is
  // spent.
  Progress Turn(EventRates& rates, TurningSlip& turning, const Goal& goal) {
    const double power = rates.Power(v_),
                 target = goal.Compresses() ? goal.W_stop : (1 - goal.e * goal.e) * W_c_;
    const bool rises = power > 0 || (power == 0 && rates.Power(rates.rate()) >= 0);
    const double sign = rises ? 1 : -1;
    const bool ends = goal.Compresses() ? !rises : rises && W_c_ < 0;
    if (ends && sign * (W_ - target) >= 0) return Progress::kOver;
    // Each happens where it becomes positive.
    struct Happenings {
      double turn, bend, end, breaks;
    };
    const auto happenings = [&](const SlipStretch& s) {
      return Happenings{-sign * rates.Power(s.v), sign * rates.Power(rates.rate()),
                        sign * (W_ + s.work_n.sum() - target), rates.Excess() - kBreaks};
    };
    const Happenings before = happenings({v_, VectorXd(), VectorXd::Zero(m_), VectorXd()});
    if (!turning.Step(rates, v_))
      return Fail(rates.refusal().empty() ? "the step of a turning slip vanishes"
                                          : rates.refusal());
    bool refused = false;
    const auto at = [&](double part, SlipStretch& s) {
      s = turning.At(part);
      refused = refused || !rates.Find(rates.Directions(s.v));
      return happenings(s);
    };
    SlipStretch stretch;
    Happenings after = at(1, stretch);
    double part = 1;
    bool over = false, breaks = false;
    // One after the other, each within what the last has left: work is monotone only up to where
    // its power turns.
    for (double Happenings::*what :
         {&Happenings::turn, &Happenings::bend, &Happenings::end, &Happenings::breaks}) {
      if (!(before.*what < 0 && after.*what >= 0) || (what == &Happenings::end && !ends)) continue;
      std::uintmax_t iterations = 100;
      const auto bracket = boost::math::tools::toms748_solve(
          [&](double x) { return at(x, stretch).*what; }, 0.0, part, before.*what, after.*what,
          boost::math::tools::eps_tolerance<double>(50), iterations);
      part = bracket.second;
      after = at(part, stretch);
      over = what == &Happenings::end;
      breaks = what == &Happenings::breaks;
    }
    if (refused) return Fail(rates.refusal());
    W_ += stretch.work_n.sum();
    W_c_ = std::min(W_c_, W_);
    Record(rates, stretch);
    HoldStill(rates);
    choose_ = breaks;
    for (const int i : rates.set())
      choose_ =
          choose_ || (rates.Slips(i) && rates.Tangential(v_, i).norm() <= kPathRounding * speed_);
    return over ? Progress::kOver : Progress::kGoesOn;
  }

  void Record(const EventRates& rates, const SlipStretch& stretch) {
    MultiPhase phase;
    phase.event = outcome_.events;
    phase.mode = rates.mode();
    phase.v_begin = v_;
    phase.v_end = stretch.v;
    phase.dJ = stretch.J;
    phase.work_n = stretch.work_n;
    phase.work_t = stretch.work_t;
    outcome_.phases.push_back(phase);
    v_ = stretch.v;
  }

  const ImpactSystem& system_;
  const ContactSpace& space_;
  const GlobalOptions& options_;
  MultiOutcome& outcome_;
  int m_;
  VectorXd v_;
  MatrixXd work_;
  double speed_ = 0, W_ = 0, W_c_ = 0;  // normal work of the event, and its least value
  bool choose_ = true;                  // modes have to be chosen again
  std::vector<bool> frozen_;
};

void CheckOptions(const GlobalOptions& options, const ContactSpace& space) {
  const auto fail = [](const std::string& key, const std::string& found,
                       const std::string& allowed) {
    throw ConfigError(fmt::format("global: {}: found {}, allowed {}", key, found, allowed));
  };
  if (options.e_star.empty()) fail("e_star", "none", "at least one");
  for (const double e : options.e_star) {
    if (!(e >= -1 && e <= 1)) fail("e_star", fmt::format("{}", e), "-1 to 1");
  }
  if (options.share.size() != 0 && (options.share.size() != space.n_contacts ||
                                    !options.share.allFinite() || options.share.minCoeff() <= 0)) {
    fail("share", "other than a positive number for each contact",
         fmt::format("{} of them, or none", space.n_contacts));
  }
  if (options.closure.rows() > 0 &&
      (options.closure.cols() != space.v_minus.size() || !options.closure.allFinite())) {
    fail("closure", fmt::format("{} columns", options.closure.cols()),
         fmt::format("{} finite ones", space.v_minus.size()));
  }
}

}  // namespace

MultiOutcome SolveGlobal(const ImpactSystem& system, const GlobalOptions& options) {
  const ContactSpace space = ReduceToContacts(system);
  CheckOptions(options, space);
  MultiOutcome outcome = impact::StartOutcome(MultiLaw::kGlobalEnergetic, system, space);
  outcome.share = options.share.size() > 0 ? options.share : VectorXd::Ones(space.n_contacts);
  outcome.closure = options.closure;
  if (space.width == 3 && options.mode == GlobalMode::kThesis) {
    outcome.status = SolveStatus::kInvalid;
    outcome.reason = "Rodriguez 2014 prints no numbers in space: kThesis is planar";
    return outcome;
  }
  if (impact::NoneApproaches(space, space.v_minus, kPathRounding * impact::SpeedScale(space))) {
    outcome.status = SolveStatus::kNoApproach;
    return outcome;
  }
  GlobalImpact impact(system, space, options, outcome);
  impact.Run();
  impact::FinishOutcome(system, space, outcome);
  if (options.mode == GlobalMode::kThesis) outcome.v_plus = impact.v();
  return outcome;
}

MatrixXd CornerClosure() { return Eigen::RowVector4d(1, 1, -1, -1); }
MatrixXd BlockClosure() { return Eigen::RowVector4d(1, 0, -1, 0); }

MatrixXd ChainClosure(int n_contacts) {
  MatrixXd closure = MatrixXd::Zero(std::max(0, n_contacts - 1), n_contacts);
  for (int i = 0; i + 1 < n_contacts; ++i) closure(i, i) = 1, closure(i, i + 1) = -1;
  return closure;
}

}  // namespace impactlab
