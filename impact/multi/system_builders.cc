#include "impact/multi/system_builders.h"

#include <fmt/format.h>

#include <cmath>

#include "data/base/error.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::RowVectorXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

[[noreturn]] void FailBuilder(const std::string& key, const std::string& found,
                              const std::string& allowed) {
  throw ConfigError(fmt::format("system: {}: found {}, allowed {}", key, found, allowed));
}

void CheckSizes(const char* key, size_t found, size_t wanted) {
  if (found != wanted) FailBuilder(key, fmt::format("{} values", found), std::to_string(wanted));
}

void CheckPositive(const char* key, double value) {
  if (!(value > 0) || !std::isfinite(value)) FailBuilder(key, fmt::format("{}", value), "above 0");
}

class Assembly {
 public:
  explicit Assembly(const std::vector<SystemBody>& bodies)
      : bodies_(bodies), planar_(!bodies.empty() && bodies[0].body.planar) {
    if (bodies.empty()) FailBuilder("bodies", "none", "at least one");
    for (const SystemBody& b : bodies) {
      CheckBody(b.body);
      if (b.body.planar != planar_)
        FailBuilder("bodies", "planar and spatial bodies together", "all planar or all spatial");
    }
  }

  int freedoms() const { return planar_ ? 3 : 6; }
  int size() const { return freedoms() * static_cast<int>(bodies_.size()); }
  bool planar() const { return planar_; }

  MatrixXd MassMatrix() const {
    MatrixXd M = MatrixXd::Zero(size(), size());
    for (size_t i = 0; i < bodies_.size(); ++i) {
      const Body& body = bodies_[i].body;
      const int at = freedoms() * static_cast<int>(i);
      if (planar_) {
        M.diagonal().segment(at, 3) << body.mass, body.mass, body.inertia_B(1, 1);
      } else {
        const Eigen::Matrix3d R = bodies_[i].X_WB.linear();
        M.diagonal().segment(at, 3).setConstant(body.mass);
        M.block(at + 3, at + 3, 3, 3) = R * body.inertia_B * R.transpose();
      }
    }
    return M;
  }

  VectorXd Velocities() const {
    VectorXd u(size());
    for (size_t i = 0; i < bodies_.size(); ++i) {
      const SystemBody& b = bodies_[i];
      const int at = freedoms() * static_cast<int>(i);
      if (planar_)
        u.segment(at, 3) << b.v_WB.x(), b.v_WB.z(), -b.omega_WB.y();
      else
        u.segment(at, 6) << b.v_WB, b.omega_WB;
    }
    return u;
  }

  // Velocity along d of the point of `body` at p_W, less that of `other`.
  RowVectorXd Row(const char* what, int body, int other, const Vector3d& p_W,
                  const Vector3d& d) const {
    RowVectorXd row = RowVectorXd::Zero(size());
    CheckPair(what, body, other);
    Add(body, p_W, d, 1, row);
    if (other != kGround) Add(other, p_W, d, -1, row);
    return row;
  }

  RowVectorXd SpinRow(int body, int other, const Vector3d& d) const {
    RowVectorXd row = RowVectorXd::Zero(size());
    row.segment(6 * body + 3, 3) = d.transpose();
    if (other != kGround) row.segment(6 * other + 3, 3) -= d.transpose();
    return row;
  }

 private:
  void CheckPair(const char* what, int body, int other) const {
    const int n = static_cast<int>(bodies_.size());
    if (body < 0 || body >= n)
      FailBuilder(fmt::format("{}: body", what), std::to_string(body),
                  fmt::format("0 to {}", n - 1));
    if (other != kGround && (other < 0 || other >= n || other == body)) {
      FailBuilder(fmt::format("{}: other", what), std::to_string(other),
                  "the number of another body, or -1 for the ground");
    }
  }

  void Add(int body, const Vector3d& p_W, const Vector3d& d, double sign, RowVectorXd& row) const {
    const Vector3d r = p_W - bodies_[body].X_WB.translation(), turn = r.cross(d);
    const int at = freedoms() * body;
    if (planar_)
      row.segment(at, 3) += sign * Eigen::RowVector3d(d.x(), d.z(), -turn.y());
    else
      row.segment(at, 3) += sign * d.transpose(), row.segment(at + 3, 3) += sign * turn.transpose();
  }

