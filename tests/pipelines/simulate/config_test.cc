// Scenario files: what they say becomes the mechanism, and what cannot be is refused with its
// place.

#include "pipelines/simulate/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/base/error.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

const std::string kHead = "schema: impactlab.scenario/1\nsimulation: {duration_s: 2}\n";

std::string Fault(const std::string& text) {
  try {
    ParseScenario(kHead + text, "s.yaml");
  } catch (const ConfigError& fault) {
    return fault.what();
  }
  return "accepted";
}

const char* const kBall =
    "planar: true\n"
    "bodies:\n"
    "  - {name: ball, shape: ball, radius_m: 0.1, mass_kg: 2, position_m: [0, 1], v_m_per_s: [1, "
    "0], drag_per_s: 0.5, drag_per_m: 0.25}\n"
    "  - {name: late, shape: ball, radius_m: 0.1, mass_kg: 1, position_m: [3, 0.5], start_s: "
    "0.75}\n"
    "drag_per_m: 0.125\n"
    "gravity_m_per_s2: [0, 0, -9.81]\n"
    "planes:\n"
    "  - {name: floor, normal: [0, 2], offset_m: -0.2, amplitude_m: 0.01, frequency_rad_per_s: 60, "
    "phase_rad: 0.5, belt_m_per_s: [-0.4, "
    "0]}\n"
    "every_contact: {mu_k: 0.3, mu_s: 0.4, e: 0.8}\n";

TEST(Scenario, BodiesPlanesAndContactsAreThoseOfTheFile) {
  const Scenario s = ParseScenario(kHead + kBall, "s.yaml");
  EXPECT_EQ(s.name, "s");
  EXPECT_TRUE(s.planar());
  EXPECT_EQ(s.options.duration, 2);
  EXPECT_EQ(s.options.sample_step, 0.001);
  const Mechanism& m = s.mechanism;
  ASSERT_EQ(m.contacts.size(), 3u);
  EXPECT_EQ(m.contacts[0].name, "ball on floor");
  EXPECT_EQ(m.contacts[1].name, "late on floor");
  EXPECT_EQ(m.contacts[2].name, "late on ball");
  for (const ContactProperties& c : m.contacts) {
    EXPECT_EQ(c.mu_k, 0.3);
    EXPECT_EQ(c.mu_s, 0.4);
    EXPECT_EQ(c.e, 0.8);
  }
  EXPECT_EQ(m.breaks, std::vector<double>{0.75});
  EXPECT_FALSE(m.passive);
  EXPECT_EQ(m.q_names[0], "ball_x_m");
  ContactTerms contact;
  m.contact(s.start, 0, contact);
  EXPECT_NEAR(contact.gap, 1 - 0.1 + 0.2 - 0.01 * std::sin(0.5), 1e-15);
  EXPECT_NEAR(contact.v_surface[0], -0.4, 1e-15);
  EXPECT_NEAR(contact.v_surface[1], 0.01 * 60 * std::cos(0.5), 1e-15);
  MechanismTerms terms;
  m.terms(s.start, terms);
  EXPECT_NEAR(terms.force[0], -2 * (0.5 + 0.25), 1e-15);  // v = 1
  EXPECT_NEAR(terms.force[1], -2 * 9.81, 1e-14);
  EXPECT_EQ(terms.force[4], 0);  // not let go yet
  MechanismState later = s.start;
  later.t = 1;
  later.u[3] = 2;
  m.terms(later, terms);
  EXPECT_NEAR(terms.force[3], -0.125 * 4, 1e-15);  // drag_per_m of the file
}

TEST(Scenario, ListedContactsAreTheOnlyOnes) {
  const Scenario s = ParseScenario(
      kHead + std::string(kBall) + "contacts:\n  - {between: [late, ball], e: 0.1}\n", "s.yaml");
  ASSERT_EQ(s.mechanism.contacts.size(), 1u);
  EXPECT_EQ(s.mechanism.contacts[0].name, "late on ball");
  EXPECT_EQ(s.mechanism.contacts[0].e, 0.1);
  EXPECT_EQ(s.mechanism.contacts[0].mu_k, 0.3);
}

