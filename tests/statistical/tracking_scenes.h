#pragma once
// The drops of the tracking study: every kind of body, both picture sizes and rates, three
// occlusions in every camera, half of them with what a tracker does not expect.

#include <fmt/format.h>

#include <string>

#include "pipelines/synth/video.h"
#include "tests/support/video_scenes.h"

namespace impactlab::test {

// Scene number k of a study; scenes differ in all that follows from k and the seed. One drop each.
inline VideoScene StudyScene(int k, std::uint64_t seed) {
  VideoSceneOptions options;
  options.width = k / 4 % 2 == 0 ? 1280 : 800;
  options.rate = k / 8 % 2 == 0 ? 120 : 240;
  options.occlusions = 3;
  options.seed = seed + static_cast<std::uint64_t>(k);
  const bool hard = k / 2 % 2 == 1;
  options.clutter = hard ? 4 : 0;
  constexpr VideoScene (*kMakers[])(const VideoSceneOptions&) = {RodScene, BarScene, BallScene,
                                                                 BoxScene};
  VideoScene scene = kMakers[k % 4](options);
  scene.name = fmt::format("{}_{}x{}_{}{}", scene.name, options.width, options.width * 9 / 16,
                           options.rate, hard ? "_hard" : "");
  if (hard) {
    // Lossy video, a clock of its own, a rolling shutter, lost and repeated frames.
    scene.video.codec = VideoWriterOptions::Codec::kH264;
    scene.video.quality = 18;
    scene.cameras[1].t_offset = 0.0123;
    scene.cameras[1].clock_rate = 1 + 4e-5;
    scene.cameras[1].t_line = 8e-6;
    scene.cameras[0].dropped_share = 0.01;
  }
  return scene;
}

}  // namespace impactlab::test
