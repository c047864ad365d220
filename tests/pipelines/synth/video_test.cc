#include "pipelines/synth/video.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "data/yaml/yaml.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/config/run_context.h"
#include "pipelines/synth/motion.h"
#include "pipelines/synth/video_outline.h"
#include "tests/support/folder.h"
#include "tests/support/video_scenes.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Small pictures, so that drawing takes no time.
test::VideoSceneOptions Small() {
  test::VideoSceneOptions o;
  o.width = 320;
  return o;
}

struct Shown {
  std::vector<std::vector<double>> stamps;  // [camera][frame]
  std::vector<std::vector<std::vector<TruthPoint>>> truth;
  std::vector<std::vector<GrayImage>> images;
};
Shown DrawAll(const VideoScene& scene, int drop, bool keep_images = false) {
  Shown out;
  const std::size_t n = scene.rig.cameras.size();
  out.stamps.resize(n);
  out.truth.resize(n);
  out.images.resize(n);
  test::DrawScene(scene, drop, [&](const DrawnFrame& frame) {
    EXPECT_EQ(frame.frame, static_cast<long long>(out.stamps[frame.camera].size()));
    out.stamps[frame.camera].push_back(frame.stamp);
    out.truth[frame.camera].push_back(frame.truth);
    if (keep_images) out.images[frame.camera].push_back(frame.image);
  });
  return out;
}

TEST(SynthVideo, TheSameSceneGivesTheSamePicturesAndAnotherSeedDoesNot) {
  VideoScene scene = test::RodScene(Small());
  const Shown a = DrawAll(scene, 1, true), b = DrawAll(scene, 1, true),
              other = DrawAll(scene, 2, true);
  ASSERT_EQ(a.images[1].size(), b.images[1].size());
  for (std::size_t k = 0; k < a.images[1].size(); ++k)
    ASSERT_EQ(a.images[1][k].pixels, b.images[1][k].pixels);
  EXPECT_NE(a.images[0][0].pixels, other.images[0][0].pixels);
  scene.seed = 2;  // the noise; motion.seed is the motion's
  const Shown c = DrawAll(scene, 1, true);
  EXPECT_NE(a.images[0][0].pixels, c.images[0][0].pixels);
  EXPECT_EQ(a.truth[0][20][0].q, c.truth[0][20][0].q);
}

TEST(SynthVideo, BodiesStrikeAtTheCentreAndStayInSight) {
  for (VideoScene scene : {test::RodScene(Small()), test::BarScene(Small()),
                           test::BallScene(Small()), test::BoxScene(Small())}) {
    scene.centre_W = {0.05, -0.04, 0.3};  // the height is the floor's
    for (int drop = 1; drop <= 3; ++drop) {
      const pipelines::Film film = pipelines::MakeFilm(scene, drop);
      const pipelines::Strike& first = film.motion.strikes.front();
      const Eigen::Isometry3d X_WB = film.Pose(film.release + first.t);
      EXPECT_NEAR(X_WB.translation().x(), 0.05, 1e-9) << scene.name;
      EXPECT_NEAR(X_WB.translation().y(), -0.04, 1e-9);
      EXPECT_NEAR(ContactWithPlane(scene.motion.body, X_WB, {}).gap, 0, 1e-8);
      EXPECT_TRUE(film.Pose(0).isApprox(film.Pose(film.release), 1e-12));
    }
    scene.centre_W.setZero();
    const Shown shown = DrawAll(scene, 1);
    for (int camera = 0; camera < 2; ++camera)
      for (const auto& frame : shown.truth[camera])
        for (const TruthPoint& point : frame) {
          EXPECT_GT(point.q.x(), 5) << scene.name << " marker " << point.marker;
          EXPECT_GT(point.q.y(), 5) << scene.name << " marker " << point.marker;
          EXPECT_LT(point.q.x(), 314) << scene.name << " marker " << point.marker;
          EXPECT_LT(point.q.y(), 174) << scene.name << " marker " << point.marker;
        }
  }
}

