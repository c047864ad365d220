#pragma once
// Private to the mechanisms: the functions behind MakeBodyMechanism
// (impact/motion/mechanism_bodies.h), which checks what they are made of.

#include <Eigen/Core>
#include <vector>

#include "impact/motion/mechanism_bodies.h"
#include "impact/multi/sphere_pair.h"

namespace impactlab::impact {

// A sphere about centre_B, or a smooth ellipsoid with the given semi-axes about the centre of mass.
struct Feature {
  Eigen::Vector3d centre_B = Eigen::Vector3d::Zero();
  double radius = 0;
  bool ellipsoid = false;
  Eigen::Vector3d semi_axes = Eigen::Vector3d::Zero();
};
std::vector<Feature> FeaturesOf(const Body& body);

struct BodyPose {
  Eigen::Matrix3d R;
  Eigen::Vector3d p, v, omega;
};
// Of the body whose coordinates and velocities begin at q and u.
BodyPose PoseFrom(const double* q, const double* u, bool planar);

class BodyModel {
 public:
  // Normals of planes may have any length.
  BodyModel(std::vector<MovingBody> bodies, std::vector<MovingPlane> planes,
            const Eigen::Vector3d& gravity_W);
  void AddJoint(const SystemJoint& joint);

  std::vector<ContactOfBodies> contacts;

  int width() const { return planar_ ? 2 : 3; }
  int n_q() const { return at_q(size()); }
  int n_u() const { return at_u(size()); }
  const std::vector<Feature>& features(int k) const {
    return features_[static_cast<std::size_t>(k)];
  }

  void Rates(const MechanismState& state, Eigen::VectorXd& dq) const;
  void Terms(const MechanismState& state, MechanismTerms& out) const;
  void Contact(const MechanismState& state, int i, ContactTerms& out) const;
  double Potential(const MechanismState& state) const;
  void Normalise(Eigen::VectorXd& q) const;
  double Frequency(const MechanismState& state) const;

 private:
  struct Pin {
    int body = 0, other = kGround;
    Eigen::Vector3d p_B, p_O;  // in the frames of both bodies; W for the ground
    bool hinge = false;
    Eigen::Vector3d axis_B;
    Eigen::Vector3d across_O[2];  // of the other body, at right angles to the axis
  };

  int size() const { return static_cast<int>(bodies_.size()); }
  int freedoms() const { return planar_ ? 3 : 6; }
  int at_q(int k) const { return (planar_ ? 3 : 7) * k; }
  int at_u(int k) const { return freedoms() * k; }
  bool Held(double t, int k) const {
    const double start_t = bodies_[static_cast<std::size_t>(k)].start_t;
    return start_t > 0 && t < start_t;
  }
  BodyPose At(const MechanismState& state, int k) const {
    return PoseFrom(state.q.data() + at_q(k), state.u.data() + at_u(k), planar_);
  }

  template <class Row>
  void AddRow(int k, const Eigen::Vector3d& lever, const Eigen::Vector3d& d, double sign,
              Row&& row) const;
  template <class Function>
  void ForAxes(Function&& function) const;
  void OnPlane(const MechanismState& state, const ContactOfBodies& c, ContactTerms& out) const;
  void OnBody(const MechanismState& state, const ContactOfBodies& c, ContactTerms& out) const;
  void Joints(const MechanismState& state, MechanismTerms& out) const;

  std::vector<MovingBody> bodies_;
  std::vector<MovingPlane> planes_;
  Eigen::Vector3d g_;
  bool planar_;
  std::vector<Eigen::Matrix3d> frames_;  // of the planes
  std::vector<std::vector<Feature>> features_;
  std::vector<Pin> pins_;
  int joint_rows_ = 0;
};

}  // namespace impactlab::impact
