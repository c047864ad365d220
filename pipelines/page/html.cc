#include "pipelines/page/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "impact/law/compliant.h"
#include "impact/law/impulse_law.h"
#include "pipelines/page/assets.h"
#include "pipelines/page/markup.h"
#include "pipelines/page/svg_axes.h"

namespace impactlab::pipelines {
namespace {

// Length of the well-formed UTF-8 sequence at `i`, 0 where there is none.
std::size_t Utf8Length(std::string_view s, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned char lead = byte(i);
  const std::size_t n = lead < 0x80                   ? 1
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (n == 0 || i + n > s.size()) return 0;
  for (std::size_t k = 1; k < n; ++k)
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates and code points past U+10FFFF.
  if (n == 3 && ((lead == 0xE0 && byte(i + 1) < 0xA0) || (lead == 0xED && byte(i + 1) >= 0xA0)))
    return 0;
  if (n == 4 && ((lead == 0xF0 && byte(i + 1) < 0x90) || (lead == 0xF4 && byte(i + 1) >= 0x90)))
    return 0;
  return n;
}

std::string Lookup(const std::map<std::string, std::string, std::less<>>& names,
                   std::string_view key, const std::string& fallback) {
  const auto it = names.find(key);
  return it == names.end() ? fallback : it->second;
}

std::string Spaced(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

}  // namespace

std::string Escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = Utf8Length(text, i);
    if (n == 0) {
      out += "\uFFFD";
      ++i;
      continue;
    }
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (n > 1)
      out.append(text.substr(i, n));
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c < 0x20 || c == 0x7F ? ' ' : static_cast<char>(c);
    i += n;
  }
  return out;
}

std::string ScriptSafe(std::string json) {
  for (std::size_t i = 0; (i = json.find('<', i)) != std::string::npos; i += 6)
    json.replace(i, 1, "\\u003c");
  return json;
}

std::string TypographicMinus(std::string text) {
  for (std::size_t i = 0; (i = text.find('-', i)) != std::string::npos; i += 3)
    text.replace(i, 1, "\u2212");
  return text;
}

std::string TypographicApostrophes(std::string text) {
  for (std::size_t i = 0; (i = text.find('\'', i)) != std::string::npos; i += 3)
    text.replace(i, 1, "\u2019");
  return text;
}

std::string Num(double value, int significant) {
  if (std::isnan(value)) return "\u2013";
  if (std::isinf(value)) return value > 0 ? "\u221E" : "\u2212\u221E";
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e7 || size < 1e-5) {
    const int exponent = static_cast<int>(std::floor(std::log10(size)));
    return TypographicMinus(fmt::format("{:.{}f}\u00D710<sup>{}</sup>",
                                        value / std::pow(10.0, exponent), significant - 1,
                                        exponent));
  }
  const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
  return Fixed(value, std::max(0, significant - before));
}

std::string Fixed(double value, int decimals) {
  if (!std::isfinite(value)) return Num(value);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find_first_not_of("-0.") == std::string::npos && text[0] == '-') text.erase(0, 1);
  return TypographicMinus(text);
}

std::string Percent(double share) {
  if (!std::isfinite(share)) return "\u2013";
  const double percent = 100 * share;
  const double size = std::abs(percent);
  return Fixed(percent, size >= 9.95 ? 0 : size >= 0.995 || size == 0 ? 1 : 2) + "\u00A0%";
}

int DecimalsFor(double sd) {
  if (!std::isfinite(sd) || sd <= 0) return 3;
  // Two digits of an sd that starts with 1, 2 or 3, one of a larger: the rounding then costs at
  // most a seventh of it.
  const double exponent = std::floor(std::log10(sd) + 1e-9);
  const double lead = sd / std::pow(10.0, exponent);
  return std::clamp(
      (lead < 3.55 || lead >= 9.5 ? 1 : 0) - static_cast<int>(exponent) - (lead >= 9.5 ? 1 : 0), 0,
      6);
}

std::string ValueSd(double value, double sd) {
  if (!std::isfinite(value)) return "\u2013";
  if (!std::isfinite(sd)) return Num(value);
  const int decimals = DecimalsFor(sd);
  return Fixed(value, decimals) + "\u00A0\u00B1\u00A0" + Fixed(sd, decimals);
}

std::string BoundsText(double lower, double upper, double sd, double lower_limit) {
  const int decimals = DecimalsFor(sd);
  const bool has_lower = std::isfinite(lower) && lower > lower_limit;
  const bool has_upper = std::isfinite(upper);
  if (std::isnan(lower) || std::isnan(upper) || (!has_lower && !has_upper)) return "open";
  if (!has_upper) return "at least " + Fixed(lower, decimals);
  if (!has_lower) return "at most " + Fixed(upper, decimals);
  return Fixed(lower, decimals) + " to " + Fixed(upper, decimals);
}

