#include "data/files/fit_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "data/base/error.h"
#include "data/files/restitution_law.h"
#include "data/files/text.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "impactlab.fit/1";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Json FromMatrix(const Eigen::MatrixXd& matrix) {
  Json rows = Json::array();
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    Json row = Json::array();
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) row.push_back(matrix(i, j));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Recording names come from the file system, where any bytes may stand: what is not UTF-8 is
// replaced.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Objects and lists of them are indented, lists of plain values stay on one line.
void Write(const Json& json, std::size_t indent, std::string& out) {
  if (!json.is_structured() || json.empty()) {
    out += Dump(json);
    return;
  }
  const bool flat = json.is_array() && std::none_of(json.begin(), json.end(), [](const Json& item) {
                      return item.is_structured();
                    });
  const std::string margin = flat ? std::string() : '\n' + std::string(indent + 2, ' ');
  out += json.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& entry : json.items()) {
    if (!first) out += flat ? ", " : ",";
    first = false;
    out += margin;
    if (json.is_object()) out += Dump(entry.key()) + ": ";
    Write(entry.value(), indent + 2, out);
  }
  if (!flat) out += '\n' + std::string(indent, ' ');
  out += json.is_object() ? '}' : ']';
}

// One value of the document with the name of its place.
class Place {
 public:
  Place(const std::string& path, std::string name, const Json& json)
      : path_(path), name_(std::move(name)), json_(json) {}

  [[noreturn]] void Refuse(const std::string& allowed) const {
    std::string found = json_.is_object()  ? "an object"
                        : json_.is_array() ? fmt::format("a list of {}", json_.size())
                                           : json_.dump(-1, ' ', true);
    if (found.size() > 60) found = found.substr(0, 60) + "...";
    Fail(found, allowed);
  }

  Place operator[](const char* key) const {
    if (!json_.is_object()) Refuse("an object");
    const auto entry = json_.find(key);
    const std::string name = name_.empty() ? key : name_ + "." + key;
    if (entry == json_.end()) Place(path_, name, json_).Fail("nothing", "this key");
    return Place(path_, name, *entry);
  }

  // Whether an object holds the key, which files of earlier versions lack.
  bool Has(const char* key) const { return json_.is_object() && json_.contains(key); }

  // Every entry of a list, or of an object under its key.
  std::vector<std::pair<std::string, Place>> Entries(bool object) const {
    if (object ? !json_.is_object() : !json_.is_array()) Refuse(object ? "an object" : "a list");
    std::vector<std::pair<std::string, Place>> entries;
    for (const auto& entry : json_.items()) {
      const std::string name = object ? fmt::format("{}.{}", name_, entry.key())
                                      : fmt::format("{}[{}]", name_, entry.key());
      entries.emplace_back(entry.key(), Place(path_, name, entry.value()));
    }
    return entries;
  }

  double Number(double null_means) const {
    if (json_.is_null()) return null_means;
    if (!json_.is_number()) Refuse("a number or null");
    return json_.get<double>();
  }

  int Integer() const {
    if (!json_.is_number_integer() || json_.get<double>() > 2147483647.0 ||
        json_.get<double>() < -2147483648.0)
      Refuse("a whole number");
    return json_.get<int>();
  }

  int Count() const {
    const int count = Integer();
    if (count < 0) Refuse("a whole number of at least 0");
    return count;
  }

  bool Flag() const {
    if (!json_.is_boolean()) Refuse("true or false");
    return json_.get<bool>();
  }

  std::string Text() const {
    if (!json_.is_string()) Refuse("text");
    return json_.get<std::string>();
  }

  std::string Choice(const std::vector<std::string>& allowed) const {
    std::string text = Text();
    if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
      Refuse(JoinNames(allowed, " | "));
    return text;
  }

  std::vector<double> Numbers(double null_means) const {
    std::vector<double> values;
    for (const auto& entry : Entries(false)) values.push_back(entry.second.Number(null_means));
    return values;
  }

  // A matrix of the given size, or an empty one.
  Eigen::MatrixXd Matrix(std::size_t rows, std::size_t columns, double null_means) const {
    const auto entries = Entries(false);
    if (entries.empty()) return {};
    if (entries.size() != rows) Refuse(fmt::format("an empty list or {} rows", rows));
    Eigen::MatrixXd matrix(rows, columns);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::vector<double> row = entries[i].second.Numbers(null_means);
      if (row.size() != columns)
        entries[i].second.Refuse(fmt::format("a list of {} numbers", columns));
      for (std::size_t j = 0; j < columns; ++j)
        matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = row[j];
    }
    return matrix;
  }

 private:
  [[noreturn]] void Fail(const std::string& found, const std::string& allowed) const {
    throw DataError(fmt::format("{}: {}: found {}, allowed {}", path_,
                                name_.empty() ? "document" : name_, found, allowed));
  }

  const std::string& path_;
  std::string name_;
  const Json& json_;
};

