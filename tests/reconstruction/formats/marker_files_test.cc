// Marker CSV, TRC and C3D: written, read back, read from bytes made after the published format,
// refused where broken.

#include "reconstruction/formats/marker_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/base/error.h"
#include "tests/data/message.h"
#include "tests/reconstruction/formats/c3d_builder.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using test::C3dBuilder;
using test::Get;
using test::Machine;
using test::MessageOf;
using test::Put;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

MarkerPoints Sample(std::size_t markers, std::size_t frames, double rate, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal(0, 0.7);
  std::uniform_real_distribution<double> uniform(0, 1);
  MarkerPoints points;
  points.name = "sample";
  for (std::size_t m = 0; m < markers; ++m) points.markers.push_back("m" + std::to_string(m + 1));
  for (std::size_t i = 0; i < frames; ++i) points.t.push_back(static_cast<double>(i) / rate);
  points.p_WM.assign(markers, {});
  for (auto& list : points.p_WM)
    for (std::size_t i = 0; i < frames; ++i)
      list.push_back(uniform(rng) < 0.2
                         ? std::nullopt
                         : std::optional(Vector3d(normal(rng), normal(rng), normal(rng))));
  return points;
}

void ExpectSamePositions(const MarkerPoints& a, const MarkerPoints& b, double relative) {
  ASSERT_EQ(a.markers, b.markers);
  ASSERT_EQ(a.t.size(), b.t.size());
  for (std::size_t m = 0; m < a.markers.size(); ++m)
    for (std::size_t i = 0; i < a.t.size(); ++i) {
      ASSERT_EQ(a.p_WM[m][i].has_value(), b.p_WM[m][i].has_value())
          << a.markers[m] << " frame " << i;
      if (!a.p_WM[m][i]) continue;
      for (int k = 0; k < 3; ++k)
        ASSERT_LE(std::abs((*a.p_WM[m][i])[k] - (*b.p_WM[m][i])[k]),
                  relative * std::abs((*a.p_WM[m][i])[k]))
            << a.markers[m] << " frame " << i;
    }
}

class MarkerFiles : public ::testing::Test {
 protected:
  MarkerFile Again(const MarkerPoints& points, const std::string& name,
                   const MarkerWriteOptions& options = {}) {
    notes_ = WriteMarkerFile(folder_ / name, points, options);
    MarkerReadOptions read;
    if (MarkerFormatOf(name) != MarkerFormat::kC3d) read.up = options.up;
    return ReadMarkerFile(folder_ / name, read);
  }
  std::string Refused(const std::string& name, const std::string& content) {
    Put(folder_ / name, content);
    return MessageOf<DataError>([&] { ReadMarkerFile(folder_ / name); });
  }
  test::TemporaryFolder folder_;
  std::vector<std::string> notes_;
};

// Every bit of times, positions and covariances, in whatever unit and with whatever axis up.
TEST_F(MarkerFiles, TextGivesTheSameBits) {
  MarkerPoints points = Sample(3, 60, 239.76, 1);
  points.t[7] += 1e-4;  // uneven, as cameras are
  points.p_WM[0][3] = Vector3d(1e-9, -123456.789, 3e-17);
  points.p_WM[1][4] = Vector3d::Zero();
  points.first_frame = 482;
  points.cov.assign(3, std::vector<Matrix3d>(60, Matrix3d::Zero()));
  points.cov[2][5] << 4e-8, 1e-9, -2e-9, 1e-9, 5e-8, 3e-10, -2e-9, 3e-10, 9e-7;
  points.residual.assign(3, std::vector<double>(60, 0.0));
  points.residual[0][3] = 2.5e-4;
  for (const UpAxis up : {UpAxis::kX, UpAxis::kY, UpAxis::kZ})
    for (const char* unit : {"m", "mm"})
      for (const char* name : {"a.csv", "a.trc"}) {
        SCOPED_TRACE(std::string(name) + " " + unit + " " + ToString(up));
        const MarkerFile file =
            Again(points, name, {.format = std::nullopt, .up = up, .unit = unit});
        EXPECT_EQ(file.points.t, points.t);
        EXPECT_EQ(file.points.first_frame, 482);
        ExpectSamePositions(points, file.points, 0);
        EXPECT_TRUE(file.notes.empty()) << file.notes[0];
        if (std::string(name) == "a.csv" && points.p_WM[2][5]) {
          EXPECT_EQ(file.points.cov[2][5], points.cov[2][5]);
          EXPECT_EQ(file.points.residual, points.residual);
        }
      }
}