std::string Count(long long n, std::string_view noun) {
  return fmt::format("{}\u00A0{}{}", n, noun, n == 1 ? "" : "s");
}

std::string LawTitle(std::string_view law) {
  const auto title = [&](const auto& rows) -> const char* {
    for (const auto& row : rows)
      if (law == row.word) return row.title;
    return nullptr;
  };
  for (const char* found : {title(kRestitutionLaws), title(kImpulseLaws), title(kCompliantLaws)})
    if (found) return found;
  return Escape(law);
}

std::string LawOwner(RestitutionLaw law) { return TypographicApostrophes(InfoOf(law).owner); }

std::string LawPhrase(std::string_view law) {
  for (const RestitutionLawInfo& row : kRestitutionLaws)
    if (law == row.word) return LawOwner(row.law) + " law";
  for (const ImpulseLawInfo& row : kImpulseLaws)
    if (law == row.word) return TypographicApostrophes(row.owner) + " law";
  for (const CompliantLawInfo& row : kCompliantLaws)
    if (law == row.word) return std::string("the ") + row.title + " contact";
  return "the " + Escape(law) + " law";
}

std::string SymbolHtml(std::string_view parameter) {
  for (const RestitutionLawInfo& row : kRestitutionLaws)
    if (parameter == row.coefficient) return fmt::format("<i>e</i><sub>{}</sub>", row.subscript);
  static const std::map<std::string, std::string, std::less<>> names = {
      {"mu_k", "<i>μ</i><sub>k</sub>"},
      {"mu_s", "<i>μ</i><sub>s</sub>"},
      {"e_t", "<i>e</i><sub>t</sub>"}};
  return Lookup(names, parameter, Escape(parameter));
}

std::string QuantityTitle(std::string_view quantity) {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"v_plus_x", "velocity x after"},
      {"v_plus_y", "velocity y after"},
      {"v_plus_z", "velocity z after"},
      {"omega_plus_x", "spin x after"},
      {"omega_plus_y", "spin y after"},
      {"omega_plus_z", "spin z after"},
      {"v_n_plus", "normal velocity after"},
      {"v_t_plus", "slip velocity after"},
      {"v_t2_plus", "slip velocity across after"},
      {"J_t2_over_J_n", "impulse ratio across Jₜ₂ / Jₙ"},
      {"J_t_over_J_n", "impulse ratio Jₜ / Jₙ"},
      {"energy_ratio", "energy ratio T⁺ / T⁻"}};
  return Lookup(names, quantity, Spaced(quantity));
}

std::string ReasonTitle(std::string_view reason) {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"too_few_frames", "too few frames in an arc"},
      {"second_contact", "second contact too soon"},
      {"edge_or_flat_landing", "edge or flat landing"},
      {"rolling_contact", "stays on the surface"},
      {"no_approach", "contact point does not approach"},
      {"arc_misfit", "arcs do not follow free flight"},
      {"no_free_flight", "no free flight before"},
      {"no_impact", "no impact in the recording"},
      {"not_converged", "fit did not converge"},
      {"bad_recording", "file cannot be used"}};
  return Lookup(names, reason, Spaced(reason));
}

std::string ErrorTitle(std::string_view parameter) {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"theta_offset_rad", "attitude offset"},
      {"rotation_offset_x_rad", "attitude offset about x"},
      {"rotation_offset_y_rad", "attitude offset about y"},
      {"rotation_offset_z_rad", "attitude offset about z"},
      {"com_offset_x_m", "offset of the centre of mass in x"},
      {"com_offset_y_m", "offset of the centre of mass in y"},
      {"com_offset_z_m", "offset of the centre of mass in z"},
      {"length_scale", "length scale"},
      {"layout_distance_m", "distances of the marker layout"},
      {"clock_rate", "clock rate"},
      {"mirrored", "mirrored axis"},
      {"theta_flipped", "sense of rotation"},
      {"floor_offset_m", "floor height"},
      {"floor_tilt_rad", "floor tilt"},
      {"floor_tilt_y_rad", "floor tilt along y"},
      {"gravity_tilt_rad", "gravity off the vertical"},
      {"gravity_tilt_y_rad", "gravity off the vertical along y"},
      {"inertia_scale", "inertia"},
      {"axis_swapped", "swapped axes"},
      {"contact_time_s", "contact time"},
      {"corner_radius_m", "corner radius"},
      {"drag_rate_per_s", "drag"},
      {"drag_per_m", "drag of the square of speed"},
      {"lift_per_s", "lift"}};
  std::string_view stem = parameter;
  for (const std::string_view unit : {"_per_s", "_rad", "_m", "_s"})
    if (stem.ends_with(unit)) {
      stem.remove_suffix(unit.size());
      break;
    }
  return Lookup(names, parameter, Spaced(stem));
}