Json Parse(const std::string& text, const std::string& path) {
  std::vector<std::set<std::string>> seen;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > 32)
      throw DataError(
          fmt::format("{}: found more than 32 levels of nesting, allowed fit.json", path));
    if (event == Json::parse_event_t::object_start) seen.emplace_back();
    if (event == Json::parse_event_t::object_end) seen.pop_back();
    if (event == Json::parse_event_t::key && !seen.back().insert(value.get<std::string>()).second) {
      throw DataError(fmt::format("{}: found key {} twice in one object, allowed once", path,
                                  Excerpt(value.get<std::string>())));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    std::string cause = error.what();
    cause.erase(0, std::min(cause.find("] ") + 2, cause.size()));
    if (FindTextFault(cause) || cause.size() > 200) cause = "broken JSON";
    throw DataError(fmt::format("{}: found {}, allowed JSON of schema {}", path, cause, kSchema));
  }
}

Json FromParameter(const ParameterEstimate& parameter) {
  return Json{{"value", parameter.value},
              {"sd", parameter.sd},
              {"sd_noise_only", parameter.sd_noise_only},
              {"lower95", parameter.lower95},
              {"upper95", parameter.upper95},
              {"identifiable", parameter.identifiable},
              {"reason", parameter.reason}};
}

ParameterEstimate ToParameter(const std::string& name, const Place& place) {
  ParameterEstimate parameter;
  parameter.name = name;
  parameter.value = place["value"].Number(kNan);
  parameter.sd = place["sd"].Number(kNan);
  parameter.sd_noise_only = place["sd_noise_only"].Number(kNan);
  // An interval without an end is open on that side.
  parameter.lower95 = place["lower95"].Number(-kInf);
  parameter.upper95 = place["upper95"].Number(kInf);
  parameter.identifiable = place["identifiable"].Flag();
  parameter.reason = place["reason"].Text();
  return parameter;
}

Json FromVerdict(const DataVerdict& verdict) {
  return Json{
      {"verdict", verdict.verdict}, {"reason", verdict.reason}, {"withheld", verdict.withheld}};
}

Json FromLaw(const LawFit& fit) {
  Json json = Json::object();
  json["law"] = fit.law;
  Json parameters = Json::object();
  for (const ParameterEstimate& parameter : ListParameters(fit))
    parameters[parameter.name] = FromParameter(parameter);
  json["parameters"] = std::move(parameters);
  json["covariance"] = FromMatrix(fit.covariance);
  json["covariance_noise_only"] = FromMatrix(fit.covariance_noise_only);
  json["discrepancy"] = {{"sd_tangential", fit.discrepancy.sd_tangential},
                         {"sd_normal", fit.discrepancy.sd_normal},
                         {"sd_couple", fit.discrepancy.sd_couple}};
  if (fit.discrepancy.sd_couple_normal)
    json["discrepancy"]["sd_couple_normal"] = *fit.discrepancy.sd_couple_normal;
  json["likelihood"] = fit.likelihood;
  json["loglik"] = fit.loglik;
  json["dof"] = fit.dof;
  json["n_starts_agreeing"] = fit.n_starts_agreeing;
  json["n_starts"] = fit.n_starts;
  json["sd_bootstrap"] = fit.sd_bootstrap;
  Json influence = Json::array();
  for (const EventInfluence& event : fit.influence) {
    influence.push_back({{"recording", event.recording},
                         {"impact", event.impact},
                         {"shift", event.shift},
                         {"weight", event.weight}});
  }
  json["influence"] = std::move(influence);
  json["grid"] = {
      {"mu_k", fit.grid_mu}, {"e", fit.grid_e}, {"deviance", FromMatrix(fit.grid_deviance)}};
  return json;
}

