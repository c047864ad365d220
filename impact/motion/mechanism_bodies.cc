#include "impact/motion/mechanism_bodies.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "data/base/error.h"
#include "impact/motion/detail/body_model.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using impact::BodyModel;

// Depth at the start that is rounding of a pose [m].
constexpr double kTouching = 1e-9;

[[noreturn]] void FailBody(const std::string& key, const std::string& found,
                           const std::string& allowed) {
  throw ConfigError(fmt::format("mechanism: {}: found {}, allowed {}", key, found, allowed));
}

void CheckIndex(const char* key, int index, std::size_t size) {
  if (index < 0 || index >= static_cast<int>(size))
    FailBody(key, std::to_string(index), fmt::format("0 to {}", static_cast<int>(size) - 1));
}

void NameBodies(std::vector<MovingBody>& bodies) {
  std::set<std::string> seen;
  for (MovingBody& b : bodies) {
    const std::string wanted = b.name.empty() ? b.start.body.name : b.name;
    b.name = wanted;
    for (int number = 2; !seen.insert(b.name).second; ++number)
      b.name = fmt::format("{} {}", wanted, number);
  }
}

void CheckBodies(const std::vector<MovingBody>& bodies, const Vector3d& gravity_W) {
  if (bodies.empty()) FailBody("bodies", "none", "at least one");
  const bool planar = bodies[0].start.body.planar;
  for (const MovingBody& b : bodies) {
    CheckBody(b.start.body);
    if (b.start.body.planar != planar)
      FailBody("bodies", "planar and spatial bodies together", "all planar or all spatial");
    const auto number = [&](const char* key, double value) {
      if (!(std::isfinite(value) && value >= 0))
        FailBody(fmt::format("{}: {}", b.name, key), fmt::format("{}", value),
                 "a number of at least 0");
    };
    number("linear_drag", b.linear_drag);
    number("quadratic_drag", b.quadratic_drag);
    number("start_t", b.start_t);
    if (!b.start.X_WB.matrix().allFinite() || !b.start.v_WB.allFinite() ||
        !b.start.omega_WB.allFinite())
      FailBody(b.name, "a pose or velocity that is not finite", "finite numbers");
  }
  if (!gravity_W.allFinite() || (planar && gravity_W.y() != 0))
    FailBody("gravity_W", fmt::format("({}, {}, {})", gravity_W.x(), gravity_W.y(), gravity_W.z()),
             planar ? "finite numbers, y = 0 in planar motion" : "finite numbers");
}

void CheckPlane(const MovingPlane& p, bool planar) {
  const Vector3d& n = p.plane.normal;
  const double length = n.norm();
  if (!(std::isfinite(length) && length > 0))
    FailBody(p.name + ": normal", "a vector without direction", "a finite vector that is not zero");
  if (planar && (n.y() != 0 || p.belt_W.y() != 0))
    FailBody(p.name + ": normal, belt_W", "an entry along y", "y = 0 in planar motion");
  for (const double value : {p.plane.offset, p.amplitude, p.frequency, p.phase})
    if (!std::isfinite(value)) FailBody(p.name, fmt::format("{}", value), "finite numbers");
  if (!p.belt_W.allFinite() || std::abs(p.belt_W.dot(n)) > 1e-9 * length * p.belt_W.norm())
    FailBody(p.name + ": belt_W",
             fmt::format("({}, {}, {})", p.belt_W.x(), p.belt_W.y(), p.belt_W.z()),
             "a velocity along the plane");
}

