#include "reconstruction/motion/set_diagnosis.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>
#include <optional>
#include <utility>

#include "data/statistics/statistics.h"
#include "reconstruction/motion/flights.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr int kFewestFrames = 5;
constexpr double kSagittaOverResidual = 20;
constexpr double kRateTolerance = 0.06;  // of an acceleration, for a factor to be recognised

// Acceleration of a stretch by least squares, its sagitta a T^2 / 8 and the largest residual.
struct Parabola {
  Vector3d acceleration = Vector3d::Zero();
  double sagitta = 0, residual = 0;
};

std::optional<Parabola> FitParabola(const PoseRecording& recording, int first, int n) {
  const double middle = 0.5 * (recording.t[first] + recording.t[first + n - 1]),
               half = 0.5 * (recording.t[first + n - 1] - recording.t[first]);
  if (!(half > 0)) return std::nullopt;
  Matrix3d normal = Matrix3d::Zero(), moments = Matrix3d::Zero();  // rows of moments: powers
  const Vector3d origin = recording.X_WB[first].translation();
  for (int i = first; i < first + n; ++i) {
    const double s = (recording.t[i] - middle) / half;
    const Vector3d powers(1, s, s * s);
    normal += powers * powers.transpose();
    moments += powers * (recording.X_WB[i].translation() - origin).transpose();
  }
  const Matrix3d coefficients = normal.ldlt().solve(moments);
  if (!coefficients.allFinite()) return std::nullopt;
  Parabola out;
  const Vector3d bend = coefficients.row(2);
  out.acceleration = 2 * bend / (half * half);
  out.sagitta = bend.norm();
  if (!out.acceleration.allFinite()) return std::nullopt;
  for (int i = first; i < first + n; ++i) {
    const double s = (recording.t[i] - middle) / half;
    const Vector3d at = coefficients.transpose() * Vector3d(1, s, s * s);
    out.residual = std::max(out.residual, (recording.X_WB[i].translation() - origin - at).norm());
  }
  return out;
}

// The stretch of largest sagitta among those that a parabola describes.
std::optional<Parabola> SteadyStretch(const PoseRecording& recording) {
  const int frames = static_cast<int>(recording.t.size());
  std::optional<Parabola> best;
  for (int n = kFewestFrames; n <= frames; n = std::max(n + 1, 3 * n / 2)) {
    for (int first = 0; first + n <= frames; first += std::max(1, n / 3)) {
      const std::optional<Parabola> fit = FitParabola(recording, first, n);
      if (!fit || !(fit->sagitta > kSagittaOverResidual * fit->residual)) continue;
      if (!best || fit->sagitta > best->sagitta) best = fit;
    }
  }
  return best;
}

// Distance from the floor at the lowest place where the body turns back, faster than gravity `g`
// turns it and than noise seems to; none where it never does.
std::optional<double> LowestTurningGap(const PoseRecording& recording, const Body& body,
                                       const Plane& floor, double g) {
  std::optional<double> lowest;
  std::vector<double> gap;
  for (const Eigen::Isometry3d& X_WB : recording.X_WB)
    gap.push_back(ContactWithPlane(body, X_WB, floor).gap);
  for (std::size_t i = 2; i + 2 < gap.size(); ++i) {
    const double dt = (recording.t[i + 2] - recording.t[i - 2]) / 4, least = 4 * g * dt * dt;
    const bool turns = gap[i - 2] - gap[i] > least && gap[i + 2] - gap[i] > least &&
                       gap[i] <= gap[i - 1] && gap[i] <= gap[i + 1];
    if (turns && (!lowest || gap[i] < *lowest)) lowest = gap[i];
  }
  return lowest;
}

// Shares of the rows, while the body moves, that lie exactly between their neighbours in place and
// time, and that repeat the row before.
struct RowShares {
  double between = 0, repeated = 0;
};