  const std::vector<SystemBody>& bodies_;
  bool planar_;
};

ImpactSystem LineOfBalls(const VectorXd& inertia, double lever, const std::vector<double>& rates,
                         const std::vector<ContactProperties>& contacts) {
  const int n = static_cast<int>(inertia.size());
  if (n < 2) FailBuilder("balls", std::to_string(n), "at least 2");
  CheckSizes("velocities", rates.size(), n);
  CheckSizes("contacts", contacts.size(), n - 1);
  ImpactSystem system;
  system.width = 1;
  system.M = inertia.asDiagonal();
  system.rows = MatrixXd::Zero(n - 1, n);
  for (int k = 0; k + 1 < n; ++k) system.rows(k, k) = -lever, system.rows(k, k + 1) = lever;
  system.u_minus = Eigen::Map<const VectorXd>(rates.data(), n);
  system.contacts = contacts;
  return system;
}

}  // namespace

Eigen::Isometry3d FrameAt(const Vector3d& p_W, const Vector3d& normal_W, bool planar) {
  const Vector3d n = normal_W.normalized();
  Vector3d x = Vector3d::UnitY().cross(n);
  if (!planar) {
    x = Vector3d::UnitX() - n.x() * n;
    if (x.norm() < 1e-6) x = Vector3d::UnitY() - n.y() * n;
  }
  x.normalize();
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() << x, n.cross(x), n;
  X.translation() = p_W;
  return X;
}

ImpactSystem MakeBodySystem(const std::vector<SystemBody>& bodies,
                            const std::vector<SystemJoint>& joints,
                            const std::vector<SystemContact>& contacts) {
  const Assembly assembly(bodies);
  ImpactSystem system;
  system.width = assembly.planar() ? 2 : 3;
  system.M = assembly.MassMatrix();
  system.u_minus = assembly.Velocities();
  system.rows.resize(system.width * contacts.size(), assembly.size());
  for (size_t i = 0; i < contacts.size(); ++i) {
    const SystemContact& c = contacts[i];
    int at = system.width * static_cast<int>(i);
    for (const int axis : {0, 1, 2}) {
      if (assembly.planar() && axis == 1) continue;
      system.rows.row(at++) =
          assembly.Row("contact", c.body, c.other, c.X_WF.translation(), c.X_WF.linear().col(axis));
    }
    system.contacts.push_back(c.properties);
  }
  std::vector<RowVectorXd> rows;
  for (const SystemJoint& joint : joints) {
    for (const int axis : {0, 1, 2}) {
      if (assembly.planar() && axis == 1) continue;
      rows.push_back(
          assembly.Row("joint", joint.body, joint.other, joint.p_W, Vector3d::Unit(axis)));
    }
    if (assembly.planar() || joint.axis_W.isZero()) continue;
    const Eigen::Matrix3d R = FrameAt(Vector3d::Zero(), joint.axis_W, false).linear();
    for (const int axis : {0, 1})
      rows.push_back(assembly.SpinRow(joint.body, joint.other, R.col(axis)));
  }
  system.joints.resize(rows.size(), assembly.size());
  for (size_t i = 0; i < rows.size(); ++i) system.joints.row(i) = rows[i];
  CheckSystem(system);
  return system;
}

ImpactSystem MakeFreeBody(const SystemBody& body, const std::vector<Vector3d>& points_B,
                          const Vector3d& normal_W, const ContactProperties& properties) {
  std::vector<SystemContact> contacts;
  for (size_t i = 0; i < points_B.size(); ++i) {
    SystemContact contact{properties, 0, kGround,
                          FrameAt(body.X_WB * points_B[i], normal_W, body.body.planar)};
    if (contact.properties.name.empty()) contact.properties.name = fmt::format("Q{}", i + 1);
    contacts.push_back(contact);
  }
  return MakeBodySystem({body}, {}, contacts);
}

