#include "pipelines/bench_tests/bench_tests.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "data/yaml/yaml.h"
#include "impact/identify/coefficient_tests.h"

namespace impactlab {
namespace {

constexpr double kDrift = 3;           // standard deviations at which a trend is spoken of
constexpr double kImprobable = 0.001;  // of a chi-square that is spoken of

// Readings of one quantity: texts in the file, values in SI.
struct Readings {
  std::string key;  // as in the file, with its unit
  std::vector<Printed> list;
  double half = 0;  // limits of each [SI]; rectangular
  double sd = 0;    // or its standard deviation; normal
  std::vector<double> values() const {
    std::vector<double> out;
    for (const Printed& p : list) out.push_back(p.value);
    return out;
  }
};

// One test as its file has it, with the inputs of a model as they gather.
// A range in the unit that was typed: who writes degrees is told degrees.
std::string WordsIn(const UnitName& typed, Range allowed) {
  const auto to_unit = [&](double x) {
    return std::isfinite(x) ? std::round(1e9 * x / typed.to_si) / 1e9 : x;
  };
  allowed.lo = to_unit(allowed.lo);
  allowed.hi = to_unit(allowed.hi);
  return allowed.Words() + (typed.unit.empty() ? "" : " in " + typed.unit);
}

class Reader {
 public:
  Reader(const YamlNode& node, CoefficientTests& all) : node_(node), all_(all) {}

  // `stem` with one of the units of its kind; halves under `stem_half_UNIT`, standard deviations
  // under `stem_sd_UNIT`, by default half a unit of the last digit. Nothing where the key is
  // missing.
  std::optional<Readings> Read(const std::string& stem, Quantity quantity) const {
    Readings out;
    for (const std::string& unit : UnitsOf(quantity)) {
      const std::string key = fmt::format("{}_{}", stem, unit);
      if (!node_.Has(key)) continue;
      if (!out.key.empty()) throw node_.Fault(key, out.key + " as well", "one of them");
      out.key = key;
      const double to_si = ToSi(unit);
      for (const std::string& text : node_.Texts(key)) {
        const auto printed = ReadPrinted(text, to_si);
        if (!printed) throw node_.Fault(key, Excerpt(text), "numbers");
        out.list.push_back(*printed);
        out.half = std::max(out.half, printed->half);
      }
      const std::string half = fmt::format("{}_half_{}", stem, unit),
                        sd = fmt::format("{}_sd_{}", stem, unit);
      if (node_.Has(half) && node_.Has(sd)) throw node_.Fault(sd, half + " as well", "one of them");
      if (node_.Has(half)) out.half = to_si * node_.Number(half, NonNegative());
      if (node_.Has(sd)) {
        out.sd = to_si * node_.Number(sd, NonNegative());
        out.half = 0;
      }
    }
    return out.key.empty() ? std::nullopt : std::optional(out);
  }

  std::optional<Readings> One(const std::string& stem, Quantity quantity,
                              const Range& allowed) const {
    auto readings = Read(stem, quantity);
    if (readings)
      for (const Printed& p : readings->list)
        if (!allowed.Contains(p.value))
          throw node_.Fault(readings->key, p.text, WordsIn(SplitUnit(readings->key), allowed));
    return readings;
  }

  // A CSV beside the file.
  Table File(const std::string& key, const std::vector<std::string>& texts) {
    const std::filesystem::path path = node_.Folder() / node_.Text(key);
    all_.inputs.push_back(path);
    CsvOptions options;
    options.text_columns = texts;
    options.is_text = [](std::string_view name) {
      return SplitUnit(name).unit.empty() && name != "impact" && name != "accepted";
    };
    options.empty_is_nan = true;
    return ReadCsv(path, options);
  }

  const YamlNode& node() const { return node_; }

