#include "pipelines/study/repeatability.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "data/files/glob.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "impact/identify/identify.h"
#include "pipelines/config/visit.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr int kFewestRepeats = 3;      // repeats that a verdict needs
constexpr double kRepeatLevel = 0.01;  // chance that noise alone leaves the band
constexpr int kSizes[] = {5, 10, 20, 50, 100, 200, 500, 1000};
// a direction without noise of its own still has so much of the mean variance
constexpr double kLeastVariance = 1e-4;

// One drop's part of a row: a vector, its covariance and the directions in which it was measured
// (columns).
struct RepeatSample {
  Vector3d x;
  Matrix3d cov;
  Eigen::Matrix<double, 3, Eigen::Dynamic> seen;
};

RepeatRow RepeatRowOf(std::span<const RepeatSample> samples) {
  RepeatRow row;
  row.n = static_cast<int>(samples.size());
  double within = 0;
  int components = 0;
  for (const RepeatSample& s : samples) {
    within += (s.seen.transpose() * s.cov * s.seen).trace();
    components += static_cast<int>(s.seen.cols());
  }
  const double nan = std::nan("");
  row.sd_between = row.between_lower95 = row.between_upper95 = row.ratio = row.chi_square =
      row.lower99 = row.upper99 = nan;
  if (components == 0) return row;
  row.sd_within = std::sqrt(within / components);
  if (row.n < 2) return row;
  Matrix3d information = Matrix3d::Zero(), equal = Matrix3d::Zero();
  Vector3d weighted = Vector3d::Zero(), plain = Vector3d::Zero();
  std::vector<Matrix3d> weights;
  const double least = kLeastVariance * within / components;
  for (const RepeatSample& s : samples) {
    Eigen::MatrixXd cov = s.seen.transpose() * s.cov * s.seen;
    cov.diagonal().array() += least;
    weights.push_back(least > 0 ? Matrix3d(s.seen * cov.inverse() * s.seen.transpose())
                                : Matrix3d::Zero());
    information += weights.back();
    weighted += weights.back() * s.x;
    equal += s.seen * s.seen.transpose();
    plain += s.seen * (s.seen.transpose() * s.x);
  }
  const auto solve = [](const Matrix3d& A, const Vector3d& b) {
    return Vector3d(A.completeOrthogonalDecomposition().solve(b));
  };
  const Vector3d mean = solve(equal, plain), centre = solve(information, weighted);
  row.dof = components - static_cast<int>(equal.completeOrthogonalDecomposition().rank());
  if (row.dof < 1) return row;
  double between = 0;
  row.chi_square = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    between += (samples[i].seen.transpose() * (samples[i].x - mean)).squaredNorm();
    const Vector3d d = samples[i].x - centre;
    row.chi_square += d.dot(weights[i] * d);
  }
  row.sd_between = std::sqrt(between / row.dof);
  const Interval spread = ChiSquareBand(row.dof, 0.05), band = ChiSquareBand(row.dof, kRepeatLevel);
  row.between_lower95 = row.sd_between * std::sqrt(row.dof / spread.upper);
  row.between_upper95 = row.sd_between * std::sqrt(row.dof / spread.lower);
  row.lower99 = band.lower / row.dof;
  row.upper99 = band.upper / row.dof;
  if (!(least > 0)) {
    row.chi_square = nan;
    return row;
  }
  row.ratio = std::sqrt(row.chi_square / row.dof);
  if (row.n >= kFewestRepeats)
    row.verdict = row.chi_square > band.upper   ? RepeatVerdict::kBeyond
                  : row.chi_square < band.lower ? RepeatVerdict::kBelow
                                                : RepeatVerdict::kWithin;
  return row;
}

// Directions of a velocity, or of a spin, that were measured.
Eigen::Matrix<double, 3, Eigen::Dynamic> ObservedDirections(const ImpactEvent& event, bool spin) {
  const Matrix3d all = Matrix3d::Identity();
  if (event.planar && spin) return all.col(1);
  if (event.planar) {
    Eigen::Matrix<double, 3, Eigen::Dynamic> plane(3, 2);
    plane << all.col(0), all.col(2);
    return plane;
  }
  if (!spin || event.unseen_axis_B.isZero(0)) return all;
  const Vector3d axis = event.X_WB.linear() * event.unseen_axis_B;
  Eigen::Matrix<double, 3, Eigen::Dynamic> across(3, 2);
  across.col(0) = axis.unitOrthogonal();
  across.col(1) = axis.cross(across.col(0));
  return across;
}

Vector3d Lever(const ImpactEvent& event) { return event.p_WP - event.X_WB.translation(); }

