#include "pipelines/tables/event_columns.h"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

namespace impactlab::pipelines {
namespace {

enum class Kind { kVelocity, kSpin, kLength };

Kind KindOf(int component) {
  const int block = component / 3;
  return block == kLever / 3 ? Kind::kLength : block % 2 == 0 ? Kind::kVelocity : Kind::kSpin;
}

const char* UnitOfComponent(int component) {
  constexpr const char* kUnits[] = {"m_per_s", "rad_per_s", "m"};
  return kUnits[static_cast<int>(KindOf(component))];
}

const char* ProductUnit(int a, int b) {
  constexpr const char* kUnits[3][3] = {{"m2_per_s2", "m_rad_per_s2", "m2_per_s"},
                                        {"m_rad_per_s2", "rad2_per_s2", "m_rad_per_s"},
                                        {"m2_per_s", "m_rad_per_s", "m2"}};
  return kUnits[static_cast<int>(KindOf(a))][static_cast<int>(KindOf(b))];
}

Eigen::Matrix<double, kEventDim, 1> Measured(const ImpactEvent& e) {
  Eigen::Matrix<double, kEventDim, 1> x;
  x << e.v_minus, e.omega_minus, e.v_plus, e.omega_plus, e.p_WP - e.X_WB.translation();
  return x;
}

}  // namespace

const std::vector<std::string>& EventComponents() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const char* block : {"v_minus", "omega_minus", "v_plus", "omega_plus", "r"}) {
      for (const char axis : {'x', 'y', 'z'}) all.push_back(fmt::format("{}_{}", block, axis));
    }
    return all;
  }();
  return names;
}

std::vector<int> ActiveRows(bool planar) {
  std::vector<int> rows;
  for (int i = 0; i < kEventDim; ++i) {
    const bool spin = KindOf(i) == Kind::kSpin;
    if (!planar || (i % 3 == 1) == spin) rows.push_back(i);
  }
  return rows;
}

std::string CovarianceColumn(int row, int column) {
  const auto& names = EventComponents();
  return fmt::format("cov_{}_{}_{}", names[row], names[column], ProductUnit(row, column));
}

const std::vector<StruckColumn>& StruckColumns() {
  static const std::vector<StruckColumn> columns = [] {
    std::vector<StruckColumn> all;
    const auto add = [&](const std::vector<std::string>& stems, Quantity quantity,
                         const std::string& unit) {
      for (const std::string& stem : stems) all.push_back({stem, quantity, unit});
    };
    add({"x2", "y2", "z2"}, Quantity::kLength, "m");
    add({"q2w", "q2x", "q2y", "q2z"}, Quantity::kDimensionless, "");
    for (const char* side : {"minus", "plus"}) {
      for (const auto& [what, quantity, unit] :
           {std::tuple("v2", Quantity::kVelocity, "m_per_s"),
            std::tuple("omega2", Quantity::kAngularVelocity, "rad_per_s")}) {
        for (const char axis : {'x', 'y', 'z'})
          add({fmt::format("{}_{}_{}", what, side, axis)}, quantity, unit);
      }
    }
    add({"n2_x", "n2_y", "n2_z"}, Quantity::kDimensionless, "");
    add({"A2_xx", "A2_xy", "A2_xz", "A2_yy", "A2_yz", "A2_zz"}, Quantity::kInverseMass, "per_kg");
    add({"closure_chi_square", "closure_dof"}, Quantity::kDimensionless, "");
    return all;
  }();
  return columns;
}

std::vector<double> StruckNumbers(const StruckState& struck) {
  std::vector<double> out;
  const auto vector = [&](const Eigen::Vector3d& v) {
    out.insert(out.end(), {v.x(), v.y(), v.z()});
  };
  vector(struck.X_WB.translation());
  Eigen::Quaterniond q(struck.X_WB.linear());
  if (q.w() < 0) q.coeffs() = -q.coeffs();
  out.insert(out.end(), {q.w(), q.x(), q.y(), q.z()});
  for (const Eigen::Vector3d* v :
       {&struck.v_minus, &struck.omega_minus, &struck.v_plus, &struck.omega_plus, &struck.normal})
    vector(*v);
  const Eigen::Matrix3d& A = struck.A_W;
  out.insert(out.end(), {A(0, 0), A(0, 1), A(0, 2), A(1, 1), A(1, 2), A(2, 2)});
  out.insert(out.end(), {struck.closure_chi_square, static_cast<double>(struck.closure_dof)});
  return out;
}