TEST(SynthVideo, CamerasTakeTheirFramesOnTheirOwnClocks) {
  VideoScene scene = test::RodScene(Small());
  scene.cameras[0].t_offset = 0.004;
  scene.cameras[1].t_offset = 0.03;
  scene.cameras[1].clock_rate = 1.0002;
  scene.cameras[1].frame_rate = 100;
  scene.cameras[1].t_line = 1e-5;
  const pipelines::Film film = pipelines::MakeFilm(scene, 1);
  const Shown shown = DrawAll(scene, 1);
  for (int camera = 0; camera < 2; ++camera) {
    const SceneCamera& settings = scene.cameras[camera];
    const RigCamera& item = scene.rig.cameras[camera];
    for (std::size_t k = 0; k < shown.stamps[camera].size(); ++k) {
      EXPECT_NEAR(shown.stamps[camera][k], k / settings.frame_rate, 1e-12);
      for (const TruthPoint& point : shown.truth[camera][k]) {
        const double t = settings.t_offset + settings.clock_rate * shown.stamps[camera][k] +
                         point.q.y() * settings.t_line;
        EXPECT_NEAR(point.t, t, 1e-9);
        const auto q =
            Project(item.camera,
                    item.X_WC.inverse() * (film.Pose(point.t) * scene.markers[point.marker].p_BM));
        EXPECT_LT((*q - point.q).norm(), 1e-4);
      }
    }
    const double last = shown.truth[camera].back()[0].t;
    EXPECT_LE(last, film.end + 720 * std::abs(settings.t_line));
    EXPECT_GT(last, film.end - 1.1 / settings.frame_rate);
  }
  // Both saw the flash begin.
  EXPECT_GT(film.flash_on, 0.03 + 3 / 100.0);
}

TEST(SynthVideo, FramesAreLostAndRepeated) {
  VideoScene scene = test::RodScene(Small());
  const Shown whole = DrawAll(scene, 1, true);
  scene.cameras[0].dropped_share = 0.15;
  scene.cameras[0].duplicated_share = 0.15;
  const Shown shown = DrawAll(scene, 1, true);
  const std::size_t n = whole.stamps[0].size();
  ASSERT_LT(shown.stamps[0].size(), n);
  EXPECT_GT(shown.stamps[0].size(), n / 2);
  EXPECT_EQ(shown.stamps[0][0], 0);
  int repeated = 0;
  for (std::size_t k = 0; k < shown.stamps[0].size(); ++k) {
    const long index = std::lround(shown.stamps[0][k] * 120);
    EXPECT_NEAR(shown.stamps[0][k], index / 120.0, 1e-12);
    if (k > 0 && shown.images[0][k].pixels == shown.images[0][k - 1].pixels) {
      ++repeated;
      // The stamp goes on; the truth is that of the picture.
      EXPECT_EQ(std::lround((shown.stamps[0][k] - shown.stamps[0][k - 1]) * 120), 1);
      EXPECT_EQ(shown.truth[0][k][0].t, shown.truth[0][k - 1][0].t);
      EXPECT_EQ(shown.truth[0][k][0].frame, static_cast<long long>(k));
    } else {
      EXPECT_EQ(shown.images[0][k].pixels, whole.images[0][index].pixels);
    }
  }
  EXPECT_GT(repeated, 2);
  // The other camera lost nothing.
  EXPECT_EQ(shown.stamps[1].size(), whole.stamps[1].size());
}

