#include "pipelines/map/impact_map.h"

#include <atomic>
#include <cmath>

#include "data/base/parallel.h"
#include "data/files/table.h"
#include "impact/body/planar_contact.h"
#include "impact/law/impulse_law.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

// The body at a point of the map, and its state after an impulse.
struct Posed {
  Vector3d r, v, omega;       // lever, velocity of the centre and spin, in W
  Eigen::Matrix3d inertia_W;  // about the centre
  ContactState contact;
};

Posed Pose(const MapSweep& sweep, const std::array<double, kMapParameters>& p) {
  const auto at = [&](MapParameter name) { return p[static_cast<std::size_t>(name)]; };
  Posed out;
  const double lean = at(MapParameter::kLean),
               azimuth = sweep.planar ? 0 : at(MapParameter::kAzimuth);
  const Vector3d down_to_tip(std::cos(azimuth), std::sin(azimuth), 0);
  const Vector3d z_B = std::sin(lean) * down_to_tip + std::cos(lean) * Vector3d::UnitZ();
  const Vector3d x_B = std::cos(lean) * down_to_tip - std::sin(lean) * Vector3d::UnitZ();
  out.r = -sweep.lever * z_B;
  // theta runs counter-clockwise seen with x right and z up, which is about -y.
  out.omega = sweep.planar ? Vector3d(0, -at(MapParameter::kThetaDot), 0)
                           : Vector3d(at(MapParameter::kOmegaX), at(MapParameter::kOmegaY),
                                      at(MapParameter::kOmegaZ));
  if (sweep.contact_velocity) {
    const Vector3d contact(at(MapParameter::kContactVx), at(MapParameter::kContactVy),
                           at(MapParameter::kContactVz));
    out.v = contact - out.omega.cross(out.r);
  } else {
    out.v = {at(MapParameter::kVx), at(MapParameter::kVy), at(MapParameter::kVz)};
  }
  if (sweep.planar) {
    out.inertia_W = sweep.inertia.y() * Eigen::Matrix3d::Identity();
    out.contact = InSpace(PlanarBodyContact(sweep.mass, sweep.inertia.y(), out.r.x(), out.r.z(),
                                            out.v.x(), out.v.z(), -out.omega.y()));
    return out;
  }
  Eigen::Matrix3d R, cross;
  R << x_B, z_B.cross(x_B), z_B;
  out.inertia_W = R * sweep.inertia.asDiagonal() * R.transpose();
  cross << 0, -out.r.z(), out.r.y(), out.r.z(), 0, -out.r.x(), -out.r.y(), out.r.x(), 0;
  const Eigen::Matrix3d inverse = R * sweep.inertia.cwiseInverse().asDiagonal() * R.transpose();
  const Eigen::Matrix3d A = Eigen::Matrix3d::Identity() / sweep.mass - cross * inverse * cross;
  out.contact.A_F = 0.5 * (A + A.transpose());
  out.contact.v_minus_F = out.v + out.omega.cross(out.r);
  return out;
}

// Newton's restitution with a given impulse ratio: what the energy curves of Brach's law are made
// of. No law, so nothing to certify but the energy.
LawOutcome WithRatio(const ContactState& contact, double e, double u) {
  const PlanarContact planar = *PlanarPart(contact);
  LawOutcome out;
  if (!(planar.v_n < 0)) {
    out.status = SolveStatus::kNoApproach;
    out.v_plus_F = contact.v_minus_F;
    return out;
  }
  const ImpulseOutcome given = ApplyRatio(planar, e, u);
  out.J_F << given.J_t, 0, given.J_n;
  out.v_plus_F << given.v_t, 0, given.v_n;
  out.energy_change = given.energy;
  const bool gains = given.energy > 1e-12 * planar.Energy(planar.v_t, planar.v_n);
  out.course = given.J_n < 0 ? "pulls" : gains ? "gains" : "loses";
  if (gains) out.certificate.checks.push_back({"energy", given.energy, 0, false});
  return out;
}

}  // namespace

const std::vector<MapQuantity>& MapQuantities() {
  static const std::vector<MapQuantity> quantities = {
      {"dissipation", "energy dissipated 1 \u2212 T\u207A/T\u207B"},
      {"v_plus_x_m_per_s", "v_x of the centre after [m/s]", true},
      {"v_plus_y_m_per_s", "v_y of the centre after [m/s]", true},
      {"v_plus_z_m_per_s", "v_z of the centre after [m/s]", true},
      {"omega_plus_x_rad_per_s", "spin about x after [rad/s]", true},
      {"omega_plus_y_rad_per_s", "spin about y after [rad/s]", true},
      {"omega_plus_z_rad_per_s", "spin about z after [rad/s]", true},
      {"contact_v_plus_x_m_per_s", "v_x of the contact after [m/s]", true},
      {"contact_v_plus_y_m_per_s", "v_y of the contact after [m/s]", true},
      {"contact_v_plus_z_m_per_s", "v_z of the contact after [m/s]", true},
      {"J_x_N_s", "impulse J_x [N s]", true},
      {"J_y_N_s", "impulse J_y [N s]", true},
      {"J_z_N_s", "impulse J_z [N s]"},
      {"turn_rad", "turning of the slip [rad]"}};
  return quantities;
}