TEST_F(MarkerFiles, CsvTakesAnyUnitAndStandardDeviations) {
  Put(folder_ / "u.csv",
      "t_ms,left hip_x_mm,left hip_y_cm,left hip_z_m,left hip_sd_x_mm,left hip_sd_y_mm,left "
      "hip_sd_z_mm,comment\n"
      "0,1,2,3,0.1,0.2,0.3,first\n10,,,,,,,\n20,4,5,6,,,,x\n");
  const MarkerPoints points = ReadMarkerFile(folder_ / "u.csv").points;
  EXPECT_EQ(points.name, "u");
  ASSERT_EQ(points.markers, std::vector<std::string>{"left hip"});
  EXPECT_DOUBLE_EQ(points.t[2], 0.02);
  EXPECT_LT((*points.p_WM[0][0] - Vector3d(1e-3, 2e-2, 3)).norm(), 1e-15);
  EXPECT_FALSE(points.p_WM[0][1]);
  EXPECT_LT((points.cov[0][0].diagonal() - Vector3d(1e-8, 4e-8, 9e-8)).norm(), 1e-20);
  EXPECT_TRUE(points.cov[0][2].isZero());
}

TEST_F(MarkerFiles, UpAxisTurnsAndNeverMirrors) {
  Put(folder_ / "y.csv",
      "t_s,a_x_m,a_y_m,a_z_m,a_cov_xx_m2,a_cov_xy_m2,a_cov_xz_m2,a_cov_yy_m2,a_cov_yz_m2,a_cov_zz_"
      "m2\n0,1,2,3,1,0,0,2,0.5,3\n");
  const MarkerPoints y = ReadMarkerFile(folder_ / "y.csv", {.up = UpAxis::kY}).points;
  EXPECT_EQ(*y.p_WM[0][0], Vector3d(1, -3, 2));
  EXPECT_EQ(y.cov[0][0](1, 1), 3);
  EXPECT_EQ(y.cov[0][0](2, 2), 2);
  EXPECT_EQ(y.cov[0][0](1, 2), -0.5);
  EXPECT_EQ(*ReadMarkerFile(folder_ / "y.csv", {.up = UpAxis::kX}).points.p_WM[0][0],
            Vector3d(2, 3, 1));
}

// A header and rows as OpenSim and Motion Analysis write them.
constexpr const char* kTrcHead =
    "PathFileType\t4\t(X/Y/"
    "Z)\twalk."
    "trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOri"
    "gNumFrames\n"
    "60.00\t60.00\t3\t2\tmm\t60.00\t1\t3\nFrame#\tTime\tR.ASIS\t\t\tL."
    "ASIS\t\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\t\n\n";

