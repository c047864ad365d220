#pragma once
// Bench tests for mu_s, mu_k and e_n from their raw readings, each with an uncertainty budget, and
// what the readings say of a printed coefficient. Files: data/README.md, schema
// impactlab.coefficients/1.

#include <filesystem>
#include <string>
#include <vector>

#include "data/statistics/printed_number.h"
#include "data/statistics/uncertainty.h"
#include "pipelines/page/presentation_table.h"

namespace impactlab {

// One way to the coefficient.
struct CoefficientResult {
  std::string method;  // "angle", "height over length", "timed slide", ...
  // What it is a value of, and its unit: empty for the coefficient of the test, else "g", "m/s^2".
  std::string quantity, unit;
  // Why the readings do not decide the value, and what would. Where it is not empty, `result` holds
  // nothing to quote.
  std::string undetermined;
  // Holds if one of several explanations does: never to be quoted alone.
  bool conditional = false;
  std::vector<UncertainInput> inputs;
  UncertainResult result;
  Recomputed rounded;  // from the digits of the readings alone: all values that round to them
  std::vector<std::string> notes;
};

enum class PrintedVerdict { kNone, kFollows, kErratum, kNotCheckable };
const char* VerdictName(PrintedVerdict verdict);  // "", "follows", "erratum", "not checkable"

struct CoefficientTest {
  std::string name, kind, coefficient;  // kind as in the file; "mu_s", "mu_k", "e_n"
  std::string where;
  Printed printed;
  // the first is the one to quote; empty where no readings are given
  std::vector<CoefficientResult> results;
  // The first has a value.
  bool determined() const { return !results.empty() && results[0].undetermined.empty(); }
  PrintedVerdict verdict = PrintedVerdict::kNone;
  std::string sentence;  // for people
};

struct CoefficientTests {
  std::string name, source;
  std::vector<CoefficientTest> tests;
  std::vector<std::filesystem::path> inputs;  // all files
};

// Reads and evaluates. ConfigError for the YAML file, DataError for a table of readings.
CoefficientTests LoadCoefficients(const std::filesystem::path& path);

// "coefficients": one row a method; "budgets": one row an input of each.
std::vector<PresentationTable> FormsOf(const CoefficientTests& all);
// Both as CSV, Markdown and LaTeX, and index.html.
void WriteCoefficients(const std::filesystem::path& folder, const CoefficientTests& all);
std::string BriefReport(const CoefficientTests& all);
// False where tests have readings and none of them determines its coefficient.
bool AnyDetermined(const CoefficientTests& all);

}  // namespace impactlab
