#include "impact/motion/detail/body_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "impact/body/body_corners.h"

namespace impactlab::impact {

using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace {

// Distance of what cannot touch yet [m].
constexpr double kFar = 1e6;

SphereMotion MotionOf(const BodyPose& pose, const Feature& feature) {
  const Vector3d r = pose.R * feature.centre_B, turn = pose.omega.cross(r);
  return {pose.p + r, pose.v + turn, pose.omega.cross(turn), pose.omega, feature.radius};
}

}  // namespace

std::vector<Feature> FeaturesOf(const Body& body) {
  std::vector<Feature> features;
  const CornerSpheres corners = CornersOf(body);
  for (const Vector3d& centre : corners.centres_B) features.push_back({centre, corners.radius});
  if (!features.empty()) return features;
  Feature feature;
  feature.radius = body.radius;
  if (body.shape == BodyShape::kEllipsoid) {
    feature.ellipsoid = true;
    feature.semi_axes = body.half_extents;
    if (body.planar) feature.semi_axes.y() = 0;
  }
  return {feature};
}

BodyPose PoseFrom(const double* q, const double* u, bool planar) {
  BodyPose pose;
  if (planar) {
    const double c = std::cos(q[2]), s = std::sin(q[2]);
    pose.R << c, 0, -s, 0, 1, 0, s, 0, c;
    pose.p = {q[0], 0, q[1]};
    pose.v = {u[0], 0, u[1]};
    pose.omega = {0, -u[2], 0};
  } else {
    pose.R = Quaterniond(q[3], q[4], q[5], q[6]).normalized().toRotationMatrix();
    pose.p = {q[0], q[1], q[2]};
    pose.v = {u[0], u[1], u[2]};
    pose.omega = {u[3], u[4], u[5]};
  }
  return pose;
}

BodyModel::BodyModel(std::vector<MovingBody> bodies, std::vector<MovingPlane> planes,
                     const Vector3d& gravity_W)
    : bodies_(std::move(bodies)),
      planes_(std::move(planes)),
      g_(gravity_W),
      planar_(bodies_[0].start.body.planar) {
  for (const MovingBody& b : bodies_) features_.push_back(FeaturesOf(b.start.body));
  for (MovingPlane& plane : planes_) {
    const double length = plane.plane.normal.norm();
    plane.plane.normal /= length;
    plane.plane.offset /= length;
    frames_.push_back(FrameAt(Vector3d::Zero(), plane.plane.normal, planar_).linear());
  }
}

void BodyModel::AddJoint(const SystemJoint& joint) {
  Pin pin;
  pin.body = joint.body;
  pin.other = joint.other;
  const auto& X_WB = bodies_[static_cast<std::size_t>(joint.body)].start.X_WB;
  const Eigen::Isometry3d X_WO = joint.other == kGround
                                     ? Eigen::Isometry3d::Identity()
                                     : bodies_[static_cast<std::size_t>(joint.other)].start.X_WB;
  pin.p_B = X_WB.inverse() * joint.p_W;
  pin.p_O = X_WO.inverse() * joint.p_W;
  pin.hinge = !planar_ && !joint.axis_W.isZero();
  if (pin.hinge) {
    // Rows of the frame are those of MakeBodySystem: f . (omega - omega') = 0 for both directions f
    // across the axis.
    const Matrix3d F = FrameAt(Vector3d::Zero(), joint.axis_W, false).linear();
    pin.axis_B = X_WB.linear().transpose() * F.col(2);
    for (int i = 0; i < 2; ++i)
      pin.across_O[i] = X_WO.linear().transpose() * F.col(i).cross(F.col(2));
  }
  joint_rows_ += width() + (pin.hinge ? 2 : 0);
  pins_.push_back(pin);
}

void BodyModel::Rates(const MechanismState& state, VectorXd& dq) const {
  dq.setZero(n_q());
  for (int k = 0; k < size(); ++k) {
    if (Held(state.t, k)) continue;
    const auto u = state.u.segment(at_u(k), freedoms());
    if (planar_) {
      dq.segment<3>(at_q(k)) = u;
      continue;
    }
    dq.segment<3>(at_q(k)) = u.head<3>();
    const double* q = state.q.data() + at_q(k) + 3;
    const Vector3d half = 0.5 * u.tail<3>(), v(q[1], q[2], q[3]);
    dq[at_q(k) + 3] = -half.dot(v);
    dq.segment<3>(at_q(k) + 4) = q[0] * half + half.cross(v);
  }
}

// Adds the row of the velocity along d of a point at `lever` from the centre of mass of body k.
template <class Row>
void BodyModel::AddRow(int k, const Vector3d& lever, const Vector3d& d, double sign,
                       Row&& row) const {
  const Vector3d turn = lever.cross(d);
  const int at = at_u(k);
  if (planar_)
    row.template segment<3>(at) += sign * Eigen::RowVector3d(d.x(), d.z(), -turn.y());
  else
    row.template segment<3>(at) += sign * d.transpose(),
        row.template segment<3>(at + 3) += sign * turn.transpose();
}

// Entries of F that a contact has: x, (y,) n.
template <class Function>
void BodyModel::ForAxes(Function&& function) const {
  if (planar_)
    function(0, 0), function(1, 2);
  else
    function(0, 0), function(1, 1), function(2, 2);
}

void BodyModel::Terms(const MechanismState& state, MechanismTerms& out) const {
  out.M.setZero(n_u(), n_u());
  out.force.setZero(n_u());
  for (int k = 0; k < size(); ++k) {
    const MovingBody& b = bodies_[static_cast<std::size_t>(k)];
    const Body& body = b.start.body;
    const int at = at_u(k);
    const bool held = Held(state.t, k);
    if (planar_) {
      out.M(at, at) = out.M(at + 1, at + 1) = body.mass;
      out.M(at + 2, at + 2) = body.inertia_B(1, 1);
      if (held) continue;
      const double vx = state.u[at], vz = state.u[at + 1],
                   drag = body.mass * (b.linear_drag + b.quadratic_drag * std::hypot(vx, vz));
      out.force[at] = body.mass * g_.x() - drag * vx;
      out.force[at + 1] = body.mass * g_.z() - drag * vz;
      continue;
    }
    const Vector3d v = state.u.segment<3>(at), omega = state.u.segment<3>(at + 3);
    const Matrix3d R = At(state, k).R, I = R * body.inertia_B * R.transpose();
    out.M.diagonal().segment<3>(at).setConstant(body.mass);
    out.M.block<3, 3>(at + 3, at + 3) = 0.5 * (I + I.transpose());
    if (held) continue;
    const double drag = b.linear_drag + b.quadratic_drag * v.norm();
    out.force.segment<3>(at) = body.mass * (g_ - drag * v);
    out.force.segment<3>(at + 3) = (I * omega).cross(omega);
  }
  Joints(state, out);
}

void BodyModel::Joints(const MechanismState& state, MechanismTerms& out) const {
  out.joint_rows.setZero(joint_rows_, n_u());
  out.joint_bias.resize(joint_rows_);
  out.joint_error.resize(joint_rows_);
  int row = 0;
  for (const Pin& pin : pins_) {
    const BodyPose body = At(state, pin.body);
    BodyPose other{Matrix3d::Identity(), Vector3d::Zero(), Vector3d::Zero(), Vector3d::Zero()};
    if (pin.other != kGround) other = At(state, pin.other);
    const Vector3d r = body.R * pin.p_B, s = other.R * pin.p_O;
    const Vector3d error = body.p + r - other.p - s;
    const Vector3d bias =
        body.omega.cross(body.omega.cross(r)) - other.omega.cross(other.omega.cross(s));
    ForAxes([&](int, int axis) {
      const Vector3d d = Vector3d::Unit(axis);
      AddRow(pin.body, r, d, 1, out.joint_rows.row(row));
      if (pin.other != kGround) AddRow(pin.other, s, d, -1, out.joint_rows.row(row));
      out.joint_bias[row] = bias[axis];
      out.joint_error[row++] = error[axis];
    });
    if (!pin.hinge) continue;
    const Vector3d a = body.R * pin.axis_B, relative = body.omega - other.omega;
    for (const Vector3d& across : pin.across_O) {
      // The axis a of the body keeps at right angles to b of the other: a . b = 0, rate (a x b) .
      // (omega - omega').
      const Vector3d b = other.R * across, d = a.cross(b);
      out.joint_rows.row(row).segment<3>(at_u(pin.body) + 3) += d.transpose();
      if (pin.other != kGround)
        out.joint_rows.row(row).segment<3>(at_u(pin.other) + 3) -= d.transpose();
      out.joint_bias[row] =
          (body.omega.cross(a).cross(b) + a.cross(other.omega.cross(b))).dot(relative);
      out.joint_error[row++] = a.dot(b);
    }
  }
}

void BodyModel::Contact(const MechanismState& state, int i, ContactTerms& out) const {
  const ContactOfBodies& c = contacts[static_cast<std::size_t>(i)];
  out.rows.setZero(width(), n_u());
  out.v_surface.setZero(width());
  out.bias.setZero(width());
  out.gap = kFar;
  if (Held(state.t, c.body) || (c.plane < 0 && Held(state.t, c.other))) return;
  c.plane >= 0 ? OnPlane(state, c, out) : OnBody(state, c, out);
}

void BodyModel::OnPlane(const MechanismState& state, const ContactOfBodies& c,
                        ContactTerms& out) const {
  const MovingPlane& plane = planes_[static_cast<std::size_t>(c.plane)];
  const Matrix3d& F = frames_[static_cast<std::size_t>(c.plane)];
  const Feature& feature = features(c.body)[static_cast<std::size_t>(c.feature)];
  const BodyPose pose = At(state, c.body);
  const Vector3d n = F.col(2);
  Vector3d lever, lever_rate;
  if (feature.ellipsoid) {
    // Support point s = -H^2 n_B / |H n_B|, H the semi-axes; n_B turns with -omega.
    const Vector3d n_B = pose.R.transpose() * n, omega_B = pose.R.transpose() * pose.omega,
                   dn_B = n_B.cross(omega_B);
    const Vector3d squares = feature.semi_axes.cwiseAbs2(), along = squares.cwiseProduct(n_B);
    const double reach = std::sqrt(n_B.dot(along));
    lever = pose.R * (-along / reach);
    lever_rate =
        pose.omega.cross(lever) - pose.R * (squares.cwiseProduct(dn_B) / reach -
                                            along * (along.dot(dn_B) / (reach * reach * reach)));
  } else {
    const Vector3d centre = pose.R * feature.centre_B;
    lever = centre - feature.radius * n;
    lever_rate = pose.omega.cross(centre);
  }
  const double angle = plane.frequency * state.t + plane.phase;
  const bool moves = plane.amplitude != 0;
  const double height = moves ? plane.amplitude * std::sin(angle) : 0,
               rate = moves ? plane.amplitude * plane.frequency * std::cos(angle) : 0;
  out.gap = n.dot(pose.p + lever) - plane.plane.offset - height;
  const Vector3d v_surface = plane.belt_W + rate * n,
                 bias =
                     pose.omega.cross(lever_rate) + plane.frequency * plane.frequency * height * n;
  ForAxes([&](int row, int axis) {
    AddRow(c.body, lever, F.col(axis), 1, out.rows.row(row));
    out.v_surface[row] = F.col(axis).dot(v_surface);
    out.bias[row] = F.col(axis).dot(bias);
  });
}

void BodyModel::OnBody(const MechanismState& state, const ContactOfBodies& c,
                       ContactTerms& out) const {
  const BodyPose body = At(state, c.body), other = At(state, c.other);
  const auto a = MotionOf(body, features(c.body)[static_cast<std::size_t>(c.feature)]);
  const auto b = MotionOf(other, features(c.other)[static_cast<std::size_t>(c.other_feature)]);
  const SphereContact contact = ContactOfSpheres(a, b, planar_);
  const Vector3d n = contact.R_WF.col(2);
  out.gap = contact.gap;
  ForAxes([&](int row, int axis) {
    AddRow(c.body, a.centre - a.radius * n - body.p, contact.R_WF.col(axis), 1, out.rows.row(row));
    AddRow(c.other, b.centre + b.radius * n - other.p, contact.R_WF.col(axis), -1,
           out.rows.row(row));
    out.bias[row] = contact.bias_F[axis];
  });
}

double BodyModel::Potential(const MechanismState& state) const {
  double sum = 0;
  for (int k = 0; k < size(); ++k) {
    const Vector3d p = planar_ ? Vector3d(state.q[at_q(k)], 0, state.q[at_q(k) + 1])
                               : Vector3d(state.q.segment<3>(at_q(k)));
    sum -= bodies_[static_cast<std::size_t>(k)].start.body.mass * g_.dot(p);
  }
  return sum;
}

void BodyModel::Normalise(VectorXd& q) const {
  for (int k = 0; k < size(); ++k) q.segment<4>(at_q(k) + 3).normalize();
}

double BodyModel::Frequency(const MechanismState& state) const {
  double fastest = 0;
  for (const MovingPlane& plane : planes_)
    if (plane.amplitude != 0) fastest = std::max(fastest, std::abs(plane.frequency));
  for (int k = 0; k < size(); ++k) {
    if (Held(state.t, k)) continue;
    fastest = std::max(
        fastest, planar_ ? std::abs(state.u[at_u(k) + 2]) : state.u.segment<3>(at_u(k) + 3).norm());
  }
  // The line of centres of two balls turns.
  for (const ContactOfBodies& c : contacts) {
    if (c.plane >= 0 || Held(state.t, c.body) || Held(state.t, c.other)) continue;
    const BodyPose body = At(state, c.body), other = At(state, c.other);
    const double distance = (body.p - other.p).norm(),
                 reach = features(c.body)[0].radius + features(c.other)[0].radius;
    fastest = std::max(fastest, (body.v - other.v).norm() / std::max(distance, reach));
  }
  return fastest;
}

}  // namespace impactlab::impact
