// Cost of following six markers through an H.264 video of 1280x720 pixels and at least 20 Mbit/s,
// one decoder thread a camera. "Even": the markers stand before a background of one level.
// "Uneven": they sit on the corners of a box brighter than what is behind it, so that every fit
// needs a background of its own form.
//
//   Decode      the frames, one after another, on the thread that asks
//   Track       TrackCamera: decoding ahead on a thread of its own; spots, tracks, edge model and
//   smoothing on this one TrackTwo    two cameras at a time, as `impactlab track` does on two cores
//
// `decoding` is the share of the wall time in which the decoder worked: near 1 where tracking hides
// behind it. `scaling` is the frames a second of two cameras over those of one; 2 on two idle cores
// and a decoder thread that leaves the others nothing to do.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/video_scenes.h"
#include "tracking/track/camera_track.h"
#include "tracking/video/writer.h"

namespace impactlab {
namespace {

using Clock = std::chrono::steady_clock;
double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Clip {
  std::filesystem::path path;
  long long frames = 0;
  double megabits_per_s = 0;
  VideoScene scene;
  Clip() = default;
  Clip(Clip&& other) noexcept
      : path(std::exchange(other.path, {})),
        frames(other.frames),
        megabits_per_s(other.megabits_per_s),
        scene(std::move(other.scene)) {}
  ~Clip() {
    if (path.empty()) return;
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

// A drop forwards and backwards, again and again: markers never leap.
Clip Draw(bool even) {
  Clip c;
  test::VideoSceneOptions options;
  options.rate = 240;
  c.scene = test::BoxScene(options);
  test::AddMarker(&c.scene, {-0.055, -0.0425, -0.03}, 0.007);
  c.scene.flash = false;
  if (even) c.scene.body_brightness = c.scene.floor_brightness = c.scene.background;
  std::vector<GrayImage> images;
  test::DrawScene(c.scene, 1, [&](const DrawnFrame& frame) {
    if (frame.camera == 0) images.push_back(frame.image);
  });
  c.path = std::filesystem::temp_directory_path() /
           fmt::format("track_benchmark_{}_{}.mp4", even ? "even" : "uneven", ::getpid());
  VideoWriterOptions video;
  video.codec = VideoWriterOptions::Codec::kH264;
  video.bit_rate = 40000000;
  VideoWriter writer(c.path, images.front().width, images.front().height, video);
  constexpr long long kFrames = 960;
  const auto n = static_cast<long long>(images.size());
  for (; c.frames < kFrames; ++c.frames) {
    const long long turn = c.frames % (2 * n - 2), k = turn < n ? turn : 2 * n - 2 - turn;
    writer.Write(images[static_cast<std::size_t>(k)], static_cast<double>(c.frames) / options.rate);
  }
  writer.Finish();
  c.megabits_per_s = 8e-6 * static_cast<double>(std::filesystem::file_size(c.path)) * options.rate /
                     static_cast<double>(c.frames);
  return c;
}

const Clip& Recording(bool even) {
  static const Clip clips[] = {Draw(false), Draw(true)};
  return clips[even];
}

FrameSource Source(bool even) {
  FrameSource source;
  source.video = Recording(even).path;
  source.decode.threads = 1;
  return source;
}

CameraTrackResult TrackIt(bool even) {
  const Clip& clip = Recording(even);
  CameraTrackOptions options;
  options.exposure = clip.scene.cameras[0].exposure;
  for (const SceneMarker& marker : clip.scene.markers) {
    options.names.push_back(marker.name);
    options.layout.push_back(marker.p_BM);
  }
  options.tracker.markers = static_cast<int>(options.names.size());
  return TrackCamera(Source(even), options);
}

void Decode(benchmark::State& state) {
  const bool even = state.range(0) != 0;
  Recording(even);  // drawn and coded before the clock runs
  for (auto _ : state) {
    FrameReader reader(Source(even), {.ahead = 0});
    Frame frame;
    long long n = 0;
    while (reader.Next(&frame)) ++n;
    if (n != Recording(even).frames) throw std::runtime_error("frames were lost");
  }
  state.counters["frames/s"] = benchmark::Counter(static_cast<double>(Recording(even).frames),
                                                  benchmark::Counter::kIsIterationInvariantRate);
  state.counters["Mbit/s"] = Recording(even).megabits_per_s;
}

void Track(benchmark::State& state) {
  const bool even = state.range(0) != 0;
  Recording(even);
  double decoding = 0, seconds = 0;
  long long measured = 0;
  for (auto _ : state) {
    const auto start = Clock::now();
    const CameraTrackResult result = TrackIt(even);
    seconds += Since(start);
    decoding += result.decoding;
    measured = std::count_if(result.points.begin(), result.points.end(),
                             [](const TrackPoint& p) { return (p.flags & kPredicted) == 0; });
  }
  state.counters["frames/s"] = benchmark::Counter(static_cast<double>(Recording(even).frames),
                                                  benchmark::Counter::kIsIterationInvariantRate);
  state.counters["decoding"] = decoding / seconds;
  state.counters["points"] = static_cast<double>(measured);
}

void TrackTwo(benchmark::State& state) {
  const bool even = state.range(0) != 0;
  Recording(even);
  double one = 0, two = 0;
  for (auto _ : state) {
    auto start = Clock::now();
    TrackIt(even);
    one += Since(start);
    start = Clock::now();
    {
      std::jthread other([even] { TrackIt(even); });
      TrackIt(even);
    }
    two += Since(start);
  }
  state.counters["scaling"] = 2 * one / two;
}

BENCHMARK(Decode)->ArgName("even")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Track)->ArgName("even")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(TrackTwo)->ArgName("even")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace impactlab

BENCHMARK_MAIN();
