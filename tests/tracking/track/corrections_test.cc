#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "data/base/error.h"
#include "tests/support/process.h"
#include "tracking/track/tracks.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

const std::string kHeader = "recording,camera,marker,frame,action,x_px,y_px,sd_px,to_marker,note\n";

class CorrectionsTest : public ::testing::Test {
 protected:
  std::vector<Correction> Read(const std::string& rows, const std::string& header = kHeader) const {
    test::WriteText(scratch_.path() / "corrections.csv", header + rows);
    return ReadCorrections(scratch_.path() / "corrections.csv");
  }
  std::string ReadError(const std::string& rows, const std::string& header = kHeader) const {
    try {
      Read(rows, header);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  }
  std::string ApplyError(
      const std::string& rows,
      const std::function<double(int, long long, double)>& time = nullptr) const {
    MarkerTracks tracks = Two(), before = tracks;
    try {
      ApplyCorrections(Read(rows), "corrections.csv", time, &tracks);
    } catch (const DataError& error) {
      EXPECT_EQ(tracks.points.size(), before.points.size()) << "nothing is changed by half";
      EXPECT_EQ(tracks.markers, before.markers);
      return error.what();
    }
    return "no error";
  }
  // Markers a and b in frames 0 to 9 of camera left; a alone in right, without frame 4. Markers c
  // and d are known but were never seen.
  static MarkerTracks Two() {
    MarkerTracks tracks{"r", {"left", "right"}, {"a", "b", "c", "d"}, {}};
    for (int camera = 0; camera < 2; ++camera)
      for (int marker = 0; marker < 2 - camera; ++marker)
        for (int frame = 0; frame < 10; ++frame) {
          if (camera == 1 && frame == 4) continue;
          TrackPoint p;
          p.camera = camera;
          p.marker = marker;
          p.frame = frame;
          p.t = 0.1 * frame + 0.01 * camera;
          p.q = {100.0 * marker + frame, 50};
          p.cov = 0.01 * Eigen::Matrix2d::Identity();
          p.flags = frame == 5 ? kImpact | kHidden : 0u;
          p.major = p.minor = 4;
          p.nis = 1;
          p.smooth_q = p.q;
          tracks.points.push_back(p);
        }
    return tracks;
  }
  static const TrackPoint* Find(const MarkerTracks& tracks, const std::string& camera,
                                const std::string& marker, long long frame) {
    for (const TrackPoint& p : tracks.points)
      if (tracks.cameras[static_cast<std::size_t>(p.camera)] == camera &&
          tracks.markers[static_cast<std::size_t>(p.marker)] == marker && p.frame == frame)
        return &p;
    return nullptr;
  }
  test::ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(CorrectionsTest, EveryActionOverridesWithProvenance) {
  MarkerTracks tracks = Two();
  const auto corrections = Read(
      "r,left,a,5,move,7.5,8.5,0.2,,\"slipped, see video\"\n"
      "r,left,d,4,add,3,4,,,\n"
      "r,left,b,9,delete,,,,,\n"
      "r,left,b,8,relabel,,,,c,new marker\n"
      "other,left,zzz,0,delete,,,,,another recording\n");
  EXPECT_EQ(ApplyCorrections(corrections, "corrections.csv", nullptr, &tracks), 4);
  const TrackPoint* moved = Find(tracks, "left", "a", 5);
  ASSERT_NE(moved, nullptr);
  EXPECT_EQ(moved->q, Eigen::Vector2d(7.5, 8.5));
  EXPECT_NEAR(moved->cov(0, 0), 0.04, 1e-15);
  EXPECT_EQ(moved->cov(0, 1), 0);
  EXPECT_EQ(moved->flags, kManual | kImpact);
  EXPECT_EQ(moved->t, 0.5);
  EXPECT_EQ(moved->major, 0);
  EXPECT_TRUE(std::isnan(moved->nis));
  EXPECT_TRUE(std::isnan(moved->smooth_q.x()));
  ASSERT_NE(Find(tracks, "left", "d", 4), nullptr);
  EXPECT_EQ(Find(tracks, "left", "d", 4)->t, 0.4) << "that of its frame";
  EXPECT_EQ(Find(tracks, "left", "d", 4)->cov(1, 1), 0.25);
  EXPECT_EQ(Find(tracks, "left", "b", 9), nullptr);
  EXPECT_EQ(Find(tracks, "left", "b", 8), nullptr);
  ASSERT_NE(Find(tracks, "left", "c", 8), nullptr);
  EXPECT_EQ(Find(tracks, "left", "c", 8)->flags, kRelabelled);
  EXPECT_EQ(Find(tracks, "left", "c", 8)->q, Eigen::Vector2d(108, 50));
  EXPECT_EQ(corrections[0].note, "slipped, see video");
  EXPECT_EQ(corrections[4].line, 6);
}

TEST_F(CorrectionsTest, TimeOfANewPoint) {
  const auto corrections = Read("r,right,a,4,add,3,40,,,\nr,left,b,3,move,3,20,,,\n");
  MarkerTracks tracks = Two();
  const auto rolling = [](int camera, long long frame, double y) {
    return 0.1 * static_cast<double>(frame) + 0.01 * camera + 1e-5 * y;
  };
  EXPECT_EQ(ApplyCorrections(corrections, "c", rolling, &tracks), 2);
  EXPECT_DOUBLE_EQ(Find(tracks, "right", "a", 4)->t, 0.41 + 40e-5);
  EXPECT_DOUBLE_EQ(Find(tracks, "left", "b", 3)->t, 0.3 + 20e-5);
  EXPECT_EQ(Find(tracks, "right", "a", 4)->flags, kManual);
  // In the order of tracks all the same.
  MarkerTracks sorted = tracks;
  Sort(&sorted);
  for (std::size_t k = 0; k < sorted.points.size(); ++k)
    EXPECT_EQ(sorted.points[k].frame, tracks.points[k].frame);
  EXPECT_THAT(ApplyError("r,right,a,4,add,3,40,,,\n"),
              HasSubstr("row 2, column frame: found 4, allowed a frame of the recording whose time "
                        "is known; camera "
                        "right has points in frames 0 to 9"));
}

// A reader that knows no time says NaN, which must neither reach the tracks nor hide what other
// points know.
TEST_F(CorrectionsTest, AFrameThatTheRecordingHasNot) {
  const auto ten_frames = [](int, long long frame, double) {
    return frame < 10 ? 0.1 * static_cast<double>(frame) : std::nan("");
  };
  for (const char* frame : {"10", "15", "1000000000"})
    EXPECT_THAT(ApplyError("r,left,c," + std::string(frame) + ",add,1,2,,,\n", ten_frames),
                HasSubstr("corrections.csv: row 2, column frame: found " + std::string(frame) +
                          ", allowed a frame of the recording whose time is known; camera left has "
                          "points in frames 0 to 9"));
  EXPECT_EQ(ApplyError("r,left,c,9,add,1,2,,,\n", ten_frames), "no error");
  const auto nothing = [](int, long long, double) { return std::nan(""); };
  MarkerTracks tracks = Two();
  EXPECT_EQ(ApplyCorrections(Read("r,right,a,3,move,1,1,,,\nr,right,b,3,add,2,2,,,\n"), "c",
                             nothing, &tracks),
            2);
  EXPECT_DOUBLE_EQ(Find(tracks, "right", "a", 3)->t, 0.31) << "its own";
  EXPECT_DOUBLE_EQ(Find(tracks, "right", "b", 3)->t, 0.31) << "that of its frame";
  EXPECT_THAT(ApplyError("r,right,a,4,add,1,1,,,\n", nothing),
              HasSubstr("row 2, column frame: found 4"));
  const auto infinite = [](int, long long, double) { return HUGE_VAL; };
  EXPECT_THAT(ApplyError("r,right,a,4,add,1,1,,,\n", infinite),
              HasSubstr("row 2, column frame: found 4"));
}

// Tracks whose times go back could be written but not read.
TEST_F(CorrectionsTest, TimesDoNotGoBack) {
  const auto late = [](int, long long frame, double) {
    return frame == 4 ? 0.75 : 0.1 * static_cast<double>(frame);
  };
  EXPECT_THAT(
      ApplyError("r,right,a,4,add,1,1,,,\n", late),
      HasSubstr(
          "row 2, column frame: found 4 at 0.75 s, allowed a time before that of frame 5, 0.51 s"));
  const auto early = [](int, long long, double) { return 0.125; };
  EXPECT_THAT(
      ApplyError("r,left,a,0,delete,,,,,\nr,left,a,8,move,1,1,,,\n", early),
      HasSubstr(
          "row 3, column frame: found 8 at 0.125 s, allowed a time after that of frame 7, 0.7"));
  EXPECT_EQ(ApplyError("r,right,a,4,add,1,1,,,\nr,right,a,4,delete,,,,,\n", late), "no error")
      << "it is not there in the end";
  EXPECT_EQ(ApplyError("r,right,b,4,add,1,1,,,\n", late), "no error") << "another marker";
}

TEST_F(CorrectionsTest, SwapsAreTwoRows) {
  MarkerTracks tracks = Two();
  // The third row names the points as they are called afterwards.
  EXPECT_EQ(
      ApplyCorrections(
          Read("r,left,a,6,relabel,,,,b,\nr,left,a,6,move,1,1,,,\nr,left,b,6,relabel,,,,a,\n"), "c",
          nullptr, &tracks),
      3);
  EXPECT_EQ(Find(tracks, "left", "b", 6)->q, Eigen::Vector2d(6, 50));
  EXPECT_EQ(Find(tracks, "left", "a", 6)->q, Eigen::Vector2d(1, 1));
  EXPECT_EQ(Find(tracks, "left", "a", 6)->flags, kManual | kRelabelled);
  EXPECT_EQ(tracks.points.size(), Two().points.size());
}

TEST_F(CorrectionsTest, RefusesWhatIsNotThere) {
  EXPECT_THAT(ApplyError("r,lft,a,0,delete,,,,,\n"),
              HasSubstr("corrections.csv: row 2, column camera: found 'lft', allowed left, right"));
  EXPECT_THAT(ApplyError("r,left,q,0,move,1,1,,,\n"),
              HasSubstr("column marker: found 'q', allowed a, b, c, d"));
  EXPECT_THAT(ApplyError("r,right,b,0,delete,,,,,\n"),
              HasSubstr("column frame: found 0, where marker 'b' has no point in camera right"));
  EXPECT_THAT(ApplyError("r,left,a,77,move,1,1,,,\n"), HasSubstr("column frame: found 77"));
  EXPECT_THAT(ApplyError("r,left,a,7,add,1,1,,,\n"),
              HasSubstr("found 7, where marker 'a' has a point already"));
  EXPECT_THAT(ApplyError("r,left,a,7,relabel,,,,b,\n"),
              HasSubstr("column to_marker: found 'b', which has a point in frame 7"));
  EXPECT_THAT(ApplyError("r,left,a,7,delete,,,,,\nr,left,a,7,delete,,,,,\n"),
              HasSubstr("row 3, column frame"));
  EXPECT_THAT(ApplyError("r,left,a,7,relabel,,,,c,\nr,left,b,7,relabel,,,,c,\n"),
              HasSubstr("row 3, column to_marker"));
  EXPECT_EQ(ApplyError("r,left,a,7,delete,,,,,\nr,left,a,7,add,1,1,,,\n"), "no error");
  EXPECT_EQ(ApplyError(""), "no error");
}

// A slip of the pen is no new marker.
TEST_F(CorrectionsTest, MarkersThatTheTracksDoNotKnow) {
  const auto error = [](const std::string& row) {
    MarkerTracks tracks = Two();
    tracks.markers = {"top", "middle", "end", "spare"};
    const std::vector<std::string> markers = tracks.markers;
    test::ScratchFolder folder("unknown_markers");
    test::WriteText(folder.path() / "c.csv", kHeader + row);
    try {
      ApplyCorrections(ReadCorrections(folder.path() / "c.csv"), "c.csv", nullptr, &tracks);
    } catch (const DataError& e) {
      EXPECT_EQ(tracks.markers, markers);
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error("r,left,sparee,5,add,9,9,,,\n"),
            "c.csv: row 2, column marker: found 'sparee', allowed top, middle, end, spare; nearest "
            "is 'spare'");
  EXPECT_EQ(error("r,left,top,5,relabel,,,,mddle,\n"),
            "c.csv: row 2, column to_marker: found 'mddle', allowed top, middle, end, spare; "
            "nearest is 'middle'");
  EXPECT_EQ(error("r,left,top,5,relabel,,,,zzzzzz,\n"),
            "c.csv: row 2, column to_marker: found 'zzzzzz', allowed top, middle, end, spare");
  EXPECT_THAT(
      error("r,left,Top,5,move,1,1,,,\n"),
      HasSubstr("column marker: found 'Top', allowed top, middle, end, spare; nearest is 'top'"));
  EXPECT_THAT(error("r,lef,top,5,delete,,,,,\n"),
              HasSubstr("column camera: found 'lef', allowed left, right; nearest is 'left'"));
  EXPECT_EQ(error("r,left,spare,5,add,9,9,,,\n"), "no error");
  EXPECT_EQ(error("r,left,top,5,relabel,,,,spare,\n"), "no error");
}

// What is written and read again is refused where it is read by hand, not by the writer.
TEST_F(CorrectionsTest, AbsurdNumbers) {
  EXPECT_THAT(ReadError("r,left,a,5,move,9e9,2,,,\n"),
              HasSubstr("row 2, column x_px: found 9e+09, allowed a position from -1e5 to 1e5"));
  EXPECT_THAT(ReadError("r,left,a,5,add,1,-100001,,,\n"),
              HasSubstr("row 2, column y_px: found -100001"));
  EXPECT_EQ(ReadError("r,left,a,5,move,-20.5,100000,,,\n"), "no error")
      << "outside of the picture is not absurd";
  for (const char* sd : {"1e-200", "1e200", "-1"})
    EXPECT_THAT(ReadError("r,left,a,5,move,1,1," + std::string(sd) + ",,\n"),
                HasSubstr("row 2, column sd_px"))
        << sd;
  EXPECT_THAT(ReadError("r,left,a,1000000001,add,1,1,,,\n"),
              HasSubstr("column frame: found 1000000001, allowed a whole number from 0 to 1e9"));
  MarkerTracks tracks = Two();
  for (const char* sd : {"1e-6", "1e5"}) {
    ApplyCorrections(Read("r,left,a,5,move,1e5,-1e5," + std::string(sd) + ",,\n"), "c", nullptr,
                     &tracks);
    TracksWriter writer(scratch_.path() / "tracks.csv");
    writer.Write(tracks);
    writer.Commit();
    EXPECT_EQ(ReadTracks(scratch_.path() / "tracks.csv").at(0).points.size(), tracks.points.size());
  }
}

TEST_F(CorrectionsTest, MisspeltColumns) {
  EXPECT_THAT(ReadError("d,left,a,3,delete\n", "recordng,camera,marker,frame,action\n"),
              HasSubstr("corrections.csv: found the column 'recordng', allowed 'recording'"));
  EXPECT_THAT(ReadError("r,left,a,3,delete\n", "recording,camera,marker,Frame,action\n"),
              HasSubstr("'Frame', allowed 'frame'"));
  EXPECT_THAT(
      ReadError("r,left,a,3,relabel,b\n", "recording,camera,marker,frame,action,tomarker\n"),
      HasSubstr("'tomarker', allowed 'to_marker'"));
  EXPECT_THAT(ReadError("r,left,a,3,move,1,2\n", "recording,camera,marker,frame,action,x_px,ypx\n"),
              HasSubstr("'ypx', allowed 'y_px'"));
  EXPECT_THAT(ReadError("r,left,a,delete\n", "recording,camera,marker,action\n"),
              HasSubstr("'frame'"));
  EXPECT_THAT(
      ReadError("r,left,a,3,delete,why\n", "recording,camera,marker,frame,action,qqqqqqqqqq\n"),
      HasSubstr("'qqqqqqqqqq', allowed recording, camera, marker, frame, action, x_px, y_px, "
                "sd_px, to_marker, note"));
}

TEST_F(CorrectionsTest, ReaderNamesRowAndColumn) {
  EXPECT_THAT(
      ReadError("r,left,a,0,remove,,,,,\n"),
      HasSubstr("row 2, column action: found 'remove', allowed add, move, delete, relabel"));
  EXPECT_THAT(ReadError("r,left,a,-1,delete,,,,,\n"), HasSubstr("column frame: found -1"));
  EXPECT_THAT(ReadError("r,left,a,,delete,,,,,\n"), HasSubstr("column frame: found an empty cell"));
  EXPECT_THAT(ReadError("r,left,a,0.5,delete,,,,,\n"), HasSubstr("column frame: found 0.5"));
  EXPECT_THAT(ReadError("r,left,a,0,move,1,,,,\n"),
              HasSubstr("column y_px: found an empty cell, allowed a number, to move a point"));
  EXPECT_THAT(ReadError("r,left,a,0,delete,1,,,,\n"),
              HasSubstr("column x_px: found 1, allowed an empty cell"));
  EXPECT_THAT(ReadError("r,left,a,0,move,1,1,0,,\n"), HasSubstr("column sd_px: found 0"));
  EXPECT_THAT(ReadError("r,left,a,0,relabel,,,,,\n"),
              HasSubstr("column to_marker: found an empty cell"));
  EXPECT_THAT(ReadError("r,left,a,0,relabel,,,,a,\n"), HasSubstr("column to_marker: found 'a'"));
  EXPECT_THAT(ReadError("r,left,a,0,move,1,1,,b,\n"),
              HasSubstr("column to_marker: found 'b', allowed an empty cell"));
  EXPECT_THAT(ReadError(",left,a,0,delete,,,,,\n"),
              HasSubstr("column recording: found an empty cell"));
  EXPECT_THAT(ReadError("r,left,a,0,move,\"1,5\",1,,,\n"), HasSubstr("decimal point"));
  EXPECT_THAT(ReadError("r,left,a,0,delete,3\n", "recording,camera,marker,frame,action,x\n"),
              HasSubstr("found the column 'x'"));
  EXPECT_EQ(ReadError("r,left,a,0,delete\n", "recording,camera,marker,frame,action\n"), "no error");
  EXPECT_TRUE(Read("").empty());
}

}  // namespace
}  // namespace impactlab
