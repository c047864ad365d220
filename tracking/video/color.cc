#include "tracking/video/detail/color.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/base/error.h"
#include "tracking/video/detail/levels.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
}

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace impactlab::tracking {
namespace {

constexpr float kDark = 48.0F / 255;  // sum of the components below which colour fades
constexpr float kHalf = 0.5F;         // to the nearest level: none is negative
constexpr std::size_t kCurveSteps = 4096;

}  // namespace

void PlanesView::Read(const AVPixFmtDescriptor& format, int y, int component, int count,
                      std::uint16_t* to) const {
  auto planes = data;
  av_read_image_line2(to, planes.data(), linesize.data(), &format, 0, y, component, count, 0, 2);
}

Closeness::Closeness(const std::array<double, 3>& reference, std::string name)
    : name_(std::move(name)), given_(reference) {
  const auto [low, high] = std::minmax_element(reference.begin(), reference.end());
  if (!(*low >= 0) || !(*high <= 255) || !(*high - *low >= 10)) {
    throw ConfigError(
        fmt::format("{}: color: [{:g}, {:g}, {:g}], allowed are three components of 0 to 255 that "
                    "are not all alike: white, gray and black have no colour to look for",
                    name_, reference[0], reference[1], reference[2]));
  }
}

void Closeness::Begin(const AVFrame& frame, const AVPixFmtDescriptor& format, Lines lines,
                      const std::vector<double>& luma, const std::string& curve) {
  for (ChromaRow& row : rows_) row.at = -1;
  column_.clear();
  levels_.assign(luma.begin(), luma.end());
  curve_.clear();
  if (!curve.empty())
    for (std::size_t k = 0; k <= kCurveSteps; ++k)
      curve_.push_back(static_cast<float>(Light(curve, static_cast<double>(k) / kCurveSteps)));
  std::array<double, 3> ref{};
  for (std::size_t k = 0; k < 3; ++k)
    ref[k] = curve.empty() ? given_[k] / 255 : Light(curve, given_[k] / 255);
  const double sum = ref[0] + ref[1] + ref[2];
  ref_r_ = static_cast<float>(ref[0] / sum);
  ref_g_ = static_cast<float>(ref[1] / sum);
  double span = 0;
  for (const double v : ref) span += (v / sum - 1.0 / 3) * (v / sum - 1.0 / 3);
  inverse_span_ = static_cast<float>(1 / std::sqrt(span));
  dark_gain_ = static_cast<float>((sum + kDark) / sum);
  if ((format.flags & AV_PIX_FMT_FLAG_RGB) != 0 || format.nb_components < 3) return;

  // Untagged video: that of high definition after BT.709, smaller after BT.601, as players take it.
  // Pictures are BT.601 (JFIF).
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
  const bool left = place == AVCHROMA_LOC_LEFT || place == AVCHROMA_LOC_TOPLEFT ||
                    place == AVCHROMA_LOC_BOTTOMLEFT;
  const bool top = place == AVCHROMA_LOC_TOPLEFT || place == AVCHROMA_LOC_TOP;
  const bool bottom = place == AVCHROMA_LOC_BOTTOMLEFT || place == AVCHROMA_LOC_BOTTOM;
  const auto middle = [](int log2_size) { return 0.5F * static_cast<float>((1 << log2_size) - 1); };
  shift_x_ = left ? 0 : middle(format.log2_chroma_w);
  shift_y_ = top      ? 0
             : bottom ? static_cast<float>((1 << format.log2_chroma_h) - 1)
                      : middle(format.log2_chroma_h);
  // Chroma lines of fields alternate like those of luma.
  if (lines != Lines::kAll && format.log2_chroma_h == 1)
    shift_y_ = lines == Lines::kTop ? 0.25F : 0.75F;
}

void Closeness::Row(int width, std::uint8_t* out) const {
  constexpr float kTiny = 1e-6F;  // black has no colour; its share below is 0
  const float *r = rgb[0].data(), *g = rgb[1].data(), *b = rgb[2].data();
  int x = 0;
#ifdef __SSE2__
  const auto all = [](float v) { return _mm_set1_ps(v); };
  for (; x + 4 <= width; x += 4) {
    const __m128 sum =
        _mm_add_ps(_mm_loadu_ps(r + x), _mm_add_ps(_mm_loadu_ps(g + x), _mm_loadu_ps(b + x)));
    const __m128 inverse = _mm_div_ps(all(1), _mm_max_ps(sum, all(kTiny)));
    const __m128 dr = _mm_sub_ps(_mm_mul_ps(_mm_loadu_ps(r + x), inverse), all(ref_r_));
    const __m128 dg = _mm_sub_ps(_mm_mul_ps(_mm_loadu_ps(g + x), inverse), all(ref_g_));
    const __m128 db = _mm_add_ps(dr, dg);
    const __m128 square =
        _mm_add_ps(_mm_mul_ps(dr, dr), _mm_add_ps(_mm_mul_ps(dg, dg), _mm_mul_ps(db, db)));
    const __m128 near = _mm_max_ps(
        _mm_sub_ps(all(1), _mm_mul_ps(_mm_sqrt_ps(square), all(inverse_span_))), _mm_setzero_ps());
    const __m128 light = _mm_min_ps(
        all(1), _mm_div_ps(_mm_mul_ps(all(dark_gain_), sum), _mm_add_ps(sum, all(kDark))));
    const __m128i gray =
        _mm_cvttps_epi32(_mm_add_ps(_mm_mul_ps(_mm_mul_ps(all(255), near), light), all(0.5F)));
    const __m128i words = _mm_packs_epi32(gray, gray);
    const int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    std::memcpy(out + x, &bytes, 4);
  }
#endif
  for (; x < width; ++x) {
    const float sum = r[x] + g[x] + b[x], inverse = 1 / std::max(sum, kTiny);
    const float dr = r[x] * inverse - ref_r_, dg = g[x] * inverse - ref_g_, db = dr + dg;
    const float near = std::max(0.0F, 1 - std::sqrt(dr * dr + dg * dg + db * db) * inverse_span_);
    out[x] = static_cast<std::uint8_t>(
        255 * near * std::min(1.0F, dark_gain_ * sum / (sum + kDark)) + kHalf);
  }
}

const Closeness::ChromaRow& Closeness::Chroma(const PlanesView& view,
                                              const AVPixFmtDescriptor& format, int at) {
  ChromaRow& row = rows_[static_cast<std::size_t>(at & 1)];
  if (row.at == at) return row;
  row.at = at;
  const int n = AV_CEIL_RSHIFT(view.width, format.log2_chroma_w);
  stored_.resize(static_cast<std::size_t>(view.width));
  for (int k = 1; k <= 2; ++k) {
    std::vector<float>& to = k == 1 ? row.blue : row.red;
    to.resize(static_cast<std::size_t>(n));
    view.Read(format, at, k, n, stored_.data());
    for (std::size_t x = 0; x < to.size(); ++x)
      to[x] = (static_cast<float>(stored_[x]) - chroma_zero_) * chroma_scale_;
  }
  return row;
}

void Closeness::YuvRow(const PlanesView& view, const AVPixFmtDescriptor& format, int y,
                       std::uint8_t* out) {
  const int lines = AV_CEIL_RSHIFT(view.height, format.log2_chroma_h),
            columns = AV_CEIL_RSHIFT(view.width, format.log2_chroma_w);
  const auto width = static_cast<std::size_t>(view.width);
  if (column_.size() != width) {
    const float step = 1.0F / static_cast<float>(1 << format.log2_chroma_w);
    column_.resize(width);
    beside_.resize(width);
    for (std::size_t x = 0; x < width; ++x) {
      const float at = std::clamp((static_cast<float>(x) - shift_x_) * step, 0.0F,
                                  static_cast<float>(columns - 1));
      column_[x] = static_cast<int>(at);
      beside_[x] = at - static_cast<float>(column_[x]);
    }
  }
  const float at =
      std::clamp((static_cast<float>(y) - shift_y_) / static_cast<float>(1 << format.log2_chroma_h),
                 0.0F, static_cast<float>(lines - 1));
  const int above = static_cast<int>(at);
  const float v = at - static_cast<float>(above);
  const ChromaRow& upper = Chroma(view, format, above);
  const ChromaRow& lower = above + 1 < lines ? Chroma(view, format, above + 1) : upper;
  blue_.resize(static_cast<std::size_t>(columns) + 1);
  red_.resize(blue_.size());
  for (std::size_t k = 0; k + 1 < blue_.size(); ++k) {
    blue_[k] = blue_to_b_ * (upper.blue[k] + v * (lower.blue[k] - upper.blue[k]));
    red_[k] = red_to_r_ * (upper.red[k] + v * (lower.red[k] - upper.red[k]));
  }
  blue_.back() = blue_[blue_.size() - 2];
  red_.back() = red_[red_.size() - 2];
  view.Read(format, y, 0, view.width, stored_.data());
  for (std::vector<float>& part : rgb) part.resize(width);
  const float inverse_g = 1 / (1 - k_r_ - k_b_);
  for (std::size_t x = 0; x < width; ++x) {
    const auto i = static_cast<std::size_t>(column_[x]);
    const float luma = levels_[stored_[x]], u = beside_[x];
    const float r = luma + red_[i] + u * (red_[i + 1] - red_[i]),
                b = luma + blue_[i] + u * (blue_[i + 1] - blue_[i]);
    const float g = (luma - k_r_ * r - k_b_ * b) * inverse_g;
    rgb[0][x] = std::clamp(r, 0.0F, 1.0F);
    rgb[1][x] = std::clamp(g, 0.0F, 1.0F);
    rgb[2][x] = std::clamp(b, 0.0F, 1.0F);
  }
  if (!curve_.empty())
    for (std::vector<float>& part : rgb)
      for (float& level : part)
        level = curve_[static_cast<std::size_t>(level * kCurveSteps + kHalf)];
  Row(view.width, out);
}

}  // namespace impactlab::tracking
