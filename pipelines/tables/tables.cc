#include "pipelines/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "pipelines/tables/event_columns.h"
#include "reconstruction/pose/missing_attitude.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

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
  for (const pipelines::StruckColumn& column : pipelines::StruckColumns())
    stems.push_back({column.stem, column.quantity});
  return stems;
}

// The table of one file, with its columns in SI by stem.
class EventTable {
 public:
  explicit EventTable(const std::filesystem::path& path) {
    const std::vector<Stem> stems = KnownStems();
    CsvOptions options;
    options.empty_is_nan = true;
    options.min_rows = 0;
    options.is_text = [&](std::string_view name) {
      const std::string stem = SplitUnit(name).stem;
      return std::none_of(stems.begin(), stems.end(),
                          [&](const Stem& s) { return s.name == stem || s.name == name; });
    };
    table_ = ReadCsv(path, options);
    for (const Stem& s : stems) {
      const bool there =
          std::any_of(table_.columns.begin(), table_.columns.end(),
                      [&](const std::string& name) { return SplitUnit(name).stem == s.name; });
      // A column of the right name in a unit of another quantity is refused here, not left out.
      if (there) columns_[s.name] = SiColumn(table_, s.name, s.quantity);
    }
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
  // DataError about a cell found by its stem.
  DataError Fault(std::size_t row, const std::string& stem, const std::string& allowed) const {
    std::string name = stem;
    for (const std::string& column : table_.columns) {
      if (SplitUnit(column).stem == stem) name = column;
    }
    const double value = Get(stem, row, std::nan(""));
    return table_.Fault(row, name, std::isfinite(value) ? FormatNumber(value) : "an empty cell",
                        allowed);
  }
  [[noreturn]] void Missing(const std::string& what, const std::string& allowed) const {
    throw DataError(fmt::format("{}: found {}, allowed {}; the file has {}", table_.path, what,
                                allowed, JoinNames(table_.columns)));
  }

 private:
  Table table_;
  std::map<std::string, std::vector<double>> columns_;
};

void CheckColumns(const EventTable& in, const Body& body) {
  if (!in.table().HasText("recording"))
    in.Missing("no column recording", "a column that names the recording of every event");
  const std::vector<std::string>& names = pipelines::EventComponents();
  for (const int i : pipelines::ActiveRows(body.planar)) {
    if (i < kLever && !in.Has(names[i])) {
      const bool spin = (i / 3) % 2 == 1;
      in.Missing(
          fmt::format("no column {}", names[i]),
          fmt::format("{}_{} or another unit of {}", names[i], spin ? "rad_per_s" : "m_per_s",
                      spin ? "angular velocity" : "velocity"));
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

ImpactEvent EventOf(const EventTable& in, std::size_t row, const Body& body, const Plane& floor,
                    const Vector3d& gravity_W) {
  ImpactEvent e;
  e.planar = body.planar;
  e.recording = in.Text("recording", row);
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
  const std::vector<std::string>& names = pipelines::EventComponents();
  const std::vector<int> active = pipelines::ActiveRows(body.planar);
  // A ball's impulse follows from its velocities alone.
  const bool spin_unknown = e.accepted && body.shape == BodyShape::kBall &&
                            !e.omega_minus.allFinite() && !e.omega_plus.allFinite();
  for (int i = 0; i < kEventDim; ++i) {
    const double value = in.Get(names[i], row, 0);
    const bool spin = i < kLever && (i / 3) % 2 == 1;
    if (spin_unknown && spin) continue;
    if (e.accepted && !std::isfinite(value))
      throw in.Fault(row, names[i], "a finite number in an accepted event");
    if (std::find(active.begin(), active.end(), i) == active.end() && std::abs(value) > 0) {
      throw in.Fault(row, names[i],
                     "0 or no such column in planar motion, which runs in the x-z plane");
    }
  }
  if (!has_accepted || e.accepted || in.Has("qw")) {
    if (e.accepted || std::isfinite(in.Get("qw", row, 1)))
      e.X_WB.linear() = Attitude(in, row, body.planar);
  }
  e.X_WB.translation() = Vector3d(in.Get("x", row, 0), in.Get("y", row, 0), in.Get("z", row, 0));
  if (in.HasVector("p", body.planar) && in.Has("x") && in.Has("z")) {
    e.p_WP = VectorAt(in, "p", row);
  } else if (in.HasVector("r", body.planar)) {
    e.p_WP = e.X_WB.translation() + VectorAt(in, "r", row);
  } else {
    const Vector3d n = floor.normal.normalized();
    e.p_WP = e.X_WB * SupportLever(body, e.X_WB.linear().transpose() * n);
  }
  if (e.accepted && !e.p_WP.allFinite())
    throw in.Fault(row, in.Has("p_x") ? "p_x" : "r_x",
                   "a finite contact point in an accepted event");
  for (int i = 0; i < kEventDim; ++i) {
    const double sd = in.Get("sd_" + names[i], row, 0);
    if (sd < 0) throw in.Fault(row, "sd_" + names[i], "a standard deviation of at least 0");
    e.cov(i, i) = sd * sd;
  }
  e.frames_minus = in.Count("frames_minus", row);
  e.frames_plus = in.Count("frames_plus", row);
  e.frames_lost = in.Count("frames_lost", row);
  e.sigma_position = in.Get("sigma_position", row, 0);
  e.sigma_angle = in.Get("sigma_angle", row, 0);
  e.struck = StruckOf(in, row, e.accepted);
  if (spin_unknown) TakeSpinAsUnknown(e, body, floor, gravity_W, {});
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

void WriteEvents(const std::filesystem::path& folder, std::span<const ImpactEvent> events) {
  const bool struck = std::any_of(events.begin(), events.end(),
                                  [](const ImpactEvent& e) { return e.struck.has_value(); });
  CsvWriter table(folder / "events.csv", pipelines::EventColumns(struck));
  for (const ImpactEvent& event : events) {
    pipelines::WriteEventCells(table, event, struck);
    table.EndRow();
  }
  const bool planar = std::all_of(events.begin(), events.end(), [](const ImpactEvent& e) {
    return e.planar || e.reason == RejectReason::kBadRecording;
  });
  const std::vector<int> active = pipelines::ActiveRows(planar);
  std::vector<std::string> columns = {"recording", "impact"};
  for (std::size_t a = 0; a < active.size(); ++a) {
    for (std::size_t b = a; b < active.size(); ++b)
      columns.push_back(pipelines::CovarianceColumn(active[a], active[b]));
  }
  CsvWriter sidecar(folder / "events_cov.csv", columns);
  for (const ImpactEvent& event : events) {
    sidecar.Text(event.recording).Integer(event.impact);
    for (std::size_t a = 0; a < active.size(); ++a) {
      for (std::size_t b = a; b < active.size(); ++b)
        sidecar.Number(event.cov(active[a], active[b]));
    }
    sidecar.EndRow();
  }
  sidecar.Commit();
  table.Commit();
}

std::vector<ImpactEvent> ReadEvents(const std::filesystem::path& events_csv, const Body& body,
                                    const Plane& floor, const Vector3d& gravity_W) {
  const EventTable in(events_csv);
  CheckColumns(in, body);
  std::vector<ImpactEvent> events;
  std::set<std::pair<std::string, int>> seen;
  for (std::size_t row = 0; row < in.n_rows(); ++row) {
    events.push_back(EventOf(in, row, body, floor, gravity_W));
    const ImpactEvent& e = events.back();
    if (!seen.emplace(e.recording, e.impact).second) {
      throw in.table().Fault(row, "recording",
                             fmt::format("impact {} of {} again", e.impact, Excerpt(e.recording)),
                             "every impact of a recording once");
    }
  }
  const std::filesystem::path sidecar = SidecarOf(events_csv);
  if (std::filesystem::exists(sidecar)) ReadCovariances(sidecar, body.planar, events);
  return events;
}

void WriteMotion(const std::filesystem::path& path, std::span<const MotionFit> fits) {
  std::vector<std::string> columns = {"recording", "kind", "first_frame", "last_frame",
                                      "duration_s"};
  for (const char* stem : {"acceleration", "sd_acceleration"}) {
    for (const char axis : {'x', 'y', 'z'})
      columns.push_back(fmt::format("{}_{}_m_per_s2", stem, axis));
  }
  for (const char* name :
       {"rms_position_m", "rms_angle_rad", "omega_drift", "x_m", "y_m", "z_m", "qw", "qx", "qy",
        "qz", "sd_position_m", "sd_angle_rad", "sigma_position_m", "sigma_angle_rad", "dof"}) {
    columns.emplace_back(name);
  }
  CsvWriter out(path, columns);
  const auto empty = [&](int n) {
    for (int i = 0; i < n; ++i) out.Number(std::nan(""));
  };
  const auto vector = [&](const Vector3d& v) { out.Number(v.x()).Number(v.y()).Number(v.z()); };
  for (const MotionFit& fit : fits) {
    const auto end_row = [&] {
      out.Number(fit.sigma_position).Number(fit.sigma_angle).Integer(fit.dof);
      out.EndRow();
    };
    for (const FlightArc& arc : fit.arcs) {
      out.Text(arc.recording)
          .Text("flight")
          .Integer(arc.first)
          .Integer(arc.last)
          .Number(arc.duration);
      vector(arc.acceleration_W);
      vector(arc.sd_acceleration);
      out.Number(arc.rms_position).Number(arc.rms_angle).Number(arc.omega_drift);
      empty(9);
      end_row();
    }
    for (const RestPose& rest : fit.rests) {
      out.Text(rest.recording).Text("rest").Integer(rest.first).Integer(rest.last);
      empty(10);
      vector(rest.X_WB.translation());
      const Eigen::Quaterniond q(rest.X_WB.linear());
      out.Number(q.w())
          .Number(q.x())
          .Number(q.y())
          .Number(q.z())
          .Number(rest.sd_position)
          .Number(rest.sd_angle);
      end_row();
    }
  }
  out.Commit();
}

}  // namespace impactlab