// Runs of frames in which less of a marker is seen than without occlusions (markers also pass
// before each other).
struct HiddenRun {
  int marker, length;
  double least;
};
std::vector<HiddenRun> Hidden(const std::vector<std::vector<TruthPoint>>& truth,
                              const std::vector<std::vector<TruthPoint>>& bare) {
  std::vector<HiddenRun> runs;
  for (std::size_t m = 0; m < truth[0].size(); ++m) {
    HiddenRun run{static_cast<int>(m), 0, 1};
    for (std::size_t k = 0; k < truth.size(); ++k) {
      const auto& frame = truth[k];
      if (frame[m].visible < bare[k][m].visible) {
        ++run.length;
        run.least = std::min(run.least, frame[m].visible);
        continue;
      }
      if (run.length > 0) runs.push_back(run);
      run = {static_cast<int>(m), 0, 1};
    }
    if (run.length > 0) runs.push_back(run);
  }
  return runs;
}

TEST(SynthVideo, OcclusionsHideOneMarkerForTwoToEightFramesAndNoMoreThanAskedFor) {
  int total = 0, asked = 0;
  std::set<int> markers;
  std::set<int> lengths;
  for (const int width : {320, 800})
    for (const char kind : {'r', 'b', 'x'})
      for (int drop = 1; drop <= 3; ++drop) {
        if (width == 800 && kind != 'r') continue;
        test::VideoSceneOptions o = Small();
        o.width = width;
        o.occlusions = 3;
        o.rate = drop == 1 ? 240 : 120;
        const VideoScene scene = kind == 'r'   ? test::RodScene(o)
                                 : kind == 'b' ? test::BarScene(o)
                                               : test::BoxScene(o);
        // Only the truth is asked for: pictures of one camera do.
        VideoScene one = scene;
        one.rig.cameras.resize(1);
        one.cameras.resize(1);
        VideoScene bare = one;
        bare.occlusions = 0;
        const std::vector<HiddenRun> runs =
            Hidden(DrawAll(one, drop).truth[0], DrawAll(bare, drop).truth[0]);
        EXPECT_LE(runs.size(), 3u);
        asked += 3;
        total += static_cast<int>(runs.size());
        for (const HiddenRun& run : runs) {
          EXPECT_GE(run.length, 2);
          EXPECT_LE(run.length, 8);
          EXPECT_EQ(run.least, 0) << run.length;
          markers.insert(run.marker);
          lengths.insert(run.length);
        }
      }
  EXPECT_GE(total, asked * 8 / 10);
  EXPECT_GE(markers.size(), 4u);
  EXPECT_GE(lengths.size(), 5u);
}

constexpr const char* kScene = R"(schema: impactlab.video_scene/1
rig: rig.yaml
body: {shape: box, sides_m: [0.1, 0.08, 0.05], mass_kg: 0.3}
model: {law: energetic, e_star: 0.5, mu_k: 0.2}
drops: 2
height_min_m: 0.02
height_max_m: 0.03
speed_tangential_m_per_s: 0.05
spin_rad_per_s: 2
lean_min_rad: 0.05
duration_after_s: 0.06
markers:
  - {name: top, position_m: [0.05, 0.04, 0.025], radius_m: 0.007}
  - {position_m: [-0.05, 0, 0.025], normal: [-1, 0, 0], radius_m: 0.006, second_radius_m: 0.003, brightness_grey: 200}
camera: {rate_Hz: 120, exposure_s: 0.002, noise_grey: 1.5}
)";

