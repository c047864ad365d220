#include "impact/multi/springs.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <string>

#include "data/base/error.h"
#include "impact/multi/certify.h"
#include "impact/multi/system_builders.h"
#include "tests/impact/random_contact.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

// Rod of Barjau et al. 2014, example I: mass on half of its length, contact points at x; u = (v_x,
// v_z, clockwise spin of the source).
ImpactSystem Rod(const std::vector<double>& x, const Vector3d& u, const std::vector<double>& k,
                 double L = 1, double m = 1) {
  ImpactSystem system;
  system.width = 1;
  system.M = Vector3d(m, m, m * L * L / 3).asDiagonal();
  system.rows.resize(x.size(), 3);
  for (size_t i = 0; i < x.size(); ++i) {
    system.rows.row(i) << 0, 1, L * x[i];
    ContactProperties& contact = system.contacts.emplace_back();
    contact.name = "Q" + std::to_string(i + 1);
    contact.stiffness = k[i];
  }
  system.u_minus = u;
  return system;
}

void SpringsExpectCertified(const ImpactSystem& system, const MultiOutcome& outcome) {
  for (const CertificateCheck& check : CertifySystem(system, outcome).checks) {
    EXPECT_TRUE(check.ok) << check.name << " " << check.value << " > " << check.limit;
  }
}

double Total(const MultiOutcome& outcome) {
  double total = 0;
  for (const MultiPhase& p : outcome.phases) total += p.duration;
  return total;
}

// "aap": active, active, passive.
std::string States(const MultiPhase& phase) {
  std::string text;
  for (Eigen::Index j = 0; j < phase.stiffness.size(); ++j)
    text += phase.stiffness[j] > 0 ? 'a' : 'p';
  return text;
}

TEST(Springs, TableOneOfBarjauEtAl2014) {
  struct Row {
    double gap, spin, v1, v2;
    std::vector<std::string> states;
    double overlap;  // share of the impact in which both are pressed
  };
  for (const Row& row :
       {Row{0, 0, 113.10, 59.49, {"aa", "pa"}, 0.9},
        {35e-6, 0, 121.54, 32.04, {"pa", "pp", "ap", "aa", "ap", "pp", "pa"}, 0.05},
        {25e-6, -0.1, 65.31, 253.06, {"pa", "pp", "ap", "pp", "pa", "pp", "ap"}, 0}}) {
    ImpactSystem system = Rod({-1, 3}, Vector3d(0, -0.1, row.spin), {1e8, 1e8});
    system.contacts[0].gap = row.gap;
    const MultiOutcome outcome = SolveSprings(system);
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
    EXPECT_NEAR(1e3 * outcome.v_plus[0], row.v1, 0.5e-2);
    EXPECT_NEAR(1e3 * outcome.v_plus[1], row.v2, 0.5e-2);
    EXPECT_LT(std::abs(outcome.energy_change), 1e-12 * KineticEnergy(system, system.u_minus));
    SpringsExpectCertified(system, outcome);
    double both = 0;
    std::vector<std::string> states;
    for (const MultiPhase& p : outcome.phases) {
      states.push_back(States(p));
      if (p.stiffness.minCoeff() > 0) both += p.duration;
    }
    EXPECT_EQ(states, row.states);
    EXPECT_NEAR(both / Total(outcome), row.overlap, 0.005);
  }
  // Figure 2: impacts at Q1 and Q2 end at about 0.25 and 0.27 ms.
  const MultiOutcome first = SolveSprings(Rod({-1, 3}, Vector3d(0, -0.1, 0), {1e8, 1e8}));
  EXPECT_NEAR(first.phases[0].duration, 0.25e-3, 0.005e-3);
  EXPECT_NEAR(Total(first), 0.27e-3, 0.0055e-3);
  // The first row depends on nothing but the ratio of the stiffnesses and the shape.
  const MultiOutcome other = SolveSprings(Rod({-1, 3}, Vector3d(0, -0.1, 0), {3, 3}, 0.37, 12));
  EXPECT_LT((other.v_plus - first.v_plus).norm(), 1e-13);
}

