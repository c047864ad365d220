#include "data/files/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace impactlab {
namespace {

// RFC 4648, section 10.
TEST(Base64, VectorsOfTheStandard) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64(std::string("\0\xFF\xFE", 3)), "AP/+");
}

}  // namespace
}  // namespace impactlab
