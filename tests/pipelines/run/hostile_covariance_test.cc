// What the sidecar of covariances says it holds, and holds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/files/table.h"
#include "pipelines/tables/tables.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

// Velocities, spins and the lever as vectors in W, each product under the names and the unit of its
// own factors. Angles of any convention (roll, pitch, yaw) and components of quaternions have no
// covariance here, in whatever attitude the body strikes.
TEST(HostileT42, CovariancesOfEventsNameTheirCoordinatesAndUnits) {
  const Body body = MakeBox({0.1, 0.06, 0.04}, 0.3);
  const Plane floor;
  const Vector3d gravity(0, 0, -9.80665);
  std::mt19937_64 rng(42);
  std::normal_distribution<double> normal;
  ImpactEvent event;
  event.recording = "pole";
  event.X_WB.linear() =
      (Eigen::AngleAxisd(0.3, Vector3d::UnitZ()) * Eigen::AngleAxisd(M_PI / 2, Vector3d::UnitY()))
          .toRotationMatrix();
  event.v_minus = {0.1, 0.2, -2};
  event.v_plus = {0.1, 0.2, 1};
  event.p_WP = {0.01, 0.02, 0};
  EventCovariance root;
  for (int i = 0; i < kEventDim; ++i)
    for (int j = 0; j < kEventDim; ++j) root(i, j) = 1e-3 * normal(rng);
  event.cov = root * root.transpose();
  UpdateContact(event, body, floor, gravity);
  event.accepted = true;
  test::TemporaryFolder folder;
  WriteEvents(folder.path(), std::vector<ImpactEvent>{event});

  const Table sidecar =
      ReadCsv(folder / "events_cov.csv", {.text_columns = {"recording"}, .is_text = {}});
  const char* const blocks[] = {"v_minus", "omega_minus", "v_plus", "omega_plus", "r"};
  std::size_t found = 1;  // the column impact
  const auto unit = [](int a, int b) -> std::string {
    const auto kind = [](int i) { return i >= kLever ? 'r' : i / 3 % 2 == 0 ? 'v' : 'w'; };
    const std::string kinds = {kind(a), kind(b)};
    if (kinds == "vv") return "m2_per_s2";
    if (kinds == "ww") return "rad2_per_s2";
    if (kinds == "rr") return "m2";
    if (kinds == "vw" || kinds == "wv") return "m_rad_per_s2";
    return kinds == "vr" ? "m2_per_s" : "m_rad_per_s";
  };
  const auto name = [&](int i) { return std::string(blocks[i / 3]) + '_' + "xyz"[i % 3]; };
  for (int a = 0; a < kEventDim; ++a)
    for (int b = a; b < kEventDim; ++b, ++found)
      EXPECT_EQ(sidecar.Column("cov_" + name(a) + '_' + name(b) + '_' + unit(a, b))[0],
                event.cov(a, b));
  EXPECT_EQ(sidecar.columns.size(), found) << "nothing else is in it";

  const Table events = ReadCsv(
      folder / "events.csv",
      {.text_columns = {"recording", "reason", "detail"}, .is_text = {}, .empty_is_nan = true});
  int deviations = 0;
  for (const std::string& column : events.columns) deviations += column.starts_with("sd_");
  EXPECT_EQ(deviations, 1 + kEventDim) << "time and the fifteen components, no angle";
  EXPECT_DOUBLE_EQ(events.Column("sd_omega_minus_y_rad_per_s")[0],
                   std::sqrt(event.cov(kOmegaMinus + 1, kOmegaMinus + 1)));
}

}  // namespace
}  // namespace impactlab
