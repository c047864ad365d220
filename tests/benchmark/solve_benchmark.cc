// Cost of one impact: the planar closed form, turning slip in space, derivatives, the certificate,
// and as a peer one step of a physics engine (ODE) for the same body, contact, friction and bounce.
// Counter `ode_over_solve` of the peer is its time by that of Solve in the same run.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "impact/law/certify.h"
#include "impact/law/energetic_map.h"
#include "impact/law/impulse_law.h"
#include "impact/law/solve.h"
#include "tests/impact/random_contact.h"

#ifdef IMPACTLAB_HAVE_ODE
#include <ode/ode.h>
#endif

namespace impactlab {
namespace {

constexpr int kNumCases = 1024;

struct Cases {
  std::vector<ContactState> contacts;
  std::vector<ImpactModel> models;
};

// Impacts that slip, with ordinary friction and a condition of A_F up to 30.
Cases MakeCases(bool planar, bool turning) {
  std::mt19937_64 rng(20240401);
  Cases cases;
  while (static_cast<int>(cases.contacts.size()) < kNumCases) {
    const ContactState contact = planar ? RandomPlanar(rng, 30) : RandomSpatial(rng, 30);
    ImpactModel model;
    model.law = static_cast<RestitutionLaw>(rng() % 3);
    model.e = Uniform(rng, 0, 1);
    model.mu_k = model.mu_s = Uniform(rng, 0.05, 1);
    const ImpactOutcome outcome = Solve(contact, model);
    if (outcome.status != SolveStatus::kOk || (turning && outcome.dense.empty())) continue;
    cases.contacts.push_back(contact);
    cases.models.push_back(model);
  }
  return cases;
}

void RunSolve(benchmark::State& state, const Cases& cases, const SolveOptions& options) {
  int i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Solve(cases.contacts[i], cases.models[i], options));
    i = (i + 1) % kNumCases;
  }
}

void SolvePlanar(benchmark::State& state) { RunSolve(state, MakeCases(true, false), {}); }
BENCHMARK(SolvePlanar);

// The closed form over many states at once: items per second is what maps and scans live on.
// As many of them as no branch predictor can learn.
void EnergeticMapBatch(benchmark::State& state) {
  std::mt19937_64 rng(20240402);
  std::vector<PlanarContact> contacts(1 << 17);
  for (PlanarContact& contact : contacts) contact = *PlanarPart(RandomPlanar(rng, 30));
  std::vector<EnergeticMapResult> out(contacts.size());
  for (auto _ : state) {
    EnergeticMap(contacts, 0.6, 0.3, 0.36, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * contacts.size()));
}
BENCHMARK(EnergeticMapBatch);

void ImpulseLaws(benchmark::State& state, ImpulseLaw law) {
  const Cases cases = MakeCases(true, false);
  std::vector<PlanarContact> contacts;
  for (const ContactState& contact : cases.contacts) contacts.push_back(*PlanarPart(contact));
  int i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(ApplyImpulseLaw(contacts[i], {{.e = 0.6, .mu_k = 0.3}, law}));
    i = (i + 1) % kNumCases;
  }
}
BENCHMARK_CAPTURE(ImpulseLaws, whittaker, ImpulseLaw::kWhittaker);
BENCHMARK_CAPTURE(ImpulseLaws, smith, ImpulseLaw::kSmith);
BENCHMARK_CAPTURE(ImpulseLaws, brach, ImpulseLaw::kBrach);

// Whatever spatial impacts come, slip that turns or not.
void SolveSpatial(benchmark::State& state) {
  SolveOptions options;
  options.tolerance = 1e-9;
  options.dense_output = false;
  RunSolve(state, MakeCases(false, false), options);
}
BENCHMARK(SolveSpatial);

void SolveTurningSlip(benchmark::State& state) {
  SolveOptions options;
  options.tolerance = 1e-9;
  options.dense_output = false;
  RunSolve(state, MakeCases(false, true), options);
}
BENCHMARK(SolveTurningSlip);

void SolveTurningSlipDense(benchmark::State& state) { RunSolve(state, MakeCases(false, true), {}); }
BENCHMARK(SolveTurningSlipDense);

void RunDifferentiate(benchmark::State& state, const Cases& cases) {
  int i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Differentiate(cases.contacts[i], cases.models[i]));
    i = (i + 1) % kNumCases;
  }
}

void DifferentiatePlanar(benchmark::State& state) {
  RunDifferentiate(state, MakeCases(true, false));
}
BENCHMARK(DifferentiatePlanar);
void DifferentiateTurningSlip(benchmark::State& state) {
  RunDifferentiate(state, MakeCases(false, true));
}
BENCHMARK(DifferentiateTurningSlip);