 private:
  const YamlNode& node_;
  CoefficientTests& all_;
};

// Inputs of a model: the mean of repeated readings (their scatter), and what every one of them may
// be off by together.
class Model {
 public:
  // Index of the quantity; the sum of its parts is its value.
  std::size_t Add(const std::string& name, const std::string& unit, const Readings& r) {
    std::vector<std::size_t> parts;
    double value = r.list[0].value;
    if (r.list.size() > 1) {
      parts.push_back(inputs_.size());
      inputs_.push_back(
          MeanOf(name, unit, r.values(), fmt::format("mean of {} readings", r.list.size())));
      value = inputs_.back().value;
    }
    parts.push_back(inputs_.size());
    const double base = r.list.size() > 1 ? 0 : value;
    const std::string label = r.list.size() > 1 ? name + ", instrument" : name;
    inputs_.push_back(r.sd > 0 ? UncertainInput{label, unit, base, r.sd, Spread::kNormal,
                                                std::numeric_limits<double>::infinity(), "stated"}
                               : Rectangular(label, unit, base, r.half, "limits of a reading"));
    double digits = 0;  // rounding of a mean is at most that of a reading
    for (const Printed& p : r.list) digits = std::max(digits, p.half);
    digits_.resize(inputs_.size(), 0);
    digits_.back() = digits;
    quantities_.push_back(parts);
    return quantities_.size() - 1;
  }
  std::size_t Add(UncertainInput input, double digits) {
    inputs_.push_back(std::move(input));
    digits_.resize(inputs_.size(), 0);
    digits_.back() = digits;
    quantities_.push_back({inputs_.size() - 1});
    return quantities_.size() - 1;
  }

  // `f` takes the quantities in the order they were added.
  CoefficientResult Evaluate(const std::string& method,
                             const std::function<double(const std::vector<double>&)>& f) const {
    CoefficientResult out;
    out.method = method;
    out.inputs = inputs_;
    const auto of_inputs = [&](const std::vector<double>& x) {
      std::vector<double> q;
      for (const auto& parts : quantities_) {
        double sum = 0;
        for (const std::size_t part : parts) sum += x[part];
        q.push_back(sum);
      }
      return f(q);
    };
    out.result = PropagateUncertainty(of_inputs, inputs_);
    Eigen::VectorXd x(static_cast<Eigen::Index>(inputs_.size())), half(x.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      x[static_cast<Eigen::Index>(i)] = inputs_[i].value;
      half[static_cast<Eigen::Index>(i)] = digits_[i];
    }
    out.rounded = Recompute(
        [&](const Eigen::VectorXd& v) {
          return of_inputs({v.data(), v.data() + v.size()});
        },
        x, half);
    return out;
  }