RowShares MadeUpRows(std::span<const PoseRecording* const> recordings) {
  int moving = 0, between = 0, repeated = 0;
  for (const PoseRecording* recording : recordings) {
    for (std::size_t i = 1; i + 1 < recording->t.size(); ++i) {
      const Vector3d before = recording->X_WB[i - 1].translation(),
                     here = recording->X_WB[i].translation(),
                     next = recording->X_WB[i + 1].translation();
      const double move = (next - before).norm(),
                   duration = recording->t[i + 1] - recording->t[i - 1];
      if (!(move > 1e-9 * (1 + here.norm())) || !(duration > 0)) continue;
      ++moving;
      const double share = (recording->t[i] - recording->t[i - 1]) / duration;
      between += (before + share * (next - before) - here).norm() < 1e-6 * move;
      repeated += here == before;
    }
  }
  if (moving == 0) return {};
  return {static_cast<double>(between) / moving, static_cast<double>(repeated) / moving};
}

// Frame rates of cameras [1/s].
constexpr double kRates[] = {24,  25,  30,  48,  50,  60,  90,  100, 120, 125,  150,  180,  200,
                             240, 250, 300, 360, 400, 480, 500, 600, 960, 1000, 1200, 1920, 2000};

bool Near(double value, double target) { return std::abs(value / target - 1) < kRateTolerance; }

// The line that corrects lengths and times by these factors beyond what is corrected already. Where
// that is something, its keys are named alone, since the map holds others.
std::string Cure(const FrameCorrection& known, double length, double clock, bool rounded = false) {
  std::string keys;
  const auto add = [&](const char* key, double factor, double before) {
    if (factor == 1) return;
    if (!keys.empty()) keys += ", ";
    keys += rounded ? fmt::format("{}: {:.4g}", key, factor * before)
                    : fmt::format("{}: {:g}", key, factor * before);
  };
  add("length_scale", length, known.length_scale);
  add("clock_rate", clock, known.clock_rate);
  return IsIdentity(known) ? "correction: {" + keys + "}"
                           : "in correction: " + keys + ", in place of what stands there";
}

// Whole numbers for seconds: the rate that makes the fall one of gravity, with lengths in metres,
// millimetres or centimetres.
SetCause FrameNumbers(double ratio, const FrameCorrection& known_correction) {
  for (const auto& [factor, unit] :
       {std::pair(1.0, ""), std::pair(1000.0, " and lengths millimetres"),
        std::pair(100.0, " and lengths centimetres")}) {
    const double rate = std::sqrt(factor / ratio);
    for (const double known : kRates) {
      if (std::abs(rate / known - 1) > 0.03) continue;
      return {fmt::format("times are frame numbers of {:g} frames a second{}", known, unit),
              Cure(known_correction, factor, known)};
    }
  }
  return {fmt::format("times are frame numbers, of about {:.4g} frames a second if lengths are "
                      "metres",
                      std::sqrt(1 / ratio)),
          "correction: {clock_rate: RATE}, with the rate of the camera"};
}

// Below so many times gravity a wrong scale or rate is likelier than two usual mistakes that nearly
// cancel.
constexpr double kTwoMistakes = 3;

// What makes a fall of `ratio` times gravity.
std::vector<SetCause> CausesOfRatio(double ratio, double frame_interval,
                                    const FrameCorrection& known) {
  std::vector<SetCause> out;
  const auto scale = [&](const char* unit, double factor) {
    if (Near(ratio, factor))
      out.push_back(
          {fmt::format("lengths are in {} and not in metres", unit), Cure(known, factor, 1)});
  };
  scale("millimetres", 1000), scale("centimetres", 100), scale("inches", 1 / 0.0254);
  scale("feet", 1 / 0.3048), scale("micrometres", 1e6), scale("kilometres", 1e-3);
  const double slow = std::sqrt(1 / ratio);
  if (std::abs(frame_interval - 1) < 1e-6) {
    out = {FrameNumbers(ratio, known)};
  } else if (Near(ratio, 1e-6)) {
    out.push_back({"times are in milliseconds and not in seconds", Cure(known, 1, 1e3)});
  } else if (Near(ratio, 1e-12)) {
    out.push_back({"times are in microseconds and not in seconds", Cure(known, 1, 1e6)});
  } else if (slow > 1.5 && std::abs(slow - std::round(slow)) < kRateTolerance * slow / 2) {
    out.push_back(
        {fmt::format("the clock is {:.0f} times slow, as of a slow-motion clip played at another "
                     "rate, or lengths are 1/{:.0f} of the true ones",
                     slow, 1 / ratio),
         Cure(known, 1, std::round(slow))});
  } else if (out.empty() && (ratio > kTwoMistakes || ratio < 1 / kTwoMistakes)) {
    for (const auto& [factor, unit] :
         {std::pair(1000.0, "millimetres"), std::pair(100.0, "centimetres")})
      for (const double times : {2.0, 4.0, 8.0, 10.0, 16.0, 20.0})
        if (std::abs(std::sqrt(factor / ratio) / times - 1) < 0.03)
          out.push_back(
              {fmt::format("lengths are in {} and the clock is {:g} times slow", unit, times),
               Cure(known, factor, times)});
  }
  return out;
}

