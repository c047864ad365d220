// The parts of the identification against differences: linearised noise, likelihoods, gradients,
// predictions.

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "impact/identify/detail/event_residual.h"
#include "impact/identify/detail/law_fit.h"
#include "impact/identify/detail/profile_interval.h"
#include "impact/identify/detail/variance.h"
#include "impact/identify/identify.h"
#include "tests/impact/identify_twin.h"

namespace impactlab {
namespace {

using impact::EvaluateAt;
using impact::FitPoint;
using impact::FitTask;
using impact::Need;
using impact::PreparedEvent;

const Likelihood kLikelihoods[] = {Likelihood::kGaussian, Likelihood::kStudentT,
                                   Likelihood::kContamination};

// The event with one of its measured quantities moved.
ImpactEvent Moved(ImpactEvent event, const Body& body, int quantity, double step) {
  Eigen::Vector3d* parts[] = {&event.v_minus, &event.omega_minus, &event.v_plus, &event.omega_plus,
                              &event.p_WP};
  (*parts[quantity / 3])[quantity % 3] += step;
  UpdateContact(event, body, Plane{}, {0, 0, -9.8});
  return event;
}

std::vector<int> Quantities(bool planar) {
  if (planar) return {0, 2, 4, 6, 8, 10, 12, 14};
  return {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
}

Eigen::Matrix<double, 6, 1> Plus(const ImpactEvent& event, const Body& body,
                                 const ImpactModel& model) {
  return Predict(event, body, model, LawFit{}).plus;
}

class ByBody : public ::testing::TestWithParam<bool> {
 protected:
  Body body = GetParam() ? twin::Square() : MakeBox({0.1, 0.08, 0.06}, 0.5);
};
INSTANTIATE_TEST_SUITE_P(PlanarAndSpatial, ByBody, ::testing::Bool());

TEST_P(ByBody, PlusStateByInputsMatchesDifferences) {
  std::mt19937_64 random(1);
  const ImpactModel model{{0.6, 0.15, 0.15}, RestitutionLaw::kEnergetic};
  int checked = 0;
  for (int i = 0; i < 12; ++i) {
    const ImpactEvent event = twin::RandomEvent(body, {}, random, i);
    const auto F = impact::PlusByInputs(event, body, Differentiate(event.contact, model));
    const int digit = Solve(event.contact, model).path_case.digit;
    for (int q : Quantities(body.planar)) {
      const double h = q >= kLever ? 1e-7 : (q / 3) % 2 == 0 ? 1e-6 : 1e-5;
      const ImpactEvent up = Moved(event, body, q, h), down = Moved(event, body, q, -h);
      if (Solve(up.contact, model).path_case.digit != digit ||
          Solve(down.contact, model).path_case.digit != digit)
        continue;
      const Eigen::Matrix<double, 6, 1> difference =
          (Plus(up, body, model) - Plus(down, body, model)) / (2 * h);
      EXPECT_LT((difference - F.col(q)).norm(), 2e-5 * (1 + F.col(q).norm()))
          << "event " << i << " quantity " << q;
      ++checked;
    }
  }
  EXPECT_GT(checked, 80);
}

// Noise of the impulse residual given the couple, against the full covariance of (impulse, couple)
// built from differences.
TEST_P(ByBody, ConditionalNoiseMatchesDifferences) {
  std::mt19937_64 random(2);
  const ImpactModel model{{0.5, 0.2, 0.2}, RestitutionLaw::kPoisson};
  twin::Options options;
  options.sd_c = 0.01;
  for (int i = 0; i < 6; ++i) {
    std::vector<ImpactEvent> one{twin::RandomEvent(body, options, random, i)};
    std::vector<PreparedEvent> prepared = impact::PrepareEvents(one, body);
    ASSERT_EQ(prepared.size(), 1u);
    PreparedEvent& event = prepared[0];
    const double s_c = 0.003;
    const impact::Mat V = event.N_cc + s_c * s_c * impact::Mat::Identity(event.dim_c, event.dim_c);
    event.V_cc_inverse = V.inverse();
    event.c_whitened = event.V_cc_inverse * event.z_c;
    const impact::EventAt at = EvaluateEvent(event, model, Need::kNoise);
    // Residuals as functions of the measured quantities, in the units of the unmoved event.
    const int m = event.dim + event.dim_c;
    const auto residual = [&](const ImpactEvent& moved) {
      const std::vector<ImpactEvent> list{moved};
      const PreparedEvent other = impact::PrepareEvents(list, body)[0];
      Eigen::VectorXd r(m);
      r.head(event.dim) = EvaluateEvent(other, model, Need::kResidual).r * other.p / event.p;
      r.tail(event.dim_c) = other.z_c * other.p / event.p;
      return r;
    };
    Eigen::MatrixXd F = Eigen::MatrixXd::Zero(m, kEventDim);
    for (int q : Quantities(body.planar)) {
      const double h = q >= kLever ? 1e-7 : (q / 3) % 2 == 0 ? 1e-6 : 1e-5;
      F.col(q) =
          (residual(Moved(one[0], body, q, h)) - residual(Moved(one[0], body, q, -h))) / (2 * h);
    }
    const Eigen::MatrixXd N = F * one[0].cov * F.transpose();
    EXPECT_LT((N.bottomRightCorner(event.dim_c, event.dim_c) - event.N_cc).norm(),
              1e-4 * event.N_cc.norm());
    Eigen::MatrixXd full = N;
    full.bottomRightCorner(event.dim_c, event.dim_c) +=
        s_c * s_c * Eigen::MatrixXd::Identity(event.dim_c, event.dim_c);
    const Eigen::MatrixXd K = full.topRightCorner(event.dim, event.dim_c) *
                              full.bottomRightCorner(event.dim_c, event.dim_c).inverse();
    const Eigen::MatrixXd conditional =
        N.topLeftCorner(event.dim, event.dim) - K * full.bottomLeftCorner(event.dim_c, event.dim);
    EXPECT_LT((conditional - at.N).norm(), 1e-3 * conditional.norm()) << i;
    EXPECT_LT((K * event.z_c - at.shift).norm(), 1e-3 * (1e-6 + at.shift.norm())) << i;
  }
}

TEST(IdentifyShape, DensitiesIntegrateToOneAndSlopesMatchDifferences) {
  for (Likelihood likelihood : kLikelihoods) {
    const impact::Shape one({.likelihood = likelihood}, 1);
    double integral = 0;
    const double step = 0.01;
    for (int i = -40000; i <= 40000; ++i)
      integral += step * std::exp(-0.5 * one(std::pow(i * step, 2))[0]);
    EXPECT_NEAR(integral, 1, 1e-4);
    for (int dim : {1, 2, 3}) {
      const impact::Shape shape({.likelihood = likelihood}, dim);
      for (double q : {0.0, 0.3, 2.0, 9.0, 30.0, 400.0}) {
        const double h = 1e-4 * (1 + q);
        EXPECT_NEAR(shape(q)[1],
                    (shape(q + h)[0] - shape(std::max(0.0, q - h))[0]) / (q > 0 ? 2 * h : h), 1e-3);
        if (q > 0) {
          EXPECT_NEAR(shape(q)[2], (shape(q + h)[1] - shape(q - h)[1]) / (2 * h), 1e-4);
        }
      }
    }
  }
}

TEST(IdentifyVariance, GradientAndHessianMatchDifferences) {
  std::mt19937_64 random(3);
  for (Likelihood likelihood : kLikelihoods) {
    for (int dim : {1, 2, 3}) {
      const impact::Shape shape({.likelihood = likelihood}, dim);
      impact::VarianceData data;
      data.n_groups = dim == 1 ? 1 : 4;
      for (int i = 0; i < 15; ++i) {
        impact::Vec r(dim), a(dim), b(dim);
        for (int k = 0; k < dim; ++k) {
          r[k] = 0.1 * twin::Normal(random);
          a[k] = twin::Normal(random);
          b[k] = twin::Normal(random);
        }
        data.r.push_back(r);
        data.N.push_back(1e-4 * (impact::Mat::Identity(dim, dim) + impact::Mat(a * a.transpose())));
        impact::Mat t = impact::Mat::Identity(dim, dim), n = impact::Mat::Zero(dim, dim);
        if (dim > 1) {
          t(dim - 1, dim - 1) = 0;
          n(dim - 1, dim - 1) = 1;
        }
        data.E.push_back({t, n, impact::Mat(a * a.transpose()), impact::Mat(b * b.transpose())});
        data.multiplicity.push_back(i % 3);
      }
      const double log_s[] = {-2.5, -3.0, -3.5, -2.0};
      Eigen::Vector4d gradient, up, down;
      Eigen::Matrix4d hessian;
      VarianceCost(data, shape, log_s, &gradient, &hessian);
      for (int g = 0; g < data.n_groups; ++g) {
        double moved[4];
        std::copy(log_s, log_s + 4, moved);
        const double h = 1e-5;
        moved[g] = log_s[g] + h;
        const double above = VarianceCost(data, shape, moved, &up, nullptr);
        moved[g] = log_s[g] - h;
        const double below = VarianceCost(data, shape, moved, &down, nullptr);
        EXPECT_NEAR(gradient[g], (above - below) / (2 * h), 1e-5 * (1 + std::abs(gradient[g])));
        for (int k = 0; k < data.n_groups; ++k) {
          EXPECT_NEAR(hessian(g, k), (up[k] - down[k]) / (2 * h),
                      1e-5 * (1 + std::abs(hessian(g, k))))
              << dim << g << k;
        }
      }
    }
  }
}

TEST(IdentifyVariance, FindsTheVarianceOfKnownData) {
  // Gaussian, no noise: the maximum-likelihood variance is the mean square.
  impact::VarianceData data;
  double sum = 0;
  std::mt19937_64 random(4);
  for (int i = 0; i < 50; ++i) {
    data.r.push_back(impact::Vec::Constant(1, 0.07 * twin::Normal(random)));
    data.N.push_back(impact::Mat::Zero(1, 1));
    data.E.push_back({impact::Mat::Identity(1, 1)});
    data.multiplicity.push_back(1);
    sum += data.r.back()[0] * data.r.back()[0] / 50;
  }
  for (double start : {-9.0, -2.0, 2.0}) {
    std::vector<double> log_s{start};
    FitVariance(data, impact::Shape({.likelihood = Likelihood::kGaussian}, 1), log_s);
    EXPECT_NEAR(std::exp(2 * log_s[0]), sum, 1e-4 * sum) << start;
  }
  // All of it noise: the variance goes to its floor and stays finite.
  for (impact::Mat& N : data.N) N(0, 0) = 0.1;
  std::vector<double> log_s{-2};
  FitVariance(data, impact::Shape({.likelihood = Likelihood::kGaussian}, 1), log_s);
  EXPECT_LT(log_s[0], std::log(0.01));
}

// Friction cannot vary by more than itself: what a bound holds stays on it, and the rest is fitted
// beside it.
TEST(IdentifyVariance, KeepsToTheMostThatIsAllowed) {
  std::mt19937_64 random(8);
  impact::VarianceData data;
  data.n_groups = 2;
  double sum = 0;
  for (int i = 0; i < 60; ++i) {
    impact::Mat both = impact::Mat::Identity(2, 2), n = impact::Mat::Zero(2, 2);
    n(1, 1) = 1;
    impact::Vec r(2);
    r << 0.02 * twin::Normal(random), 0.05 * twin::Normal(random);
    data.r.push_back(r);
    data.N.push_back(impact::Mat::Zero(2, 2));
    data.E.push_back({both, n});
    data.multiplicity.push_back(1);
    sum += r[1] * r[1] / 60;
  }
  const impact::Shape normal({.likelihood = Likelihood::kGaussian}, 2);
  for (const double most : {0.005, 0.01}) {
    data.most = {most, 1e3, 1e3, 1e3};
    for (const double start : {-19.0, -5.0, 2.0}) {
      std::vector<double> log_s{start, start};
      FitVariance(data, normal, log_s);
      EXPECT_NEAR(std::exp(log_s[0]), most, 1e-9) << most << " " << start;
      EXPECT_NEAR(std::exp(2 * log_s[0]) + std::exp(2 * log_s[1]), sum, 1e-4 * sum)
          << most << " " << start;
    }
  }
}

// A variance that a poor start drives to zero must come back: in log s zero is flat.
TEST(IdentifyVariance, LeavesZeroWhereTheDataCallForScatter) {
  std::mt19937_64 random(8);
  impact::VarianceData data;
  data.n_groups = 2;
  for (int i = 0; i < 60; ++i) {
    impact::Vec r(2);
    r << 0.04 * twin::Normal(random), 0.03 * twin::Normal(random);
    data.r.push_back(r);
    data.N.push_back(1e-6 * impact::Mat::Identity(2, 2));
    impact::Mat t = impact::Mat::Zero(2, 2), n = impact::Mat::Zero(2, 2);
    t(0, 0) = n(1, 1) = 1;
    data.E.push_back({t, n});
    data.multiplicity.push_back(1);
  }
  for (Likelihood likelihood : kLikelihoods) {
    const impact::Shape shape({.likelihood = likelihood}, 2);
    std::vector<double> good{-3, -3}, trapped{-3, -19};
    FitVariance(data, shape, good);
    FitVariance(data, shape, trapped);
    EXPECT_NEAR(good[0], trapped[0], 1e-3);
    EXPECT_NEAR(good[1], trapped[1], 1e-3);
  }
}

// Cost at (mu, e) with the covariances S_i held at those of `at`, and its gradient by (mu, e): what
// the descents see.
double CostAt(const FitTask& task, const FitPoint& at, double mu, double e,
              Eigen::Vector2d* gradient) {
  double cost = 0;
  if (gradient != nullptr) gradient->setZero();
  for (std::size_t i = 0; i < task.events->size(); ++i) {
    const impact::EventAt now =
        EvaluateEvent((*task.events)[i], ModelAt(task, mu, e), Need::kDerivative);
    const impact::Vec r = now.r - at.at[i].shift;
    const Eigen::LLT<impact::Mat> llt(at.S[i]);
    const impact::Vec solved = llt.solve(r);
    const std::array<double, 3> rho = task.shape(r.dot(solved));
    cost += 0.5 * task.multiplicity[i] *
            (rho[0] + 2 * impact::Mat(llt.matrixL()).diagonal().array().log().sum());
    if (gradient != nullptr)
      *gradient += task.multiplicity[i] * rho[1] * (now.G.transpose() * solved);
  }
  return cost;
}

TEST_P(ByBody, GradientOfTheCostMatchesDifferences) {
  std::mt19937_64 random(5);
  twin::Options options;
  options.n = 8;
  options.sd_t = options.sd_n = options.sd_c = 0.03;
  const auto events = twin::Experiment(body, options, random);
  const std::vector<PreparedEvent> prepared = impact::PrepareEvents(events, body);
  for (Likelihood likelihood : kLikelihoods) {
    const FitTask task{.events = &prepared,
                       .multiplicity = std::vector<double>(prepared.size(), 1.0),
                       .shape = impact::Shape({.likelihood = likelihood}, prepared[0].dim)};
    for (double mu : {0.07, 0.31}) {
      for (double e : {0.2, 0.8}) {
        const FitPoint at = EvaluateAt(task, mu, e, {});
        ASSERT_TRUE(at.ok);
        Eigen::Vector2d gradient;
        EXPECT_NEAR(CostAt(task, at, mu, e, &gradient), at.cost, 1e-8 * (1 + std::abs(at.cost)));
        const double h = 1e-6;
        const Eigen::Vector2d difference(
            (CostAt(task, at, mu + h, e, nullptr) - CostAt(task, at, mu - h, e, nullptr)) / (2 * h),
            (CostAt(task, at, mu, e + h, nullptr) - CostAt(task, at, mu, e - h, nullptr)) /
                (2 * h));
        EXPECT_LT((gradient - difference).norm(), 1e-4 * (1 + gradient.norm())) << mu << " " << e;
      }
    }
  }
}

FitTask NormalTask(const std::vector<PreparedEvent>& prepared) {
  return {.events = &prepared,
          .multiplicity = std::vector<double>(prepared.size(), 1.0),
          .n_groups = impact::ScatterGroups(static_cast<int>(prepared.size())),
          .shape = impact::Shape({.likelihood = Likelihood::kGaussian}, prepared[0].dim)};
}

// Scatter that grew with the misfit would excuse a wrong value; held, the deviance is the square of
// standard deviations.
TEST(IdentifyProfile, ScatterDoesNotExcuseAWrongValueWhereNoiseIsKnown) {
  twin::Options options;
  options.n = 12;
  options.sd_v = 2e-3;
  options.sd_omega = 0.05;
  int judged = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::mt19937_64 random(seed);
    const auto events = twin::Experiment(twin::Square(), options, random);
    const std::vector<PreparedEvent> prepared = impact::PrepareEvents(events, twin::Square());
    const FitTask task = NormalTask(prepared);
    const FitPoint best = FitBest(task, {}, true).best;
    const impact::Information info = InformationAt(task, best);
    if (info.scatter_share > 0.1) continue;
    ++judged;
    impact::Profile profile(task, best, 1);
    const double sd = std::sqrt(impact::InverseWhere(info.curvature, {true, true})(1, 1));
    EXPECT_NEAR(profile.Calibrated(best.e, info), 0, 0.01);
    for (const double side : {-2.0, 2.0}) {
      const double held = profile.Calibrated(best.e + side * sd, info),
                   anew = profile(best.e + side * sd);
      EXPECT_NEAR(held, 4, 1) << seed;
      EXPECT_LE(anew, held + 1e-9) << seed;
    }
  }
  EXPECT_GE(judged, 3);
}

// Where the last impact begins to slide the deviance jumps; the centre may lie anywhere on the
// plateau beside.
TEST(IdentifyProfile, EndOfAPlateauIsFoundFromAnywhereOnIt) {
  for (const double wall : {30.0, 1e6})
    for (const double centre : {0.08, 0.27, 3.0, 20.0})
      for (const double step : {1e-4, 0.05, 0.2}) {
        const auto jump = [&](double mu) { return mu < 0.06 ? wall : 1e-4; };
        const impact::ProfileInterval found =
            impact::FindInterval(jump, centre, 0, 20, step, 4, impact::kMuLevels);
        EXPECT_NEAR(found.lower, 0.06, 0.001) << wall << " " << centre << " " << step;
        EXPECT_FALSE(found.lower_open);
        EXPECT_TRUE(found.upper_open);
      }
}

// What noise an impact has depends on whether it slides; a friction at which everything sticks is
// as good as any other.
TEST(IdentifyProfile, EveryFrictionAtWhichAllSticksIsAsGood) {
  twin::Options options;
  options.n = 12;
  options.mu = 0.15;
  options.speed_t = 0.3;
  options.spin = 1;
  options.sd_v = 3e-4;
  options.sd_omega = 0.01;
  const Body ball = MakeBall(0.02, 0.05);
  for (unsigned seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    const auto events = twin::Experiment(ball, options, random);
    const std::vector<PreparedEvent> prepared = impact::PrepareEvents(events, ball);
    const FitTask task = NormalTask(prepared);
    FitPoint start = EvaluateAt(task, 3, 0.5, {});
    const FitPoint best = FitFrom(task, start, false, true, 1e-7);
    ASSERT_TRUE(best.ok);
    const impact::Information info = InformationAt(task, best);
    impact::Profile profile(task, best, 0);
    for (const double mu : {0.2, 0.3, 0.5, 20.0})
      EXPECT_LT(profile.Calibrated(mu, info), 1) << seed << " " << mu;
  }
}

// A descent with the noise held stops beside the least cost where covariances follow the
// coefficients; a fit that begins at the optimum of another likelihood would stay there.
TEST(IdentifyFit, NoNeighbourOfTheOptimumIsLikelier) {
  twin::Options options = {.n = 30, .mu = 0.1, .e = 0.85, .sd_v = 0.02, .sd_omega = 1};
  int moved = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Body body = twin::Square();
    std::mt19937_64 random(seed);
    const auto events = twin::Experiment(body, options, random);
    const std::vector<PreparedEvent> prepared = impact::PrepareEvents(events, body);
    const FitTask task = NormalTask(prepared);
    const FitPoint best = FitBest(task, {}, true).best;
    ASSERT_TRUE(best.ok);
    // A standard deviation of e is some 0.003.
    for (const double step : {-4e-4, 4e-4}) {
      const FitPoint beside = EvaluateAt(task, best.mu, best.e + step, best.log_s);
      EXPECT_GT(beside.cost, best.cost - 1e-3) << seed << " " << step;
    }
    const FitPoint elsewhere = EvaluateAt(task, best.mu, best.e + 1e-3, best.log_s);
    const FitPoint descended = FitFrom(task, elsewhere, true, true, 1e-7),
                   found = Refined(task, descended);
    // Where an event begins to stick there may be a second valley.
    EXPECT_LT(found.cost, best.cost + 0.05) << seed;
    moved += descended.cost > found.cost + 1e-3;
  }
  EXPECT_GT(moved, 0) << "no descent stopped beside its optimum: nothing was tested";
}

// Predicted minus measured, over its own covariance, is chi-square: noise, scatter and cross terms
// together.
TEST_P(ByBody, PredictionCoversTheMeasurement) {
  std::mt19937_64 random(6);
  twin::Options options;
  options.sd_v = 0.01;
  options.sd_omega = 0.2;
  options.sd_r = 2e-4;
  options.sd_t = 0.01;
  options.sd_n = 0.02;
  options.sd_c = 0.03;
  LawFit fit;
  fit.law = "energetic";
  fit.discrepancy = {options.sd_t, options.sd_n, options.sd_c};
  const ImpactModel model{{options.e, options.mu, options.mu}, options.law};
  const std::vector<int> rows =
      body.planar ? std::vector<int>{0, 2, 4} : std::vector<int>{0, 1, 2, 3, 4, 5};
  const int m = static_cast<int>(rows.size()), n = body.planar ? 400 : 150;
  double sum = 0, sum_alone = 0;
  for (int i = 0; i < n; ++i) {
    const ImpactEvent event = twin::RandomEvent(body, options, random, i);
    const Prediction prediction = Predict(event, body, model, fit);
    Eigen::VectorXd d(m);
    Eigen::MatrixXd V(m, m);
    Eigen::Matrix<double, 6, 1> measured;
    measured << event.v_plus, event.omega_plus;
    for (int a = 0; a < m; ++a) {
      d[a] = prediction.plus[rows[a]] - measured[rows[a]];
      for (int b = 0; b < m; ++b) V(a, b) = prediction.cov_difference(rows[a], rows[b]);
    }
    sum += d.dot(V.ldlt().solve(d));
    sum_alone += V.trace();
  }
  EXPECT_NEAR(sum / n, m, 5 * std::sqrt(2.0 * m / n) + 0.1 * m);
  EXPECT_GT(sum_alone, 0);
}

TEST(IdentifyPredict, CoefficientCovarianceEntersAndNonFiniteEntriesDoNot) {
  std::mt19937_64 random(7);
  const Body body = twin::Square();
  const ImpactEvent event = twin::RandomEvent(body, {}, random, 0);
  const ImpactModel model{{0.5, 0.1, 0.1}, RestitutionLaw::kEnergetic};
  LawFit fit;
  fit.law = "energetic";
  const Eigen::Matrix<double, 6, 6> bare = Predict(event, body, model, fit).cov;
  fit.covariance = Eigen::Vector2d(1e-4, 4e-4).asDiagonal();
  const Eigen::Matrix<double, 6, 6> with = Predict(event, body, model, fit).cov;
  const double h = 1e-6;
  const auto by_mu = [&] {
    ImpactModel up = model, down = model;
    up.mu_k = up.mu_s = model.mu_k + h;
    down.mu_k = down.mu_s = model.mu_k - h;
    return Eigen::Matrix<double, 6, 1>((Plus(event, body, up) - Plus(event, body, down)) / (2 * h));
  }();
  const auto by_e = [&] {
    ImpactModel up = model, down = model;
    up.e += h;
    down.e -= h;
    return Eigen::Matrix<double, 6, 1>((Plus(event, body, up) - Plus(event, body, down)) / (2 * h));
  }();
  const Eigen::Matrix<double, 6, 6> expected =
      1e-4 * by_mu * by_mu.transpose() + 4e-4 * by_e * by_e.transpose();
  EXPECT_LT((with - bare - expected).norm(), 1e-4 * expected.norm());
  fit.covariance(0, 0) = fit.covariance(0, 1) = fit.covariance(1, 0) =
      std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(Predict(event, body, model, fit).cov.allFinite());
}

// A likelihood without a maximum: the normal scatter vanishes, that of friction stands for it, and
// the one impact that friction does not turn is met exactly.
TEST(RestsOnOneEvent, TellsSingularScatterFromFewThatSlide) {
  const Body body = twin::Square();
  std::mt19937_64 random(5);
  twin::Options options;
  options.n = 10;
  options.sd_t = options.sd_n = 0.02;
  const std::vector<ImpactEvent> events = twin::Experiment(body, options, random);
  const std::vector<PreparedEvent> prepared = impact::PrepareEvents(events, body);
  FitTask task{.events = &prepared,
               .multiplicity = std::vector<double>(prepared.size(), 1.0),
               .law = RestitutionLaw::kEnergetic,
               .shape = impact::Shape({.likelihood = Likelihood::kGaussian}, 2)};
  FitPoint point = EvaluateAt(task, 0.2, 0.5, {});
  ASSERT_TRUE(point.ok);
  EXPECT_FALSE(impact::RestsOnOneEvent(task, point));
  const FitPoint sound = point;
  point.S[3] *= 1e-6;
  EXPECT_TRUE(impact::RestsOnOneEvent(task, point));
  // One impact alone tells friction because it alone slides.
  point = sound;
  for (std::size_t i = 0; i < point.at.size(); ++i)
    if (i != 3) point.at[i].G.col(0).setZero();
  point.at[3].G.col(0).setOnes();
  EXPECT_FALSE(impact::RestsOnOneEvent(task, point));
}

}  // namespace
}  // namespace impactlab
