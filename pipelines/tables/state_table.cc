#include "pipelines/tables/state_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "data/files/column_map.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "pipelines/tables/event_columns.h"
#include "pipelines/tables/mat_table.h"
#include "reconstruction/pose/missing_attitude.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using pipelines::ReadMatTable;

// A sidecar of another table must not be used for this one: its standard deviations would differ.
constexpr double kSidecarTolerance = 1e-6;

struct Stem {
  std::string name;
  Quantity quantity;
};

// Every numeric column that the reader looks at; other columns may hold anything.
std::vector<Stem> KnownStems() {
  std::vector<Stem> stems;
  for (const char* name : {"impact", "planar", "accepted", "frames_minus", "frames_plus",
                           "frames_lost", "qw", "qx", "qy", "qz"}) {
    stems.push_back({name, Quantity::kDimensionless});
  }
  for (const char* name : {"t", "sd_t"}) stems.push_back({name, Quantity::kTime});
  for (const char* name : {"x", "y", "z", "p_x", "p_y", "p_z", "sigma_position"})
    stems.push_back({name, Quantity::kLength});
  for (const char* name : {"theta", "sigma_angle"}) stems.push_back({name, Quantity::kAngle});
  for (int i = 0; i < kEventDim; ++i) {
    const int block = i / 3;
    const Quantity quantity = block == 4       ? Quantity::kLength
                              : block % 2 == 0 ? Quantity::kVelocity
                                               : Quantity::kAngularVelocity;
    const std::string& name = pipelines::EventComponents()[i];
    stems.push_back({name, quantity});
    stems.push_back({"sd_" + name, quantity});
  }
  for (const char* side : {"minus", "plus"}) {
    for (const char* of : {"theta_dot_", "sd_theta_dot_"})
      stems.push_back({std::string(of) + side, Quantity::kAngularVelocity});
  }
  for (const pipelines::StruckColumn& column : pipelines::StruckColumns())
    stems.push_back({column.stem, column.quantity});
  return stems;
}

constexpr const char* kRecording = "recording";

// Columns of `path` under the names that the experiment file gives them, by ours. ConfigError,
// DataError.
std::map<std::string, MappedColumn> MapColumns(const Table& header, const StateColumns& columns,
                                               const std::vector<Stem>& stems) {
  std::map<std::string, MappedColumn> mapped;
  for (const std::pair<const std::string, std::string>& column : columns) {
    const auto stem = std::find_if(stems.begin(), stems.end(),
                                   [&](const Stem& s) { return s.name == column.first; });
    const Quantity quantity = stem == stems.end() ? Quantity::kDimensionless : stem->quantity;
    mapped[column.first] = MapColumn(header, column.first, quantity, column.second);
  }
  return mapped;
}

// The table of one file, with its columns in SI by stem.
class EventTable {
 public:
  EventTable(const std::filesystem::path& path, const StateColumns& columns) {
    const std::vector<Stem> stems = KnownStems();
    if (!columns.empty()) mapped_ = MapColumns(HeaderOf(path), columns, stems);
    CsvOptions options;
    options.empty_is_nan = true;
    options.min_rows = 0;
    options.is_text = [&](std::string_view name) {
      for (const auto& [own, theirs] : mapped_)
        if (theirs.name == name) return own == kRecording;
      const std::string stem = SplitUnit(name).stem;
      return std::none_of(stems.begin(), stems.end(),
                          [&](const Stem& s) { return s.name == stem || s.name == name; });
    };
    table_ = path.extension() == ".mat" ? ReadMatTable(path, options) : ReadCsv(path, options);
    for (const Stem& s : stems) ReadColumn(s);
    TakeThetaDot();
  }

