#include "tracking/video/stream_facts.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "data/files/text.h"
#include "tracking/video/detail/file.h"

namespace impactlab::tracking {
namespace {

void TakeTags(const AVDictionary* dictionary, StreamFacts* facts) {
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr)
    facts->tags[LowerCase(entry->key)] = entry->value;
}

// "240", "240.000000", "240/1", "240 fps"
double RateIn(const std::string& text) {
  std::size_t length = 0;
  while (length < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[length])) != 0 || text[length] == '.'))
    ++length;
  const auto value = ParseNumber(text.substr(0, length));
  if (!value) return 0;
  if (length < text.size() && text[length] == '/') {
    const auto below = ParseNumber(text.substr(length + 1));
    return below && *below > 0 ? *value / *below : 0;
  }
  return *value;
}

// com.android.capture.fps; Sony's and others' names of the same thing. The rate for playing has
// names of its own.
bool IsCaptureTag(const std::string& key) {
  const auto has = [&](const char* part) { return key.find(part) != std::string::npos; };
  const bool rate =
      has("fps") || has("frame_rate") || has("framerate") || has("frame rate") || has("frame-rate");
  return rate &&
         (has("capture") || has("record") || has("sensor") || has("shooting") ||
          has("acquisition")) &&
         !has("playback");
}

void Understand(StreamFacts* facts) {
  for (const auto& [key, value] : facts->tags) {
    const double rate = IsCaptureTag(key) ? RateIn(value) : 0;
    if (rate > 0 && std::isfinite(rate)) facts->capture_rate = rate, facts->capture_tag = key;
    if (key.find("readouttimeinmicroseconds") != std::string::npos)
      facts->readout = 1e-6 * RateIn(value);
    facts->phone |= key.starts_with("com.android") || key.starts_with("com.apple.quicktime.m") ||
                    key.starts_with("com.samsung");
  }
}

// Codecs of single pictures that libav does not list as such.
bool IsIntra(AVCodecID id) {
  constexpr AVCodecID kIntra[] = {AV_CODEC_ID_PNG,      AV_CODEC_ID_TIFF, AV_CODEC_ID_BMP,
                                  AV_CODEC_ID_RAWVIDEO, AV_CODEC_ID_FFV1, AV_CODEC_ID_JPEG2000};
  return std::find(std::begin(kIntra), std::end(kIntra), id) != std::end(kIntra);
}

}  // namespace

StreamFacts ProbeStream(const std::filesystem::path& path) {
  const VideoFile file(path);
  StreamFacts facts;
  facts.container = file.format().iformat->name;
  facts.tick = av_q2d(file.stream->time_base);
  facts.predicted = file.predicted && !IsIntra(file.stream->codecpar->codec_id);
  facts.counted = facts.container == "avi";
  TakeTags(file.format().metadata, &facts);
  TakeTags(file.stream->metadata, &facts);
  Understand(&facts);
  return facts;
}

}  // namespace impactlab::tracking
