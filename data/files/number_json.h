#pragma once
// Numbers as JSON values, for every writer of JSON.

#include <cmath>
#include <nlohmann/json.hpp>

namespace impactlab {

// JSON has neither NaN nor infinity: null is written for both.
template <typename Json = nlohmann::ordered_json>
Json NumberJson(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace impactlab
