#pragma once
// Random impact problems for the tests.

#include <Eigen/Core>
#include <Eigen/QR>
#include <cmath>
#include <random>

#include "impact/law/solve.h"

namespace impactlab {

inline double Uniform(std::mt19937_64& rng, double lo, double hi) {
  return std::uniform_real_distribution<double>(lo, hi)(rng);
}
inline double LogUniform(std::mt19937_64& rng, double lo, double hi) {
  return std::exp(Uniform(rng, std::log(lo), std::log(hi)));
}

// Symmetric positive definite with a condition number up to `max_condition`, any orientation;
// entries about `scale`.
template <int N>
Eigen::Matrix<double, N, N> RandomSpd(std::mt19937_64& rng, double max_condition, double scale) {
  std::normal_distribution<double> normal;
  Eigen::Matrix<double, N, N> M;
  for (int i = 0; i < N * N; ++i) M(i) = normal(rng);
  const Eigen::Matrix<double, N, N> Q =
      Eigen::HouseholderQR<Eigen::Matrix<double, N, N>>(M).householderQ();
  Eigen::Matrix<double, N, 1> eigenvalues;
  for (int i = 0; i < N; ++i) eigenvalues[i] = scale * LogUniform(rng, 1 / max_condition, 1);
  eigenvalues[0] = scale;
  const Eigen::Matrix<double, N, N> A = Q * eigenvalues.asDiagonal() * Q.transpose();
  return 0.5 * (A + A.transpose());
}

inline ImpactModel RandomModel(std::mt19937_64& rng) {
  ImpactModel model;
  constexpr int kLast = static_cast<int>(kRestitutionLaws.size()) - 1;
  model.law = static_cast<RestitutionLaw>(std::uniform_int_distribution<int>(0, kLast)(rng));
  const int kind = std::uniform_int_distribution<int>(0, 9)(rng);
  model.e = kind == 0 ? 0 : kind == 1 ? 1 : Uniform(rng, 0, 1);
  model.mu_k = kind == 2 ? 0 : Uniform(rng, 0, 2.5);
  model.mu_s = kind < 5 ? model.mu_k : model.mu_k * Uniform(rng, 1, 1.5);
  return model;
}

inline ContactState RandomPlanar(std::mt19937_64& rng, double max_condition) {
  ContactState contact;
  const double scale = LogUniform(rng, 1e-2, 1e2);
  const Eigen::Matrix2d W = RandomSpd<2>(rng, max_condition, scale);
  contact.A_F << W(0, 0), 0, W(0, 1), 0, W(0, 0), 0, W(0, 1), 0, W(1, 1);
  const int kind = std::uniform_int_distribution<int>(0, 19)(rng);
  const double speed = LogUniform(rng, 1e-2, 1e2), angle = Uniform(rng, -M_PI, 0);
  contact.v_minus_F =
      speed * Eigen::Vector3d(kind == 0 ? 0 : std::cos(angle), 0, kind == 1 ? 0 : std::sin(angle));
  return contact;
}

inline ContactState RandomSpatial(std::mt19937_64& rng, double max_condition) {
  ContactState contact;
  contact.A_F = RandomSpd<3>(rng, max_condition, LogUniform(rng, 1e-2, 1e2));
  const int kind = std::uniform_int_distribution<int>(0, 19)(rng);
  const double speed = LogUniform(rng, 1e-2, 1e2), angle = Uniform(rng, -M_PI / 2, 0),
               phi = Uniform(rng, -M_PI, M_PI);
  const double slip = kind == 0 ? 0 : std::cos(angle);
  contact.v_minus_F = speed * Eigen::Vector3d(slip * std::cos(phi), slip * std::sin(phi),
                                              kind == 1 ? 0 : std::sin(angle));
  return contact;
}

}  // namespace impactlab
