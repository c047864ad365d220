#include "tracking/video/detail/pixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>

#include "data/base/error.h"
#include "tracking/video/detail/color.h"
#include "tracking/video/detail/file.h"
#include "tracking/video/detail/levels.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace impactlab::tracking {
namespace {

struct FreePixelScaler {
  void operator()(SwsContext* p) const { sws_freeContext(p); }
};

// round(255 (v - 16)/219), clipped, sixteen at a time: u = min(v - 16, 219) plus round(36 u/219) in
// fixed point, exact for every u.
void StretchLimited(const std::uint8_t* from, std::size_t n, const std::vector<std::uint8_t>& table,
                    std::uint8_t* to) {
  std::size_t x = 0;
#ifdef __SSE2__
  const __m128i black = _mm_set1_epi8(16), most = _mm_set1_epi8(static_cast<char>(219)),
                zero = _mm_setzero_si128();
  const __m128i factor = _mm_set1_epi16(static_cast<short>(43092)), half = _mm_set1_epi16(512);
  const auto extra = [&](__m128i high) {
    return _mm_srli_epi16(_mm_add_epi16(_mm_mulhi_epu16(high, factor), half), 10);
  };
  for (; x + 16 <= n; x += 16) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + x));
    const __m128i u = _mm_min_epu8(_mm_subs_epu8(v, black), most);
    const __m128i low = extra(_mm_unpacklo_epi8(zero, u)), high = extra(_mm_unpackhi_epi8(zero, u));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + x),
                     _mm_add_epi8(u, _mm_packus_epi16(low, high)));
  }
#endif
  for (; x < n; ++x) to[x] = table[from[x]];
}

void Shape(int width, int height, GrayImage* image) {
  image->width = width;
  image->height = height;
  image->pixels.resize(static_cast<std::size_t>(width) * height);
}

// In blocks, so that neither side runs out of the cache.
void TurnPicture(const GrayImage& from, const Turn& turn, GrayImage* to) {
  Shape(turn.swaps() ? from.height : from.width, turn.swaps() ? from.width : from.height, to);
  const std::ptrdiff_t row = to->width;
  // Memory steps for one pixel right and one down in the stored picture, and where its corner goes.
  const std::ptrdiff_t right = turn.a + turn.b * row, down = turn.c + turn.d * row;
  const bool from_right = turn.a < 0 || turn.c < 0, from_bottom = turn.b < 0 || turn.d < 0;
  std::uint8_t* corner = to->pixels.data() + (from_right ? to->width - 1 : 0) +
                         (from_bottom ? (to->height - 1) * row : 0);
  constexpr int kBlock = 32;
  for (int y0 = 0; y0 < from.height; y0 += kBlock) {
    for (int x0 = 0; x0 < from.width; x0 += kBlock) {
      const int y1 = std::min(y0 + kBlock, from.height), x1 = std::min(x0 + kBlock, from.width);
      for (int y = y0; y < y1; ++y) {
        const std::uint8_t* stored =
            from.pixels.data() + static_cast<std::ptrdiff_t>(y) * from.width;
        std::uint8_t* at = corner + x0 * right + y * down;
        for (int x = x0; x < x1; ++x, at += right) *at = stored[x];
      }
    }
  }
}

// Puts every line of a field into its own row and fills the rows between by the mean of those above
// and below; at the edge by the next.
void StretchField(const GrayImage& field, int height, bool top, GrayImage* to) {
  Shape(field.width, height, to);
  const auto width = static_cast<std::size_t>(field.width);
  const auto line = [&](int k) {
    return field.pixels.data() + static_cast<std::size_t>(k) * width;
  };
  for (int y = 0; y < height; ++y) {
    std::uint8_t* out = to->pixels.data() + static_cast<std::size_t>(y) * width;
    const int from_first = y - (top ? 0 : 1);
    const int above = from_first < 0 ? 0 : from_first / 2;
    const bool between = (from_first & 1) != 0 && from_first > 0 && above + 1 < field.height;
    if (!between) {
      std::memcpy(out, line(std::min(above, field.height - 1)), width);
      continue;
    }
    const std::uint8_t *a = line(above), *b = line(above + 1);
    for (std::size_t x = 0; x < width; ++x)
      out[x] = static_cast<std::uint8_t>((a[x] + b[x] + 1) / 2);
  }
}

}  // namespace

