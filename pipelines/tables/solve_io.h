#pragma once
// The `solve` verb's files: a JSON array of single-contact cases in, an array of outcomes in the
// same order out (data/README.md).

#include <string>

#include "impact/law/solve.h"

namespace impactlab {

// Word used in files: "ok", "no_approach", "invalid", "not_converged".
const char* StatusName(SolveStatus status);

// Outcomes of the cases as JSON text. A row that is no impact problem gets status "invalid" and a
// reason in its place; text that is not a JSON array throws DataError with the place. `path` stands
// for the file in messages.
std::string SolveCasesJson(const std::string& input_json, const std::string& path);

}  // namespace impactlab
