#include "tracking/video_color.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/error.h"
#include "tracking/video_levels.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
}

namespace impactlab::internal {
namespace {

constexpr float kDark = 48.0F / 255;  // sum of the components below which colour fades
constexpr std::size_t kCurveSteps = 4096;

}  // namespace

void PlanesView::Read(const AVPixFmtDescriptor& format, int y, int component, int count, std::uint16_t* to) const {
  auto planes = data;
  av_read_image_line2(to, planes.data(), linesize.data(), &format, 0, y, component, count, 0, 2);
}

Closeness::Closeness(const std::array<double, 3>& reference, std::string name) : name_(std::move(name)), given_(reference) {
  const auto [low, high] = std::minmax_element(reference.begin(), reference.end());
  if (!(*low >= 0) || !(*high <= 255) || !(*high - *low >= 10)) {
    throw ConfigError(
        fmt::format("{}: color: [{:g}, {:g}, {:g}], allowed are three components of 0 to 255 that are not all alike: white, gray "
                    "and black have no colour to look for",
                    name_, reference[0], reference[1], reference[2]));
  }
}

void Closeness::Begin(const AVFrame& frame, const AVPixFmtDescriptor& format, Lines lines, const std::vector<double>& luma,
                      const std::string& curve) {
  for (ChromaRow& row : rows_) row.at = -1;
  levels_.assign(luma.begin(), luma.end());
  curve_.clear();
  if (!curve.empty())
    for (std::size_t k = 0; k <= kCurveSteps; ++k) curve_.push_back(static_cast<float>(Light(curve, static_cast<double>(k) / kCurveSteps)));
  std::array<double, 3> ref{};
  for (std::size_t k = 0; k < 3; ++k) ref[k] = curve.empty() ? given_[k] / 255 : Light(curve, given_[k] / 255);
  const double sum = ref[0] + ref[1] + ref[2];
  ref_r_ = static_cast<float>(ref[0] / sum);
  ref_g_ = static_cast<float>(ref[1] / sum);
  double span = 0;
  for (const double v : ref) span += (v / sum - 1.0 / 3) * (v / sum - 1.0 / 3);
  inverse_span_ = static_cast<float>(1 / std::sqrt(span));
  dark_gain_ = static_cast<float>((sum + kDark) / sum);
  if ((format.flags & AV_PIX_FMT_FLAG_RGB) != 0 || format.nb_components < 3) return;

  // Untagged video: that of high definition after BT.709, smaller after BT.601, as players take it. Pictures are BT.601 (JFIF).
  const bool full = !HasLimitedRange(frame, format);
  double k_r = 0.299, k_b = 0.114;
  const bool tall = frame.height >= 720 && !full;
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709:
      k_r = 0.2126, k_b = 0.0722;
      break;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      k_r = 0.2627, k_b = 0.0593;
      break;
    case AVCOL_SPC_SMPTE240M:
      k_r = 0.212, k_b = 0.087;
      break;
    case AVCOL_SPC_UNSPECIFIED:
      if (tall) k_r = 0.2126, k_b = 0.0722;
      break;
    default:
      break;
  }
  k_r_ = static_cast<float>(k_r);
  k_b_ = static_cast<float>(k_b);
  red_to_r_ = static_cast<float>(2 * (1 - k_r));
  blue_to_b_ = static_cast<float>(2 * (1 - k_b));
  const int depth = format.comp[1].depth;
  chroma_zero_ = static_cast<float>(1 << (depth - 1));
  chroma_scale_ = 1.0F / static_cast<float>(full ? (1 << depth) - 1 : 224 * (1 << (depth - 8)));
  // Where the chroma samples lie, in luma pixels right of and below the first.
  AVChromaLocation place = frame.chroma_location;
  if (place == AVCHROMA_LOC_UNSPECIFIED) place = full ? AVCHROMA_LOC_CENTER : AVCHROMA_LOC_LEFT;
  const bool left = place == AVCHROMA_LOC_LEFT || place == AVCHROMA_LOC_TOPLEFT || place == AVCHROMA_LOC_BOTTOMLEFT;
  const bool top = place == AVCHROMA_LOC_TOPLEFT || place == AVCHROMA_LOC_TOP;
  const bool bottom = place == AVCHROMA_LOC_BOTTOMLEFT || place == AVCHROMA_LOC_BOTTOM;
  const auto middle = [](int log2_size) { return 0.5F * static_cast<float>((1 << log2_size) - 1); };
  shift_x_ = left ? 0 : middle(format.log2_chroma_w);
  shift_y_ = top ? 0 : bottom ? static_cast<float>((1 << format.log2_chroma_h) - 1) : middle(format.log2_chroma_h);
  // Chroma lines of fields alternate like those of luma.
  if (lines != Lines::kAll && format.log2_chroma_h == 1) shift_y_ = lines == Lines::kTop ? 0.25F : 0.75F;
}

