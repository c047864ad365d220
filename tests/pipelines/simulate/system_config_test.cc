// System files: what they may leave out, and what a wrong one is told.

#include "pipelines/simulate/system_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/base/error.h"

namespace impactlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string SystemConfigMessage(const std::string& text) {
  try {
    ParseSystem(text, "s.yaml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

const std::string kSystemConfigHead = "schema: impactlab.system/1\nplanar: true\n";
const std::string kSystemConfigBall =
    "bodies: [{name: ball, shape: ball, radius_m: 0.1, mass_kg: 1, v_m_per_s: [0, -1]}]\n";
const std::string kFloor = "contacts: [{name: floor, between: ball, normal: [0, 1], e: 0.5}]\n";

std::string With(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::invalid_argument(from);
  return text.replace(at, from.size(), to);
}

TEST(SystemConfig, DefaultsAndOverrides) {
  const std::string good = kSystemConfigHead + kSystemConfigBall + kFloor;
  ASSERT_EQ(SystemConfigMessage(good), "no error");
  const SystemToPredict plain = ParseSystem(good, "s.yaml");
  EXPECT_EQ(plain.name, "s");
  EXPECT_EQ(plain.system.contacts[0].mu_s, 0);
  EXPECT_EQ(plain.global.e_star, std::vector<double>{0.5});
  const SystemToPredict many =
      ParseSystem(With(good, kFloor,
                       "every_contact: {mu_k: 0.2, mu_s: 0.3, e: 0.5, stiffness_N_per_m: "
                       "7}\ncontacts:\n  - {between: ball, normal: [0, 2]}\n"
                       "  - {between: [ball, ground], normal: [-1, 0], mu_k: 0.4, e: 0.6, gap_m: "
                       "1.0e-6}\nsequence: {order: [C2, C1]}\n"),
                  "s.yaml");
  ASSERT_EQ(many.system.contacts.size(), 2u);
  EXPECT_EQ(many.system.contacts[0].mu_s, 0.3);
  EXPECT_EQ(many.system.contacts[1].mu_s, 0.4);  // follows its own mu_k
  EXPECT_EQ(many.system.contacts[1].stiffness, 7);
  EXPECT_TRUE(many.global.e_star.empty());  // two different e: none for all
  EXPECT_EQ(many.order, (std::vector<int>{1, 0}));
  EXPECT_EQ(SystemConfigMessage(good + "\r\n"), "no error");
  std::string crlf;
  for (const char c : good) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(SystemConfigMessage(crlf), "no error");
}

TEST(SystemConfig, WrongFilesAreNamedWithLineAndKey) {
  const std::string good = kSystemConfigHead + kSystemConfigBall + kFloor;
  struct Wrong {
    std::string text;
    std::vector<std::string> says;
  };
  const std::vector<Wrong> wrongs = {
      {"\xEF\xBB\xBF" + good, {"byte order mark"}},
      {With(good, "mass_kg: 1", "mass_kg: .nan"),
       {"s.yaml:3: bodies[0].mass_kg", "a finite number above 0"}},
      {With(good, "[0, -1]", "[0, -.inf]"), {"bodies[0].v_m_per_s[1]", "finite"}},
      {With(good, "mass_kg: 1", "mass_kg: -1"), {"bodies[0].mass_kg: found '-1'"}},
      {With(good, ", mass_kg: 1", ""), {"bodies[0].mass_kg: found nothing"}},
      {With(good, "radius_m: 0.1", "radius_mm: 100"),
       {"radius_m", "nearest is radius_mm (units are part of the key)"}},
      {With(good, "e: 0.5", "e: 1.5"), {"s.yaml:4: contacts[0].e: found '1.5'", "from 0 to 1"}},
      {With(good, ", e: 0.5", ""), {"contacts[0].e: found nothing"}},
      {With(good, "e: 0.5", "e: 0.5, mu_K: 0.3"),
       {"contacts[0].mu_K: found an unknown key, nearest is mu_k"}},
      {With(good, "e: 0.5", "e: 0.5, mu_k: 0.3, mu_s: 0.2"),
       {"contacts[0].mu_s: found 0.2", "at least mu_k, 0.3"}},
      {With(good, "e: 0.5", "e: 0.5, stiffness_N_per_m: 0"), {"stiffness_N_per_m: found '0'"}},
      {With(good, "between: ball", "between: bal"), {"contacts[0].between", "nearest is ball"}},
      {With(good, "between: ball", "between: [ball, ball]"),
       {"contacts[0].between: found 'ball' and itself"}},
      {With(good, "between: ball", "between: ground"), {"contacts[0].between: found 'ground'"}},
      {With(good, "normal: [0, 1]", "normal: [0, 0]"),
       {"contacts[0].normal: found a vector of no length"}},
      {With(good, "normal: [0, 1]", "normal: [0, 0, 1]"),
       {"contacts[0].normal", "a list of 2 numbers"}},
      {With(good, "normal: [0, 1]", "normal: [0, 1], at_m: [0, -100]"),
       {"contacts[0].at_m: found a point 100 m from the centre of mass of 'ball'"}},
      {With(good, kFloor, "contacts: []\n"), {"s.yaml:4: contacts"}},
      {With(good, kSystemConfigBall, "bodies: []\n"), {"s.yaml:3: bodies"}},
      {With(good, kSystemConfigBall, ""), {"bodies: found nothing", "one of bodies, system"}},
      {With(good, "bodies:", "bodie:"), {"is bodie in line 3 meant to be bodies?"}},
      {With(good, "contacts: [", "contacts: [{name: floor, between: ball, normal: [1, 0], e: 1}, "),
       {"contacts", "the name 'floor' twice"}},
      {With(good, "bodies: [", "bodies: [{name: ball, shape: ball, radius_m: 1, mass_kg: 1}, "),
       {"bodies[1].name: found 'ball' again"}},
      {With(good, "name: ball", "name: ground"), {"bodies[0].name: found ground"}},
      {good + "global: {e_star: [1.2]}\n", {"global.e_star[0]: found '1.2'"}},
      {good + "global: {closure: corner}\n", {"global.closure", "2 planar contacts"}},
      {good + "global: {share: [1, 2]}\n", {"global.share", "a list of 1 numbers"}},
      {good + "sequence: {order: [floor, floor]}\n",
       {"sequence.order: found 2 names, 1 of them different"}},
      {good + "outcomes: {stiffness_ratios: [0]}\n", {"outcomes.stiffness_ratios[0]: found '0'"}},
      {good + "matrices: {u_minus: [1]}\n", {"matrices: found bodies as well"}},
      {With(good, "impactlab.system/1", "impactlab.map/1"), {"schema", "impactlab.system/1"}},
      {With(good, "v_m_per_s: [0, -1]",
            "v_m_per_s: [0, -1]}, {name: box, shape: box, side_m: 1, mass_kg: 1"),
       {"no error"}},
      {With(good, kFloor,
            "contacts: [{between: ball, at_m: [0, -0.1], normal: [0, 1], e: 1.0e+400}]\n"),
       {"contacts[0].e"}},
      {With(good, "v_m_per_s: [0, -1]", "v_m_per_s: [0, -1.0e+200]"), {"velocities of 1e+200"}},
      {With(good, "between: ball", "between: [ball, ball]"),
       {"found 'ball' and itself, allowed two different bodies"}},
      {With(good, "mass_kg: 1", "mass_kg: 1.0e+308, inertia_kg_m2: 1.0e-308"),
       {"masses from 1e-308 to 1e+308, allowed 1e-60 to 1e+60"}},
  };
  for (const Wrong& wrong : wrongs)
    for (const std::string& words : wrong.says)
      EXPECT_THAT(SystemConfigMessage(wrong.text), HasSubstr(words)) << wrong.text;
}

TEST(SystemConfig, JointsAndTheirVelocities) {
  const std::string rod = kSystemConfigHead +
                          "bodies: [{name: rod, shape: rod, length_m: 1, radius_m: 0.01, mass_kg: "
                          "1, position_m: [0.5, 0], theta_dot_rad_per_s: -2}]\n"
                          "joints: [{kind: pin, between: rod, at_m: [0, 0]}]\ncontacts: [{between: "
                          "rod, at_m: [1, -0.01], normal: [0, 1], e: 0.5}]\n";
  const SystemToPredict completed = ParseSystem(rod, "s.yaml");
  EXPECT_NEAR(completed.system.u_minus[1], -1, 1e-14);
  EXPECT_EQ(SystemConfigMessage(With(rod, "theta_dot", "v_m_per_s: [0, -1], theta_dot")),
            "no error");
  EXPECT_THAT(SystemConfigMessage(With(rod, "theta_dot", "v_m_per_s: [0, -0.9], theta_dot")),
              AllOf(HasSubstr("s.yaml:4: joints[0].between"), HasSubstr("0.1 m/s"),
                    HasSubstr("keep the joint")));
  EXPECT_THAT(SystemConfigMessage(With(rod, ", theta_dot_rad_per_s: -2", "")),
              AllOf(HasSubstr("bodies[0]"), HasSubstr("the joints leave it open")));
  EXPECT_THAT(SystemConfigMessage(With(rod, "kind: pin", "kind: hinge")),
              AllOf(HasSubstr("joints[0].kind"), HasSubstr("pin")));
  EXPECT_THAT(SystemConfigMessage(
                  With(rod, "between: rod, at_m: [0, 0]", "between: [rod, rod], at_m: [0, 0]")),
              HasSubstr("and itself"));
  EXPECT_THAT(SystemConfigMessage(With(rod, "at_m: [0, 0]", "at: [0, 0]")), HasSubstr("at_m"));
}

TEST(SystemConfig, MatricesThatNoBodyHas) {
  const std::string good =
      "schema: impactlab.system/1\nmatrices:\n  u_minus: [-1, 0]\n  mass_matrix: [[2, 1], [1, "
      "2]]\n  rows_per_contact: 1\n"
      "  contact_rows: [[1, 0]]\nevery_contact: {e: 0.5}\n";
  ASSERT_EQ(SystemConfigMessage(good), "no error");
  EXPECT_THAT(
      SystemConfigMessage(With(good, "[1, 2]]", "[1, 0.4]]")),
      StartsWith("s.yaml:4: matrices.mass_matrix: found a matrix that is not positive definite"));
  EXPECT_THAT(SystemConfigMessage(With(good, "[1, 2]]", "[0.9, 2]]")),
              HasSubstr("matrices.mass_matrix: found an unsymmetric matrix"));
  EXPECT_THAT(SystemConfigMessage(With(good, "[1, 2]]", "[1, 2], [0, 1]]")),
              HasSubstr("matrices.mass_matrix: found 3 rows"));
  EXPECT_THAT(SystemConfigMessage(With(good, "[1, 2]]", "[1, 2, 3]]")),
              HasSubstr("matrices.mass_matrix[1]"));
  EXPECT_THAT(SystemConfigMessage(With(good, "contact: 1", "contact: 2")),
              HasSubstr("matrices.contact_rows: found 1 rows"));
  EXPECT_THAT(SystemConfigMessage(With(good, "contact: 1", "contact: 4")),
              HasSubstr("matrices.rows_per_contact: found '4'"));
  EXPECT_THAT(
      SystemConfigMessage(With(good, "rows: [[1, 0]]", "rows: [[1, 0]]\n  joint_rows: [[1, 0]]")),
      HasSubstr("the joints hold before the impact"));
  EXPECT_THAT(
      SystemConfigMessage(With(good, "every_contact: {e: 0.5}", "contacts: [{e: 1}, {e: 1}]")),
      HasSubstr("contacts: found 2 contacts"));
  EXPECT_THAT(SystemConfigMessage(With(good, "every_contact: {e: 0.5}", "")),
              HasSubstr("every_contact: found neither"));
  EXPECT_THAT(
      SystemConfigMessage(With(good, "every_contact: {e: 0.5}", "every_contact: {e: 0.5, mu: 1}")),
      HasSubstr("every_contact.mu: found an unknown key"));
}

TEST(SystemConfig, MillionsAreRefusedBeforeTheMemoryIsGone) {
  std::string masses = "1", v = "0", rows = "[1]", contacts = "contacts:\n";
  for (int i = 1; i < 100000; ++i) masses += ",1", v += ",0", rows += ",[1]";
  for (int i = 0; i < 20000; ++i) contacts += "- {between: ball, normal: [0, 1], e: 1}\n";
  const std::string chain = "schema: impactlab.system/1\nsystem: {kind: ball_chain, masses_kg: [" +
                            masses + "], v_m_per_s: [" + v + "]}\nevery_contact: {e: 1}\n";
  EXPECT_THAT(SystemConfigMessage(chain),
              HasSubstr("system.masses_kg: found 100000 masses, allowed 2 to 33"));
  EXPECT_THAT(SystemConfigMessage(kSystemConfigHead + kSystemConfigBall + contacts),
              HasSubstr("contacts: found 20000 contacts, allowed at most 32"));
  EXPECT_THAT(SystemConfigMessage(
                  "schema: impactlab.system/1\nmatrices: {u_minus: [-1], mass_matrix: [[1]], "
                  "rows_per_contact: 1, contact_rows: [" +
                  rows + "]}\nevery_contact: {e: 1}\n"),
              HasSubstr("matrices.contact_rows: found 100000 contacts, allowed at most 32"));
  // A million contacts are more than any configuration may hold.
  std::string million = kSystemConfigHead + kSystemConfigBall + "contacts:\n";
  for (int i = 0; i < 1000000; ++i) million += "- {e: 1}\n";
  EXPECT_THAT(SystemConfigMessage(million), HasSubstr("at most 1 MB"));
}

TEST(SystemConfig, NamedSystems) {
  const auto named = [](const std::string& keys) {
    return "schema: impactlab.system/1\nsystem: {" + keys + "}\nevery_contact: {e: 1}\n";
  };
  EXPECT_THAT(SystemConfigMessage(named("kind: cradel")), HasSubstr("cradle | ball_chain"));
  EXPECT_THAT(SystemConfigMessage(named(
                  "kind: cradle, masses_kg: [1, 1], v_m_per_s: [1], length_m: 1, radius_m: 0.1")),
              HasSubstr("system.v_m_per_s: found a list of 1, allowed a list of 2 numbers"));
  EXPECT_THAT(SystemConfigMessage(named(
                  "kind: cradle, masses_kg: [1], v_m_per_s: [1], length_m: 1, radius_m: 0.1")),
              HasSubstr("found 1 masses"));
  EXPECT_THAT(SystemConfigMessage(
                  named("kind: disc_in_corner, radius_m: 0, mass_kg: 1, v_m_per_s: [1, -1]")),
              HasSubstr("system.radius_m: found '0'"));
  EXPECT_THAT(
      SystemConfigMessage(named(
          "kind: disc_in_corner, radius_m: 1, mass_kg: 1, v_m_per_s: [1, -1], omega_rad_per_s: 3")),
      HasSubstr("system.omega_rad_per_s: found an unknown key"));
  const SystemToPredict cradle = ParseSystem(
      named("kind: cradle, masses_kg: [1, 1], v_m_per_s: [1, 0], length_m: 0.5, radius_m: 0.1"),
      "s.yaml");
  EXPECT_DOUBLE_EQ(cradle.system.u_minus[0], 2);
  EXPECT_EQ(cradle.system.contacts[0].name, "1-2");
  EXPECT_EQ(cradle.velocities[1].body, "ball 2");
}

}  // namespace
}  // namespace impactlab
