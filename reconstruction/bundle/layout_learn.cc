#include "reconstruction/bundle/layout_learn.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"

namespace impactlab {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

// Information of one impact on the layout: the information, and the gradient where the layout is
// now.
struct Pull {
  Pull(MatrixXd i, VectorXd g)
      : information(std::move(i)), gradient(std::move(g)), eigen(information) {
    const double least = 1e-10 * std::max(0.0, eigen.eigenvalues().maxCoeff());
    rank = static_cast<int>((eigen.eigenvalues().array() > least).count());
    inverse = (eigen.eigenvalues().array() > least)
                  .select(eigen.eigenvalues().array().max(1e-300).inverse(), 0);
  }
  // Chi-square of the disagreement with a step, of `rank` degrees.
  double Disagreement(const VectorXd& step) const {
    const VectorXd d = eigen.eigenvectors().transpose() * (gradient + information * step);
    return d.dot(inverse.cwiseProduct(d));
  }
  MatrixXd information;
  VectorXd gradient;
  Eigen::SelfAdjointEigenSolver<MatrixXd> eigen;
  VectorXd inverse;  // of the eigenvalues, 0 where the impact gives no information
  int rank = 0;
};

struct JointStep {
  VectorXd step;
  MatrixXd information;
  std::vector<double> weights;
};

// Least squares over all pulls and the prior, in which one whose disagreement is far beyond chance
// pulls no harder than one at its edge (Huber's weights, by iteration): an impact whose fit went
// wrong may claim anything.
JointStep StepTogether(const std::vector<Pull>& pulls, const MatrixXd& prior,
                       const VectorXd& prior_gradient) {
  constexpr double kChance = 1e-4, kStill = 1e-6;
  constexpr int kRounds = 100;
  JointStep out;
  out.weights.assign(pulls.size(), 1);
  for (int round = 0; round < kRounds; ++round) {
    out.information = prior;
    VectorXd gradient = prior_gradient;
    for (std::size_t i = 0; i < pulls.size(); ++i) {
      out.information += out.weights[i] * pulls[i].information;
      gradient += out.weights[i] * pulls[i].gradient;
    }
    out.step = -Eigen::LLT<MatrixXd>(out.information).solve(gradient);
    double change = 0;
    for (std::size_t i = 0; i < pulls.size(); ++i) {
      const double edge = ChiSquareQuantile(1 - kChance, std::max(1, pulls[i].rank)),
                   found = pulls[i].Disagreement(out.step);
      const double weight = found > edge ? std::sqrt(edge / found) : 1;
      change = std::max(change, std::abs(weight - out.weights[i]));
      out.weights[i] = weight;
    }
    if (change < kStill) break;
  }
  return out;
}

}  // namespace

LearnedLayout LearnLayout(const std::vector<const ImpactBundle*>& fits, const CameraRig& rig,
                          const std::vector<BodyMarker>& given, const std::vector<BodyMarker>& now,
                          double sd, double max_noise_scale) {
  if (!(sd > 0) || !std::isfinite(sd))
    throw ConfigError(
        fmt::format("learning a layout: found a standard deviation of {} m, allowed: above 0", sd));
  const auto n = static_cast<Eigen::Index>(3 * now.size());
  LearnedLayout out;
  out.markers = now;
  out.prior_sd = sd;
  VectorXd moved(n);
  for (std::size_t m = 0; m < now.size(); ++m) {
    out.given.push_back(given[m].p_BM);
    moved.segment<3>(3 * static_cast<Eigen::Index>(m)) = now[m].p_BM - given[m].p_BM;
  }
  MatrixXd directions = MatrixXd::Identity(n, n);
  std::vector<const ImpactBundle*> used;
  for (const ImpactBundle* fit : fits) {
    if (!fit->usable || fit->noise_scale > max_noise_scale || fit->layout_information.rows() != n)
      continue;
    used.push_back(fit);
    if (fit->observable) continue;
    directions = MatrixXd::Zero(n, n / 3);
    for (Eigen::Index m = 0; m < n / 3; ++m) directions.col(m).segment<3>(3 * m) = fit->axis_B;
  }
  out.impacts = static_cast<int>(used.size());
  std::vector<Pull> pulls;
  pulls.reserve(used.size());
  for (const ImpactBundle* fit : used)
    pulls.emplace_back(directions.transpose() * fit->layout_information * directions,
                       directions.transpose() * fit->layout_gradient);
  const MatrixXd prior = MatrixXd::Identity(directions.cols(), directions.cols()) / (sd * sd);
  const JointStep joint = StepTogether(pulls, prior, directions.transpose() * moved / (sd * sd));
  MatrixXd with_rig = MatrixXd::Zero(n, ParameterCount(rig));
  for (std::size_t i = 0; i < used.size(); ++i)
    with_rig += joint.weights[i] * used[i]->layout_rig_information;
  const Eigen::LLT<MatrixXd> llt(joint.information);
  const VectorXd step = directions * joint.step;
  MatrixXd& cov = out.knowledge.cov;
  cov = directions * llt.solve(directions.transpose()) +
        sd * sd * (MatrixXd::Identity(n, n) - directions * directions.transpose());
  cov = (0.5 * (cov + cov.transpose())).eval();
  out.knowledge.by_rig = -(directions * llt.solve(directions.transpose() * with_rig));
  MatrixXd all = cov;
  if (rig.covariance.size() > 0)
    all += out.knowledge.by_rig * rig.covariance * out.knowledge.by_rig.transpose();
  for (std::size_t m = 0; m < now.size(); ++m) {
    const auto at = static_cast<Eigen::Index>(3 * m);
    out.markers[m].p_BM += step.segment<3>(at);
    out.sd.emplace_back(all.diagonal().segment<3>(at).cwiseSqrt());
    for (int i = 0; i < 3; ++i)
      out.step = std::max(out.step, std::abs(step[at + i]) / std::sqrt(cov(at + i, at + i)));
  }
  return out;
}

std::vector<std::string> LearnedLayout::Doubts(const std::vector<std::string>& names) const {
  // standard deviations, of what was known before and what is still unknown
  constexpr double kBeyond = 4;
  std::vector<std::string> out;
  for (std::size_t m = 0; m < markers.size(); ++m) {
    const Vector3d off = markers[m].p_BM - given[m];
    const Vector3d allowed = kBeyond * (sd[m].cwiseAbs2().array() + prior_sd * prior_sd).sqrt();
    if ((off.cwiseAbs().array() <= allowed.array()).all()) continue;
    out.push_back(fmt::format(
        "marker {}: all impacts together put it ({:+.2f}, {:+.2f}, {:+.2f}) mm from where the "
        "layout has it, known to {:.2g} mm",
        Excerpt(names.at(m)), 1e3 * off.x(), 1e3 * off.y(), 1e3 * off.z(), 1e3 * prior_sd));
  }
  return out;
}

}  // namespace impactlab
