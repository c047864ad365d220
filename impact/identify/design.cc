#include "impact/identify/design.h"

#include <fmt/core.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/base/error.h"
#include "data/math/linear_algebra.h"
#include "impact/identify/detail/event_residual.h"
#include "impact/identify/detail/variance.h"

namespace impactlab {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;
using impact::EventAt;
using impact::Mat;
using impact::PreparedEvent;

double StandardNormal(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

void SetPlus(const Eigen::Matrix<double, 6, 1>& change, ImpactEvent* event) {
  event->v_plus = event->v_minus + change.head<3>();
  event->omega_plus = event->omega_minus + change.tail<3>();
}

// The event with the plus state of the law.
ImpactEvent Exact(const PlannedImpact& planned, const Body& body, const ImpactModel& model) {
  ImpactEvent event = planned.event;
  const ImpactOutcome outcome = Solve(event.contact, model);
  SetPlus(impact::WrenchToVelocity(event, body).leftCols<3>() * outcome.J_F, &event);
  return event;
}

void Shift(const Eigen::Matrix<double, kEventDim, 1>& by, ImpactEvent* event) {
  event->v_minus += by.segment<3>(kVMinus);
  event->omega_minus += by.segment<3>(kOmegaMinus);
  event->v_plus += by.segment<3>(kVPlus);
  event->omega_plus += by.segment<3>(kOmegaPlus);
  event->p_WP += by.segment<3>(kLever);
}

// One impact as identification weighs it: derivative and covariance of the impulse.
struct Weighed {
  EventAt at;
  Mat S, D;  // of noise and scatter; of scatter alone
};

bool Weigh(PreparedEvent& event, const ImpactModel& model, const ImpactScatter& scatter,
           Weighed* out) {
  Mat V = event.N_cc;
  const double floor = impact::kScatterFloor * impact::kScatterFloor;
  V.diagonal().array() +=
      std::max(std::pow(scatter.wrench.sd_couple, 2), floor) + 1e-14 * event.N_cc.trace();
  event.V_cc_inverse = V.llt().solve(Mat::Identity(event.dim_c, event.dim_c));
  event.c_whitened = event.V_cc_inverse * event.z_c;
  out->at = impact::EvaluateEvent(event, model, impact::Need::kNoise);
  if (!out->at.ok) return false;
  out->D = Mat::Zero(event.dim, event.dim);
  out->D.diagonal().setConstant(std::max(std::pow(scatter.wrench.sd_tangential, 2), floor));
  out->D(event.dim - 1, event.dim - 1) = std::max(std::pow(scatter.wrench.sd_normal, 2), floor);
  out->D += std::pow(scatter.sd_mu, 2) * Mat(out->at.G.col(0) * out->at.G.col(0).transpose());
  out->D += std::pow(scatter.sd_e, 2) * Mat(out->at.G.col(1) * out->at.G.col(1).transpose());
  out->S = out->at.N + out->D;
  return true;
}

Matrix2d FisherInformation(const impact::Jac& G, const Mat& S) {
  return G.transpose() * S.llt().solve(Mat(Mat::Identity(S.rows(), S.cols()))) * G;
}

Matrix2d Vague(int drops) { return kVagueInformation / std::max(1, drops) * Matrix2d::Identity(); }

Matrix2d Weighting(const Vector2d& wanted) {
  return wanted.cwiseAbs2().cwiseInverse().asDiagonal();
}

}  // namespace

double CoefficientPrior::Draw(double top, std::mt19937_64& random) const {
  double x = a;
  if (kind == Kind::kUniform) x = std::uniform_real_distribution<double>(a, b)(random);
  if (kind == Kind::kNormal) x = a + b * StandardNormal(random);
  return std::clamp(x, 0.0, top);
}

ImpactEvent DrawEvent(const PlannedImpact& planned, const Body& body, const ImpactModel& truth,
                      const ImpactScatter& scatter, std::mt19937_64& random) {
  constexpr double kWild = 10;
  ImpactEvent event = planned.event;
  ImpactModel model = truth;
  model.mu_k = std::max(0.0, truth.mu_k + scatter.sd_mu * StandardNormal(random));
  model.mu_s = std::max(model.mu_k, truth.mu_s);
  model.e = std::clamp(truth.e + scatter.sd_e * StandardNormal(random), 0.0, 1.0);
  const ImpactOutcome outcome = Solve(event.contact, model);
  const double p = -event.contact.v_minus_F.z() / event.contact.A_F(2, 2);
  const bool wild = std::uniform_real_distribution<double>(0, 1)(random) < scatter.wild_share;
  const double size = p * (wild ? kWild : 1), k = RadiusOfGyration(body);
  Eigen::Matrix<double, 6, 1> sd;
  sd << scatter.wrench.sd_tangential, scatter.wrench.sd_tangential, scatter.wrench.sd_normal,
      k * Eigen::Vector3d::Constant(scatter.wrench.sd_couple);
  if (body.planar) sd[1] = sd[3] = sd[5] = 0;
  Eigen::Matrix<double, 6, 1> wrench;
  for (int i = 0; i < 6; ++i) wrench[i] = size * sd[i] * StandardNormal(random);
  wrench.head<3>() += outcome.J_F;
  SetPlus(impact::WrenchToVelocity(event, body) * wrench, &event);
  const SymmetricEigen eigen = EigenOf(event.cov);
  const EventCovariance vectors = eigen.vectors;
  Eigen::Matrix<double, kEventDim, 1> white;
  for (int i = 0; i < kEventDim; ++i)
    white[i] = std::sqrt(std::max(0.0, eigen.values[i])) * StandardNormal(random);
  Shift(vectors * white, &event);
  UpdateContact(event, body, planned.floor, planned.gravity_W);
  return event;
}

std::vector<ImpactEvent> DrawCampaign(std::span<const PlannedSetting> settings,
                                      std::span<const int> counts, const Body& body,
                                      const ImpactModel& truth, const ImpactScatter& scatter,
                                      std::mt19937_64& random) {
  std::vector<ImpactEvent> events;
  int drop = 0;
  for (std::size_t c = 0; c < settings.size(); ++c) {
    for (int k = 0; k < counts[c]; ++k) {
      ++drop;
      const PlannedSetting& setting = settings[c];
      const PlannedImpact& planned =
          setting[std::uniform_int_distribution<std::size_t>(0, setting.size() - 1)(random)];
      if (!planned.event.accepted) continue;
      events.push_back(DrawEvent(planned, body, truth, scatter, random));
      events.back().recording = fmt::format("drop_{:04}", drop);
    }
  }
  return events;
}

SettingInformation InformationOf(const PlannedSetting& setting, const Body& body,
                                 const ImpactModel& model, const ImpactScatter& scatter) {
  SettingInformation told;
  int usable = 0;
  for (const PlannedImpact& planned : setting) {
    if (!planned.event.accepted) continue;
    const ImpactEvent event = Exact(planned, body, model);
    std::vector<PreparedEvent> prepared = impact::PrepareEvents({&event, 1}, body);
    Weighed w;
    if (prepared.empty() || !Weigh(prepared.front(), model, scatter, &w)) continue;
    ++usable;
    told.total += FisherInformation(w.at.G, w.S);
    told.scatter_only += FisherInformation(w.at.G, w.D);
    Mat N = w.at.N;
    N.diagonal().array() +=
        impact::kScatterFloor * impact::kScatterFloor + 1e-10 * std::max(0.0, N.trace());
    told.noise_only += FisherInformation(w.at.G, N);
    told.cases[static_cast<std::size_t>(std::clamp(w.at.digit, 0, 6))] += 1;
  }
  const double n = static_cast<double>(std::max<std::size_t>(1, setting.size()));
  for (Matrix2d* M : {&told.total, &told.scatter_only, &told.noise_only}) *M /= n;
  for (double& share : told.cases) share /= std::max(1, usable);
  told.usable = usable / n;
  return told;
}

Matrix2d CommonCovariance(std::span<const PlannedSetting> settings, std::span<const int> counts,
                          const Body& body, const ImpactModel& model, const ImpactScatter& scatter,
                          double inertia_sd) {
  Body other = body;
  other.inertia_B *= 1 + inertia_sd;
  Matrix2d M = Vague(1);
  Eigen::Matrix<double, 2, Eigen::Dynamic> pull;  // of every error
  for (std::size_t c = 0; c < settings.size(); ++c) {
    if (counts[c] == 0) continue;
    const double weight = counts[c] / static_cast<double>(settings[c].size());
    for (const PlannedImpact& planned : settings[c]) {
      if (!planned.event.accepted) continue;
      const ImpactEvent exact = Exact(planned, body, model);
      std::vector<PreparedEvent> prepared = impact::PrepareEvents({&exact, 1}, body);
      Weighed w;
      if (prepared.empty() || !Weigh(prepared.front(), model, scatter, &w)) continue;
      const Eigen::Index n = planned.common.cols();
      if (pull.cols() == 0) pull = Eigen::Matrix<double, 2, Eigen::Dynamic>::Zero(2, n + 1);
      const impact::Jac weighted = w.S.llt().solve(w.at.G);
      M += weight * w.at.G.transpose() * weighted;
      for (Eigen::Index k = 0; k <= n; ++k) {
        if (k == n && !(inertia_sd > 0)) continue;
        const Body& seen = k < n ? body : other;
        ImpactEvent event = exact;
        if (k < n) Shift(planned.common.col(k), &event);
        UpdateContact(event, seen, planned.floor, planned.gravity_W);
        std::vector<PreparedEvent> shifted = impact::PrepareEvents({&event, 1}, seen);
        if (shifted.empty()) continue;
        // The couple's share of the residual is part of the weighing: its scatter decides how far a
        // wrong couple pulls.
        Weighed moved;
        if (!Weigh(shifted.front(), model, scatter, &moved)) continue;
        pull.col(k) += weight * weighted.transpose() * (moved.at.r - w.at.r);
      }
    }
  }
  if (pull.cols() == 0) return Matrix2d::Zero();
  const Eigen::Matrix<double, 2, Eigen::Dynamic> shift = M.ldlt().solve(pull);
  return shift * shift.transpose();
}

std::vector<double> AllocateShares(const std::vector<std::vector<SettingInformation>>& information,
                                   DesignCriterion criterion, const Vector2d& wanted, int drops) {
  const std::size_t n = information.size();
  double any = 0;
  for (const auto& setting : information)
    for (const SettingInformation& told : setting) any += told.total.trace();
  if (!(any > 0)) throw ConfigError("plan: no setting gives an impact that could be used");
  const std::size_t n_prior = information.front().size();
  const Matrix2d K = Weighting(wanted), R = Vague(drops);
  std::vector<double> w(n, 1.0 / static_cast<double>(n)), gain(n);
  constexpr int kIterations = 3000;
  constexpr double kDone = 1e-4;  // relative distance from the optimum, by the equivalence theorem
  // Shares are multiplied by their gains (Yu 2010), which keeps them positive; a criterion of
  // determinants and traces is no sum of squares.
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    std::fill(gain.begin(), gain.end(), 0.0);
    for (std::size_t j = 0; j < n_prior; ++j) {
      Matrix2d M = R;
      for (std::size_t c = 0; c < n; ++c) M += w[c] * information[c][j].total;
      const Matrix2d inverse = M.inverse();
      const Matrix2d slope =
          criterion == DesignCriterion::kD ? inverse : Matrix2d(inverse * K * inverse);
      // R is part of what every drop brings, so that the gains of the optimum are all alike.
      for (std::size_t c = 0; c < n; ++c)
        gain[c] += (slope * (information[c][j].total + R)).trace();
    }
    double mean = 0, best = 0;
    for (std::size_t c = 0; c < n; ++c) {
      mean += w[c] * gain[c];
      best = std::max(best, gain[c]);
    }
    if (best < mean * (1 + kDone)) break;
    double sum = 0;
    for (std::size_t c = 0; c < n; ++c)
      sum += w[c] *= criterion == DesignCriterion::kD ? gain[c] / mean : std::sqrt(gain[c] / mean);
    for (double& x : w) x /= sum;
  }
  const double least = 0.5 / std::max(1, drops);
  double sum = 0;
  for (double& x : w) sum += x = x < least ? 0 : x;
  for (double& x : w) x /= sum;
  return w;
}

std::vector<int> RoundShares(std::span<const double> shares, int drops) {
  // More settings than drops: the largest shares have it.
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  while (!order.empty() && (order.size() > static_cast<std::size_t>(std::max(0, drops)) ||
                            !(shares[order.back()] > 0)))
    order.pop_back();
  std::vector<int> counts(shares.size(), 0);
  const double size = static_cast<double>(order.size());
  double kept = 0;
  for (const std::size_t c : order) kept += shares[c];
  int sum = 0;
  for (const std::size_t c : order)
    sum += counts[c] =
        std::max(1, static_cast<int>(std::ceil((drops - 0.5 * size) * shares[c] / kept)));
  while (sum != drops && !order.empty()) {
    const bool more = sum < drops;
    const auto cost = [&](std::size_t c) { return (more ? counts[c] : counts[c] - 1) / shares[c]; };
    const auto by_cost = [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); };
    const std::size_t c = more ? *std::min_element(order.begin(), order.end(), by_cost)
                               : *std::max_element(order.begin(), order.end(), by_cost);
    counts[c] += more ? 1 : -1;
    sum += more ? 1 : -1;
  }
  return counts;
}

}  // namespace impactlab
