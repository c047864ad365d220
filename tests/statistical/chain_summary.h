#pragma once
// The figures of the chain study over many experiments: root mean squares by body, and by what no
// fit models, against what was asked for.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/statistics/statistics.h"

namespace impactlab::test {

// Root mean square of a vector's size over the drops, the worst, and how many components their 95 %
// intervals hold.
struct ChainFigure {
  std::vector<double> sizes;
  double squares = 0, asked_squares = 0, z2 = 0;
  int components = 0, covered = 0;

  // `asked`: what the error of this drop may be.
  void Add(const nlohmann::json& errors, double asked) {
    double size2 = 0;
    for (std::size_t i = 0; i < errors.at("error").size(); ++i) {
      const double e = errors["error"][i], sd = errors["sd"][i];
      size2 += e * e;
      z2 += sd > 0 ? e * e / (sd * sd) : 0;
      covered += std::abs(e) <= kNormal95 * sd;
      ++components;
    }
    sizes.push_back(std::sqrt(size2));
    squares += size2;
    asked_squares += asked * asked;
  }
  double rms() const { return std::sqrt(squares / std::max<std::size_t>(1, sizes.size())); }
  double asked() const { return std::sqrt(asked_squares / std::max<std::size_t>(1, sizes.size())); }
  bool fine() const { return sizes.empty() || rms() < asked(); }
  // Components of one drop, and drops of one experiment that share a calibration, are not
  // independent: the band of a third as many.
  bool covers() const {
    if (components < 3) return true;
    const int n = components / 3;
    return static_cast<double>(covered) / components * n >= BinomialBand(n, 0.95, 1e-3 / 16).lower;
  }
  nlohmann::json Json() const {
    if (sizes.empty()) return {{"drops", 0}};
    return {{"drops", sizes.size()},   {"rms", rms()},
            {"median", Median(sizes)}, {"worst", *std::max_element(sizes.begin(), sizes.end())},
            {"asked", asked()},        {"components", components},
            {"covered", covered},      {"rms_z", std::sqrt(z2 / components)}};
  }
};

inline constexpr std::array<const char*, 7> kChainQuantities = {
    "position", "v_minus", "v_plus", "omega_minus", "omega_plus", "time", "offset"};

// What the error of one drop may be: 0.2 mm; 0.5 % or 3 mm/s; 1 % or 0.05 rad/s; 0.1 and 0.05
// frames of 120 a second.
inline double ChainAsked(const std::string& quantity, const nlohmann::json& drop) {
  if (quantity == "position") return 2e-4;
  if (quantity == "time") return 0.1 / 120;
  if (quantity == "offset") return 0.05 / 120;
  const double size = drop.at("size").at(quantity);
  return quantity[0] == 'v' ? std::max(0.005 * size, 3e-3) : std::max(0.01 * size, 0.05);
}

struct ChainGroup {
  int experiments = 0, failed = 0, drops = 0, usable = 0, accepted = 0;
  std::map<std::string, ChainFigure> figures;
  struct Coefficient {
    int told = 0, covered = 0;
    std::vector<double> half_widths, errors;
  };
  std::map<std::string, Coefficient> coefficients;
  std::map<std::string, int> refused, findings, blamed;  // blamed: by free flight
  // experiments whose free flights disagree with what was declared
  int flights_failed = 0;