// Contacts of the pairs in order, with a name each.
void AddContacts(const std::vector<TouchingPair>& pairs, const BodyMechanism& made,
                 BodyModel& model, Mechanism& mechanism) {
  const auto name_of = [&](int body, int feature) {
    const std::string& name = made.bodies[static_cast<std::size_t>(body)].name;
    return model.features(body).size() > 1 ? fmt::format("{} {}", name, feature) : name;
  };
  for (const TouchingPair& pair : pairs) {
    CheckIndex("pairs: body", pair.body, made.bodies.size());
    if (pair.plane >= 0) CheckIndex("pairs: plane", pair.plane, made.planes.size());
    if (pair.plane < 0) {
      CheckIndex("pairs: other", pair.other, made.bodies.size());
      if (pair.other == pair.body)
        FailBody("pairs: other", std::to_string(pair.other), "another body");
      double reach = 0;
      for (const int k : {pair.body, pair.other}) {
        const Body& body = made.bodies[static_cast<std::size_t>(k)].start.body;
        if (body.shape != BodyShape::kBall && body.shape != BodyShape::kPoints)
          FailBody("pairs: " + made.bodies[static_cast<std::size_t>(k)].name, "a " + body.name,
                   "balls and points, whose contacts with each other are followed");
        reach += body.radius;
      }
      if (!(reach > 0)) FailBody("pairs: other", "points against points", "at least one ball");
    }
    const int others = pair.plane >= 0 ? 1 : static_cast<int>(model.features(pair.other).size());
    for (int i = 0; i < static_cast<int>(model.features(pair.body).size()); ++i) {
      for (int j = 0; j < others; ++j) {
        const std::string on = pair.plane >= 0
                                   ? made.planes[static_cast<std::size_t>(pair.plane)].name
                                   : name_of(pair.other, j);
        mechanism.contacts.push_back(pair.properties);
        mechanism.contacts.back().name = fmt::format("{} on {}", name_of(pair.body, i), on);
        model.contacts.push_back({pair.body, i, pair.plane, pair.plane >= 0 ? -1 : pair.other, j});
      }
    }
  }
}

void NameColumns(const BodyMechanism& made, bool planar, Mechanism& mechanism) {
  for (const MovingBody& b : made.bodies) {
    const std::string prefix = made.bodies.size() > 1 ? b.name + "_" : "";
    const auto add = [&](std::vector<std::string>& names, std::initializer_list<const char*> ends) {
      for (const char* end : ends) names.push_back(prefix + end);
    };
    if (planar) {
      add(mechanism.q_names, {"x_m", "z_m", "theta_rad"});
      add(mechanism.u_names, {"v_x_m_per_s", "v_z_m_per_s", "theta_dot_rad_per_s"});
    } else {
      add(mechanism.q_names, {"x_m", "y_m", "z_m", "q_w", "q_x", "q_y", "q_z"});
      add(mechanism.u_names, {"v_x_m_per_s", "v_y_m_per_s", "v_z_m_per_s", "omega_x_rad_per_s",
                              "omega_y_rad_per_s", "omega_z_rad_per_s"});
    }
  }
}

void SetStart(const BodyMechanism& made, bool planar, const BodyModel& model,
              MechanismState& start) {
  start.q.resize(model.n_q());
  start.u.resize(model.n_u());
  Eigen::Index at_q = 0, at_u = 0;
  for (const MovingBody& b : made.bodies) {
    const SystemBody& s = b.start;
    const Vector3d& p = s.X_WB.translation();
    if (planar) {
      start.q.segment<3>(at_q) << p.x(), p.z(), PlanarAngle(s.X_WB);
      start.u.segment<3>(at_u) << s.v_WB.x(), s.v_WB.z(), -s.omega_WB.y();
    } else {
      const Eigen::Quaterniond q(s.X_WB.linear());
      start.q.segment<7>(at_q) << p, q.w(), q.x(), q.y(), q.z();
      start.u.segment<6>(at_u) << s.v_WB, s.omega_WB;
    }
    at_q += planar ? 3 : 7;
    at_u += planar ? 3 : 6;
  }
}

void CheckDepth(const Mechanism& mechanism, const MechanismState& state, std::size_t contact) {
  ContactTerms terms;
  mechanism.contact(state, static_cast<int>(contact), terms);
  if (terms.gap < -kTouching)
    FailBody(mechanism.contacts[contact].name,
             fmt::format("a depth of {:.3g} m at the start", -terms.gap), "a gap of at least 0");
}

}  // namespace

void CheckStart(const Mechanism& mechanism, const MechanismState& start) {
  CheckMechanism(mechanism, start);
  for (std::size_t i = 0; i < mechanism.contacts.size(); ++i) CheckDepth(mechanism, start, i);
}

BodyState BodyMechanism::StateOf(const MechanismState& state, int k) const {
  const bool planar = mechanism.width == 2;
  const auto at = static_cast<std::ptrdiff_t>(k);
  const impact::BodyPose pose = impact::PoseFrom(state.q.data() + (planar ? 3 : 7) * at,
                                                 state.u.data() + (planar ? 3 : 6) * at, planar);
  BodyState out;
  out.X_WB.linear() = pose.R;
  out.X_WB.translation() = pose.p;
  const double start_t = bodies[static_cast<std::size_t>(k)].start_t;
  if (start_t > 0 && state.t < start_t) return out;
  out.v_WB = pose.v;
  out.omega_WB = pose.omega;
  return out;
}