ImpactSystem MakeChain(const std::vector<double>& lengths, const std::vector<double>& masses,
                       const std::vector<double>& angles, const std::vector<double>& rates,
                       const ContactProperties& properties) {
  const size_t n = lengths.size();
  CheckSizes("masses", masses.size(), n);
  CheckSizes("angles", angles.size(), n);
  CheckSizes("rates", rates.size(), n);
  std::vector<SystemBody> bodies(n);
  std::vector<SystemJoint> joints;
  Vector3d end = Vector3d::Zero(), v_end = Vector3d::Zero();
  for (size_t i = 0; i < n; ++i) {
    CheckPositive("lengths", lengths[i]);
    CheckPositive("masses", masses[i]);
    const Vector3d along(std::sin(angles[i]), 0, -std::cos(angles[i]));
    const Vector3d across(std::cos(angles[i]), 0, std::sin(angles[i]));  // d along / d angle
    const double l = lengths[i];
    // Across a slender rod only the inertia about W_y counts; the two others close the triangle
    // inequality.
    bodies[i].body = MakePoints({Vector3d(0, 0, 0.5 * l), Vector3d(0, 0, -0.5 * l)}, masses[i],
                                Vector3d(1, 1, 1).asDiagonal() * (masses[i] * l * l / 12), true);
    bodies[i].X_WB =
        PlanarPose(end.x() + 0.5 * l * along.x(), end.z() + 0.5 * l * along.z(), angles[i]);
    bodies[i].v_WB = v_end + 0.5 * l * rates[i] * across;
    bodies[i].omega_WB = Vector3d(0, -rates[i], 0);
    joints.push_back({static_cast<int>(i), static_cast<int>(i) - 1, end, Vector3d::Zero()});
    end += l * along;
    v_end += l * rates[i] * across;
  }
  return MakeBodySystem(
      bodies, joints,
      {{properties, static_cast<int>(n) - 1, kGround, FrameAt(end, Vector3d::UnitZ(), true)}});
}

ImpactSystem MakeBallChain(const std::vector<double>& masses, const std::vector<double>& velocities,
                           const std::vector<ContactProperties>& contacts) {
  for (const double mass : masses) CheckPositive("masses", mass);
  return LineOfBalls(
      Eigen::Map<const VectorXd>(masses.data(), static_cast<Eigen::Index>(masses.size())), 1,
      velocities, contacts);
}

ImpactSystem MakeCradle(const std::vector<double>& masses, double length, double radius,
                        const std::vector<double>& rates,
                        const std::vector<ContactProperties>& contacts) {
  CheckPositive("length", length);
  CheckPositive("radius", radius);
  VectorXd inertia(masses.size());
  for (size_t i = 0; i < masses.size(); ++i) {
    CheckPositive("masses", masses[i]);
    inertia[i] = masses[i] * (length * length + 0.4 * radius * radius);
  }
  return LineOfBalls(inertia, length, rates, contacts);
}

ImpactSystem MakeDiscInCorner(double radius, double mass, double v_x, double v_z, double theta_dot,
                              const ContactProperties& properties) {
  const SystemBody disc{MakeDisc(radius, mass), Eigen::Isometry3d::Identity(),
                        Vector3d(v_x, 0, v_z), Vector3d(0, -theta_dot, 0)};
  std::vector<SystemContact> contacts(
      2, {properties, 0, kGround, FrameAt(-radius * Vector3d::UnitZ(), Vector3d::UnitZ(), true)});
  contacts[1].X_WF = FrameAt(radius * Vector3d::UnitX(), -Vector3d::UnitX(), true);
  contacts[0].properties.name = "floor";
  contacts[1].properties.name = "wall";
  return MakeBodySystem({disc}, {}, contacts);
}

ImpactSystem MakeSphereInCorner(double radius, double mass, const Vector3d& v_W,
                                const Vector3d& omega_W, const ContactProperties& properties) {
  const SystemBody sphere{MakeBall(radius, mass), Eigen::Isometry3d::Identity(), v_W, omega_W};
  std::vector<SystemContact> contacts;
  const char* names[] = {"floor", "wall x", "wall y"};
  const Vector3d normals[] = {Vector3d::UnitZ(), -Vector3d::UnitX(), -Vector3d::UnitY()};
  for (int i = 0; i < 3; ++i) {
    contacts.push_back({properties, 0, kGround, FrameAt(-radius * normals[i], normals[i], false)});
    contacts.back().properties.name = names[i];
  }
  return MakeBodySystem({sphere}, {}, contacts);
}

}  // namespace impactlab