 private:
  std::vector<UncertainInput> inputs_;
  std::vector<double> digits_;
  std::vector<std::vector<std::size_t>> quantities_;
};

Range SteepAngles() { return Open(0, M_PI / 2); }

void StaticFriction(const Reader& in, CoefficientTest& test) {
  if (const auto angle = in.One("angle", Quantity::kAngle, SteepAngles())) {
    Model model;
    model.Add("angle", "rad", *angle);
    test.results.push_back(
        model.Evaluate("angle", [](const std::vector<double>& q) { return FrictionOfTilt(q[0]); }));
  }
  const auto height = in.One("height", Quantity::kLength, Positive()),
             length = in.One("length", Quantity::kLength, Positive());
  if (height.has_value() != length.has_value())
    throw in.node().Fault(height ? "length_m" : "height_m", "one of the two",
                          "height and length of the incline, or neither");
  if (!height) return;
  if (!(Mean(height->values()) < Mean(length->values())))
    throw in.node().Fault(height->key, "a height that is not below the length",
                          "the side against the angle and the sloping side");
  Model model;
  model.Add("height", "m", *height);
  model.Add("length", "m", *length);
  test.results.push_back(model.Evaluate("height over length", [](const std::vector<double>& q) {
    return FrictionOfSine(q[0], q[1]);
  }));
}

// Places along the way of a slide, from s, from x, (y,) z, or from the pixels of one marker.
struct Track {
  std::vector<double> t, s;
  bool pixels = false;
};

Track ReadTrack(Reader& in) {
  const Table table = in.File("slide", {"recording", "camera", "marker", "flags"});
  Track out;
  std::vector<std::vector<double>> axes;
  out.pixels = table.Has("x_px");
  const std::vector<double> t = SiColumn(table, "t", Quantity::kTime);
  if (out.pixels) {
    axes = {table.Column("x_px"), table.Column("y_px")};
  } else if (HasQuantity(table, "s", Quantity::kLength)) {
    axes = {SiColumn(table, "s", Quantity::kLength)};
  } else {
    for (const char* axis : {"x", "y", "z"})
      if (HasQuantity(table, axis, Quantity::kLength))
        axes.push_back(SiColumn(table, axis, Quantity::kLength));
    if (axes.empty())
      throw DataError(fmt::format(
          "{}: found neither s_m nor x_m, z_m nor x_px, y_px, allowed one of them; the file has {}",
          table.path, JoinNames(table.columns)));
  }
  std::vector<Eigen::VectorXd> points;
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    bool wanted = true;
    for (const char* key : {"recording", "camera", "marker"})
      if (in.node().Has(key) && table.HasText(key))
        wanted = wanted && table.TextColumn(key)[row] == in.node().Text(key);
    if (table.HasText("flags"))
      for (const char* flag : {"predicted", "outlier"})
        wanted = wanted && table.TextColumn("flags")[row].find(flag) == std::string::npos;
    if (!wanted) continue;
    if (!out.t.empty() && !(t[row] > out.t.back()))
      throw table.Fault(row, ColumnNameOf(table, "t", Quantity::kTime), FormatNumber(t[row]),
                        "rising times; one recording, camera and marker of several by their keys");
    Eigen::VectorXd point(static_cast<Eigen::Index>(axes.size()));
    for (std::size_t k = 0; k < axes.size(); ++k)
      point[static_cast<Eigen::Index>(k)] = axes[k][row];
    if (!point.allFinite()) continue;  // not seen
    out.t.push_back(t[row]);
    points.push_back(point);
  }
  if (points.size() < 4)
    throw DataError(fmt::format("{}: found {} places of the slide, allowed four or more",
                                table.path, points.size()));
  // Along the direction of the largest spread, from first to last.
  Eigen::VectorXd middle = Eigen::VectorXd::Zero(points[0].size());
  for (const auto& p : points) middle += p / static_cast<double>(points.size());
  Eigen::MatrixXd spread = Eigen::MatrixXd::Zero(middle.size(), middle.size());
  for (const auto& p : points) spread += (p - middle) * (p - middle).transpose();
  Eigen::VectorXd along =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(spread).eigenvectors().rightCols(1);
  if (along.dot(points.back() - points.front()) < 0) along = -along;
  for (const auto& p : points) out.s.push_back(along.dot(p - points.front()));
  return out;
}

void KineticFriction(Reader& in, CoefficientTest& test, const UncertainInput& gravity) {
  const auto times = in.Read("times", Quantity::kTime),
             places = in.Read("places", Quantity::kLength);
  const bool slide = in.node().Has("slide");
  if (times.has_value() != places.has_value())
    throw in.node().Fault(times ? "places_m" : "times_s", "one of the two",
                          "times and the places at them, or neither");
  const auto angle = in.One("angle", Quantity::kAngle, SteepAngles());
  if (!times && !slide) return;
  if (!angle)
    throw in.node().Fault("angle_rad", "no angle of the incline", "angle_rad or angle_deg");
  if (times) {
    const std::size_t n = times->list.size();
    if (n != places->list.size() || n < 3)
      throw in.node().Fault(times->key,
                            fmt::format("{} times and {} places", n, places->list.size()),
                            "as many of both, three or more");
    for (std::size_t k = 1; k < n; ++k)
      if (!(times->list[k].value > times->list[k - 1].value))
        throw in.node().Fault(times->key, times->list[k].text, "rising times");
    Model model;
    const auto each = [&](const Readings& r, std::size_t k, const std::string& name,
                          const std::string& unit) {
      Readings single = r;
      single.list = {r.list[k]};
      model.Add(fmt::format("{} {}", name, k + 1), unit, single);
    };
    model.Add("angle", "rad", *angle);
    for (std::size_t k = 0; k < n; ++k) each(*times, k, "time", "s");
    for (std::size_t k = 0; k < n; ++k) each(*places, k, "place", "m");
    model.Add(gravity, 0);
    test.results.push_back(model.Evaluate("timed slide", [n](const std::vector<double>& q) {
      const auto from = [&](std::size_t first) {
        const auto begin = q.begin() + static_cast<std::ptrdiff_t>(first);
        return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(n));
      };
      return FrictionOfSlide(q[0], SlideAcceleration(from(1), from(1 + n)), q.back());
    }));
    const double a = SlideAcceleration(times->values(), places->values());
    test.results.back().notes.push_back(fmt::format("acceleration {:.4g} m/s^2", a));
  }
  if (!slide) return;
  const Track track = ReadTrack(in);
  const SlideFit fit = FitSlide(track.t, track.s);
  Model model;
  model.Add("angle", "rad", *angle);
  UncertainInput a{"acceleration",
                   track.pixels ? "px/s^2" : "m/s^2",
                   fit.acceleration,
                   fit.sd,
                   Spread::kStudent,
                   static_cast<double>(fit.dof),
                   fmt::format("quadratic through {} places, residuals {:.2g} {}", track.t.size(),
                               fit.rms, track.pixels ? "px" : "m")};
  model.Add(a, 0);
  if (track.pixels) {
    const double scale = in.node().Number("metres_per_px", Positive());
    model.Add(UncertainInput{"metres per px", "m/px", scale,
                             in.node().Number("sd_metres_per_px", 0.0, NonNegative()),
                             Spread::kNormal, std::numeric_limits<double>::infinity(), "stated"},
              0);
  } else {
    model.Add(
        UncertainInput{"scale of lengths", "1", 1, in.node().Number("sd_scale", 0.0, NonNegative()),
                       Spread::kNormal, std::numeric_limits<double>::infinity(), "stated"},
        0);
  }
  model.Add(gravity, 0);
  test.results.push_back(model.Evaluate("tracked slide", [](const std::vector<double>& q) {
    return FrictionOfSlide(q[0], q[1] * q[2], q[3]);
  }));
  if (std::abs(fit.jerk_z) > kDrift)
    test.results.back().notes.push_back(
        fmt::format("the acceleration changes on the way ({:.1f} standard deviations): friction is "
                    "not one number here",
                    fit.jerk_z));
}

