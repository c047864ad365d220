#include "pipelines/study/validation.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>

#include "data/files/table.h"
#include "data/statistics/statistics.h"
#include "impact/body/unknown_spin.h"
#include "impact/identify/compliant_predict.h"
#include "impact/identify/impulse_predict.h"

namespace impactlab {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;

Vector6 PlusOf(const ImpactEvent& event) {
  return (Vector6() << event.v_plus, event.omega_plus).finished();
}
Vector6 MinusOf(const ImpactEvent& event) {
  return (Vector6() << event.v_minus, event.omega_minus).finished();
}

// Of what was measured: without rotation where the spin after was not.
Eigen::Matrix<double, 6, 6> MassMatrix(const ImpactEvent& event, const Body& body) {
  const Eigen::Matrix3d R_WB = event.X_WB.linear();
  Eigen::Matrix<double, 6, 6> M = Eigen::Matrix<double, 6, 6>::Zero();
  M.topLeftCorner<3, 3>() = body.mass * Eigen::Matrix3d::Identity();
  M.bottomRightCorner<3, 3>() = R_WB * body.inertia_B * R_WB.transpose();
  if (SpinIsUnknown(event)) M.bottomRightCorner<3, 3>().setZero();
  if (body.planar) {
    // Only v_x, v_z and omega_y move.
    for (int i : {1, 3, 5}) {
      M.row(i).setZero();
      M.col(i).setZero();
    }
  }
  return M;
}

// A scalar of the plus state (minus state and contact held as measured), with its gradient by the
// plus state.
struct ValidatedQuantity {
  const char* name;
  const char* unit;
  double tolerance;
  double value = 0;
  Vector6 gradient = Vector6::Zero();
};

// All quantities of an event at a given plus state; none that a spin after is part of where that
// was not measured. The gradients are exact: each quantity is linear, a ratio of linear forms, or
// quadratic.
std::vector<ValidatedQuantity> ValidatedQuantities(const ImpactEvent& event, const Body& body,
                                                   const ValidationOptions& options,
                                                   const Vector6& plus) {
  std::vector<ValidatedQuantity> out;
  const auto linear = [&](const char* name, const char* unit, double tolerance, const Vector6& row,
                          double constant = 0) {
    out.push_back({name, unit, tolerance, row.dot(plus) + constant, row});
  };
  const bool unseen = SpinIsUnknown(event);
  const std::array<const char*, 6> names = {"v_plus_x",     "v_plus_y",     "v_plus_z",
                                            "omega_plus_x", "omega_plus_y", "omega_plus_z"};
  for (int i = 0; i < 6; ++i) {
    if ((body.planar && (i == 1 || i == 3 || i == 5)) || (unseen && i >= 3)) continue;
    linear(names[i], i < 3 ? "m/s" : "rad/s",
           i < 3 ? options.tolerance_velocity : options.tolerance_spin, Vector6::Unit(i));
  }
  const Eigen::Matrix3d R_FW = event.contact.X_WF.linear().transpose();
  const Eigen::Vector3d r = event.p_WP - event.X_WB.translation();
  // v_P = v + omega x r, so an axis a of F gives a . v + (r x a) . omega. A struck body's contact
  // point yields by its inverse mass times the impulse on the first body, m (v - v_minus): both
  // give the velocity of one against the other.
  const auto contact = [&](const char* name, int axis) {
    const Eigen::Vector3d a = R_FW.row(axis).transpose();
    Vector6 row;
    row << a, r.cross(a);
    double constant = 0;
    if (event.struck) {
      const Eigen::Vector3d yields = body.mass * (event.struck->A_W * a);
      row.head<3>() += yields;
      constant = -yields.dot(event.v_minus);
    }
    linear(name, "m/s", options.tolerance_velocity, row, constant);
  };
  contact("v_n_plus", 2);
  if (!unseen) contact("v_t_plus", 0);
  if (!unseen && !body.planar) contact("v_t2_plus", 1);

  const Eigen::Vector3d dv = plus.head<3>() - event.v_minus;
  const auto ratio = [&](const char* name, int axis) {
    const Eigen::Vector3d a = R_FW.row(axis).transpose(), n = R_FW.row(2).transpose();
    const double J_n = n.dot(dv), J_t = a.dot(dv);
    if (!(std::abs(J_n) > 1e-9)) return;
    Vector6 gradient = Vector6::Zero();
    gradient.head<3>() = a / J_n - n * J_t / (J_n * J_n);
    out.push_back({name, "1", options.tolerance_ratio, J_t / J_n, gradient});
  };
  ratio("J_t_over_J_n", 0);
  if (!body.planar) ratio("J_t2_over_J_n", 1);

  const Eigen::Matrix<double, 6, 6> M = MassMatrix(event, body);
  const Vector6 minus = MinusOf(event);
  const double T_minus = minus.dot(M * minus);
  if (T_minus > 0 && !unseen)
    out.push_back({"energy_ratio", "1", options.tolerance_ratio, plus.dot(M * plus) / T_minus,
                   2 * (M * plus) / T_minus});
  return out;
}

// A law's prediction of an event, and the same without the scatter between impacts.
struct LawPrediction {
  std::string law, path_case;
  Prediction prediction, bare;
};

std::optional<LawPrediction> WordOf(const ImpactEvent& event, const Body& body, const LawFit& fit) {
  const ImpactModel model = ModelOf(fit);
  LawPrediction word{fit.law, {}, Predict(event, body, model, fit), {}};
  if (!word.prediction.outcome.usable()) return std::nullopt;
  word.path_case = word.prediction.outcome.path_case.Name();
  LawFit without = fit;
  without.discrepancy = {};
  word.bare = Predict(event, body, model, without);
  return word;
}

std::optional<LawPrediction> WordOf(const ImpactEvent& event, const Body& body, ImpulseLaw law,
                                    const LawFit& newton) {
  const std::optional<ImpulsePrediction> prediction = Predict(event, body, law, newton);
  LawFit without = newton;
  without.discrepancy = {};
  const std::optional<ImpulsePrediction> bare = Predict(event, body, law, without);
  if (!prediction || !bare) return std::nullopt;
  return LawPrediction{LawName(law), prediction->bound, prediction->motion, bare->motion};
}

std::optional<LawPrediction> WordOf(const ImpactEvent& event, const Body& body, CompliantLaw law,
                                    const LawFit& energetic, double reference_speed) {
  std::optional<CompliantPrediction> prediction =
      Predict(event, body, law, energetic, reference_speed);
  if (!prediction) return std::nullopt;
  const std::string path_case = prediction->motion.outcome.path_case.Name();
  return LawPrediction{LawName(law), path_case, std::move(prediction->motion),
                       std::move(prediction->bare)};
}

// Density of a difference by its covariance: normal, or Student's where that likelihood was fitted.
void AddDensity(const Vector6& difference, const Eigen::Matrix<double, 6, 6>& cov,
                const ImpactEvent& event, const Body& body, const IdentifyOptions& identify,
                PredictionError& error) {
  std::vector<int> free = body.planar ? std::vector{0, 2, 4} : std::vector{0, 1, 2, 3, 4, 5};
  if (SpinIsUnknown(event)) std::erase_if(free, [](int k) { return k >= 3; });
  const Eigen::VectorXd d = difference(free);
  const Eigen::LLT<Eigen::MatrixXd> factor(Eigen::MatrixXd(cov(free, free)));
  if (factor.info() != Eigen::Success) return;
  const double chi_square = d.dot(factor.solve(d)), n = static_cast<double>(free.size());
  const double half_log_det = factor.matrixLLT().diagonal().array().log().sum();
  if (!std::isfinite(chi_square) || !std::isfinite(half_log_det)) return;
  error.chi_square_per_dof = chi_square / n;
  const double dof = identify.student_dof;
  error.log_density =
      identify.likelihood == Likelihood::kStudentT
          ? std::lgamma(0.5 * (dof + n)) - std::lgamma(0.5 * dof) -
                0.5 * n * std::log(dof * std::numbers::pi) - half_log_det -
                0.5 * (dof + n) * std::log1p(chi_square / dof)
          : -0.5 * n * std::log(2 * std::numbers::pi) - half_log_det - 0.5 * chi_square;
}

void AddWord(const ImpactEvent& event, const Body& body, const LawPrediction& word, int fold,
             const IdentifyOptions& identify, const ValidationOptions& options,
             ValidationTable& table) {
  const Prediction &prediction = word.prediction, &bare = word.bare;
  const std::string& path_case = word.path_case;
  const Vector6 measured = PlusOf(event);
  const Eigen::Matrix<double, 6, 6> cov_measured = event.cov.block<6, 6>(kVPlus, kVPlus);
  const auto predicted = ValidatedQuantities(event, body, options, prediction.plus);
  const auto found = ValidatedQuantities(event, body, options, measured);
  // Both lists hold the same quantities unless an impulse vanishes; match by name.
  for (const ValidatedQuantity& s : predicted) {
    const auto d = std::find_if(found.begin(), found.end(), [&](const ValidatedQuantity& q) {
      return std::string(q.name) == s.name;
    });
    if (d == found.end()) continue;
    ValidationRow row;
    row.recording = event.recording;
    row.impact = event.impact;
    row.law = word.law;
    row.fold = fold;
    row.path_case = path_case;
    row.quantity = s.name;
    row.unit = s.unit;
    row.predicted = s.value;
    row.measured = d->value;
    row.sd_predicted = std::sqrt(std::max(0.0, s.gradient.dot(prediction.cov * s.gradient)));
    row.sd_measured = std::sqrt(std::max(0.0, d->gradient.dot(cov_measured * d->gradient)));
    row.difference = row.predicted - row.measured;
    // The secant gradient makes a quadratic quantity exact: h(p) - h(m) = g((p + m) / 2) . (p - m).
    const Vector6 g = 0.5 * (s.gradient + d->gradient);
    const double u_num = prediction.outcome.error_bound * event.contact.v_minus_F.norm() * g.norm();
    row.sd_difference =
        std::sqrt(std::max(0.0, g.dot(prediction.cov_difference * g)) + u_num * u_num);
    row.u_val = std::sqrt(std::max(0.0, g.dot(bare.cov_difference * g)) + u_num * u_num);
    row.z = row.sd_difference > 0 ? row.difference / row.sd_difference : 0;
    row.in_sample = fold < 0;
    const double size = std::abs(row.difference), k_u = options.coverage * row.u_val;
    row.verdict = size + k_u <= s.tolerance ? "adequate" : size > k_u ? "discrepant" : "unresolved";
    table.rows.push_back(std::move(row));
  }

  const Eigen::Matrix<double, 6, 6> M = MassMatrix(event, body);
  const Vector6 d = prediction.plus - measured, minus = MinusOf(event), change = measured - minus;
  const double error = d.dot(M * d);
  const auto relative = [&](const Vector6& v) {
    const double scale = v.dot(M * v);
    return scale > 0 ? std::sqrt(error / scale) : std::numeric_limits<double>::quiet_NaN();
  };
  table.errors.push_back({event.recording, event.impact, word.law, path_case, fold,
                          relative(measured), relative(minus), relative(change)});
  AddDensity(d, prediction.cov_difference, event, body, identify, table.errors.back());
}

// The law that was fitted and, with coefficients of Newton's, the planar laws that read them; with
// those of the energetic law, on request, the compliant contacts that have its restitution at
// `reference_speed`.
void AddValidationRows(const ImpactEvent& event, const Body& body, const LawFit& fit, int fold,
                       const IdentifyOptions& identify, const ValidationOptions& options,
                       double reference_speed, ValidationTable& table) {
  if (const auto word = WordOf(event, body, fit))
    AddWord(event, body, *word, fold, identify, options, table);
  if (options.compliant && fit.law == LawName(RestitutionLaw::kEnergetic))
    for (const CompliantLaw law : kValidatedCompliantLaws)
      if (const auto word = WordOf(event, body, law, fit, reference_speed))
        AddWord(event, body, *word, fold, identify, options, table);
  if (fit.law != LawName(kImpulseRestitution)) return;
  for (const ImpulseLawInfo& law : kImpulseLaws)
    if (const auto word = law.listed ? WordOf(event, body, law.law, fit) : std::nullopt)
      AddWord(event, body, *word, fold, identify, options, table);
}

// A digit names a path; text names what set the impulse of a law without one.
std::string GroupOf(const std::string& path_case) {
  const bool path = !path_case.empty() && path_case[0] >= '0' && path_case[0] <= '9';
  return (path ? "case " : "bound by ") + path_case;
}

template <typename Row>
std::map<std::tuple<std::string, bool, std::string>, std::vector<const Row*>> ByGroup(
    const std::vector<Row>& rows) {
  std::map<std::tuple<std::string, bool, std::string>, std::vector<const Row*>> groups;
  std::set<std::string> sets;
  for (const Row& row : rows) sets.insert(SetOf(row.recording));
  for (const Row& row : rows) {
    groups[{row.law, row.fold < 0, "all"}].push_back(&row);
    groups[{row.law, row.fold < 0, GroupOf(row.path_case)}].push_back(&row);
    if (sets.size() > 1)
      groups[{row.law, row.fold < 0, "recordings " + SetOf(row.recording) + "*"}].push_back(&row);
  }
  return groups;
}

void Summarise(ValidationTable& table) {
  for (const auto& [key, members] : ByGroup(table.errors)) {
    ErrorSummary s;
    std::tie(s.law, s.in_sample, s.group) = key;
    s.n = static_cast<int>(members.size());
    std::vector<double> plus, minus, change;
    for (const PredictionError* e : members) {
      plus.push_back(e->by_plus);
      minus.push_back(e->by_minus);
      change.push_back(e->by_change);
      s.mean_by_plus += e->by_plus / s.n;
      s.mean_by_minus += e->by_minus / s.n;
      s.mean_by_change += e->by_change / s.n;
    }
    s.median_by_plus = Median(plus);
    s.median_by_minus = Median(minus);
    s.median_by_change = Median(change);
    table.error_summary.push_back(s);
  }
  for (const auto& [key, members] : ByGroup(table.rows)) {
    std::vector<std::string> order;  // quantities in the order of the table
    std::map<std::string, QuantitySummary> by_quantity;
    for (const ValidationRow* row : members) {
      auto [it, fresh] = by_quantity.try_emplace(row->quantity);
      if (fresh) order.push_back(row->quantity);
      QuantitySummary& q = it->second;
      ++q.n;
      q.adequate += row->verdict == "adequate";
      q.discrepant += row->verdict == "discrepant";
      q.unresolved += row->verdict == "unresolved";
      q.rms += row->difference * row->difference;
      q.bias += row->difference;
      q.rms_z += row->z * row->z;
    }
    for (const std::string& name : order) {
      QuantitySummary q = by_quantity[name];
      std::tie(q.law, q.in_sample, q.group) = key;
      q.quantity = name;
      q.rms = std::sqrt(q.rms / q.n);
      q.bias /= q.n;
      q.rms_z = std::sqrt(q.rms_z / q.n);
      table.quantity_summary.push_back(q);
    }
  }
}

std::set<std::string> FittedRecordings(const FitResult& fit) {
  std::set<std::string> names;
  for (const FittedImpact& impact : fit.fitted) names.insert(impact.recording);
  return names;
}

}  // namespace

