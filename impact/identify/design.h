#pragma once
// Design of experiments on friction and restitution: information of planned impacts on
// (mu, e), and how many of which to make.
//
// An impact of a setting carries the Fisher information M = G' S^-1 G of its impulse, G the
// derivative by (mu, e), S the noise of its measurement and the scatter of impulses from impact to
// impact, both as identification counts them (impact/identify/detail/event_residual.h). Shares w_c
// of the settings minimise the mean over the prior of
//
//     D:  -log det M(w)          A:  tr(K M(w)^-1),  K = diag(1 / wanted half width squared),
//     M(w) = sum_c w_c M_c + R
//
// by multiplicative iterations. R is the little that is known beforehand of any coefficient, a
// uniform one on [0, 1]: impacts that all stick leave mu to it. Shares become whole drops by
// efficient apportionment.
//
// Sources: Bayesian optimal design, Chaloner and Verdinelli, Stat. Sci. 10 (1995) 273;
// multiplicative algorithms, Yu, Ann. Stat. 38 (2010) 1593; apportionment, Pukelsheim and Rieder,
// Biometrika 79 (1992) 763.

#include <Eigen/Core>
#include <array>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "impact/body/event.h"
#include "impact/law/solve.h"

namespace impactlab {

// Prior of a coefficient.
struct CoefficientPrior {
  enum class Kind { kFixed, kUniform, kNormal } kind = Kind::kFixed;
  double a = 0, b = 0;  // value; or ends; or mean and standard deviation
  double Mean() const { return kind == Kind::kUniform ? 0.5 * (a + b) : a; }
  // Inside [0, top].
  double Draw(double top, std::mt19937_64& random) const;
};

// How impulses differ from impact to impact beyond what mu and e explain.
struct ImpactScatter {
  // relative to m_eff |v_n-| (the couple: times the radius of gyration)
  Discrepancy wrench;
  double sd_mu = 0, sd_e = 0;  // of the coefficients themselves
  double wild_share = 0;       // of impacts whose wrench scatters ten times as much
};

// An impact that may be made: true states before it, contact and pose. `event.cov` is the
// covariance that its measurement would have, of what differs from impact to impact; not accepted
// where it could not be used.
struct PlannedImpact {
  ImpactEvent event;
  Plane floor;
  Eigen::Vector3d gravity_W = Eigen::Vector3d(0, 0, -9.80665);
  // What errors that all impacts share do to the measured quantities, one standard deviation of one
  // of them a column, in the same order for all impacts.
  Eigen::Matrix<double, kEventDim, Eigen::Dynamic> common;
};
// impacts as they may come out of one setting, all as likely
using PlannedSetting = std::vector<PlannedImpact>;

// The impact as it would be measured where (mu, e) are those of `truth`: impulse with scatter,
// states and lever with noise.
ImpactEvent DrawEvent(const PlannedImpact& planned, const Body& body, const ImpactModel& truth,
                      const ImpactScatter& scatter, std::mt19937_64& random);

// Drops counts[c] times from setting c. Recordings are numbered through; impacts that could not be
// used are left out.
std::vector<ImpactEvent> DrawCampaign(std::span<const PlannedSetting> settings,
                                      std::span<const int> counts, const Body& body,
                                      const ImpactModel& truth, const ImpactScatter& scatter,
                                      std::mt19937_64& random);

// Mean information of one drop from a setting, for one (mu, e); drops that cannot be used tell
// nothing.
struct SettingInformation {
  Eigen::Matrix2d total = Eigen::Matrix2d::Zero();         // scatter and noise
  Eigen::Matrix2d scatter_only = Eigen::Matrix2d::Zero();  // were the measurement exact
  Eigen::Matrix2d noise_only = Eigen::Matrix2d::Zero();    // did impulses not scatter
  // share of each digit of the case among usable drops
  std::array<double, 7> cases{};
  double usable = 0;  // share of drops
};
SettingInformation InformationOf(const PlannedSetting& setting, const Body& body,
                                 const ImpactModel& model, const ImpactScatter& scatter);

// Covariance of (mu, e) by the errors that all impacts share (PlannedImpact::common, and all
// moments of the body by `inertia_sd`, relative), to first order. It does not shrink with the
// number of drops.
Eigen::Matrix2d CommonCovariance(std::span<const PlannedSetting> settings,
                                 std::span<const int> counts, const Body& body,
                                 const ImpactModel& model, const ImpactScatter& scatter,
                                 double inertia_sd);

enum class DesignCriterion { kD, kA };

// What a coefficient uniform on [0, 1] has: 1 / variance.
inline constexpr double kVagueInformation = 12;

// Shares of the settings, summing to 1. `information[c][j]`: of setting c at draw j of the prior;
// `drops` sets how much the vague knowledge counts against them; `wanted`: half widths of mu and e,
// for the A criterion. Settings that get less than half a drop get none. ConfigError where no
// setting tells anything.
std::vector<double> AllocateShares(const std::vector<std::vector<SettingInformation>>& information,
                                   DesignCriterion criterion, const Eigen::Vector2d& wanted,
                                   int drops);

// Whole drops that stand for the shares.
std::vector<int> RoundShares(std::span<const double> shares, int drops);

}  // namespace impactlab