  const Table& table() const { return table_; }
  std::size_t n_rows() const { return table_.n_rows(); }
  bool Has(const std::string& stem) const { return columns_.count(stem) > 0; }
  bool HasVector(const std::string& stem, bool planar) const {
    return Has(stem + "_x") && Has(stem + "_z") && (planar || Has(stem + "_y"));
  }
  double Get(const std::string& stem, std::size_t row, double otherwise) const {
    const auto place = columns_.find(stem);
    return place == columns_.end() ? otherwise : place->second[row];
  }
  int Count(const std::string& stem, std::size_t row) const {
    const double value = Get(stem, row, 0);
    if (!(value == std::floor(value) && value >= 0 && value < 1e9))
      throw Fault(row, stem, "a whole number of at least 0");
    return static_cast<int>(value);
  }
  std::string Text(const std::string& name, std::size_t row) const {
    return table_.HasText(name) ? table_.TextColumn(name)[row] : std::string();
  }
  bool HasRecording() const { return table_.HasText(NameOf(kRecording)); }
  std::string Recording(std::size_t row) const { return Text(NameOf(kRecording), row); }
  // Name of a stem's column in the file; the stem itself where there is none.
  std::string NameOf(const std::string& stem) const {
    const auto place = mapped_.find(stem);
    if (place != mapped_.end()) return place->second.name;
    for (const std::string& column : table_.columns)
      if (SplitUnit(column).stem == stem) return column;
    return stem;
  }
  // DataError about a cell found by its stem.
  DataError Fault(std::size_t row, const std::string& stem, const std::string& allowed) const {
    const std::string name = NameOf(stem);
    const double value = Get(stem, row, std::nan(""));
    return table_.Fault(row, name, std::isfinite(value) ? FormatNumber(value) : "an empty cell",
                        allowed);
  }
  [[noreturn]] void Missing(const std::string& what, const std::string& allowed) const {
    std::vector<std::string> all = table_.columns;
    all.insert(all.end(), table_.text_columns.begin(), table_.text_columns.end());
    throw DataError(fmt::format(
        "{}: found {}, allowed {}; the file has {}; other names are given to ours by states: "
        "{{columns: {{...}}}} in the experiment file",
        table_.path, what, allowed, JoinNames(all)));
  }

 private:
  static Table HeaderOf(const std::filesystem::path& path) {
    Table header;
    header.path = path.string();
    CsvOptions text;
    text.is_text = [](std::string_view) { return true; };
    text.min_rows = 0;
    header.columns =
        (path.extension() == ".mat" ? ReadMatTable(path, text) : ReadCsv(path, text)).text_columns;
    header.values.resize(header.columns.size());
    return header;
  }
  // A column of the right name in a unit of another quantity is refused, not left out.
  void ReadColumn(const Stem& s) {
    const auto place = mapped_.find(s.name);
    if (place != mapped_.end()) {
      std::vector<double>& column = columns_[s.name] = table_.Column(place->second.name);
      for (double& value : column) value *= place->second.to_si;
      return;
    }
    const bool there =
        std::any_of(table_.columns.begin(), table_.columns.end(), [&](const std::string& name) {
          const bool taken = std::any_of(mapped_.begin(), mapped_.end(), [&](const auto& pair) {
            return pair.second.name == name;
          });
          return !taken && SplitUnit(name).stem == s.name;
        });
    if (there) columns_[s.name] = SiColumn(table_, s.name, s.quantity);
  }
  // theta_dot counts counter-clockwise, about -W_y.
  void TakeThetaDot() {
    for (const std::string side : {"minus", "plus"}) {
      const std::string own = "omega_" + side + "_y", other = "theta_dot_" + side;
      if (!Has(other)) continue;
      if (Has(own))
        Missing(fmt::format("{} and {}", NameOf(own), NameOf(other)),
                "one of them, of which the other is the negative");
      columns_[own] = columns_[other];
      for (double& value : columns_[own]) value = -value;
      if (Has("sd_" + other)) columns_["sd_" + own] = columns_["sd_" + other];
      if (mapped_.contains(other)) mapped_[own] = mapped_[other];
    }
  }

  std::map<std::string, MappedColumn> mapped_;
  Table table_;
  std::map<std::string, std::vector<double>> columns_;
};

