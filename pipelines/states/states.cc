#include "pipelines/states/states.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "pipelines/study/undecided_errors.h"
#include "pipelines/tables/event_columns.h"
#include "reconstruction/audit/lever_inertia.h"
#include "reconstruction/pose/missing_attitude.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

// Places of a table that states none, or no noise of them [m].
constexpr double kNoPlace = 1e3, kPlaceNoise = 1e-3;

// The states of a body whose attitude they do not hold: errors of scale, clock and hand alone.
std::vector<ImpactEvent> CorrectLevers(const std::vector<ImpactEvent>& events,
                                       const FrameCorrection& c, const Plane& floor,
                                       const Body& body, const Vector3d& gravity_W) {
  Vector3d flip = Vector3d::Ones();
  if (c.mirrored) flip(body.planar ? 0 : 1) = -1;
  const Eigen::Matrix3d place = Eigen::Matrix3d(flip.asDiagonal()) / c.length_scale;
  const double turn = (c.theta_flipped ? -1 : 1) * c.clock_rate;
  EventCovariance map = EventCovariance::Zero();
  for (const int k : {kVMinus, kVPlus}) map.block<3, 3>(k, k) = c.clock_rate * place;
  for (const int k : {kOmegaMinus, kOmegaPlus})
    map.block<3, 3>(k, k) = turn * Eigen::Matrix3d::Identity();
  map.block<3, 3>(kLever, kLever) = place;
  std::vector<ImpactEvent> out = events;
  for (ImpactEvent& e : out) {
    if (!e.accepted) continue;
    for (Vector3d* v : {&e.v_minus, &e.v_plus}) *v = c.clock_rate * place * *v;
    for (Vector3d* omega : {&e.omega_minus, &e.omega_plus}) *omega *= turn;
    e.X_WB.translation() = place * e.X_WB.translation();
    e.p_WP = place * e.p_WP;
    e.t /= c.clock_rate;
    e.sd_t /= c.clock_rate;
    e.cov = map * e.cov * map.transpose();
    UpdateContact(e, body, floor, gravity_W);
  }
  return out;
}

// Corrections that a table of such states cannot take.
void CheckCorrection(const Experiment& e, const EventStates& table,
                     const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& key, const std::string& why,
                          const std::string& allowed) {
    throw ConfigError(fmt::format("{}: correction: {}: found it {} {}, allowed {}", e.path.string(),
                                  key, why, path.string(), allowed));
  };
  if (e.second)
    refuse("of two bodies", "with the states of", "it with recordings, or states of a run");
  if (table.attitudes) return;
  const std::string why = "for states without an attitude,",
                    allowed = "theta_rad or qw, qx, qy, qz there, or none of this correction";
  if (!e.correction.rotation_offset_B.isZero(0))
    refuse(e.body.planar ? "theta_offset_rad" : "rotation_offset", why, allowed);
  if (!e.correction.com_offset_B.isZero(0)) refuse("com_offset", why, allowed);
}

// Noise of states that state none, as a share of their typical changes: the audit takes what
// scatters beyond it for scatter.
constexpr double kNominalNoise = 0.01;

bool HasNoise(const std::vector<ImpactEvent>& events) {
  return std::any_of(events.begin(), events.end(),
                     [](const ImpactEvent& e) { return e.accepted && !e.cov.isZero(0); });
}

void AddNominalNoise(std::vector<ImpactEvent>* events) {
  double v = 0, omega = 0, lever = 0;
  int n = 0;
  for (const ImpactEvent& e : *events) {
    if (!e.accepted) continue;
    v += (e.v_plus - e.v_minus).squaredNorm();
    omega += (e.omega_plus - e.omega_minus).squaredNorm();
    lever += (e.p_WP - e.X_WB.translation()).squaredNorm();
    ++n;
  }
  if (n == 0) return;
  const double squares[] = {v, omega, v, omega, lever};
  for (ImpactEvent& e : *events) {
    for (const int i : pipelines::ActiveRows(e.planar))
      e.cov(i, i) = kNominalNoise * kNominalNoise * squares[i / 3] / n;
  }
}

