#include "data/files/table.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "data/files/text.h"
#include "data/files/units.h"
#include "tests/data/message.h"

namespace impactlab {
namespace {

using test::MessageOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Fault(const std::string& text, const CsvOptions& options = {}) {
  std::string message = MessageOf<DataError>([&] { ParseCsv(text, "r.csv", options); });
  EXPECT_THAT(message, AllOf(StartsWith("r.csv: "), HasSubstr("found "), HasSubstr(", allowed ")));
  return message;
}

CsvOptions WithText(std::vector<std::string> columns) {
  CsvOptions options;
  options.text_columns = std::move(columns);
  return options;
}

TEST(Csv, ReadsColumns) {
  const Table table = ParseCsv("t_s,x_m\n0,1.5\n0.004,-2e-3\n", "r.csv");
  EXPECT_THAT(table.columns, ElementsAre("t_s", "x_m"));
  EXPECT_THAT(table.Column("t_s"), ElementsAre(0, 0.004));
  EXPECT_THAT(table.Column("x_m"), ElementsAre(1.5, -2e-3));
  EXPECT_EQ(table.n_rows(), 2u);
  EXPECT_TRUE(table.Has("x_m"));
  EXPECT_FALSE(table.Has("y_m"));
}

TEST(Csv, AcceptsWhatSpreadsheetsWrite) {
  const std::vector<std::string> variants = {
      "t_s,x_m\n0,1\n1,2\n",
      "t_s,x_m\n0,1\n1,2",
      "\xEF\xBB\xBFt_s,x_m\r\n0,1\r\n1,2\r\n",
      "t_s;x_m\n0;1\n1;2\n",
      "t_s\tx_m\n0\t1\n1\t2\n",
      "# made by hand\n\n t_s , x_m \n# a comment, with commas\n 0 , 1 \n\n  # another\n1,2\n\n\n",
      "\"t_s\",\"x_m\"\n\"0\",\"1\"\n 1 , \"2\" \n",
  };
  for (const std::string& text : variants) {
    const Table table = ParseCsv(text, "r.csv");
    EXPECT_THAT(table.Column("t_s"), ElementsAre(0, 1)) << text;
    EXPECT_THAT(table.Column("x_m"), ElementsAre(1, 2)) << text;
  }
}

TEST(Csv, TextColumns) {
  const Table table = ParseCsv("recording,x_m,note\n\"a, b\",1,\"say \"\"hi\"\"\"\nc d,2,\n",
                               "r.csv", WithText({"recording", "note", "absent"}));
  EXPECT_THAT(table.columns, ElementsAre("x_m"));
  EXPECT_THAT(table.TextColumn("recording"), ElementsAre("a, b", "c d"));
  EXPECT_THAT(table.TextColumn("note"), ElementsAre("say \"hi\"", ""));
  EXPECT_THAT(MessageOf<DataError>([&] { table.TextColumn("nota"); }),
              HasSubstr("nearest is 'note'"));
  EXPECT_THAT(MessageOf<DataError>([&] { table.Column("note"); }), HasSubstr("no column 'note'"));
}

TEST(Csv, StrangersMayHoldAnything) {
  CsvOptions options = WithText({"note"});
  std::vector<std::string> asked;
  options.is_text = [&](std::string_view name) {
    asked.emplace_back(name);
    return name != "x_m";
  };
  const Table table = ParseCsv("note,x_m,marker\na,1,lost\n", "r.csv", options);
  EXPECT_THAT(asked, ElementsAre("x_m", "marker"));
  EXPECT_THAT(table.columns, ElementsAre("x_m"));
  EXPECT_THAT(table.TextColumn("marker"), ElementsAre("lost"));
  EXPECT_THAT(Fault("x_m,marker\nlost,1\n", options), HasSubstr("column x_m"));
}

TEST(Csv, ManyQuotedCellsKeepTheirText) {
  std::string header, row;
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) {
    names.push_back("c" + std::to_string(i));
    header += (i ? "," : "") + names.back();
    row += (i ? ",\"v" : "\"v") + std::to_string(i) + "\"";
  }
  const Table table = ParseCsv(header + "\n" + row + "\n", "r.csv", WithText(names));
  for (int i = 0; i < 300; ++i)
    EXPECT_EQ(table.texts[static_cast<std::size_t>(i)][0], "v" + std::to_string(i));
}

TEST(Csv, FaultsNameRowAndColumn) {
  EXPECT_THAT(Fault("t_s,x_m\n0,1\n# c\n1,nan\n"),
              StartsWith("r.csv: row 4, column x_m: found 'nan', allowed a finite number"));
  EXPECT_THAT(Fault("t_s,x_m\n0,inf\n"), HasSubstr("'inf'"));
  EXPECT_THAT(Fault("t_s,x_m\n0,-Infinity\n"), HasSubstr("'-Infinity'"));
  EXPECT_THAT(Fault("t_s,x_m\n0,1e999\n"), HasSubstr("'1e999'"));
  EXPECT_THAT(Fault("t_s,x_m\n0,\n"), HasSubstr("an empty cell"));
  EXPECT_THAT(Fault("t_s,x_m\n0,abc\n"), HasSubstr("'abc'"));
  EXPECT_THAT(Fault("t_s,x_m\n0,0x1F\n"), HasSubstr("'0x1F'"));
  EXPECT_THAT(Fault("t_s;x_m\n0;0,5\n"),
              AllOf(HasSubstr("column x_m"), HasSubstr("decimal point")));
  EXPECT_THAT(Fault("t_s,x_m\n0,1,2\n"),
              StartsWith("r.csv: row 2: found 3 cells, allowed 2, as many as the header"));
  EXPECT_THAT(Fault("t_s,x_m\n0,1\n5\n"), StartsWith("r.csv: row 3: found 1 cells"));
  EXPECT_THAT(Fault("t_s,x_m\n0,1,\n"), HasSubstr("found 3 cells"));
  EXPECT_THAT(Fault("t_s,x_m\n0,\"1\n2,3\n"),
              AllOf(HasSubstr("row 2, column x_m"), HasSubstr("stays open")));
  EXPECT_THAT(Fault("t_s,x_m\n0,\"1\"2\n"), HasSubstr("behind a closing quote"));
  EXPECT_THAT(Fault("t_s,x_m\n0,1\r2,3\r\n"), HasSubstr("carriage return"));
  EXPECT_THAT(Fault("t_s,x_m\r0,1\r2,3\r"), HasSubstr("carriage return"));
}

TEST(Csv, FaultsOfTheHeader) {
  using namespace std::string_literals;
  EXPECT_THAT(Fault(""), HasSubstr("an empty file"));
  EXPECT_THAT(Fault("\n\n# nothing\n"), HasSubstr("no header"));
  EXPECT_THAT(Fault("t_s,x_m\n"), HasSubstr("0 rows"));
  EXPECT_THAT(Fault("t_s,x_m"), HasSubstr("0 rows"));
  EXPECT_THAT(Fault("t_s,x_m,t_s\n1,2,3\n"),
              AllOf(HasSubstr("column 3"), HasSubstr("name 't_s' of column 1 again")));
  EXPECT_THAT(Fault("t_s,,x_m\n1,2,3\n"), HasSubstr("an empty column name"));
  EXPECT_THAT(Fault("t_s,x_m,\n1,2,\n"),
              AllOf(HasSubstr("column 3"), HasSubstr("an empty column name")));
  EXPECT_THAT(Fault("0.1,0.2\n0.3,0.4\n"), HasSubstr("number '0.1' as column name"));
  EXPECT_THAT(Fault("\xFF\xFEt\0_\0s\0\n\0"s), HasSubstr("UTF-16"));
  EXPECT_THAT(Fault("t_s,temp_\xB0"
                    "C\n1,2\n"),
              AllOf(HasSubstr("row 1"), HasSubstr("byte 0xB0, which is not UTF-8")));
  EXPECT_THAT(Fault("PK\x03\x04\x14\0\0\0"s), HasSubstr("binary byte 0x03"));
  EXPECT_THAT(Fault("\x1F\x8B\x08"), HasSubstr("binary byte 0x1F"));
  EXPECT_THAT(Fault("t_s,x_m\n0,1\0\n"s), HasSubstr("binary byte 0x00"));
  EXPECT_THAT(Fault(std::string(3 << 20, 'x')), HasSubstr("a line of more than"));
  EXPECT_THAT(Fault(std::string(200000, ',')), HasSubstr("columns"));
  EXPECT_THAT(Fault("a\x1B[2J,a\n1,2\n"), HasSubstr("binary byte 0x1B"));
  CsvOptions none;
  none.min_rows = 0;
  EXPECT_EQ(ParseCsv("t_s,x_m\n", "r.csv", none).n_rows(), 0u);
  CsvOptions five;
  five.min_rows = 5;
  EXPECT_THAT(Fault("t_s\n1\n2\n", five),
              HasSubstr("found 2 rows below the header, allowed at least 5"));
}

TEST(Csv, MissingColumnsNameTheNearest) {
  const Table table = ParseCsv("t_s,x_mm\n0,1\n", "r.csv");
  EXPECT_THAT(MessageOf<DataError>([&] { table.Column("x_m"); }),
              AllOf(HasSubstr("r.csv"), HasSubstr("nearest is 'x_mm'"), HasSubstr("t_s, x_mm")));
  EXPECT_STREQ(table.Fault(0, "t_s", "0", "a later time").what(),
               "r.csv: row 2, column t_s: found 0, allowed a later time");
}

TEST(Csv, EmptyCellsWhereAllowed) {
  CsvOptions options;
  options.empty_is_nan = true;
  const Table table = ParseCsv("a,b\n1,\n,2\n\"\",3\n", "r.csv", options);
  EXPECT_TRUE(std::isnan(table.Column("b")[0]));
  EXPECT_TRUE(std::isnan(table.Column("a")[1]));
  EXPECT_TRUE(std::isnan(table.Column("a")[2]));
  EXPECT_THAT(Fault("a,b\n1,nan\n", options), HasSubstr("'nan'"));
}

TEST(Csv, Files) {
  test::TemporaryFolder folder;
  const auto path = folder / "my drop 1.csv";
  test::Put(path, "t_s,x_m\n0,1\n");
  EXPECT_EQ(ReadCsv(path).Column("x_m")[0], 1.0);
  EXPECT_THAT(MessageOf<DataError>([&] { ReadCsv(folder / "absent.csv"); }),
              AllOf(HasSubstr("absent.csv"), HasSubstr("No such file")));
  EXPECT_THAT(MessageOf<DataError>([&] { ReadCsv(folder.path()); }), HasSubstr("directory"));
  EXPECT_THAT(MessageOf<DataError>([&] { ReadCsv("/dev/zero"); }), HasSubstr("allowed"));
  EXPECT_THAT(MessageOf<DataError>([&] { ReadCsv("/dev/null"); }), HasSubstr("an empty file"));
  CsvOptions small;
  small.max_bytes = 10;
  EXPECT_THAT(MessageOf<DataError>([&] { ReadCsv(path, small); }), HasSubstr("allowed at most 10"));
  test::Put(path, "");
  EXPECT_THAT(MessageOf<DataError>([&] { ReadCsv(path); }), HasSubstr("an empty file"));
}

// A file larger than the pieces it is read in, with rows that straddle them.
TEST(Csv, LongFilesAreCutCorrectly) {
  test::TemporaryFolder folder;
  const auto path = folder / "long.csv";
  const int n = 150000;
  CsvWriter out(path, {"i", "value_m", "note"});
  std::mt19937_64 random(3);
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    values.push_back(std::ldexp(static_cast<double>(random()), -60));
    out.Integer(i).Number(values.back()).Text("row, " + std::to_string(i)).EndRow();
  }
  out.Commit();
  ASSERT_GT(std::filesystem::file_size(path), std::size_t{4} << 20);
  const Table table = ReadCsv(path, WithText({"note"}));
  ASSERT_EQ(table.n_rows(), static_cast<std::size_t>(n));
  EXPECT_EQ(table.Column("value_m"), values);
  for (int i = 0; i < n; ++i) {
    ASSERT_EQ(table.Column("i")[static_cast<std::size_t>(i)], i);
    ASSERT_EQ(table.TextColumn("note")[static_cast<std::size_t>(i)], "row, " + std::to_string(i));
  }
  EXPECT_EQ(table.lines.back(), n + 1);
}

