#pragma once
// The verdict of the data above all coefficients: does angular momentum about the contact point
// close, as it must for single impacts of one rigid body of the declared inertia and shape?
//
// What is compared is the residual of the spin change (MomentumResidual) in excess of what the
// covariances of the events explain, as a share of the spin change itself. A share is refused only
// where it is both large and beyond chance, so that sound data are: noise alone stays within its
// covariance, and small effects that no covariance holds (rounded corners, a moment of inertia
// known to some per cent) stay below the share. The tenth of the impacts with the largest
// residuals is left out: a hidden second contact in a few of them does not speak of the body.
//
// Impulses of little friction hardly change the spin of a ball, and pass its centre by as much
// where its contact point is off by some hundredths of the radius. Where changes are that small,
// scatter is held against what the impulses could have changed, and only a factor of all changes
// against the changes themselves.

#include <span>
#include <string>

#include "impact/body/body.h"
#include "impact/body/event.h"

namespace impactlab {

enum class Closure { kCloses, kDoesNotClose, kNotTested };

struct ClosureOptions {
  /// Share of the spin change from which on a residual refuses coefficients.
  double share = 0.25;
  /// Probability below which a residual is beyond chance.
  double probability = 1e-4;
};

struct ClosureVerdict {
  Closure closure = Closure::kNotTested;
  int n = 0;               ///< accepted impacts with a finite state that were compared
  double share = 0;        ///< residual in excess of its noise by the spin change
  double noise_share = 0;  ///< residual that the covariances explain, by the spin change
  double probability = 1;  ///< of residuals as large by chance, under the covariances
  /// One sentence: what was found, and for data that do not close what coefficients stand behind.
  std::string text;
};

/// Judges accepted events, with the body and the contact frames that an identification would use;
/// the struck surface stands still. Spins about an axis that was not measured are left out. Fewer
/// than three events, spin changes that vanish, or noise that could hide a residual of `share` are
/// not tested. Never throws because of what the data are.
/// Where no event has a covariance, what scatters about a common factor of the spin changes counts
/// as noise: a factor (of units, inertia, sense) is refused, scatter is not.
ClosureVerdict JudgeClosure(std::span<const ImpactEvent> events, const Body& body,
                            const ClosureOptions& options = {});

/// "closes", "does_not_close", "not_tested": the word in files.
const char* ClosureWord(Closure closure);

}  // namespace impactlab
