#pragma once
// Audit of a table of impacts as printed: does it agree with itself, whatever the law?
//
// A printed number stands for every number that rounds to it: half a unit of its last digit on
// either side, a rectangular distribution (JCGM 100, 4.3.7). What is recomputed from printed
// numbers carries that through in two ways: `bound`, how far rounding alone can move it (one input
// at a time, sum of the moves), and `u`, its standard uncertainty. A fault is a difference beyond
// all bounds: no numbers that round to the printed ones agree. All vectors are in W (z up), lengths
// in m, masses in kg.

#include <Eigen/Core>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "data/statistics/printed_number.h"
#include "impact/body/body.h"
#include "impact/law/solve.h"

namespace impactlab {

// Velocity of the centre of mass (3) [m/s] and spin (3) [rad/s].
using MotionVector = Eigen::Matrix<double, 6, 1>;

struct PrintedMotion {
  MotionVector value = MotionVector::Zero(), half = MotionVector::Zero();
};

// Body and surface at the impact.
struct Placement {
  Eigen::Matrix3d R_WB = Eigen::Matrix3d::Identity();
  // lever to the contact, and how far it may be off [m]
  Eigen::Vector3d r_B = Eigen::Vector3d::Zero(), half_r_B = Eigen::Vector3d::Zero();
  double downhill = 0;  // azimuth of the direction downhill, from W_x about W_z [rad]
};
// Normal of a surface that falls by `slope` [rad] towards the azimuth `downhill`.
Eigen::Vector3d SlopeNormal(double slope, double downhill);

// Digit and letter of a case label such as "5", "2a", or "2.75", the number that stands for 2c in
// plots. Empty where it is none.
struct CaseLabel {
  ImpactCase path_case;
  bool plot_code = false;
};
std::optional<CaseLabel> ReadCaseLabel(const std::string& text);
// "sliding", "sticking", "reverse sliding" of a case, and of words such as "RSliding"; empty where
// the words are none of them.
std::string ModeOf(const ImpactCase& path_case);
std::string ModeOf(const std::string& words);

struct PrintedRow {
  std::string name;  // of the experiment
  double slope = 0;  // of the surface against the level [rad]
  PrintedMotion minus, plus;
  // measured motion where the table prints it a second time
  std::optional<PrintedMotion> plus_again;
  std::optional<PrintedMotion> computed;  // computed there
  Printed e, mu_k, mu_s;                  // used there
  std::string case_label, mode_label;
  Printed loss_measured, loss_computed;  // share of kinetic energy lost [%]
  std::optional<Placement> placement;    // empty: attitude and azimuth are not in the source
  std::string assumption;                // where the placement comes from, for people
};

// A coefficient that the source states elsewhere than in the table.
struct MeasuredCoefficient {
  std::string name;  // "mu_s", "mu_k", "e"
  Printed value;
  std::string where;
};

struct PrintedTable {
  std::string title;
  Body body;                                         // its inertia counts
  std::optional<Eigen::Matrix3d> inertia_printed_B;  // [kg m^2]
  RestitutionLaw law = RestitutionLaw::kEnergetic;   // that reads `e`
  std::vector<PrintedRow> rows;
  std::vector<MeasuredCoefficient> measured;
  // of the angular momentum |I dw - r x J| / |I dw|, up to which a solved attitude counts as one
  double largest_misfit = 0.1;
};

// Where the attitude of a row comes from.
enum class AttitudeSource { kStated, kSolved, kNeeded };
// "stated", "orientation solved", "needs orientation"
const char* AttitudeName(AttitudeSource source);

// Attitude solved from the momentum of a row (see pipelines/literature/attitude.h).
struct SolvedAttitude {
  bool usable = false;
  std::string reason;  // why not, for people
  Placement placement;
  double misfit = 0;        // |I dw - r x J| as a change of spin [rad/s]
  double misfit_share = 0;  // |I dw - r x J| over |I dw|
  double friction = 0;      // J_t / J_n that the impulse then needs
  int solutions = 0;        // different attitudes that do as well
};

struct TableFault {
  // "energy", "momentum", "contact", "friction", "case", "label", "coefficient", "copy", "inertia",
  // "frame"
  std::string kind;
  std::string row, column;
  // as text for tables; numbers with the digits that mean something
  std::string printed, recomputed, unit;
  // that rounding allows, in `unit`; 0 where the disagreement is one of words
  double tolerance = 0;
  std::string sentence;
};

// What a law says of a row from its printed inputs; sd from their rounding (Monte Carlo, JCGM 101).
struct RowPrediction {
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  MotionVector plus = MotionVector::Zero(), sd = MotionVector::Zero();
  std::string path_case;
  double case_share = 0;         // of the draws that have this case
  std::vector<int> digits;       // all case digits that occur
  double loss = 0, sd_loss = 0;  // share of kinetic energy lost
  double error = 0;              // sqrt(T(predicted - measured) / T(measured))
};

struct RowAudit {
  AttitudeSource attitude = AttitudeSource::kNeeded;
  std::string attitude_note;
  Placement placement;                   // unless kNeeded
  std::optional<SolvedAttitude> solved;  // where none was stated
  // [J]; of a row without attitude at the middle of its range
  Recomputed T_minus, T_plus;
  // measured and computed states, share
  Recomputed loss, loss_computed;
  // over all attitudes, where none is known
  double loss_least = 0, loss_most = 0;
  Recomputed loss_printed_inertia;  // with `inertia_printed_B`
  // of the contact point: -v_n+ / v_n-, |J_t| / J_n
  Recomputed restitution, friction;
  Recomputed slip;                             // |v_t| before [m/s]
  double spin_turned = 0, spin_tabulated = 0;  // |I^-1 (r x J)|, |dw| [rad/s]
  // of the computation of the source, as RowPrediction::error
  double error_computed = std::numeric_limits<double>::quiet_NaN();
  // energetic, Poisson, Newton; where attitude and coefficients are there
  std::vector<RowPrediction> predictions;
};

struct TableAudit {
  std::vector<RowAudit> rows;
  std::vector<TableFault> faults;
};

TableAudit AuditTable(const PrintedTable& table);

}  // namespace impactlab