class SynthVideoFiles : public ::testing::Test {
 protected:
  SynthVideoFiles() {
    VideoScene scene = test::RodScene(Small());
    WriteFile(folder_ / "rig.yaml", ToYaml(scene.rig));
  }
  VideoScene Load(const std::string& more, const std::string& base = kScene) {
    WriteFile(folder_ / "scene.yaml", base + more);
    return LoadVideoScene(folder_ / "scene.yaml");
  }
  std::string Fault(const std::string& more, const std::string& base = kScene) {
    try {
      Load(more, base);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "accepted";
  }
  std::filesystem::path Out() const { return folder_ / "out"; }
  test::TemporaryFolder folder_;
};

TEST_F(SynthVideoFiles, ScenesAreReadWithDefaultsAndPerCamera) {
  const VideoScene scene = Load(
      "cameras:\n  - {name: right, t_offset_s: 0.02, blur_px: 1.5, rate_Hz: 60, rotation_deg: 90}\n"
      "light: {background_grey: 10, gradient: -0.2}\nocclusions: 2\nflash: false\nseed: 77\n"
      "output: {codec: h264, quality: 23, b_frames: 2}\ncentre_m: [0.1, 0, 0]\n");
  EXPECT_TRUE(IsVideoScene(folder_ / "scene.yaml"));
  EXPECT_FALSE(IsVideoScene(folder_ / "rig.yaml"));
  EXPECT_FALSE(IsVideoScene(folder_ / "absent.yaml"));
  EXPECT_EQ(scene.name, "scene");
  EXPECT_EQ(scene.motion.drops, 2);
  EXPECT_EQ(scene.seed, 77u);
  EXPECT_EQ(scene.motion.seed, 77u);
  ASSERT_EQ(scene.markers.size(), 2u);
  EXPECT_EQ(scene.markers[0].name, "top");
  EXPECT_EQ(scene.markers[1].name, "m2");
  EXPECT_EQ(scene.markers[1].second_radius, 0.003);
  EXPECT_EQ(scene.markers[1].brightness, 200);
  ASSERT_EQ(scene.cameras.size(), 2u);
  EXPECT_EQ(scene.cameras[0].noise, 1.5);
  EXPECT_EQ(scene.cameras[1].noise, 1.5);
  EXPECT_EQ(scene.cameras[0].blur, SceneCamera().blur);
  EXPECT_EQ(scene.cameras[1].blur, 1.5);
  EXPECT_EQ(scene.cameras[1].frame_rate, 60);
  EXPECT_EQ(scene.cameras[1].rotation_deg, 90);
  EXPECT_EQ(scene.background, 10);
  EXPECT_EQ(scene.light_gradient, -0.2);
  EXPECT_EQ(scene.occlusions, 2);
  EXPECT_FALSE(scene.flash);
  EXPECT_EQ(scene.video.codec, VideoWriterOptions::Codec::kH264);
  EXPECT_EQ(scene.video.quality, 23);
  EXPECT_EQ(scene.centre_W.x(), 0.1);
}

TEST_F(SynthVideoFiles, FaultsNameLineKeyAndWhatIsAllowed) {
  EXPECT_THAT(Fault("ocluder: 3\n"), HasSubstr("ocluder"));
  EXPECT_THAT(Fault("occlusions: -1\n"), HasSubstr("occlusions: found '-1'"));
  EXPECT_THAT(Fault("camera2: {}\n"), HasSubstr("camera2"));
  // of pose recordings, not of cameras
  EXPECT_THAT(Fault("frame_rate_Hz: 120\n"), HasSubstr("frame_rate_Hz"));
  EXPECT_THAT(Fault("noise_position_m: 1\n"), HasSubstr("noise_position_m"));
  EXPECT_THAT(Fault("cameras:\n  - {name: middle}\n"), HasSubstr("left"));
  EXPECT_THAT(Fault("cameras:\n  - {name: left}\n  - {name: left}\n"),
              HasSubstr("every camera once"));
  EXPECT_THAT(Fault("cameras:\n  - {name: left, exposure_s: 0.02}\n"),
              HasSubstr("time between frames"));
  EXPECT_THAT(Fault("cameras:\n  - {name: left, rotation_deg: 45}\n"), HasSubstr("rotation_deg"));
  EXPECT_THAT(Fault("cameras:\n  - {name: left, rotation_deg: 90, t_line_s: 1e-5}\n"),
              HasSubstr("t_line_s"));
  EXPECT_THAT(Fault("output: {codec: png}\ncameras:\n  - {name: left, rotation_deg: 90}\n"),
              HasSubstr("rotation_deg"));
  EXPECT_THAT(Fault("output: {codec: avi}\n"), HasSubstr("h264_lossless"));
  // A turned camera needs a file that can say so, wherever the two are told.
  for (const std::string codec : {"ffv1", "mjpeg", "png"}) {
    EXPECT_THAT(
        Fault("output: {codec: " + codec + "}\ncameras:\n  - {name: right, rotation_deg: 180}\n"),
        AllOf(HasSubstr("scene.yaml:16: output.codec: found '" + codec +
                        "', allowed h264_lossless or h264"),
              HasSubstr("rotation_deg")));
    EXPECT_EQ(Fault("output: {codec: " + codec + "}\n"), "accepted");
    EXPECT_THAT(Fault("output: {codec: " + codec + ", b_frames: 2}\n"), HasSubstr("b_frames"));
  }
  for (const std::string codec : {"h264", "h264_lossless"})
    EXPECT_EQ(Fault("output: {codec: " + codec +
                    ", b_frames: 2}\ncameras:\n  - {name: right, rotation_deg: 180}\n"),
              "accepted");
  EXPECT_THAT(Fault("output: {quality: 20}\n"), HasSubstr("keeps every bit"));
  EXPECT_THAT(Fault("light: {background: 10}\n"), HasSubstr("background_grey"));
  EXPECT_THAT(Fault("footage: {shots: 3}\n"), HasSubstr("board"));
  const std::string base = kScene;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = base;
    text.replace(text.find(from), from.size(), to);
    return Fault("", text);
  };
  EXPECT_THAT(with("name: top", "name: m2"), HasSubstr("a name of its own"));
  EXPECT_THAT(with("name: top", "name: a/b"), HasSubstr("letters"));
  EXPECT_THAT(with("normal: [-1, 0, 0], ", ""), HasSubstr("second_radius_m"));
  EXPECT_THAT(with("radius_m: 0.007", "radius_m: 0"), HasSubstr("radius_m"));
  EXPECT_THAT(with("rig: rig.yaml\n", "rig: none.yaml\n"), HasSubstr("none.yaml"));
  EXPECT_THAT(with("rig: rig.yaml\n", ""), HasSubstr("rig"));
  EXPECT_THAT(with("shape: box, sides_m: [0.1, 0.08, 0.05], mass_kg: 0.3",
                   "shape: points, vertices_m: [[0, 0, 0.1]], gyration_radius_m: 0.1"),
              HasSubstr("surface"));
  VideoScene scene = test::RodScene(Small());
  scene.cameras[1].rotation_deg = 270;
  CheckVideoScene(scene);
  for (const auto codec : {VideoWriterOptions::Codec::kFfv1, VideoWriterOptions::Codec::kMjpeg}) {
    scene.video.codec = codec;
    EXPECT_THROW(CheckVideoScene(scene), ConfigError);
    EXPECT_THROW(SynthesiseVideo(Out(), scene), ConfigError);
  }
  scene.video.codec = VideoWriterOptions::Codec::kH264;
  scene.images = true;
  EXPECT_THROW(CheckVideoScene(scene), ConfigError);
  scene.images = false;
  scene.cameras[1].t_line = 1e-5;
  EXPECT_THROW(CheckVideoScene(scene), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(Out())) << "refused before anything is written";
  scene.cameras.pop_back();
  EXPECT_THROW(CheckVideoScene(scene), ConfigError);
  EXPECT_THROW(test::DrawScene(scene, 1, [](const DrawnFrame&) {}), ConfigError);
}