  void Add(const nlohmann::json& e) {
    ++experiments;
    if (e.contains("failure")) {
      ++failed;
      ++refused[e["failure"]];
      return;
    }
    for (const nlohmann::json& drop : e.at("drops")) {
      ++drops;
      if (drop.contains("refused")) {
        ++refused[drop["refused"]];
        continue;
      }
      ++usable;
      accepted += drop.at("accepted").get<bool>();
      for (const char* q : kChainQuantities)
        if (drop.contains(q)) figures[q].Add(drop[q], ChainAsked(q, drop));
    }
    for (const char* name : {"mu_k", "e_star"}) {
      if (!e.contains(name) || !e[name].at("identifiable").get<bool>() ||
          e[name]["upper95"].is_null())
        continue;
      Coefficient& c = coefficients[name];
      const double lower = e[name]["lower95"], upper = e[name]["upper95"], truth = e[name]["truth"];
      ++c.told;
      c.covered += lower <= truth && truth <= upper;
      c.half_widths.push_back(0.5 * (upper - lower));
      c.errors.push_back(e[name]["value"].get<double>() - truth);
    }
    for (const auto& finding : e.at("findings")) ++findings[finding];
    if (!e.contains("flights") || e["flights"].at("failed") == 0) return;
    ++flights_failed;
    std::string names;
    for (const auto& fault : e["flights"].at("culprits"))
      names += (names.empty() ? "" : " or ") + fault.get<std::string>();
    ++blamed[names];
  }
  nlohmann::json Json() const {
    nlohmann::json json = {{"experiments", experiments},
                           {"failed", failed},
                           {"drops", drops},
                           {"usable", usable},
                           {"accepted", accepted},
                           {"refused", refused},
                           {"findings", findings},
                           {"flights_failed", flights_failed},
                           {"blamed", blamed}};
    for (const auto& [q, figure] : figures) json[q] = figure.Json();
    for (const auto& [name, c] : coefficients) {
      double squares = 0;
      for (const double x : c.errors) squares += x * x;
      json[name] = {
          {"told", c.told},
          {"covered", c.covered},
          {"rms", std::sqrt(squares / c.told)},
          {"median_half_width", Median(c.half_widths)},
          {"worst_half_width", *std::max_element(c.half_widths.begin(), c.half_widths.end())}};
    }
    return json;
  }
  bool Fine() const {
    if (failed > 0) return false;
    for (const auto& [q, figure] : figures)
      if (!figure.fine() || !figure.covers()) return false;
    for (const auto& [name, c] : coefficients)
      if (c.covered < BinomialBand(c.told, 0.95, 1e-3 / 2).lower) return false;
    return true;
  }
  std::string Words(const std::string& title) const {
    std::string out =
        fmt::format("{}: {} experiments, {} failed; {} drops, {} fitted, {} accepted\n", title,
                    experiments, failed, drops, usable, accepted);
    for (const char* q : kChainQuantities) {
      const auto at = figures.find(q);
      if (at == figures.end()) continue;
      const ChainFigure& f = at->second;
      out += fmt::format(
          "  {:<12} rms {:>9.3g} median {:>9.3g} asked {:>8.3g} {}   {} of {} components inside "
          "their intervals{}\n",
          q, f.rms(), Median(f.sizes), f.asked(), f.fine() ? "  " : "X ", f.covered, f.components,
          f.covers() ? "" : "  X");
    }
    for (const auto& [name, c] : coefficients)
      out += fmt::format("  {:<12} {} of {} intervals hold the truth, half width {:.4f} (median)\n",
                         name, c.covered, c.told, Median(c.half_widths));
    for (const auto& [names, n] : blamed)
      out += fmt::format("  free flight of {} experiments blames: {}\n", n, names);
    for (const auto& [reason, n] : refused) out += fmt::format("  {} refused: {}\n", n, reason);
    return out;
  }
};

class ChainSummary {
 public:
  void Add(const nlohmann::json& experiment) {
    const std::string body = experiment.at("body");
    const auto& effects = experiment.at("effects");
    groups_[effects.empty() ? "modelled" : "not modelled"].Add(experiment);
    groups_[(effects.empty() ? "modelled, " : "not modelled, ") + body].Add(experiment);
    if (!effects.empty())
      groups_["with " + (effects.size() == 1 ? effects[0].get<std::string>() : "several effects")]
          .Add(experiment);
  }
  std::string Words() const {
    std::string out;
    for (const auto& [title, group] : groups_) out += group.Words(title);
    return out;
  }
  nlohmann::json Json() const {
    nlohmann::json json;
    for (const auto& [title, group] : groups_) json["groups"][title] = group.Json();
    json["fine"] = Fine();
    return json;
  }
  bool Fine() const {
    const auto at = groups_.find("modelled");
    return at == groups_.end() || at->second.Fine();
  }

 private:
  std::map<std::string, ChainGroup> groups_;
};

}  // namespace impactlab::test