// Whether a drop has the nominal state of another.
bool Alike(const ImpactEvent& a, const ImpactEvent& b, const RepeatOptions& o) {
  const Matrix3d R = a.contact.X_WF.linear().transpose();
  const Eigen::Matrix<double, 3, Eigen::Dynamic> seen = ObservedDirections(a, true);
  const Vector3d dv = R * (a.v_minus - b.v_minus),
                 dw = R * (seen * (seen.transpose() * (a.omega_minus - b.omega_minus)));
  const double turn = std::atan2(Lever(a).cross(Lever(b)).norm(), Lever(a).dot(Lever(b)));
  return dv.cwiseAbs().maxCoeff() <= o.velocity && dw.cwiseAbs().maxCoeff() <= o.spin &&
         turn <= o.angle;
}

using Members = std::vector<const ImpactEvent*>;

// The drop that has most others alike is the first nominal condition, and so on with what is left.
std::vector<Members> FindGroups(Members left, const RepeatOptions& options) {
  std::vector<Members> groups;
  while (!left.empty()) {
    Members best;
    for (const ImpactEvent* centre : left) {
      Members members;
      std::copy_if(left.begin(), left.end(), std::back_inserter(members),
                   [&](const ImpactEvent* e) { return Alike(*centre, *e, options); });
      if (members.size() > best.size()) best = std::move(members);
    }
    if (best.size() < 2) break;
    std::erase_if(left, [&](const ImpactEvent* e) {
      return std::find(best.begin(), best.end(), e) != best.end();
    });
    groups.push_back(std::move(best));
  }
  return groups;
}

struct RepeatQuantity {
  std::string name, unit;
  bool of_condition = false;  // a state that only repeats of one condition share
  std::function<std::optional<RepeatSample>(const ImpactEvent&)> sample;
};

RepeatSample Scalar(double value, double sd) {
  return {Vector3d(value, 0, 0), Vector3d(sd * sd, 0, 0).asDiagonal().toDenseMatrix(),
          Matrix3d::Identity().leftCols<1>()};
}

std::vector<RepeatQuantity> RepeatQuantities(const Body& body, const LawFit& fit,
                                             const Repeatability& repeats) {
  const auto state = [](const char* name, const char* unit, int at, bool spin, auto value) {
    return RepeatQuantity{
        name, unit, true, [at, spin, value](const ImpactEvent& e) -> std::optional<RepeatSample> {
          return RepeatSample{value(e), e.cov.block<3, 3>(at, at), ObservedDirections(e, spin)};
        }};
  };
  std::vector<RepeatQuantity> out = {
      state("v_minus", "m_per_s", kVMinus, false, [](const ImpactEvent& e) { return e.v_minus; }),
      state("omega_minus", "rad_per_s", kOmegaMinus, true,
            [](const ImpactEvent& e) { return e.omega_minus; }),
      state("lever", "m", kLever, false, [](const ImpactEvent& e) { return Lever(e); })};
  if (!fit.fitted()) return out;
  // of the measurement alone: no scatter of the surface, no error of the coefficients, which all
  // drops share
  LawFit bare = fit;
  bare.covariance.resize(0, 0);
  bare.discrepancy = {};
  const ImpactModel model = ModelOf(fit);
  for (const bool spin : {false, true}) {
    out.push_back({spin ? "residual_omega" : "residual_v", spin ? "rad_per_s" : "m_per_s", false,
                   [=, &body](const ImpactEvent& e) -> std::optional<RepeatSample> {
                     const Prediction p = Predict(e, body, model, bare);
                     if (p.outcome.status != SolveStatus::kOk) return std::nullopt;
                     const int at = spin ? 3 : 0;
                     return RepeatSample{(spin ? e.omega_plus : e.v_plus) - p.plus.segment<3>(at),
                                         p.cov_difference.block<3, 3>(at, at),
                                         ObservedDirections(e, spin)};
                   }});
  }
  const auto single = [](const std::vector<SingleCoefficient>& list) {
    return [&list](const ImpactEvent& e) -> std::optional<RepeatSample> {
      for (const SingleCoefficient& c : list)
        if (c.recording == e.recording && c.impact == e.impact) return Scalar(c.value, c.sd);
      return std::nullopt;
    };
  };
  out.push_back({CoefficientName(model.law), "1", false, single(repeats.e)});
  out.push_back({"mu_k", "1", false, single(repeats.mu)});
  return out;
}

void AddRepeatRows(const std::string& group, const RepeatQuantity& quantity, const Members& members,
                   std::vector<RepeatRow>* rows) {
  std::vector<RepeatSample> samples;
  for (const ImpactEvent* e : members)
    if (std::optional<RepeatSample> s = quantity.sample(*e)) samples.push_back(std::move(*s));
  if (samples.empty()) return;
  std::vector<std::size_t> sizes;
  for (const int n : kSizes)
    if (static_cast<std::size_t>(n) < samples.size()) sizes.push_back(static_cast<std::size_t>(n));
  sizes.push_back(samples.size());
  for (const std::size_t n : sizes) {
    RepeatRow row = RepeatRowOf(std::span(samples).first(n));
    row.group = group;
    row.quantity = quantity.name;
    row.unit = quantity.unit;
    rows->push_back(std::move(row));
  }
}

}  // namespace