void Bounces(Reader& in, CoefficientTest& test) {
  auto times = in.Read("bounce_times", Quantity::kTime);
  if (in.node().Has("bounces")) {
    if (times) throw in.node().Fault("bounces", times->key + " as well", "one of them");
    const Table table = in.File("bounces", {});
    times = Readings{};
    times->key = ColumnNameOf(table, "t", Quantity::kTime);
    for (const double t : SiColumn(table, "t", Quantity::kTime))
      times->list.push_back({t, 0, FormatNumber(t)});
    if (in.node().Has("time_sd_s")) times->sd = in.node().Number("time_sd_s", Positive());
    times->half = times->sd > 0 ? 0 : in.node().Number("time_half_s", Positive());
  }
  if (!times) return;
  const std::vector<double> t = times->values();
  if (t.size() < 3)
    throw in.node().Fault("bounce_times_s", fmt::format("{} impacts", t.size()), "three or more");
  for (std::size_t k = 1; k < t.size(); ++k) {
    if (!(t[k] > t[k - 1]))
      throw in.node().Fault("bounce_times_s", times->list[k].text, "rising times");
    if (k > 1 && t[k] - t[k - 1] > 1.2 * (t[k - 1] - t[k - 2]))
      throw in.node().Fault(
          "bounce_times_s",
          fmt::format("a flight of {:.4g} s after one of {:.4g} s", t[k] - t[k - 1],
                      t[k - 1] - t[k - 2]),
          "flights that grow shorter: an impact is missing before " + times->list[k - 1].text);
  }
  const double u = times->sd > 0 ? times->sd : times->half / std::sqrt(3.0);
  const BounceFit fit = FitBounces(t, u);
  Model model;
  for (std::size_t k = 0; k < t.size(); ++k) {
    Readings single = *times;
    single.list = {times->list[k]};
    model.Add(fmt::format("impact {}", k + 1), "s", single);
  }
  CoefficientResult out = model.Evaluate("bounce times", [&](const std::vector<double>& q) {
    return RestitutionOfBounces(q, fit.weights);
  });
  std::string ratios;
  for (const double r : fit.ratios)
    ratios += (ratios.empty() ? "" : ", ") + fmt::format("{:.3f}", r);
  out.notes.push_back("ratios of successive flights " + ratios);
  if (std::abs(fit.drift_z) > kDrift)
    out.notes.push_back(
        fmt::format("the ratios {} from bounce to bounce ({:.1f} standard deviations): {}; one e "
                    "does not say it all",
                    fit.drift > 0 ? "rise" : "fall", fit.drift_z,
                    fit.drift > 0 ? "e falls with speed, or air drags"
                                  : "e rises with speed, or the body turns or rolls"));
  else if (fit.dof > 0 && fit.probability < kImprobable)
    out.notes.push_back(fmt::format(
        "the ratios scatter more than the times explain (probability {:.1g})", fit.probability));
  test.results.push_back(std::move(out));
}

