#pragma once
// The certificate of an outcome as it stands in files. Not installed: shows nlohmann's JSON.

#include <nlohmann/json.hpp>

#include "impact/law/certify.h"

namespace impactlab {

// {"ok", "checks": {name: {"value", "limit", "ok"}}}; values that are no numbers become null in the
// file.
nlohmann::ordered_json ToJson(const Certificate& certificate);

}  // namespace impactlab