TEST(Scenario, VelocitiesLeftOutFollowFromTheJoints) {
  const Scenario s =
      ParseScenario(kHead +
                        "planar: true\n"
                        "bodies:\n"
                        "  - {name: rod, shape: rod, length_m: 1, radius_m: 0.01, mass_kg: 1, "
                        "position_m: [0.5, 0], theta_dot_rad_per_s: -3}\n"
                        "joints:\n  - {kind: pin, between: rod, at_m: [0, 0]}\n",
                    "s.yaml");
  EXPECT_NEAR(s.start.u[0], 0, 1e-15);
  EXPECT_NEAR(s.start.u[1], -1.5, 1e-15);
  EXPECT_EQ(s.start.u[2], -3);
  EXPECT_TRUE(s.mechanism.contacts.empty());
}

TEST(Scenario, MechanismsOfTheDocumentsByName) {
  const auto read = [](const std::string& mechanism) {
    return ParseScenario(kHead +
                             "gravity_m_per_s2: [0, 0, -9.81]\nevery_contact: {mu_k: 0.2, mu_s: "
                             "0.3, e: 0.7}\nmechanism: " +
                             mechanism + "\n",
                         "s.yaml");
  };
  const auto gaps = [](const Scenario& s) {
    std::vector<double> out;
    ContactTerms contact;
    for (std::size_t i = 0; i < s.mechanism.contacts.size(); ++i) {
      s.mechanism.contact(s.start, static_cast<int>(i), contact);
      out.push_back(contact.gap);
    }
    return out;
  };
  const Scenario ball = read("{kind: bouncing_ball, height_m: 1.5}");
  EXPECT_NEAR(gaps(ball)[0], 1.5, 1e-15);
  EXPECT_EQ(ball.mechanism.contacts[0].e, 0.7);
  const Scenario rod = read(
      "{kind: rod_on_floor, amplitude_m: 0.5, frequency_rad_per_s: 3, position_m: [0, 4], "
      "theta_rad: 0.3}");
  EXPECT_NEAR(gaps(rod)[1], 4 - std::sin(0.3), 1e-15);
  EXPECT_EQ(rod.mechanism.contacts[0].mu_s, 0.3);
  const Scenario held = read(
      "{kind: belt_pendulum, lengths_m: [1, 1], masses_kg: [0.5, 0.5], theta_rad: 4.21, phi_rad: "
      "4.3, belt_m_per_s: -0.98, held_with: "
      "-0.3}");
  EXPECT_NEAR(gaps(held)[0], 0, 1e-15);
  MechanismTerms terms;
  held.mechanism.terms(held.start, terms);
  // The torque balances gravity and the contact: the Bristol thesis, errata 8.
  EXPECT_NEAR(terms.force[0] + 9.81 * std::sin(4.21), -0.799, 1e-3);
  const Scenario cradle = read(
      "{kind: cradle, masses_kg: [0.1, 0.1, 0.1], length_m: 0.2, radius_m: 0.01, spaces_m: [0.001, "
      "0.002], angles_rad: [-0.3, 0, 0]}");
  EXPECT_NEAR(gaps(cradle)[1], 0.002, 1e-15);
  const std::vector<Eigen::Isometry3d> poses = cradle.poses(cradle.start);
  const Eigen::Vector3d centre = poses[0] * cradle.parts[0].points_B.front();
  EXPECT_NEAR(centre.x(), -0.2 * std::sin(0.3), 1e-15);
  EXPECT_NEAR(centre.z(), -0.2 * std::cos(0.3), 1e-15);
  EXPECT_NEAR(gaps(read("{kind: disc_in_corner, radius_m: 0.1, gaps_m: [0.5, 0.25]}"))[1], 0.25,
              1e-15);
  EXPECT_NEAR(gaps(read("{kind: sphere_in_corner, radius_m: 0.1, gaps_m: [0.5, 0.25, 0.125]}"))[2],
              0.125, 1e-15);
  EXPECT_EQ(read("{kind: rocking_block, planar: false, sides_m: [0.1, 0.2, 0.3], tilt_rad: 0.1}")
                .mechanism.contacts.size(),
            8u);
}

