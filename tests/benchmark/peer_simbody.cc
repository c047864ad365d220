#include <Simbody.h>

#include <memory>

#include "tests/benchmark/peers.h"

namespace impactlab::test {
namespace {

class SimbodyWorld {
 public:
  SimbodyWorld(const RodImpact& impact, SimbodySolver solver) : impact_(impact), matter_(system_) {
    using SimTK::Vec3;
    const SimTK::Body::Rigid rod(SimTK::MassProperties(
        impact.mass, Vec3(0), SimTK::Inertia(impact.inertia, impact.inertia, impact.inertia)));
    SimTK::MobilizedBody::Free free(matter_.updGround(), rod);
    matter_.adoptUnilateralContact(new SimTK::PointPlaneContact(
        matter_.updGround(), SimTK::ZAxis, 0, free, Vec3(impact.lever_x, 0, impact.lever_z),
        impact.e, impact.mu, impact.mu, 0));
    SimTK::State state = system_.realizeTopology();
    free.setQToFitTransform(state, SimTK::Transform(Vec3(-impact.lever_x, 0, -impact.lever_z)));
    free.setUToFitLinearVelocity(state, Vec3(impact.v_x, 0, impact.v_z));
    q_ = state.getQ();
    u_ = state.getU();
    body_ = free.getMobilizedBodyIndex();
    using Stepper = SimTK::SemiExplicitEulerTimeStepper;
    stepper_ = std::make_unique<Stepper>(system_);
    stepper_->setImpulseSolverType(solver == SimbodySolver::kPlus ? Stepper::PLUS : Stepper::PGS);
    stepper_->setRestitutionModel(Stepper::Poisson);
    stepper_->setConstraintTolerance(1e-9);
    // Below these speeds a contact does not bounce, bounces more, or sticks.
    stepper_->setDefaultImpactCaptureVelocity(1e-8);
    stepper_->setDefaultImpactMinCORVelocity(1e-8);
    stepper_->setDefaultFrictionTransitionVelocity(1e-8);
    stepper_->initialize(state);
  }

  Eigen::Vector2d Impact() {
    SimTK::State& state = stepper_->updState();
    state.setTime(0);
    state.updQ() = q_;
    state.updU() = u_;
    stepper_->stepTo(1e-6);
    system_.realize(stepper_->getState(), SimTK::Stage::Velocity);
    const SimTK::SpatialVec velocity =
        matter_.getMobilizedBody(body_).getBodyVelocity(stepper_->getState());
    return impact_.AtContact(velocity[1][0], velocity[1][2], velocity[0][1]);
  }

 private:
  RodImpact impact_;
  SimTK::MultibodySystem system_;
  SimTK::SimbodyMatterSubsystem matter_;
  SimTK::MobilizedBodyIndex body_;
  SimTK::Vector q_, u_;
  std::unique_ptr<SimTK::SemiExplicitEulerTimeStepper> stepper_;
};

}  // namespace

Peer SimbodyPeer(const RodImpact& impact, SimbodySolver solver) {
  const auto world = std::make_shared<SimbodyWorld>(impact, solver);
  return {solver == SimbodySolver::kPlus ? "Simbody, PLUS" : "Simbody, PGS", "Poisson",
          RestitutionLaw::kPoisson, [world] { return world->Impact(); }};
}

}  // namespace impactlab::test