int QuantityIndex(const std::string& name) {
  const auto& all = MapQuantities();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return static_cast<int>(i);
  return -1;
}

MapPoint EvaluateMapPoint(const MapSweep& sweep, const std::string& law, double x, double y) {
  std::array<double, kMapParameters> p = sweep.fixed;
  p[static_cast<std::size_t>(sweep.x.parameter)] = sweep.x.Value(x);
  if (sweep.y) p[static_cast<std::size_t>(sweep.y->parameter)] = sweep.y->Value(y);
  const auto at = [&](MapParameter name) { return p[static_cast<std::size_t>(name)]; };
  const Posed body = Pose(sweep, p);
  const double mu_k = at(MapParameter::kMuK);
  const double e = at(MapParameter::kE);
  const LawOutcome outcome =
      law == "ratio"
          ? WithRatio(body.contact, e, at(MapParameter::kImpulseRatio))
          : Predict(law, body.contact,
                    {e, mu_k, mu_k * at(MapParameter::kMuSOverMuK), at(MapParameter::kEt)});
  MapPoint out;
  out.status = outcome.status;
  out.course = outcome.status == SolveStatus::kOk           ? outcome.course
               : outcome.status == SolveStatus::kNoApproach ? "-"
                                                            : "";
  out.values.fill(std::numeric_limits<double>::quiet_NaN());
  if (!outcome.usable()) return out;
  out.failed = outcome.certificate.Failed();
  const Vector3d v = body.v + outcome.J_F / sweep.mass,
                 omega = body.omega + body.inertia_W.inverse() * body.r.cross(outcome.J_F);
  const auto energy = [&](const Vector3d& velocity, const Vector3d& spin) {
    return 0.5 * sweep.mass * velocity.squaredNorm() + 0.5 * spin.dot(body.inertia_W * spin);
  };
  const double before = energy(body.v, body.omega);
  // From the impulse: the difference of two energies would lose the digits of a small loss.
  out.values = {before > 0 ? -outcome.energy_change / before : 0,
                v.x(),
                v.y(),
                v.z(),
                omega.x(),
                omega.y(),
                omega.z(),
                outcome.v_plus_F.x(),
                outcome.v_plus_F.y(),
                outcome.v_plus_F.z(),
                outcome.J_F.x(),
                outcome.J_F.y(),
                outcome.J_F.z(),
                outcome.turn};
  return out;
}

ImpactMap ComputeMap(const MapSweep& sweep, int threads, const std::function<void()>& advance) {
  ImpactMap map;
  map.sweep = sweep;
  const std::size_t nx = map.nx(), ny = map.ny();
  map.points.assign(sweep.laws.size(), std::vector<MapPoint>(nx * ny));
  ForEachIndex(ny * sweep.laws.size(), threads, [&](std::size_t i) {
    const std::size_t law = i / ny, iy = i % ny;
    for (std::size_t ix = 0; ix < nx; ++ix)
      map.points[law][iy * nx + ix] = EvaluateMapPoint(sweep, sweep.laws[law], sweep.x.shown[ix],
                                                       sweep.y ? sweep.y->shown[iy] : 0);
    if (advance) advance();
  });
  for (const auto& law : map.points)
    for (const MapPoint& point : law) {
      map.gains += point.failed == "energy";
      map.faults += (!point.failed.empty() && point.failed != "energy") ||
                    point.status == SolveStatus::kInvalid ||
                    point.status == SolveStatus::kNotConverged;
    }
  return map;
}

void WriteMapCsv(const std::filesystem::path& path, const ImpactMap& map) {
  const MapSweep& sweep = map.sweep;
  const auto name = [](const MapAxis& axis) {
    return MapParameterNames()[static_cast<std::size_t>(axis.parameter)];
  };
  std::vector<std::string> columns = {"law", "x_shown", name(sweep.x)};
  if (sweep.y) columns.insert(columns.end(), {"y_shown", name(*sweep.y)});
  columns.insert(columns.end(), {"case", "failed_checks"});
  for (const MapQuantity& q : MapQuantities()) columns.push_back(q.name);
  CsvWriter out(path, columns);
  for (std::size_t law = 0; law < sweep.laws.size(); ++law)
    for (std::size_t iy = 0; iy < map.ny(); ++iy)
      for (std::size_t ix = 0; ix < map.nx(); ++ix) {
        const MapPoint& point = map.At(law, ix, iy);
        out.Text(sweep.laws[law])
            .Number(sweep.x.shown[ix])
            .Number(sweep.x.Value(sweep.x.shown[ix]));
        if (sweep.y) out.Number(sweep.y->shown[iy]).Number(sweep.y->Value(sweep.y->shown[iy]));
        out.Text(point.course).Text(point.failed);
        for (const double value : point.values) out.Number(value);
        out.EndRow();
      }
  out.Commit();
}

}  // namespace impactlab