struct GrayMaker::State {
  enum class Way { kCopy, kLimited, kBytes, kWords, kSamples, kRgb, kColorRgb, kColorYuv };

  VideoOptions options;
  Turn turn;
  std::string name;

  // What the tables below were made for.
  int format = -1;
  bool limited = false;
  std::string transfer;
  Way way = Way::kCopy;
  const AVPixFmtDescriptor* descriptor = nullptr;
  std::vector<std::uint8_t> table;  // of luma
  std::vector<double> luma;         // of luma where a colour is looked for, 0..1
  // of RGB: share of each component in the gray, 0..255; for a colour in its own white, 0..1
  std::array<std::vector<double>, 3> weighted;
  std::string curve;  // undone by linear gray; empty: none
  std::unique_ptr<Closeness> closeness;

  GrayImage stored, field;
  std::array<std::vector<std::uint16_t>, 3> samples;
  std::unique_ptr<SwsContext, FreePixelScaler> scaler;
  std::unique_ptr<AVFrame, FreeFrame> rgb;

  [[noreturn]] void Fail(const std::string& cause) const {
    throw DataError(fmt::format("{}: {}", name, cause));
  }
  void Prepare(const AVFrame& frame);
  const AVFrame* ToRgb(const AVFrame& frame);
  void Row(const AVFrame& frame, const PlanesView& view, int y, std::uint8_t* out);
  void RgbSamples(const AVFrame& frame, const PlanesView& view, int y);
};

GrayMaker::GrayMaker(const VideoOptions& options, const Turn& turn, std::string name)
    : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->turn = turn;
  state_->name = std::move(name);
  if (options.color) state_->closeness = std::make_unique<Closeness>(*options.color, state_->name);
}
GrayMaker::~GrayMaker() = default;

void GrayMaker::State::Prepare(const AVFrame& frame) {
  descriptor = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const auto unreadable = [&] {
    Fail(fmt::format("its pixels ({}) cannot be read as gray values", PixelFormatName(frame)));
  };
  if (descriptor == nullptr || descriptor->nb_components < 1) unreadable();
  const bool palette = (descriptor->flags & AV_PIX_FMT_FLAG_PAL) != 0;
  const bool colour = palette || (descriptor->flags & AV_PIX_FMT_FLAG_RGB) != 0;
  if (descriptor->comp[0].depth > 16 || (colour && !palette && descriptor->nb_components < 3))
    unreadable();
  if (options.color && !colour && descriptor->nb_components < 3)
    Fail("is gray: no colour can be looked for in it");
  const bool range = !colour && HasLimitedRange(frame, *descriptor);
  const std::string tagged = TransferName(frame);
  if (frame.format == format && range == limited && tagged == transfer) return;

  format = frame.format;
  limited = range;
  transfer = tagged;
  curve = !options.linear     ? ""
          : options.gamma > 0 ? fmt::format("gamma {}", options.gamma)
                              : transfer;
  const int depth = palette ? 8 : descriptor->comp[0].depth;
  const std::vector<double> levels = LevelTable(depth, limited, transfer, options, name);
  if (options.color && !colour) {
    if (options.black_level || options.white_level)
      throw ConfigError(
          fmt::format("{}: levels cannot be given together with a colour for a YUV file", name));
    VideoOptions plain = options;
    plain.linear = false;  // its curve is that of red, green and blue, which are not known yet
    luma = LevelTable(depth, limited, transfer, plain, name);
    way = Way::kColorYuv;
    return;
  }
  if (colour) {
    // BT.601; equal components keep their value exactly.
    constexpr std::array<double, 3> kWeights = {0.299, 0.587, 0.114};
    for (std::size_t k = 0; k < 3; ++k) {
      const int component_depth = palette ? 8 : descriptor->comp[k].depth;
      weighted[k] = component_depth == depth
                        ? levels
                        : LevelTable(component_depth, false, transfer, options, name);
      for (double& v : weighted[k]) v *= options.color ? 1 : 255 * kWeights[k];
    }
    way = options.color ? Way::kColorRgb : Way::kRgb;
    return;
  }
  table.resize(levels.size());
  for (std::size_t v = 0; v < table.size(); ++v)
    table[v] = static_cast<std::uint8_t>(std::lround(255 * levels[v]));
  // white is 0 in this one
  if (frame.format == AV_PIX_FMT_MONOWHITE) std::reverse(table.begin(), table.end());
  const AVComponentDescriptor& first = descriptor->comp[0];
  const bool plain_levels = !options.linear && !options.black_level && !options.white_level;
  const bool little = (descriptor->flags & (AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_BITSTREAM)) == 0;
  if (first.depth == 8 && first.step == 1) {
    way = !plain_levels ? Way::kBytes : limited ? Way::kLimited : Way::kCopy;
  } else if (little && first.depth > 8 && first.step == 2 && first.shift == 0 && first.plane == 0 &&
             first.offset == 0) {
    way = Way::kWords;
  } else {
    way = Way::kSamples;
  }
}

