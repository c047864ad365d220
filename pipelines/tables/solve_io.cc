#include "pipelines/tables/solve_io.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "data/base/error.h"
#include "data/files/sentence.h"
#include "impact/law/certify.h"
#include "impact/law/solve.h"
#include "pipelines/tables/certificate_json.h"

namespace impactlab {

const char* StatusName(SolveStatus status) {
  switch (status) {
    case SolveStatus::kOk:
      return "ok";
    case SolveStatus::kNoApproach:
      return "no_approach";
    case SolveStatus::kInvalid:
      return "invalid";
    case SolveStatus::kNotConverged:
      return "not_converged";
  }
  return "invalid";
}

nlohmann::ordered_json ToJson(const Certificate& certificate) {
  auto checks = nlohmann::ordered_json::object();
  for (const CertificateCheck& check : certificate.checks)
    checks[check.name] = {{"value", check.value}, {"limit", check.limit}, {"ok", check.ok}};
  return {{"ok", certificate.ok}, {"checks", checks}};
}

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// What is wrong with one row; kept apart from the project's file errors because the row stays in
// place.
struct BadRow {
  std::string reason;
};

double ReadNumber(const json& row, const char* key, std::optional<double> otherwise = {}) {
  const auto at = row.find(key);
  if (at == row.end()) {
    if (otherwise) return *otherwise;
    throw BadRow{fmt::format("{}: missing", key)};
  }
  if (!at->is_number())
    throw BadRow{fmt::format("{}: found {}, allowed a number", key, at->dump())};
  return at->get<double>();
}

Eigen::Vector3d Vector(const json& value, const char* key) {
  if (!value.is_array() || value.size() != 3)
    throw BadRow{fmt::format("{}: found {}, allowed 3 numbers", key, value.dump())};
  Eigen::Vector3d v;
  for (int i = 0; i < 3; ++i) {
    if (!value[i].is_number())
      throw BadRow{fmt::format("{}: found {}, allowed a number", key, value[i].dump())};
    v[i] = value[i].get<double>();
  }
  return v;
}

struct Case {
  ContactState contact;
  ImpactModel model;
};

Case ReadCase(const json& row) {
  if (!row.is_object()) throw BadRow{fmt::format("found {}, allowed an object", row.dump())};
  static const std::set<std::string> known = {"A_F",  "v_minus_F", "law", "e",
                                              "mu_k", "mu_s",      "e_t"};
  for (const auto& [key, value] : row.items()) {
    if (!known.count(key))
      throw BadRow{
          fmt::format("{}: unknown key; allowed A_F, v_minus_F, law, e, mu_k, mu_s, e_t", key)};
  }
  Case out;
  for (const char* key : {"A_F", "v_minus_F", "law"}) {
    if (!row.contains(key)) throw BadRow{fmt::format("{}: missing", key)};
  }
  const json& A = row["A_F"];
  if (!A.is_array() || A.size() != 3)
    throw BadRow{fmt::format("A_F: found {}, allowed 3 rows of 3 numbers", A.dump())};
  for (int i = 0; i < 3; ++i) out.contact.A_F.row(i) = Vector(A[i], "A_F").transpose();
  out.contact.v_minus_F = Vector(row["v_minus_F"], "v_minus_F");
  const json& law = row["law"];
  const auto known_law = law.is_string() ? RestitutionLawOf(law.get<std::string>()) : std::nullopt;
  if (!known_law) {
    std::vector<std::string> allowed;
    for (const RestitutionLaw one : RestitutionLawsReferenceFirst())
      allowed.push_back(fmt::format("\"{}\"", LawName(one)));
    throw BadRow{fmt::format("law: found {}, allowed {}", law.dump(), ListInWords(allowed, "or"))};
  }
  out.model.law = *known_law;
  out.model.e = ReadNumber(row, "e");
  out.model.mu_k = ReadNumber(row, "mu_k");
  out.model.mu_s = ReadNumber(row, "mu_s", out.model.mu_k);
  out.model.e_t = ReadNumber(row, "e_t", 0);
  return out;
}

ordered_json Triple(const Eigen::Vector3d& v) { return {v.x(), v.y(), v.z()}; }

ordered_json Row(const json& input) {
  ordered_json out;
  try {
    const Case row = ReadCase(input);
    const ImpactOutcome outcome = Solve(row.contact, row.model);
    out["status"] = StatusName(outcome.status);
    out["reason"] = outcome.reason;
    if (!outcome.usable()) return out;
    out["J_F"] = Triple(outcome.J_F);
    out["v_plus_F"] = Triple(outcome.v_plus_F);
    out["case"] = outcome.path_case.Name();
    out["turn_rad"] = outcome.turn;
    out["work"] = {{"normal_compression_J", outcome.work_n_c},
                   {"normal_restitution_J", outcome.work_n_r},
                   {"tangential_J", outcome.work_t}};
    out["certificate"] = ToJson(Certify(row.contact, row.model, outcome));
  } catch (const BadRow& bad) {
    out["status"] = "invalid";
    out["reason"] = bad.reason;
  }
  return out;
}

}  // namespace

std::string SolveCasesJson(const std::string& input_json, const std::string& path) {
  json input;
  try {
    // A callback that counts depth keeps hostile nesting from exhausting the stack.
    input = json::parse(input_json, [&](int depth, json::parse_event_t, json&) {
      if (depth > 32)
        throw DataError(
            fmt::format("{}: nested deeper than 32 levels; allowed an array of cases", path));
      return true;
    });
  } catch (const json::parse_error& error) {
    throw DataError(
        fmt::format("{}: byte {}: not JSON; allowed an array of cases", path, error.byte));
  } catch (const json::out_of_range&) {
    throw DataError(
        fmt::format("{}: a number is beyond the range of a double; allowed finite numbers", path));
  }
  if (!input.is_array())
    throw DataError(
        fmt::format("{}: found {}, allowed an array of cases", path, input.type_name()));
  std::string out = "[";
  for (std::size_t i = 0; i < input.size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    out += Row(input[i]).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return out + "\n]\n";
}

}  // namespace impactlab