LawFit ToLaw(const Place& place) {
  LawFit fit;
  fit.law = place["law"].Choice(RestitutionLawWords());
  const std::vector<std::string> known = {"mu_k", CoefficientName(*RestitutionLawOf(fit.law)),
                                          "e_t", "mu_s"};
  // Covariances and influences are read by position: their order is that of the parameters.
  std::size_t next = 0;
  for (const auto& [name, entry] : place["parameters"].Entries(true)) {
    const auto at =
        static_cast<std::size_t>(std::find(known.begin(), known.end(), name) - known.begin());
    if (at == known.size() || at < next)
      entry.Refuse("parameters " + JoinNames(known) + ", in this order");
    next = at + 1;
    ParameterEstimate parameter = ToParameter(name, entry);
    if (at == 0)
      fit.mu_k = std::move(parameter);
    else if (at == 1)
      fit.e = std::move(parameter);
    else if (at == 2)
      fit.e_t = std::move(parameter);
    else if (at == 3)
      fit.mu_s = std::move(parameter);
  }
  const std::size_t n = ListParameters(std::as_const(fit)).size();
  fit.covariance = place["covariance"].Matrix(n, n, kNan);
  fit.covariance_noise_only = place["covariance_noise_only"].Matrix(n, n, kNan);
  const Place discrepancy = place["discrepancy"];
  fit.discrepancy.sd_tangential = discrepancy["sd_tangential"].Number(kNan);
  fit.discrepancy.sd_normal = discrepancy["sd_normal"].Number(kNan);
  fit.discrepancy.sd_couple = discrepancy["sd_couple"].Number(kNan);
  if (discrepancy.Has("sd_couple_normal"))
    fit.discrepancy.sd_couple_normal = discrepancy["sd_couple_normal"].Number(kNan);
  fit.likelihood = place["likelihood"].Text();
  fit.loglik = place["loglik"].Number(kNan);
  fit.dof = place["dof"].Integer();
  fit.n_starts_agreeing = place["n_starts_agreeing"].Count();
  fit.n_starts = place["n_starts"].Count();
  fit.sd_bootstrap = place["sd_bootstrap"].Numbers(kNan);
  if (!fit.sd_bootstrap.empty() && fit.sd_bootstrap.size() != n) {
    place["sd_bootstrap"].Refuse(fmt::format("an empty list or {} numbers", n));
  }
  for (const auto& entry : place["influence"].Entries(false)) {
    EventInfluence event;
    event.recording = entry.second["recording"].Text();
    event.impact = entry.second["impact"].Count();
    event.shift = entry.second["shift"].Numbers(kNan);
    event.weight = entry.second["weight"].Number(kNan);
    fit.influence.push_back(std::move(event));
  }
  const Place grid = place["grid"];
  fit.grid_mu = grid["mu_k"].Numbers(kNan);
  fit.grid_e = grid["e"].Numbers(kNan);
  fit.grid_deviance = grid["deviance"].Matrix(fit.grid_mu.size(), fit.grid_e.size(), kInf);
  return fit;
}

// Two significant digits of the standard deviation, the value to the same place.
std::string WithSd(double value, double sd) {
  if (!std::isfinite(value)) return "not known";
  if (!(sd > 0 && std::isfinite(sd))) return fmt::format("{:.4g}", value);
  const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(sd))), 0, 9);
  return fmt::format("{:.{}f} +- {:.{}f}", value, decimals, sd, decimals);
}

std::string End(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : std::string("open");
}

template <class Estimate, class Fit>
std::vector<std::reference_wrapper<Estimate>> Estimated(Fit& fit) {
  std::vector<std::reference_wrapper<Estimate>> parameters;
  if (!fit.mu_k.name.empty()) parameters.push_back(fit.mu_k);
  if (!fit.e.name.empty()) parameters.push_back(fit.e);
  if (fit.e_t) parameters.push_back(*fit.e_t);
  if (fit.mu_s) parameters.push_back(*fit.mu_s);
  return parameters;
}

}  // namespace

std::vector<std::reference_wrapper<const ParameterEstimate>> ListParameters(const LawFit& fit) {
  return Estimated<const ParameterEstimate>(fit);
}

std::vector<std::reference_wrapper<ParameterEstimate>> ListParameters(LawFit& fit) {
  return Estimated<ParameterEstimate>(fit);
}

