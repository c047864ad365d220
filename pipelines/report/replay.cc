// The replay of recordings: what the view of a run's motions shows beside the poses that the
// browser of recordings holds.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pipelines/page/motion_json.h"
#include "pipelines/report/detail/overview.h"

namespace impactlab::pipelines {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Eigen::Vector3d;

OrderedJson CameraJson(const RigCamera& camera, double depth) {
  OrderedJson corners = OrderedJson::array();
  for (const Vector3d& corner : ViewPyramid(camera, depth)) corners.push_back(TripleJson(corner));
  return {
      {"name", camera.name}, {"eye", TripleJson(camera.X_WC.translation())}, {"corners", corners}};
}

}  // namespace

std::string ReplayJson(const ReportContext& context) {
  const Experiment& experiment = context.run.experiment;
  const DrawnPart part =
      DrawBody(experiment.body, experiment.body.name.empty() ? "body" : experiment.body.name);
  double size = part.ball_radius + part.thickness;
  for (const Vector3d& p : part.points_B) size = std::max(size, p.norm());
  OrderedJson scene = {{"planar", experiment.body.planar},
                       {"mass_known", experiment.body.mass_known}};
  OrderedJson markers = OrderedJson::array(), cameras = OrderedJson::array(),
              planes = OrderedJson::array();
  if (context.run.markers()) {
    const std::vector<BodyMarker>& layout = context.best.layout.markers.empty()
                                                ? context.run.markers()->layout
                                                : context.best.layout.markers;
    for (const BodyMarker& marker : layout) {
      markers.push_back(TripleJson(marker.p_BM));
      size = std::max(size, marker.p_BM.norm());
    }
    for (const RigCamera& camera : context.run.markers()->rig.cameras)
      cameras.push_back(CameraJson(camera, 2 * size));
  }
  // A surface that moves is not drawn: the plane of the experiment is then not where the body
  // strikes.
  if (!experiment.second)
    planes.push_back(PlaneJson(
        {.name = "floor", .normal = experiment.floor.normal, .offset = experiment.floor.offset}));
  scene["size"] = size;
  scene["part"] = PartJson(part, Vector3d::Zero());
  scene["markers"] = markers;
  scene["cameras"] = cameras;
  scene["planes"] = planes;
  return scene.dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
}

namespace {

std::string PicturesHtml(std::size_t pictured, std::size_t recordings) {
  if (pictured == 0) return {};
  std::string out =
      "<p>Beside it what the cameras saw about the first impact, cut down to the markers: the "
      "frame nearest to the moment of the replay. <span class=\"key key-ring fitted\"></span>a "
      "ring marks the fitted position of a marker, <span class=\"key found\">+</span> a cross the "
      "measured one.</p>\n";
  if (pictured < recordings)
    out += fmt::format(
        "<p class=\"foot\">{} of {} recordings have pictures here: others have none, or would make "
        "the page too large.</p>\n",
        pictured, recordings);
  return out;
}

}  // namespace

Section ReplaySection(const ReportContext& context, std::size_t pictured) {
  Section section{.id = "replay", .title = "Replay", .html = {}, .figures = {}};
  section.html =
      std::string(
          "<p>Recordings as they were measured (outline) and as fitted by the arcs of free flight "
          "before and after every impact (filled); paths of the centre of mass before and after, "
          "and of the point that struck. At an impact arrows show the impulse and the slip of the "
          "contact point before and after.</p>\n") +
      PicturesHtml(pictured, context.run.n_recordings()) +
      std::string(
          "<div id=\"motion-view\"><div class=\"controls\"></div><div class=\"beside\"><div "
          "class=\"sight\"><p class=\"told\"></p></div><div class=\"seen\" "
          "hidden></div></div></div>\n"
          "<noscript><p class=\"notice\">The replay needs scripts, which this browser does not "
          "run.</p></noscript>\n") +
      (context.run.experiment.body.planar
           ? ""
           : "<p class=\"foot\">Drag the picture or use the arrow keys to turn it, plus and minus "
             "to come closer.</p>\n");
  return section;
}

}  // namespace impactlab::pipelines
