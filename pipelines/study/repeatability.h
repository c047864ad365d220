#pragma once
// Do drops of one condition repeat, and do they scatter more than the measurement explains?
//
// Repeats are compared with the standard deviation stated for one drop: of what differs from drop
// to drop, without what all share. Where the stated uncertainty is right and nothing else differs,
// chi-square = sum over drops of d' cov^-1 d about the weighted mean has its degrees of freedom.
// Above its 99 % band the drops do differ (a release never repeats; a surface scatters) or the
// uncertainty is understated; below it the uncertainty is overstated. Sun 2017, Fig. 4.26,
// repeats 5, 10 and 20 times.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "impact/body/event.h"
#include "impact/identify/single_impact.h"

namespace impactlab {
namespace pipelines {
class Keys;
}

// Map `repeats` of an experiment file.
struct RepeatOptions {
  struct Group {
    std::string name, recordings;  // recordings by a pattern of names: *, ?, [a-z]
  };
  std::vector<Group> groups;  // empty: first impacts whose states before the impact are alike
  // Alike: every component in F of velocity and spin within this of one drop's, the lever of the
  // contact turned by no more.
  double velocity = 0.1;  // [m/s]
  double spin = 1;        // [rad/s]
  double angle = 0.1;     // [rad]
};
void Visit(pipelines::Keys& keys, RepeatOptions& options);

enum class RepeatVerdict {
  kUndetermined,  // fewer than three repeats
  kWithin,        // no scatter beyond what the measurement explains
  kBeyond,        // more
  kBelow          // less: the stated uncertainty is too large
};
const char* ToString(RepeatVerdict verdict);  // "undetermined", "within", "beyond", "below"

// One quantity over the first `n` drops of a group. Vectors count by component: standard deviations
// are root mean squares over components that were measured.
struct RepeatRow {
  std::string group;  // name; "all": every accepted impact, under any condition
  // "v_minus", "omega_minus", "lever", "residual_v", "residual_omega", "e_star" (or e_n, e_p),
  // "mu_k"
  std::string quantity;
  std::string unit;  // m_per_s, rad_per_s, m, 1
  int n = 0;
  // of the drops about their mean; as if normal
  double sd_between = 0, between_lower95 = 0, between_upper95 = 0;
  double sd_within = 0;  // stated for one drop
  // sqrt(chi_square / dof): the scatter in units of what the measurement explains
  double ratio = 0;
  double chi_square = 0;  // about the weighted mean
  int dof = 0;
  double lower99 = 0, upper99 = 0;  // of chi_square / dof, were there noise alone
  RepeatVerdict verdict = RepeatVerdict::kUndetermined;
};

struct Repeatability {
  std::vector<RepeatRow> rows;
  struct Group {
    std::string name;
    std::vector<std::string> recordings;
  };
  std::vector<Group> groups;             // as named or found, of two drops at least
  bool found = false;                    // groups were found by likeness, not named
  std::string law;                       // whose residuals and coefficients they are
  std::vector<SingleCoefficient> e, mu;  // in the order of the events
  std::vector<std::string> notes;        // for people
  bool empty() const { return rows.empty(); }
};

// `events` with the covariance of what differs from drop to drop; only accepted ones count. `fit`:
// the law whose residuals are looked at.
Repeatability StudyRepeats(std::span<const ImpactEvent> events, const Body& body, const LawFit& fit,
                           const RepeatOptions& options = {});

// repeatability.csv (data/README)
void WriteRepeatability(const std::filesystem::path& path, const Repeatability& repeats);

}  // namespace impactlab