TEST_F(MarkerFiles, TrcGapsAreEmptyCellsOrNan) {
  Put(folder_ / "walk.trc",
      std::string(kTrcHead) +
          "17\t0.266667\t1000.5\t-2\t3\t4\t5\t6\t\r\n18\t0.283333\t\t\t\t4\t5\t6\n19\t0."
          "300000\tNaN\tnan\tNaN\t0.000\t0.000\t0.000\n");
  const MarkerFile file = ReadMarkerFile(folder_ / "walk.trc");
  EXPECT_EQ(file.format, MarkerFormat::kTrc);
  const MarkerPoints& p = file.points;
  EXPECT_EQ(p.markers, (std::vector<std::string>{"R.ASIS", "L.ASIS"}));
  EXPECT_EQ(p.first_frame, 17);
  EXPECT_EQ(p.t[1], 0.283333);
  EXPECT_EQ(*p.p_WM[0][0], Vector3d(1.0005, -0.002, 0.003));
  EXPECT_FALSE(p.p_WM[0][1]);
  EXPECT_FALSE(p.p_WM[0][2]);
  EXPECT_FALSE(p.p_WM[1][2]);
  EXPECT_THAT(file.notes, Contains(HasSubstr("1 points at exactly (0, 0, 0)")));
  EXPECT_TRUE(ReadMarkerFile(folder_ / "walk.trc", {.up = std::nullopt, .zero_is_missing = false})
                  .points.p_WM[1][2]);
}

TEST_F(MarkerFiles, BrokenTrcIsSaidInOneLine) {
  const std::string head = kTrcHead, row = "\t1\t2\t3\t4\t5\t6\n";
  const auto three = [&](const std::string& times) { return head + times; };
  EXPECT_THAT(Refused("a.trc", three("1\tNaN" + row)),
              AllOf(HasSubstr("row 7, column Time"), HasSubstr("found 'NaN'")));
  EXPECT_THAT(Refused("b.trc", three("1\t0.1" + row + "2\t0.1" + row)),
              HasSubstr("a time after 0.1"));
  EXPECT_THAT(Refused("c.trc", three("1\t0.1" + row)),
              HasSubstr("found 1 frames, allowed the 3 of NumFrames"));
  EXPECT_THAT(Refused("d.trc", three("1\t0.1\t1\t2\n")), HasSubstr("2 of 3 coordinates"));
  EXPECT_THAT(Refused("e.trc", three("1\t0.1\t1\t2\t3\t4\t5\tsix\n")),
              AllOf(HasSubstr("Z of L.ASIS"), HasSubstr("'six'")));
  EXPECT_THAT(Refused("f.trc", three("1\t0.1\t1\t2\t3\t4\t5\t6\t7\n")),
              HasSubstr("three cells for each of 2 markers"));
  EXPECT_THAT(Refused("g.trc", three("1\t0.1" + row + "1\t0.2" + row)),
              HasSubstr("a number above 1"));
  EXPECT_THAT(Refused("h.trc", "hello\n"), HasSubstr("PathFileType"));
  std::string other = head;
  other.replace(other.find("\tmm\t"), 4, "\tyd\t");
  EXPECT_THAT(Refused("i.trc", other), AllOf(HasSubstr("Units"), HasSubstr("yd")));
  other = head;
  other.replace(other.find("\t2\tmm"), 5, "\t1\tmm");
  EXPECT_THAT(Refused("j.trc", other), HasSubstr("2 names of markers"));
  EXPECT_THAT(Refused("k.trc", head.substr(0, 60)), HasSubstr("header"));
  EXPECT_THAT(Refused("l.csv", "t_s,x_m\n0,1\n"), HasSubstr("no marker"));
  EXPECT_THAT(Refused("m.csv", "t_s,a_x_m,a_y_m\n0,1,2\n"), HasSubstr("without z"));
  EXPECT_THAT(Refused("n.csv", "t_s,a_x_m,a_y_m,a_z_m\n0,1,2,\n"), HasSubstr("2 of 3 coordinates"));
  EXPECT_THAT(Refused("o.csv", "t_s,a_x_m,a_y_m,a_z_m\n1,1,2,3\n1,1,2,3\n"),
              HasSubstr("times that rise"));
}