TEST(Springs, FivePointRodOfBarjauEtAl2014) {
  const std::vector<double> x = {-1, -0.5, 0, 1, 3};
  const MultiOutcome flat =
      SolveSprings(Rod(x, Vector3d(0, -0.1, 0), {1e15, 1e15, 1e15, 1e15, 1e15}));
  ASSERT_GE(flat.phases.size(), 3U);
  EXPECT_EQ(States(flat.phases[1]), "aaaap");  // Q5 rests for about 15 % of the impact
  EXPECT_NEAR(flat.phases[1].duration / Total(flat), 0.15, 0.005);
  EXPECT_EQ(States(flat.phases[2]), "aaaaa");
  for (const auto& k : {std::vector<double>{1, 1, 1, 1, 1}, {10, 1, 1, 1, 1}, {1, 1, 1, 1, 10}}) {
    const ImpactSystem system = Rod(x, Vector3d(0, 0, -0.1), k);
    const MultiOutcome outcome = SolveSprings(system);
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
    SpringsExpectCertified(system, outcome);
    EXPECT_LT(std::abs(outcome.energy_change), 1e-12 * KineticEnergy(system, system.u_minus));
    EXPECT_EQ(States(outcome.phases[0]), "pppaa");
    Eigen::Index largest = 0;
    outcome.J.maxCoeff(&largest);
    EXPECT_EQ(largest, 0);
    if (k[0] == 10)
      EXPECT_EQ(outcome.J.segment(1, 2), Eigen::Vector2d::Zero());  // Q2 and Q3 are never pressed
    else
      EXPECT_GT(outcome.J[1], 0);
    if (k[4] == 10) {
      // Q1 is pressed over about 90 % of the impact, Q5 in the first 10 % alone.
      double first = 0, fifth = 0;
      for (const MultiPhase& p : outcome.phases) {
        first += p.stiffness[0] > 0 ? p.duration : 0;
        fifth += p.stiffness[4] > 0 ? p.duration : 0;
      }
      EXPECT_NEAR(first / Total(outcome), 0.9, 0.05);
      EXPECT_NEAR(fifth / Total(outcome), 0.1, 0.02);
    }
  }
}

// Golden: which contacts are called independent is a matter of words.
TEST(Springs, AnyIndependentSetGivesTheSame) {
  ImpactSystem system = Rod({-1, -0.5, 0, 1, 3}, Vector3d(0, -0.1, 0.02), {1, 2, 3, 4, 5});
  system.contacts[2].gap = 0.01;  // a rough floor: gaps no rigid motion explains
  const MultiOutcome best = SolveSprings(system);
  ASSERT_EQ(best.status, SolveStatus::kOk) << best.reason;
  SpringsExpectCertified(system, best);
  int pairs = 0;
  for (int i = 0; i < 5; ++i) {
    for (int j = i + 1; j < 5; ++j, ++pairs) {
      SpringOptions options;
      options.independent = {i, j};
      const MultiOutcome outcome = SolveSprings(system, options);
      EXPECT_LT((outcome.v_plus - best.v_plus).norm(), 1e-12 * 0.1);
      EXPECT_LT((outcome.J - best.J).norm(), 1e-11 * best.J.norm());
      EXPECT_EQ(outcome.phases.size(), best.phases.size());
    }
  }
  EXPECT_EQ(pairs, 10);
  SpringOptions options;
  options.independent = {1, 1};
  EXPECT_THROW(SolveSprings(system, options), ConfigError);
  options.independent = {1};
  EXPECT_THROW(SolveSprings(system, options), ConfigError);
}

