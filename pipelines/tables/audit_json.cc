#include <cmath>
#include <nlohmann/json.hpp>

#include "data/files/number_json.h"
#include "pipelines/tables/tables.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;

Json Of(const Estimate& e) {
  return {{"value", NumberJson(e.value)},     {"sd", NumberJson(e.sd)},
          {"lower95", NumberJson(e.lower95)}, {"upper95", NumberJson(e.upper95)},
          {"determined", e.determined},       {"reason", e.reason}};
}

Json Of(const MomentumAudit& m) {
  return {{"n", m.n},
          {"rms_rad_per_s", NumberJson(m.rms)},
          {"median_abs_rad_per_s", NumberJson(m.median_abs)},
          {"bias_rad_per_s", NumberJson(m.bias)},
          {"spread_rad_per_s", NumberJson(m.spread)},
          {"expected_rms_rad_per_s", NumberJson(m.expected_rms)},
          {"relative", NumberJson(m.relative())},
          {"gyration_normal_m", Of(m.gyration_normal)},
          {"gyration_tangential_m", Of(m.gyration_tangential)},
          {"gyration_body_m", NumberJson(m.gyration_body)}};
}

Json Of(const EventAudit& e) {
  return {{"recording", e.recording},
          {"impact", e.impact},
          {"momentum_residual_rad_per_s", NumberJson(e.momentum_residual)},
          {"momentum_sd_rad_per_s", NumberJson(e.momentum_sd)},
          {"energy_gain", NumberJson(e.energy_gain)},
          {"energy_sd", NumberJson(e.energy_sd)},
          {"friction", e.friction},
          {"momentum_ok", e.momentum_ok},
          {"energy_ok", e.energy_ok},
          {"friction_ok", e.friction_ok}};
}

Json Of(const FrameCorrection& c) {
  return {{"theta_offset_rad", c.theta_offset() == 0 ? Json(0.0) : NumberJson(c.theta_offset())},
          {"rotation_offset_x_rad", NumberJson(c.rotation_offset_B.x())},
          {"rotation_offset_y_rad", NumberJson(c.rotation_offset_B.y())},
          {"rotation_offset_z_rad", NumberJson(c.rotation_offset_B.z())},
          {"com_offset_x_m", NumberJson(c.com_offset_B.x())},
          {"com_offset_y_m", NumberJson(c.com_offset_B.y())},
          {"com_offset_z_m", NumberJson(c.com_offset_B.z())},
          {"length_scale", NumberJson(c.length_scale)},
          {"clock_rate", NumberJson(c.clock_rate)},
          {"mirrored", c.mirrored},
          {"theta_flipped", c.theta_flipped},
          {"floor_offset_m", NumberJson(c.floor_offset)},
          {"floor_tilt_rad", NumberJson(c.floor_tilt)}};
}

Json Of(const ClosureVerdict& v) {
  return {{"verdict", ClosureWord(v.closure)},
          {"n", v.n},
          {"share", NumberJson(v.share)},
          {"noise_share", NumberJson(v.noise_share)},
          {"probability", NumberJson(v.probability)},
          {"text", v.text}};
}

Json Of(const RigidityVerdict& v) {
  return {{"rigid", v.rigid},     {"tested", v.tested},           {"n", v.n},
          {"against", v.against}, {"share", NumberJson(v.share)}, {"text", v.text}};
}

}  // namespace

std::string ToJson(const AuditResult& audit) {
  Json json;
  json["momentum_closure"] = Of(audit.closure);
  json["rigidity"] = Of(audit.rigidity);
  json["momentum"] = Of(audit.momentum);
  json["momentum_corrected"] = Of(audit.momentum_corrected);
  json["gravity_m_per_s2"] = Of(audit.gravity);
  json["evidence"] = Json::array();
  for (const Evidence& e : audit.evidence)
    json["evidence"].push_back(
        {{"parameter", e.parameter}, {"source", e.source}, {"estimate", Of(e.estimate)}});
  json["findings"] = Json::array();
  for (const Finding& f : audit.findings) {
    json["findings"].push_back({{"parameter", f.parameter},
                                {"named", f.named},
                                {"estimate", Of(f.estimate)},
                                {"text", f.text}});
  }
  json["correction"] = Of(audit.correction);
  json["inertia_note"] = audit.inertia_note;
  json["events"] = Json::array();
  for (const EventAudit& e : audit.events) json["events"].push_back(Of(e));
  // Bytes of a foreign file name that are not UTF-8 become a replacement character rather than an
  // exception.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ToJson(const SetDiagnosis& d) {
  Json json;
  json["recordings"] = d.recordings;
  json["steady"] = d.steady;
  json["acceleration_m_per_s2"] = Json::array();
  for (int k = 0; k < 3; ++k)
    json["acceleration_m_per_s2"].push_back(NumberJson(d.acceleration_W(k)));
  json["gap_m"] = NumberJson(d.gap);
  json["gap_allowed_m"] = NumberJson(d.gap_allowed);
  json["seen"] = d.seen;
  json["causes"] = Json::array();
  for (const SetCause& cause : d.causes)
    json["causes"].push_back({{"text", cause.text}, {"cure", cause.cure}});
  return json.dump(2) + "\n";
}

}  // namespace impactlab
