// Every system of Rodriguez 2014, Shen and Townsend 1998 and Barjau et al. 2014 by every law that
// applies to it, certified. What fails is listed, with the reason.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <map>

#include "impact/multi/certify.h"
#include "impact/multi/global.h"
#include "impact/multi/sequence.h"
#include "impact/multi/simultaneous.h"
#include "impact/multi/springs.h"
#include "impact/multi/system_builders.h"
#include "tests/impact/rocking_block.h"

namespace impactlab {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

std::map<std::string, ImpactSystem> GoldenSystems() {
  std::map<std::string, ImpactSystem> systems;
  const auto cradle = [](int balls, double e) {
    std::vector<double> rates(balls, 0.0);
    rates[0] = 1 / 0.3;
    return MakeCradle(
        std::vector<double>(balls, 0.166), 0.3, 0.05, rates,
        std::vector<ContactProperties>(balls - 1, {"", {.e = e, .mu_k = 0, .mu_s = 0}}));
  };
  systems["000 cradle of 3, e 1"] = cradle(3, 1);
  systems["000 cradle of 3, e 0.85"] = cradle(3, 0.85);
  systems["000 cradle of 5, e 1"] = cradle(5, 1);
  systems["000 cradle of 5, e 0.8"] = cradle(5, 0.8);
  systems["000 cradle ABACA, e 0.4"] =
      MakeCradle({0.045, 0.053, 0.045, 0.053, 0.045}, 0.3, 0.05, {1 / 0.3, 0, 0, 0, 0},
                 std::vector<ContactProperties>(4, {"", {.e = 0.4, .mu_k = 0, .mu_s = 0}}));
  systems["000 block, smooth"] =
      test::MakeRockingBlock(0.1087, 0.0645, 2.5, 1, 0.02, {"", {.e = 0.6, .mu_k = 0, .mu_s = 0}});
  systems["000 block, rough"] = test::MakeRockingBlock(0.1087, 0.0645, 2.5, 1, 0.05,
                                                       {"", {.e = 0.6, .mu_k = 0.35, .mu_s = 0.6}});
  systems["000 disc in a corner"] =
      MakeDiscInCorner(0.5, 1, 8, -4.43, 0, {"", {.e = 0.715, .mu_k = 0.35, .mu_s = 0.35}});
  systems["000 sphere in a corner"] = MakeSphereInCorner(
      0.5, 1, Vector3d(3, 2, -2.5), Vector3d::Zero(), {"", {.e = 0.5, .mu_k = 0.35, .mu_s = 0.35}});
  const auto block = [](test::BlockPoints points) {
    return test::MakeRockingBlock(Vector3d(0.3, 0.2, 0.1), 2.5, points, 1, Vector2d(0.2, 0),
                                  {"", {.e = 0.5, .mu_k = 0.35, .mu_s = 0.6}});
  };
  systems["000 block in space, three corners"] = block(test::BlockPoints::kThreeCorners);
  systems["000 block in space, four corners"] = block(test::BlockPoints::kFourCorners);
  systems["000 block in space, three centred"] = block(test::BlockPoints::kThreeCentred);
  for (const auto& [mu_k, mu_s] : {std::pair{0.0, 0.0}, {0.5, 0.5}, {0.5, 0.63}, {0.8, 0.8}}) {
    systems["001 double pendulum, mu_k " + std::to_string(mu_k).substr(0, 3) + ", mu_s " +
            std::to_string(mu_s).substr(0, 4)] =
        MakeChain({2, 2}, {3, 3}, {M_PI / 9, M_PI / 6}, {-0.1, -0.2},
                  {"tip", {.e = 0.5, .mu_k = mu_k, .mu_s = mu_s}});
  }
  ImpactSystem rod;
  rod.width = 1;
  rod.M = Vector3d(1, 1, 1.0 / 3).asDiagonal();
  rod.rows.resize(2, 3);
  rod.rows << 0, 1, -1, 0, 1, 3;
  rod.u_minus = Vector3d(0, -0.1, 0.01);
  rod.contacts.assign(2, {});
  systems["003 rod, e 1"] = rod;
  return systems;
}

// Checks that fail, or why there is no outcome; empty when all is well.
std::string Faults(const ImpactSystem& system, const MultiOutcome& outcome,
                   RestitutionLaw law = RestitutionLaw::kEnergetic) {
  if (outcome.status != SolveStatus::kOk) return outcome.reason;
  return CertifySystem(system, outcome, {system.contacts[0].e}, law).Failed(" ");
}

std::map<std::string, std::string> FaultsByLaw(const ImpactSystem& system) {
  std::map<std::string, std::string> faults;
  if (system.width == 1) faults["springs"] = Faults(system, SolveSprings(system));
  const std::pair<const char*, RestitutionLaw> laws[] = {{"newton", RestitutionLaw::kNewton},
                                                         {"poisson", RestitutionLaw::kPoisson},
                                                         {"energetic", RestitutionLaw::kEnergetic}};
  for (const auto& [name, law] : laws) {
    SequenceOptions options;
    options.law = law;
    faults[std::string("sequence ") + name] = Faults(system, SolveSequence(system, options), law);
  }
  faults["simultaneous newton"] =
      Faults(system, SolveSimultaneous(system, MultiLaw::kSimultaneousNewton));
  faults["simultaneous poisson"] =
      Faults(system, SolveSimultaneous(system, MultiLaw::kSimultaneousPoisson));
  GlobalOptions options;
  options.e_star = {system.contacts[0].e};
  faults["global"] = Faults(system, SolveGlobal(system, options));
  if (system.width < 3 && system.contacts.size() > 1) {
    options.mode = GlobalMode::kThesis;
    if (system.contacts[0].name == "floor") options.closure = CornerClosure();
    faults["global as printed"] = Faults(system, SolveGlobal(system, options));
  }
  return faults;
}

TEST(MultiGolden, EverySystemByEveryLaw) {
  const std::map<std::string, std::string> expected = {
      // Contacts that have separated keep their velocities through later events (erratum E3).
      {"000 block, smooth: global as printed", "momentum"},
      {"000 cradle of 3, e 0.85: global as printed", "momentum"},
      {"000 cradle of 5, e 0.8: global as printed", "momentum"},
      {"003 rod, e 1: global as printed", "momentum"},
      // Its work is a state function that is not the work of the normal impulses, with friction or
      // unequal masses (erratum E2).
      {"000 block, rough: global as printed", "momentum restitution"},
      {"000 cradle ABACA, e 0.4: global as printed", "momentum restitution"},
      {"000 disc in a corner: global as printed", "restitution"},
      // Newton's law gains energy where slip stops or reverses: the puzzle Shen and Townsend 1998
      // begins
      // with.
      {"001 double pendulum, mu_k 0.5, mu_s 0.50: simultaneous newton", "energy"},
      {"001 double pendulum, mu_k 0.5, mu_s 0.63: sequence newton", "energy"},
      {"001 double pendulum, mu_k 0.5, mu_s 0.63: simultaneous newton", "energy"},
      {"001 double pendulum, mu_k 0.8, mu_s 0.80: sequence newton", "energy"},
      {"001 double pendulum, mu_k 0.8, mu_s 0.80: simultaneous newton", "energy"},
  };
  int outcomes = 0;
  for (const auto& [name, system] : GoldenSystems()) {
    for (const auto& [law, faults] : FaultsByLaw(system)) {
      const std::string key = fmt::format("{}: {}", name, law);
      const auto known = expected.find(key);
      EXPECT_EQ(faults, known == expected.end() ? "" : known->second) << key;
      ++outcomes;
    }
  }
  EXPECT_GT(outcomes, 100);
}

}  // namespace
}  // namespace impactlab
