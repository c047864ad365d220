#include <ode/ode.h>

#include <memory>

#include "tests/benchmark/peers.h"

namespace impactlab::test {
namespace {

class OdeWorld {
 public:
  explicit OdeWorld(const RodImpact& impact) : impact_(impact) {
    dInitODE2(0);
    dAllocateODEDataForThread(dAllocateMaskAll);
    world_ = dWorldCreate();
    dWorldSetGravity(world_, 0, 0, 0);
    dWorldSetERP(world_, 0);
    dWorldSetCFM(world_, 0);  // no softness: it would be divided by the step
    group_ = dJointGroupCreate(0);
    body_ = dBodyCreate(world_);
    dMass mass;
    dMassSetParameters(&mass, impact.mass, 0, 0, 0, impact.inertia, impact.inertia, impact.inertia,
                       0, 0, 0);
    dBodySetMass(body_, &mass);
    contact_.surface.mode = dContactBounce | dContactApprox1 | dContactFDir1;
    contact_.surface.mu = impact.mu;
    contact_.surface.bounce = impact.e;
    contact_.geom.normal[2] = 1;
    contact_.fdir1[0] = 1;
    contact_.geom.pos[0] = impact.lever_x;
    contact_.geom.pos[2] = impact.lever_z;
  }
  OdeWorld(const OdeWorld&) = delete;
  OdeWorld& operator=(const OdeWorld&) = delete;
  ~OdeWorld() {
    dJointGroupDestroy(group_);
    dWorldDestroy(world_);
    dCloseODE();
  }

  Eigen::Vector2d Impact() {
    const dQuaternion upright = {1, 0, 0, 0};
    dBodySetPosition(body_, 0, 0, 0);
    dBodySetQuaternion(body_, upright);
    dBodySetLinearVel(body_, impact_.v_x, 0, impact_.v_z);
    dBodySetAngularVel(body_, 0, 0, 0);
    dJointAttach(dJointCreateContact(world_, group_, &contact_), body_, nullptr);
    dWorldStep(world_, 1e-6);
    dJointGroupEmpty(group_);
    const dReal *v = dBodyGetLinearVel(body_), *omega = dBodyGetAngularVel(body_);
    return impact_.AtContact(v[0], v[2], omega[1]);
  }

 private:
  RodImpact impact_;
  dWorldID world_ = nullptr;
  dJointGroupID group_ = nullptr;
  dBodyID body_ = nullptr;
  dContact contact_ = {};
};

}  // namespace

Peer OdePeer(const RodImpact& impact) {
  const auto world = std::make_shared<OdeWorld>(impact);
  return {"ODE", "Newton", RestitutionLaw::kNewton, [world] { return world->Impact(); }};
}

}  // namespace impactlab::test