// Single precision from the first writing on, nothing lost after that.
TEST_F(MarkerFiles, C3dRoundTrip) {
  MarkerPoints points = Sample(4, 50, 119.88, 2);
  for (double& t : points.t) t += 0.1234567890123;
  points.p_WM[2][6] = Vector3d::Zero();
  points.events = {{"impact", "General", points.t[20] + 1e-3}, {"release", "", points.t[3]}};
  points.residual.assign(4, std::vector<double>(50, 0.0));
  for (std::size_t i = 0; i < 50; ++i) points.residual[1][i] = 1e-4 * static_cast<double>(i % 7);
  for (const UpAxis up : {UpAxis::kX, UpAxis::kY, UpAxis::kZ})
    for (const char* unit : {"m", "mm"}) {
      const MarkerFile once =
          Again(points, "r.c3d", {.format = std::nullopt, .up = up, .unit = unit});
      EXPECT_EQ(once.up, up) << "said by the screen axes";
      ExpectSamePositions(points, once.points, 6.1e-8);
      for (std::size_t i = 0; i < 50; ++i) EXPECT_NEAR(once.points.t[i], points.t[i], 1e-14);
      ASSERT_EQ(once.points.events.size(), 2u);
      EXPECT_EQ(once.points.events[0].label, "impact");
      EXPECT_EQ(once.points.events[0].context, "General");
      EXPECT_NEAR(once.points.events[0].t, points.events[0].t, 1e-7);
      EXPECT_NEAR(once.points.events[1].t, points.events[1].t, 1e-7);
      for (std::size_t i = 0; i < 50; ++i)
        EXPECT_NEAR(once.points.residual[1][i], points.p_WM[1][i] ? points.residual[1][i] : 0, 1e-4)
            << "in units of the scale";
      const MarkerFile twice =
          Again(once.points, "s.c3d", {.format = std::nullopt, .up = up, .unit = unit});
      ExpectSamePositions(once.points, twice.points, 0);
      EXPECT_EQ(once.points.t, twice.points.t);
      EXPECT_TRUE(Get(folder_ / "r.c3d") == Get(folder_ / "s.c3d")) << "the second writing differs";
    }
}

// The header and the parameters at the places that the format gives them.
TEST_F(MarkerFiles, C3dBytesStandWhereTheFormatPutsThem) {
  MarkerPoints points = Sample(2, 3, 100, 3);
  points.first_frame = 11;
  points.t = {0.1, 0.11, 0.12};
  points.p_WM[0] = {Vector3d(1, 2, -4), std::nullopt, Vector3d(0.5, 0.25, 0.125)};
  WriteMarkerFile(folder_ / "b.c3d", points);
  const std::string b = Get(folder_ / "b.c3d");
  const auto word = [&](std::size_t n) {
    return static_cast<unsigned char>(b[2 * n - 2]) +
           256 * static_cast<unsigned char>(b[2 * n - 1]);
  };
  const auto real = [&](std::size_t at) {
    float value = 0;
    std::memcpy(&value, b.data() + at, 4);
    return static_cast<double>(value);
  };
  EXPECT_EQ(b.size() % 512, 0u);
  EXPECT_EQ(b.substr(0, 2), "\2\x50");
  EXPECT_EQ(word(2), 2) << "points";
  EXPECT_EQ(word(3), 0) << "analog";
  EXPECT_EQ(word(4), 11);
  EXPECT_EQ(word(5), 13);
  EXPECT_LT(real(12), 0) << "scale: floating point";
  EXPECT_EQ(real(20), 100) << "rate, words 11 and 12";
  EXPECT_EQ(word(150), 12345);
  EXPECT_EQ(b[514], word(9) - 2) << "blocks of parameters, and data behind them";
  EXPECT_EQ(b[515], 84) << "Intel";
  EXPECT_EQ(b.substr(516, 7), std::string("\5\xFFPOINT", 7));
  const std::size_t data = 512 * (static_cast<std::size_t>(word(9)) - 1);
  EXPECT_EQ(real(data), 1000);
  EXPECT_EQ(real(data + 4), 2000);
  EXPECT_EQ(real(data + 8), -4000);
  EXPECT_EQ(real(data + 12), 0);
  EXPECT_EQ(real(data + 2 * 16 + 12), -1) << "second frame, first marker: not seen";
  EXPECT_EQ(real(data + 4 * 16), 500);
}

