#pragma once
// A file of one bench test, written and read back.

#include <gtest/gtest.h>

#include <string>

#include "data/base/error.h"
#include "pipelines/bench_tests/bench_tests.h"
#include "tests/support/folder.h"
#include "tests/support/process.h"

namespace impactlab::test {

inline constexpr double kStandardGravity = 9.80665;  // [m/s^2]

class BenchFile : public ::testing::Test {
 protected:
  void Write(const std::string& test) {
    WriteText(folder_ / "t.yaml", "schema: impactlab.coefficients/1\ntests:\n  - {" + test + "}\n");
  }
  CoefficientTests All(const std::string& test) {
    Write(test);
    return LoadCoefficients(folder_ / "t.yaml");
  }
  CoefficientTest Test(const std::string& test) { return All(test).tests.at(0); }
  CoefficientResult Result(const std::string& test) { return Test(test).results.at(0); }
  // What a wrong file is refused with; empty where it is not.
  std::string Message(const std::string& test) {
    Write(test);
    try {
      LoadCoefficients(folder_ / "t.yaml");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }
  static std::string NotesOf(const CoefficientResult& r) {
    std::string out = r.undetermined;
    for (const std::string& note : r.notes) out += "\n" + note;
    return out;
  }
  TemporaryFolder folder_;
};

// The value is inside its interval, which is wider than nothing, and holds the truth within four
// standard uncertainties.
inline void ExpectValue(const CoefficientResult& r, double truth, double at_most) {
  EXPECT_EQ(r.undetermined, "");
  EXPECT_NEAR(r.result.value, truth, 4 * r.result.u) << r.method;
  EXPECT_LT(r.result.u, at_most) << r.method;
  EXPECT_GT(r.result.u, 0) << r.method;
}

}  // namespace impactlab::test