// A fall of `ratio` times gravity that no usual mistake makes.
SetCause UnknownRatio(double ratio, bool along, const FrameCorrection& known) {
  if (!along)
    return {
        "what is tracked does not fall freely: it slides, rolls or is carried, or several of "
        "scale, clock and axes are wrong",
        "record a free fall, and check scale and frame rate with it"};
  return {fmt::format("lengths over times squared are {:.4g} of true: a wrong scale, clock or "
                      "gravity, or what is tracked does not fall freely",
                      ratio),
          Cure(known, ratio, 1, true) + " where lengths are wrong, " +
              Cure(known, 1, std::sqrt(1 / ratio), true) + " where times are"};
}

std::string VectorText(const Vector3d& v) {
  const auto number = [](double x) { return fmt::format("{:g}", x == 0 ? 0.0 : x); };
  return "[" + number(v.x()) + ", " + number(v.y()) + ", " + number(v.z()) + "]";
}

// The recorded axis along which bodies fall, next to their acceleration.
struct FallAxis {
  int axis = 0;
  Vector3d down = -Vector3d::UnitZ();
  std::string Text() const { return fmt::format("{}{}", down(axis) < 0 ? "-" : "+", "xyz"[axis]); }
};

FallAxis AxisOf(const Vector3d& fall) {
  FallAxis out;
  fall.cwiseAbs().maxCoeff(&out.axis);
  out.down = (fall(out.axis) < 0 ? -1.0 : 1.0) * Vector3d::Unit(out.axis);
  return out;
}

// The declared gravity and floor for bodies that do not fall along gravity as declared.
SetCause WrongDirection(const Vector3d& fall, const Plane& floor, double g) {
  const FallAxis along = AxisOf(fall);
  const Vector3d up = -along.down, normal = floor.normal.normalized();
  if (normal.dot(up) > 0.99)
    return {fmt::format("bodies fall along {}, onto the floor as declared: gravity is declared in "
                        "another direction",
                        along.Text()),
            "gravity_m_per_s2: " + VectorText(g * along.down)};
  // The same floor, where its normal was along that axis already.
  const double offset = normal.dot(up) < -0.99 ? -floor.offset : floor.offset;
  return {fmt::format("bodies fall along {} as recorded: that axis points {}", along.Text(),
                      along.down(along.axis) < 0 ? "up" : "down"),
          fmt::format("gravity_m_per_s2: {}\nfloor: {{normal: {}, offset_m: {:g}}}",
                      VectorText(g * along.down), VectorText(up), offset == 0 ? 0.0 : offset)};
}

// Gravity that is declared with another size than anywhere on Earth, where bodies fall as there.
std::optional<SetCause> WrongGravity(const Vector3d& fall, double g) {
  constexpr double kEarth = 9.80665;
  if (Near(g, kEarth) || !Near(fall.norm(), kEarth)) return {};
  return SetCause{
      fmt::format("gravity is declared as {:.4g} m/s^2, and bodies fall with {:.4g} m/s^2", g,
                  fall.norm()),
      "gravity_m_per_s2: " + VectorText(kEarth * AxisOf(fall).down)};
}

// `falls_as_declared`: the floor can be looked for along gravity, in metres.
void AddSeen(double g, bool falls_as_declared, SetDiagnosis* out) {
  if (out->recordings == 0) {
    out->seen = fmt::format("no recording has {} frames or more", kFewestFrames);
    return;
  }
  out->seen =
      out->steady == 0
          ? fmt::format(
                "in none of {} recordings does the body move with a steady "
                "acceleration for {} frames or more",
                out->recordings, kFewestFrames)
          : fmt::format(
                "in {} of {} recordings bodies accelerate steadily by ({:.4g}, "
                "{:.4g}, {:.4g}) m/s^2, {:.3g} times the gravity declared",
                out->steady, out->recordings, out->acceleration_W.x(), out->acceleration_W.y(),
                out->acceleration_W.z(), g > 0 ? out->acceleration_W.norm() / g : 0.0);
  if (std::isfinite(out->gap) && (falls_as_declared || out->steady == 0))
    out->seen += fmt::format("; they turn back {:.3g} mm {} the floor, allowed up to {:.3g} mm",
                             1e3 * std::abs(out->gap), out->gap < 0 ? "below" : "above",
                             1e3 * out->gap_allowed);
}

}  // namespace