// Events for the audit. Where places are not stated, heights of contacts say nothing.
std::vector<ImpactEvent> ForAudit(std::vector<ImpactEvent> events, bool places) {
  if (!HasNoise(events)) AddNominalNoise(&events);
  for (ImpactEvent& e : events) {
    if (!places) e.sigma_position = kNoPlace;
    if (!(e.sigma_position > 0)) e.sigma_position = kPlaceNoise;
  }
  return events;
}

// Scatter of the impulses about the law that suits them best, as a share of their momentum, beyond
// which nothing shows that they are those of one body.
constexpr double kFarFromLaw = 0.15;

// Spins that scatter without a stated noise may be noisy, or those of a link of a chain, whose
// joint turns it: momentum is not tested then. Impulses follow a law where spins alone are noisy
// within reason, and none where a joint took part in them or axes are exchanged. Empty where they
// may be believed.
std::string WhyNotOneBody(const Experiment& e, const std::vector<ImpactEvent>& events,
                          const DataVerdict& verdict) {
  constexpr int kFewest = 4;
  const auto n = std::count_if(events.begin(), events.end(),
                               [](const ImpactEvent& event) { return event.accepted; });
  if (verdict.verdict != ClosureWord(Closure::kNotTested) || n < kFewest || HasNoise(events))
    return {};
  IdentifyOptions options = e.identify;
  options.influence = false;
  options.bootstrap = options.grid = 0;
  const Discrepancy scatter =
      Identify(events, e.body, ImpactModel{{}, MainLaw(e)}, options).discrepancy;
  const double most = std::max(scatter.sd_tangential, scatter.sd_normal);
  if (!(most > kFarFromLaw)) return {};
  return fmt::format(
      "nothing shows that these states are of one rigid body: {}, and the impulses scatter by "
      "{:.0f} % about any coefficients; state standard deviations (sd_omega_minus_y_rad_per_s, "
      "...) if that is noise",
      verdict.reason, 100 * most);
}

// Whether the contact point still moves into the floor after the impact, by more than a tenth of
// its approach and four standard deviations: that is the state of no body that has left it.
bool StillApproaches(const ImpactEvent& e) {
  constexpr double kShare = 0.1, kSure = 4;
  const Vector3d n = e.contact.X_WF.linear().col(2), r = e.p_WP - e.X_WB.translation();
  Eigen::Matrix<double, 1, kEventDim> by_state = Eigen::Matrix<double, 1, kEventDim>::Zero();
  by_state.segment<3>(kVPlus) = n.transpose();
  by_state.segment<3>(kOmegaPlus) = r.cross(n).transpose();
  by_state.segment<3>(kLever) = n.cross(e.omega_plus).transpose();
  const double sd = std::sqrt(std::max(0.0, (by_state * e.cov * by_state.transpose()).value()));
  return e.v_plus_F.z() < -std::max(kShare * std::abs(e.contact.v_minus_F.z()), kSure * sd);
}

// Rejects accepted impacts that do so. Returns what is to be said where they are more than half of
// all, which then stay as they are; empty elsewhere.
std::string RejectStillApproaching(std::vector<ImpactEvent>* events) {
  std::vector<ImpactEvent*> wrong;
  std::size_t accepted = 0;
  for (ImpactEvent& e : *events) {
    if (!e.accepted || e.struck) continue;
    ++accepted;
    if (StillApproaches(e)) wrong.push_back(&e);
  }
  if (2 * wrong.size() > accepted)
    return fmt::format(
        "the contact point still moves into the floor after {} of {} impacts: the sign of v_plus "
        "along the normal is wrong, or the states after were read during contact",
        wrong.size(), accepted);
  for (ImpactEvent* e : wrong) {
    e->accepted = false;
    e->reason = RejectReason::kRollingContact;
    e->detail = fmt::format(
        "normal velocity of the contact point after the impact {:.3g} m/s, allowed 0 or above",
        e->v_plus_F.z());
  }
  return {};
}

