#include "tracking/track/tracks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/base/error.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kTracksHeader =
    "recording,camera,marker,frame,t_s,x_px,y_px,cov_xx_px2,cov_xy_px2,cov_yy_px2,flags";

class TracksTest : public ::testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name = "tracks.csv") const {
    return scratch_.path() / name;
  }
  std::vector<MarkerTracks> Read(const std::string& text) const {
    test::WriteText(Path(), text);
    return ReadTracks(Path());
  }
  std::string ErrorOf(const std::string& text) const {
    try {
      Read(text);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  }
  test::ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

bool Same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }
void ExpectSame(const MarkerTracks& a, const MarkerTracks& b) {
  EXPECT_EQ(a.recording, b.recording);
  EXPECT_EQ(a.cameras, b.cameras);
  EXPECT_EQ(a.markers, b.markers);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (std::size_t k = 0; k < a.points.size(); ++k) {
    const TrackPoint &p = a.points[k], &q = b.points[k];
    ASSERT_TRUE(p.camera == q.camera && p.marker == q.marker && p.frame == q.frame &&
                p.flags == q.flags)
        << k;
    ASSERT_TRUE(p.t == q.t && p.q == q.q && p.cov == q.cov) << k;
    ASSERT_TRUE(p.major == q.major && p.minor == q.minor && p.angle == q.angle &&
                p.amplitude == q.amplitude && p.background == q.background)
        << k;
    for (const auto& [u, v] : {std::pair{p.nis, q.nis},
                               {p.smooth_q.x(), q.smooth_q.x()},
                               {p.smooth_q.y(), q.smooth_q.y()},
                               {p.smooth_v.x(), q.smooth_v.x()},
                               {p.smooth_v.y(), q.smooth_v.y()}})
      ASSERT_TRUE(Same(u, v)) << k;
  }
}

