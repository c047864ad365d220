#include "pipelines/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/table.h"
#include "pipelines/tables/event_columns.h"

namespace impactlab {

using Eigen::Vector3d;

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