// Bayer patterns, floating-point and other rare formats: swscale makes RGB of them.
const AVFrame* GrayMaker::State::ToRgb(const AVFrame& frame) {
  const auto from = static_cast<AVPixelFormat>(frame.format);
  if (sws_isSupportedInput(from) == 0) return nullptr;
  scaler.reset(sws_getCachedContext(scaler.release(), frame.width, frame.height, from, frame.width,
                                    frame.height, AV_PIX_FMT_RGB24, SWS_POINT | SWS_ACCURATE_RND,
                                    nullptr, nullptr, nullptr));
  if (!scaler) return nullptr;
  if (!rgb || rgb->width != frame.width || rgb->height != frame.height) {
    rgb.reset(av_frame_alloc());
    if (!rgb) throw std::bad_alloc();
    rgb->format = AV_PIX_FMT_RGB24;
    rgb->width = frame.width;
    rgb->height = frame.height;
    if (av_frame_get_buffer(rgb.get(), 0) < 0) throw std::bad_alloc();
  }
  rgb->color_trc = frame.color_trc;
  if (sws_scale(scaler.get(), frame.data, frame.linesize, 0, frame.height, rgb->data,
                rgb->linesize) < 0)
    return nullptr;
  return rgb.get();
}

void GrayMaker::State::RgbSamples(const AVFrame& frame, const PlanesView& view, int y) {
  const bool palette = (descriptor->flags & AV_PIX_FMT_FLAG_PAL) != 0;
  for (int k = 0; k < 3; ++k) {
    std::vector<std::uint16_t>& to = samples[static_cast<std::size_t>(k)];
    to.resize(static_cast<std::size_t>(view.width));
    view.Read(*descriptor, y, palette ? 0 : k, view.width, to.data());
    if (!palette) continue;
    for (std::uint16_t& v : to) {
      // Native 32-bit ARGB.
      std::uint32_t argb = 0;
      std::memcpy(&argb, frame.data[1] + 4 * static_cast<std::size_t>(v & 0xFF), 4);
      v = static_cast<std::uint16_t>((argb >> (16 - 8 * k)) & 0xFF);
    }
  }
}