// What the run that wrote a table found of its flights.
struct FlightsOfRun {
  std::string not_rigid;  // why they are not those of a rigid body; empty where they are
  std::vector<FrameCorrection> scale;  // as UndecidedScale
};

FlightsOfRun FlightsIn(const nlohmann::json& audit) {
  AuditResult read;
  for (const auto& finding : audit.value("findings", nlohmann::json::array())) {
    Finding& one = read.findings.emplace_back();
    one.parameter = finding.at("parameter");
    one.named = finding.at("named");
  }
  for (const auto& evidence : audit.value("evidence", nlohmann::json::array())) {
    const auto& estimate = evidence.at("estimate");
    if (!estimate.at("determined").get<bool>()) continue;
    Evidence& one = read.evidence.emplace_back();
    one.parameter = evidence.at("parameter");
    one.source = evidence.at("source");
    one.estimate.determined = true;
    one.estimate.value = estimate.at("value");
  }
  FlightsOfRun out;
  out.scale = UndecidedScale(read);
  const auto rigidity = audit.value("rigidity", nlohmann::json::object());
  if (!rigidity.value("rigid", true)) out.not_rigid = rigidity.value("text", std::string());
  return out;
}

// By the audit of the run folder that the table lies in, of these impacts: after its correction
// where there is one, but for those as recorded. Nothing where there is no audit; DataError for one
// that no run writes.
FlightsOfRun FlightsBeside(const std::filesystem::path& events_csv) {
  std::filesystem::path folder = events_csv.parent_path();
  const bool as_recorded = folder.filename() == "as_recorded";
  if (as_recorded) folder = folder.parent_path();
  const auto path = folder / "audit.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  try {
    const auto json = nlohmann::json::parse(ReadFile(path));
    const bool corrected = !as_recorded && json.contains("after_correction");
    return FlightsIn(json.at(corrected ? "after_correction" : "as_recorded"));
  } catch (const nlohmann::json::exception& fault) {
    throw DataError(
        fmt::format("{}: found {}, allowed the audit of the run that wrote {}; run again, or move "
                    "the table out of the folder",
                    path.string(), fault.what(), events_csv.filename().string()));
  }
}

}  // namespace

TableStates LoadStates(const Experiment& e, const std::filesystem::path& path) {
  const Vector3d& gravity_W = e.motion.flight.gravity_W;
  TableStates out;
  out.path = path;
  out.floor = IsIdentity(e.correction) ? e.floor : CorrectedFloor(e.floor, e.correction);
  out.table = ReadStates(path, e.body, e.floor, gravity_W, e.state_columns);
  std::vector<ImpactEvent>& events = out.table.events;
  if (!IsIdentity(e.correction) && out.table.of_run) {
    out.note = fmt::format("correction: {} is of a run, which applied it; not applied again",
                           path.string());
  } else if (!IsIdentity(e.correction)) {
    CheckCorrection(e, out.table, path);
    events = out.table.attitudes
                 ? CorrectEvents(events, e.correction, e.body, e.floor, gravity_W)
                 : CorrectLevers(events, e.correction, out.floor, e.body, gravity_W);
    out.note = fmt::format("correction: applied to the states of {}", path.string());
  }
  CarrySpin(events, e.body, out.floor, gravity_W, e.release.value_or(KnownSpin{}));
  return out;
}

