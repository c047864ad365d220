#include "tracking/import/import.h"

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
using ::testing::Not;

class ImportTest : public ::testing::Test {
 protected:
  MarkerTracks Import(const std::string& text, const ImportOptions& options = {}) const {
    test::WriteText(scratch_.path() / "drop 7.csv", text);
    return ImportTracks(scratch_.path() / "drop 7.csv", options);
  }
  template <typename Error = DataError>
  std::string ErrorOf(const std::string& text, const ImportOptions& options = {}) const {
    try {
      Import(text, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
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

const std::string kDltdvFile =
    "pt1_cam1_X,pt1_cam1_Y,pt1_cam2_X,pt1_cam2_Y,pt2_cam1_X,pt2_cam1_Y,pt2_cam2_X,pt2_cam2_Y\n"
    "NaN,NaN,10.5,20.25,NaN,NaN,NaN,NaN\n"
    "1,1,11,21,5,480,NaN,NaN\n"
    "2,2,NaN,NaN,NaN,NaN,NaN,NaN\n"
    "NaN,NaN,NaN,NaN,NaN,NaN,7,8\n";

TEST_F(ImportTest, DltdvCountsRowsFromBelow) {
  const MarkerTracks tracks =
      Import(kDltdvFile, {.cameras = {"left", "right"}, .rate = 500, .height = 480, .sd = 0.7});
  EXPECT_EQ(tracks.recording, "drop 7");
  EXPECT_EQ(tracks.cameras, (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(tracks.markers, (std::vector<std::string>{"pt1", "pt2"}));
  ASSERT_EQ(tracks.points.size(), 6U);
  // Pixel (1, 1) is the lowest of the first column, (5, 480) in the top row.
  EXPECT_EQ(Find(tracks, "left", "pt1", 1)->q, Eigen::Vector2d(0, 479));
  EXPECT_EQ(Find(tracks, "left", "pt2", 1)->q, Eigen::Vector2d(4, 0));
  EXPECT_EQ(Find(tracks, "right", "pt1", 0)->q, Eigen::Vector2d(9.5, 459.75));
  EXPECT_DOUBLE_EQ(Find(tracks, "right", "pt2", 3)->t, 3 / 500.0);
  EXPECT_EQ(Find(tracks, "left", "pt1", 0), nullptr);
  for (const TrackPoint& p : tracks.points) {
    EXPECT_EQ(p.flags, kImported);
    EXPECT_DOUBLE_EQ(p.cov(0, 0), 0.49);
    EXPECT_DOUBLE_EQ(p.cov(1, 1), 0.49);
  }
}

TEST_F(ImportTest, DltdvOfVersionsThatCountFromTheTop) {
  const MarkerTracks tracks = Import(kDltdvFile, {.rate = 500, .rows_from_top = true});
  EXPECT_EQ(tracks.cameras, (std::vector<std::string>{"camera_1", "camera_2"}));
  EXPECT_EQ(Find(tracks, "camera_1", "pt1", 1)->q, Eigen::Vector2d(0, 0));
  EXPECT_EQ(Find(tracks, "camera_1", "pt2", 1)->q, Eigen::Vector2d(4, 479));
}

TEST_F(ImportTest, DltdvHostile) {
  const ImportOptions good{.rate = 500, .height = 480};
  EXPECT_THAT(ErrorOf<ConfigError>(kDltdvFile, {.height = 480}),
              HasSubstr("the file counts frames: give the rate"));
  EXPECT_THAT(ErrorOf<ConfigError>(kDltdvFile, {.rate = 500}),
              HasSubstr("rows are counted from below: give the height"));
  EXPECT_THAT(ErrorOf<ConfigError>(kDltdvFile, {.cameras = {"one"}, .rate = 500, .height = 480}),
              HasSubstr("1 camera names"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1,2\n3\n", good),
              HasSubstr("row 3: found 1 cells, allowed 2"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1,2,3\n", good), HasSubstr("row 2: found 3 cells"));
  EXPECT_EQ(ErrorOf("pt1_cam1_X,pt1_cam1_Y,\n1,2,\n", good), "no error") << "a comma at the end";
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1,NaN\n", good),
              HasSubstr("row 2, column pt1_cam1_Y: found an empty cell or NaN beside"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1,inf\n", good), HasSubstr("found 'inf'"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1,abc\n", good),
              HasSubstr("row 2, column pt1_cam1_Y: found 'abc'"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X\tpt1_cam1_Y\n1,5\t2\n", good),
              HasSubstr("a number with a decimal point"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt2_cam1_Y\n1,2\n", good),
              HasSubstr("column pt1_cam1: found one coordinate, allowed X and Y"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_X\n1,2\n", good), HasSubstr("again"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y,speed\n1,2,3\n", good),
              HasSubstr("found 'speed', allowed a name as pt1_cam1_X"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\nNaN,NaN\n", good), HasSubstr("found no point"));
  EXPECT_THAT(ErrorOf("pt0_cam1_X,pt0_cam1_Y\n1,2\n",
                      {.format = TrackFormat::kDltdv, .rate = 1, .height = 9}),
              HasSubstr("'pt0_cam1_X'"));
  const MarkerTracks tracks =
      Import("\xEF\xBB\xBFpt1_cam1_X, pt1_cam1_Y\r\n1,2\r\n\r\nnan,nan\r\n3,4\r\n\r\n", good);
  ASSERT_EQ(tracks.points.size(), 2U);
  EXPECT_EQ(tracks.points[1].frame, 3) << "a blank line is a frame without a point";
}

TEST_F(ImportTest, TrackerWithPixelColumns) {
  for (const std::string delimiter : {"\t", ",", ";"}) {
    std::string text =
        "\tmass A\t\t\t\t\t\t\nt\tframe\tx\ty\tpixelx\tpixely\t\n"
        "0.000000000E0\t5\t-1.2E1\t3.0E0\t100.5\t50.25\t\n"
        "8.333333333E-3\t6\t\t\t\t\t\n"
        "1.666666667E-2\t7\t-1.1E1\t2.9E0\t1.035E2\t5.5E1\t\n";
    std::string changed;
    for (const char c : text) changed += c == '\t' ? delimiter : std::string(1, c);
    const MarkerTracks tracks = Import(changed);
    ASSERT_EQ(tracks.points.size(), 2U) << delimiter;
    EXPECT_EQ(tracks.markers, std::vector<std::string>{"mass A"});
    EXPECT_EQ(tracks.points[0].frame, 5);
    EXPECT_EQ(tracks.points[0].t, 0);
    // The corner of the picture is Tracker's zero, the centre of the first pixel is ours.
    EXPECT_EQ(tracks.points[0].q, Eigen::Vector2d(100, 49.75));
    EXPECT_EQ(tracks.points[1].q, Eigen::Vector2d(103, 54.5));
    EXPECT_DOUBLE_EQ(tracks.points[1].t, 1.666666667E-2);
    // A slow-motion file: the experimenter knows the rate better.
    EXPECT_DOUBLE_EQ(Import(changed, {.rate = 1000}).points[1].t, 0.007);
  }
}

TEST_F(ImportTest, TrackerWithDecimalCommasAndPlainPositions) {
  const ImportOptions options{.cameras = {"side"}, .rate = 100, .height = 480};
  const std::string text = "Masse A\nt\tx\ty\n0,000\t10,5\t20,5\n0,01\t\t\n0,02\t1,15E1\t479,5\n";
  const MarkerTracks tracks = Import(text, options);
  ASSERT_EQ(tracks.points.size(), 2U);
  EXPECT_EQ(tracks.markers, std::vector<std::string>{"Masse A"});
  EXPECT_EQ(tracks.cameras, std::vector<std::string>{"side"});
  EXPECT_EQ(tracks.points[0].q, Eigen::Vector2d(10, 459));
  EXPECT_EQ(tracks.points[1].q, Eigen::Vector2d(11, 0));
  EXPECT_EQ(tracks.points[1].frame, 2);
  EXPECT_DOUBLE_EQ(tracks.points[1].t, 0.02);
  EXPECT_THAT(ErrorOf<ConfigError>(text, {.rate = 100}), HasSubstr("give the height"));
  EXPECT_THAT(ErrorOf<ConfigError>(text, {.height = 480}),
              HasSubstr("that has no column frame: give the rate"));
  EXPECT_THAT(ErrorOf(text, {.rate = 130, .height = 480}),
              HasSubstr("row 5, column t: found 0.02, allowed the time of a frame at 130"));
  EXPECT_EQ(Import("t,x,y\n0,1,2\n", options).markers, std::vector<std::string>{"drop 7"})
      << "named after the file";
}

TEST_F(ImportTest, TrackerWithSeveralTracks) {
  const std::string text =
      "#multi:\n\tA\t\t\tB, right\t\t\t\nt\tframe\tpixelx\tpixely\tframe\tpixelx\tpixely\t\n"
      "0.0\t0\t1.5\t2.5\t0\t3.5\t4.5\t\n0.1\t1\t11.5\t12.5\t\t\t\t\n";
  const MarkerTracks tracks = Import(text);
  EXPECT_EQ(tracks.markers, (std::vector<std::string>{"A", "B, right"}));
  ASSERT_EQ(tracks.points.size(), 3U);
  EXPECT_EQ(Find(tracks, "camera_1", "B, right", 0)->q, Eigen::Vector2d(3, 4));
  EXPECT_EQ(Find(tracks, "camera_1", "A", 1)->q, Eigen::Vector2d(11, 12));
}

TEST_F(ImportTest, TrackerHostile) {
  const ImportOptions as{.format = TrackFormat::kTracker, .rate = 100, .height = 480};
  EXPECT_THAT(ErrorOf("A\nt\tvx\tvy\n0\t1\t2\n", as), HasSubstr("row 2"));
  EXPECT_THAT(ErrorOf("A\nt\tx\tvy\n0\t1\t2\n", as),
              HasSubstr("row 2, column A: found no position, allowed the variables pixelx"));
  EXPECT_THAT(ErrorOf("A\nt\tx\ty\n0\t1\n", as), HasSubstr("row 3: found 2 cells, allowed 3"));
  EXPECT_THAT(ErrorOf("A\nt\tx\ty\n\t1\t2\n", as), HasSubstr("column t: found an empty cell"));
  EXPECT_THAT(ErrorOf("A\nt\tx\ty\n0\t1\tq\n", as), HasSubstr("row 3, column y: found 'q'"));
  EXPECT_THAT(ErrorOf("A\nt\tx\tx\ty\n0\t1\t1\t2\n", as), HasSubstr("'x' of track A again"));
  EXPECT_THAT(ErrorOf("A\nt\tframe\tpixelx\tpixely\n0\t1\t1\t2\n0.1\t1\t1\t2\n", as),
              HasSubstr("row 4, column frame: found a second point"));
  EXPECT_THAT(ErrorOf("A\nt\tframe\tpixelx\tpixely\n0\t1.5\t1\t2\n", as),
              HasSubstr("column frame: found 1.5, allowed a frame"));
  EXPECT_THAT(ErrorOf("A\nt\tframe\tpixelx\tpixely\n0.2\t1\t1\t2\n0.1\t2\t1\t2\n",
                      {.format = TrackFormat::kTracker}),
              HasSubstr("column t_s: found 0.1, before that of frame 1"));
  EXPECT_THAT(ErrorOf("A\n", as), HasSubstr("no variables"));
  EXPECT_THAT(ErrorOf("#multi:\n", as), HasSubstr("no variables"));
  EXPECT_THAT(ErrorOf("", as), HasSubstr("empty file"));
}

const std::string kDlcFile =
    "scorer,DLC_resnet50,DLC_resnet50,DLC_resnet50,DLC_resnet50,DLC_resnet50,DLC_resnet50\n"
    "bodyparts,top,top,top,\"end, far\",\"end, far\",\"end, far\"\n"
    "coords,x,y,likelihood,x,y,likelihood\n"
    "0,10.5,20.25,0.99,30,40,0.1\n1,11,21,0.6,31,41,0.61\n2,,,,32,42,\n";

TEST_F(ImportTest, DeepLabCutLeavesOutTheUnlikely) {
  const MarkerTracks tracks = Import(kDlcFile, {.rate = 240});
  EXPECT_EQ(tracks.markers, (std::vector<std::string>{"top", "end, far"}));
  ASSERT_EQ(tracks.points.size(), 3U);
  EXPECT_EQ(Find(tracks, "camera_1", "top", 0)->q, Eigen::Vector2d(10.5, 20.25));
  EXPECT_DOUBLE_EQ(Find(tracks, "camera_1", "top", 1)->t, 1 / 240.0);
  EXPECT_EQ(Find(tracks, "camera_1", "end, far", 0), nullptr);
  EXPECT_NE(Find(tracks, "camera_1", "end, far", 1), nullptr);
  EXPECT_EQ(Import(kDlcFile, {.rate = 240, .likelihood_min = 0.05}).points.size(), 4U)
      << "without a likelihood it is not likely";
}

TEST_F(ImportTest, DeepLabCutOfSeveralIndividuals) {
  const MarkerTracks tracks = Import(
      "scorer,s,s,s,s,s,s,s,s\nindividuals,rod,rod,rod,bar,bar,bar,single,single\nbodyparts,top,"
      "top,top,top,top,top,floor,floor\n"
      "coords,x,y,likelihood,x,y,likelihood,x,y\n7,1,2,1,3,4,1,5,6\n",
      {.rate = 240});
  EXPECT_EQ(tracks.markers, (std::vector<std::string>{"rod_top", "bar_top", "floor"}));
  ASSERT_EQ(tracks.points.size(), 3U);
  EXPECT_EQ(Find(tracks, "camera_1", "bar_top", 7)->q, Eigen::Vector2d(3, 4));
  EXPECT_EQ(Find(tracks, "camera_1", "floor", 7)->q, Eigen::Vector2d(5, 6));
}

TEST_F(ImportTest, DeepLabCutHostile) {
  const ImportOptions good{.rate = 240};
  const std::string header = "scorer,s,s,s\nbodyparts,a,a,a\ncoords,x,y,likelihood\n";
  EXPECT_THAT(ErrorOf<ConfigError>(kDlcFile), HasSubstr("give the rate"));
  EXPECT_THAT(ErrorOf(header + "0,1,2\n", good), HasSubstr("row 4: found 3 cells, allowed 4"));
  EXPECT_THAT(ErrorOf(header + "0,1,2,1.5\n", good),
              HasSubstr("column a likelihood: found 1.5, allowed 0 to 1"));
  EXPECT_THAT(ErrorOf(header + "labeled-data/v/img001.png,1,2,1\n", good),
              HasSubstr("allowed the number of a frame"));
  EXPECT_THAT(ErrorOf(header + "0,1,2,1\n0,1,2,1\n", good),
              HasSubstr("row 5, column frame: found a second point of marker a in frame 0"));
  EXPECT_THAT(ErrorOf(header + "0,1,,1\n", good), HasSubstr("column a y"));
  EXPECT_THAT(ErrorOf("scorer,s\ncoords,x\n0,1\n", good),
              HasSubstr("row 2, column 1: found 'coords', allowed the header row bodyparts"));
  EXPECT_THAT(ErrorOf("scorer,s\n", good), HasSubstr("allowed the header row bodyparts"));
  EXPECT_THAT(ErrorOf("scorer,s,s\nbodyparts,a,a\ncoords,x,z\n0,1,2\n", good),
              HasSubstr("found 'z', allowed x, y or likelihood"));
  EXPECT_THAT(ErrorOf("scorer,s,s\nbodyparts,a,a\ncoords,x,likelihood\n0,1,1\n", good),
              HasSubstr("allowed x and y"));
  EXPECT_THAT(ErrorOf("scorer,s,s,s\nbodyparts,a,a,a\ncoords,x,y,x\n0,1,1,1\n", good),
              HasSubstr("x of a again"));
  EXPECT_THAT(ErrorOf(header, good), HasSubstr("found no point"));
}

TEST_F(ImportTest, AnyTable) {
  const MarkerTracks tracks = Import(
      "frame,t_s,marker,camera,x_px,y_px,sd_px,remark\n3,0.03,a,L,1,2,0.1,x\n3,0.031,a,R,5,6,,\n4,"
      "0.04,b,L,,,,gone\n");
  EXPECT_EQ(tracks.cameras, (std::vector<std::string>{"L", "R"}));
  EXPECT_EQ(tracks.markers, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(tracks.points.size(), 2U);
  EXPECT_EQ(tracks.points[0].q, Eigen::Vector2d(1, 2));
  EXPECT_DOUBLE_EQ(tracks.points[0].cov(0, 0), 0.01);
  EXPECT_DOUBLE_EQ(tracks.points[1].cov(0, 0), 0.25);
  EXPECT_DOUBLE_EQ(tracks.points[1].t, 0.031);
  EXPECT_EQ(Import("t_s;x_px;y_px\n0.5;1;2\n0.52;1;2\n", {.rate = 50}).points[1].frame, 26);
  EXPECT_DOUBLE_EQ(Import("# by hand\nframe,x_px,y_px\n5,1,2\n", {.rate = 50}).points[0].t, 0.1);
  EXPECT_THAT(ErrorOf<ConfigError>("frame,x_px,y_px\n5,1,2\n"),
              HasSubstr("no column t_s: give the rate"));
  EXPECT_THAT(ErrorOf("x_px,y_px\n1,2\n"), HasSubstr("neither a column frame nor t_s"));
  EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px\n5,0,1,\n"),
              HasSubstr("column y_px: found an empty cell beside a number"));
  EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px\n5,,1,2\n"),
              HasSubstr("column t_s: found an empty cell"));
  EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px,sd_px\n5,0,1,2,-1\n"),
              HasSubstr("column sd_px: found -1"));
  EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px\n5,0,1,2\n5,0.1,1,2\n"),
              HasSubstr("row 3, column frame: found a second point"));
  EXPECT_THAT(ErrorOf("frame;t_s;x_px;y_px\n5;0;1,5;2\n"), HasSubstr("decimal point"));
}

// A frame is a time that a camera has, whoever was seen in it.
TEST_F(ImportTest, TableOfTimesNumbersThem) {
  const MarkerTracks tracks = Import(
      "t_s,marker,camera,x_px,y_px\n0.5,a,L,1,2\n0.5,b,L,3,4\n0.75,a,L,,\n0.625,b,L,5,6\n1,a,L,7,"
      "8\n-3,a,R,9,9\n0.75,b,R,9,9\n0.5,a,R,9,"
      "9\n,c,R,,\n");
  EXPECT_EQ(tracks.markers, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_EQ(tracks.points.size(), 7U);
  ASSERT_NE(Find(tracks, "L", "a", 0), nullptr);
  EXPECT_EQ(Find(tracks, "L", "b", 0)->q, Eigen::Vector2d(3, 4));
  ASSERT_NE(Find(tracks, "L", "b", 1), nullptr);
  EXPECT_EQ(Find(tracks, "L", "b", 1)->t, 0.625);
  EXPECT_EQ(Find(tracks, "L", "a", 2), nullptr)
      << "the row without a point is a frame all the same";
  ASSERT_NE(Find(tracks, "L", "a", 3), nullptr);
  EXPECT_EQ(Find(tracks, "L", "a", 3)->t, 1);
  ASSERT_NE(Find(tracks, "R", "a", 1), nullptr) << "each camera counts its own";
  EXPECT_EQ(Find(tracks, "R", "a", 0)->t, -3);
  ASSERT_NE(Find(tracks, "R", "b", 2), nullptr);
  EXPECT_THAT(ErrorOf("t_s,x_px,y_px\n0.5,1,2\n0.5,1,2\n"),
              HasSubstr("row 3, column frame: found a second point of marker marker_1"));
  EXPECT_THAT(ErrorOf("t_s,x_px,y_px\n,1,2\n"),
              HasSubstr("row 2, column t_s: found an empty cell"));
  // Given a rate, frames that are not in the file count too.
  EXPECT_EQ(Import("t_s,x_px,y_px\n0.5,1,2\n0.54,1,2\n", {.rate = 50}).points[1].frame, 27);
  EXPECT_EQ(Import("t_s,x_px,y_px\n0.5,1,2\n0.54,1,2\n").points[1].frame, 1);
}

TEST_F(ImportTest, MessagesNameTheColumnsOfATable) {
  const std::string columns =
      "a plain table, in pixels from the top left one, has the columns x_px, y_px, and frame or "
      "t_s";
  EXPECT_THAT(ErrorOf<ConfigError>("frame,x,y\n0,1,2\n"),
              AllOf(HasSubstr("taken for an export of Tracker"),
                    HasSubstr("give the height of the pictures; " + columns)));
  EXPECT_THAT(ErrorOf<ConfigError>("frame,pixelx,pixely\n0,1,2\n"),
              HasSubstr("no column t: give the rate of the recording; " + columns));
  EXPECT_THAT(ErrorOf("frame,x_pixel,y_pixel\n0,1,2\n"), HasSubstr(columns));
  // Somebody who says that it is Tracker's knows.
  EXPECT_THAT(ErrorOf<ConfigError>("frame,x,y\n0,1,2\n", {.format = TrackFormat::kTracker}),
              AllOf(HasSubstr("give the height"), Not(HasSubstr("plain table"))));
  // Points of all markers would become those of one.
  EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px,markr\n0,0,1,2,a\n"),
              HasSubstr("found the column 'markr', allowed 'marker'"));
  EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px,Camera\n0,0,1,2,a\n"),
              HasSubstr("found the column 'Camera', allowed 'camera'"));
  EXPECT_THAT(ErrorOf("fram,t_s,x_px,y_px\n0,0,1,2\n"),
              HasSubstr("found the column 'fram', allowed 'frame'"));
  EXPECT_EQ(ErrorOf("frame,t_s,x_px,y_px,name,vx_px,note\n0,0,1,2,a,b,c\n"), "no error")
      << "strangers";
}

TEST_F(ImportTest, RowsOutsideOfThePictureNameTheirRow) {
  const ImportOptions low{.rate = 100, .height = 500};
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1,2\n5,720\n", low),
              HasSubstr("drop 7.csv: row 3, column pt1_cam1_Y: found 720, which would be row -220 "
                        "of the picture, allowed rows 0 to 499"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1,-2\n", low),
              HasSubstr("row 2, column pt1_cam1_Y: found -2, which would be row 502"));
  EXPECT_THAT(ErrorOf("frame,x,y\n0,1,2\n1,1,720\n", low),
              HasSubstr("row 3, column y: found 720, which would be row -220.5"));
  EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px\n0,0,1,720\n", low),
              HasSubstr("row 2, column y_px: found 720"));
  EXPECT_THAT(ErrorOf("scorer,s,s\nbodyparts,a,a\ncoords,x,y\n0,1,720\n", low),
              HasSubstr("row 4, column a y: found 720"));
  EXPECT_EQ(ErrorOf("frame,t_s,x_px,y_px\n0,0,1,720\n"), "no error") << "no height, no bound";
  // From edge to edge and a pixel beyond.
  EXPECT_EQ(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1,0.5\n1,500.5\n1,-0.4\n1,501.4\n", low), "no error");
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1,501.6\n", low), HasSubstr("row 2"));
}

TEST_F(ImportTest, AbsurdNumbersAreRefusedWithTheirRow) {
  const ImportOptions good{.rate = 100, .height = 480};
  EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px\n1e10,0,1,2\n"),
              HasSubstr("row 2, column frame: found 1e+10, allowed a frame: a whole "));
  EXPECT_EQ(Import("frame,t_s,x_px,y_px\n1e9,0,1,2\n").points[0].frame, 1000000000);
  EXPECT_THAT(ErrorOf("t_s,x_px,y_px\n1e8,1,2\n", good),
              HasSubstr("row 2, column t_s: found 1e+08"));
  EXPECT_THAT(ErrorOf("A\nt\tframe\tpixelx\tpixely\n0\t1e12\t1\t2\n", good),
              HasSubstr("row 3, column frame: found 1e+12"));
  EXPECT_THAT(ErrorOf("scorer,s,s\nbodyparts,a,a\ncoords,x,y\n1e11,1,2\n", good),
              HasSubstr("row 4, column 1: found 1e+11"));
  EXPECT_THAT(ErrorOf("pt1_cam1_X,pt1_cam1_Y\n1e6,2\n", good),
              HasSubstr("row 2, column pt1_cam1_X: found 1e+06"));
  EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px\n0,0,1,-1e300\n"),
              HasSubstr("row 2, column y_px: found -1e+300, allowed a position"));
  // A standard deviation whose square is 0 or infinite could not be written.
  for (const char* sd : {"1e-200", "1e200", "0"})
    EXPECT_THAT(ErrorOf("frame,t_s,x_px,y_px,sd_px\n0,0,1,2," + std::string(sd) + "\n"),
                HasSubstr("row 2, column sd_px"))
        << sd;
  for (const double rate : {1e-300, 1e300, HUGE_VAL, std::nan("")})
    EXPECT_THAT(ErrorOf<ConfigError>("frame,x_px,y_px\n1000,1,2\n", {.rate = rate}),
                HasSubstr("a rate of"));
  for (const double sd : {1e-200, 1e200})
    EXPECT_THAT(ErrorOf<ConfigError>("frame,t_s,x_px,y_px\n0,0,1,2\n", {.sd = sd}),
                HasSubstr("sd_px"));
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"left", "left"}, {"left", " "}})
    EXPECT_THAT(ErrorOf<ConfigError>(kDltdvFile, {.cameras = names, .rate = 500, .height = 480}),
                HasSubstr("a name of its own"));
}

TEST_F(ImportTest, OwnTracksKeepEverything) {
  MarkerTracks own{"drop_9", {"left"}, {"m"}, {}};
  TrackPoint p;
  p.q = {3.25, 4.5};
  p.t = 0.125;
  p.cov = 0.01 * Eigen::Matrix2d::Identity();
  p.flags = kHidden;
  own.points.push_back(p);
  const auto path = scratch_.path() / "own.csv";
  {
    TracksWriter writer(path);
    writer.Write(own);
    writer.Commit();
  }
  const MarkerTracks read = ImportTracks(path, {.cameras = {"west"}});
  EXPECT_EQ(read.recording, "drop_9");
  EXPECT_EQ(read.cameras, std::vector<std::string>{"west"});
  EXPECT_EQ(read.points.at(0).flags, kHidden);
  EXPECT_EQ(read.points.at(0).q, p.q);
  TracksWriter writer(path);
  writer.Write(own);
  own.recording = "drop_10";
  writer.Write(own);
  writer.Commit();
  EXPECT_THROW(ImportTracks(path), DataError) << "two recordings";
}

TEST_F(ImportTest, WhatIsNoTracksFile) {
  EXPECT_THAT(ErrorOf("name,value\na,1\n"),
              AllOf(HasSubstr("row 1: found a header beginning with 'name'"),
                    HasSubstr("impactlab, dltdv, tracker, deeplabcut, table")));
  EXPECT_THAT(ErrorOf(std::string("\x89PNG\r\n\x1A\n\0\0", 10)), HasSubstr("UTF-8"));
  EXPECT_THAT(ErrorOf("\xFF\xFE" + std::string("t\0", 2)), HasSubstr("UTF-16"));
  EXPECT_THAT(ErrorOf("\n\n"), HasSubstr("empty"));
  EXPECT_THAT(ErrorOf("t,x,y\n0,\"1,2\n", {.rate = 10, .height = 10}),
              HasSubstr("a quote that stays open"));
  EXPECT_THROW(ImportTracks(scratch_.path() / "absent.csv"), DataError);
  EXPECT_THROW(ImportTracks(scratch_.path()), DataError);
  EXPECT_THAT(ErrorOf<ConfigError>(kDltdvFile, {.rate = 500, .height = 480, .sd = 0}),
              HasSubstr("sd_px"));
  EXPECT_THAT(ErrorOf<ConfigError>(kDltdvFile, {.rate = -1, .height = 480}), HasSubstr("rate"));
}

// Whatever stands in a file, it is read or refused with a reason.
TEST_F(ImportTest, DamagedFilesAreReadOrRefused) {
  std::mt19937_64 rng(11);
  const std::string own =
      "recording,camera,marker,frame,t_s,x_px,y_px,cov_xx_px2,cov_xy_px2,cov_yy_px2,flags\nr,c,m,0,"
      "0.5,1,2,0.1,0,0.1,cut\nr,c,m,1,0.6,1,2,"
      "0.1,0,0.1,\n";
  const std::string tracker =
      "#multi:\n\tA\t\t\tB\t\t\t\nt\tframe\tpixelx\tpixely\tframe\tx\ty\t\n0,0\t0\t1,"
      "5\t2\t0\t3\t4\t\n";
  const std::string alphabet = "\t\n\r,;\"#0123456789.-eENnaAxXyYpt_ \xEF\xBB\xBF\xC3\xA9";
  int read = 0, refused = 0;
  for (int k = 0; k < 800; ++k) {
    std::string text =
        std::vector<std::string>{
            kDltdvFile,
            kDlcFile,
            own,
            tracker,
            "frame,t_s,x_px,y_px\n5,0,1,2\n",
            "t_s,marker,x_px,y_px,sd_px\n0.5,a,1,2,\n0.5,b,1e3,2,1e-3\n"}[static_cast<std::size_t>(
            k % 6)];
    for (std::size_t changes = 1 + rng() % 4; changes > 0 && !text.empty(); --changes) {
      const std::size_t at = rng() % text.size(), kind = rng() % 4;
      const char c = alphabet[rng() % alphabet.size()];
      if (kind == 0) text[at] = c;
      if (kind == 1) text.insert(at, 1, c);
      if (kind == 2) text.erase(at, 1 + rng() % 12);
      if (kind == 3) text.insert(at, text.substr(rng() % text.size(), rng() % 40));
    }
    ImportOptions options{.rate = rng() % 2 == 0 ? 240.0 : 0.0, .height = 480};
    if (rng() % 3 == 0) options.format = static_cast<TrackFormat>(rng() % 5);
    try {
      const MarkerTracks tracks = Import(text, options);
      ++read;
      for (const TrackPoint& p : tracks.points) {
        ASSERT_TRUE(p.q.allFinite() && std::isfinite(p.t) && p.frame >= 0 && p.cov(0, 0) > 0)
            << text;
        ASSERT_LT(static_cast<std::size_t>(p.marker), tracks.markers.size());
        ASSERT_LT(static_cast<std::size_t>(p.camera), tracks.cameras.size());
      }
      // What is read can be written, and read again.
      TracksWriter writer(scratch_.path() / "tracks.csv");
      writer.Write(tracks);
      writer.Commit();
      const auto again = ReadTracks(scratch_.path() / "tracks.csv");
      ASSERT_EQ(again.size(), 1U) << text;
      ASSERT_EQ(again[0].points.size(), tracks.points.size()) << text;
    } catch (const DataError& error) {
      ++refused;
      ASSERT_THAT(error.what(), HasSubstr("drop 7.csv")) << text;
    } catch (const ConfigError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 20);
  EXPECT_GT(refused, 200);
}

TEST(TrackFormatTest, Names) {
  for (const auto& [name, format] :
       {std::pair{"impactlab", TrackFormat::kImpactLab}, std::pair{"dltdv", TrackFormat::kDltdv},
        std::pair{"tracker", TrackFormat::kTracker},
        std::pair{"deeplabcut", TrackFormat::kDeepLabCut}, std::pair{"table", TrackFormat::kTable}})
    EXPECT_EQ(TrackFormatFromString(name), format);
  EXPECT_FALSE(TrackFormatFromString("DLTdv").has_value());
}

}  // namespace
}  // namespace impactlab