TEST(Scenario, FaultsNameTheirPlaceAndWhatIsAllowed) {
  const std::string ball = kBall;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = ball;
    text.replace(text.find(from), from.size(), to);
    return Fault(text);
  };
  EXPECT_EQ(Fault("name: x\n"),
            "s.yaml:1: bodies: found nothing, allowed one of bodies and mechanism (one of the "
            "literature by its name)");
  EXPECT_THAT(with("amplitude_m", "amplitud_m"), HasSubstr("amplitude_m"));
  EXPECT_THAT(with("belt_m_per_s: [-0.4, 0]", "belt_m_per_s: [-0.4, 0.1]"),
              HasSubstr("a velocity out of the plane"));
  EXPECT_THAT(with("frequency_rad_per_s: 60, ", ""), HasSubstr("above 0 where amplitude_m is"));
  EXPECT_THAT(with("name: late", "name: ball"), HasSubstr("every name once"));
  EXPECT_THAT(with("name: floor", "name: ball"),
              HasSubstr("every name once, of planes and bodies"));
  EXPECT_THAT(with("e: 0.8", "e: 1.8"), HasSubstr("every_contact.e"));
  EXPECT_THAT(with("e: 0.8", "e: 0.8, gap_m: 0.1"), HasSubstr("every_contact.gap_m"));
  EXPECT_THAT(with("position_m: [0, 1]", "position_m: [0, -0.2]"),
              HasSubstr("s.yaml:4: mechanism: ball on floor: found a depth of"));
  EXPECT_THAT(with("every_contact: {mu_k: 0.3, mu_s: 0.4, e: 0.8}\n", ""),
              HasSubstr("neither every_contact nor contacts"));
  EXPECT_THAT(Fault(ball + "contacts:\n  - {between: [ball, flor]}\n"),
              HasSubstr("'flor', nearest is floor"));
  EXPECT_THAT(Fault(ball + "contacts:\n  - {between: [floor, ball]}\n"),
              HasSubstr("'floor' as the first"));
  EXPECT_THAT(Fault(ball + "contacts:\n  - {between: [ball, ball]}\n"), HasSubstr("and itself"));
  EXPECT_THAT(Fault("mechanism: {kind: bouncing_bal, height_m: 1}\nevery_contact: {e: 0.9}\n"),
              HasSubstr("bouncing_ball"));
  EXPECT_THAT(Fault("mechanism: {kind: bouncing_ball, height_m: 1}\n"), HasSubstr("every_contact"));
  EXPECT_THAT(Fault("mechanism: {kind: bouncing_ball, height_m: 1}\nevery_contact: {e: "
                    "0.9}\ndrag_per_m: 1\n"),
              HasSubstr("drag of bodies only"));
  EXPECT_THAT(Fault("mechanism: {kind: bouncing_ball, height_m: 1}\nevery_contact: {e: "
                    "0.9}\ngravity_m_per_s2: [1, 0, -9]\n"),
              HasSubstr("the ground of the mechanism is level"));
  EXPECT_THAT(Fault("mechanism: {kind: cradle, masses_kg: [1, 1], length_m: 1, radius_m: 0.1, "
                    "angles_rad: [0.05, 0]}\nevery_contact: {e: 0.9}\n"),
              HasSubstr("s.yaml:3: mechanism: 1-2: found a depth of"));
  std::string text =
      "schema: impactlab.scenario/1\nsimulation: {duration_s: 2, sample_step_s: 1.0e-9}\n" + ball;
  EXPECT_THROW(ParseScenario(text, "s.yaml"), ConfigError);
}

}  // namespace
}  // namespace impactlab