TEST(Csv, WriterRoundTripsEverything) {
  test::TemporaryFolder folder;
  const auto path = folder / "a/b c/out.csv";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> numbers = {0.1, -0.0, 1e-320, 1.7976931348623157e308, 1.0 / 3, 5e22};
  const std::vector<std::string> notes = {"",           " edge ",          "a,b;c\td",
                                          "say \"hi\"", "# not a comment", "caf\xC3\xA9"};
  CsvWriter out(path, {"#first", "x_m", "hole", "note"});
  for (std::size_t i = 0; i < numbers.size(); ++i)
    out.Text(notes[i]).Number(numbers[i]).Number(i % 2 ? nan : INFINITY).Text(notes[i]).EndRow();
  EXPECT_FALSE(std::filesystem::exists(path));
  out.Commit();
  CsvOptions options = WithText({"#first", "note"});
  options.empty_is_nan = true;
  const Table table = ReadCsv(path, options);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(table.Column("x_m")[i], numbers[i]);
    EXPECT_EQ(std::signbit(table.Column("x_m")[i]), std::signbit(numbers[i]));
    EXPECT_TRUE(std::isnan(table.Column("hole")[i]));
  }
  EXPECT_EQ(table.TextColumn("#first")[1], " edge ");
  EXPECT_EQ(table.TextColumn("#first")[4], "# not a comment");
  EXPECT_EQ(table.TextColumn("note")[3], "say \"hi\"");
  EXPECT_EQ(table.TextColumn("note")[2], "a,b;c d");  // a tab becomes a space
}