FittedSample CompareWithFitted(std::span<const ImpactEvent> events, const FitResult& fit) {
  constexpr double kSame = 1e-6;  // relative; tables hold all digits, older ones nine
  FittedSample sample{.stated = !fit.fitted.empty()};
  std::map<std::pair<std::string, int>, double> fitted;
  for (const FittedImpact& impact : fit.fitted)
    fitted[{impact.recording, impact.impact}] = impact.v_minus_n;
  const std::set<std::string> names = FittedRecordings(fit);
  for (const ImpactEvent& event : events) {
    if (!event.accepted) continue;
    const bool known = names.contains(event.recording);
    ++(known ? sample.known : sample.unseen);
    const auto same = fitted.find({event.recording, event.impact});
    const double v = event.contact.v_minus_F.z();
    if (known && (same == fitted.end() || !(std::abs(same->second - v) <= kSame * std::abs(v))))
      ++sample.other_numbers;
  }
  return sample;
}

ValidationTable Validate(std::span<const ImpactEvent> events, const Body& body,
                         const FitResult& fit, const IdentifyOptions& identify,
                         const ValidationOptions& options) {
  ValidationTable table;
  std::vector<ImpactEvent> accepted;
  std::set<std::string> names;
  for (const ImpactEvent& event : events) {
    if (!event.accepted) continue;
    accepted.push_back(event);
    names.insert(event.recording);
  }
  std::vector<double> log_speed;
  for (const ImpactEvent& event : accepted)
    if (const double v_n = event.contact.v_minus_F.z(); v_n < 0)
      log_speed.push_back(std::log(-v_n));
  const double reference_speed = log_speed.empty() ? 1 : std::exp(Mean(log_speed));
  // Folds take the recordings in turn, so that slow drifts over a day of recording reach every
  // fold.
  std::map<std::string, int> fold_of;
  const std::set<std::string> of_fit = FittedRecordings(fit);
  const bool new_data =
      !of_fit.empty() && std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return !of_fit.contains(name);
      });
  int next = 0;
  for (const std::string& name : names) fold_of[name] = next++ % std::max(1, options.folds);

  const auto fitted = [](const LawFit& law) {
    const auto parameters = ListParameters(law);
    // Contacts that spring back are predicted by e_t where friction is bounded below only.
    const bool holds = law.e_t && law.mu_k.lower95 > 0;
    return std::all_of(parameters.begin(), parameters.end(), [&](const ParameterEstimate& p) {
      return std::isfinite(p.value) || (holds && p.name == law.mu_k.name);
    });
  };
  for (const LawFit& law : fit.fits) {
    if (!fitted(law)) continue;
    const IdentifyOptions likewise = WithLikelihoodOf(law, identify);
    for (const ImpactEvent& event : accepted) {
      const int fold = new_data && !of_fit.contains(event.recording) ? 0 : -1;
      AddValidationRows(event, body, law, fold, likewise, options, reference_speed, table);
    }
    if (new_data) continue;
    if (options.folds < 2 || static_cast<int>(names.size()) < 2 * options.folds) continue;
    IdentifyOptions quick = likewise;
    quick.bootstrap = 0;
    quick.influence = false;
    quick.grid = 0;
    quick.intervals = false;
    for (int fold = 0; fold < options.folds; ++fold) {
      std::vector<ImpactEvent> training;
      for (const ImpactEvent& event : accepted) {
        if (fold_of[event.recording] != fold) training.push_back(event);
      }
      const LawFit refit = Identify(training, body, ModelOf(law), quick);
      if (!fitted(refit)) continue;
      for (const ImpactEvent& event : accepted) {
        if (fold_of[event.recording] == fold)
          AddValidationRows(event, body, refit, fold, likewise, options, reference_speed, table);
      }
    }
  }
  Summarise(table);
  return table;
}

