#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration/camera/rig.h"
#include "data/cache/provenance.h"
#include "data/files/number_json.h"
#include "pipelines/calibrate/calibrate.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;

template <typename Vector>
Json List(const Vector& v) {
  Json out = Json::array();
  for (Eigen::Index k = 0; k < v.size(); ++k) out.push_back(NumberJson(v(k)));
  return out;
}
Json List(const std::vector<double>& v) {
  Json out = Json::array();
  for (const double x : v) out.push_back(NumberJson(x));
  return out;
}

const char* Words(CalibrationStatus status) {
  switch (status) {
    case CalibrationStatus::kSolved:
      return "solved";
    case CalibrationStatus::kNotConverged:
      return "not_converged";
    case CalibrationStatus::kUndetermined:
      return "undetermined";
    case CalibrationStatus::kInconsistent:
      return "inconsistent";
    case CalibrationStatus::kNoData:
      break;
  }
  return "no_data";
}

Json JsonOf(const UncertaintyMap& map) {
  Json q = Json::array();
  for (const Eigen::Vector2d& p : map.q) q.push_back(List(p));
  Json valid = Json::array(), covered = Json::array();
  for (const char v : map.valid) valid.push_back(v != 0);
  for (const char v : map.covered) covered.push_back(v != 0);
  return {{"columns", map.columns},
          {"rows", map.rows},
          {"distance_m", NumberJson(map.distance)},
          {"q_px", q},
          {"valid", valid},
          {"covered", covered},
          {"sd_px", List(map.sd_pixel)},
          {"sd_across_m", List(map.sd_across)}};
}

Json JsonOf(const ResidualStatistics& r) {
  Json cells = Json::array(), radial = Json::array();
  for (const ResidualCell& c : r.cells)
    cells.push_back({{"centre_px", List(c.centre)},
                     {"mean_px", List(c.mean)},
                     {"se_px", NumberJson(c.se)},
                     {"n", c.n}});
  for (const RadialBin& b : r.radial) {
    radial.push_back({{"radius_lower_px", NumberJson(b.radius_lower)},
                      {"radius_upper_px", NumberJson(b.radius_upper)},
                      {"mean_px", NumberJson(b.mean)},
                      {"se_px", NumberJson(b.se)},
                      {"mean_across_px", NumberJson(b.mean_across)},
                      {"n", b.n}});
  }
  return {{"n", r.n},
          {"n_outliers", r.n_outliers},
          {"sigma_px", NumberJson(r.sigma)},
          {"rms_px", NumberJson(r.rms)},
          {"shot_rms_px", List(r.shot_rms)},
          {"histogram",
           {{"lower", r.histogram_lower}, {"upper", r.histogram_upper}, {"counts", r.histogram}}},
          {"cell_columns", r.cell_columns},
          {"cell_rows", r.cell_rows},
          {"cells", cells},
          {"radial", radial},
          {"structure_px", NumberJson(r.structure)},
          {"structure_p", NumberJson(r.structure_p)}};
}

Json JsonOf(const TriangulationFigure& t) {
  return {{"p_W_m", List(t.p_W)},
          {"distance_m", NumberJson(t.distance)},
          {"sd_along_m", NumberJson(t.sd_along)},
          {"sd_across_m", NumberJson(t.sd_across)},
          {"sd_along_pixels_m", NumberJson(t.sd_along_pixels)},
          {"sd_across_pixels_m", NumberJson(t.sd_across_pixels)},
          {"problem", t.problem}};
}

