#include <cmath>

#include "pipelines/calibrate/detail/page_parts.h"

namespace impactlab::pipelines {

Section WorldSection(const RigContext& context) {
  constexpr double kDegrees = 180 / M_PI;
  const WorldRun& world = *context.run.world;
  if (!world.problem.empty())
    return {"world", "World", "<p>" + Escape(world.problem) + "</p>\n", {}};
  std::string html;
  if (world.frame) {
    HtmlTable table("Cameras in the world, z out of the struck surface",
                    {"Camera", "#x [mm]", "#y [mm]", "#z [mm]"});
    const CameraRig& rig = world.rig;
    for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
      const int at = FirstParameter(rig, static_cast<int>(c)) +
                     IntrinsicCount(rig.cameras[c].camera.model) + 3;
      std::vector<std::string> cells = {Escape(rig.cameras[c].name)};
      for (int k = 0; k < 3; ++k)
        cells.push_back(ValueSd(1e3 * rig.cameras[c].X_WC.translation()[k],
                                1e3 * std::sqrt(std::max(0.0, rig.covariance(at + k, at + k)))));
      table.Row(cells);
    }
    html += table.Html();
  }
  if (world.points) {
    HtmlTable table("Known points", {"Point", "#x [mm]", "#y [mm]", "#z [mm]", "Remark"});
    for (const PointResult& point : world.points->points) {
      const auto cell = [&](int k) {
        return ValueSd(1e3 * point.residual_W[k], 1e3 * point.sd_W[k]);
      };
      table.Row(
          point.problem.empty()
              ? std::vector<std::string>{Escape(point.name), cell(0), cell(1), cell(2), ""}
              : std::vector<std::string>{Escape(point.name), "", "", "", Escape(point.problem)});
    }
    html += table.Html() +
            "<p class=\"foot\">Position measured by the rig minus the given one. Lengths of the "
            "rig over those of the points: " +
            ValueSd(world.points->scale, world.points->sd_scale) + ".</p>\n";
  }
  if (world.gravity) {
    html += "<p>The surface is inclined by " +
            ValueSd(kDegrees * world.slope, kDegrees * world.sd_slope) + "\u00A0°; ";
    html += std::isfinite(world.sd_downhill)
                ? "downhill lies " +
                      ValueSd(kDegrees * world.downhill, kDegrees * world.sd_downhill) +
                      "\u00A0° from x towards y.</p>\n"
                : "it is too nearly level for a downhill direction.</p>\n";
  }
  if (world.scale) {
    HtmlTable table("Known lengths",
                    {"Length", "#Measured [mm]", "#Of its length", "#95 % interval", "Remark"});
    for (const LengthResult& length : world.scale->lengths)
      table.Row(
          length.problem.empty()
              ? std::vector<std::string>{Escape(length.name),
                                         ValueSd(1e3 * length.measured, 1e3 * length.sd_measured),
                                         Fixed(length.ratio, 4),
                                         Fixed(length.lower95, 4) + " to " +
                                             Fixed(length.upper95, 4),
                                         ""}
              : std::vector<std::string>{Escape(length.name), "", "", "", Escape(length.problem)});
    html += table.Html() + "<p>" + Escape(world.scale->verdict) + "</p>\n";
  }
  for (const std::string& note : world.notes)
    html += "<p class=\"foot\">" + Escape(note) + "</p>\n";
  return {"world", "World", html, {}};
}

}  // namespace impactlab::pipelines