void CheckColumns(const EventTable& in, const Body& body) {
  if (!in.HasRecording())
    in.Missing("no column recording", "a column that names the recording of every event");
  const std::vector<std::string>& names = pipelines::EventComponents();
  for (const int i : pipelines::ActiveRows(body.planar)) {
    if (i < kLever && !in.Has(names[i])) {
      const bool spin = (i / 3) % 2 == 1;
      in.Missing(
          fmt::format("no column {}", names[i]),
          fmt::format("{}_{} or another unit of {}{}", names[i], spin ? "rad_per_s" : "m_per_s",
                      spin ? "angular velocity" : "velocity",
                      spin && body.planar
                          ? fmt::format(", or theta_dot_{}_rad_per_s, its negative, which counts "
                                        "counter-clockwise seen with x right and z up",
                                        i < kVPlus ? "minus" : "plus")
                          : ""));
    }
  }
  const bool attitude = in.Has("qw") && in.Has("qx") && in.Has("qy") && in.Has("qz");
  const Eigen::Matrix3d& I = body.inertia_B;
  const bool isotropic =
      (I - I(0, 0) * Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() <= 1e-9 * std::abs(I(0, 0));
  if (!body.planar && !attitude && !isotropic) {
    in.Missing("no attitude (qw, qx, qy, qz)",
               "an attitude, which a body of unequal moments of inertia needs");
  }
  const bool contact = in.HasVector("r", body.planar) ||
                       (in.HasVector("p", body.planar) && in.Has("x") && in.Has("z"));
  if (!contact && body.shape != BodyShape::kBall && !attitude &&
      !(body.planar && in.Has("theta"))) {
    in.Missing("no contact point",
               "the lever r_x_m, r_y_m, r_z_m, a contact point p_x_m ... with a centre x_m ..., or "
               "an attitude from which the lowest point follows");
  }
}

Eigen::Matrix3d Attitude(const EventTable& in, std::size_t row, bool planar) {
  if (in.Has("qw") && in.Has("qx") && in.Has("qy") && in.Has("qz")) {
    Eigen::Quaterniond q(in.Get("qw", row, 1), in.Get("qx", row, 0), in.Get("qy", row, 0),
                         in.Get("qz", row, 0));
    if (!(std::abs(q.norm() - 1) < 0.01))
      throw in.Fault(
          row, "qw",
          fmt::format("a quaternion of length 1 within 0.01 (this one has {:.6g})", q.norm()));
    // what was written by this program stays as it is
    if (std::abs(q.norm() - 1) > 1e-14) q.normalize();
    return q.toRotationMatrix();
  }
  return planar ? PlanarPose(0, 0, in.Get("theta", row, 0)).linear()
                : Eigen::Matrix3d(Eigen::Matrix3d::Identity());
}

Vector3d VectorAt(const EventTable& in, const std::string& stem, std::size_t row) {
  return {in.Get(stem + "_x", row, 0), in.Get(stem + "_y", row, 0), in.Get(stem + "_z", row, 0)};
}

RejectReason ReasonOf(const EventTable& in, std::size_t row) {
  const std::string word = in.Text("reason", row);
  std::vector<std::string> known;
  for (int k = 0; k <= static_cast<int>(RejectReason::kBadRecording); ++k) {
    const RejectReason reason = static_cast<RejectReason>(k);
    if (word == ReasonName(reason)) return reason;
    if (k > 0) known.emplace_back(ReasonName(reason));
  }
  throw in.table().Fault(row, "reason", Excerpt(word), "nothing, " + JoinNames(known));
}

// The struck body of a row where it moves as well; a table has all of its columns or none, a row
// that was not accepted may leave them empty.
std::optional<StruckState> StruckOf(const EventTable& in, std::size_t row, bool accepted) {
  std::vector<double> numbers;
  std::string missing;
  std::size_t empty = 0;
  for (const pipelines::StruckColumn& column : pipelines::StruckColumns()) {
    if (!in.Has(column.stem) && missing.empty())
      missing = column.stem + (column.unit.empty() ? "" : "_" + column.unit);
    numbers.push_back(in.Get(column.stem, row, std::nan("")));
    empty += !std::isfinite(numbers.back());
  }
  if (!missing.empty()) {
    const bool none = empty == numbers.size();
    if (none) return std::nullopt;
    in.Missing("no column " + missing, "all columns of the struck body, or none");
  }
  if (empty == numbers.size() && !accepted) return std::nullopt;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (!std::isfinite(numbers[k]))
      throw in.Fault(row, pipelines::StruckColumns()[k].stem, "a finite number of the struck body");
  }
  StruckState struck = pipelines::StruckFromNumbers(numbers);
  const double q =
      std::hypot(std::hypot(numbers[3], numbers[4]), std::hypot(numbers[5], numbers[6]));
  if (!(std::abs(q - 1) < 0.01))
    throw in.Fault(row, "q2w",
                   fmt::format("a quaternion of length 1 within 0.01 (this one has {:.6g})", q));
  if (!(std::abs(struck.normal.norm() - 1) < 1e-6))
    throw in.Fault(row, "n2_x", "a unit vector n2_x, n2_y, n2_z");
  return struck;
}