Json JsonOf(const RigCertificate& c) {
  Json json;
  json["verdict"] = ToString(c.verdict);
  json["headline"] = c.headline;
  json["findings"] = Json::array();
  for (const RigFinding& f : c.findings) {
    json["findings"].push_back({{"level", ToString(f.level)},
                                {"camera", f.camera},
                                {"code", f.code},
                                {"text", f.text},
                                {"advice", f.advice}});
  }
  json["advice"] = c.advice;
  json["cameras"] = Json::array();
  for (std::size_t k = 0; k < c.cameras.size(); ++k) {
    const CameraCertificate& camera = c.cameras[k];
    Json one = {{"name", camera.name},
                {"verdict", ToString(camera.verdict)},
                {"working_distance_m", NumberJson(camera.working_distance)},
                {"sd_median_px", NumberJson(camera.sd_pixel_median)},
                {"sd_90_px", NumberJson(camera.sd_pixel_90)},
                {"sd_across_median_m", NumberJson(camera.sd_across_median)},
                {"sd_across_90_m", NumberJson(camera.sd_across_90)},
                {"total_px", NumberJson(camera.total_pixel)},
                {"total_across_m", NumberJson(camera.total_across)},
                {"sampling_error_px", NumberJson(camera.sampling_error)},
                {"model_error_px", NumberJson(camera.model_error)},
                {"model_error_source", camera.model_error_source},
                {"residuals", JsonOf(camera.residuals)},
                {"uncertainty", JsonOf(camera.at_distance)},
                {"uncertainty_at_infinity", JsonOf(camera.at_infinity)}};
    json["cameras"].push_back(std::move(one));
  }
  json["geometry"] = Json::array();
  for (const CameraGeometry& g : c.geometry.cameras) {
    json["geometry"].push_back({{"shots", g.shots},
                                {"points", g.points},
                                {"tilt_spread_rad", NumberJson(g.tilt_spread)},
                                {"depth_near_m", NumberJson(g.depth_near)},
                                {"depth_far_m", NumberJson(g.depth_far)},
                                {"coverage", NumberJson(g.coverage)},
                                {"coverage_columns", g.coverage_columns},
                                {"coverage_rows", g.coverage_rows},
                                {"cell_points", g.cell_points}});
  }
  json["triangulation"] = c.triangulation ? JsonOf(*c.triangulation) : Json(nullptr);
  json["triangulation_field"] = Json::array();
  for (const TriangulationFigure& t : c.triangulation_field)
    json["triangulation_field"].push_back(JsonOf(t));
  if (c.halves) {
    Json halves = {
        {"usable", c.halves->usable}, {"reason", c.halves->reason}, {"cameras", Json::array()}};
    for (const CrossValidation::PerCamera& h : c.halves->cameras) {
      halves["cameras"].push_back({{"rms_difference_px", NumberJson(h.rms_difference)},
                                   {"rms_predicted_px", NumberJson(h.rms_predicted)},
                                   {"ratio", NumberJson(h.ratio)},
                                   {"p", NumberJson(h.p)},
                                   {"model_error_px", NumberJson(h.model_error)}});
    }
    json["halves"] = halves;
  }
  json["board_warp_m"] = NumberJson(c.board_warp);
  return json;
}

Json JsonOf(const LensChoice& choice, const CalibrationProblem& problem) {
  Json json = Json::array();
  for (std::size_t c = 0; c < choice.scores.size(); ++c) {
    Json scores = Json::array();
    for (const LensChoice::Score& s : choice.scores[c]) {
      scores.push_back({{"model", ToString(s.model)},
                        {"held_out_rms_px", NumberJson(s.held_out_rms)},
                        {"paired_se_px", NumberJson(s.paired_se)},
                        {"note", s.note}});
    }
    json.push_back({{"camera", problem.cameras[c].name},
                    {"chosen", ToString(choice.chosen[c])},
                    {"scores", scores}});
  }
  return json;
}

Json JsonOf(const WorldRun& world) {
  Json json = {
      {"problem", world.problem}, {"source", world.rig.world.source}, {"notes", world.notes}};
  if (world.frame) {
    const Eigen::Matrix<double, 6, 1> sd = world.frame->cov.diagonal().cwiseMax(0).cwiseSqrt();
    json["frame"] = {{"sd_rotation_rad", List(Eigen::Vector3d(sd.head<3>()))},
                     {"sd_position_m", List(Eigen::Vector3d(sd.tail<3>()))},
                     {"chi_square", NumberJson(world.frame->chi_square)},
                     {"dof", world.frame->dof},
                     {"p", NumberJson(world.frame->p)}};
  }
  if (world.points) {
    json["scale"] = {{"value", NumberJson(world.points->scale)},
                     {"sd", NumberJson(world.points->sd_scale)},
                     {"consistent", world.points->scale_consistent}};
    json["points"] = Json::array();
    for (const PointResult& point : world.points->points)
      json["points"].push_back({{"name", point.name},
                                {"problem", point.problem},
                                {"residual_m", List(point.residual_W)},
                                {"sd_m", List(point.sd_W)},
                                {"chi_square", NumberJson(point.chi_square)}});
  }
  if (world.gravity) {
    json["gravity_W"] =
        world.rig.world.gravity_W ? List(*world.rig.world.gravity_W) : Json(nullptr);
    json["slope_rad"] = NumberJson(world.slope);
    json["sd_slope_rad"] = NumberJson(world.sd_slope);
    json["downhill_rad"] = NumberJson(world.downhill);
    json["sd_downhill_rad"] = NumberJson(world.sd_downhill);
  }
  if (world.scale) {
    json["lengths"] = Json::array();
    for (const LengthResult& length : world.scale->lengths)
      json["lengths"].push_back({{"name", length.name},
                                 {"problem", length.problem},
                                 {"measured_m", NumberJson(length.measured)},
                                 {"sd_m", NumberJson(length.sd_measured)},
                                 {"ratio", NumberJson(length.ratio)},
                                 {"lower95", NumberJson(length.lower95)},
                                 {"upper95", NumberJson(length.upper95)}});
    json["lengths_verdict"] = world.scale->verdict;
  }
  return json;
}

