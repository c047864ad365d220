#include "pipelines/event_columns.h"

#include <fmt/format.h>

#include <cmath>

namespace impactlab::internal {
namespace {

enum class Kind { kVelocity, kSpin, kLength };

Kind KindOf(int component) {
  const int block = component / 3;
  return block == kLever / 3 ? Kind::kLength : block % 2 == 0 ? Kind::kVelocity : Kind::kSpin;
}

const char* UnitOf(int component) {
  constexpr const char* kUnits[] = {"m_per_s", "rad_per_s", "m"};
  return kUnits[static_cast<int>(KindOf(component))];
}

const char* ProductUnit(int a, int b) {
  constexpr const char* kUnits[3][3] = {
      {"m2_per_s2", "m_rad_per_s2", "m2_per_s"}, {"m_rad_per_s2", "rad2_per_s2", "m_rad_per_s"}, {"m2_per_s", "m_rad_per_s", "m2"}};
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

std::vector<std::string> EventColumns() {
  std::vector<std::string> columns = {"recording", "impact", "planar", "t_s", "sd_t_s", "x_m", "y_m", "z_m", "qw", "qx", "qy", "qz"};
  const auto& names = EventComponents();
  for (int i = 0; i < kEventDim; ++i) columns.push_back(fmt::format("{}_{}", names[i], UnitOf(i)));
  for (int i = 0; i < kEventDim; ++i) columns.push_back(fmt::format("sd_{}_{}", names[i], UnitOf(i)));
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
  return columns;
}

void WriteEventCells(CsvWriter& out, const ImpactEvent& event) {
  const auto vector = [&](const Eigen::Vector3d& v) {
    for (int i = 0; i < 3; ++i) out.Number(v(i));
  };
  out.Text(event.recording).Integer(event.impact).Integer(event.planar ? 1 : 0).Number(event.t).Number(event.sd_t);
  vector(event.X_WB.translation());
  Eigen::Quaterniond q(event.X_WB.linear());
  if (q.w() < 0) q.coeffs() = -q.coeffs();
  out.Number(q.w()).Number(q.x()).Number(q.y()).Number(q.z());
  const Eigen::Matrix<double, kEventDim, 1> x = Measured(event);
  for (int i = 0; i < kEventDim; ++i) out.Number(x(i));
  for (int i = 0; i < kEventDim; ++i) out.Number(std::sqrt(event.cov(i, i)));
  vector(event.p_WP);
  const Eigen::Matrix3d& A = event.contact.A_F;
  out.Number(A(0, 0)).Number(A(0, 1)).Number(A(0, 2)).Number(A(1, 1)).Number(A(1, 2)).Number(A(2, 2));
  vector(event.contact.v_minus_F);
  vector(event.v_plus_F);
  out.Integer(event.frames_minus)
      .Integer(event.frames_plus)
      .Integer(event.frames_lost)
      .Number(event.sigma_position)
      .Number(event.sigma_angle);
  out.Integer(event.accepted ? 1 : 0).Text(ReasonName(event.reason)).Text(event.detail);
}

}  // namespace impactlab::internal