// Every component of an accepted event is finite, but for spins that need not be known; in planar
// motion only those of the plane are not 0.
void CheckComponents(const EventTable& in, std::size_t row, const ImpactEvent& e,
                     bool needs_spin_before, bool needs_spin_after) {
  const std::vector<std::string>& names = pipelines::EventComponents();
  const std::vector<int> active = pipelines::ActiveRows(e.planar);
  for (int i = 0; i < kEventDim; ++i) {
    const double value = in.Get(names[i], row, 0);
    const bool spin = i < kLever && (i / 3) % 2 == 1;
    if (spin && !(i < kVPlus ? needs_spin_before : needs_spin_after)) continue;
    if (e.accepted && !std::isfinite(value))
      throw in.Fault(row, names[i], "a finite number in an accepted event");
    if (std::find(active.begin(), active.end(), i) == active.end() && std::abs(value) > 0) {
      throw in.Fault(row, names[i],
                     "0 or no such column in planar motion, which runs in the x-z plane");
    }
  }
}

// As stated, or from the lever; else the body's lowest point.
Vector3d ContactPointOf(const EventTable& in, std::size_t row, const ImpactEvent& e,
                        const Body& body, const Plane& floor) {
  Vector3d p_WP;
  if (in.HasVector("p", body.planar) && in.Has("x") && in.Has("z")) {
    p_WP = VectorAt(in, "p", row);
  } else if (in.HasVector("r", body.planar)) {
    p_WP = e.X_WB.translation() + VectorAt(in, "r", row);
  } else {
    const Vector3d n = floor.normal.normalized();
    p_WP = e.X_WB * SupportLever(body, e.X_WB.linear().transpose() * n);
  }
  if (e.accepted && !p_WP.allFinite())
    throw in.Fault(row, in.Has("p_x") ? "p_x" : "r_x",
                   "a finite contact point in an accepted event");
  return p_WP;
}

