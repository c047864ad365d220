#pragma once
// Small recordings with planted faults for the tests of the time-base doctor.

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/clip.h"

namespace impactlab::test {

struct DoctorScene {
  int width = 160, height = 120;
  double noise = 2;     // of every pixel of every exposure [grey levels]
  bool texture = true;  // in the background
  bool marker = true;   // a bright disc that falls, bounces and moves to the side
  double rate = 240;    // exposures a second
  double speed_x = 90;  // of the marker [px/s]
  std::function<double(int)> gain = [](int) { return 1.0; };
  std::function<double(int, int)> light = nullptr;  // of exposure and row
  double shift_x = 0, zoom = 1;                     // of the whole scene, from the middle
  bool interlaced = false;                          // odd rows half an exposure later
};

inline double Texture(double x, double y) {
  double v = 0;
  for (int k = 1; k <= 9; ++k)
    v += std::sin(0.13 * k * x + 0.7 * k * k + 0.21 * ((k * 5) % 7 - 3) * y) *
         std::cos(0.11 * k * y + 1.3 * k);
  return v / 3;
}

// The picture of exposure `k`; the same number gives the same picture with the same noise.
inline GrayImage Expose(const DoctorScene& scene, int k) {
  // Drawing every pixel anew would take most of the time of the tests: a long run of noise is
  // entered at another place for every row.
  static const std::vector<float> noise = [] {
    std::mt19937_64 rng(1);
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> list(1 << 18);
    for (float& v : list) v = normal(rng);
    return list;
  }();
  static std::map<std::array<double, 4>, std::vector<float>> textures;
  std::vector<float>& texture =
      textures[{scene.shift_x, scene.zoom, 1.0 * scene.width, 1.0 * scene.height}];
  if (texture.empty() && scene.texture) {
    for (int y = 0; y < scene.height; ++y)
      for (int x = 0; x < scene.width; ++x)
        texture.push_back(static_cast<float>(
            30 * Texture((x - 0.5 * scene.width - scene.shift_x) / scene.zoom + 80,
                         (y - 0.5 * scene.height) / scene.zoom + 60)));
  }
  std::mt19937_64 rng(1000 + static_cast<unsigned>(k));
  GrayImage image{scene.width, scene.height,
                  std::vector<std::uint8_t>(static_cast<std::size_t>(scene.width) * scene.height)};
  const auto place = [&](double t, double* x, double* y) {
    *x = 0.15 * scene.width + scene.speed_x * t;
    // 0.4 m from top to bottom
    const double g = 9.81 / 0.4 * scene.height, y0 = 0.15 * scene.height,
                 floor = 0.85 * scene.height;
    const double hit = std::sqrt(2 * (floor - y0) / g), after = t - hit;
    *y = after < 0 ? y0 + 0.5 * g * t * t : floor - 0.6 * g * hit * after + 0.5 * g * after * after;
  };
  for (int y = 0; y < scene.height; ++y) {
    double mx = 0, my = 0;
    place((k + (scene.interlaced && y % 2 == 1 ? 0.5 : 0)) / scene.rate, &mx, &my);
    const double lit = scene.gain(k) * (scene.light ? scene.light(k, y) : 1);
    const float* grain =
        noise.data() + rng() % (noise.size() - static_cast<std::size_t>(scene.width));
    for (int x = 0; x < scene.width; ++x) {
      double level =
          scene.texture ? 70 + texture[static_cast<std::size_t>(y) * scene.width + x] : 60;
      const double distance = scene.marker ? std::hypot(x - mx, y - my) - 6 : 99;
      if (distance < 6) level += (200 - level) / (1 + std::exp(2.5 * distance));
      level = level * lit + scene.noise * grain[x];
      image.At(x, y) = static_cast<std::uint8_t>(std::clamp(level + 0.5, 0.0, 255.0));
    }
  }
  return image;
}

inline std::vector<int> Range(int from, int to) {
  std::vector<int> list;
  for (int k = from; k < to; ++k) list.push_back(k);
  return list;
}

// The exposures of `order` one after another; their stamps are even unless given.
inline std::filesystem::path WriteScene(const std::filesystem::path& path, const DoctorScene& scene,
                                        const std::vector<int>& order, ClipOptions clip = {}) {
  clip.width = scene.width, clip.height = scene.height;
  if (clip.stamps.empty())
    clip.stamps =
        EvenStamps(static_cast<int>(order.size()), std::lround(clip.time_base.den / scene.rate));
  WriteClip(path, clip, [&](int k, AVFrame& frame) {
    FillGray(frame, Expose(scene, order[static_cast<std::size_t>(k)]));
  });
  return path;
}

// Copies the packets of a file into another container, with tags and with stamps changed by
// `stamp(packet, pts)`.
inline void Remux(const std::filesystem::path& from, const std::filesystem::path& to,
                  const std::map<std::string, std::string>& tags,
                  const std::function<std::int64_t(int, std::int64_t)>& stamp = nullptr) {
  AVFormatContext *in = nullptr, *out = nullptr;
  Check(avformat_open_input(&in, ("file:" + from.string()).c_str(), nullptr, nullptr), "open");
  Check(avformat_find_stream_info(in, nullptr), "streams");
  Check(avformat_alloc_output_context2(&out, nullptr, nullptr, to.c_str()), "container");
  AVStream* stream = avformat_new_stream(out, nullptr);
  Check(avcodec_parameters_copy(stream->codecpar, in->streams[0]->codecpar), "parameters");
  stream->codecpar->codec_tag = 0;
  stream->time_base = in->streams[0]->time_base;
  for (const auto& [key, value] : tags) av_dict_set(&out->metadata, key.c_str(), value.c_str(), 0);
  Check(avio_open(&out->pb, ("file:" + to.string()).c_str(), AVIO_FLAG_WRITE), "file");
  AVDictionary* options = nullptr;
  av_dict_set(&options, "movflags", "use_metadata_tags", 0);
  Check(avformat_write_header(out, &options), "header");
  av_dict_free(&options);
  AVPacket* packet = av_packet_alloc();
  for (int k = 0; av_read_frame(in, packet) >= 0; ++k) {
    packet->stream_index = 0;
    if (stamp) {
      packet->pts = stamp(k, packet->pts);
      packet->dts -= 10 * packet->duration;  // decoded before it is shown, whatever its stamp
    }
    av_packet_rescale_ts(packet, in->streams[0]->time_base, stream->time_base);
    Check(av_interleaved_write_frame(out, packet), "packet");
  }
  Check(av_write_trailer(out), "trailer");
  avio_closep(&out->pb);
  av_packet_free(&packet);
  avformat_free_context(out);
  avformat_close_input(&in);
}

}  // namespace impactlab::test