TEST_F(SynthVideoFiles, VideosHoldTheDrawnFramesAndTheirStamps) {
  VideoScene scene = Load(
      "cameras:\n  - {name: left, dropped_share: 0.1, duplicated_share: 0.1}\n  - {name: right, "
      "rotation_deg: 90}\n");
  std::filesystem::create_directories(Out());
  const long long total = SynthesiseVideo(Out(), scene, {.threads = 2});
  long long seen = 0;
  for (int drop = 1; drop <= 2; ++drop) {
    const Shown shown = DrawAll(scene, drop, true);
    for (int camera = 0; camera < 2; ++camera) {
      VideoReader reader(
          Out() / ("drop_000" + std::to_string(drop) + (camera == 0 ? "_left.mp4" : "_right.mp4")));
      EXPECT_EQ(reader.info().rotation_deg, camera == 0 ? 0 : 90);
      GrayImage image;
      double t = 0;
      std::size_t k = 0;
      for (; reader.Next(&image, &t); ++k, ++seen) {
        ASSERT_LT(k, shown.stamps[camera].size());
        ASSERT_EQ(image.width, 320);
        ASSERT_EQ(image.pixels, shown.images[camera][k].pixels);
        ASSERT_NEAR(t, shown.stamps[camera][k], 1e-6);
      }
      EXPECT_EQ(k, shown.stamps[camera].size());
    }
  }
  EXPECT_EQ(seen, total);
  // Truth, row by row.
  CsvOptions csv;
  csv.text_columns = {"recording", "camera", "marker", "reason", "detail", "law"};
  csv.empty_is_nan = true;
  const Table tracks = ReadCsv(Out() / "truth_tracks.csv", csv);
  EXPECT_EQ(static_cast<long long>(tracks.n_rows()), 2 * total);
  const Shown shown = DrawAll(scene, 1);
  for (std::size_t row = 0, k = 0; k < shown.stamps[0].size(); ++k)
    for (const TruthPoint& point : shown.truth[0][k]) {
      ASSERT_EQ(tracks.TextColumn("recording")[row], "drop_0001");
      ASSERT_EQ(tracks.TextColumn("camera")[row], "left");
      ASSERT_EQ(tracks.TextColumn("marker")[row], point.marker == 0 ? "top" : "m2");
      ASSERT_EQ(tracks.Column("frame")[row], k);
      ASSERT_EQ(tracks.Column("t_s")[row], point.t);
      ASSERT_EQ(tracks.Column("x_px")[row], point.q.x());
      ASSERT_EQ(tracks.Column("centroid_y_px")[row], point.q_centroid.y());
      ASSERT_EQ(tracks.Column("visible")[row], point.visible);
      ++row;
    }
  // Impacts lie where the poses say, on the same clock.
  const Table impacts = ReadCsv(Out() / "truth.csv", csv),
              motion = ReadCsv(Out() / "truth_motion.csv", csv);
  ASSERT_GE(impacts.n_rows(), 2u);
  const pipelines::Film film = pipelines::MakeFilm(scene, 1);
  for (std::size_t i = 0; i < impacts.n_rows() && impacts.TextColumn("recording")[i] == "drop_0001";
       ++i) {
    const Eigen::Vector3d p = film.Pose(impacts.Column("t_s")[i]).translation();
    EXPECT_NEAR(p.x(), impacts.Column("x_m")[i], 1e-9);
    EXPECT_NEAR(p.z(), impacts.Column("z_m")[i], 1e-9);
    EXPECT_NEAR(impacts.Column("p_z_m")[i], 0, 1e-8);
  }
  for (std::size_t i = 0; i < motion.n_rows() && motion.TextColumn("recording")[i] == "drop_0001";
       i += 5) {
    const Eigen::Isometry3d X_WB = film.Pose(motion.Column("t_s")[i]);
    EXPECT_NEAR(X_WB.translation().z(), motion.Column("z_m")[i], 1e-12);
    const Eigen::Quaterniond q(motion.Column("qw")[i], motion.Column("qx")[i],
                               motion.Column("qy")[i], motion.Column("qz")[i]);
    EXPECT_NEAR((X_WB.linear() - q.toRotationMatrix()).norm(), 0, 1e-12);
  }
  // Again into the same folder is fine, a shorter experiment is not: its left-over videos would be
  // taken for its own.
  scene.motion.drops = 1;
  EXPECT_THROW(SynthesiseVideo(Out(), scene, {.threads = 2}), OutputError);
}