// The same points from Intel, DEC and MIPS, as integers and in floating point, with analog samples
// between the frames.
TEST_F(MarkerFiles, C3dOfEveryMachine) {
  const double scale = 0.25;  // [mm]
  for (const Machine machine : {Machine::kIntel, Machine::kDec, Machine::kMips})
    for (const bool floating : {false, true})
      for (const int channels : {0, 3}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(machine)) +
                     (floating ? " float" : " integer") + (channels > 0 ? " analog" : ""));
        C3dBuilder c(machine);
        c.header_first = 101;
        c.Points({"A", "B"}, floating ? -scale : scale, 50, 4, 5);
        if (channels > 0) {
          c.Group(2, "ANALOG");
          c.Integer(2, "USED", channels);
          c.Float(2, "RATE", 100);
          c.header_analog = 2 * channels;
          c.header_samples = 2;
        }
        c.Group(3, "EVENT");
        c.Integer(3, "USED", 2);
        c.Text(3, "LABELS", {"Strike", "Off"}, 10);
        c.Text(3, "CONTEXTS", {"Left", "Right"}, 6);
        c.Parameter(3, "TIMES", 4, {2, 2}, c.Real(0) + c.Real(2.03) + c.Real(1) + c.Real(5));
        // the second is the first of the group once more
        c.header_events = {{"RHS", 0.5}, {"Stri", 0.03}};
        const auto number = [&](int counts) {
          return floating ? c.Real(scale * counts) : c.Word(counts);
        };
        for (int i = 0; i < 4; ++i) {
          for (int k : {400 + i, -800, 1200}) c.data += number(k);
          c.data += floating ? c.Real(0x0705) : c.Word(0x0705);  // three cameras, residual 5
          for (int k : {0, 0, 0}) c.data += number(k);
          c.data += i == 2   ? (floating ? c.Real(-1) : c.Word(-1))
                    : i == 3 ? (floating ? c.Real(0) : c.Word(0))
                             : (floating ? c.Real(1) : c.Word(1));
          for (int k = 0; k < 2 * channels; ++k) c.data += number(7777 + k);
        }
        Put(folder_ / "m.c3d", c.Bytes());
        const MarkerFile file = ReadMarkerFile(folder_ / "m.c3d");
        const MarkerPoints& p = file.points;
        EXPECT_EQ(p.markers, (std::vector<std::string>{"A", "B"}));
        ASSERT_EQ(p.t.size(), 4u);
        EXPECT_EQ(p.first_frame, 101);
        EXPECT_DOUBLE_EQ(p.t[0], 2.0) << "frame 1 is time 0";
        for (std::size_t i = 0; i < 4; ++i) {
          EXPECT_LT(
              (*p.p_WM[0][i] - 1e-3 * scale * Vector3d(400 + static_cast<double>(i), -800, 1200))
                  .norm(),
              1e-9);
          EXPECT_NEAR(p.residual[0][i], 5 * scale * 1e-3, 1e-9);
        }
        EXPECT_EQ(*p.p_WM[1][1], Vector3d::Zero()) << "at the origin, but measured";
        EXPECT_FALSE(p.p_WM[1][2]) << "residual -1";
        EXPECT_FALSE(p.p_WM[1][3]) << "all zero without residual";
        ASSERT_EQ(p.events.size(), 3u);
        EXPECT_EQ(p.events[0].label, "Strike");
        EXPECT_NEAR(p.events[0].t, 2.03, 1e-6)
            << "from the start of the trial: not shifted by the first frame";
        EXPECT_NEAR(p.events[1].t, 65, 1e-5);
        EXPECT_EQ(p.events[1].context, "Right");
        EXPECT_EQ(p.events[2].label, "RHS");
        EXPECT_NEAR(p.events[2].t, 2.5, 1e-6)
            << "header events count from the first frame of the file";
      }
}

