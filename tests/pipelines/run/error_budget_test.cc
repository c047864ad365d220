// What all impacts share of errors, in the intervals of the coefficients.

#include "pipelines/run/error_budget.h"

#include <gtest/gtest.h>

#include <cmath>

namespace impactlab::test {
namespace {

FitResult ErrorBudgetFitted(double mu, double sd) {
  ParameterEstimate p;
  p.name = "mu_k";
  p.value = mu;
  p.sd = p.sd_noise_only = sd;
  p.lower95 = mu - 2 * sd;
  p.upper95 = mu + 2 * sd;
  p.identifiable = true;
  LawFit law;
  law.mu_k = p;
  law.covariance = law.covariance_noise_only = Eigen::MatrixXd::Constant(1, 1, sd * sd);
  FitResult fit;
  fit.fits = {law};
  return fit;
}

ErrorBudget Shared(double sd) {
  ErrorBudget budget;
  budget.common = Eigen::MatrixXd::Constant(1, 1, sd * sd);
  return budget;
}

TEST(ErrorBudget, CommonErrorsWidenIntervals) {
  FitResult fit = ErrorBudgetFitted(0.3, 0.03);
  AddCommon(Shared(0.04), &fit);
  const ParameterEstimate& p = fit.fits[0].mu_k;
  EXPECT_TRUE(p.identifiable);
  EXPECT_NEAR(p.sd, 0.05, 1e-12);
  EXPECT_NEAR(fit.fits[0].covariance(0, 0), 0.05 * 0.05, 1e-12);
  EXPECT_NEAR(p.upper95, 0.3 + std::hypot(0.06, 1.959964 * 0.04), 1e-9);
  EXPECT_NEAR(p.lower95, 0.3 - std::hypot(0.06, 1.959964 * 0.04), 1e-9);
}

TEST(ErrorBudget, WhatCommonErrorsMoveByMoreThanItsSizeIsNotDetermined) {
  FitResult fit = ErrorBudgetFitted(0.156, 0.01);
  AddCommon(Shared(19), &fit);
  const ParameterEstimate& p = fit.fits[0].mu_k;
  EXPECT_FALSE(p.identifiable);
  EXPECT_TRUE(std::isnan(p.value));
  EXPECT_EQ(p.lower95, 0);
  EXPECT_TRUE(std::isinf(p.upper95));
  EXPECT_NE(p.reason.find("share"), std::string::npos);
}

TEST(ErrorBudget, FrictionNearZeroKeepsItsUpperBound) {
  FitResult fit = ErrorBudgetFitted(0.001, 0.001);
  AddCommon(Shared(0.004), &fit);
  const ParameterEstimate& p = fit.fits[0].mu_k;
  EXPECT_TRUE(p.identifiable);
  EXPECT_EQ(p.lower95, 0);
  EXPECT_LT(p.upper95, 0.012);
}

}  // namespace
}  // namespace impactlab::test
