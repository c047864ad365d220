#pragma once
// Fitted parameters with their uncertainty, as they stand in fit.json.

#include <Eigen/Core>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace impactlab {

struct ParameterEstimate {
  std::string name;  // "mu_k", "mu_s", "e_star", "e_n", "e_p", "e_t"; empty: not estimated
  double value = std::numeric_limits<double>::quiet_NaN();
  // total: measurement noise and event-to-event discrepancy
  double sd = std::numeric_limits<double>::quiet_NaN();
  double sd_noise_only = std::numeric_limits<double>::quiet_NaN();  // measurement noise alone
  double lower95 = 0;  // profile-likelihood interval; one-sided at a bound
  double upper95 = std::numeric_limits<double>::infinity();
  bool identifiable = false;
  // why not identifiable, which side is open, or what else the interval holds; empty otherwise. NaN
  // and infinity are null in JSON
  std::string reason;
};

// Scatter of the impulse from event to event that measurement noise does not explain, relative to
// the event's effective normal momentum m_eff |v_n-|.
struct Discrepancy {
  double sd_tangential = 0;  // tangential impulse ratio [1]
  double sd_normal = 0;      // normal impulse ratio [1]
  // impulsive couple about the contact point, relative to m_eff |v_n-| times the radius of gyration
  // [1]
  double sd_couple = 0;
  // of its part about the normal, where that is told apart (in space): no lever of the normal
  // impulse adds to it
  std::optional<double> sd_couple_normal{};
};

struct EventInfluence {
  std::string recording;
  int impact = 0;
  // change of each parameter when this event is left out, in its total sd; in the order of
  // ListParameters
  std::vector<double> shift;
  double weight = 1;  // weight in a Student-t or contamination fit, 1 for Gaussian
};

// Coefficients of one law fitted to all accepted events. Rows of the covariances, shifts of the
// influences and `sd_bootstrap` stand in the order of ListParameters: mu_k, e, e_t, mu_s.
struct LawFit {
  std::string law;         // its word, data/files/restitution_law.h
  ParameterEstimate mu_k;  // kinetic friction; without a name where it was not estimated
  ParameterEstimate e;     // restitution, named by the law; likewise
  // tangential restitution, where contacts were found to spring back
  std::optional<ParameterEstimate> e_t;
  std::optional<ParameterEstimate> mu_s;  // static friction, where it was fitted
  Eigen::MatrixXd covariance;             // of the parameters, total
  Eigen::MatrixXd covariance_noise_only;
  Discrepancy discrepancy;
  std::string likelihood;  // "gaussian", "student_t", "contamination"
  double loglik = 0;
  int dof = 0;  // observations minus fitted parameters
  int n_starts_agreeing = 0, n_starts = 0;
  // over recordings, in the order of ListParameters; empty when not asked for
  std::vector<double> sd_bootstrap;
  std::vector<EventInfluence> influence;
  // Profile of -2 log likelihood above its minimum on a grid, for the confidence region.
  std::vector<double> grid_mu, grid_e;
  Eigen::MatrixXd grid_deviance;  // rows mu, columns e; empty when not asked for
  // Whether both mu_k and e were estimated (not whether the data determine them).
  bool fitted() const { return !mu_k.name.empty() && !e.name.empty(); }
};

// The parameters that were estimated, in the order of tables and covariances: mu_k, e, e_t, mu_s.
std::vector<std::reference_wrapper<const ParameterEstimate>> ListParameters(const LawFit& fit);
std::vector<std::reference_wrapper<ParameterEstimate>> ListParameters(LawFit& fit);

struct RejectedImpact {
  std::string recording;
  int impact = 0;
  std::string reason;
  std::string detail;
};

// What the conservation of angular momentum says of the data that coefficients were asked of.
struct DataVerdict {
  // "closes", "closes_after_correction", "does_not_close"; "not_tested": too few impacts, or noise
  // that could hide a residual
  std::string verdict = "not_tested";
  std::string reason;     // one sentence; empty where nothing was judged
  bool withheld = false;  // coefficients were not determined because of it: their values are null
};

// One impact that the coefficients were fitted to.
struct FittedImpact {
  std::string recording;
  int impact = 0;
  // normal velocity of the contact point before [m/s]: tells another recording of the same name
  double v_minus_n = 0;
};

struct FitResult {
  DataVerdict verdict;
  int n_events = 0;
  std::vector<FittedImpact> fitted;  // empty in files that do not state them
  std::vector<RejectedImpact> rejected;
  std::vector<LawFit> fits;
  std::string BriefReport() const;  // a few lines for a terminal
};

// "... does not close ...; coefficients are withheld (...)": for people who asked for them.
std::string WithheldText(const DataVerdict& verdict);
// {"verdict": ..., "reason": ..., "withheld": ...}
std::string VerdictJson(const DataVerdict& verdict);
// JSON of a run folder's fit.json, schema "impactlab.fit/1".
std::string ToJson(const FitResult& result);
FitResult FitResultFromJson(const std::string& text, const std::string& path);

}  // namespace impactlab