void CertifyTurningSlip(benchmark::State& state) {
  const Cases cases = MakeCases(false, true);
  std::vector<ImpactOutcome> outcomes;
  for (int i = 0; i < kNumCases; ++i) outcomes.push_back(Solve(cases.contacts[i], cases.models[i]));
  int i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Certify(cases.contacts[i], cases.models[i], outcomes[i]));
    i = (i + 1) % kNumCases;
  }
}
BENCHMARK(CertifyTurningSlip);

#ifdef IMPACTLAB_HAVE_ODE

// One box of 1 kg that touches the ground with a corner.
struct BoxImpact {
  double side[3] = {0.1, 0.06, 0.04};
  double inertia[3] = {};
  Eigen::Vector3d lever, v, omega;

  explicit BoxImpact(bool planar) {
    for (int i = 0; i < 3; ++i) {
      const double a = side[(i + 1) % 3], b = side[(i + 2) % 3];
      inertia[i] = (a * a + b * b) / 12;
    }
    lever = Eigen::Vector3d(0.05, planar ? 0 : -0.03, -0.02);
    v = Eigen::Vector3d(1, planar ? 0 : 0.4, -2);
    omega = Eigen::Vector3d(0, 3, 0);
  }

  ContactState Contact() const {
    ContactState contact;
    Eigen::Matrix3d cross;
    cross << 0, -lever.z(), lever.y(), lever.z(), 0, -lever.x(), -lever.y(), lever.x(), 0;
    const Eigen::Vector3d by_inertia(1 / inertia[0], 1 / inertia[1], 1 / inertia[2]);
    contact.A_F = Eigen::Matrix3d::Identity() - cross * by_inertia.asDiagonal() * cross;
    contact.v_minus_F = v + omega.cross(lever);
    return contact;
  }
};

constexpr double kPeerMu = 0.3, kPeerBounce = 0.5;

// Best time of a call over many short batches [s].
template <class F>
double BestTime(F&& call) {
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < 200; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) call();
    best = std::min(
        best,
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 200);
  }
  return best;
}

void OdeWorldStep(benchmark::State& state, bool planar) {
  const BoxImpact box(planar);
  dInitODE2(0);
  dAllocateODEDataForThread(dAllocateMaskAll);
  const dWorldID world = dWorldCreate();
  dWorldSetGravity(world, 0, 0, 0);
  const dJointGroupID group = dJointGroupCreate(0);
  const dBodyID body = dBodyCreate(world);
  dMass mass;
  dMassSetBoxTotal(&mass, 1, box.side[0], box.side[1], box.side[2]);
  dBodySetMass(body, &mass);
  dContact contact = {};
  contact.surface.mode = dContactBounce;
  contact.surface.mu = kPeerMu;
  contact.surface.bounce = kPeerBounce;
  contact.geom.normal[2] = 1;
  for (int i = 0; i < 3; ++i) contact.geom.pos[i] = box.lever[i];
  const auto step = [&] {
    dBodySetPosition(body, 0, 0, 0);
    const dQuaternion upright = {1, 0, 0, 0};
    dBodySetQuaternion(body, upright);
    dBodySetLinearVel(body, box.v.x(), box.v.y(), box.v.z());
    dBodySetAngularVel(body, box.omega.x(), box.omega.y(), box.omega.z());
    dJointAttach(dJointCreateContact(world, group, &contact), body, nullptr);
    dWorldStep(world, 1e-6);
    dJointGroupEmpty(group);
  };
  for (auto _ : state) step();

  ImpactModel model;
  model.law = RestitutionLaw::kNewton;  // the peer's bounce
  model.e = kPeerBounce;
  model.mu_k = model.mu_s = kPeerMu;
  const ContactState ours = box.Contact();
  SolveOptions options;
  options.tolerance = 1e-9;
  options.dense_output = false;
  const double solve_time =
      BestTime([&] { benchmark::DoNotOptimize(Solve(ours, model, options)); });
  state.counters["ode_over_solve"] = BestTime(step) / solve_time;
  state.counters["solve_ns"] = solve_time * 1e9;
  // How far the step's contact velocity is from the exact path, by |v_minus|: the peer replaces the
  // path by one complementarity problem.
  const dReal* v = dBodyGetLinearVel(body);
  const dReal* w = dBodyGetAngularVel(body);
  const Eigen::Vector3d v_plus =
      Eigen::Vector3d(v[0], v[1], v[2]) + Eigen::Vector3d(w[0], w[1], w[2]).cross(box.lever);
  state.counters["ode_difference"] =
      (v_plus - Solve(ours, model).v_plus_F).norm() / ours.v_minus_F.norm();
  dJointGroupDestroy(group);
  dWorldDestroy(world);
  dCloseODE();
}
BENCHMARK_CAPTURE(OdeWorldStep, planar, true);
BENCHMARK_CAPTURE(OdeWorldStep, spatial, false);

#endif

}  // namespace
}  // namespace impactlab

BENCHMARK_MAIN();
