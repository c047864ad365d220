// The examination on one screen, and as JSON.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tracking/doctor/doctor.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;

// Lines of at most `width` characters, all but the first indented.
std::string Wrap(const std::string& text, std::size_t indent, std::size_t width = 110) {
  std::string out;
  std::size_t column = indent, at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size()), length = end - at;
    if (column > indent && column + 1 + length > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ', ++column;
    }
    out.append(text, at, length);
    column += length;
    at = end + 1;
  }
  return out;
}

// Quantiles of the time between frames.
std::string Steps(const TimeBaseReport& report) {
  const auto& q = report.step_quantiles;
  if (q.size() < 7) return {};
  return fmt::format("{:.4f} ms (0 %)  {:.4f} (5 %)  {:.4f} (50 %)  {:.4f} (95 %)  {:.4f} (100 %)",
                     1e3 * q[0], 1e3 * q[1], 1e3 * q[3], 1e3 * q[5], 1e3 * q[6]);
}

std::string CostText(double cost) {
  if (cost <= 0) return "";
  if (cost < 1e-4) return "below 0.0001";
  return cost >= 1 ? "1 or more" : fmt::format("{:.{}f}", cost, cost < 0.01 ? 4 : 3);
}

Json ToValue(const TimeFinding& f) {
  return {{"code", f.code},
          {"severity", ToString(f.severity)},
          {"text", f.text},
          {"advice", f.advice},
          {"cost_e", f.cost_e}};
}

}  // namespace

std::string BriefReport(const TimeBaseReport& report) {
  const VideoInfo& info = report.info;
  constexpr std::size_t kIndent = 12;
  std::string out = report.name + "\n";
  out += fmt::format("  verdict   {}\n", Wrap(report.headline, kIndent));
  out += fmt::format(
      "  picture   {} x {}, {}{}\n", info.width, info.height, info.codec,
      info.rotation_deg != 0 ? fmt::format(", turned by {} degrees", info.rotation_deg) : "");
  out += fmt::format("  time      {:.6f} to {:.6f} s", report.first, report.last);
  if (report.rate > 0) out += fmt::format(", {:.4f} frames/s by the stamps", report.rate);
  if (info.nominal_rate > 0) out += fmt::format(" (header {:.4f})", info.nominal_rate);
  out += '\n';
  if (report.rate > 0) {
    out += fmt::format("  steps     {}\n", Steps(report));
    out += fmt::format("  jitter    {:.3f} us, {:.2f} % of a step\n", 1e6 * report.jitter,
                       100 * report.jitter * report.rate);
  }
  for (const TimeFinding& f : report.findings) {
    const std::string cost = CostText(f.cost_e);
    std::string text = f.text;
    if (!cost.empty() && f.severity == Severity::kFine)
      text += fmt::format("; if there is one: up to {} in e*", cost);
    out += fmt::format("  {:<9} {}\n", ToString(f.severity), Wrap(text, kIndent));
    if (!cost.empty() && f.severity != Severity::kFine)
      out += fmt::format("            cost in e* if ignored: up to {}\n", cost);
    if (!f.advice.empty()) out += fmt::format("            -> {}\n", Wrap(f.advice, kIndent + 3));
  }
  return out;
}

std::string ToJson(const TimeBaseReport& report) {
  const VideoInfo& info = report.info;
  Json findings = Json::array();
  for (const TimeFinding& f : report.findings) findings.push_back(ToValue(f));
  Json steps = Json::array();
  constexpr double kLevels[] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
  for (std::size_t k = 0; k < report.step_quantiles.size(); ++k)
    steps.push_back({{"p", kLevels[k]}, {"step_s", report.step_quantiles[k]}});
  const Json json = {{"schema", "impactlab.doctor/1"},
                     {"file", report.name},
                     {"verdict", ToString(report.verdict)},
                     {"headline", report.headline},
                     {"width_px", info.width},
                     {"height_px", info.height},
                     {"codec", info.codec},
                     {"rotation_deg", info.rotation_deg},
                     {"interlaced", info.interlaced},
                     {"nominal_rate_hz", info.nominal_rate},
                     {"frames", report.frames},
                     {"damaged", report.damaged},
                     {"first_s", report.first},
                     {"last_s", report.last},
                     {"rate_hz", report.rate},
                     {"jitter_s", report.jitter},
                     {"step_min_s", report.step_min},
                     {"step_max_s", report.step_max},
                     {"step_quantiles", steps},
                     {"duplicated", report.duplicated},
                     {"dropped", report.dropped},
                     {"exposure", report.exposure},
                     {"findings", findings}};
  // A name of a file need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace impactlab