HtmlTable::HtmlTable(std::string caption, const std::vector<std::string>& headers)
    : caption_(std::move(caption)) {
  for (const std::string& header : headers) {
    const bool number = !header.empty() && header[0] == '#';
    numeric_.push_back(number);
    headers_.push_back(number ? header.substr(1) : header);
  }
}

// Rows are put together here, not by the template: a table may have ten thousands of cells.
void HtmlTable::Row(const std::vector<std::string>& cells, std::string_view row_class) {
  body_ += row_class.empty() ? std::string("<tr>") : fmt::format("<tr class=\"{}\">", row_class);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool number = i < numeric_.size() && numeric_[i];
    if (i == 0)
      body_ += fmt::format("<th scope=\"row\"{}>{}</th>", number ? " class=\"n\"" : "", cells[i]);
    else
      body_ += fmt::format("<td{}>{}</td>", number ? " class=\"n\"" : "", cells[i]);
  }
  body_ += "</tr>\n";
  ++rows_;
}

std::string HtmlTable::Html(bool tall) const {
  // more rows than this have their head in sight only in a box of their own
  constexpr int kTall = 16;
  tall = tall || rows_ > kTall;
  MarkupValues values{.texts = {{"caption", caption_}, {"rows", body_}}, .flags = {{"tall", tall}}};
  for (std::size_t i = 0; i < headers_.size(); ++i)
    values.lists["headers"].push_back(
        {.texts = {{"text", headers_[i]}}, .flags = {{"number", numeric_[i]}}});
  return FillTemplate(kTableTemplate, values);
}

std::string IntervalChart(const std::string& title, const std::string& unit,
                          const std::vector<IntervalRow>& rows, double reference,
                          const std::string& reference_label) {
  double low = std::isfinite(reference) ? reference : std::numeric_limits<double>::infinity();
  double high = std::isfinite(reference) ? reference : -std::numeric_limits<double>::infinity();
  for (const IntervalRow& row : rows)
    for (const double v : {row.value, row.lower, row.upper})
      if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  if (!(high >= low)) return {};
  const double pad = high > low ? 0.06 * (high - low) : std::max(0.05 * std::abs(high), 1e-6);
  low -= pad, high += pad;
  const double left = 140, right = 420,
               top = std::isfinite(reference) && !reference_label.empty() ? 22 : 8, pitch = 26;
  const double bottom = top + pitch * static_cast<double>(rows.size());
  const AxisScale scale{low, high, left, right};
  const auto px = [&](double v) { return scale(std::clamp(v, low, high)); };
  std::string svg = fmt::format(
      "<svg class=\"interval\" viewBox=\"0 0 440 {:.0f}\" role=\"img\" aria-label=\"{}\">",
      bottom + 24, Escape(title));
  const std::vector<AxisTick> ticks = AxisTicks(scale, 4);
  svg += "<path class=\"grid\" d=\"" + TickLinesX(ticks, top, bottom) + "\"/>" +
         TickTextsX(ticks, bottom + 17, "class=\"tick\"");
  if (std::isfinite(reference))
    svg += fmt::format(
        "<path class=\"ref\" d=\"M{0:.1f} {1:.0f}V{2:.0f}\"/><text class=\"tick\" x=\"{4:.1f}\" "
        "y=\"13\">{3}</text>",
        px(reference), top - 4, bottom, Escape(reference_label),
        std::clamp(px(reference), left + 20, right - 30));
  double y = top + pitch / 2;
  for (const IntervalRow& row : rows) {
    const bool open_low = !std::isfinite(row.lower), open_high = !std::isfinite(row.upper);
    const double a = open_low ? left : px(row.lower), b = open_high ? right : px(row.upper);
    svg += fmt::format(
        "<g class=\"{}\"><title>{}: {} ({} to {}) {}</title><text class=\"name\" x=\"{:.0f}\" "
        "y=\"{:.1f}\">{}</text>",
        row.muted ? "row muted" : "row", Escape(row.label), Num(row.value), Num(row.lower),
        Num(row.upper), Escape(unit), left - 12, y + 4.5, Escape(row.label));
    svg += fmt::format("<path class=\"whisker\" d=\"M{:.1f} {:.1f}H{:.1f}", a, y, b);
    if (open_low) svg += fmt::format("M{0:.1f} {1:.1f}l5 -4M{0:.1f} {1:.1f}l5 4", a, y);
    if (open_high) svg += fmt::format("M{0:.1f} {1:.1f}l-5 -4M{0:.1f} {1:.1f}l-5 4", b, y);
    svg += "\"/>";
    if (std::isfinite(row.value))
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/>", px(row.value), y);
    svg += "</g>";
    y += pitch;
  }
  return fmt::format(
      "<figure class=\"mini\"><figcaption>{}{}</figcaption>{}</svg></figure>\n", Escape(title),
      unit.empty() ? "" : " <span class=\"unit\">[" + Escape(unit) + "]</span>", svg);
}

}  // namespace impactlab::pipelines
