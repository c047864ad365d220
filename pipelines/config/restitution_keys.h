#pragma once
// Keys of a configuration that name laws of restitution, or are named after their coefficients.

#include <string>
#include <vector>

#include "data/files/restitution_law.h"
#include "pipelines/config/visit.h"

namespace impactlab::pipelines {

// `law`: one of the laws of restitution.
void VisitLaw(Keys& keys, RestitutionLaw& law, const char* meaning, Need need = Need::kOptional);

// A list of them, every law once. Without the key `laws` stays as it is, all of them as a rule.
void VisitLaws(Keys& keys, const char* key, std::vector<RestitutionLaw>& laws);

}  // namespace impactlab::pipelines