SetDiagnosis DiagnoseSet(std::span<const PoseRecording* const> recordings, const Body& body,
                         const Plane& floor, const Vector3d& gravity_W,
                         const FrameCorrection& known) {
  SetDiagnosis out;
  out.gap_allowed = reconstruction::HeightTolerance(body, 0);
  std::vector<double> component[3], gaps, intervals;
  for (const PoseRecording* recording : recordings) {
    const int n = static_cast<int>(recording->t.size());
    if (n < kFewestFrames) continue;
    ++out.recordings;
    intervals.push_back((recording->t.back() - recording->t.front()) / (n - 1));
    if (const std::optional<double> gap =
            LowestTurningGap(*recording, body, floor, gravity_W.norm()))
      gaps.push_back(*gap);
    const std::optional<Parabola> steady = SteadyStretch(*recording);
    if (!steady) continue;
    ++out.steady;
    for (int k = 0; k < 3; ++k) component[k].push_back(steady->acceleration(k));
  }
  if (out.steady > 0)
    out.acceleration_W = {Median(component[0]), Median(component[1]), Median(component[2])};
  if (!gaps.empty()) out.gap = Median(gaps);
  const double g = gravity_W.norm(), size = out.acceleration_W.norm(), ratio = size / g;
  const bool along = out.acceleration_W.dot(gravity_W) > 0.7 * size * g;
  AddSeen(g, along && Near(ratio, 1), &out);
  const RowShares rows = MadeUpRows(recordings);
  if (rows.between > 0.3)
    out.causes.push_back({fmt::format("{:.0f} % of the rows of moving bodies lie exactly between "
                                      "their neighbours, as rows that a program interpolated",
                                      100 * rows.between),
                          "keep only the rows that were measured"});
  else if (rows.repeated > 0.3)
    out.causes.push_back({fmt::format("{:.0f} % of the rows of moving bodies repeat the row before",
                                      100 * rows.repeated),
                          "keep only the rows that were measured"});
  if (out.steady == 0 || !(g > 0)) return out;
  if (std::optional<SetCause> wrong = WrongGravity(out.acceleration_W, g)) {
    out.causes.push_back(std::move(*wrong));
    return out;
  }
  std::vector<SetCause> more;
  if (!Near(ratio, 1)) more = CausesOfRatio(ratio, Median(intervals), known);
  const bool understood = Near(ratio, 1) || !more.empty();
  if (!along && understood) out.causes.push_back(WrongDirection(out.acceleration_W, floor, g));
  if (!understood) more.push_back(UnknownRatio(ratio, along, known));
  out.causes.insert(out.causes.end(), more.begin(), more.end());
  if (Near(ratio, 1) && along && std::isfinite(out.gap) && std::abs(out.gap) > out.gap_allowed) {
    const Vector3d n = floor.normal.normalized();
    const std::string normal =
        n == Vector3d::UnitZ()
            ? std::string()
            : fmt::format("normal: [{:.6g}, {:.6g}, {:.6g}], ", n.x(), n.y(), n.z());
    out.causes.push_back(
        {fmt::format("the floor is {:.3g} mm {} than declared, or the body is smaller or larger",
                     1e3 * std::abs(out.gap), out.gap > 0 ? "higher" : "lower"),
         fmt::format("floor: {{{}offset_m: {:.4f}}}", normal,
                     floor.offset / floor.normal.norm() + out.gap)});
  }
  return out;
}

std::string SetDiagnosisText(const SetDiagnosis& diagnosis) {
  std::string out = diagnosis.seen;
  for (const SetCause& cause : diagnosis.causes)
    out += fmt::format("; {} ({})", cause.text,
                       boost::algorithm::replace_all_copy(cause.cure, "\n", " and "));
  return out;
}

}  // namespace impactlab