TEST(Csv, WriterMakesHostileTextSafe) {
  test::TemporaryFolder folder;
  const auto path = folder / "out.csv";
  CsvWriter out(path, {"note"});
  out.Text("line\nbreak\r\x1B[2J").EndRow();
  out.Text("latin \xE9").EndRow();
  out.Number(std::numeric_limits<double>::quiet_NaN()).EndRow();
  out.Text("").EndRow();
  out.Commit();
  const Table table = ReadCsv(path, WithText({"note"}));
  EXPECT_THAT(table.TextColumn("note"), ElementsAre("line break  [2J", "latin  ", "", ""));
}

TEST(Csv, WriterRefusesRaggedRows) {
  test::TemporaryFolder folder;
  CsvWriter out(folder / "out.csv", {"a", "b"});
  out.Number(1);
  EXPECT_THROW(out.EndRow(), std::logic_error);
  EXPECT_THROW(out.Commit(), std::logic_error);
  out.Number(2).EndRow();
  out.Row({3, 4});
  EXPECT_THROW(out.Row({1, 2, 3}), std::logic_error);
}

TEST(Csv, RandomDamageIsAlwaysOneLine) {
  const std::string good = "t_s,x_m,note\n0,1.5,\"a b\"\n0.1,2.5,c\n# comment\n0.2,3.5,d\n";
  std::mt19937_64 random(5);
  const std::string alphabet = std::string(",;\t\n\r\"#.-+eENn 0\x80\xFFx") + std::string(2, '\0');
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 5);
      } else {
        text.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
      if (text.empty()) text = "x";
    }
    try {
      const Table table = ParseCsv(text, "r.csv", WithText({"note"}));
      for (const auto& column : table.values) {
        ASSERT_EQ(column.size(), table.n_rows());
        for (const double value : column) ASSERT_TRUE(std::isfinite(value));
      }
    } catch (const DataError& error) {
      ++refused;
      EXPECT_FALSE(FindTextFault(error.what()).has_value()) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(refused, 8000);
}