TEST_F(SynthVideoFiles, AVideoToRestEndsWithTheBodyAtRest) {
  VideoScene scene = Load("to_rest: true\nflash: false\noutput: {codec: mjpeg}\n");
  scene.motion.drops = 1;
  const long long total = SynthesiseVideo(Out(), scene, {.threads = 2});
  CsvOptions csv;
  csv.text_columns = {"recording"};
  const Table rests = ReadCsv(Out() / "truth_rest.csv", csv),
              motion = ReadCsv(Out() / "truth_motion.csv", csv);
  ASSERT_EQ(rests.n_rows(), 1u);
  const double t = rests.Column("t_s")[0], last = motion.Column("t_s").back();
  EXPECT_GT(total, 2 * 120 * t);
  EXPECT_LE(last, t + 0.06);
  EXPECT_GT(last, t + 0.06 - 1.0 / 120);
  for (const char* column : {"x_m", "y_m", "z_m"})
    EXPECT_EQ(motion.Column(column).back(), rests.Column(column)[0]) << column;
  EXPECT_NEAR(
      std::min({std::abs(rests.Column("z_m")[0] - 0.025), std::abs(rests.Column("z_m")[0] - 0.04),
                std::abs(rests.Column("z_m")[0] - 0.05)}),
      0, 1e-9);
}