void Restitution(Reader& in, CoefficientTest& test) {
  const auto pair = [&](const char* first, const char* second, Quantity quantity,
                        const char* method, const char* unit, auto f) {
    const auto a = in.One(first, quantity, Positive()), b = in.One(second, quantity, NonNegative());
    if (a.has_value() != b.has_value())
      throw in.node().Fault(std::string(a ? second : first) + "_" + UnitsOf(quantity)[0],
                            "one of the two", fmt::format("{} and {}, or neither", first, second));
    if (!a) return;
    Model model;
    model.Add(first, unit, *a);
    model.Add(second, unit, *b);
    test.results.push_back(model.Evaluate(
        method, [f](const std::vector<double>& q) { return f(q[0], std::max(0.0, q[1])); }));
  };
  pair("speed_before", "speed_after", Quantity::kVelocity, "velocities", "m/s",
       RestitutionOfVelocities);
  pair("drop_height", "rebound_height", Quantity::kLength, "heights", "m", RestitutionOfHeights);
  Bounces(in, test);
  if (!in.node().Has("events")) return;
  const Table table = in.File("events", {"recording"});
  const std::vector<double> before = SiColumn(table, "v_minus_F_n", Quantity::kVelocity),
                            after = SiColumn(table, "v_plus_F_n", Quantity::kVelocity);
  std::vector<double> ratios;
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    if (table.Has("accepted") && table.Column("accepted")[row] != 1) continue;
    if (!std::isfinite(before[row]) || !std::isfinite(after[row])) continue;
    if (!(before[row] < 0))
      throw table.Fault(row, ColumnNameOf(table, "v_minus_F_n", Quantity::kVelocity),
                        FormatNumber(before[row]), "below 0");
    ratios.push_back(-after[row] / before[row]);
  }
  if (ratios.size() < 2)
    throw DataError(fmt::format("{}: found {} accepted impacts, allowed two or more", table.path,
                                ratios.size()));
  Model model;
  model.Add(MeanOf("e of an impact", "1", ratios, fmt::format("mean of {} impacts", ratios.size())),
            0);
  test.results.push_back(
      model.Evaluate("events", [](const std::vector<double>& q) { return q[0]; }));
}

// Says what no body can do, and what the readings cannot tell.
void Sense(const CoefficientTest& test, CoefficientResult& result) {
  const UncertainResult& r = result.result;
  const bool restitution = test.coefficient == "e_n";
  if (r.interval95.lower > 1 && restitution)
    result.notes.emplace_back(
        "above 1 beyond its uncertainty: no passive drop rebounds so; look at the readings");
  if (r.interval95.upper < 0 || (r.value < 0 && !restitution))
    result.notes.emplace_back(
        "below 0: friction does not drive a slide, nor does a drop end inside the floor; look at "
        "the readings");
  if (r.u > std::max(0.5 * std::abs(r.value), 1e-12))
    result.notes.emplace_back(
        "hardly determined: half a unit of the last digit written is what a reading counts as "
        "known to, so that 0 is 0 +- 0.5; write 0.00, "
        "or state the uncertainty of the readings");
}

