#include "pipelines/study/mixture_of_specimens.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>

#include "data/files/table.h"
#include "data/statistics/statistics.h"
#include "impact/identify/identify.h"
#include "impact/identify/single_impact.h"

namespace impactlab {
namespace {

constexpr int kDraws = 199;
constexpr double kMixtureLevel = 0.01;
constexpr double kSeparation = 3;  // standard deviations between the means
// chance that a member of one lies beyond one of the other, from which on a condition separates
// them
constexpr double kSeparated = 0.95;
constexpr double kInOrder = 0.9;  // share of recordings on their side of a switch

// What is known of one impact.
struct Member {
  std::size_t recording = 0;
  double e = std::nan(""), sd_e = 0, mu = std::nan(""), sd_mu = 0;
  double speed = 0, slip = 0, lean = 0, spin = 0;
  std::string path_case;
};

// Values less their straight line in approach and slip speed, about their mean.
std::vector<double> WithoutSpeeds(const std::vector<Member>& members, double Member::*of) {
  std::vector<double> out;
  std::vector<const Member*> known;
  for (const Member& m : members) {
    out.push_back(m.*of);
    if (std::isfinite(m.*of)) known.push_back(&m);
  }
  if (known.size() < 12) return out;
  Eigen::MatrixXd A(known.size(), 3);
  Eigen::VectorXd b(known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    A.row(static_cast<Eigen::Index>(i)) << 1, known[i]->speed, known[i]->slip;
    b[static_cast<Eigen::Index>(i)] = known[i]->*of;
  }
  const Eigen::RowVector3d mean = A.colwise().mean();
  const Eigen::Vector3d line = A.completeOrthogonalDecomposition().solve(b);
  for (std::size_t i = 0; i < members.size(); ++i)
    out[i] -= line[1] * (members[i].speed - mean[1]) + line[2] * (members[i].slip - mean[2]);
  return out;
}

// Chance that a value of the second group lies above one of the first; 1/2 where they do not
// differ.
double ChanceAbove(const std::vector<double>& first, const std::vector<double>& second) {
  double above = 0;
  for (const double a : first)
    for (const double b : second) above += b > a ? 1 : b == a ? 0.5 : 0;
  return first.empty() || second.empty()
             ? 0.5
             : above / static_cast<double>(first.size() * second.size());
}

// A condition of the impacts that separates the two populations as well; empty where none does.
std::string SeparatedBy(const std::vector<Member>& members, const std::vector<bool>& second) {
  const std::pair<const char*, double Member::*> conditions[] = {{"approach_speed", &Member::speed},
                                                                 {"slip_speed", &Member::slip},
                                                                 {"lean", &Member::lean},
                                                                 {"spin", &Member::spin}};
  for (const auto& [name, of] : conditions) {
    std::vector<double> group[2];
    for (std::size_t i = 0; i < members.size(); ++i) group[second[i]].push_back(members[i].*of);
    const double chance = ChanceAbove(group[0], group[1]);
    if (chance > kSeparated || chance < 1 - kSeparated) return name;
  }
  std::map<std::string, int> count[2];
  int n[2] = {0, 0};
  for (std::size_t i = 0; i < members.size(); ++i) {
    ++count[second[i]][members[i].path_case];
    ++n[second[i]];
  }
  for (const auto& [path_case, k] : count[1]) {
    const double in_second = static_cast<double>(k) / std::max(1, n[1]),
                 in_first = static_cast<double>(count[0][path_case]) / std::max(1, n[0]);
    if (std::abs(in_second - in_first) > 2 * kSeparated - 1) return "case " + path_case;
  }
  return "";
}

// First recording of the second part where the populations follow each other in time; 0 where they
// do not.
int SwitchAt(const std::vector<bool>& second) {
  const int n = static_cast<int>(second.size());
  int best = 0, at = 0;
  for (int split = 2; split <= n - 2; ++split) {
    int right = 0;
    for (int i = 0; i < n; ++i) right += second[static_cast<std::size_t>(i)] == (i >= split);
    right = std::max(right, n - right);
    if (right > best) best = right, at = split;
  }
  return n >= 4 && best >= kInOrder * n ? at + 1 : 0;
}

std::string MixtureSentence(const SpecimenMixture& s, int second) {
  const MixtureTest& t = s.test;
  const auto means = [&](std::size_t q) {
    return fmt::format("{:.3f} ± {:.3f} and {:.3f} ± {:.3f}", t.mean_first[q], t.sd_first[q],
                       t.mean_second[q], t.sd_second[q]);
  };
  std::string out = fmt::format(
      "coefficients of single impacts come from two populations, not one (p = {:.2g}): e = {}", t.p,
      means(0));
  if (t.mean_first.size() > 1) out += ", mu = " + means(1);
  out += fmt::format(", {} and {} recordings", static_cast<int>(s.rows.size()) - second, second);
  if (!s.parted_by.empty())
    return out + fmt::format(
                     "; but {} parts the two as well: the form of the law may be at fault, not the "
                     "specimens",
                     s.parted_by);
  if (s.switch_at > 0)
    return "two specimens or surfaces were mixed: " + out +
           fmt::format("; they change at recording {} ({})", s.switch_at,
                       s.rows[static_cast<std::size_t>(s.switch_at) - 1].recording);
  return "two specimens or surfaces were mixed: " + out + ", in no order of time";
}

}  // namespace

SpecimenMixture FindSpecimenMixture(std::span<const ImpactEvent> events, const Body& body,
                                    const LawFit& fit, std::uint64_t seed) {
  SpecimenMixture out;
  out.law = fit.law;
  const bool fitted = fit.fitted() && std::isfinite(fit.e.value);
  if (!fitted) return out;
  const ImpactModel model = ModelOf(fit);
  std::vector<Member> members;
  std::map<std::string, std::size_t> place;
  std::map<std::string, int> order;
  int with_mu = 0;
  for (const ImpactEvent& event : events) {
    const int number =
        order.try_emplace(event.recording, static_cast<int>(order.size()) + 1).first->second;
    if (!event.accepted || !(event.contact.v_minus_F.z() < 0)) continue;
    const ImpactOutcome outcome = Solve(event.contact, model, {.dense_output = false});
    if (outcome.status != SolveStatus::kOk) continue;
    const std::optional<SingleCoefficient> e = RestitutionOf(event, body, model);
    const std::optional<SingleCoefficient> mu = FrictionOf(event, body, model);
    if (!e && !mu) continue;
    const auto [at, fresh] = place.try_emplace(event.recording, out.rows.size());
    if (fresh) out.rows.push_back({event.recording, number, 0, std::nan(""), std::nan("")});
    const MeasuredImpact measured = MeasureImpact(event);
    Member m{.recording = at->second,
             .speed = measured.speed,
             .slip = event.contact.v_minus_F.head<2>().norm(),
             .lean = std::abs(measured.lean),
             .spin = event.omega_minus.norm(),
             .path_case = outcome.path_case.Name()};
    if (e) m.e = e->value, m.sd_e = e->sd;
    if (mu) m.mu = mu->value, m.sd_mu = mu->sd, ++with_mu;
    members.push_back(std::move(m));
  }
  PopulationData data;
  for (const Member& m : members) data.cluster.push_back(static_cast<int>(m.recording));
  const auto add = [&](double Member::*of, double Member::*sd) {
    data.value.push_back(WithoutSpeeds(members, of));
    data.sd.emplace_back();
    for (const Member& m : members) data.sd.back().push_back(m.*sd);
  };
  add(&Member::e, &Member::sd_e);
  if (with_mu >= 8) add(&Member::mu, &Member::sd_mu);
  out.test = TestMixture(data, kDraws, seed);
  for (std::size_t r = 0; r < out.rows.size(); ++r) {
    std::vector<double> e, mu;
    for (const Member& m : members) {
      if (m.recording == r && std::isfinite(m.e)) e.push_back(m.e);
      if (m.recording == r && std::isfinite(m.mu)) mu.push_back(m.mu);
    }
    if (!e.empty()) out.rows[r].e = Mean(e);
    if (!mu.empty()) out.rows[r].mu = Mean(mu);
    out.rows[r].probability = out.test.tested ? out.test.probability[r] : std::nan("");
  }
  if (!out.test.tested) return out;
  std::vector<bool> of_member, of_recording;
  for (const SpecimenRow& row : out.rows) of_recording.push_back(row.probability > 0.5);
  for (const Member& m : members) of_member.push_back(of_recording[m.recording]);
  const bool two = out.test.p < kMixtureLevel && out.test.separation > kSeparation;
  const int second = static_cast<int>(std::count(of_recording.begin(), of_recording.end(), true));
  if (two) {
    out.parted_by = SeparatedBy(members, of_member);
    out.switch_at = SwitchAt(of_recording);
    out.mixed = out.parted_by.empty();
    out.text = MixtureSentence(out, second);
  } else {
    out.text = fmt::format("single impacts agree with one population of coefficients (p = {:.2g})",
                           out.test.p);
  }
  return out;
}

void WriteSpecimenMixture(const std::filesystem::path& path, const SpecimenMixture& specimens) {
  CsvWriter out(path, {"recording", "order", "probability_second", "e", "mu"});
  for (const SpecimenRow& row : specimens.rows)
    out.Text(row.recording)
        .Integer(row.order)
        .Number(row.probability)
        .Number(row.e)
        .Number(row.mu)
        .EndRow();
  out.Commit();
}

}  // namespace impactlab
