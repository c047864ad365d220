// How often the frames of a recording are decoded. Counted where libav does it, so that no reader
// is overlooked: the functions below stand before those of the library and call them.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "data/files/glob.h"
#include "pipelines/track/track.h"
#include "tests/support/folder.h"
#include "tracking/video/frames.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace {

std::atomic<long long> decoders_opened = 0, frames_decoded = 0;

// Not of libavformat, which opens decoders of its own to learn what a file holds.
bool IsOfThisProgram(const void* caller) {
  Dl_info there, here;
  return dladdr(caller, &there) != 0 && dladdr(&frames_decoded, &here) != 0 &&
         there.dli_fbase == here.dli_fbase;
}

template <class Function>
Function* Following(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int avcodec_open2(AVCodecContext* context, const AVCodec* codec,
                             AVDictionary** options) {
  static auto* const open = Following<decltype(avcodec_open2)>("avcodec_open2");
  if (codec != nullptr && av_codec_is_decoder(codec) != 0 &&
      IsOfThisProgram(__builtin_return_address(0)))
    ++decoders_opened;
  return open(context, codec, options);
}

extern "C" int avcodec_receive_frame(AVCodecContext* context, AVFrame* frame) {
  static auto* const receive = Following<decltype(avcodec_receive_frame)>("avcodec_receive_frame");
  const int result = receive(context, frame);
  if (result == 0 && IsOfThisProgram(__builtin_return_address(0))) ++frames_decoded;
  return result;
}

namespace impactlab {
namespace {

namespace fs = std::filesystem;

// Pixels of markers once more where the pose of the body predicts them, the contact sheet and the
// frames for the report: all of one second look.
TEST(Decodes, EveryVideoOfMarkersIsDecodedAtMostTwice) {
  const test::TemporaryFolder folder;
  TrackConfig plan =
      LoadTracking(fs::path(IMPACTLAB_SOURCE_DIR) / "data/sample/incline/tracking.yaml");
  plan.recordings.resize(1);
  long long frames = 0;
  for (const auto& files : plan.recordings[0].files) {
    FrameReader reader({.video = files.front()});
    for (Frame frame; reader.Next(&frame);) ++frames;
  }
  ASSERT_GT(frames, 100);
  decoders_opened = frames_decoded = 0;
  TrackRunOptions options;
  options.sheets = options.frames = true;
  const TrackRun run = RunTracking(plan, folder / "out", options, {.threads = 1, .quiet = true});
  ASSERT_EQ(run.recordings[0].failure, "");
  const auto videos = static_cast<long long>(plan.cameras.size());
  EXPECT_GT(decoders_opened, videos) << "a second look";
  EXPECT_LE(decoders_opened, 2 * videos);
  EXPECT_GT(frames_decoded, frames);
  EXPECT_LE(frames_decoded, 2 * frames);
  // The pictures were made.
  EXPECT_EQ(ExpandGlob("sheets/*.png", folder / "out").size(), plan.cameras.size());
  EXPECT_EQ(ExpandGlob("frames/*.jpg", folder / "out").size(), plan.cameras.size());
}

}  // namespace
}  // namespace impactlab