// 300 recordings of 200 rows are a usual experiment; the time is printed, not judged.
TEST(Csv, ManySmallFilesAreFast) {
  test::TemporaryFolder folder;
  std::mt19937_64 random(8);
  std::string text = "t_s,x_m,z_m,theta_rad\n";
  for (int i = 0; i < 200; ++i) {
    text += FormatNumber(0.004 * i);
    for (int k = 0; k < 3; ++k)
      text += "," + FormatNumber(std::ldexp(static_cast<double>(random() >> 40), -24));
    text += "\n";
  }
  for (int i = 0; i < 300; ++i) test::Put(folder / ("drop_" + std::to_string(i) + ".csv"), text);
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    std::size_t rows = 0;
    for (int i = 0; i < 300; ++i)
      rows += ReadCsv(folder / ("drop_" + std::to_string(i) + ".csv")).n_rows();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    ASSERT_EQ(rows, 60000u);
  }
  RecordProperty("milliseconds", std::to_string(1e3 * best));
  std::printf("300 files of 200 rows: %.1f ms\n", 1e3 * best);
}

TEST(Units, NamesComeApart) {
  const auto check = [](const char* name, const char* stem, const char* unit, Quantity quantity,
                        double factor) {
    const UnitName parts = SplitUnit(name);
    EXPECT_EQ(parts.stem, stem) << name;
    EXPECT_EQ(parts.unit, unit) << name;
    EXPECT_EQ(parts.quantity, quantity) << name;
    EXPECT_DOUBLE_EQ(parts.to_si, factor) << name;
  };
  check("x_m", "x", "m", Quantity::kLength, 1);
  check("x_mm", "x", "mm", Quantity::kLength, 1e-3);
  check("x_in", "x", "in", Quantity::kLength, 0.0254);
  check("theta_deg", "theta", "deg", Quantity::kAngle, 3.14159265358979323846 / 180);
  check("v_x_mm_per_s", "v_x", "mm_per_s", Quantity::kVelocity, 1e-3);
  check("omega_z_rad_per_s", "omega_z", "rad_per_s", Quantity::kAngularVelocity, 1);
  check("gravity_m_per_s2", "gravity", "m_per_s2", Quantity::kAcceleration, 1);
  check("J_n_N_s", "J_n", "N_s", Quantity::kImpulse, 1);
  check("inertia_kg_m2", "inertia", "kg_m2", Quantity::kInertia, 1);
  check("A_xx_per_kg", "A_xx", "per_kg", Quantity::kInverseMass, 1);
  check("drag_per_m", "drag", "per_m", Quantity::kInverseLength, 1);
  check("t_us", "t", "us", Quantity::kTime, 1e-6);
  for (const char* name : {"qw", "mu_k", "mu_s", "sd_mu_s", "e_star", "e_n", "e_p", "m", "_m", "x",
                           "", "recording", "x_parsec"}) {
    check(name, name, "", Quantity::kDimensionless, 1);
  }
}