// Impulses of redundant contacts by the algebra of Barjau et al. 2014, eqs 5.9 to 5.13, against the
// integrals of the modes.
TEST(Springs, ImpulsesOfRedundantContacts) {
  const ImpactSystem system = Rod({-1, -0.5, 0, 1, 3}, Vector3d(0, -0.1, 0), {1, 2, 3, 4, 5});
  const MultiOutcome outcome = SolveSprings(system);
  VectorXd sum = VectorXd::Zero(5);
  for (const MultiPhase& phase : outcome.phases) {
    std::vector<int> active;
    for (int j = 0; j < 5; ++j) {
      if (phase.stiffness[j] > 0) active.push_back(j);
    }
    const int s = std::min<int>(2, static_cast<int>(active.size())),
              d = static_cast<int>(active.size()) - s;
    if (s == 0) continue;
    const MatrixXd A = system.rows(active, Eigen::all), A_ind = A.topRows(s),
                   A_dep = A.bottomRows(d);
    const VectorXd k = phase.stiffness(active);
    const MatrixXd M_inv = system.M.inverse(), mass = (A_ind * M_inv * A_ind.transpose()).inverse();
    const MatrixXd R = A_dep * M_inv * A_ind.transpose() * mass;
    const MatrixXd K_act =
        MatrixXd(k.head(s).asDiagonal()) + R.transpose() * k.tail(d).asDiagonal() * R;
    const VectorXd dv = (phase.v_end - phase.v_begin)(active).head(s),
                   dPi = K_act.inverse() * (mass * dv);
    VectorXd dP(active.size());
    dP << k.head(s).cwiseProduct(dPi), k.tail(d).cwiseProduct(R * dPi);
    for (size_t i = 0; i < active.size(); ++i) sum[active[i]] += dP[i];
  }
  EXPECT_LT((sum - outcome.J).norm(), 1e-12 * outcome.J.norm());
}

// A rough floor under a chain of two rods (Barjau et al. 2014, example IV in spirit: six contacts
// of a multibody system with redundancy).
TEST(Springs, ChainOnRoughGround) {
  const double l = 1;
  std::vector<SystemBody> rods(2);
  std::vector<SystemContact> contacts;
  for (int i = 0; i < 2; ++i) {
    rods[i].body = MakeBox(Vector3d(l, 0.02, 0.02), 1, true);
    rods[i].X_WB = PlanarPose(i * l, 0, 0);
    rods[i].v_WB = Vector3d(0, 0, i == 0 ? -1 : -1 + 0.35);
    // theta_dot = 0.7 about the hinge at x = l / 2
    rods[i].omega_WB = Vector3d(0, i == 0 ? 0 : -0.7, 0);
    for (int k = 0; k < 3; ++k) {
      contacts.push_back(
          {{},
           i,
           kGround,
           FrameAt(Vector3d((i - 0.5 + 0.5 * k) * l, 0, 0), Vector3d::UnitZ(), true)});
      contacts.back().properties.stiffness = 1e6;
      contacts.back().properties.gap = 1e-5 * k * (i + 1);
    }
  }
  const ImpactSystem system =
      MakeBodySystem(rods, {{0, 1, Vector3d(0.5 * l, 0, 0), Vector3d::Zero()}}, contacts);
  EXPECT_EQ(NormalRank(ReduceToContacts(system)), 3);
  const MultiOutcome outcome = SolveSprings(system);
  ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
  SpringsExpectCertified(system, outcome);
  EXPECT_LT(std::abs(outcome.energy_change), 1e-12 * KineticEnergy(system, system.u_minus));
}

TEST(Springs, OneContactOfTwoStiffnessesHasItsCoefficient) {
  for (const double e : {1.0, 0.9, 0.5, 0.1, 0.01}) {
    ImpactSystem system = Rod({0.7}, Vector3d(0.3, -1.3, 0.2), {1e5});
    system.contacts[0].e = e;
    const MultiOutcome outcome = SolveSprings(system);
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
    EXPECT_NEAR(outcome.v_plus[0], e * (1.3 - 0.14), 1e-13);
    SpringsExpectCertified(system, outcome);
  }
}