Json ViewsOf(const CalibrationRun& run) {
  Json shots = Json::array();
  for (std::size_t k = 0; k < run.problem.shots.size(); ++k) {
    const BoardShot& shot = run.problem.shots[k];
    const ShotResult* result = k < run.result.shots.size() ? &run.result.shots[k] : nullptr;
    Json one = {
        {"name", shot.name}, {"used", result != nullptr && result->used}, {"views", Json::array()}};
    if (result != nullptr && result->used) {
      const Eigen::Quaterniond q(result->X_WG.linear());
      one["p_WG_m"] = List(Eigen::Vector3d(result->X_WG.translation()));
      one["q_WG_wxyz"] = {q.w(), q.x(), q.y(), q.z()};
    }
    for (std::size_t c = 0; c < shot.views.size(); ++c) {
      const BoardView& view = shot.views[c];
      const ViewResult* fit =
          result != nullptr && c < result->views.size() ? &result->views[c] : nullptr;
      Json entry = {{"camera", run.problem.cameras[c].name},
                    {"image", view.image},
                    {"found", view.points.size()},
                    {"problem", view.problem},
                    {"sharpness_per_px", NumberJson(view.sharpness)}};
      if (fit != nullptr) {
        entry["rejected"] = fit->rejected;
        entry["note"] = fit->note;
        entry["rms_px"] = NumberJson(fit->rms);
        // Columns: id, observed x and y, predicted - observed x and y, relative sd, outlier.
        Json points = Json::array();
        for (const PointResidual& p : fit->points) {
          points.push_back({p.id, NumberJson(p.q.x()), NumberJson(p.q.y()),
                            NumberJson(p.residual.x()), NumberJson(p.residual.y()),
                            NumberJson(p.sd), p.outlier ? 1 : 0});
        }
        entry["points"] = std::move(points);
      }
      one["views"].push_back(std::move(entry));
    }
    shots.push_back(std::move(one));
  }
  return shots;
}

}  // namespace

std::string ToJson(const CalibrationRun& run) {
  const CalibrationResult& r = run.result;
  Json json = {{"schema", "impactlab.calibration_result/1"},
               {"version", ProgramVersion()},
               {"name", run.plan.name},
               {"status", Words(r.status)},
               {"reason", r.reason},
               {"advice", r.advice},
               {"refused", run.refused()},
               {"n_points", r.n_points},
               {"n_outliers", r.n_outliers},
               {"dof", r.dof},
               {"cost_px2", NumberJson(r.cost)},
               {"iterations", r.iterations},
               {"starts", r.starts},
               {"starts_agreeing", r.starts_agreeing},
               {"seconds_solve", NumberJson(r.seconds)},
               {"seconds_detect", NumberJson(run.seconds_detect)},
               {"warp_m", List(r.warp)},
               {"sigma_px", List(r.sigma)}};
  Json parameters = Json::array();
  const std::vector<std::string> names = ParameterNames(r.rig);
  int at = 0;
  for (const RigCamera& camera : r.rig.cameras) {
    const Eigen::VectorXd intrinsics = Intrinsics(camera.camera);
    for (Eigen::Index k = 0; k < intrinsics.size() + 6; ++k, ++at) {
      // The rotation is an increment on its own value, of which only the uncertainty is a number.
      const double value = k < intrinsics.size() ? intrinsics(k)
                           : k < intrinsics.size() + 3
                               ? 0.0
                               : camera.X_WC.translation()(k - intrinsics.size() - 3);
      const double variance =
          r.rig.covariance.rows() > at ? r.rig.covariance(at, at) : std::nan("");
      parameters.push_back({{"name", names[static_cast<std::size_t>(at)]},
                            {"value", NumberJson(value)},
                            {"sd", NumberJson(std::sqrt(variance))}});
    }
  }
  json["parameters"] = std::move(parameters);
  std::vector<std::string> notes = run.notes;
  notes.insert(notes.end(), r.notes.begin(), r.notes.end());
  json["notes"] = notes;
  if (run.lenses) json["lens_choice"] = JsonOf(*run.lenses, run.problem);
  json["certificate"] = JsonOf(run.certificate);
  if (run.world) json["world"] = JsonOf(*run.world);
  json["shots"] = ViewsOf(run);
  // Bytes of a foreign file name that are not UTF-8 become a replacement character rather than an
  // exception.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace impactlab