std::vector<TouchingPair> EveryBodyOnEveryPlane(std::size_t bodies, std::size_t planes,
                                                const ContactProperties& properties) {
  std::vector<TouchingPair> pairs;
  for (std::size_t b = 0; b < bodies; ++b)
    for (std::size_t p = 0; p < planes; ++p)
      pairs.push_back({properties, static_cast<int>(b), static_cast<int>(p), -1});
  return pairs;
}

BodyMechanism MakeBodyMechanism(const std::vector<MovingBody>& bodies,
                                const std::vector<SystemJoint>& joints,
                                const std::vector<MovingPlane>& planes,
                                const std::vector<TouchingPair>& pairs, const Vector3d& gravity_W) {
  CheckBodies(bodies, gravity_W);
  const bool planar = bodies[0].start.body.planar;
  for (const MovingPlane& plane : planes) CheckPlane(plane, planar);
  BodyMechanism made;
  made.bodies = bodies;
  made.planes = planes;
  NameBodies(made.bodies);
  const auto model = std::make_shared<BodyModel>(made.bodies, planes, gravity_W);
  for (const SystemJoint& joint : joints) {
    CheckIndex("joints: body", joint.body, bodies.size());
    if (joint.other != kGround) CheckIndex("joints: other", joint.other, bodies.size());
    if (joint.other == joint.body)
      FailBody("joints: other", std::to_string(joint.other), "another body, or -1 for the ground");
    if (!joint.p_W.allFinite() || !joint.axis_W.allFinite())
      FailBody("joints: p_W, axis_W", "a number that is not finite", "finite numbers");
    for (const int k : {joint.body, joint.other}) {
      if (k != kGround && bodies[static_cast<std::size_t>(k)].start_t > 0)
        FailBody("joints: " + made.bodies[static_cast<std::size_t>(k)].name,
                 "a body that starts later", "bodies that start at 0");
    }
    model->AddJoint(joint);
  }

  Mechanism& m = made.mechanism;
  m.name = made.bodies.size() == 1 ? made.bodies[0].name : "bodies";
  m.width = model->width();
  m.n_q = model->n_q();
  m.n_u = model->n_u();
  AddContacts(pairs, made, *model, m);
  made.contacts = model->contacts;
  NameColumns(made, planar, m);
  for (const MovingBody& b : bodies)
    if (b.start_t > 0) m.breaks.push_back(b.start_t);
  std::sort(m.breaks.begin(), m.breaks.end());
  m.breaks.erase(std::unique(m.breaks.begin(), m.breaks.end()), m.breaks.end());
  for (const MovingPlane& plane : planes)
    if ((plane.amplitude != 0 && plane.frequency != 0) || !plane.belt_W.isZero(0))
      m.passive = false;

  const std::shared_ptr<const BodyModel> shared = model;
  m.rates = [shared](const MechanismState& state, Eigen::VectorXd& dq) {
    shared->Rates(state, dq);
  };
  m.terms = [shared](const MechanismState& state, MechanismTerms& out) {
    shared->Terms(state, out);
  };
  m.contact = [shared](const MechanismState& state, int i, ContactTerms& out) {
    shared->Contact(state, i, out);
  };
  m.potential = [shared](const MechanismState& state) { return shared->Potential(state); };
  m.frequency = [shared](const MechanismState& state) { return shared->Frequency(state); };
  if (!planar) m.normalise = [shared](Eigen::VectorXd& q) { shared->Normalise(q); };
  SetStart(made, planar, *model, made.start);
  CheckStart(m, made.start);
  // A body set free later must be outside the planes then; where other bodies will be is not known.
  for (std::size_t i = 0; i < made.contacts.size(); ++i) {
    const ContactOfBodies& c = made.contacts[i];
    MechanismState state = made.start;
    state.t = made.bodies[static_cast<std::size_t>(c.body)].start_t;
    if (c.plane >= 0) CheckDepth(m, state, i);
  }
  return made;
}

}  // namespace impactlab
