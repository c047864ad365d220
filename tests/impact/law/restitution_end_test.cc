// What the solver and its judge know of each law of restitution agrees with itself: an end in
// closed form is a root of the residual and fulfils the law's definition.

#include "impact/law/detail/restitution_end.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

using impact::FinishedPath;
using impact::NormalPath;
using impact::VisitEnd;

struct PathPart {
  double J = 0, vn = 0, W_n = 0;
};

// `p` further along the normal impulse at the rate k_n.
PathPart After(const NormalPath<double>& path, double k_n, double p) {
  return {p, path.vn + k_n * p, p * (path.vn + 0.5 * k_n * p)};
}

void Advance(NormalPath<double>& path, double k_n, double p) {
  const PathPart part = After(path, k_n, p);
  path.J += part.J;
  path.vn = part.vn;
  path.AddWork(part.W_n);
}

// A path somewhere in restitution, whose rate has changed at the end of compression and since, as
// it does where slip stops; `share` of the way to where it would end at the second rate.
NormalPath<double> PathOf(RestitutionLaw law, double e, double share, std::mt19937_64& rng) {
  NormalPath<double> path;
  path.law = law;
  path.e = e;
  path.vn_minus = path.vn = -Uniform(rng, 0.1, 3);
  const double compression = Uniform(rng, 0.3, 3), restitution = Uniform(rng, 0.3, 3);
  Advance(path, compression, -path.vn / compression);
  path.EndCompression();
  double vn_end = 0;
  const double whole = impact::ToLawEnd(path, restitution, vn_end);
  if (share > 0) Advance(path, restitution, share * whole);
  return path;
}

TEST(RestitutionEnd, ClosedFormIsARootAndFulfilsTheDefinition) {
  std::mt19937_64 rng(20240711);
  for (const RestitutionLaw law : AllRestitutionLaws()) {
    SCOPED_TRACE(LawName(law));
    for (int i = 0; i < 500; ++i) {
      const double e = Uniform(rng, 0.05, 1), k_n = Uniform(rng, 0.3, 3);
      const NormalPath<double> path = PathOf(law, e, i % 3 == 0 ? 0 : Uniform(rng, 0.1, 0.9), rng);
      double vn_end = 0;
      const double p = impact::ToLawEnd(path, k_n, vn_end);
      ASSERT_GT(p, 0);
      const PathPart end = After(path, k_n, p);
      EXPECT_NEAR(end.vn, vn_end, 1e-12);
      VisitEnd(law, [&](auto rule) {
        // By each law's own measure: v_n, J_n or W, all of order 1 here.
        EXPECT_NEAR(rule.Residual(path, end), 0, 1e-12);
        EXPECT_LT(rule.Residual(path, After(path, k_n, 0.99 * p)), 0);
        const double d = 1e-6 * p;
        const double slope = (rule.Residual(path, After(path, k_n, p + d)) -
                              rule.Residual(path, After(path, k_n, p - d))) /
                             (2 * d);
        EXPECT_NEAR(rule.Slope(end.vn, [&] { return k_n; }), slope, 1e-6);
        FinishedPath finished{.e = e,
                              .vn_minus = path.vn_minus,
                              .vn_plus = end.vn,
                              .J_c = path.J_c,
                              .J_n = path.J + end.J,
                              .W_c = path.W_c,
                              .W_r = path.W_r + end.W_n,
                              .speed = -path.vn_minus,
                              .work = -path.W_c};
        EXPECT_LT(rule.Misfit(finished), 1e-12);
        finished.e = e + 0.01;
        EXPECT_GT(rule.Misfit(finished), 1e-5);
      });
    }
  }
}

// The walk takes it for granted.
TEST(RestitutionEnd, NoRestitutionEndsWithCompression) {
  std::mt19937_64 rng(20240712);
  for (const RestitutionLaw law : AllRestitutionLaws()) {
    const NormalPath<double> path = PathOf(law, 0, 0, rng);
    double vn_end = 1;
    EXPECT_EQ(impact::ToLawEnd(path, 1.5, vn_end), 0) << LawName(law);
    EXPECT_EQ(vn_end, 0) << LawName(law);
  }
}

// What Residual reads is what the solver fills in.
TEST(RestitutionEnd, ResidualReadsWhatItSays) {
  std::mt19937_64 rng(20240713);
  for (const RestitutionLaw law : AllRestitutionLaws()) {
    SCOPED_TRACE(LawName(law));
    const NormalPath<double> path = PathOf(law, 0.5, 0.3, rng);
    VisitEnd(law, [&](auto rule) {
      const PathPart point = After(path, 1, 0.1);
      const double residual = rule.Residual(path, point);
      PathPart other = point;
      other.J += 1;
      EXPECT_EQ(rule.Residual(path, other) != residual, rule.kImpulse);
      other = point;
      other.W_n += 1;
      EXPECT_EQ(rule.Residual(path, other) != residual, rule.kWork);
    });
  }
}

}  // namespace
}  // namespace impactlab
