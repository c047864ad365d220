#include "impact/multi/detail/turning.h"

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>

namespace impactlab::impact {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kTolerance = 1e-12;  // of a step

}  // namespace

bool TurningSlip::Step(EventRates& rates, const VectorXd& v) {
  rates_ = &rates;
  slipping_.clear();
  entries_.clear();
  const VectorXd fastest = space_.A.cwiseAbs() * rates.p().cwiseAbs();
  double shortest = speed_ / fastest.maxCoeff();
  for (const int i : rates.set()) {
    if (!rates.Slips(i) || rates.mu_k(i) == 0) continue;
    slipping_.push_back(i);
    for (int t = 0; t < rates.tangents(); ++t) entries_.push_back(space_.Tangent(i) + t);
    shortest =
        std::min(shortest, rates.Tangential(v, i).norm() / rates.Tangential(fastest, i).maxCoeff());
  }
  stiffness_ = rates.Stiffness(v, slipping_);
  jacobian_ = space_.A(entries_, Eigen::all) * stiffness_;
  start_ = VectorXd::Zero(2 * v.size() + 2 * space_.n_contacts);
  start_.head(v.size()) = v;
  if (next_ == 0) next_ = shortest;
  double stop = INFINITY;
  for (const int i : slipping_) {
    const VectorXd slip = rates.Tangential(v, i);
    stop = std::min(
        stop, slip.squaredNorm() / std::max(0.0, -slip.dot(rates.Tangential(rates.rate(), i))));
  }
  for (int attempt = 0; attempt < 60; ++attempt) {
    step_ = std::min(next_, 0.8 * stop);
    const int columns = Extrapolate(step_);
    if (columns > 0) {
      next_ = step_ * (columns < 6 ? 4 : columns < 8 ? 1.5 : columns < kColumns ? 1 : 0.7);
      return true;
    }
    next_ =
        step_ * (std::isfinite(error_)
                     ? std::clamp(0.8 * std::pow(kTolerance / error_, 1.0 / kColumns), 0.05, 0.5)
                     : 0.05);
  }
  return false;
}

int TurningSlip::Extrapolate(double dP) {
  std::array<VectorXd, kColumns> row, last;
  error_ = INFINITY;
  for (int j = 0; j < kColumns; ++j) {
    if (!Euler(dP, j + 1, row[0])) return error_ = INFINITY, 0;
    for (int k = 1; k <= j; ++k) {
      const double ratio = static_cast<double>(j + 1) / (j + 1 - k);
      row[k] = row[k - 1] + (row[k - 1] - last[k - 1]) / (ratio - 1);
    }
    if (j > 2) {
      error_ = Error(row[j], row[j] - row[j - 1]);
      if (error_ <= kTolerance) {
        end_ = row[j];
        return j + 1;
      }
    }
    std::swap(row, last);
  }
  end_ = last[kColumns - 1];
  return 0;
}

bool TurningSlip::Euler(double dP, int parts, VectorXd& end) {
  const Eigen::Index size = space_.v_minus.size(), m = space_.n_contacts;
  const double h = dP / parts;
  const Eigen::PartialPivLU<MatrixXd> lu(MatrixXd::Identity(jacobian_.rows(), jacobian_.cols()) -
                                         h * jacobian_);
  end = start_;
  for (int part = 0; part < parts; ++part) {
    const VectorXd v = end.head(size);
    if (!rates_->Find(rates_->Directions(v))) return false;
    // Impulses of the linearised friction, so that momentum holds whatever the step.
    const VectorXd change = stiffness_ * lu.solve(h * rates_->rate()(entries_)),
                   p = rates_->p() + change;
    VectorXd dv = h * (rates_->rate() + space_.A * change);
    for (const int i : rates_->set()) {
      if (rates_->Sticks(i)) dv.segment(space_.Tangent(i), rates_->tangents()).setZero();
    }
    // A step past the end of slip would find no error in it where slip is straight.
    for (const int i : slipping_) {
      if (!(rates_->Tangential(v, i).dot(rates_->Tangential(v, i) + rates_->Tangential(dv, i)) > 0))
        return false;
    }
    const VectorXd mean = v + 0.5 * dv;
    end.head(size) += dv;
    end.segment(size, size) += h * p;
    for (const int i : rates_->set()) {
      end[2 * size + i] += h * p[space_.Normal(i)] * mean[space_.Normal(i)];
      end[2 * size + m + i] += h * rates_->Tangential(p, i).dot(rates_->Tangential(mean, i));
    }
  }
  return end.allFinite();
}

double TurningSlip::Error(const VectorXd& y, const VectorXd& error) const {
  const Eigen::Index size = space_.v_minus.size(), m = space_.n_contacts;
  double worst = std::max(error.head(size).cwiseAbs().maxCoeff() / speed_,
                          error.tail(2 * m).cwiseAbs().maxCoeff() / energy_);
  for (const int i : slipping_) {
    const auto slip = [&](const VectorXd& x) {
      return x.segment(space_.Tangent(i), rates_->tangents()).norm();
    };
    worst = std::max(worst, slip(error) / std::min(slip(y), slip(start_)));
  }
  return worst;
}

SlipStretch TurningSlip::At(double part) {
  const VectorXd whole = end_;
  if (part < 1) Extrapolate(part * step_);
  const Eigen::Index size = space_.v_minus.size(), m = space_.n_contacts;
  SlipStretch stretch{end_.head(size), end_.segment(size, size), end_.segment(2 * size, m),
                      end_.tail(m)};
  end_ = whole;
  return stretch;
}

}  // namespace impactlab::impact
