// The same impact of a rod by this library and by physics engines: time of one impact and error of
// the contact velocity after it.
//
// The planar rod of Sun 2017, chapter 2 (mass 1 kg, length 1 m, radius L/30, I = 1/12 + r^2/4)
// meets a plane with one end at (1, -1) m/s, mu = e = 0.4, under three angles: slip goes on, stops
// and sticks, stops and reverses. The exact answer is the path of the impulse with the law of
// restitution that the engine models (Newton's for ODE and Bullet, Poisson's for Simbody); both the
// error against that and the one against the energetic law are given, relative to |v_minus|. No
// gravity, the rod is set back before every impact, which is a part of the time.
//
//   ODE      one step of 1 us with the direct solver (dWorldStep): bounce, and friction as a
//   pyramid along F_x, bounded by the normal force Bullet   one step of 1 us, sequential impulses,
//   up to 200 iterations without warm start, double precision; the contact is a sphere of 1 mm
//   Simbody  one step of 1 us of its semi-explicit Euler stepper, Poisson's restitution, by the
//   PLUS solver and by the PGS solver MuJoCo a soft contact, which has no e: stiffness for a
//   contact of about 1 ms, damping chosen so that a central impact without friction
//            has e; steps of 10 us by implicit friction cones (elliptic, Newton's solver) until the
//            end lifts off. The rod turns meanwhile.
//
// peer_benchmark [FILE.json]: prints the table, and writes it.

#include <fmt/format.h>
#include <unistd.h>

#include <Eigen/Core>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/base/core_seconds.h"
#include "impact/law/solve.h"
#include "tests/benchmark/peers.h"

