#include "data/files/text.h"

#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/data/message.h"

namespace impactlab {
namespace {

TEST(Text, NumbersThatAreNumbers) {
  EXPECT_EQ(ParseNumber("0.5"), 0.5);
  EXPECT_EQ(ParseNumber("+.5"), 0.5);
  EXPECT_EQ(ParseNumber(" -1e3 "), -1000.0);
  EXPECT_EQ(ParseNumber("1."), 1.0);
  EXPECT_EQ(ParseNumber("1E-2"), 0.01);
  EXPECT_EQ(ParseNumber("179769313486231570000e288"), 1.7976931348623157e308);
}

TEST(Text, NumbersThatAreNot) {
  for (const char* text : {"",     " ",        "nan",  "NaN",      "inf",
                           "-inf", "infinity", ".nan", "1,5",      "1 5",
                           "0x10", "1_000",    "1e",   "e5",       "+",
                           "-",    "+-1",      "++1",  "1e400",    "-1e999999999999",
                           "five", "1.2.3",    "1d3",  "\xC2\xBD", "1\xC2\xA0",
                           "."}) {
    EXPECT_FALSE(ParseNumber(text).has_value()) << text;
  }
  EXPECT_FALSE(ParseNumber(std::string(400, '9')).has_value());
  EXPECT_FALSE(ParseNumber(std::string_view("1\0", 2)).has_value());
}

TEST(Text, NumbersWithADecimalComma) {
  EXPECT_EQ(ParseDecimalComma("0,25"), 0.25);
  EXPECT_EQ(ParseDecimalComma(" -1,5e3 "), -1500);
  for (const char* text : {"", "1", "0.25", "1,000,5", "1,0.5", "a,b", ","})
    EXPECT_FALSE(ParseDecimalComma(text)) << text;
}

TEST(Text, CasesChangeLettersOfAsciiOnly) {
  EXPECT_EQ(LowerCase("Body1 [MM] \xC3\x84"), "body1 [mm] \xC3\x84");
  EXPECT_EQ(UpperCase("Body1 [mm] \xC3\xA4"), "BODY1 [MM] \xC3\xA4");
  EXPECT_EQ(Capitalized("the law"), "The law");
  EXPECT_EQ(Capitalized("\xC3\xA4rger"), "\xC3\xA4rger");
  EXPECT_EQ(Capitalized(""), "");
}

TEST(Text, TooSmallIsZeroAndKeepsItsSign) {
  for (const char* text : {"1e-400", "1e-99999", "-1e-5000"}) {
    const auto value = ParseNumber(text);
    ASSERT_TRUE(value.has_value()) << text;
    EXPECT_EQ(*value, 0.0);
    EXPECT_EQ(std::signbit(*value), text[0] == '-');
  }
  // Many digits with a small exponent are large after all.
  EXPECT_FALSE(ParseNumber(std::string(500, '9') + "e-5").has_value());
  EXPECT_EQ(ParseNumber("0." + std::string(400, '0') + "1"), 0.0);
}

TEST(Text, NumbersRoundTripBitForBit) {
  std::mt19937_64 random(20240501);
  int checked = 0;
  while (checked < 20000) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const auto back = ParseNumber(FormatNumber(value));
    ASSERT_TRUE(back.has_value()) << FormatNumber(value);
    std::uint64_t back_bits;
    std::memcpy(&back_bits, &*back, sizeof back_bits);
    ASSERT_EQ(bits, back_bits) << FormatNumber(value);
    ++checked;
  }
  EXPECT_EQ(FormatNumber(0.1), "0.1");
  EXPECT_EQ(FormatNumber(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(FormatNumber(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(ParseNumber(FormatNumber(std::numeric_limits<double>::denorm_min())),
            std::numeric_limits<double>::denorm_min());
}

TEST(Text, LocaleDoesNotMatter) {
  const char* const found = std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(ParseNumber("1.5"), 1.5);
  EXPECT_FALSE(ParseNumber("1,5").has_value());
  EXPECT_EQ(FormatNumber(1.5), "1.5");
  std::setlocale(LC_ALL, "C");
  RecordProperty("locale", found ? "de_DE.UTF-8" : "C");
}

TEST(Text, EditDistance) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("mass_kg", "msas_kg"), 1);  // neighbours swapped: 2 without Damerau's rule
  // optimal string alignment, not the unrestricted distance (2)
  EXPECT_EQ(EditDistance("ca", "abc"), 3);
  std::mt19937_64 random(7);
  const auto word = [&] {
    std::string text;
    for (std::uint64_t n = random() % 8; n > 0; --n) text += static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string a = word(), b = word();
    const int distance = EditDistance(a, b);
    EXPECT_EQ(distance, EditDistance(b, a));
    EXPECT_EQ(distance == 0, a == b);
    EXPECT_LE(distance, static_cast<int>(std::max(a.size(), b.size())));
    EXPECT_GE(distance, std::abs(static_cast<int>(a.size()) - static_cast<int>(b.size())));
  }
}

TEST(Text, NearestName) {
  EXPECT_EQ(NearestName("mas_kg", {"side_m", "mass_kg"}), "mass_kg");
  EXPECT_EQ(NearestName("zzzzz", {"side_m", "mass_kg"}), "");
  EXPECT_EQ(NearestName("x", {}), "");
  EXPECT_EQ(NearestName(std::string(1000000, 'x'), {"side_m"}), "");
}

TEST(Text, Utf8IsCheckedToTheLetter) {
  using namespace std::string_literals;
  for (const std::string& good : {""s, "abc\t\r\n"s, "\xC3\xA9"s, "\xE2\x82\xAC"s,
                                  "\xF0\x9F\x98\x80"s, "\xF4\x8F\xBF\xBF"s, "\xEE\x80\x80"s}) {
    EXPECT_FALSE(FindTextFault(good).has_value()) << good;
  }
  for (const std::string& bad :
       {"\xE9t\xE9"s, "\xC0\x80"s, "\xC1\xBF"s, "\xE0\x80\x80"s, "\xED\xA0\x80"s,
        "\xF0\x80\x80\x80"s, "\xF4\x90\x80\x80"s, "\xF5\x80\x80\x80"s, "\x80"s, "\xC3"s,
        "\xE2\x82"s, "\xFF"s, "a\0b"s, "\x1B[2J"s, "\x7F"s}) {
    const auto fault = FindTextFault(bad);
    ASSERT_TRUE(fault.has_value());
    EXPECT_LT(fault->offset, bad.size());
    EXPECT_THAT(fault->found, ::testing::HasSubstr("byte 0x"));
  }
  EXPECT_EQ(FindTextFault("ok \xE9")->offset, 3u);
}

TEST(Text, ByteOrderMarks) {
  using namespace std::string_literals;
  std::size_t length = 9;
  EXPECT_EQ(ByteOrderMark("abc", &length), "");
  EXPECT_EQ(length, 0u);
  EXPECT_EQ(ByteOrderMark("\xEF\xBB\xBFx"s, &length), "UTF-8");
  EXPECT_EQ(length, 3u);
  EXPECT_EQ(ByteOrderMark("\xFF\xFEx\0"s), "UTF-16");
  EXPECT_EQ(ByteOrderMark("\xFF\xFE\0\0"s), "UTF-32");
}

TEST(Text, ExcerptsAreSafeAndShort) {
  EXPECT_EQ(Excerpt("abc"), "'abc'");
  EXPECT_EQ(Excerpt("a\nb\x1B[31m"), "'a\\x0Ab\\x1B[31m'");
  EXPECT_EQ(Excerpt("\xE9"), "'\\xE9'");
  EXPECT_EQ(Excerpt("\xC2\x9B"), "'\\xC2\\x9B'");  // the one-character form of ESC [
  EXPECT_LT(Excerpt(std::string(100000, 'x')).size(), 80u);
  // never cut inside a character
  EXPECT_FALSE(
      FindTextFault(Excerpt(std::string(59, 'x') + "\xC3\xA9\xC3\xA9\xC3\xA9")).has_value());
}

TEST(Text, NaturalOrder) {
  EXPECT_TRUE(NaturalLess("drop_2", "drop_10"));
  EXPECT_FALSE(NaturalLess("drop_10", "drop_2"));
  EXPECT_TRUE(NaturalLess("a1b2", "a1b10"));
  EXPECT_TRUE(NaturalLess("a", "a1"));
  EXPECT_TRUE(NaturalLess("99999999999999999999999998", "99999999999999999999999999"));
  EXPECT_NE(NaturalLess("a01", "a1"), NaturalLess("a1", "a01"));
}

// std::sort corrupts memory when the order is not a strict weak one.
TEST(Text, NaturalOrderIsAStrictWeakOrder) {
  std::mt19937_64 random(11);
  std::vector<std::string> words;
  for (int i = 0; i < 60; ++i) {
    std::string word;
    for (std::uint64_t n = random() % 6; n > 0; --n) word += "01a.9"[random() % 5];
    words.push_back(word);
  }
  for (const auto& a : words) {
    EXPECT_FALSE(NaturalLess(a, a));
    for (const auto& b : words) {
      EXPECT_EQ(a == b, !NaturalLess(a, b) && !NaturalLess(b, a)) << a << " " << b;
      for (const auto& c : words) {
        if (NaturalLess(a, b) && NaturalLess(b, c)) {
          EXPECT_TRUE(NaturalLess(a, c)) << a << " " << b << " " << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace impactlab
