#include "reconstruction/layout_learn.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>

#include "data/error.h"

namespace impactlab {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

LearnedLayout LearnLayout(const std::vector<const DropFit*>& fits, const CameraRig& rig, const std::vector<BodyMarker>& given,
                          const std::vector<BodyMarker>& now, double sd, double max_noise_scale) {
  if (!(sd > 0) || !std::isfinite(sd))
    throw ConfigError(fmt::format("learning a layout: found a standard deviation of {} m, allowed: above 0", sd));
  const auto n = static_cast<Eigen::Index>(3 * now.size());
  LearnedLayout out;
  out.markers = now;
  out.prior_sd = sd;
  VectorXd moved(n);
  for (std::size_t m = 0; m < now.size(); ++m) {
    out.given.push_back(given[m].p_BM);
    moved.segment<3>(3 * static_cast<Eigen::Index>(m)) = now[m].p_BM - given[m].p_BM;
  }
  MatrixXd information = MatrixXd::Identity(n, n) / (sd * sd), with_rig = MatrixXd::Zero(n, ParameterCount(rig));
  VectorXd gradient = moved / (sd * sd);
  MatrixXd directions = MatrixXd::Identity(n, n);
  for (const DropFit* fit : fits) {
    if (!fit->usable || fit->noise_scale > max_noise_scale || fit->layout_information.rows() != n) continue;
    information += fit->layout_information;
    with_rig += fit->layout_rig_information;
    gradient += fit->layout_gradient;
    ++out.impacts;
    if (fit->observable) continue;
    directions = MatrixXd::Zero(n, n / 3);
    for (Eigen::Index m = 0; m < n / 3; ++m) directions.col(m).segment<3>(3 * m) = fit->axis_B;
  }
  const MatrixXd free = directions.transpose() * information * directions;
  const Eigen::LLT<MatrixXd> llt(free);
  const VectorXd step = -(directions * llt.solve(directions.transpose() * gradient));
  MatrixXd& cov = out.knowledge.cov;
  cov = directions * llt.solve(directions.transpose()) + sd * sd * (MatrixXd::Identity(n, n) - directions * directions.transpose());
  cov = (0.5 * (cov + cov.transpose())).eval();
  out.knowledge.by_rig = -(directions * llt.solve(directions.transpose() * with_rig));
  MatrixXd all = cov;
  if (rig.covariance.size() > 0) all += out.knowledge.by_rig * rig.covariance * out.knowledge.by_rig.transpose();
  for (std::size_t m = 0; m < now.size(); ++m) {
    const auto at = static_cast<Eigen::Index>(3 * m);
    out.markers[m].p_BM += step.segment<3>(at);
    out.sd.emplace_back(all.diagonal().segment<3>(at).cwiseSqrt());
    for (int i = 0; i < 3; ++i) out.step = std::max(out.step, std::abs(step[at + i]) / std::sqrt(cov(at + i, at + i)));
  }
  return out;
}

std::vector<std::string> LearnedLayout::Doubts() const {
  constexpr double kBeyond = 4;  // standard deviations, of what was known before and what is still unknown
  std::vector<std::string> out;
  for (std::size_t m = 0; m < markers.size(); ++m) {
    const Vector3d off = markers[m].p_BM - given[m];
    const Vector3d allowed = kBeyond * (sd[m].cwiseAbs2().array() + prior_sd * prior_sd).sqrt();
    if ((off.cwiseAbs().array() <= allowed.array()).all()) continue;
    out.push_back(fmt::format(
        "marker {}: all impacts together put it ({:+.2f}, {:+.2f}, {:+.2f}) mm from where the layout has it, known to {:.2g} mm", m + 1,
        1e3 * off.x(), 1e3 * off.y(), 1e3 * off.z(), 1e3 * prior_sd));
  }
  return out;
}

}  // namespace impactlab