float Closeness::Curve(float level) const {
  const float e = std::clamp(level, 0.0F, 1.0F);
  return curve_.empty() ? e : curve_[static_cast<std::size_t>(e * kCurveSteps + 0.5F)];
}

std::uint8_t Closeness::Of(float r, float g, float b) const {
  const float sum = r + g + b;
  if (!(sum > 0)) return 0;
  const float dr = r / sum - ref_r_, dg = g / sum - ref_g_, db = -dr - dg;
  const float near = 1 - std::sqrt(dr * dr + dg * dg + db * db) * inverse_span_;
  if (near <= 0) return 0;
  return static_cast<std::uint8_t>(255 * near * std::min(1.0F, dark_gain_ * sum / (sum + kDark)) + 0.5F);
}

const Closeness::ChromaRow& Closeness::Chroma(const PlanesView& view, const AVPixFmtDescriptor& format, int at) {
  ChromaRow& row = rows_[static_cast<std::size_t>(at & 1)];
  if (row.at == at) return row;
  row.at = at;
  const int n = AV_CEIL_RSHIFT(view.width, format.log2_chroma_w);
  stored_.resize(static_cast<std::size_t>(view.width));
  for (int k = 1; k <= 2; ++k) {
    std::vector<float>& to = k == 1 ? row.blue : row.red;
    to.resize(static_cast<std::size_t>(n));
    view.Read(format, at, k, n, stored_.data());
    for (std::size_t x = 0; x < to.size(); ++x) to[x] = (static_cast<float>(stored_[x]) - chroma_zero_) * chroma_scale_;
  }
  return row;
}

void Closeness::YuvRow(const PlanesView& view, const AVPixFmtDescriptor& format, int y, std::uint8_t* out) {
  const int lines = AV_CEIL_RSHIFT(view.height, format.log2_chroma_h), columns = AV_CEIL_RSHIFT(view.width, format.log2_chroma_w);
  const float step_x = 1.0F / static_cast<float>(1 << format.log2_chroma_w), step_y = 1.0F / static_cast<float>(1 << format.log2_chroma_h);
  const float at = std::clamp((static_cast<float>(y) - shift_y_) * step_y, 0.0F, static_cast<float>(lines - 1));
  const int above = static_cast<int>(at), below = std::min(above + 1, lines - 1);
  const float v = at - static_cast<float>(above);
  const ChromaRow& upper = Chroma(view, format, above);
  const ChromaRow& lower = below == above ? upper : Chroma(view, format, below);
  view.Read(format, y, 0, view.width, stored_.data());
  for (int x = 0; x < view.width; ++x) {
    const float along = std::clamp((static_cast<float>(x) - shift_x_) * step_x, 0.0F, static_cast<float>(columns - 1));
    const auto i = static_cast<std::size_t>(along), j = std::min(i + 1, static_cast<std::size_t>(columns - 1));
    const float u = along - static_cast<float>(i);
    const auto mix = [&](const std::vector<float>& a, const std::vector<float>& b) {
      return (1 - v) * ((1 - u) * a[i] + u * a[j]) + v * ((1 - u) * b[i] + u * b[j]);
    };
    const float luma = levels_[stored_[static_cast<std::size_t>(x)]];
    const float r = luma + red_to_r_ * mix(upper.red, lower.red), b = luma + blue_to_b_ * mix(upper.blue, lower.blue);
    const float g = (luma - k_r_ * r - k_b_ * b) / (1 - k_r_ - k_b_);
    out[x] = Of(Curve(r), Curve(g), Curve(b));
  }
}

}  // namespace impactlab::internal
