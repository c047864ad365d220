#pragma once
// Models of the coefficients, their groups and intervals as tables of a page.

#include <string>

#include "pipelines/study/coefficient_models.h"

namespace impactlab::pipelines {

/// Models, groups and intervals of a study, without the text of a section.
std::string CoefficientHtml(const CoefficientStudy& study);

/// A text made for terminals with the sign of plus or minus.
std::string WithSign(std::string text);

}  // namespace impactlab::pipelines