// The folder of a run that was broken off must not look like that of a whole one, be it the first
// or one over it.
TEST_F(SynthVideoFiles, ABrokenOffRunLeavesNoTrackingFile) {
  VideoScene scene = Load("output: {codec: mjpeg}\nflash: false\n");
  scene.motion.drops = 1;
  const std::vector<std::string> telling = {"tracking.yaml", "truth.csv", "truth_motion.csv",
                                            "truth_tracks.csv"};
  Cancellation cancellation;
  cancellation.Request();
  const auto break_off = [&] {
    EXPECT_THROW(SynthesiseVideo(Out(), scene, {.threads = 2, .cancellation = &cancellation}),
                 Interrupted);
    for (const std::string& name : telling)
      EXPECT_FALSE(std::filesystem::exists(Out() / name)) << name;
  };
  break_off();
  EXPECT_FALSE(std::filesystem::exists(Out() / "rig.yaml"));
  for (const auto& entry : std::filesystem::directory_iterator(Out()))
    ADD_FAILURE() << entry.path() << " is left";
  SynthesiseVideo(Out(), scene, {.threads = 2});
  for (const std::string& name : telling)
    EXPECT_TRUE(std::filesystem::exists(Out() / name)) << name;
  const std::string video = ReadFile(Out() / "drop_0001_left.mkv");
  break_off();
  EXPECT_TRUE(std::filesystem::exists(Out() / "rig.yaml"));
  EXPECT_EQ(ReadFile(Out() / "drop_0001_left.mkv"), video) << "what was whole stays";
  // Whatever cannot be written is found before the first frame.
  std::filesystem::create_directories(Out() / "truth_tracks.csv");
  EXPECT_THROW(SynthesiseVideo(Out(), scene, {.threads = 2, .cancellation = &cancellation}),
               OutputError);
}

