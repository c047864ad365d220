// Golden cases of data/golden: solved, certified, and scored by the digits that agree.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "impact/law/certify.h"
#include "impact/law/solve.h"

namespace impactlab {
namespace {

using nlohmann::json;

json Load(const std::string& name) {
  std::ifstream file(std::string(IMPACTLAB_SOURCE_DIR) + "/data/golden/" + name);
  EXPECT_TRUE(file.good()) << name;
  return json::parse(file);
}

Eigen::Vector3d Vector(const json& value) {
  return {value[0].get<double>(), value[1].get<double>(), value[2].get<double>()};
}

ContactState Contact(const json& row) {
  ContactState contact;
  for (int i = 0; i < 3; ++i) contact.A_F.row(i) = Vector(row["A_F"][i]).transpose();
  contact.v_minus_F = Vector(row["v_minus_F"]);
  return contact;
}

ImpactModel Model(const json& row) {
  ImpactModel model;
  const std::string law = row["law"];
  for (const RestitutionLaw known :
       {RestitutionLaw::kNewton, RestitutionLaw::kPoisson, RestitutionLaw::kEnergetic}) {
    if (law == LawName(known)) model.law = known;
  }
  model.e = row["e"];
  model.mu_k = row["mu_k"];
  model.mu_s = row["mu_s"];
  return model;
}

// Only an energy gain of Newton's or Poisson's law may fail.
void ExpectCertified(const ContactState& contact, const ImpactModel& model,
                     const ImpactOutcome& outcome) {
  for (const CertificateCheck& check : Certify(contact, model, outcome).checks) {
    if (check.name == "energy" && model.law != RestitutionLaw::kEnergetic) continue;
    EXPECT_TRUE(check.ok) << check.name << " " << check.value << " > " << check.limit;
  }
}

// Decimal digits in which `found` agrees with `exact`, at most 16.
double Digits(const Eigen::Vector3d& found, const Eigen::Vector3d& exact, double scale) {
  return std::min(16.0, -std::log10((found - exact).norm() / scale + 1e-300));
}

TEST(Golden, Printed) {
  const json file = Load("printed.json");
  int n = 0;
  for (const json& row : file["cases"]) {
    const ContactState contact = Contact(row["case"]);
    const ImpactModel model = Model(row["case"]);
    const ImpactOutcome outcome = Solve(contact, model);
    SCOPED_TRACE(row.dump());
    const double unit = row["v_unit"];
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(outcome.v_plus_F[i], row["v_plus_F"][i].get<double>(), 0.51 * unit);
    if (row.contains("J_n")) {
      EXPECT_NEAR(outcome.J_F.z(), row["J_n"].get<double>(), 0.6 * row["J_unit"].get<double>());
    }
    EXPECT_EQ(outcome.path_case.digit, row["digit"].get<int>());
    ExpectCertified(contact, model, outcome);
    ++n;
  }
  EXPECT_EQ(n, 21);
}

TEST(Golden, Keller) {
  const json file = Load("keller.json");
  double least = 16;
  int digits[7] = {};
  for (const json& row : file["cases"]) {
    const ContactState contact = Contact(row["case"]);
    const ImpactModel model = Model(row["case"]);
    SolveOptions options;
    options.tolerance = 1e-13;
    const ImpactOutcome outcome = Solve(contact, model), fine = Solve(contact, model, options);
    SCOPED_TRACE(row.dump());
    const Eigen::Vector3d v = Vector(row["v_plus_F"]), J = Vector(row["J_F"]);
    const double speed = contact.v_minus_F.norm();
    EXPECT_GE(Digits(outcome.v_plus_F, v, speed), 11);
    EXPECT_GE(Digits(outcome.J_F, J, J.norm()), 11);
    EXPECT_GE(Digits(fine.v_plus_F, v, speed), 12.5);
    least = std::min(least, Digits(fine.v_plus_F, v, speed));
    EXPECT_EQ(outcome.path_case.digit, row["digit"].get<int>());
    EXPECT_NEAR(outcome.turn, row["turn_rad"].get<double>(), 1e-8);
    const double work =
        std::abs(row["work_J"][0].get<double>()) + std::abs(row["work_J"][2].get<double>());
    EXPECT_NEAR(outcome.work_n_c, row["work_J"][0].get<double>(), 1e-11 * work);
    EXPECT_NEAR(outcome.work_n_r, row["work_J"][1].get<double>(), 1e-11 * work);
    EXPECT_NEAR(outcome.work_t, row["work_J"][2].get<double>(), 1e-11 * work);
    ExpectCertified(contact, model, outcome);
    ++digits[outcome.path_case.digit];
  }
  std::printf("digits that agree: %.1f at least\n", least);
  for (int digit = 0; digit < 7; ++digit) EXPECT_GT(digits[digit], 0) << digit;
}

}  // namespace
}  // namespace impactlab