// Counts beyond a word, told in each of the ways that are in use.
TEST_F(MarkerFiles, HostileT40LongClipsGapsAndFirstFrames) {
  MarkerPoints points = Sample(1, 70001, 1000, 5);
  points.first_frame = 200000;
  for (std::size_t i = 0; i < points.t.size(); ++i)
    points.t[i] = static_cast<double>(199999 + i) / 1000;
  points.events = {{"impact", "", 231.5}};
  // four frames dropped
  std::erase_if(points.t, [](double t) { return t > 210.0005 && t < 210.0045; });
  points.p_WM[0].erase(points.p_WM[0].begin() + 10002, points.p_WM[0].begin() + 10006);
  for (const char* name : {"long.csv", "long.trc", "long.c3d"}) {
    SCOPED_TRACE(name);
    const MarkerFile once = Again(points, name, {});
    EXPECT_EQ(once.points.first_frame, 200000);
    const bool c3d = once.format == MarkerFormat::kC3d;
    if (!c3d) {
      EXPECT_EQ(once.points.t, points.t);
      ExpectSamePositions(points, once.points, 0);
      continue;
    }
    EXPECT_THAT(notes_,
                Contains(HasSubstr("4 frames that the recording left out stand as empty ones")));
    ASSERT_EQ(once.points.t.size(), 70001u);
    EXPECT_EQ(once.points.t[0], 199.999);
    EXPECT_EQ(once.points.t[70000], 269.999);
    for (std::size_t i = 10002; i < 10006; ++i) EXPECT_FALSE(once.points.p_WM[0][i]);
    ASSERT_EQ(once.points.events.size(), 1u);
    EXPECT_NEAR(once.points.events[0].t, 231.5, 4e-6)
        << "single precision of the seconds; not shifted by the first frame";
    const MarkerFile twice = Again(once.points, "again.c3d", {});
    ExpectSamePositions(once.points, twice.points, 0);
    EXPECT_EQ(twice.points.t, once.points.t);
  }
}

TEST_F(MarkerFiles, HostileT40CountsOfForeignFiles) {
  const std::size_t n = 66000;
  const auto file = [&](const std::function<void(C3dBuilder&)>& more, long long frames) {
    C3dBuilder c(Machine::kIntel);
    c.Points({"A"}, 0.1, 200, frames, 4);
    c.header_last = 65535;
    more(c);
    for (std::size_t i = 0; i < n; ++i)
      c.data += c.Word(static_cast<long long>(i % 1000) + 1) + c.Word(2) + c.Word(3) +
                c.Word(i == 65990 ? -1 : 0);
    Put(folder_ / "n.c3d", c.Bytes());
    return ReadMarkerFile(folder_ / "n.c3d");
  };
  const auto trial = [&](C3dBuilder& c) {
    c.Group(4, "TRIAL");
    c.Parameter(4, "ACTUAL_START_FIELD", 2, {2}, c.Word(5) + c.Word(0));
    c.Parameter(4, "ACTUAL_END_FIELD", 2, {2}, c.Word((n + 4) & 0xFFFF) + c.Word((n + 4) >> 16));
  };
  for (const long long frames : {65535LL, static_cast<long long>(n & 0xFFFF)}) {
    const MarkerFile vicon = file(trial, frames);
    EXPECT_EQ(vicon.points.t.size(), n);
    EXPECT_EQ(vicon.points.first_frame, 5);
    EXPECT_FALSE(vicon.points.p_WM[0][65990]);
    EXPECT_NEAR(vicon.points.p_WM[0][65991]->x(), 1e-4 * 992, 1e-8)
        << "a scale of single precision";
  }
  EXPECT_EQ(file([&](C3dBuilder& c) { c.Float(1, "LONG_FRAMES", static_cast<double>(n)); }, 65535)
                .points.t.size(),
            n);
  const MarkerFile unsaid = file([](C3dBuilder&) {}, 65535);
  EXPECT_EQ(unsaid.points.t.size(), 65535u);
  EXPECT_THAT(unsaid.notes, Contains(HasSubstr("room for 66000")));
}