TEST_F(SynthVideoFiles, PicturesCarryTheirStampsInATable) {
  VideoScene scene = Load(
      "output: {codec: png}\nflash: false\ncameras:\n  - {name: right, t_offset_s: -0.01, "
      "clock_rate: 1.0001, dropped_share: 0.2}\n");
  scene.motion.drops = 1;
  SynthesiseVideo(Out(), scene, {.threads = 2});
  const Shown shown = DrawAll(scene, 1, true);
  for (int camera = 0; camera < 2; ++camera) {
    const std::filesystem::path folder =
        Out() / (camera == 0 ? "drop_0001_left" : "drop_0001_right");
    const Table stamps = ReadCsv(folder / "stamps.csv");
    ASSERT_EQ(stamps.n_rows(), shown.stamps[camera].size());
    for (std::size_t k = 0; k < stamps.n_rows(); ++k)
      EXPECT_EQ(stamps.Column("t_s")[k], shown.stamps[camera][k]);
    EXPECT_EQ(ReadImage(folder / "000003.png").pixels, shown.images[camera][3].pixels);
  }
  const YamlNode tracking = LoadYaml(Out() / "tracking.yaml");
  EXPECT_EQ(tracking.Text("schema"), "impactlab.tracking/1");
  EXPECT_EQ(tracking.Map("markers").Texts("names"), (std::vector<std::string>{"top", "m2"}));
  EXPECT_EQ(tracking.Map("markers").Vectors("layout_m", 3)[1],
            (std::vector<double>{-0.05, 0, 0.025}));
  const YamlNode clocks = tracking.Map("synchronise");
  EXPECT_EQ(clocks.Text("method"), "given");
  EXPECT_EQ(clocks.Vector("shift_s", 2), (std::vector<double>{0, -0.01}));
  EXPECT_EQ(clocks.Vector("clock_rate", 2), (std::vector<double>{1, 1.0001}));
  EXPECT_EQ(tracking.List("cameras")[1].Number("exposure_s"), 0.002);
}

TEST_F(SynthVideoFiles, FootageOfTheBoardComesWithAFileToCalibrateFrom) {
  for (const char* as : {"pictures", "video"}) {
    VideoScene scene = Load(
        "footage: {board: {kind: chessboard, corners: [7, 5], square_m: 0.03}, shots: 2, as: " +
        std::string(as) + "}\n");
    scene.motion.drops = 1;
    const std::filesystem::path out = Out() / as;
    SynthesiseVideo(out, scene, {.threads = 2});
    const YamlNode calibration = LoadYaml(out / "calibration" / "calibration.yaml");
    EXPECT_EQ(BoardFromYaml(calibration).columns, 7);
    EXPECT_EQ(calibration.List("cameras").size(), 2u);
    EXPECT_EQ(RigFromYaml(out / "calibration" / "truth_rig.yaml").cameras[1].camera.fx,
              scene.rig.cameras[1].camera.fx);
    EXPECT_EQ(RigFromYaml(out / "rig.yaml").cameras[0].X_WC.matrix(),
              scene.rig.cameras[0].X_WC.matrix());
    if (std::string(as) == "pictures") {
      EXPECT_EQ(ReadImage(out / "calibration" / "left_002.png").width, 320);
    } else {
      VideoReader reader(out / "calibration" / "right.mp4");
      GrayImage image;
      double t = 0;
      int frames = 0;
      while (reader.Next(&image, &t)) ++frames;
      EXPECT_EQ(frames, 6);
    }
  }
}

TEST(SynthVideo, TheSampleSceneIsReadAndHasRoomForItsMarkers) {
  const VideoScene scene =
      LoadVideoScene(std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data/sample/video/scene.yaml");
  ASSERT_EQ(scene.markers.size(), 3u);
  const double a = (scene.markers[1].p_BM - scene.markers[0].p_BM).norm(),
               b = (scene.markers[2].p_BM - scene.markers[1].p_BM).norm();
  EXPECT_NEAR(a / b, 2.5, 1e-9);
  for (const SceneMarker& marker : scene.markers)
    EXPECT_LT(marker.p_BM.norm(), scene.motion.body.half_length);
  EXPECT_TRUE(scene.board.has_value());
  EXPECT_EQ(scene.rig.cameras.size(), 2u);
}

}  // namespace
}  // namespace impactlab
