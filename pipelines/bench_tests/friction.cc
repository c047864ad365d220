// Static and kinetic friction from tilts, pulls and slides.

#include <fmt/format.h>

#include <cmath>

#include "data/files/text.h"
#include "impact/identify/coefficient_tests.h"
#include "impact/identify/slide_course.h"
#include "pipelines/bench_tests/detail/readings.h"
#include "pipelines/bench_tests/detail/slide_track.h"

namespace impactlab::pipelines {
namespace {

using Quantities = std::vector<double>;

constexpr double kDegrees = 180 / M_PI;

Range TiltAngles() { return Open(0, M_PI / 2); }

Range InclineAngles() {
  Range range = Closed(0, M_PI / 2);
  range.hi_open = true;
  return range;
}

// How a body slides: what friction makes of its acceleration depends on it.
enum class Way { kDown, kUp, kPulled };

// What all slides of one test share: an incline (level: angle 0), or a weight that pulls.
struct Bench {
  std::optional<Readings> angle, mass, hanging;
  std::string direction;  // "up", "down" or empty, as declared
  UncertainInput gravity;
  bool pulled() const { return hanging.has_value(); }
  double Angle() const { return angle ? Mean(angle->values()) : 0; }
  bool level() const { return Angle() == 0; }
};

// An acceleration along the motion as a function of quantities that were added to a model.
struct Source {
  std::string method;
  double value = 0, u = 0;  // [m/s^2]; of a track in pixels without scale not a number
  std::function<void(BudgetModel&)> add;
  std::function<double(const Quantities&, std::size_t first)> acceleration;
  // What the track itself says of the way; empty where nothing.
  std::optional<bool> up;
  std::string seen;  // in words, of `up`
  std::vector<std::string> notes;
};

CoefficientResult FrictionOf(const Bench& bench, Way way, const Source& source,
                             const std::string& method) {
  BudgetModel model;
  if (bench.angle) model.Add("angle", "rad", *bench.angle);
  if (bench.pulled()) {
    model.Add("mass", "kg", *bench.mass);
    model.Add("hanging mass", "kg", *bench.hanging);
  }
  const std::size_t first = model.size();
  source.add(model);
  const std::size_t at = model.Add(bench.gravity, 0);
  const bool tilted = bench.angle.has_value();
  CoefficientResult out = model.Evaluate(method, [=](const Quantities& q) {
    const double a = source.acceleration(q, first), angle = tilted ? q[0] : 0;
    if (way == Way::kPulled)
      return FrictionOfHangingWeight(q[tilted ? 1 : 0], q[tilted ? 2 : 1], angle, a, q[at]);
    return way == Way::kUp ? FrictionOfSlideUp(angle, a, q[at]) : FrictionOfSlide(angle, a, q[at]);
  });
  out.notes = source.notes;
  return out;
}

// The friction of a slide whose way is declared, seen, or follows from its acceleration.
CoefficientResult SlideOneWay(const Bench& bench, const Source& source) {
  const auto result = [&](Way way, const std::string& note) {
    const bool named = way == Way::kUp;
    CoefficientResult out =
        FrictionOf(bench, way, source, source.method + (named ? ", uphill" : ""));
    if (!note.empty()) out.notes.push_back(note);
    return out;
  };
  if (bench.pulled()) return result(Way::kPulled, "");
  if (bench.level()) return result(Way::kDown, "");
  const double a = source.value, g = bench.gravity.value, angle = bench.Angle();
  const bool faster = a > 0;
  if (a > kDrift * source.u && bench.direction == "up") {
    CoefficientResult out = Undetermined(
        source.method, fmt::format("the body speeds up ({:.3g} m/s^2 along its motion) on a way "
                                   "that is declared up: nothing drives it there; look at "
                                   "direction and at the sign (below 0 where it slows)",
                                   a));
    return out;
  }
  if (bench.direction == "up") return result(Way::kUp, "");
  if (bench.direction == "down") return result(Way::kDown, "");
  if (faster)
    return result(Way::kDown, source.up.value_or(false)
                                  ? "it speeds up and therefore slides down, although " +
                                        source.seen + ": is height counted downward there?"
                                  : "");
  if (source.up) return result(*source.up ? Way::kUp : Way::kDown, source.seen);
  const double up = FrictionOfSlideUp(angle, a, g), down = FrictionOfSlide(angle, a, g);
  // Below 0 by more than its readings explain: no such slide.
  if (up < -kDrift * source.u / (g * std::cos(angle))) return result(Way::kDown, "");
  constexpr double kSeldom = 1;  // friction of solids that are not rubber is below it
  if (down > kSeldom)
    return result(Way::kUp, fmt::format("taken as a slide up: it slows, and on the way down that "
                                        "would need mu_k = {:.2f}; `direction: up` or `down` "
                                        "decides it",
                                        down));
  CoefficientResult out = Undetermined(
      source.method,
      fmt::format("it slows, which is mu_k = {:.3f} on the way up and {:.3f} on the way down; "
                  "`direction: up` or `down`, or a track with its height (x_m and z_m), decides",
                  up, down));
  out.notes = source.notes;
  return out;
}

Source GivenAcceleration(const Readings& a) {
  Source out;
  out.method = "acceleration";
  BudgetModel alone;
  alone.Add("acceleration", "m/s^2", a);
  out.value = alone.Values()[0];
  out.u = alone.Uncertainties()[0];
  out.add = [a](BudgetModel& model) { model.Add("acceleration", "m/s^2", a); };
  out.acceleration = [](const Quantities& q, std::size_t first) { return q[first]; };
  return out;
}

// Residuals of a quadratic through places at times, where the limits of the readings do not explain
// them: the uncertainty of the acceleration that they show. Nothing otherwise.
std::optional<UncertainInput> Misfit(const Readings& times, const Readings& places) {
  const std::vector<double> t = times.values(), s = places.values();
  if (t.size() < 4) return std::nullopt;
  const SlideFit fit = FitSlide(t, s);
  double variance = 0;
  for (const double x : t) {
    const double v = fit.v_0 + fit.acceleration * (x - t.front());
    variance +=
        (places.u() * places.u() + v * v * times.u() * times.u()) / static_cast<double>(t.size());
  }
  const double chi_square = fit.rms * fit.rms * static_cast<double>(t.size()) / variance;
  if (!(variance > 0) || 1 - ChiSquareCdf(chi_square, fit.dof) > kImprobable) return std::nullopt;
  return UncertainInput{"places off one parabola",
                        "m/s^2",
                        0,
                        fit.sd,
                        Spread::kStudent,
                        static_cast<double>(fit.dof),
                        fmt::format("residuals {:.2g} m", fit.rms)};
}

Source TimedPlaces(const BenchReader& in, const Readings& times, const Readings& places) {
  const std::size_t n = times.list.size();
  if (n != places.list.size() || n < 3)
    throw in.node().Fault(times.key, fmt::format("{} times and {} places", n, places.list.size()),
                          "as many of both, three or more");
  for (std::size_t k = 1; k < n; ++k) {
    if (!(times.list[k].value > times.list[k - 1].value))
      throw in.node().Fault(times.key, times.list[k].text, "rising times");
    const double step = places.list[k].value - places.list[k - 1].value,
                 whole = places.list[n - 1].value - places.list[0].value;
    if (!(step * whole > 0))
      throw in.node().Fault(places.key, places.list[k].text + " after " + places.list[k - 1].text,
                            "places of one way, in which the body still slides; the way back is a "
                            "test of its own");
  }
  Source out;
  out.method = "timed slide";
  const double sign = places.list[n - 1].value < places.list[0].value ? -1 : 1;
  const auto misfit = Misfit(times, places);
  out.value = sign * SlideAcceleration(times.values(), places.values());
  out.notes.push_back(fmt::format("acceleration {:.4g} m/s^2", out.value));
  if (misfit)
    out.notes.emplace_back(
        "the places lie off one parabola by more than their readings explain; what they scatter is "
        "in the interval");
  out.add = [=](BudgetModel& model) {
    for (std::size_t k = 0; k < n; ++k) model.Add(fmt::format("time {}", k + 1), "s", times.At(k));
    for (std::size_t k = 0; k < n; ++k)
      model.Add(fmt::format("place {}", k + 1), "m", places.At(k));
    if (misfit) model.Add(*misfit, 0);
  };
  out.acceleration = [=](const Quantities& q, std::size_t first) {
    const auto from = [&](std::size_t at) {
      const auto begin = q.begin() + static_cast<std::ptrdiff_t>(at);
      return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(n));
    };
    return sign * SlideAcceleration(from(first), from(first + n)) + (misfit ? q[first + 2 * n] : 0);
  };
  BudgetModel alone;
  out.add(alone);
  const UncertainResult a =
      alone.Evaluate("", [&](const Quantities& q) { return out.acceleration(q, 0); }).result;
  out.u = a.u;
  return out;
}

// What a track's lengths are known by.
struct TrackScale {
  double metres_per_px = 0, sd = 0;  // of pixels; 0: not declared
  double sd_scale = 0;               // of metres
};

UncertainInput AccelerationOf(const SlideBranch& branch, bool pixels, std::size_t places) {
  return UncertainInput{"acceleration",
                        pixels ? "px/s^2" : "m/s^2",
                        branch.acceleration(),
                        branch.fit.sd,
                        Spread::kStudent,
                        static_cast<double>(branch.fit.dof),
                        fmt::format("quadratic through {} places, residuals {:.2g} {}", places,
                                    branch.fit.rms, pixels ? "px" : "m")};
}

// Friction that changes on the way: the acceleration between its middle and its ends.
std::optional<UncertainInput> ChangeOf(const SlideBranch& branch, bool pixels) {
  if (!(std::abs(branch.fit.jerk_z) > kDrift)) return std::nullopt;
  return Rectangular("change on the way", pixels ? "px/s^2" : "m/s^2", 0, branch.fit.change,
                     "cubic term of the track");
}

std::string ChangeNote(const SlideBranch& branch) {
  return fmt::format(
      "the acceleration changes on the way ({:.1f} standard deviations): friction is not one "
      "number here; the interval holds what it changes by",
      branch.fit.jerk_z);
}

Source TrackedBranch(const SlideTrack& track, const SlideBranch& branch, const TrackScale& scale) {
  Source out;
  out.method = "tracked slide";
  const double factor = track.pixels ? scale.metres_per_px : 1;
  out.value = factor * branch.acceleration();
  out.u = factor * branch.fit.sd;
  const auto change = ChangeOf(branch, track.pixels);
  const UncertainInput a = AccelerationOf(branch, track.pixels, branch.last - branch.first);
  out.add = [=, pixels = track.pixels](BudgetModel& model) {
    model.Add(a, 0);
    model.Add(
        pixels ? UncertainInput{"metres per px", "m/px", scale.metres_per_px, scale.sd,
                                Spread::kNormal, std::numeric_limits<double>::infinity(), "stated"}
               : UncertainInput{"scale of lengths", "1", 1, scale.sd_scale, Spread::kNormal,
                                std::numeric_limits<double>::infinity(), "stated"},
        0);
    if (change) model.Add(*change, 0);
  };
  out.acceleration = [with = change.has_value()](const Quantities& q, std::size_t first) {
    return (q[first] + (with ? q[first + 2] : 0)) * q[first + 1];
  };
  if (change) out.notes.push_back(ChangeNote(branch));
  return out;
}

// Whether the track itself says that a branch goes up.
void SeeWay(const Bench& bench, const SlideTrack& track, const SlideBranch& branch,
            Source& source) {
  if (bench.level() || !std::isfinite(track.rise)) return;
  const double off = std::abs(std::abs(track.rise) - bench.Angle()) * kDegrees;
  constexpr double kTurnedCamera = 10;  // degrees: beyond, rows of the picture are not heights
  if (track.pixels && off > kTurnedCamera) return;
  source.up = track.rise * branch.sign > 0;
  source.seen = fmt::format("the track {} by its {}", *source.up ? "rises" : "falls",
                            track.pixels ? "rows (y_px counts down)" : "z");
  constexpr double kOff = 3;  // degrees between the slope of a track and the declared angle
  if (!track.pixels && off > kOff)
    source.notes.push_back(
        fmt::format("the track slopes by {:.1f} degrees, the declared incline "
                    "by {:.1f}",
                    std::abs(track.rise) * kDegrees, bench.Angle() * kDegrees));
}

// Up and back: each way, and both together, which needs neither gravity nor scale.
void SlideBothWays(const Bench& bench, const SlideTrack& track, const SlideCourse& course,
                   const TrackScale& scale, CoefficientTest& test) {
  const SlideBranch &up = course.branches[0], &back = course.branches[1];
  const std::string turn = fmt::format("turns round at t = {:.4g} s", course.t_turn);
  const double a_up = up.acceleration(), a_back = back.acceleration();
  if (!(a_up < 0 && a_back > 0)) {
    test.results.push_back(Undetermined(
        "tracked slide",
        turn + " and does not speed up on its way back: it does not slide by itself alone"));
    return;
  }
  BudgetModel model;
  model.Add("angle", "rad", *bench.angle);
  for (const SlideBranch* branch : {&up, &back}) {
    UncertainInput a = AccelerationOf(*branch, track.pixels, branch->last - branch->first);
    a.name += branch == &up ? " up" : " back";
    model.Add(a, 0);
    UncertainInput change =
        ChangeOf(*branch, track.pixels)
            .value_or(Rectangular("change on the way", track.pixels ? "px/s^2" : "m/s^2", 0, 0,
                                  "none seen"));
    model.Add(change, 0);
  }
  test.results.push_back(model.Evaluate("there and back", [](const Quantities& q) {
    return FrictionThereAndBack(q[0], q[1] + q[2], q[3] + q[4]);
  }));
  test.results.back().notes.push_back(turn + "; neither gravity nor the scale of lengths enters");
  for (const SlideBranch* branch : {&up, &back})
    if (ChangeOf(*branch, track.pixels)) test.results.back().notes.push_back(ChangeNote(*branch));
  if (track.pixels && !(scale.metres_per_px > 0)) return;
  test.results.push_back(
      FrictionOf(bench, Way::kUp, TrackedBranch(track, up, scale), "tracked slide, uphill"));
  test.results.push_back(
      FrictionOf(bench, Way::kDown, TrackedBranch(track, back, scale), "tracked slide, downhill"));
}

void VisitMetresPerPixel(Keys& keys, double& metres_per_px) {
  keys.Number("metres_per_px", metres_per_px, Positive(),
              "scale of a track in pixels; required there, but for a slide there and back",
              Need::kRequired);
}

void TrackedSlide(BenchReader& in, const Bench& bench, CoefficientTest& test) {
  const SlideTrack track = ReadSlideTrack(in);
  TrackScale scale;
  if (track.pixels) {
    if (in.node().Has("metres_per_px")) VisitMetresPerPixel(in.keys(), scale.metres_per_px);
    in.keys().Number("sd_metres_per_px", scale.sd, NonNegative(), "its standard deviation");
  } else {
    in.keys().Number("sd_scale", scale.sd_scale, NonNegative(),
                     "relative error of the lengths of a track in metres");
  }
  const SlideCourse course = DivideSlide(track.t, track.s);
  const std::string at = fmt::format("t = {:.4g} s", course.t_turn);
  const bool returns = course.kind == SlideKind::kReturns;
  if (course.kind == SlideKind::kUneven || course.branches.empty()) {
    test.results.push_back(Undetermined(
        "tracked slide", course.branches.empty()
                             ? fmt::format("fewer than four places on either side of {}", at)
                             : "it stops at " + at +
                                   " and goes on the same way: something pushed or held it; give "
                                   "the part in which it slides by itself"));
    return;
  }
  if (returns && bench.level()) {
    test.results.push_back(
        Undetermined("tracked slide", "it turns round at " + at +
                                          " on a level table, which friction does not do: a slope, "
                                          "a string or a bumper"));
    return;
  }
  if (returns && !bench.pulled() && course.branches.size() == 2) {
    SlideBothWays(bench, track, course, scale, test);
    return;
  }
  if (track.pixels && !(scale.metres_per_px > 0))
    VisitMetresPerPixel(in.keys(), scale.metres_per_px);
  const SlideBranch& branch = course.branches.front();
  Source source = TrackedBranch(track, branch, scale);
  SeeWay(bench, track, branch, source);
  if (returns) {
    source.up = branch.first == 0;  // what turns round on an incline went up
    source.seen = "it turns round at " + at + (branch.first == 0 ? " and came from below" : "");
    source.notes.push_back(fmt::format("{} places on the other side of {} are too few for a fit",
                                       course.left_out, at));
  }
  if (course.kind == SlideKind::kComesToRest)
    source.notes.push_back("comes to rest at " + at + "; the places before it are fitted");
  if (course.kind == SlideKind::kStarts)
    source.notes.push_back("rests until " + at + "; the places after it are fitted");
  test.results.push_back(SlideOneWay(bench, source));
}

// A level pull by a spring balance: that which sets the body going, or under which it slides
// evenly.
void ReadPull(const BenchReader& in, CoefficientTest& test, const UncertainInput& gravity) {
  const auto force = in.One("force", Quantity::kForce, Positive(),
                            "static friction: level pull that sets a body on a level table going; "
                            "kinetic friction: under which it slides evenly; with mass");
  const auto mass = in.Mass();
  if (!force) return;
  if (!mass) in.Together("force_N", true, "mass_kg", false);
  BudgetModel model;
  model.Add("force", "N", *force);
  model.Add("mass", "kg", *mass);
  model.Add(gravity, 0);
  test.results.push_back(model.Evaluate(
      "level pull", [](const Quantities& q) { return FrictionOfPull(q[0], q[1], q[2]); }));
}

}  // namespace

