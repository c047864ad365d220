// Cost of finding 40 bright markers of radius 3 to 7 px in gray frames of 1280x720, one core.
//
//   ReadPass             every byte of the frame once, summed with the widest vector instructions
//   there are: the memory bound FindSpots            ours: threshold and noise of this frame,
//   spots, backgrounds, weighted centroids, covariances, flags FindSpotsPortable    the same
//   without vector instructions FindContours         OpenCV: threshold (given), findContours,
//   moments of the grey values over box and rim, no covariance SimpleBlobDetector   OpenCV's with
//   default parameters, on the inverted frame, since it looks for dark blobs FindInWindows ours: 6
//   markers inside windows of 41x41 px, as a tracker asks for them
//
// "Cold": the frames come in turn from a set much larger than the second-level cache, as they do
// from a decoder on another core. "Hot": the same frame again and again.
//
// `Ratios` runs all of them in turn, round after round, and gives the best time of each, by the
// clock of the thread.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/discs.h"
#include "tracking/spot/spot.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace impactlab {
namespace {

constexpr int kWidth = 1280, kHeight = 720, kMarkers = 40, kFrames = 96;
constexpr double kBackground = 30, kAmplitude = 170, kNoise = 2;

struct Frames {
  std::vector<GrayImage> images, inverted;
  std::vector<Eigen::Vector2d> q;  // of the markers, the same in all frames
};

const Frames& Recording() {
  static const Frames frames = [] {
    Frames f;
    std::mt19937_64 rng(20260401);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<double> clean(static_cast<std::size_t>(kWidth) * kHeight, kBackground);
    while (static_cast<int>(f.q.size()) < kMarkers) {
      const Eigen::Vector2d q(20 + (kWidth - 40) * unit(rng), 20 + (kHeight - 40) * unit(rng));
      if (std::any_of(f.q.begin(), f.q.end(),
                      [&](const Eigen::Vector2d& p) { return (p - q).norm() < 30; }))
        continue;
      test::AddDisc({q, 3 + 4 * unit(rng), kAmplitude, 0.7}, kWidth, kHeight, &clean);
      f.q.push_back(q);
    }
    std::normal_distribution<double> noise(0, kNoise);
    for (int k = 0; k < kFrames; ++k) {
      GrayImage image{kWidth, kHeight, std::vector<std::uint8_t>(clean.size())};
      for (std::size_t i = 0; i < clean.size(); ++i) {
        image.pixels[i] =
            static_cast<std::uint8_t>(std::clamp(std::lround(clean[i] + noise(rng)), 0l, 255l));
      }
      GrayImage inverted = image;
      for (std::uint8_t& v : inverted.pixels) v = 255 - v;
      f.images.push_back(std::move(image));
      f.inverted.push_back(std::move(inverted));
    }
    return f;
  }();
  return frames;
}

std::uint64_t SumPlain(const std::uint8_t* p, std::size_t n) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += p[i];
  return sum;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) std::uint64_t SumAvx2(const std::uint8_t* p, std::size_t n) {
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  const __m256i zero = a;
  const auto at = [&](std::size_t i) __attribute__((target("avx2"))) {
    return _mm256_sad_epu8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i)), zero);
  };
  std::size_t i = 0;
  for (; i + 128 <= n; i += 128) {
    a = _mm256_add_epi64(a, at(i));
    b = _mm256_add_epi64(b, at(i + 32));
    c = _mm256_add_epi64(c, at(i + 64));
    d = _mm256_add_epi64(d, at(i + 96));
  }
  alignas(32) std::uint64_t parts[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(parts),
                     _mm256_add_epi64(_mm256_add_epi64(a, b), _mm256_add_epi64(c, d)));
  return parts[0] + parts[1] + parts[2] + parts[3] + SumPlain(p + i, n - i);
}
#endif

std::uint64_t ReadPass(const GrayImage& image) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return SumAvx2(image.pixels.data(), image.pixels.size());
#endif
  return SumPlain(image.pixels.data(), image.pixels.size());
}

void Expect(std::size_t found, std::size_t expected, const char* who) {
  if (found != expected)
    throw std::runtime_error(std::string(who) + " found " + std::to_string(found) + " markers");
}

cv::Mat View(const GrayImage& image) {
  return cv::Mat(image.height, image.width, CV_8U, const_cast<std::uint8_t*>(image.pixels.data()));
}