TEST(Springs, DissipationNeverGainsAndEveryContactGivesBackItsShare) {
  ImpactSystem system = Rod({-1, -0.5, 0, 1, 3}, Vector3d(0, -0.1, 0.03), {1, 2, 3, 4, 5});
  double last = 0;
  for (const double e : {1.0, 0.8, 0.5, 0.2}) {
    for (ContactProperties& c : system.contacts) c.e = e;
    const MultiOutcome outcome = SolveSprings(system);
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
    SpringsExpectCertified(system, outcome);
    if (e < 1) {
      EXPECT_LT(outcome.energy_change, last);
    }
    last = outcome.energy_change;
  }
}

// Chain of equal balls with equal springs, Rodriguez 2014, table D.1, theory of Liu, Zhao &
// Brogliato with linear springs: not only the last ball moves.
TEST(Springs, FiveBallsOfOneStiffness) {
  const ImpactSystem system =
      MakeBallChain({1, 1, 1, 1, 1}, {1, 0, 0, 0, 0}, std::vector<ContactProperties>(4));
  const MultiOutcome outcome = SolveSprings(system);
  ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
  SpringsExpectCertified(system, outcome);
  const double printed[] = {-0.1322, -0.0754, -0.0311, 0.2958, 0.9429};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(outcome.u_plus[i], printed[i], 5e-4) << i;
}

TEST(Springs, SaysWhatIsNotItsOwn) {
  ImpactSystem system = Rod({-1, 1}, Vector3d(0, -1, 0), {1, 1});
  system.contacts[0].mu_k = system.contacts[0].mu_s = 0.2;
  EXPECT_EQ(SolveSprings(system).status, SolveStatus::kInvalid);
  system.contacts[0].mu_k = system.contacts[0].mu_s = 0;
  system.contacts[1].e = 0;
  EXPECT_EQ(SolveSprings(system).status, SolveStatus::kInvalid);
  system.contacts[1].e = 1;
  system.u_minus[1] = 1;
  EXPECT_EQ(SolveSprings(system).status, SolveStatus::kNoApproach);
  // A ball between two walls it touches bounces without end.
  ImpactSystem wedged = Rod({0, 0}, Vector3d(0, -1, 0), {1, 1});
  wedged.rows(1, 1) = -1;
  SpringOptions options;
  options.max_phases = 50;
  const MultiOutcome outcome = SolveSprings(wedged, options);
  EXPECT_EQ(outcome.status, SolveStatus::kNotConverged);
  EXPECT_NE(outcome.reason.find("wedge"), std::string::npos);
}

// The judge finds what is wrong.
TEST(Springs, CertificateFindsFaults) {
  const ImpactSystem system = Rod({-1, -0.5, 0, 1, 3}, Vector3d(0, -0.1, 0.03), {1, 2, 3, 4, 5});
  const MultiOutcome good = SolveSprings(system);
  const auto failed = [&](const MultiOutcome& outcome, const std::string& name) {
    for (const CertificateCheck& check : CertifySystem(system, outcome).checks) {
      if (check.name == name) return !check.ok;
    }
    return false;
  };
  MultiOutcome bad = good;
  bad.u_plus[2] += 1e-7;
  EXPECT_TRUE(failed(bad, "momentum"));
  bad = good;
  bad.phases[1].duration *= 1 + 1e-6;
  EXPECT_TRUE(failed(bad, "springs"));
  bad = good;
  bad.phases[0].stiffness[1] *= 1 + 1e-6;
  EXPECT_TRUE(failed(bad, "springs"));
  bad = good;
  bad.v_plus[0] = -1e-6;
  EXPECT_TRUE(failed(bad, "separation"));
  bad = good;
  bad.work_n[0] += 1e-7;
  EXPECT_TRUE(failed(bad, "restitution"));
  bad = good;
  bad.J[0] = std::nan("");
  EXPECT_TRUE(failed(bad, "status"));
}

}  // namespace
}  // namespace impactlab