TEST_F(MarkerFiles, ManyAndOddNames) {
  MarkerPoints points = Sample(600, 2, 100, 7);
  points.markers[3] = "L Fu\xC3\x9F";
  const MarkerFile file = Again(points, "many.c3d");
  ExpectSamePositions(points, file.points, 6.1e-8);
  C3dBuilder c(Machine::kIntel);
  c.Points({"A", "A", "", "\xFFz"}, -0.1, 100, 1, 4);
  c.data = std::string(4 * 16, '\1');
  Put(folder_ / "odd.c3d", c.Bytes());
  const MarkerFile odd = ReadMarkerFile(folder_ / "odd.c3d");
  EXPECT_EQ(odd.points.markers, (std::vector<std::string>{"A", "A~2", "M3", "?z"}));
  EXPECT_EQ(odd.notes.size(), 2u);
}

TEST_F(MarkerFiles, BrokenC3dIsSaidInOneLine) {
  C3dBuilder good(Machine::kIntel);
  good.Points({"A", "B"}, -0.1, 100, 40, 4);
  for (int i = 0; i < 40 * 8; ++i) good.data += good.Real(i);
  const std::string bytes = good.Bytes();
  EXPECT_THAT(Refused("a.c3d", bytes.substr(0, bytes.size() - 100)),
              AllOf(HasSubstr("found 36 frames"), HasSubstr("cut short")));
  EXPECT_THAT(Refused("b.c3d", bytes.substr(0, 700)), HasSubstr("byte"));
  EXPECT_THAT(Refused("c.c3d", bytes.substr(0, 300)), HasSubstr("the end of the file"));
  EXPECT_THAT(Refused("d.c3d", "no C3D"), HasSubstr("0x50"));
  const auto with = [&](std::size_t at, const std::string& change) {
    std::string other = bytes;
    other.replace(at, change.size(), change);
    return Refused("x.c3d", other);
  };
  EXPECT_THAT(with(515, "\x60"), HasSubstr("processor type"));
  EXPECT_THAT(with(0, "\xC8"), HasSubstr("the end of the file"));
  const auto build = [&](const std::function<void(C3dBuilder&)>& change) {
    C3dBuilder c(Machine::kIntel);
    change(c);
    c.data = good.data;
    return Refused("y.c3d", c.Bytes());
  };
  EXPECT_THAT(build([](C3dBuilder& c) {
                c.Points({"A", "B"}, -0.1, 0, 40, 4);
                c.header_rate = 0;
              }),
              HasSubstr("POINT:RATE"));
  EXPECT_THAT(build([](C3dBuilder& c) {
                c.Points({"A", "B"}, -0.1, 1e36, 40, 4);
                c.Group(5, "IMPACTLAB");
                c.Text(5, "START_S", {"0.25"}, 4);
              }),
              HasSubstr("tells the times of the frames apart"));
  EXPECT_THAT(build([](C3dBuilder& c) {
                c.Points({"A", "B"}, -0.1, 100, 65000, 4);
              }),
              HasSubstr("allowed the 65000 that are stated"));
  EXPECT_THAT(build([](C3dBuilder& c) {
                c.Points({"A", "B"}, 0, 100, 40, 4);
              }),
              HasSubstr("POINT:SCALE"));
  EXPECT_THAT(build([](C3dBuilder& c) {
                c.Points({"A", "B"}, -0.1, 100, 40, 4);
                c.Parameter(1, "HUGE", 4, {255, 255, 255, 255, 255, 255, 255}, "");
              }),
              HasSubstr("HUGE"));
  EXPECT_THAT(build([](C3dBuilder& c) {
                c.Points({}, -0.1, 100, 40, 4);
                c.header_points = 0;
              }),
              HasSubstr("at least one point"));
}