std::size_t FindContours(const GrayImage& image) {
  static cv::Mat binary, patch;
  static std::vector<std::vector<cv::Point>> contours;
  static std::vector<cv::Point2d> centres;
  const cv::Mat view = View(image);
  cv::threshold(view, binary, kBackground + 0.5 * kAmplitude, 255, cv::THRESH_BINARY);
  cv::findContours(binary, contours, cv::RETR_EXTERNAL, cv::CHAIN_APPROX_SIMPLE);
  centres.clear();
  for (const auto& contour : contours) {
    cv::Rect box = cv::boundingRect(contour);
    box = cv::Rect(box.x - 2, box.y - 2, box.width + 4, box.height + 4) &
          cv::Rect(0, 0, image.width, image.height);
    cv::subtract(view(box), cv::Scalar(kBackground), patch);
    const cv::Moments m = cv::moments(patch, false);
    centres.emplace_back(box.x + m.m10 / m.m00, box.y + m.m01 / m.m00);
  }
  return centres.size();
}

std::size_t BlobDetector(const GrayImage& inverted) {
  static const cv::Ptr<cv::SimpleBlobDetector> detector = cv::SimpleBlobDetector::create();
  static std::vector<cv::KeyPoint> points;
  detector->detect(View(inverted), points);
  return points.size();
}

std::vector<Window> Windows(int n) {
  std::vector<Window> windows;
  for (int i = 0; i < n; ++i) {
    const int x = static_cast<int>(std::lround(Recording().q[i].x())) + i % 5 - 2,
              y = static_cast<int>(std::lround(Recording().q[i].y())) + 3 - i;
    windows.push_back({x - 20, y - 20, x + 20, y + 20});
  }
  return windows;
}

double Seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void Ratios(benchmark::State& state) {
  cv::setNumThreads(1);
  const Frames& frames = Recording();
  SpotFinder finder;
  SpotOptions options;
  options.portable = true;
  SpotFinder portable(options);
  const std::vector<Window> windows = Windows(6);
  int k = 0;
  const auto next = [&] { return k = (k + 1) % kFrames; };
  struct Candidate {
    std::string name;
    int frames;  // a round
    std::function<void()> run;
  };
  std::uint64_t sum = 0;
  const std::vector<Candidate> candidates = {
      {"read_cold", 96, [&] { sum += ReadPass(frames.images[next()]); }},
      {"find_cold", 96,
       [&] { Expect(finder.FindSpots(frames.images[next()]).size(), kMarkers, "Find"); }},
      {"read_hot", 96, [&] { sum += ReadPass(frames.images[0]); }},
      {"find_hot", 96,
       [&] { Expect(finder.FindSpots(frames.images[0]).size(), kMarkers, "Find"); }},
      {"portable_cold", 24,
       [&] { Expect(portable.FindSpots(frames.images[next()]).size(), kMarkers, "portable"); }},
      {"contours_cold", 24,
       [&] { Expect(FindContours(frames.images[next()]), kMarkers, "findContours"); }},
      {"blob_detector_cold", 2,
       [&] { benchmark::DoNotOptimize(BlobDetector(frames.inverted[next()])); }},
      {"windows_cold", 96,
       [&] { Expect(finder.FindSpots(frames.images[next()], windows).size(), 6, "windows"); }},
  };
  std::map<std::string, double> best;
  for (const Candidate& c : candidates) best[c.name] = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    for (const Candidate& c : candidates) {
      const double begin = Seconds();
      for (int i = 0; i < c.frames; ++i) c.run();
      best[c.name] = std::min(best[c.name], (Seconds() - begin) / c.frames);
    }
  }
  benchmark::DoNotOptimize(sum);
  for (const auto& [name, time] : best) state.counters[name + "_us"] = 1e6 * time;
  state.counters["find_over_read_cold"] = best["find_cold"] / best["read_cold"];
  state.counters["find_over_read_hot"] = best["find_hot"] / best["read_hot"];
  state.counters["contours_over_find"] = best["contours_cold"] / best["find_cold"];
  state.counters["blob_detector_over_find"] = best["blob_detector_cold"] / best["find_cold"];
  state.counters["windows_frames_per_s"] = 1 / best["windows_cold"];
  state.counters["blob_detector_found"] = static_cast<double>(BlobDetector(frames.inverted[0]));
}
BENCHMARK(Ratios)->Iterations(40)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace impactlab

BENCHMARK_MAIN();