void ReadStaticFriction(const BenchReader& in, CoefficientTest& test,
                        const UncertainInput& gravity) {
  if (const auto angle = in.Angle(TiltAngles())) {
    BudgetModel model;
    model.Add("angle", "rad", *angle);
    test.results.push_back(
        model.Evaluate("angle", [](const Quantities& q) { return FrictionOfTilt(q[0]); }));
  }
  const auto height = in.One("height", Quantity::kLength, Positive(),
                             "static friction: raised side of the incline, with length"),
             length = in.One("length", Quantity::kLength, Positive(),
                             "static friction: sloping side of the incline");
  if (height.has_value() != length.has_value())
    throw in.node().Fault(height ? "length_m" : "height_m", "one of the two",
                          "height and length of the incline, or neither");
  if (height) {
    if (!(Mean(height->values()) < Mean(length->values())))
      throw in.node().Fault(height->key, "a height that is not below the length",
                            "the side against the angle and the sloping side");
    BudgetModel model;
    model.Add("height", "m", *height);
    model.Add("length", "m", *length);
    test.results.push_back(model.Evaluate(
        "height over length", [](const Quantities& q) { return FrictionOfSine(q[0], q[1]); }));
  }
  ReadPull(in, test, gravity);
}

void ReadKineticFriction(BenchReader& in, CoefficientTest& test, const UncertainInput& gravity) {
  const auto times = in.ReadingsOf("times", Quantity::kTime,
                                   "kinetic friction: when the body was at the places"),
             places = in.ReadingsOf("places", Quantity::kLength,
                                    "kinetic friction: three or more places along the incline"),
             acceleration =
                 in.ReadingsOf("acceleration", Quantity::kAcceleration,
                               "kinetic friction: along the motion, below 0 where the body "
                               "slows");
  const bool slide = in.node().Has("slide");
  if (times.has_value() != places.has_value())
    throw in.node().Fault(times ? "places_m" : "times_s", "one of the two",
                          "times and the places at them, or neither");
  Bench bench;
  bench.angle = in.Angle(InclineAngles());
  bench.mass = in.Mass();
  bench.hanging = in.One("hanging_mass", Quantity::kMass, Positive(),
                         "kinetic friction: of a weight that pulls the body by a thread over a "
                         "pulley, on a level table or up the incline");
  bench.gravity = gravity;
  bench.direction = in.Word("direction", {"up", "down"},
                            "kinetic friction: way of the slide on an incline. Default: as the "
                            "track, or the acceleration, tells it");
  if (bench.pulled() && !bench.mass) in.Together("hanging_mass_kg", true, "mass_kg", false);
  ReadPull(in, test, gravity);
  if (!times && !slide && !acceleration) return;
  if (!bench.angle && !bench.pulled())
    throw in.node().Fault("angle_rad", "no angle of the incline",
                          "angle_rad or angle_deg (0: level), or mass_kg and hanging_mass_kg");
  if (times) test.results.push_back(SlideOneWay(bench, TimedPlaces(in, *times, *places)));
  if (acceleration) test.results.push_back(SlideOneWay(bench, GivenAcceleration(*acceleration)));
  if (slide) TrackedSlide(in, bench, test);
}

}  // namespace impactlab::pipelines