ImpactEvent EventOf(const EventTable& in, std::size_t row, const Body& body, const Plane& floor,
                    const Vector3d& gravity_W) {
  ImpactEvent e;
  e.planar = body.planar;
  e.recording = in.Recording(row);
  e.impact = in.Count("impact", row);
  e.t = in.Get("t", row, 0);
  e.sd_t = in.Get("sd_t", row, 0);
  const bool has_accepted = in.Has("accepted");
  const double accepted = in.Get("accepted", row, 1);
  if (accepted != 0 && accepted != 1) throw in.Fault(row, "accepted", "0 or 1");
  e.accepted = accepted == 1;
  // A recording that could not be read is listed without knowing its kind.
  if (e.accepted && in.Has("planar") && (in.Get("planar", row, 0) != 0) != body.planar) {
    throw in.Fault(row, "planar",
                   fmt::format("{}, as the body '{}' is {}", body.planar ? 1 : 0, body.name,
                               body.planar ? "planar" : "spatial"));
  }
  if (has_accepted) e.reason = ReasonOf(in, row);  // elsewhere the text is free
  e.detail = in.Text("detail", row);
  e.v_minus = VectorAt(in, "v_minus", row);
  e.omega_minus = VectorAt(in, "omega_minus", row);
  e.v_plus = VectorAt(in, "v_plus", row);
  e.omega_plus = VectorAt(in, "omega_plus", row);
  // A ball's impulse follows from its velocities alone.
  const bool ball = e.accepted && body.shape == BodyShape::kBall;
  const bool knows_before = e.omega_minus.allFinite(), knows_after = e.omega_plus.allFinite();
  const bool spin_unknown = ball && (!knows_before || !knows_after);
  CheckComponents(in, row, e, !ball || knows_before, !ball || knows_after);
  if (!has_accepted || e.accepted || in.Has("qw")) {
    if (e.accepted || std::isfinite(in.Get("qw", row, 1)))
      e.X_WB.linear() = Attitude(in, row, body.planar);
  }
  e.X_WB.translation() = Vector3d(in.Get("x", row, 0), in.Get("y", row, 0), in.Get("z", row, 0));
  e.p_WP = ContactPointOf(in, row, e, body, floor);
  const std::vector<std::string>& names = pipelines::EventComponents();
  for (int i = 0; i < kEventDim; ++i) {
    const double sd = in.Get("sd_" + names[i], row, 0);
    if (spin_unknown && !std::isfinite(sd)) continue;
    if (sd < 0) throw in.Fault(row, "sd_" + names[i], "a standard deviation of at least 0");
    e.cov(i, i) = sd * sd;
  }
  e.frames_minus = in.Count("frames_minus", row);
  e.frames_plus = in.Count("frames_plus", row);
  e.frames_lost = in.Count("frames_lost", row);
  e.sigma_position = in.Get("sigma_position", row, 0);
  e.sigma_angle = in.Get("sigma_angle", row, 0);
  e.struck = StruckOf(in, row, e.accepted);
  if (spin_unknown) {
    KnownSpin before;
    if (knows_before)
      before = {e.omega_minus, e.cov.block<3, 3>(kOmegaMinus, kOmegaMinus)};
    else if (knows_after)
      before = SpinBefore(e, body, {e.omega_plus, e.cov.block<3, 3>(kOmegaPlus, kOmegaPlus)});
    TakeSpinAsUnknown(e, body, floor, gravity_W, before);
  }
  UpdateContact(e, body, floor, gravity_W);
  if (!has_accepted && !(e.contact.v_minus_F.z() < 0)) {
    e.accepted = false;
    e.reason = RejectReason::kNoApproach;
    e.detail = fmt::format("normal velocity of the contact point {:.3g} m/s, allowed below 0",
                           e.contact.v_minus_F.z());
  }
  return e;
}

std::filesystem::path SidecarOf(const std::filesystem::path& events_csv) {
  std::filesystem::path sidecar = events_csv;
  return sidecar.replace_filename(events_csv.stem().string() + "_cov.csv");
}

