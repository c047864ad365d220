// Golden cases: every file of data/golden that holds cases of a law of restitution, solved,
// certified and scored by the digits that agree. A new law brings such a file, which nothing lists.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "impact/law/certify.h"
#include "impact/law/solve.h"

namespace impactlab {
namespace {

using nlohmann::json;

// The golden files of the folder, by name, whose rows hold a case to solve; the others are of
// planar laws without a path (tests/impact/law/impulse_law_test.cc).
std::map<std::string, json> GoldenFiles() {
  std::map<std::string, json> files;
  const std::string folder = std::string(IMPACTLAB_SOURCE_DIR) + "/data/golden";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    json golden = json::parse(file);
    EXPECT_EQ(golden["schema"], "impactlab.golden/1") << entry.path();
    EXPECT_FALSE(golden["cases"].empty()) << entry.path();
    if (golden["cases"][0]["case"].is_object()) files[entry.path().filename()] = std::move(golden);
  }
  return files;
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
  const std::string word = row["law"];
  const std::optional<RestitutionLaw> law = RestitutionLawOf(word);
  EXPECT_TRUE(law.has_value()) << word;
  ImpactModel model;
  model.law = law.value_or(model.law);
  model.e = row["e"];
  model.mu_k = row["mu_k"];
  model.mu_s = row["mu_s"];
  return model;
}

// Only an energy gain may fail, of a law that allows it.
void ExpectCertified(const ContactState& contact, const ImpactModel& model,
                     const ImpactOutcome& outcome) {
  for (const CertificateCheck& check : Certify(contact, model, outcome).checks) {
    if (check.name == "energy" && !InfoOf(model.law).keeps_energy) continue;
    EXPECT_TRUE(check.ok) << check.name << " " << check.value << " > " << check.limit;
  }
}

// Decimal digits in which `found` agrees with `exact`, at most 16.
double Digits(const Eigen::Vector3d& found, const Eigen::Vector3d& exact, double scale) {
  return std::min(16.0, -std::log10((found - exact).norm() / scale + 1e-300));
}

// A row with the unit of its last printed digit.
void ExpectPrinted(const json& row) {
  const ContactState contact = Contact(row["case"]);
  const ImpactModel model = Model(row["case"]);
  const ImpactOutcome outcome = Solve(contact, model);
  const double unit = row["v_unit"];
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(outcome.v_plus_F[i], row["v_plus_F"][i].get<double>(), 0.51 * unit);
  if (row.contains("J_n")) {
    EXPECT_NEAR(outcome.J_F.z(), row["J_n"].get<double>(), 0.6 * row["J_unit"].get<double>());
  }
  EXPECT_EQ(outcome.path_case.digit, row["digit"].get<int>());
  ExpectCertified(contact, model, outcome);
}

// A row with twenty digits; returns those that agree at the finest tolerance.
double ExpectDigits(const json& row) {
  const ContactState contact = Contact(row["case"]);
  const ImpactModel model = Model(row["case"]);
  SolveOptions options;
  options.tolerance = 1e-13;
  const ImpactOutcome outcome = Solve(contact, model), fine = Solve(contact, model, options);
  const Eigen::Vector3d v = Vector(row["v_plus_F"]), J = Vector(row["J_F"]);
  const double speed = contact.v_minus_F.norm();
  EXPECT_GE(Digits(outcome.v_plus_F, v, speed), 11);
  EXPECT_GE(Digits(outcome.J_F, J, J.norm()), 11);
  EXPECT_GE(Digits(fine.v_plus_F, v, speed), 12.5);
  EXPECT_EQ(outcome.path_case.digit, row["digit"].get<int>());
  EXPECT_NEAR(outcome.turn, row["turn_rad"].get<double>(), 1e-8);
  const double work =
      std::abs(row["work_J"][0].get<double>()) + std::abs(row["work_J"][2].get<double>());
  EXPECT_NEAR(outcome.work_n_c, row["work_J"][0].get<double>(), 1e-11 * work);
  EXPECT_NEAR(outcome.work_n_r, row["work_J"][1].get<double>(), 1e-11 * work);
  EXPECT_NEAR(outcome.work_t, row["work_J"][2].get<double>(), 1e-11 * work);
  ExpectCertified(contact, model, outcome);
  return Digits(fine.v_plus_F, v, speed);
}

TEST(Golden, EveryCaseOfTheFolder) {
  std::set<std::string> laws;
  int digits[7] = {};  // of exact cases
  for (const auto& [name, file] : GoldenFiles()) {
    double least = 16;
    for (const json& row : file["cases"]) {
      SCOPED_TRACE(name + " " + row.dump());
      laws.insert(row["case"]["law"]);
      if (row.contains("v_unit")) {
        ExpectPrinted(row);
      } else {
        least = std::min(least, ExpectDigits(row));
        ++digits[row["digit"].get<int>()];
      }
    }
    std::printf("%s: %zu cases, digits that agree: %.1f at least\n", name.c_str(),
                file["cases"].size(), least);
  }
  for (int digit = 0; digit < 7; ++digit) EXPECT_GT(digits[digit], 0) << digit;
  // Every law of the table has its cases.
  for (const std::string& word : RestitutionLawWords()) EXPECT_EQ(laws.count(word), 1u) << word;
}

TEST(Golden, FilesOfTheLiteratureAreThere) {
  const std::map<std::string, json> files = GoldenFiles();
  ASSERT_EQ(files.count("printed.json"), 1u);
  EXPECT_EQ(files.at("printed.json")["cases"].size(), 21u);
  EXPECT_EQ(files.count("keller.json"), 1u);
}

}  // namespace
}  // namespace impactlab