StruckState StruckFromNumbers(const std::vector<double>& x) {
  StruckState out;
  const auto vector = [&](std::size_t at) { return Eigen::Vector3d(x[at], x[at + 1], x[at + 2]); };
  out.X_WB.translation() = vector(0);
  Eigen::Quaterniond q(x[3], x[4], x[5], x[6]);
  // what was written by this program stays as it is
  if (std::abs(q.norm() - 1) > 1e-14) q.normalize();
  out.X_WB.linear() = q.toRotationMatrix();
  out.v_minus = vector(7);
  out.omega_minus = vector(10);
  out.v_plus = vector(13);
  out.omega_plus = vector(16);
  out.normal = vector(19);
  out.A_W << x[22], x[23], x[24], x[23], x[25], x[26], x[24], x[26], x[27];
  out.closure_chi_square = x[28];
  out.closure_dof = static_cast<int>(x[29]);
  return out;
}

std::vector<std::string> EventColumns(bool struck) {
  std::vector<std::string> columns = {"recording", "impact", "planar", "t_s", "sd_t_s", "x_m",
                                      "y_m",       "z_m",    "qw",     "qx",  "qy",     "qz"};
  const auto& names = EventComponents();
  for (int i = 0; i < kEventDim; ++i)
    columns.push_back(fmt::format("{}_{}", names[i], UnitOfComponent(i)));
  for (int i = 0; i < kEventDim; ++i)
    columns.push_back(fmt::format("sd_{}_{}", names[i], UnitOfComponent(i)));
  for (const char* name : {"p_x_m",
                           "p_y_m",
                           "p_z_m",
                           "A_F_xx_per_kg",
                           "A_F_xy_per_kg",
                           "A_F_xn_per_kg",
                           "A_F_yy_per_kg",
                           "A_F_yn_per_kg",
                           "A_F_nn_per_kg",
                           "v_minus_F_x_m_per_s",
                           "v_minus_F_y_m_per_s",
                           "v_minus_F_n_m_per_s",
                           "v_plus_F_x_m_per_s",
                           "v_plus_F_y_m_per_s",
                           "v_plus_F_n_m_per_s",
                           "frames_minus",
                           "frames_plus",
                           "frames_lost",
                           "sigma_position_m",
                           "sigma_angle_rad",
                           "accepted",
                           "reason",
                           "detail"}) {
    columns.emplace_back(name);
  }
  if (struck) {
    for (const StruckColumn& column : StruckColumns())
      columns.push_back(column.stem + (column.unit.empty() ? "" : "_" + column.unit));
  }
  return columns;
}

void WriteEventCells(CsvWriter& out, const ImpactEvent& event, bool struck) {
  // A rejected impact may have no state: its cells stay empty, since zeros would read as measured.
  const Eigen::Matrix<double, kEventDim, 1> x = Measured(event);
  const bool measured = event.accepted || !event.cov.isZero(0) || !x.head<kLever>().isZero(0);
  const auto state = [&](double x) { out.Number(measured ? x : std::nan("")); };
  const auto vector = [&](const Eigen::Vector3d& v) {
    for (int i = 0; i < 3; ++i) state(v(i));
  };
  out.Text(event.recording)
      .Integer(event.impact)
      .Integer(event.planar ? 1 : 0)
      .Number(event.t)
      .Number(measured || event.sd_t > 0 ? event.sd_t : std::nan(""));
  vector(event.X_WB.translation());
  Eigen::Quaterniond q(event.X_WB.linear());
  if (q.w() < 0) q.coeffs() = -q.coeffs();
  for (const double component : {q.w(), q.x(), q.y(), q.z()}) state(component);
  for (int i = 0; i < kEventDim; ++i) state(x(i));
  for (int i = 0; i < kEventDim; ++i) state(std::sqrt(event.cov(i, i)));
  vector(event.p_WP);
  const Eigen::Matrix3d& A = event.contact.A_F;
  for (const double entry : {A(0, 0), A(0, 1), A(0, 2), A(1, 1), A(1, 2), A(2, 2)}) state(entry);
  vector(event.contact.v_minus_F);
  vector(event.v_plus_F);
  out.Integer(event.frames_minus)
      .Integer(event.frames_plus)
      .Integer(event.frames_lost)
      .Number(event.sigma_position)
      .Number(event.sigma_angle);
  out.Integer(event.accepted ? 1 : 0).Text(ReasonName(event.reason)).Text(event.detail);
  if (!struck) return;
  const std::vector<double> numbers =
      event.struck ? StruckNumbers(*event.struck)
                   : std::vector<double>(StruckColumns().size(), std::nan(""));
  for (const double number : numbers) out.Number(number);
}

}  // namespace impactlab::pipelines
