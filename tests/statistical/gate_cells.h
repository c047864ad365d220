#pragma once
// Tables of states, sound ones and ones with a fault of each kind that happens, and what `identify
// --events` makes of them: whether coefficients are withheld, and how those that are printed lie to
// the truth.
//
// The states are those of random impacts by the energetic law with scatter from impact to impact,
// wild ones in a fifth of the sets, and noise. What the estimator does not model: noise of an
// attitude moves both coordinates of a lever together, while the table states them apart, and a
// quarter of the tables states no standard deviation at all.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "data/base/enum_rows.h"
#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/statistics/statistics.h"
#include "impact/body/inertia_bounds.h"
#include "impact/multi/sequence.h"
#include "impact/multi/system_builders.h"
#include "pipelines/run/run.h"
#include "pipelines/states/states.h"
#include "tests/impact/identify_twin.h"

namespace impactlab::test {

enum class Fault { kNone, kMirrored, kTwoLinks, kInertia, kScale, kSwappedAxes, kOpenSpin };

struct FaultInfo {
  Fault fault;
  const char* word;
};

inline constexpr auto kFaults =
    std::to_array<FaultInfo>({{.fault = Fault::kNone, .word = "sound"},
                              {.fault = Fault::kMirrored, .word = "mirrored"},
                              {.fault = Fault::kTwoLinks, .word = "two links"},
                              {.fault = Fault::kInertia, .word = "inertia off by two"},
                              {.fault = Fault::kScale, .word = "lengths off by 2 %"},
                              {.fault = Fault::kSwappedAxes, .word = "axes swapped"},
                              {.fault = Fault::kOpenSpin, .word = "spin open, grip"}});
static_assert(EveryValueHasItsRow<&FaultInfo::fault>(kFaults));

// A set as it was measured, with what its surface truly is.
struct StateSet {
  Experiment experiment;  // as somebody declares it who does not know of the fault
  std::string body;       // for the table
  double mu = 0, e = 0;
  double sd_v = 0, sd_omega = 0, sd_attitude = 0, sd_place = 0;
  double scatter = 0;    // of the tangential impulse from impact to impact
  double scatter_n = 0;  // of the normal one
  bool wild = false;     // with impacts that scatter far more
  bool states_noise = true, states_places = true;
  bool knows_spins = true;
  std::vector<ImpactEvent> events;
};

// Bodies of the size of a die to that of a brick; two links have none that are balls, and only
// balls have spins that nobody sees. Of boxes in space, whose slip turns within the impact, there
// are few, and their sets are small, since they take most of the time.
inline Body DrawBody(std::mt19937_64& random, Fault fault, std::string* name) {
  const auto size = [&](double a, double b) { return twin::Uniform(random, a, b); };
  const double mass = std::exp(size(std::log(0.02), std::log(1)));
  enum Kind { kSquare, kRod, kBox, kPlanarBall, kBall };
  std::vector<Kind> kinds = {kSquare,     kSquare,     kSquare,     kRod,  kRod,  kRod, kBox,
                             kPlanarBall, kPlanarBall, kPlanarBall, kBall, kBall, kBall};
  std::erase_if(kinds, [&](Kind kind) {
    const bool ball = kind == kPlanarBall || kind == kBall;
    return fault == Fault::kTwoLinks ? ball : fault == Fault::kOpenSpin ? !ball : false;
  });
  const Kind kind = kinds[random() % kinds.size()];
  constexpr std::array kNames = {"square in a plane", "rod in a plane", "box in space",
                                 "ball in a plane", "ball in space"};
  *name = kNames[kind];
  const double side = size(0.03, 0.1);
  switch (kind) {
    case kSquare:
      return MakeBox({side, side, side}, mass, true);
    case kRod:
      return MakeRod(size(0.08, 0.2), size(0.006, 0.015), mass, true);
    case kBox:
      return MakeBox({side, side * size(0.6, 1.4), side * size(0.6, 1.4)}, mass);
    case kPlanarBall:
      return MakeBall(0.5 * side, mass, true);
    default:
      return MakeBall(0.5 * side, mass);
  }
}

// A surface, speeds and scatter; in a quarter of the sets impacts slip little and most stick.
inline twin::Options DrawImpacts(std::mt19937_64& random, Fault fault, const Body& body) {
  const auto within = [&](double a, double b) { return twin::Uniform(random, a, b); };
  const auto decades = [&](double a, double b) {
    return std::exp(within(std::log(a), std::log(b)));
  };
  twin::Options o;
  const bool box = !body.planar && body.shape == BodyShape::kBox;
  o.n = static_cast<int>(decades(8, box ? 25 : 61));
  o.mu = decades(0.05, 0.6);
  o.e = within(0.25, 0.9);
  o.speed_n_min = within(0.6, 1.2);
  o.speed_n_max = o.speed_n_min + within(0.3, 2.5);
  o.speed_t = random() % 4 == 0 ? within(0.1, 0.4) : within(0.5, 2);
  o.spin = within(3, 20);
  if (fault == Fault::kOpenSpin && random() % 2 == 0) o.mu = within(0.3, 0.9);
  o.sd_t = decades(0.003, 0.05);
  o.sd_n = o.sd_t * within(0.5, 1.5);
  o.sd_c = o.sd_t * within(0.2, 1);
  if (random() % 5 == 0) o.wild_share = 0.03, o.wild_scale = 6;
  o.sd_v = o.sd_omega = o.sd_r = 0;  // measured afterwards, as a table is
  return o;
}

// The spin of a ball that rolls along with its velocity.
inline Eigen::Vector3d RollingSpin(const ImpactEvent& event) {
  const Eigen::Vector3d lever = event.p_WP - event.X_WB.translation();
  return lever.cross(event.v_minus) / -lever.squaredNorm();
}

// The second link of a body in mid-air: hinged to a corner that does not strike, free to turn
// there (in space about any axis), of a third to three times the mass.
inline ImpactSystem HingedSystem(const Body& body, const ImpactEvent& event,
                                 const Coefficients& coefficients, double spin, double weight,
                                 const Eigen::Vector3d& hinge_B, std::mt19937_64& random) {
  const double reach = 2 * hinge_B.norm();
  const Body other = MakeRod(reach, 0.1 * reach, weight * body.mass, body.planar);
  const Eigen::Vector3d end_B =
      (body.planar ? Eigen::Vector3d::UnitX() : Eigen::Vector3d::UnitZ()) * 0.45 * reach;
  Eigen::Isometry3d X = PlanarPose(0, 0, twin::Uniform(random, -M_PI, M_PI));
  Eigen::Vector3d omega(0, spin * twin::Uniform(random, -1, 1), 0);
  if (!body.planar) {
    X.linear() = Eigen::Quaterniond(twin::Normal(random), twin::Normal(random),
                                    twin::Normal(random), twin::Normal(random))
                     .normalized()
                     .toRotationMatrix();
    omega.x() = spin * twin::Uniform(random, -1, 1);
    omega.z() = spin * twin::Uniform(random, -1, 1);
  }
  const Eigen::Vector3d hinge = event.X_WB * hinge_B, arm = X.linear() * end_B;
  X.translation() = hinge - arm;
  const Eigen::Vector3d v_hinge =
      event.v_minus + event.omega_minus.cross(hinge - event.X_WB.translation());
  return MakeBodySystem({{body, event.X_WB, event.v_minus, event.omega_minus},
                         {other, X, v_hinge - omega.cross(arm), omega}},
                        {{.body = 0, .other = 1, .p_W = hinge}},
                        {{.properties = {"floor", coefficients},
                          .body = 0,
                          .X_WF = FrameAt(event.p_WP, Eigen::Vector3d::UnitZ(), body.planar)}});
}

// The states after an impact of two hinged links, of which the first strikes the floor and is
// tracked; false where the impact has no outcome.
inline bool StrikeLinks(const ImpactSystem& system, const twin::Options& o, std::mt19937_64& random,
                        ImpactEvent* event) {
  const MultiOutcome outcome =
      SolveSequence(system, {.law = o.law, .order = {}, .keep_paths = false});
  if (!outcome.usable()) return false;
  const ContactSpace space = ReduceToContacts(system);
  const int n = space.Normal(0);
  const double p = -space.v_minus(n) / space.A(n, n);
  Eigen::VectorXd scatter = Eigen::VectorXd::Zero(space.width);
  for (int k = 0; k < space.width; ++k)
    scatter(k) = p * (k == n ? o.sd_n : o.sd_t) * twin::Normal(random);
  const Eigen::VectorXd u = outcome.u_plus + space.response * scatter;
  event->v_plus = event->planar ? Eigen::Vector3d(u(0), 0, u(1)) : Eigen::Vector3d(u.head<3>());
  event->omega_plus =
      event->planar ? Eigen::Vector3d(0, -u(2), 0) : Eigen::Vector3d(u.segment<3>(3));
  return true;
}

// Exact states of the impacts of a set, somewhere on the floor.
inline std::vector<ImpactEvent> TrueImpacts(const Body& body, const twin::Options& o, Fault fault,
                                            std::mt19937_64& random) {
  std::vector<ImpactEvent> events;
  const double rolling = std::array{0.0, 1.0, 0.5}[random() % 3];
  const double weight = std::exp(twin::Uniform(random, -std::log(3), std::log(3)));
  const std::vector<Eigen::Vector3d> corners = Vertices(body);
  const Eigen::Vector3d hinge_B =
      corners.empty() ? Eigen::Vector3d::Zero() : corners[random() % corners.size()];
  while (static_cast<int>(events.size()) < o.n) {
    ImpactEvent event;
    event.planar = body.planar;
    event.recording = "drop " + std::to_string(events.size());
    event.accepted = true;
    twin::Approach(body, o, random, event);
    if (fault == Fault::kTwoLinks) {
      if ((event.X_WB * hinge_B - event.p_WP).norm() < 0.3 * hinge_B.norm()) continue;
      const Coefficients floor{.e = o.e, .mu_k = o.mu, .mu_s = o.mu};
      if (!StrikeLinks(HingedSystem(body, event, floor, o.spin, weight, hinge_B, random), o, random,
                       &event))
        continue;
    } else {
      if (fault == Fault::kOpenSpin && twin::Uniform(random, 0, 1) < rolling) {
        event.omega_minus = RollingSpin(event);
        UpdateContact(event, body, Plane(), Eigen::Vector3d(0, 0, -9.80665));
      }
      twin::Strike(body, o, o.mu, o.e, random, event);
    }
    event.X_WB.translation() += Eigen::Vector3d(
        twin::Uniform(random, -0.3, 0.3), body.planar ? 0 : twin::Uniform(random, -0.3, 0.3), 0);
    events.push_back(event);
  }
  return events;
}

// What is measured of a true state, with what is wrong in the frame of the recording.
inline void Measure(const StateSet& set, Fault fault, double scale, const std::array<int, 2>& axes,
                    int mirror, std::mt19937_64& random, ImpactEvent* event) {
  const bool planar = event->planar;
  const auto noise = [&](double sd, bool turns) {
    Eigen::Vector3d out(twin::Normal(random), twin::Normal(random), twin::Normal(random));
    if (planar && turns) out.x() = out.z() = 0;
    if (planar && !turns) out.y() = 0;
    return Eigen::Vector3d(sd * out);
  };
  Eigen::Vector3d place = event->X_WB.translation();
  for (Eigen::Vector3d* v : {&place, &event->v_minus, &event->v_plus}) {
    if (fault == Fault::kScale) *v *= scale;
    if (fault == Fault::kMirrored) (*v)(mirror) *= -1;
    if (fault == Fault::kSwappedAxes) std::swap((*v)(axes[0]), (*v)(axes[1]));
    *v += noise(v == &place ? set.sd_place : set.sd_v, false);
  }
  event->X_WB.translation() = place;
  for (Eigen::Vector3d* omega : {&event->omega_minus, &event->omega_plus})
    *omega += noise(set.sd_omega, true);
  const Eigen::Vector3d turn = noise(set.sd_attitude, true);
  if (turn.norm() > 0)
    event->X_WB.linear() = Eigen::AngleAxisd(turn.norm(), turn.normalized()) * event->X_WB.linear();
}

inline StateSet DrawStates(Fault fault, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  StateSet set;
  const Body body = DrawBody(random, fault, &set.body);
  const twin::Options options = DrawImpacts(random, fault, body);
  set.mu = options.mu;
  set.e = options.e;
  set.scatter = options.sd_t;
  set.scatter_n = options.sd_n;
  set.wild = options.wild_share > 0;
  const auto decades = [&](double a, double b) {
    return std::exp(twin::Uniform(random, std::log(a), std::log(b)));
  };
  set.sd_v = decades(3e-4, 6e-3);
  set.sd_omega = set.sd_v / twin::Uniform(random, 0.02, 0.05);
  set.sd_attitude = body.shape == BodyShape::kBall ? 0 : decades(2e-4, 3e-3);
  set.sd_place = decades(3e-5, 3e-4);
  set.states_noise = random() % 4 != 0;
  set.states_places = random() % 4 != 0;
  set.knows_spins = fault != Fault::kOpenSpin;
  set.events = TrueImpacts(body, options, fault, random);
  const double scale = random() % 2 == 0 ? 1.02 : 0.98;
  const std::array<int, 2> pairs[] = {{0, 2}, {0, 1}, {1, 2}};
  const std::array<int, 2> axes = pairs[body.planar ? 0 : random() % 3];
  const int mirror = body.planar ? 0 : static_cast<int>(random() % 2);
  for (ImpactEvent& event : set.events) Measure(set, fault, scale, axes, mirror, random, &event);
  set.experiment.path = "states.yaml";
  set.experiment.body = body;
  if (fault == Fault::kInertia) set.experiment.body.inertia_B *= random() % 2 == 0 ? 2 : 0.5;
  set.experiment.laws = {RestitutionLaw::kEnergetic};  // the law of the truth
  set.experiment.identify.influence = false;
  if (random() % 2 == 0) set.experiment.apply = {"all"};
  return set;
}

// A column of a table: its name and what stands there.
struct StateColumn {
  std::string name;
  double value;
};

// A row without its names. Spins that were not measured are empty cells.
inline std::vector<StateColumn> ColumnsOf(const StateSet& set, const ImpactEvent& event) {
  const bool planar = event.planar;
  const Eigen::Vector3d n = set.experiment.floor.normal;
  const Eigen::Matrix3d& R = event.X_WB.linear();
  const Eigen::Vector3d lever = R * SupportLever(set.experiment.body, R.transpose() * n);
  std::vector<StateColumn> out;
  const auto add = [&](const std::string& name, const char* unit, const Eigen::Vector3d& value,
                       const Eigen::Vector3d& sd, bool turns) {
    for (int k = 0; k < 3; ++k) {
      if (planar && (k == 1) != turns) continue;
      const std::string axis(1, "xyz"[k]);
      out.push_back({fmt::format("{}_{}_{}", name, axis, unit), value(k)});
      if (set.states_noise) out.push_back({fmt::format("sd_{}_{}_{}", name, axis, unit), sd(k)});
    }
  };
  const auto alike = [](double sd) { return Eigen::Vector3d(Eigen::Vector3d::Constant(sd)); };
  const Eigen::Vector3d unknown = alike(std::nan(""));
  const double sd_v = set.sd_v, sd_omega = set.sd_omega;
  add("v_minus", "m_per_s", event.v_minus, alike(sd_v), false);
  add("v_plus", "m_per_s", event.v_plus, alike(sd_v), false);
  add("omega_minus", "rad_per_s", set.knows_spins ? event.omega_minus : unknown,
      set.knows_spins ? alike(sd_omega) : unknown, true);
  add("omega_plus", "rad_per_s", set.knows_spins ? event.omega_plus : unknown,
      set.knows_spins ? alike(sd_omega) : unknown, true);
  if (set.experiment.body.shape != BodyShape::kBall) {
    // An attitude moves a lever across itself.
    Eigen::Vector3d across(lever.z(), 0, lever.x());
    if (!planar)
      across = {std::hypot(lever.y(), lever.z()), std::hypot(lever.x(), lever.z()),
                std::hypot(lever.x(), lever.y())};
    add("r", "m", lever, set.sd_attitude * across.cwiseAbs(), false);
    const Eigen::Quaterniond q(R);
    if (planar) out.push_back({"theta_rad", PlanarAngle(event.X_WB)});
    if (!planar)
      out.insert(out.end(), {{"qw", q.w()}, {"qx", q.x()}, {"qy", q.y()}, {"qz", q.z()}});
  }
  if (set.states_places) {
    for (const int k : {0, 1, 2})
      if (!planar || k != 1)
        out.push_back({std::string(1, "xyz"[k]) + "_m", event.X_WB.translation()(k)});
    if (set.states_noise) out.push_back({"sigma_position_m", set.sd_place});
  }
  return out;
}

inline std::string TableOf(const StateSet& set) {
  std::string text = "recording,impact";
  for (const StateColumn& column : ColumnsOf(set, set.events.front())) text += "," + column.name;
  for (const ImpactEvent& event : set.events) {
    text += fmt::format("\n{},{}", event.recording, event.impact);
    for (const StateColumn& column : ColumnsOf(set, event))
      text += std::isfinite(column.value) ? fmt::format(",{:.12g}", column.value) : ",";
  }
  return text + "\n";
}

// What the program prints of a set.
struct Answer {
  bool refused = false;   // no coefficient
  std::string verdict;    // of the data; "declaration" or "table" where these are not read at all
  std::string corrected;  // named errors that were taken out
  std::string named;      // named errors that stand beside the coefficients
  std::string undecided;
  std::string reason;
  LawFit fit;
};

inline std::string Findings(const AuditResult& audit, bool named) {
  std::string out;
  for (const Finding& finding : audit.findings)
    if (finding.named == named) out += (out.empty() ? "" : ", ") + finding.parameter;
  return out;
}

// The steps of `identify --events` from a table and a declared experiment to fit.json.
inline Answer AnswerTo(const StateSet& set, const std::filesystem::path& folder,
                       std::uint64_t number) {
  Answer out;
  out.refused = true;
  const std::filesystem::path file = folder / fmt::format("states_{}.csv", number);
  try {
    CheckBody(set.experiment.body);
    CheckInertiaInOutline(set.experiment.body);
    WriteFile(file, TableOf(set));
    const JudgedStates judged =
        JudgeStates(set.experiment, LoadStates(set.experiment, file), false);
    const FitResult fit = FitStates(set.experiment, judged);
    out.refused = judged.verdict.withheld || fit.n_events == 0;
    out.verdict = fit.n_events == 0 ? "no impact" : judged.verdict.verdict;
    out.reason = judged.verdict.reason;
    out.fit = fit.fits.at(0);
    if (judged.corrected) out.corrected = Findings(*judged.recorded, true);
    if (judged.recorded) {
      const AuditResult& last = judged.corrected ? *judged.corrected : *judged.recorded;
      out.named = Findings(last, true);
      out.undecided = Findings(last, false);
    }
  } catch (const ConfigError& error) {
    out.verdict = "declaration";
    out.reason = error.what();
  } catch (const DataError& error) {
    out.verdict = "table";
    out.reason = error.what();
  }
  std::error_code error;
  std::filesystem::remove(file, error);
  return out;
}

// How the answers on one coefficient lie to the truth.
struct CoefficientAnswers {
  int nothing = 0;    // nothing is said
  int bounds = 0;     // from one side
  int intervals = 0;  // from both
  int held = 0;       // of both
  int wrong = 0;      // the truth lies outside of the 99.9 % band
  CoefficientAnswers& operator+=(const CoefficientAnswers& o) {
    nothing += o.nothing, bounds += o.bounds, intervals += o.intervals, held += o.held;
    wrong += o.wrong;
    return *this;
  }
};

// Counts the interval of a coefficient of n impacts that may lie in [0, most]; returns whether it
// is confidently wrong. Each side stands off from the value by as much more than at 95 % as
// Student's quantiles of n - 1 degrees of freedom do. A bound without a value stands off from what
// the impacts show by 1.96 of `sd`.
inline bool CountInterval(const ParameterEstimate& p, double n, double truth, double most,
                          double sd, CoefficientAnswers* out) {
  const double wider = StudentQuantile(0.9995, n - 1) / StudentQuantile(0.975, n - 1);
  const bool below = p.lower95 > 0, above = p.upper95 < most;
  ++(below && above ? out->intervals : below || above ? out->bounds : out->nothing);
  if (!below && !above) return false;
  out->held += p.lower95 <= truth && truth <= p.upper95;
  double lower = p.lower95, upper = p.upper95;
  if (std::isfinite(p.value)) {
    lower = p.value - wider * (p.value - p.lower95);
    upper = p.value + wider * (p.upper95 - p.value);
  } else {
    lower -= (wider - 1) * 1.96 * sd;
    upper += (wider - 1) * 1.96 * sd;
  }
  const bool wrong = (below && truth < lower) || (above && truth > upper);
  out->wrong += wrong;
  return wrong;
}

struct GateCounts {
  int sets = 0, refused = 0;
  int wrong = 0;         // sets with a confidently wrong coefficient
  int inertia_open = 0;  // sets whose momentum finds another inertia than the one declared
  std::map<std::string, int> verdicts, corrected, named, wrong_by_body, sets_by_body;
  CoefficientAnswers mu, e;
  int Corrected() const {
    int n = 0;
    for (const auto& [names, of] : corrected) n += of;
    return n;
  }
  GateCounts& operator+=(const GateCounts& o) {
    sets += o.sets, refused += o.refused, wrong += o.wrong;
    inertia_open += o.inertia_open;
    for (const auto& [from, to] :
         {std::pair(&o.verdicts, &verdicts), std::pair(&o.corrected, &corrected),
          std::pair(&o.named, &named), std::pair(&o.wrong_by_body, &wrong_by_body),
          std::pair(&o.sets_by_body, &sets_by_body)})
      for (const auto& [word, n] : *from) (*to)[word] += n;
    mu += o.mu, e += o.e;
    return *this;
  }
};

// One line on a set and its answer, to look at.
inline std::string Describe(const StateSet& set, const Answer& answer) {
  const auto interval = [](const ParameterEstimate& p, double truth) {
    return fmt::format("{} {:.4g} [{:.4g}, {:.4g}] true {:.4g}", p.name, p.value, p.lower95,
                       p.upper95, truth);
  };
  return fmt::format(
      "{}, n {}, noise {}, places {}, apply {}, sd_v {:.2g} sd_t {:.2g}: {}; corrected <{}> named "
      "<{}> "
      "undecided <{}>; {}; {}; scatter {:.2g} {:.2g}; "
      "{}",
      set.body, set.events.size(), set.states_noise, set.states_places,
      !set.experiment.apply.empty(), set.sd_v, set.scatter, answer.verdict, answer.corrected,
      answer.named, answer.undecided, interval(answer.fit.mu_k, set.mu),
      interval(answer.fit.e, set.e), answer.fit.discrepancy.sd_tangential,
      answer.fit.discrepancy.sd_normal, answer.reason);
}

inline GateCounts CountGate(const StateSet& set, const Answer& answer) {
  GateCounts out;
  out.sets = 1;
  out.refused = answer.refused;
  out.inertia_open = answer.undecided.find("inertia_scale") != std::string::npos;
  ++out.verdicts[answer.verdict];
  ++out.sets_by_body[set.body];
  if (!answer.corrected.empty()) ++out.corrected[answer.corrected];
  if (answer.refused) return out;
  if (!answer.named.empty()) ++out.named[answer.named];
  // Friction without a value is bounded by those impacts that need most of it: about a quarter.
  const double sd = std::hypot(set.scatter, set.sd_v) / std::sqrt(0.25 * set.events.size());
  const auto n = static_cast<double>(set.events.size());
  const bool mu = CountInterval(answer.fit.mu_k, n, set.mu, std::numeric_limits<double>::infinity(),
                                sd, &out.mu);
  const bool e = CountInterval(answer.fit.e, n, set.e, 1, sd, &out.e);
  out.wrong = mu || e;
  if (out.wrong) ++out.wrong_by_body[set.body];
  return out;
}

}  // namespace impactlab::test