TEST(Units, FactorsAgreeAcrossQuantities) {
  EXPECT_DOUBLE_EQ(12 * ToSi("in"), ToSi("ft"));
  EXPECT_DOUBLE_EQ(ToSi("rev_per_s"), 60 * ToSi("rpm"));
  EXPECT_DOUBLE_EQ(ToSi("kg_mm2"), ToSi("kg") * ToSi("mm") * ToSi("mm"));
  EXPECT_DOUBLE_EQ(ToSi("g_cm2"), ToSi("g") * ToSi("cm") * ToSi("cm"));
  EXPECT_EQ(QuantityOf("mm_per_s"), Quantity::kVelocity);
  EXPECT_EQ(UnitsOf(Quantity::kLength).front(), "m");
  for (const char* name : {"m", "s", "rad"}) {
    EXPECT_EQ(ToSi(name), 1.0);
  }
  EXPECT_THAT(MessageOf<ConfigError>([] { ToSi("mm_per_sec"); }), HasSubstr("nearest is mm_per_s"));
  EXPECT_THAT(MessageOf<ConfigError>([] { QuantityOf(""); }), HasSubstr("allowed m, mm"));
}

TEST(Units, ColumnsReadIntoSi) {
  const Table table =
      ParseCsv("t_ms,x_mm,theta_deg,y,z_s,w_m,w_mm,qw\n4,1500,180,1,1,1,1,0.5\n", "r.csv");
  EXPECT_DOUBLE_EQ(SiColumn(table, "t", Quantity::kTime)[0], 0.004);
  EXPECT_DOUBLE_EQ(SiColumn(table, "x", Quantity::kLength)[0], 1.5);
  EXPECT_DOUBLE_EQ(SiColumn(table, "theta", Quantity::kAngle)[0], 3.14159265358979323846);
  EXPECT_EQ(SiColumn(table, "qw", Quantity::kDimensionless)[0], 0.5);
  EXPECT_EQ(ColumnNameOf(table, "x", Quantity::kLength), "x_mm");
  EXPECT_TRUE(HasQuantity(table, "x", Quantity::kLength));
  EXPECT_FALSE(HasQuantity(table, "x", Quantity::kTime));
  const auto fault = [&](const char* stem, Quantity quantity) {
    return MessageOf<DataError>([&] { SiColumn(table, stem, quantity); });
  };
  EXPECT_THAT(fault("y", Quantity::kLength),
              AllOf(HasSubstr("only 'y'"), HasSubstr("one of y_m, y_mm"),
                    HasSubstr("unit is part of the name")));
  EXPECT_THAT(fault("z", Quantity::kLength), HasSubstr("only 'z_s'"));
  EXPECT_THAT(fault("w", Quantity::kLength), HasSubstr("found columns w_m, w_mm"));
  EXPECT_THAT(fault("nothing", Quantity::kLength), HasSubstr("no such column"));
  EXPECT_THAT(fault("qz", Quantity::kDimensionless), HasSubstr("allowed qz"));
}

}  // namespace
}  // namespace impactlab
