#include <btBulletDynamicsCommon.h>

#include <memory>

#include "tests/benchmark/peers.h"

namespace impactlab::test {
namespace {

constexpr double kEnd = 1e-3;  // radius of the sphere that is the rod's end [m]

class BulletWorld {
 public:
  explicit BulletWorld(const RodImpact& impact)
      : impact_(impact),
        dispatcher_(&configuration_),
        world_(&dispatcher_, &broadphase_, &solver_, &configuration_),
        plane_(btVector3(0, 0, 1), 0),
        end_(kEnd),
        ground_(btRigidBody::btRigidBodyConstructionInfo(0, nullptr, &plane_)) {
    world_.setGravity(btVector3(0, 0, 0));
    btContactSolverInfo& info = world_.getSolverInfo();
    info.m_numIterations = 200;
    info.m_leastSquaresResidualThreshold = 1e-24;
    info.m_restitutionVelocityThreshold = 0;
    info.m_solverMode = SOLVER_USE_2_FRICTION_DIRECTIONS;
    plane_.setMargin(0);
    rod_shape_.addChildShape(btTransform(btQuaternion::getIdentity(),
                                         btVector3(impact.lever_x, 0, impact.lever_z + kEnd)),
                             &end_);
    rod_ = std::make_unique<btRigidBody>(btRigidBody::btRigidBodyConstructionInfo(
        impact.mass, nullptr, &rod_shape_,
        btVector3(impact.inertia, impact.inertia, impact.inertia)));
    // Restitution and friction of a contact are the products of both bodies'.
    ground_.setRestitution(1);
    ground_.setFriction(1);
    rod_->setRestitution(impact.e);
    rod_->setFriction(impact.mu);
    rod_->setDamping(0, 0);
    rod_->setActivationState(DISABLE_DEACTIVATION);
    world_.addRigidBody(&ground_);
    world_.addRigidBody(rod_.get());
  }
  BulletWorld(const BulletWorld&) = delete;
  BulletWorld& operator=(const BulletWorld&) = delete;
  ~BulletWorld() {
    world_.removeRigidBody(rod_.get());
    world_.removeRigidBody(&ground_);
  }

  Eigen::Vector2d Impact() {
    const btTransform start(btQuaternion::getIdentity(),
                            btVector3(-impact_.lever_x, 0, -impact_.lever_z));
    rod_->setWorldTransform(start);
    rod_->setInterpolationWorldTransform(start);
    rod_->setLinearVelocity(btVector3(impact_.v_x, 0, impact_.v_z));
    rod_->setAngularVelocity(btVector3(0, 0, 0));
    rod_->clearForces();
    // no contact of the last impact
    broadphase_.getOverlappingPairCache()->cleanProxyFromPairs(rod_->getBroadphaseHandle(),
                                                               &dispatcher_);
    world_.stepSimulation(1e-6, 0);
    const btVector3 v = rod_->getLinearVelocity(), omega = rod_->getAngularVelocity();
    return impact_.AtContact(v.x(), v.z(), omega.y());
  }

 private:
  RodImpact impact_;
  btDefaultCollisionConfiguration configuration_;
  btCollisionDispatcher dispatcher_;
  btDbvtBroadphase broadphase_;
  btSequentialImpulseConstraintSolver solver_;
  btDiscreteDynamicsWorld world_;
  btStaticPlaneShape plane_;
  btSphereShape end_;
  btCompoundShape rod_shape_;
  btRigidBody ground_;
  std::unique_ptr<btRigidBody> rod_;
};

}  // namespace

Peer BulletPeer(const RodImpact& impact) {
  const auto world = std::make_shared<BulletWorld>(impact);
  return {"Bullet", "Newton", RestitutionLaw::kNewton, [world] { return world->Impact(); }};
}

}  // namespace impactlab::test