// Whatever bytes come, an error or points, in time and memory in proportion to the file.
TEST_F(MarkerFiles, DamagedC3dNeverCrashes) {
  C3dBuilder good(Machine::kIntel);
  good.Points({"A", "B"}, -0.1, 100, 5, 4);
  good.Group(3, "EVENT");
  good.Integer(3, "USED", 1);
  good.Text(3, "LABELS", {"hit"}, 5);
  good.Parameter(3, "TIMES", 4, {2, 1}, good.Real(0) + good.Real(0.02));
  for (int i = 0; i < 5 * 8; ++i) good.data += good.Real(i);
  const std::string bytes = good.Bytes();
  std::mt19937_64 rng(11);
  int read = 0, refused = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::string other = bytes;
    const int changes = 1 + static_cast<int>(rng() % 4);
    for (int k = 0; k < changes; ++k) {
      // Where counts and links are, mostly.
      const std::size_t at = rng() % 3 == 0   ? rng() % other.size()
                             : rng() % 2 == 0 ? rng() % 24
                                              : 512 + rng() % 260;
      other[at] = static_cast<char>(rng() % 5 == 0 ? 0xFF : rng());
    }
    if (rng() % 8 == 0) other.resize(rng() % other.size() + 1);
    Put(folder_ / "z.c3d", other);
    try {
      const MarkerPoints points = ReadMarkerFile(folder_ / "z.c3d").points;
      CheckMarkerPoints(points);
      EXPECT_LE(points.t.size() * points.markers.size() * 8, other.size());
      ++read;
    } catch (const DataError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      ++refused;
    }
  }
  EXPECT_GT(read, 150);
  EXPECT_GT(refused, 150);
}

TEST_F(MarkerFiles, WhatAFormatCannotHoldIsSaid) {
  MarkerPoints points = Sample(1, 10, 100, 9);
  points.t[4] += 0.004;
  EXPECT_THAT(MessageOf<ConfigError>([&] { WriteMarkerFile(folder_ / "a.c3d", points); }),
              HasSubstr("evenly spaced"));
  points.t[4] -= 0.0039;
  EXPECT_THAT(WriteMarkerFile(folder_ / "a.c3d", points), Contains(HasSubstr("times were moved")));
  EXPECT_THAT(MessageOf<ConfigError>([&] { WriteMarkerFile(folder_ / "a.bvh", points); }),
              HasSubstr(".csv, .trc, .c3d"));
  points.events = {{"x", "", 0.01}};
  points.cov.assign(1, std::vector<Matrix3d>(10, 1e-8 * Matrix3d::Identity()));
  EXPECT_EQ(WriteMarkerFile(folder_ / "a.trc", points).size(), 2u);
  points.markers[0] = "a\tb";
  EXPECT_THAT(MessageOf<ConfigError>([&] { WriteMarkerFile(folder_ / "a.trc", points); }),
              HasSubstr("tabs"));
  points.markers[0] = "a_sd";
  EXPECT_THAT(MessageOf<ConfigError>([&] { WriteMarkerFile(folder_ / "a.csv", points); }),
              HasSubstr("_sd"));
  points.p_WM[0][0] = Vector3d(1e200, 0, 0);
  EXPECT_THAT(MessageOf<ConfigError>([&] { WriteMarkerFile(folder_ / "a.c3d", points); }),
              HasSubstr("single precision"));
  points.p_WM[0][0] = Vector3d(0, std::nan(""), 0);
  EXPECT_THAT(MessageOf<ConfigError>([&] { WriteMarkerFile(folder_ / "a.csv", points); }),
              HasSubstr("position"));
  EXPECT_THAT(MessageOf<DataError>([&] { ReadMarkerFile(folder_ / "none.c3d"); }),
              HasSubstr("none.c3d"));
  EXPECT_THAT(MessageOf<DataError>([&] { ReadMarkerFile(folder_.path()); }),
              HasSubstr("directory"));
}

}  // namespace
}  // namespace impactlab