std::string SetOf(const std::string& recording) {
  const std::size_t end = recording.find_last_not_of("0123456789");
  if (end == std::string::npos) return "";
  const std::size_t word = recording.find_last_not_of("_- .~", end);
  return word == std::string::npos ? "" : recording.substr(0, word + 1);
}

void WriteValidationSummary(const std::filesystem::path& path, const ValidationTable& table) {
  CsvWriter out(path, {"law", "quantity", "group", "in_sample", "n", "adequate", "discrepant",
                       "unresolved", "rms", "bias", "rms_z"});
  for (const QuantitySummary& q : table.quantity_summary) {
    out.Text(q.law)
        .Text(q.quantity)
        .Text(q.group)
        .Integer(q.in_sample)
        .Integer(q.n)
        .Integer(q.adequate)
        .Integer(q.discrepant);
    out.Integer(q.unresolved).Number(q.rms).Number(q.bias).Number(q.rms_z).EndRow();
  }
  out.Commit();
}

void WriteValidation(const std::filesystem::path& path, const ValidationTable& table) {
  CsvWriter out(path, {"recording", "impact", "law", "fold", "case", "quantity", "unit",
                       "predicted", "sd_predicted", "measured", "sd_measured", "difference",
                       "sd_difference", "z", "u_val", "in_sample", "verdict"});
  for (const ValidationRow& row : table.rows) {
    out.Text(row.recording)
        .Integer(row.impact)
        .Text(row.law)
        .Integer(row.fold)
        .Text(row.path_case)
        .Text(row.quantity)
        .Text(row.unit);
    for (double value : {row.predicted, row.sd_predicted, row.measured, row.sd_measured,
                         row.difference, row.sd_difference, row.z, row.u_val}) {
      out.Number(value);
    }
    out.Integer(row.in_sample).Text(row.verdict);
    out.EndRow();
  }
  out.Commit();
}

}  // namespace impactlab
