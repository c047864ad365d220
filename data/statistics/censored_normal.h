#pragma once
// Mean of a normal quantity that is seen only where less is not asked of it.
//
// Every member i has a strength m_i, normal about the mean m with standard deviation s, and a
// demand d_i. Seen is x_i = min(m_i, d_i) with a normal error of known standard deviation: friction
// over normal impulse of contacts that slide (m_i) or stick (d_i), where nobody knows which. A
// share p of the members reaches its strength; demands below are spread evenly over [0, m]:
//   f(x) = p phi((x - m) / t) / t + (1 - p) / m Phi((m - x) / t),   t^2 = s^2 + sd_i^2.
// The strength of the members seen highest is above the mean, so that the highest value is no bound
// of the mean. The likelihood is multiplied by s / m, without which a scatter of zero at one value
// is the likeliest (Chung, Rabe-Hesketh, Dorie, Gelman and Liu, Psychometrika 78 (2013) 685).

#include <vector>

namespace impactlab {

// Lower end of the two-sided 95 % interval of the mean m, by the profile likelihood with Student's
// quantile for the fewness of the values. Zero where there are none that are positive. A scatter
// above a quarter of the mean is not considered. `sd` has one standard deviation for every value;
// ConfigError for lists of different lengths, negative values or values that are not finite.
double LowerBoundOfCensoredMean(const std::vector<double>& x, const std::vector<double>& sd);

}  // namespace impactlab
