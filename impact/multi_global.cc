#include "impact/multi_global.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "data/error.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kRounding = 1e-13;  // relative to the speed of the impact
constexpr double kInf = std::numeric_limits<double>::infinity();

// A piece of the path with constant modes: p is the stacked impulse for unit P, x how far P goes.
struct Segment {
  VectorXd v, rate, p;
  std::vector<PointMode> mode;
  double a = 0, b = 0, W = 0;  // normal work W + b x + a x^2
  double x = 0;
};

class GlobalImpact {
 public:
  GlobalImpact(const ImpactSystem& system, const ContactSpace& space, const GlobalOptions& options, MultiOutcome& outcome)
      : system_(system), space_(space), options_(options), outcome_(outcome), m_(space.n_contacts), v_(space.v_minus) {
    speed_ = internal::SpeedScale(space);
    share_ = options.share.size() > 0 ? options.share : VectorXd::Ones(m_);
    frozen_.assign(m_, false);
    if (options.mode == GlobalMode::kThesis) {
      // w(theta) = theta' work_ theta with the columns of pinv(rows) split into tangential and normal ones (eq. 4.7).
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
    while (!internal::NoneApproaches(space_, v_, kRounding * speed_)) {
      if (outcome_.events >= options_.max_events) return Fail(fmt::format("contacts still approach after {} events", outcome_.events));
      const size_t last = options_.e_star.size() - 1;
      if (!Event(options_.e_star[std::min<size_t>(outcome_.events, last)])) return;
      ++outcome_.events;
    }
  }

  const VectorXd& v() const { return v_; }

 private:
  void Fail(const std::string& reason) {
    outcome_.status = SolveStatus::kNotConverged;
    outcome_.reason = reason;
  }

  double NormalVelocity(const VectorXd& v, int i) const { return v[space_.Normal(i)]; }
  bool Rough(int i) const { return space_.width == 2 && system_.contacts[i].mu_s > 0; }

  // One event of the contacts that approach or rest.
  bool Event(double e) {
    set_.clear();
    for (int i = 0; i < m_; ++i) {
      if (!frozen_[i] && NormalVelocity(v_, i) <= kRounding * speed_) set_.push_back(i);
    }
    std::vector<Segment> path;
    double W = 0, W_c = 0;
    direction_.assign(m_, 0);
    for (const int i : set_) {
      if (Rough(i) && std::abs(v_[space_.Tangent(i)]) > kRounding * speed_) direction_[i] = v_[space_.Tangent(i)] > 0 ? 1 : -1;
    }
    const double e_up = std::max(0.0, e);
    // The document ends compression by the curve of the segment it ends in; by work, the whole of compression must be known first.
    const bool in_segment = e < 0 && options_.mode == GlobalMode::kThesis;
    for (int n = 0;; ++n) {
      if (n > 20 * m_ + 20) return Fail("the contacts change their modes without end"), false;
      Segment s;
      s.v = v_;
      s.W = W;
      if (!ChooseModes(s)) return false;
      const double stop = NextStop(s);
      const double vertex = s.a > 0 ? -s.b / (2 * s.a) : kInf;
      // Lowest work so far. The document takes the vertex of the segment's own curve, wherever it lies.
      if (options_.mode == GlobalMode::kThesis && s.a > 0)
        W_c = s.W + s.b * vertex + s.a * vertex * vertex;
      else if (vertex > 0 && vertex <= stop)
        W_c = std::min(W_c, s.W + s.b * vertex + s.a * vertex * vertex);
      double end = kInf;
      const double target = (1 - e_up * e_up) * W_c;
      if (in_segment) {
        if (s.a > 0) end = std::max(0.0, vertex - std::abs(e) * std::sqrt(std::max(0.0, -W_c / s.a)));
        // Restitution: from the vertex on in this segment, or, where work already rises, from its start.
      } else if (s.b < 0 && s.a > 0 && vertex <= stop) {
        end = vertex + std::sqrt(std::max(0.0, target - (s.W + s.b * vertex + s.a * vertex * vertex)) / s.a);
      } else if (s.b >= 0 && W_c < 0) {
        const double rise = std::max(0.0, target - s.W), root = s.b * s.b + 4 * s.a * rise;
        if (rise == 0)
          end = 0;
        else if (root >= 0)
          end = 2 * rise / (s.b + std::sqrt(root));
      }
      s.x = std::min(end, stop);
      if (!std::isfinite(s.x)) return Fail("compression cannot end: friction jams the contacts"), false;
      Advance(s, s.x);
      W = s.W + s.b * s.x + s.a * s.x * s.x;
      if (options_.mode == GlobalMode::kPhysical) W_c = std::min(W_c, W);
      path.push_back(s);
      if (end <= stop) break;
      for (const int i : set_) {
        if (direction_[i] != 0 && std::abs(v_[space_.Tangent(i)]) <= 10 * kRounding * speed_) direction_[i] = 0;
      }
    }
    if (e < 0 && !in_segment) StopInCompression((1 - e * e) * W_c, path);
    outcome_.work_c.push_back(W_c);
    for (const Segment& s : path) Record(s);
    if (options_.mode == GlobalMode::kThesis) {
      for (int i = 0; i < m_; ++i) frozen_[i] = frozen_[i] || NormalVelocity(v_, i) > kRounding * speed_;
    }
    return true;
  }

  void Advance(const Segment& s, double x) {
    for (Eigen::Index k = 0; k < v_.size(); ++k) {
      if (!frozen_[k / space_.width]) v_[k] = s.v[k] + x * s.rate[k];
    }
    // What sticks and what has just stopped is at rest exactly.
    for (const int i : set_) {
      if (!Rough(i)) continue;
      double& slip = v_[space_.Tangent(i)];
      if (s.mode[i] == PointMode::kStick || std::abs(slip) <= 10 * kRounding * speed_) slip = 0;
    }
  }

  // Shortens the path to where work first falls to W_stop.
  void StopInCompression(double W_stop, std::vector<Segment>& path) {
    for (size_t k = 0; k < path.size(); ++k) {
      Segment& s = path[k];
      const double vertex = s.a > 0 ? -s.b / (2 * s.a) : kInf, end = std::min(s.x, vertex);
      if (s.b >= 0 || s.W + s.b * end + s.a * end * end > W_stop) continue;
      // Root of W + b x + a x^2 = W_stop on the falling branch, in the form that does not cancel.
      const double fall = s.W - W_stop, root = std::sqrt(std::max(0.0, s.b * s.b - 4 * s.a * fall));
      s.x = std::min(end, 2 * fall / (-s.b + root));
      path.resize(k + 1);
      v_ = s.v;
      Advance(s, s.x);
      return;
    }
  }

  void Record(const Segment& s) {
    MultiPhase phase;
    phase.event = outcome_.events;
    phase.mode = s.mode;
    phase.v_begin = s.v;
    phase.v_end = s.v;
    for (Eigen::Index k = 0; k < s.v.size(); ++k) {
      if (!frozen_[k / space_.width]) phase.v_end[k] += s.x * s.rate[k];
    }
    phase.dJ = s.x * s.p;
    phase.work_n = phase.work_t = VectorXd::Zero(m_);
    const VectorXd mean = s.v + 0.5 * s.x * s.rate;
    for (const int i : set_) {
      phase.work_n[i] = phase.dJ[space_.Normal(i)] * mean[space_.Normal(i)];
      if (space_.width == 2) phase.work_t[i] = phase.dJ[space_.Tangent(i)] * mean[space_.Tangent(i)];
    }
    outcome_.phases.push_back(phase);
  }

  // P at which the next slip stops.
  double NextStop(const Segment& s) const {
    double next = kInf;
    for (const int i : set_) {
      const int t = space_.Tangent(i);
      if (direction_[i] == 0 || s.mode[i] == PointMode::kStick || direction_[i] * s.rate[t] >= 0) continue;
      next = std::min(next, -s.v[t] / s.rate[t]);
    }
    return next;
  }

  // Modes of the contacts at rest: all combinations of stick and slip either way, those that stick most first; the first that is
  // consistent.
  bool ChooseModes(Segment& s) {
    std::vector<int> rest;
    for (const int i : set_) {
      if (Rough(i) && direction_[i] == 0) rest.push_back(i);
    }
    if (rest.size() > 10) return Fail("more than 10 contacts come to rest together"), false;
    int combinations = 1;
    for (size_t k = 0; k < rest.size(); ++k) combinations *= 3;
    std::string refusal;
    for (size_t slipping = 0; slipping <= rest.size(); ++slipping) {
      for (int code = 0; code < combinations; ++code) {
        std::vector<int> direction = direction_;
        size_t slips = 0;
        for (size_t k = 0, c = code; k < rest.size(); ++k, c /= 3) {
          direction[rest[k]] = c % 3 == 2 ? -1 : static_cast<int>(c % 3);
          slips += c % 3 != 0;
        }
        if (slips != slipping || !Rates(direction, s, refusal) || !Consistent(rest, direction, s)) continue;
        direction_ = direction;
        return true;
      }
    }
    return Fail(refusal.empty() ? "no mode of the contacts at rest is consistent" : refusal), false;
  }

  bool Consistent(const std::vector<int>& rest, const std::vector<int>& direction, const Segment& s) const {
    for (const int i : rest) {
      const double t = s.p[space_.Tangent(i)], n = s.p[space_.Normal(i)], rate = s.rate[space_.Tangent(i)];
      if (direction[i] == 0 ? std::abs(t) > system_.contacts[i].mu_s * n * (1 + 1e-12) : direction[i] * rate <= 0) return false;
    }
    return true;
  }

  // Impulse for unit P with the given directions (0: sticks, where rough).
  bool Rates(const std::vector<int>& direction, Segment& s, std::string& refusal) const {
    const int k = static_cast<int>(set_.size());
    const Eigen::Index size = s.v.size();
    // Stacked impulse for unit normal impulse of each contact of the set: slip friction, then what sticking contacts need.
    MatrixXd p_n = MatrixXd::Zero(size, k);
    std::vector<int> stick;
    for (int c = 0; c < k; ++c) {
      const int i = set_[c];
      p_n(space_.Normal(i), c) = 1;
      if (!Rough(i)) continue;
      if (direction[i] == 0)
        stick.push_back(space_.Tangent(i));
      else
        p_n(space_.Tangent(i), c) = -direction[i] * system_.contacts[i].mu_k;
    }
    if (!stick.empty()) {
      const MatrixXd all = space_.A * p_n, need = -all(stick, Eigen::all);
      const MatrixXd held = MatrixXd(space_.A(stick, stick)).completeOrthogonalDecomposition().solve(need);
      p_n(stick, Eigen::all) = held;
    }
    VectorXd n(k);
    for (int c = 0; c < k; ++c) n[c] = share_[set_[c]];
    if (!Divide(p_n, n)) {
      refusal = "the closure asks a contact to pull";
      return false;
    }
    n /= n[0];
    s.p = p_n * n;
    s.rate = space_.H * (space_.H.transpose() * s.p);
    s.mode.assign(m_, PointMode::kOpen);
    for (const int i : set_) s.mode[i] = Rough(i) && direction[i] == 0 ? PointMode::kStick : PointMode::kSlip;
    s.a = s.b = 0;
    // One contact alone is determinate: the document's event 2 of the block takes its true work.
    if (options_.mode == GlobalMode::kThesis && set_.size() > 1) {
      s.b = 2 * s.v.dot(work_ * s.rate);
      s.a = s.rate.dot(work_ * s.rate);
    } else {
      for (const int i : set_) {
        const int at = space_.Normal(i);
        s.b += s.p[at] * s.v[at];
        s.a += 0.5 * s.p[at] * s.rate[at];
      }
    }
    return true;
  }

  // Normal impulses nearest to the shares that fulfil the relations between contacts of the event.
  bool Divide(const MatrixXd& p_n, VectorXd& n) const {
    std::vector<int> rows;
    for (Eigen::Index r = 0; r < options_.closure.rows(); ++r) {
      bool inside = true;
      for (int i = 0; i < m_; ++i) {
        const bool touches = !options_.closure.row(r).segment(space_.Tangent(i), space_.width).isZero();
        inside = inside && (!touches || std::find(set_.begin(), set_.end(), i) != set_.end());
      }
      if (inside) rows.push_back(static_cast<int>(r));
    }
    if (!rows.empty()) {
      const MatrixXd relations = options_.closure(rows, Eigen::all) * p_n;
      Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod;
      cod.setThreshold(1e-10);
      // A relation without friction may say nothing (the block's, 0 = 0): shares decide then.
      const double size = relations.cwiseAbs().maxCoeff();
      if (size > 1e-12) {
        cod.compute(relations);
        n -= cod.solve(relations * n);
      }
    }
    return n.minCoeff() > 1e-12 * n.cwiseAbs().maxCoeff();
  }

  const ImpactSystem& system_;
  const ContactSpace& space_;
  const GlobalOptions& options_;
  MultiOutcome& outcome_;
  int m_;
  VectorXd v_, share_;
  MatrixXd work_;
  double speed_ = 0;
  std::vector<int> set_, direction_;  // contacts of the event; direction of slip by contact, 0 at rest
  std::vector<bool> frozen_;
};

void CheckOptions(const GlobalOptions& options, const ContactSpace& space) {
  const auto fail = [](const std::string& key, const std::string& found, const std::string& allowed) {
    throw ConfigError(fmt::format("global: {}: found {}, allowed {}", key, found, allowed));
  };
  if (options.e_star.empty()) fail("e_star", "none", "at least one");
  for (const double e : options.e_star) {
    if (!(e >= -1 && e <= 1)) fail("e_star", fmt::format("{}", e), "-1 to 1");
  }
  if (options.share.size() != 0 &&
      (options.share.size() != space.n_contacts || !options.share.allFinite() || options.share.minCoeff() <= 0)) {
    fail("share", "other than a positive number for each contact", fmt::format("{} of them, or none", space.n_contacts));
  }
  if (options.closure.rows() > 0 && (options.closure.cols() != space.v_minus.size() || !options.closure.allFinite())) {
    fail("closure", fmt::format("{} columns", options.closure.cols()), fmt::format("{} finite ones", space.v_minus.size()));
  }
}

}  // namespace

MultiOutcome SolveGlobal(const ImpactSystem& system, const GlobalOptions& options) {
  const ContactSpace space = ReduceToContacts(system);
  CheckOptions(options, space);
  MultiOutcome outcome = internal::StartOutcome(MultiLaw::kGlobalEnergetic, system, space);
  if (space.width == 3) {
    outcome.status = SolveStatus::kInvalid;
    outcome.reason = "the global energetic law is planar; the system has two tangents at each contact";
    return outcome;
  }
  if (internal::NoneApproaches(space, space.v_minus, kRounding * internal::SpeedScale(space))) {
    outcome.status = SolveStatus::kNoApproach;
    return outcome;
  }
  GlobalImpact impact(system, space, options, outcome);
  impact.Run();
  internal::FinishOutcome(system, space, outcome);
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
