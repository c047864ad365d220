// Maps: printed scans of Sun 2017, tables, pictures, the ready sweeps, and files with faults.

#include "pipelines/map/impact_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRod = R"(schema: impactlab.map/1
name: rod
body: {planar: true, lever_m: 0.5, inertia_kg_m2: 0.0836111111}
x: {sets: lean_rad, offset: 1.5707963268, factor: -1, label: "beta [rad]", from: 0.01, to: 3.13, step: 0.01}
fixed: {v_x_m_per_s: 1, v_z_m_per_s: -1, e: 0.4, mu_k: 0.4}
)";

MapSweep Load(const test::TemporaryFolder& folder, const std::string& text) {
  WriteFile(folder / "sweep.yaml", text);
  return LoadMapSweep(folder / "sweep.yaml");
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string Message(const test::TemporaryFolder& folder, const std::string& text) {
  try {
    Load(folder, text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// Fig. 3.16: 0, 4, 2, 1, 3, 0 along beta; exact bounds of the digest, and the largest dissipation
// 0.8311 at 1.99.
TEST(ImpactMap, RodOfFigure316) {
  const test::TemporaryFolder folder;
  const MapSweep sweep = Load(folder, kRod);
  const ImpactMap map = ComputeMap(sweep, 2, {});
  EXPECT_EQ(map.faults, 0u);
  EXPECT_EQ(map.gains, 0u);
  const std::pair<double, const char*> changes[] = {
      {0.71, "4"}, {0.95, "2"}, {1.05, "1"}, {1.80, "3"}, {1.87, "0"}};
  std::size_t i = 0;
  for (const auto& [beta, to] : changes) {
    while (i < map.nx() && map.At(0, i, 0).course != to) ++i;
    ASSERT_LT(i, map.nx()) << to;
    EXPECT_NEAR(sweep.x.shown[i], beta, 0.011) << to;
  }
  const int q = QuantityIndex("dissipation");
  double most = 0, at = 0;
  for (std::size_t k = 0; k < map.nx(); ++k)
    if (map.At(0, k, 0).values[static_cast<std::size_t>(q)] > most)
      most = map.At(0, k, 0).values[static_cast<std::size_t>(q)], at = sweep.x.shown[k];
  EXPECT_NEAR(most, 0.8311, 5e-5);
  EXPECT_NEAR(at, 1.99, 0.011);
}

// The dissipation column is 1 - T+/T- of the columns of velocities, and the contact's velocity that
// of the body's point.
TEST(ImpactMap, ColumnsBelongToOneState) {
  const test::TemporaryFolder folder;
  const std::string text = R"(schema: impactlab.map/1
name: bar
body: {planar: false, mass_kg: 2, lever_m: 0.5, inertia_kg_m2: [0.3, 0.35, 0.1]}
x: {sets: v_y_m_per_s, label: vy, from: -1, to: 1, count: 7}
y: {sets: azimuth_rad, label: az, from: -3, to: 3, count: 7}
fixed: {lean_rad: 0.6, v_x_m_per_s: 0.3, v_z_m_per_s: -1, omega_x_rad_per_s: 0.4, omega_y_rad_per_s: -0.2, omega_z_rad_per_s: 1, e: 0.5, mu_k: 0.3}
)";
  const MapSweep sweep = Load(folder, text);
  const ImpactMap map = ComputeMap(sweep, 1, {});
  EXPECT_EQ(map.faults, 0u);
  for (std::size_t iy = 0; iy < map.ny(); ++iy)
    for (std::size_t ix = 0; ix < map.nx(); ++ix) {
      const auto& q = map.At(0, ix, iy).values;
      const double az = sweep.y->shown[iy], vy = sweep.x.shown[ix], lean = 0.6;
      const Eigen::Vector3d z_B(std::sin(lean) * std::cos(az), std::sin(lean) * std::sin(az),
                                std::cos(lean));
      const Eigen::Vector3d y_B(-std::sin(az), std::cos(az), 0), x_B = y_B.cross(z_B),
                                                                 r = -0.5 * z_B;
      Eigen::Matrix3d R;
      R << x_B, y_B, z_B;
      const Eigen::Matrix3d I = R * Eigen::Vector3d(0.3, 0.35, 0.1).asDiagonal() * R.transpose();
      const Eigen::Vector3d v(0.3, vy, -1), w(0.4, -0.2, 1), v_plus(q[1], q[2], q[3]),
          w_plus(q[4], q[5], q[6]), J(q[10], q[11], q[12]);
      const auto energy = [&](const Eigen::Vector3d& a, const Eigen::Vector3d& b) {
        return a.squaredNorm() + 0.5 * b.dot(I * b);
      };
      EXPECT_NEAR(q[0], 1 - energy(v_plus, w_plus) / energy(v, w), 1e-9);
      EXPECT_LT((2 * (v_plus - v) - J).norm(), 1e-12);
      EXPECT_LT((I * (w_plus - w) - r.cross(J)).norm(), 1e-12);
      EXPECT_LT((v_plus + w_plus.cross(r) - Eigen::Vector3d(q[7], q[8], q[9])).norm(), 1e-9);
    }
}

// A bar leaning in the x-z plane: mirrored in v_y.
TEST(ImpactMap, MirrorSymmetryInSpaceAndItsStatement) {
  const test::TemporaryFolder folder;
  const std::string text = R"(schema: impactlab.map/1
name: bar
body: {planar: false, lever_m: 0.5, inertia_kg_m2: [0.08, 0.09, 0.02]}
x: {sets: v_y_m_per_s, label: vy, from: -1, to: 1, count: 21}
y: {sets: v_x_m_per_s, label: vx, from: -1, to: 1.1, count: 11}
fixed: {lean_rad: -0.5, v_z_m_per_s: -1, e: 0.4, mu_k: 0.6}
statements:
  - {kind: symmetric, axis: x, quantity: dissipation, tolerance: 1e-8, says: mirrored in v_y}
  - {kind: symmetric, axis: y, quantity: dissipation, says: mirrored in v_x}
  - {kind: inside, quantity: dissipation, least: true, x: [-1, 1], y: [-1, 1.1], says: somewhere}
)";
  const ImpactMap map = ComputeMap(Load(folder, text), 2, {});
  EXPECT_TRUE(CheckStatement(map, map.sweep.statements[0]).agrees)
      << CheckStatement(map, map.sweep.statements[0]).found;
  EXPECT_FALSE(CheckStatement(map, map.sweep.statements[1]).agrees);
  EXPECT_TRUE(CheckStatement(map, map.sweep.statements[2]).agrees);
}

TEST(ImpactMap, StatementsAreHeldAgainstWhatIsFound) {
  const test::TemporaryFolder folder;
  const MapSweep sweep = Load(folder, kRod + R"(statements:
  - {kind: change, from: "4", to: "2", printed: 0.95, tolerance: 0.02, says: a}
  - {kind: change, from: "4", to: "2", printed: 1.05, tolerance: 0.02, says: b}
  - {kind: change, from: "5", to: "2", printed: 1.05, tolerance: 0.02, says: c}
  - {kind: cases, cases: ["0", "4", "2", "1", "3", "0"], says: d}
  - {kind: cases, cases: ["0", "4", "1", "3", "0"], says: e}
  - {kind: maximum, quantity: dissipation, printed: 0.8311, tolerance: 0.0001, says: f}
  - {kind: maximum, quantity: dissipation, printed: 0.7119, tolerance: 0.01, says: g}
  - {kind: inside, quantity: dissipation, x: [1.9, 2.1], says: h}
  - {kind: inside, quantity: dissipation, x: [0.9, 1.1], says: i}
  - {kind: present, cases: ["3", "2", "1", "0", "4"], says: j}
  - {kind: present, cases: ["3", "2", "1", "0"], says: k}
  - {kind: negative, quantity: contact_v_plus_x_m_per_s, says: l}
  - {kind: negative, quantity: dissipation, says: m}
)");
  const ImpactMap map = ComputeMap(sweep, 1, {});
  std::string verdicts;
  for (const MapStatement& statement : sweep.statements)
    verdicts += CheckStatement(map, statement).agrees ? '+' : '-';
  EXPECT_EQ(verdicts, "+--+-+-+-+-+-");
  EXPECT_THAT(CheckStatement(map, sweep.statements[2]).found, HasSubstr("no change"));
}

TEST(ImpactMap, TableAndPicturesStandAlone) {
  const test::TemporaryFolder folder;
  std::string text = Replaced(kRod, "step: 0.01", "count: 41") +
                     "y: {sets: mu_k, label: \"mu < 1 & so on\", from: 0, to: 1, count: 21}\nlaws: "
                     "[energetic, newton]\n";
  text = Replaced(text, ", mu_k: 0.4", "");
  const ImpactMap map = ComputeMap(Load(folder, text), 0, {});
  WriteMapCsv(folder / "map.csv", map);
  CsvOptions options;
  options.text_columns = {"law", "case", "failed_checks"};
  options.empty_is_nan = true;
  const Table table = ReadCsv(folder / "map.csv", options);
  EXPECT_EQ(table.n_rows(), 2u * 41 * 21);
  EXPECT_EQ(table.Column("lean_rad")[0], 1.5707963268 - 0.01);
  for (const std::string picture : {"case", "dissipation", "v_plus_x_m_per_s"}) {
    const std::string svg = MapSvg(map, picture, 0);
    EXPECT_THAT(svg, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
    EXPECT_THAT(svg, HasSubstr("beta [rad]"));
    EXPECT_THAT(svg, HasSubstr("mu &lt; 1 &amp; so on"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("class=")));  // no style sheet of a page
  }
  EXPECT_THAT(MapSvg(map, "case", 0), HasSubstr("reverses, in compression"));
  EXPECT_THAT(MapSvg(map, "dissipation", 1), HasSubstr("newton"));
  WriteMapGallery(folder / "index.html", {map});
  EXPECT_GT(ReadFile(folder / "index.html").size(), 10000u);
}

// Rows are worked on in parallel: the result is the same to the last bit.
TEST(ImpactMap, ThreadsDoNotChangeTheResult) {
  const test::TemporaryFolder folder;
  const std::string text = Replaced(Replaced(kRod, "step: 0.01", "count: 31"), ", mu_k: 0.4", "") +
                           "y: {sets: mu_k, label: mu, from: 0, to: 1, count: 31}\n";
  const MapSweep sweep = Load(folder, text);
  int rows = 0;
  const ImpactMap one = ComputeMap(sweep, 1, [&] { ++rows; }), four = ComputeMap(sweep, 4, {});
  EXPECT_EQ(rows, 31);
  for (std::size_t i = 0; i < one.points[0].size(); ++i) {
    ASSERT_EQ(one.points[0][i].course, four.points[0][i].course);
    ASSERT_EQ(one.points[0][i].values, four.points[0][i].values);
  }
}

TEST(ImpactMap, FaultsInFilesAreNamed) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(Message(folder, Replaced(kRod, "lean_rad", "lean_deg")), HasSubstr("lean_rad"));
  EXPECT_THAT(Message(folder, Replaced(kRod, "e: 0.4", "e: 1.4")), HasSubstr("1.4"));
  EXPECT_THAT(Message(folder, Replaced(kRod, ", mu_k: 0.4", "")), HasSubstr("mu_k"));
  EXPECT_THAT(Message(folder, Replaced(kRod, "step: 0.01", "step: 0.01, count: 3")),
              HasSubstr("one of them"));
  EXPECT_THAT(Message(folder, Replaced(kRod, "step: 0.01", "step: 1e-9")), HasSubstr("step"));
  EXPECT_THAT(Message(folder, Replaced(kRod, "v_x_m_per_s: 1", "omega_x_rad_per_s: 1")),
              HasSubstr("omega_x_rad_per_s"));
  EXPECT_THAT(Message(folder, Replaced(kRod, "v_x_m_per_s: 1", "contact_v_x_m_per_s: 1")),
              HasSubstr("of the centre"));
  EXPECT_THAT(Message(folder, Replaced(kRod, "v_x_m_per_s: 1", "lean_rad: 1")),
              HasSubstr("every parameter once"));
  EXPECT_THAT(Message(folder, kRod + "laws: [hooke]\n"), HasSubstr("hooke"));
  EXPECT_THAT(Message(folder, kRod + "laws: [newton, newton]\n"), HasSubstr("every law once"));
  EXPECT_THAT(Message(folder, kRod + "pictures: [colour]\n"), HasSubstr("colour"));
  EXPECT_THAT(Message(folder, kRod + "statements: [{kind: wish, says: a}]\n"), HasSubstr("wish"));
  EXPECT_THAT(Message(folder, kRod + "colour: red\n"), HasSubstr("colour"));
  EXPECT_EQ(Message(folder, kRod), "no error");
}

// Fig. 3.3 of the Bristol thesis: with e = 0.5 energy is kept at the two ratios u_E and lost
// between them.
TEST(ImpactMap, EnergyCurveOfAGivenRatio) {
  const test::TemporaryFolder folder;
  const MapSweep sweep = Load(folder, R"(schema: impactlab.map/1
name: energy
body: {planar: true, lever_m: 1, inertia_kg_m2: 0.3333333333333333}
laws: [ratio]
x: {sets: impulse_ratio, label: u, from: -0.9, to: 0.9, count: 181}
fixed: {lean_rad: 0.4636476090008061, v_x_m_per_s: -2, v_z_m_per_s: -1.5, theta_dot_rad_per_s: 1.9, e: 0.5}
)");
  const auto dissipation = [&](double u) {
    return EvaluateMapPoint(sweep, "ratio", u, 0).values[0];
  };
  EXPECT_NEAR(dissipation(0), 0.34723038803351297, 1e-12);
  EXPECT_NEAR(dissipation(0.292428074345168), 0.5756073035145952, 1e-12);
  EXPECT_NEAR(dissipation(-0.26361461464324343), 0, 1e-12);
  EXPECT_NEAR(dissipation(0.5612577428317247), 0, 1e-12);
  EXPECT_EQ(EvaluateMapPoint(sweep, "ratio", 0.57, 0).course, "gains");
  EXPECT_EQ(EvaluateMapPoint(sweep, "ratio", 0.55, 0).course, "loses");
  EXPECT_EQ(EvaluateMapPoint(sweep, "ratio", 1.4, 0).course, "pulls");
  EXPECT_THAT(Message(folder, Replaced(kRod, "mu_k: 0.4", "mu_k: 0.4") + "laws: [ratio]\n"),
              HasSubstr("impulse_ratio"));
}

// Every ready sweep of the repository loads, and a coarse version of it is certified throughout.
TEST(ImpactMap, ReadySweepsLoad) {
  int n = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(IMPACTLAB_SOURCE_DIR) + "/data/maps")) {
    if (entry.path().extension() != ".yaml") continue;
    MapSweep sweep = LoadMapSweep(entry.path());
    const auto thin = [](std::vector<double>& values) {
      std::vector<double> few;
      for (std::size_t i = 0; i < values.size(); i += std::max<std::size_t>(1, values.size() / 12))
        few.push_back(values[i]);
      values = few;
    };
    thin(sweep.x.shown);
    if (sweep.y) thin(sweep.y->shown);
    EXPECT_EQ(ComputeMap(sweep, 1, {}).faults, 0u) << entry.path();
    ++n;
  }
  EXPECT_GE(n, 20);
}

}  // namespace
}  // namespace impactlab