const char* ToString(RepeatVerdict verdict) {
  constexpr const char* kNames[] = {"undetermined", "within", "beyond", "below"};
  return kNames[static_cast<int>(verdict)];
}

Repeatability StudyRepeats(std::span<const ImpactEvent> events, const Body& body, const LawFit& fit,
                           const RepeatOptions& options) {
  Repeatability out;
  out.law = fit.law;
  Members all, first;
  for (const ImpactEvent& event : events) {
    if (!event.accepted || !(event.contact.v_minus_F.z() < 0)) continue;
    all.push_back(&event);
    if (event.impact == 0) first.push_back(&event);
  }
  if (all.empty()) return out;
  if (fit.fitted()) {
    const ImpactModel model = ModelOf(fit);
    for (const ImpactEvent* e : all) {
      if (const std::optional<SingleCoefficient> one = RestitutionOf(*e, body, model))
        out.e.push_back(*one);
      if (const std::optional<SingleCoefficient> mu = FrictionOf(*e, body, model))
        out.mu.push_back(*mu);
    }
  }
  std::vector<std::pair<std::string, Members>> groups;
  out.found = options.groups.empty();
  for (const RepeatOptions::Group& group : options.groups) {
    Members members;
    std::copy_if(first.begin(), first.end(), std::back_inserter(members),
                 [&](const ImpactEvent* e) { return MatchesGlob(group.recordings, e->recording); });
    groups.emplace_back(group.name, std::move(members));
    if (groups.back().second.size() < kFewestRepeats)
      out.notes.push_back(fmt::format(
          "{}: {} of the recordings that match {} gave an accepted first impact; {} are needed",
          group.name, groups.back().second.size(), Excerpt(group.recordings), kFewestRepeats));
  }
  if (out.found) {
    for (Members& members : FindGroups(first, options))
      groups.emplace_back(fmt::format("condition {}", groups.size() + 1), std::move(members));
    std::size_t alone = first.size();
    for (const auto& [name, members] : groups) alone -= members.size();
    if (alone > 0)
      out.notes.push_back(
          fmt::format("{} of {} first impacts are alike no other", alone, first.size()));
  }
  for (const RepeatQuantity& quantity : RepeatQuantities(body, fit, out)) {
    for (const auto& [name, members] : groups) AddRepeatRows(name, quantity, members, &out.rows);
    if (!quantity.of_condition) AddRepeatRows("all", quantity, all, &out.rows);
  }
  for (auto& [name, members] : groups) {
    out.groups.push_back({name, {}});
    for (const ImpactEvent* e : members) out.groups.back().recordings.push_back(e->recording);
  }
  return out;
}

void Visit(pipelines::Keys& keys, RepeatOptions& o) {
  keys.List("groups", o.groups,
            "Repeats by name; first impacts count. Default: first impacts whose states before the "
            "impact are alike",
            pipelines::Style::kFlow, [&](pipelines::Keys& k, RepeatOptions::Group& group) {
              k.Text("name", group.name, "of the condition", pipelines::Need::kRequired);
              k.Text("recordings", group.recordings, "pattern of the recordings' names",
                     pipelines::Need::kRequired);
              k.Check(group.name != "all", "name", "all",
                      "another name: it is that of every accepted impact");
              for (const RepeatOptions::Group& other : o.groups)
                k.Check(other.name != group.name, "name", Excerpt(group.name) + " again",
                        "every name once");
            });
  keys.Number(
      "velocity_m_per_s", o.velocity, Positive(),
      "alike: every component in F of the velocity before the impact is within this of one drop's");
  keys.Number(
      "spin_rad_per_s", o.spin, Positive(),
      "alike: every component in F of the spin before the impact is within this of one drop's");
  keys.Number("angle_rad", o.angle, Positive(),
              "alike: the lever of the contact is turned by no more than this");
}

void WriteRepeatability(const std::filesystem::path& path, const Repeatability& repeats) {
  CsvWriter out(path, {"group", "quantity", "unit", "repeats", "sd_between", "between_lower95",
                       "between_upper95", "sd_within", "ratio", "chi_square", "dof", "lower99",
                       "upper99", "verdict"});
  for (const RepeatRow& row : repeats.rows) {
    out.Text(row.group)
        .Text(row.quantity)
        .Text(row.unit)
        .Integer(row.n)
        .Number(row.sd_between)
        .Number(row.between_lower95);
    out.Number(row.between_upper95)
        .Number(row.sd_within)
        .Number(row.ratio)
        .Number(row.chi_square)
        .Integer(row.dof);
    out.Number(row.lower99).Number(row.upper99).Text(ToString(row.verdict)).EndRow();
  }
  out.Commit();
}

}  // namespace impactlab
