#pragma once
// Readings of bench tests as their file has them, and the budget of a coefficient that is computed
// from them.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/files/table.h"
#include "data/files/units.h"
#include "data/statistics/printed_number.h"
#include "data/statistics/uncertainty.h"
#include "pipelines/bench_tests/bench_tests.h"
#include "pipelines/config/visit.h"

namespace impactlab::pipelines {

inline constexpr double kDrift = 3;           // standard deviations at which a trend is spoken of
inline constexpr double kImprobable = 0.001;  // of a chi-square that is spoken of

// Readings of one quantity: texts in the file, values in SI.
struct Readings {
  std::string key;  // as in the file, with its unit
  std::vector<Printed> list;
  double half = 0;      // limits of each [SI]; rectangular
  double sd = 0;        // or its standard deviation; normal
  bool stated = false;  // the file gives one of them; else they follow from the digits
  std::vector<double> values() const;
  double u() const;                  // standard uncertainty of one reading
  Readings At(std::size_t k) const;  // one of them alone
};

// One test as its file has it. Each key is named once, with what it means
// (pipelines/config/visit.h).
class BenchReader {
 public:
  BenchReader(Keys& keys, CoefficientTests& all) : keys_(keys), all_(all) {}

  // `stem` with one of the units of its kind; halves under `stem_half_UNIT`, standard deviations
  // under `stem_sd_UNIT`, by default half a unit of the last digit. Nothing where the key is
  // missing.
  std::optional<Readings> ReadingsOf(const std::string& stem, Quantity quantity,
                                     const char* meaning) const;
  // The same, each reading inside a range.
  std::optional<Readings> One(const std::string& stem, Quantity quantity, const Range& allowed,
                              const char* meaning) const;
  // What several kinds of tests have: the angle of a tilt or an incline, the mass of a body, and
  // drag_per_m, of which a bare 0 is none, not 0 +- 0.5.
  std::optional<Readings> Angle(const Range& allowed) const;
  std::optional<Readings> Mass() const;
  std::optional<Readings> Drag() const;
  // Both or neither of two.
  void Together(const std::string& first, bool has_first, const std::string& second,
                bool has_second) const;

  // Whether times of bounces, durations of flights or a file of them are there.
  bool HasBounces() const;

  // One of the words, or nothing where the key is missing.
  std::string Word(const char* key, const std::vector<std::string>& words,
                   const char* meaning) const;

  // A CSV beside the file, of this name; read, its headers such as "Time (s)" and "x (m)" are t_s
  // and x_m.
  std::filesystem::path Path(const char* key, const char* meaning) const;
  Table ReadTable(const std::filesystem::path& path, const std::vector<std::string>& texts);

  Keys& keys() const { return keys_; }
  const YamlNode& node() const { return *keys_.reading(); }

 private:
  Keys& keys_;
  CoefficientTests& all_;
};

// "t_s" of "Time (s)", "x_m" of "x [m]", "a_m_per_s2" of "a (m/s^2)"; any other name as it is.
std::string PlainColumnName(const std::string& header);

// Inputs of a coefficient: the mean of repeated readings (their scatter), and what every one of
// them may be off by together.
class BudgetModel {
 public:
  // Index of the quantity; the sum of its parts is its value.
  std::size_t Add(const std::string& name, const std::string& unit, const Readings& r);
  std::size_t Add(UncertainInput input, double digits);
  void AddAll(const BudgetModel& further);  // behind those that are here
  std::size_t size() const { return quantities_.size(); }
  // Values and standard uncertainties of the quantities, in the order they were added.
  std::vector<double> Values() const;
  std::vector<double> Uncertainties() const;

  // `f` takes the quantities in the order they were added.
  CoefficientResult Evaluate(const std::string& method,
                             const std::function<double(const std::vector<double>&)>& f) const;

 private:
  std::vector<UncertainInput> inputs_;
  std::vector<double> digits_;
  std::vector<std::vector<std::size_t>> quantities_;
};

// A row without a value: what the readings leave open, and what would decide.
CoefficientResult Undetermined(const std::string& method, const std::string& reason);

// The kinds of tests. Each adds its results; ConfigError and DataError for what is wrong in files.
void ReadStaticFriction(const BenchReader& in, CoefficientTest& test,
                        const UncertainInput& gravity);
void ReadKineticFriction(BenchReader& in, CoefficientTest& test, const UncertainInput& gravity);
void ReadRestitution(BenchReader& in, CoefficientTest& test, const UncertainInput& gravity);
// Of these, the times of bounces; with the height of the drop before them where it is given alone.
void ReadBounces(BenchReader& in, CoefficientTest& test, const UncertainInput& gravity,
                 const std::optional<Readings>& drop);
// And heights or speeds that are pairs, or rebounds of one drop. `f` is the coefficient of a pair
// (before, after) with the quantities that follow it; `speed` that before the impact.
struct PairModel {
  std::string method, unit;
  std::function<double(double before, double after, const std::vector<double>& further)> f;
  std::function<double(double before)> speed;
  BudgetModel further;  // drag, masses
};
CoefficientResult PairsOf(const Readings& before, const Readings& after, const PairModel& model);
CoefficientResult SuccessiveRebounds(const Readings& drop, const Readings& rebounds,
                                     const PairModel& model);

}  // namespace impactlab::pipelines
