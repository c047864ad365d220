#include "tracking/video/detail/levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "data/base/error.h"
#include "tracking/video/detail/pixels.h"

extern "C" {
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
}

namespace impactlab::tracking {
namespace {

constexpr std::string_view kGamma = "gamma ";

bool HasFullRangeName(int format) {
  switch (format) {
    case AV_PIX_FMT_YUVJ411P:
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ440P:
    case AV_PIX_FMT_YUVJ444P:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool HasLimitedRange(const AVFrame& frame, const AVPixFmtDescriptor& format) {
  const bool gray = format.nb_components <= 2;
  // Bilevel pictures have none.
  if (format.comp[0].depth < 8 || HasFullRangeName(frame.format)) return false;
  return frame.color_range == AVCOL_RANGE_MPEG ||
         (frame.color_range == AVCOL_RANGE_UNSPECIFIED && !gray);
}

double Light(const std::string& transfer, double level) {
  const double e = std::clamp(level, 0.0, 1.0);
  if (transfer == "bt709" || transfer == "smpte170m" || transfer == "bt2020-10" ||
      transfer == "bt2020-12") {
    constexpr double kAlpha = 1.09929682680944, kBeta = 0.018053968510807;
    return e < 4.5 * kBeta ? e / 4.5 : std::pow((e + kAlpha - 1) / kAlpha, 1 / 0.45);
  }
  if (transfer == "smpte240m")
    return e < 4 * 0.0228 ? e / 4 : std::pow((e + 0.1115) / 1.1115, 1 / 0.45);
  if (transfer == "iec61966-2-1")
    return e <= 0.04045 ? e / 12.92 : std::pow((e + 0.055) / 1.055, 2.4);
  if (transfer == "bt470m") return std::pow(e, 2.2);
  if (transfer == "bt470bg") return std::pow(e, 2.8);
  if (transfer == "linear") return e;
  if (transfer == "arib-std-b67") {
    constexpr double kA = 0.17883277, kB = 0.28466892, kC = 0.55991073;
    return e <= 0.5 ? e * e / 3 : std::min(1.0, (std::exp((e - kC) / kA) + kB) / 12);
  }
  if (transfer.starts_with(kGamma)) {
    const double gamma = std::strtod(transfer.c_str() + kGamma.size(), nullptr);
    return gamma > 0 ? std::pow(e, gamma) : -1;
  }
  return -1;
}

std::vector<double> LevelTable(int depth, bool limited, const std::string& transfer,
                               const VideoOptions& options, const std::string& name) {
  std::vector<double> table(std::size_t{1} << depth);
  const double unit = limited ? 1 << (depth - 8) : 1;
  const double black = options.black_level.value_or(limited ? 16 * unit : 0);
  const double white =
      options.white_level.value_or(limited ? 235 * unit : static_cast<double>(table.size() - 1));
  if (!(white > black))
    throw DataError(fmt::format("{}: its white level {:g} is not above its black level {:g}", name,
                                white, black));
  const std::string curve =
      options.gamma > 0 ? fmt::format("{}{}", kGamma, options.gamma) : transfer;
  if (options.linear && Light(curve, 1) < 0) {
    throw DataError(
        fmt::format("{}: light cannot be computed from its levels, since the file says of its "
                    "transfer curve: {}; give the gamma of the camera, or do without linear gray",
                    name, transfer));
  }
  for (std::size_t v = 0; v < table.size(); ++v) {
    const double level = std::clamp((static_cast<double>(v) - black) / (white - black), 0.0, 1.0);
    table[v] = options.linear ? Light(curve, level) : level;
  }
  return table;
}

std::string TransferName(const AVFrame& frame) {
  if (frame.color_trc != AVCOL_TRC_UNSPECIFIED && frame.color_trc != AVCOL_TRC_RESERVED &&
      frame.color_trc != AVCOL_TRC_RESERVED0) {
    const char* name = av_color_transfer_name(frame.color_trc);
    if (name != nullptr) return name;
  }
  // PNG states the exponent from light to levels.
  const AVDictionaryEntry* entry = av_dict_get(frame.metadata, "gamma", nullptr, 0);
  if (entry != nullptr) {
    char* rest = nullptr;
    const double num = std::strtod(entry->value, &rest);
    const double den = rest != nullptr && *rest == '/' ? std::strtod(rest + 1, nullptr) : 1;
    if (num > 0 && den > 0) return fmt::format("{}{:.6g}", kGamma, den / num);
  }
  return "unknown";
}

std::string PixelFormatName(const AVFrame& frame) {
  const char* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(frame.format));
  return name != nullptr ? name : "unknown";
}

int BitDepth(const AVFrame& frame) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  if (format == nullptr || format->nb_components < 1) return 0;
  return (format->flags & AV_PIX_FMT_FLAG_PAL) != 0 ? 8 : format->comp[0].depth;
}

}  // namespace impactlab::tracking