void Judge(CoefficientTest& test) {
  for (CoefficientResult& result : test.results) Sense(test, result);
  for (std::size_t k = 1; k < test.results.size(); ++k) {
    const UncertainResult &a = test.results[0].result, &b = test.results[k].result;
    const double u = std::hypot(a.u, b.u), z = u > 0 ? (b.value - a.value) / u : 0;
    test.results[k].notes.push_back(fmt::format(
        "{:+.4f} against {}, {:.1f} standard deviations{}", b.value - a.value,
        test.results[0].method, std::abs(z), std::abs(z) > kDrift ? ": the methods disagree" : ""));
  }
  if (!test.printed.there()) return;
  const std::string printed = fmt::format("{} = {}{}", test.coefficient, test.printed.text,
                                          test.where.empty() ? "" : " (" + test.where + ")");
  if (test.results.empty()) {
    test.verdict = PrintedVerdict::kNotCheckable;
    test.sentence = printed + " is not checkable: the readings behind it are not given";
    return;
  }
  for (const CoefficientResult& r : test.results) {
    if (std::abs(test.printed.value - r.rounded.value) > r.rounded.bound + test.printed.half)
      continue;
    test.verdict = PrintedVerdict::kFollows;
    test.sentence =
        fmt::format("{} follows from its readings ({}); they leave {:.3f} to {:.3f} (95 %)",
                    printed, r.method, r.result.interval95.lower, r.result.interval95.upper);
    return;
  }
  const CoefficientResult& r = test.results[0];
  const bool inside = test.printed.value >= r.result.interval95.lower &&
                      test.printed.value <= r.result.interval95.upper;
  test.verdict = PrintedVerdict::kErratum;
  test.sentence = fmt::format(
      "{} is an erratum: its readings give {:.3f} ({:.3f} to {:.3f} for all that round to them); "
      "as measurements they leave {:.3f} to "
      "{:.3f} (95 %) and {} it",
      printed, r.result.value, r.rounded.value - r.rounded.bound, r.rounded.value + r.rounded.bound,
      r.result.interval95.lower, r.result.interval95.upper, inside ? "contain" : "exclude");
}

}  // namespace

const char* VerdictName(PrintedVerdict verdict) {
  switch (verdict) {
    case PrintedVerdict::kNone:
      return "";
    case PrintedVerdict::kFollows:
      return "follows";
    case PrintedVerdict::kErratum:
      return "erratum";
    case PrintedVerdict::kNotCheckable:
      return "not checkable";
  }
  return "";
}

CoefficientTests LoadCoefficients(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  CoefficientTests all;
  all.inputs.push_back(path);
  root.Choice("schema", {"impactlab.coefficients/1"});
  all.name = root.Text("name", path.stem().string());
  all.source = root.Text("source", "");
  const UncertainInput gravity =
      Rectangular("gravity", "m/s^2", root.Number("gravity_m_per_s2", 9.80665, Positive()),
                  root.Number("gravity_half_m_per_s2", 0.0, NonNegative()), "stated");
  for (const YamlNode& node : root.List("tests")) {
    CoefficientTest test;
    test.kind = node.Choice("kind", {"static_friction", "kinetic_friction", "restitution"});
    test.coefficient = test.kind == "static_friction"    ? "mu_s"
                       : test.kind == "kinetic_friction" ? "mu_k"
                                                         : "e_n";
    test.name = node.Text("name", test.kind);
    test.where = node.Text("where", "");
    if (node.Has("printed")) {
      const auto printed = ReadPrinted(node.Text("printed"));
      if (!printed)
        throw node.Fault("printed", Excerpt(node.Text("printed")), "a number as printed");
      test.printed = *printed;
    }
    Reader in(node, all);
    if (test.kind == "static_friction")
      StaticFriction(in, test);
    else if (test.kind == "kinetic_friction")
      KineticFriction(in, test, gravity);
    else
      Restitution(in, test);
    if (test.results.empty() && !test.printed.there())
      throw node.Fault("kind", "neither readings nor a printed value",
                       "one of them: see the keys of " + test.kind);
    Judge(test);
    all.tests.push_back(std::move(test));
  }
  root.Finish();
  return all;
}

}  // namespace impactlab