namespace impactlab::test {
namespace {

struct Case {
  const char* name;
  RodImpact impact;
};

RodImpact RodAt(double beta) {
  constexpr double kLength = 1, kRadius = kLength / 30;
  RodImpact impact;
  impact.beta = beta;
  impact.inertia = kLength * kLength / 12 + kRadius * kRadius / 4;
  impact.lever_x = -0.5 * kLength * std::cos(beta);
  impact.lever_z = -0.5 * kLength * std::sin(beta);
  return impact;
}

std::vector<Peer> Peers([[maybe_unused]] const RodImpact& impact) {
  std::vector<Peer> peers;
#ifdef IMPACTLAB_HAVE_ODE
  peers.push_back(OdePeer(impact));
#endif
#ifdef IMPACTLAB_HAVE_BULLET
  peers.push_back(BulletPeer(impact));
#endif
#ifdef IMPACTLAB_HAVE_SIMBODY
  peers.push_back(SimbodyPeer(impact, SimbodySolver::kPlus));
  peers.push_back(SimbodyPeer(impact, SimbodySolver::kGaussSeidel));
#endif
#ifdef IMPACTLAB_HAVE_MUJOCO
  peers.push_back(MujocoPeer(impact));
#endif
  return peers;
}

ContactState Contact(const RodImpact& impact) {
  ContactState contact;
  const double x = impact.lever_x, z = impact.lever_z;
  contact.A_F = Eigen::Matrix3d::Identity() / impact.mass;
  contact.A_F(0, 0) += z * z / impact.inertia;
  contact.A_F(2, 2) += x * x / impact.inertia;
  contact.A_F(0, 2) = contact.A_F(2, 0) = -x * z / impact.inertia;
  contact.v_minus_F = Eigen::Vector3d(impact.v_x, 0, impact.v_z);
  return contact;
}

ImpactOutcome Exact(const RodImpact& impact, RestitutionLaw law) {
  ImpactModel model;
  model.law = law;
  model.e = impact.e;
  model.mu_k = model.mu_s = impact.mu;
  return Solve(Contact(impact), model);
}

// Best time of an impact over many short batches [s].
double BestTime(const std::function<void()>& call) {
  double best = std::numeric_limits<double>::infinity();
  const double once = [&] {
    const double begin = CoreSeconds();
    call();
    return CoreSeconds() - begin;
  }();
  const int n = std::max(1, static_cast<int>(2e-4 / std::max(once, 1e-7)));
  for (int batch = 0; batch < 300; ++batch) {
    const double begin = CoreSeconds();
    for (int i = 0; i < n; ++i) call();
    best = std::min(best, (CoreSeconds() - begin) / n);
  }
  return best;
}

// The first angle of the rod to the plane, in steps of a hundredth of a radian, of which the
// energetic law makes this case.
RodImpact FindCase(const std::function<bool(int digit)>& wanted) {
  for (int i = 1; i < 314; ++i) {
    const RodImpact impact = RodAt(0.01 * i);
    const ImpactOutcome outcome = Exact(impact, RestitutionLaw::kEnergetic);
    // A little inside its range of angles, so that every law has the same case.
    const ImpactOutcome next = Exact(RodAt(0.01 * i + 0.1), RestitutionLaw::kEnergetic);
    if (outcome.status == SolveStatus::kOk && wanted(outcome.path_case.digit) &&
        next.path_case.digit == outcome.path_case.digit)
      return RodAt(0.01 * i + 0.05);
  }
  throw std::logic_error("no angle of the rod has this case");
}

int Run(const char* file) {
  // Debian's Simbody was built with its debugging output, which is kept from the table; what it
  // costs to write is in Simbody's time.
  std::FILE* const table = fdopen(dup(STDOUT_FILENO), "w");
  if (table == nullptr || std::freopen("/dev/null", "w", stdout) == nullptr)
    throw std::runtime_error("no standard output");
  std::cout.setstate(std::ios::failbit);
  const std::vector<Case> cases = {
      {"slides", FindCase([](int digit) { return digit == 0; })},
      {"sticks", FindCase([](int digit) { return digit == 1 || digit == 3; })},
      {"reverses", FindCase([](int digit) { return digit == 2 || digit == 4; })}};
  nlohmann::json rows = nlohmann::json::array();
  fmt::print(table, "{:<9} {:>8} {:<16} {:<10} {:>12} {:>8} {:>11} {:>11}\n", "case", "beta_rad",
             "solver", "law", "time_us", "ratio", "error_law", "error_e*");
  for (const Case& c : cases) {
    SolveOptions options;
    options.dense_output = false;
    const auto model = [&](RestitutionLaw law) {
      return ImpactModel{{c.impact.e, c.impact.mu, c.impact.mu}, law};
    };
    const ContactState contact = Contact(c.impact);
    const double speed = contact.v_minus_F.norm(),
                 ours = BestTime([&] {
                   const ImpactOutcome outcome =
                       Solve(contact, model(RestitutionLaw::kEnergetic), options);
                   asm volatile("" : : "r,m"(&outcome) : "memory");
                 });
    const auto add = [&](const std::string& solver, const std::string& law, double time,
                         const Eigen::Vector2d& v, RestitutionLaw own) {
      const auto error = [&](RestitutionLaw against) {
        const Eigen::Vector3d exact = Exact(c.impact, against).v_plus_F;
        return (v - Eigen::Vector2d(exact.x(), exact.z())).norm() / speed;
      };
      const double by_law = error(own), by_energetic = error(RestitutionLaw::kEnergetic);
      fmt::print(table, "{:<9} {:>8.3f} {:<16} {:<10} {:>12.3f} {:>8.0f} {:>11.2g} {:>11.2g}\n",
                 c.name, c.impact.beta, solver, law, 1e6 * time, time / ours, by_law, by_energetic);
      rows.push_back({{"case", c.name},
                      {"beta_rad", c.impact.beta},
                      {"solver", solver},
                      {"law", law},
                      {"time_us", 1e6 * time},
                      {"time_ratio", time / ours},
                      {"v_plus_x_m_per_s", v.x()},
                      {"v_plus_z_m_per_s", v.y()},
                      {"error_of_its_law", by_law},
                      {"error_of_energetic", by_energetic}});
    };
    const Eigen::Vector3d v = Solve(contact, model(RestitutionLaw::kEnergetic), options).v_plus_F;
    add("ImpactLab", "energetic", ours, {v.x(), v.z()}, RestitutionLaw::kEnergetic);
    for (const Peer& peer : Peers(c.impact)) {
      const Eigen::Vector2d after = peer.impact();
      add(peer.name, peer.law, BestTime([&] { peer.impact(); }), after, peer.compared);
    }
  }
  std::fclose(table);
  if (file != nullptr) {
    std::ofstream out(file);
    out << nlohmann::json(
               {{"rod",
                 {{"mass_kg", 1}, {"length_m", 1}, {"mu", RodImpact{}.mu}, {"e", RodImpact{}.e}}},
                {"impacts", rows}})
               .dump(1)
        << "\n";
    if (!out) {
      fmt::print(stderr, "peer_benchmark: cannot write {}\n", file);
      return 3;
    }
  }
  return 0;
}

}  // namespace
}  // namespace impactlab::test

int main(int argc, char** argv) { return impactlab::test::Run(argc > 1 ? argv[1] : nullptr); }