JudgedStates JudgeStates(const Experiment& e, const TableStates& states, bool force) {
  const Vector3d& gravity_W = e.motion.flight.gravity_W;
  JudgedStates out;
  out.events = states.table.events;
  out.floor = states.floor;
  const std::string into =
      states.table.of_run ? std::string() : RejectStillApproaching(&out.events);
  if (e.second || !states.table.attitudes) {
    out.verdict = JudgeImpacts(e, out.events, force);
    if (!e.second && !states.table.of_run) out.inertia = InertiaByLevers(out.events, e.body);
  } else {
    AuditOptions options = e.audit;
    options.gravity_W = gravity_W;
    const auto audit = [&](const Plane& floor) {
      AuditResult result =
          Audit(ForAudit(out.events, states.table.places), {}, {}, e.body, floor, options);
      result.closure = JudgeClosure(out.events, e.body);
      return result;
    };
    out.recorded = audit(states.floor);
    const FrameCorrection allowed = AllowedCorrection(out.recorded->correction, e.apply);
    if (!states.table.of_run && !IsIdentity(allowed)) {
      out.events = CorrectEvents(out.events, allowed, e.body, states.floor, gravity_W);
      out.floor = CorrectedFloor(states.floor, allowed);
      out.corrected = audit(out.floor);
    }
    out.verdict = JudgeAudit(*out.recorded, out.corrected ? &*out.corrected : nullptr, force);
    if (!states.table.of_run)
      out.inertia = UndecidedInertia(out.corrected ? *out.corrected : *out.recorded);
  }
  const FlightsOfRun flights = states.table.of_run ? FlightsBeside(states.path) : FlightsOfRun();
  if (!e.second) out.scale = flights.scale;
  const std::string& not_rigid = flights.not_rigid;
  if (!not_rigid.empty()) out.verdict = DoesNotClose(not_rigid, force);
  if (not_rigid.empty() && !out.verdict.verdict.starts_with("closes")) {
    out.causes = FindStateCauses(e, states);
    if (!out.causes.empty() && out.verdict.verdict == ClosureWord(Closure::kNotTested)) {
      out.verdict = DoesNotClose(out.verdict.reason, force);
    }
    const std::string apart =
        out.causes.empty() ? WhyNotOneBody(e, out.events, out.verdict) : std::string();
    if (!apart.empty()) out.verdict = DoesNotClose(apart, force);
    for (const StateCause& cause : out.causes)
      out.verdict.reason += fmt::format("; it closes if {} ({})", cause.text, cause.cure);
  }
  // A wrong unit or sense of another column, which was named then, moves contact points as well.
  if (!into.empty() && out.causes.empty() && !out.verdict.withheld)
    out.verdict = DoesNotClose(into, force);
  return out;
}

FitResult FitStates(const Experiment& experiment, const JudgedStates& judged,
                    const RunContext& context) {
  FitResult fit = FitAll(experiment, judged.events, context, judged.verdict);
  WidenByInertia(judged.events, experiment.body, judged.floor, experiment.motion.flight.gravity_W,
                 judged.inertia, experiment.identify, &fit);
  WidenByScale(judged.events, experiment.body, judged.floor, experiment.motion.flight.gravity_W,
               judged.scale, experiment.identify, &fit);
  return fit;
}

std::string BriefReport(const JudgedStates& judged) {
  std::string out;
  const auto momentum = [&](const char* name, const AuditResult& audit) {
    out += fmt::format("{}spin-change residual rms {:.2f} of {:.2f} rad/s spread, {} impacts\n",
                       name, audit.momentum.rms, audit.momentum.spread, audit.momentum.n);
  };
  if (judged.recorded) {
    momentum("momentum    ", *judged.recorded);
    if (judged.corrected) momentum("  corrected ", *judged.corrected);
    for (const Finding& finding : judged.recorded->findings)
      out += fmt::format("{}{}\n", finding.named ? "found       " : "undecided   ", finding.text);
  }
  return out + fmt::format("verdict     {}\n", judged.verdict.reason);
}

std::string ToJson(const JudgedStates& judged) {
  std::string out = "{\"schema\": \"impactlab.audit/1\"";
  if (judged.recorded) out += ",\n\"as_recorded\": " + ToJson(*judged.recorded);
  if (judged.corrected) out += ",\n\"after_correction\": " + ToJson(*judged.corrected);
  return out + ",\n\"verdict\": " + VerdictJson(judged.verdict) + "}\n";
}

}  // namespace impactlab