std::string FitResult::BriefReport() const {
  std::map<std::string, int> reasons;
  for (const RejectedImpact& impact : rejected) ++reasons[impact.reason];
  std::vector<std::string> counts;
  counts.reserve(reasons.size());
  for (const auto& [reason, count] : reasons) counts.push_back(fmt::format("{} {}", count, reason));
  std::string out = fmt::format("{} events used, {} rejected", n_events, rejected.size());
  out += counts.empty() ? "\n" : fmt::format(" ({})\n", JoinNames(counts));
  if (!verdict.reason.empty()) out += verdict.reason + "\n";
  if (verdict.withheld) return out;
  std::string said;
  for (const LawFit& fit : fits) {
    out += fmt::format("{} law, {} likelihood, {} degrees of freedom, log likelihood {:.6g}\n",
                       fit.law, fit.likelihood, fit.dof, fit.loglik);
    for (const ParameterEstimate& parameter : ListParameters(fit)) {
      out += fmt::format("  {:<7} {}  95 % [{}, {}]", parameter.name,
                         WithSd(parameter.value, parameter.sd), End(parameter.lower95),
                         End(parameter.upper95));
      if (!parameter.identifiable) out += "  not identifiable";
      const std::string& reason = parameter.reason;
      out += reason.empty() ? "\n" : fmt::format(" ({})\n", reason == said ? "as above" : reason);
      if (!reason.empty()) said = reason;
    }
    out += fmt::format(
        "  scatter beyond noise: tangential {:.2g}, normal {:.2g}, couple {:.2g}{} (relative to "
        "the normal momentum)\n",
        fit.discrepancy.sd_tangential, fit.discrepancy.sd_normal, fit.discrepancy.sd_couple,
        fit.discrepancy.sd_couple_normal
            ? fmt::format(", about the normal {:.2g}", *fit.discrepancy.sd_couple_normal)
            : "");
    if (fit.n_starts_agreeing < fit.n_starts) {
      out += fmt::format("  only {} of {} starts reached this optimum\n", fit.n_starts_agreeing,
                         fit.n_starts);
    }
  }
  return out;
}

std::string WithheldText(const DataVerdict& verdict) {
  return verdict.reason +
         "; coefficients are withheld (--force-coefficients determines them all the same)";
}

std::string VerdictJson(const DataVerdict& verdict) { return Dump(FromVerdict(verdict)); }

std::string ToJson(const FitResult& result) {
  Json json = Json::object();
  json["schema"] = kSchema;
  json.update(FromVerdict(result.verdict));
  json["n_events"] = result.n_events;
  Json fitted = Json::array();
  for (const FittedImpact& impact : result.fitted) {
    fitted.push_back({{"recording", impact.recording},
                      {"impact", impact.impact},
                      {"v_minus_n_m_per_s", impact.v_minus_n}});
  }
  json["fitted"] = std::move(fitted);
  Json rejected = Json::array();
  for (const RejectedImpact& impact : result.rejected) {
    rejected.push_back({{"recording", impact.recording},
                        {"impact", impact.impact},
                        {"reason", impact.reason},
                        {"detail", impact.detail}});
  }
  json["rejected"] = std::move(rejected);
  Json fits = Json::array();
  for (const LawFit& fit : result.fits) fits.push_back(FromLaw(fit));
  json["fits"] = std::move(fits);
  std::string out;
  Write(json, 0, out);
  return out + '\n';
}

FitResult FitResultFromJson(const std::string& text, const std::string& path) {
  const Json json = Parse(text, path);
  const Place root(path, "", json);
  root["schema"].Choice({kSchema});
  FitResult result;
  if (root.Has("verdict")) {
    result.verdict.verdict = root["verdict"].Choice(
        {"closes", "closes_after_correction", "does_not_close", "not_tested"});
    result.verdict.reason = root["reason"].Text();
    result.verdict.withheld = root["withheld"].Flag();
  }
  result.n_events = root["n_events"].Count();
  if (root.Has("fitted")) {
    for (const auto& entry : root["fitted"].Entries(false)) {
      result.fitted.push_back({.recording = entry.second["recording"].Text(),
                               .impact = entry.second["impact"].Count(),
                               .v_minus_n = entry.second["v_minus_n_m_per_s"].Number(kNan)});
    }
  }
  for (const auto& entry : root["rejected"].Entries(false)) {
    RejectedImpact impact;
    impact.recording = entry.second["recording"].Text();
    impact.impact = entry.second["impact"].Count();
    impact.reason = entry.second["reason"].Text();
    impact.detail = entry.second["detail"].Text();
    result.rejected.push_back(std::move(impact));
  }
  for (const auto& entry : root["fits"].Entries(false)) result.fits.push_back(ToLaw(entry.second));
  return result;
}

}  // namespace impactlab