// Gaps, predicted points, frames beyond 16 bits, every flag, numbers that need all their digits,
// names with commas and accents.
MarkerTracks Random(const std::string& recording, int seed, int n, long long first_frame) {
  std::mt19937_64 rng(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal;
  MarkerTracks tracks{recording, {"left, near", "right"}, {"top", "m\xC3\xA9"}, {}};
  for (int camera = 0; camera < 2; ++camera) {
    for (int marker = 0; marker < 2; ++marker) {
      double t = 1.0 / 3;
      for (int k = 0; k < n; ++k) {
        t += 1.0 / 240 + 1e-7 * std::abs(normal(rng));
        if (rng() % 5 == 0) continue;
        TrackPoint p;
        p.camera = camera;
        p.marker = marker;
        p.frame = first_frame + k;
        p.t = t;
        p.q = {640 + 300 * normal(rng), -1 + 1e-3 * normal(rng)};
        const double a = std::exp(normal(rng) - 5), b = std::exp(normal(rng) - 5);
        p.cov << a, 0.3 * std::sqrt(a * b), 0.3 * std::sqrt(a * b), b;
        p.flags = static_cast<std::uint32_t>(rng()) & 0x3F7F;
        p.major = std::abs(normal(rng));
        p.minor = 0.7 * p.major;
        p.angle = normal(rng);
        p.amplitude = 90 * normal(rng);
        p.background = 30;
        if (rng() % 2 == 0) p.nis = std::abs(normal(rng));
        if (rng() % 3 == 0) p.smooth_q = {normal(rng), 1e-300 * normal(rng)};
        if (rng() % 3 == 0) p.smooth_v = {1e5 * normal(rng), normal(rng)};
        tracks.points.push_back(p);
      }
    }
  }
  return tracks;
}

TEST_F(TracksTest, HostileT40RoundTripIsExact) {
  const MarkerTracks a = Random("drop_1", 1, 300, 0), b = Random("drop 2; \"odd\"", 2, 300, 65400),
                     c = Random("#3", 3, 40, kLargestFrame - 39);
  {
    TracksWriter writer(Path());
    writer.Write(a);
    writer.Write(MarkerTracks{"nothing in it", {"left"}, {"top"}, {}});
    writer.Write(b);
    writer.Write(c);
    EXPECT_FALSE(std::filesystem::exists(Path()));
    writer.Commit();
  }
  const auto read = ReadTracks(Path());
  ASSERT_EQ(read.size(), 3U);
  ExpectSame(read[0], a);
  ExpectSame(read[1], b);
  ExpectSame(read[2], c);
  EXPECT_GT(read[1].points.back().frame, 65535);
}

TEST_F(TracksTest, HostileT40HiddenMarkersAreAbsentOrPredictedButNeverMinusOne) {
  MarkerTracks tracks{"r", {"c"}, {"m"}, {}};
  for (const long long frame : {3, 4, 9}) {
    TrackPoint p;
    p.frame = frame;
    p.t = 0.01 * static_cast<double>(frame);
    p.q = {10, 20};
    p.cov = (frame == 4 ? 25 : 0.01) * Eigen::Matrix2d::Identity();
    p.flags = frame == 4 ? kPredicted : 0u;
    tracks.points.push_back(p);
  }
  TracksWriter writer(Path());
  writer.Write(tracks);
  writer.Commit();
  const std::string text = test::ReadText(Path());
  EXPECT_THAT(text, HasSubstr("r,c,m,4,0.04,10,20,25,0,25,predicted,"));
  EXPECT_THAT(text, HasSubstr("r,c,m,3,0.03,10,20,0.01,0,0.01,,,,,,,,,,,\n"))
      << "what is not known is an empty cell";
  EXPECT_EQ(text.find("-1"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  ExpectSame(ReadTracks(Path()).at(0), tracks);
}

// An ellipse is known where it has an axis, light where marker or background have some; each of the
// two for itself.
TEST_F(TracksTest, WhatIsNotKnownIsAnEmptyCell) {
  MarkerTracks tracks{"r", {"c"}, {"m"}, {}};
  const auto add = [&](double major, double minor, double angle, double amplitude,
                       double background) {
    TrackPoint p;
    p.frame = static_cast<long long>(tracks.points.size());
    p.t = 0.5 * static_cast<double>(p.frame);
    p.q = {1, 2};
    p.cov = Eigen::Matrix2d::Identity();
    p.major = major, p.minor = minor, p.angle = angle, p.amplitude = amplitude,
    p.background = background;
    tracks.points.push_back(p);
  };
  add(0, 0, 0, 0, 0);
  add(0, 0, 0, -40, 0);
  add(0, 0, 0, 0, 25);
  add(3, 3, 0, 0, 0);
  add(3, 0, 0.25, 0, 0);
  TracksWriter writer(Path());
  writer.Write(tracks);
  writer.Commit();
  const std::string text = test::ReadText(Path());
  EXPECT_THAT(text, HasSubstr("r,c,m,0,0,1,2,1,0,1,,,,,,,,,,,\n"));
  EXPECT_THAT(text, HasSubstr("r,c,m,1,0.5,1,2,1,0,1,,,,,-40,0,,,,,\n"));
  EXPECT_THAT(text, HasSubstr("r,c,m,2,1,1,2,1,0,1,,,,,0,25,,,,,\n"));
  EXPECT_THAT(text, HasSubstr("r,c,m,3,1.5,1,2,1,0,1,,3,3,0,,,,,,,\n"));
  EXPECT_THAT(text, HasSubstr("r,c,m,4,2,1,2,1,0,1,,3,0,0.25,,,,,,,\n"));
  ExpectSame(ReadTracks(Path()).at(0), tracks);
}

TEST_F(TracksTest, RowsMayStandInAnyOrder) {
  const auto read = Read(
      kTracksHeader +
      "\nb,c1,m1,5,0.5,1,1,1,0,1,\na,c2,m1,1,0.1,1,1,1,0,1,hidden | cut\nb,c0,m1,4,0.4,2,1,1,0,1,\n"
      "a,c2,m0,1,0.1,3,1,1,0,1,\nb,c1,m1,4,0.4,4,1,1,0,1,\n");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].recording, "b");
  EXPECT_EQ(read[0].cameras, (std::vector<std::string>{"c1", "c0"}));
  ASSERT_EQ(read[0].points.size(), 3U);
  EXPECT_EQ(read[0].points[0].frame, 4);
  EXPECT_EQ(read[0].points[0].q.x(), 4);
  EXPECT_EQ(read[0].points[1].frame, 5);
  EXPECT_EQ(read[0].points[2].q.x(), 2);
  EXPECT_EQ(read[1].points[0].flags, kHidden | kCut);
  EXPECT_TRUE(std::isnan(read[1].points[0].nis));
}

TEST_F(TracksTest, ReaderNamesRowAndColumnOfWhatIsWrong) {
  const std::string good = kTracksHeader + "\nr,c,m,0,0.5,1,2,0.1,0,0.1,\n";
  EXPECT_EQ(ErrorOf(good), "no error");
  struct Case {
    const char* row;
    std::vector<const char*> says;
  };
  for (const Case& c :
       {Case{"r,c,m,0,0.6,1,2,0.1,0,0.1,",
             {"row 3, column frame: found a second point of marker m in frame 0", "row 2"}},
        Case{"r,c,m,1,0.4,1,2,0.1,0,0.1,",
             {"row 3, column t_s: found 0.4, before that of frame 0"}},
        Case{"r,c,m,-1,0.6,1,2,0.1,0,0.1,",
             {"column frame: found -1, allowed a whole number from 0 to 1e9"}},
        Case{"r,c,m,1.5,0.6,1,2,0.1,0,0.1,", {"column frame: found 1.5"}},
        Case{"r,c,m,1e17,0.6,1,2,0.1,0,0.1,", {"column frame: found 1e+17"}},
        Case{"r,c,m,1,,1,2,0.1,0,0.1,", {"column t_s: found an empty cell"}},
        Case{"r,c,m,1,0.6,,2,0.1,0,0.1,",
             {"column x_px: found an empty cell, allowed a finite number"}},
        Case{"r,c,m,1,0.6,nan,2,0.1,0,0.1,", {"column x_px: found 'nan'"}},
        Case{"r,c,m,1,0.6,1,2,0,0,0.1,",
             {"column cov_xx_px2: found 0, allowed a variance above 0"}},
        Case{"r,c,m,1,0.6,1,2,0.1,0,-0.1,", {"column cov_yy_px2: found -0.1"}},
        Case{"r,c,m,1,0.6,1,2,0.1,0.1,0.1,",
             {"column cov_xy_px2: found 0.1, allowed a positive definite covariance"}},
        Case{"r,c,m,1,0.6,1,2,0.1,0,0.1,touchin",
             {"row 3, column flags: found the flag 'touchin', nearest is 'touching'"}},
        Case{"r,c,m,1,0.6,1,2,0.1,0,0.1,cut||hidden", {"column flags: found the flag ''"}},
        Case{",c,m,1,0.6,1,2,0.1,0,0.1,",
             {"column recording: found an empty cell, allowed a name"}},
        Case{"r,c,,1,0.6,1,2,0.1,0,0.1,", {"column marker: found an empty cell"}},
        Case{"r,c,m,1,0.6,1,2,0.1,0", {"row 3", "9 cells"}}}) {
    const std::string error = ErrorOf(good + c.row + "\n");
    for (const char* says : c.says) EXPECT_THAT(error, HasSubstr(says)) << c.row;
  }
  EXPECT_THAT(ErrorOf("recording,camera,marker,frame,t_s,x_px,cov_xx_px2,cov_xy_px2,cov_yy_px2\n"),
              HasSubstr("'y_px'"));
  EXPECT_THAT(ErrorOf(kTracksHeader + ",mjor_px\nr,c,m,0,0.5,1,2,0.1,0,0.1,,3\n"),
              HasSubstr("found the column 'mjor_px', allowed 'major_px'"));
  EXPECT_EQ(ErrorOf(kTracksHeader + ",remark by me\nr,c,m,0,0.5,1,2,0.1,0,0.1,,well\n"), "no error");
  EXPECT_THAT(ErrorOf(kTracksHeader + ",nis\nr,c,m,0,0.5,1,2,0.1,0,0.1,,-2\n"),
              HasSubstr("column nis: found -2"));
  EXPECT_THROW(ReadTracks(Path("absent.csv")), DataError);
  EXPECT_TRUE(Read(kTracksHeader + "\n").empty());
  EXPECT_EQ(Read("\xEF\xBB\xBF# by hand\r\n" + kTracksHeader + "\r\nr,c,m,0,0.5,1,2,0.1,0,0.1,\r\n")
                .at(0)
                .points.size(),
            1U);
}

TEST_F(TracksTest, WriterRefusesWhatCouldNotBeRead) {
  MarkerTracks good = Random("r", 4, 5, 0);
  const auto write = [&](const MarkerTracks& tracks) {
    TracksWriter writer(Path());
    writer.Write(tracks);
  };
  write(good);
  const auto spoil = [&](auto change) {
    MarkerTracks bad = good;
    change(bad);
    EXPECT_THROW(write(bad), std::invalid_argument);
  };
  spoil([](MarkerTracks& b) { b.recording = " "; });
  spoil([](MarkerTracks& b) { std::swap(b.points[0], b.points[1]); });
  spoil([](MarkerTracks& b) { b.points[1].frame = b.points[0].frame; });
  spoil([](MarkerTracks& b) { b.points[1].marker = 2; });
  spoil([](MarkerTracks& b) { b.points[0].camera = -1; });
  spoil([](MarkerTracks& b) { b.points.back().frame = kLargestFrame + 1; });
  spoil([](MarkerTracks& b) { b.points[0].q.x() = std::nan(""); });
  spoil([](MarkerTracks& b) { b.points[0].t = HUGE_VAL; });
  spoil([](MarkerTracks& b) { b.points[0].cov.setZero(); });
  spoil([](MarkerTracks& b) { b.points[0].flags = 1u << 30; });
  TracksWriter writer(Path());
  writer.Write(good);
  EXPECT_THROW(writer.Write(good), std::invalid_argument) << "twice";
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

TEST_F(TracksTest, SortOrdersByCameraMarkerFrame) {
  MarkerTracks tracks = Random("r", 5, 30, 0);
  const MarkerTracks ordered = tracks;
  std::shuffle(tracks.points.begin(), tracks.points.end(), std::mt19937_64(6));
  Sort(&tracks);
  ExpectSame(tracks, ordered);
}

TEST(FlagNamesTest, WordsAndBits) {
  EXPECT_EQ(FlagNames(0), "");
  EXPECT_EQ(FlagNames(kTouching | kSaturated | kRelabelled), "saturated|touching|relabelled");
  for (int bit = 0; bit < 14; ++bit) {
    if (bit == 7) continue;
    EXPECT_EQ(FlagsFromNames(FlagNames(1u << bit)), 1u << bit);
  }
  EXPECT_EQ(FlagsFromNames("  "), 0U);
  EXPECT_EQ(FlagsFromNames(" cut | cut "), kCut);
  EXPECT_THROW(FlagsFromNames("cut|"), std::invalid_argument);
  EXPECT_THROW(FlagsFromNames("Cut"), std::invalid_argument);
  EXPECT_THROW(FlagsFromNames("saturated,touching"), std::invalid_argument);
  EXPECT_THROW(FlagNames(1u << 7), std::invalid_argument);
}

TEST_F(TracksTest, AHundredThousandRowsTakeASecondAtMost) {
  MarkerTracks tracks = Random("long", 7, 31250, 0);
  EXPECT_GT(tracks.points.size(), 90000U);
  TracksWriter writer(Path());
  writer.Write(tracks);
  writer.Commit();
  ExpectSame(ReadTracks(Path()).at(0), tracks);
}

}  // namespace
}  // namespace impactlab