void GrayMaker::State::Row(const AVFrame& frame, const PlanesView& view, int y, std::uint8_t* out) {
  const auto width = static_cast<std::size_t>(view.width);
  const std::uint8_t* line = view.data[0] + static_cast<std::ptrdiff_t>(y) * view.linesize[0];
  switch (way) {
    case Way::kCopy:
      std::memcpy(out, line + descriptor->comp[0].offset, width);
      break;
    case Way::kLimited:
      StretchLimited(line + descriptor->comp[0].offset, width, table, out);
      break;
    case Way::kBytes:
      line += descriptor->comp[0].offset;
      for (std::size_t x = 0; x < width; ++x) out[x] = table[line[x]];
      break;
    case Way::kWords: {
      // Some encoders leave undefined values above the significant bits.
      const std::size_t mask = table.size() - 1;
      for (std::size_t x = 0; x < width; ++x)
        out[x] = table[(line[2 * x] | static_cast<std::size_t>(line[2 * x + 1]) << 8) & mask];
      break;
    }
    case Way::kSamples:
      samples[0].resize(width);
      view.Read(*descriptor, y, 0, view.width, samples[0].data());
      for (std::size_t x = 0; x < width; ++x) out[x] = table[samples[0][x]];
      break;
    case Way::kRgb:
      RgbSamples(frame, view, y);
      for (std::size_t x = 0; x < width; ++x) {
        const double sum =
            weighted[0][samples[0][x]] + weighted[1][samples[1][x]] + weighted[2][samples[2][x]];
        out[x] = static_cast<std::uint8_t>(std::min(255.0, sum + 0.5 + 1e-9));
      }
      break;
    case Way::kColorRgb:
      RgbSamples(frame, view, y);
      for (std::size_t k = 0; k < 3; ++k) {
        closeness->rgb[k].resize(width);
        for (std::size_t x = 0; x < width; ++x)
          closeness->rgb[k][x] = static_cast<float>(weighted[k][samples[k][x]]);
      }
      closeness->Row(view.width, out);
      break;
    case Way::kColorYuv:
      closeness->YuvRow(view, *descriptor, y, out);
      break;
  }
}

void GrayMaker::Make(const AVFrame& frame, Lines lines, GrayImage* image) {
  State& s = *state_;
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  constexpr std::uint64_t kRare =
      AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_HWACCEL;
  const bool xyz = frame.format == AV_PIX_FMT_XYZ12LE || frame.format == AV_PIX_FMT_XYZ12BE;
  const AVFrame* source = &frame;
  if (format != nullptr && ((format->flags & kRare) != 0 || xyz)) {
    source = s.ToRgb(frame);
    if (source == nullptr)
      s.Fail(fmt::format("its pixels ({}) cannot be read as gray values", PixelFormatName(frame)));
  }
  s.Prepare(*source);
  if (s.options.color) s.closeness->Begin(*source, *s.descriptor, lines, s.luma, s.curve);
  PlanesView view;
  view.width = frame.width;
  view.height = lines == Lines::kAll   ? frame.height
                : lines == Lines::kTop ? (frame.height + 1) / 2
                                       : frame.height / 2;
  const bool palette = (s.descriptor->flags & AV_PIX_FMT_FLAG_PAL) != 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const bool is_palette = palette && k == 1;
    view.linesize[k] = source->linesize[k] * (lines == Lines::kAll || is_palette ? 1 : 2);
    view.data[k] =
        source->data[k] + (lines == Lines::kBottom && !is_palette && source->data[k] != nullptr
                               ? source->linesize[k]
                               : 0);
  }
  if (view.height < 1) s.Fail("has too few lines to be split into fields");
  const bool straight = s.turn.identity();
  GrayImage* target = lines != Lines::kAll ? &s.field : straight ? image : &s.stored;
  Shape(view.width, view.height, target);
  for (int y = 0; y < view.height; ++y)
    s.Row(*source, view, y, target->pixels.data() + static_cast<std::size_t>(y) * view.width);
  if (lines != Lines::kAll)
    StretchField(s.field, frame.height, lines == Lines::kTop, straight ? image : &s.stored);
  if (!straight) TurnPicture(s.stored, s.turn, image);
}

}  // namespace impactlab::tracking