// Sets the covariances of the events that the sidecar lists.
void ReadCovariances(const std::filesystem::path& path, bool planar,
                     std::vector<ImpactEvent>& events) {
  CsvOptions options;
  options.text_columns = {"recording"};
  options.empty_is_nan = true;
  options.min_rows = 0;
  const Table table = ReadCsv(path, options);
  std::map<std::pair<std::string, double>, std::size_t> rows;
  const auto& recordings = table.TextColumn("recording");
  const auto& impacts = table.Column("impact");
  for (std::size_t k = 0; k < table.n_rows(); ++k) {
    if (!rows.emplace(std::pair(recordings[k], impacts[k]), k).second) {
      throw table.Fault(
          k, "impact",
          fmt::format("impact {} of '{}' again", FormatNumber(impacts[k]), recordings[k]),
          "every impact of a recording once");
    }
  }
  const bool any =
      std::any_of(events.begin(), events.end(), [](const ImpactEvent& e) { return e.accepted; });
  if (!any && !table.Has(pipelines::CovarianceColumn(kVMinus + 1, kVMinus + 1))) planar = true;
  const std::vector<int> active = pipelines::ActiveRows(planar);
  std::vector<const std::vector<double>*> columns;
  for (std::size_t a = 0; a < active.size(); ++a) {
    for (std::size_t b = a; b < active.size(); ++b)
      columns.push_back(&table.Column(pipelines::CovarianceColumn(active[a], active[b])));
  }
  for (ImpactEvent& e : events) {
    const auto row = rows.find(std::pair(e.recording, static_cast<double>(e.impact)));
    if (row == rows.end()) continue;
    EventCovariance cov = EventCovariance::Zero();
    std::size_t column = 0;
    for (std::size_t a = 0; a < active.size(); ++a) {
      for (std::size_t b = a; b < active.size(); ++b)
        cov(active[a], active[b]) = cov(active[b], active[a]) = (*columns[column++])[row->second];
    }
    for (const int i : active) {
      const std::string name = pipelines::CovarianceColumn(i, i);
      if (e.accepted && !(cov(i, i) >= 0))
        throw table.Fault(row->second, name, FormatNumber(cov(i, i)), "a variance of at least 0");
      if (e.cov(i, i) > 0 &&
          !(std::abs(std::sqrt(cov(i, i) / e.cov(i, i)) - 1) < kSidecarTolerance)) {
        throw table.Fault(row->second, name, FormatNumber(cov(i, i)),
                          fmt::format("the square of the table's sd_{}, {}; remove the sidecar "
                                      "where it belongs to another table",
                                      pipelines::EventComponents()[i], FormatNumber(e.cov(i, i))));
      }
    }
    e.cov = cov;
  }
}

}  // namespace

std::vector<std::string> StateColumnNames() {
  std::vector<std::string> names = {kRecording};
  const std::vector<pipelines::StruckColumn>& struck = pipelines::StruckColumns();
  for (const Stem& stem : KnownStems()) {
    if (std::none_of(struck.begin(), struck.end(), [&](const pipelines::StruckColumn& column) {
          return column.stem == stem.name;
        }))
      names.push_back(stem.name);
  }
  return names;
}

EventStates ReadStates(const std::filesystem::path& path, const Body& body, const Plane& floor,
                       const Vector3d& gravity_W, const StateColumns& columns) {
  const EventTable in(path, columns);
  CheckColumns(in, body);
  EventStates out;
  std::set<std::pair<std::string, int>> seen;
  for (std::size_t row = 0; row < in.n_rows(); ++row) {
    out.events.push_back(EventOf(in, row, body, floor, gravity_W));
    const ImpactEvent& e = out.events.back();
    if (!seen.emplace(e.recording, e.impact).second) {
      throw in.table().Fault(row, in.NameOf(kRecording),
                             fmt::format("impact {} of {} again", e.impact, Excerpt(e.recording)),
                             "every impact of a recording once");
    }
  }
  const std::filesystem::path sidecar = SidecarOf(path);
  if (std::filesystem::exists(sidecar)) ReadCovariances(sidecar, body.planar, out.events);
  const std::string of_run = "A_F_xx_per_kg";
  out.of_run = in.Has("accepted") && (in.table().HasText(of_run) || in.table().Has(of_run));
  const bool quaternion = in.Has("qw") && in.Has("qx") && in.Has("qy") && in.Has("qz");
  out.attitudes = body.shape == BodyShape::kBall || quaternion || (body.planar && in.Has("theta"));
  out.places = in.Has("x") && in.Has("z") && (body.planar || in.Has("y"));
  if (body.planar && !quaternion && in.Has("theta")) out.theta_column = in.NameOf("theta");
  return out;
}

std::vector<ImpactEvent> ReadEvents(const std::filesystem::path& events_csv, const Body& body,
                                    const Plane& floor, const Vector3d& gravity_W) {
  return ReadStates(events_csv, body, floor, gravity_W).events;
}

}  // namespace impactlab
