#pragma once

#include <string>
#include <string_view>

namespace impactlab {

// Base-64 text of bytes (RFC 4648, section 4, with padding and without line ends), for data URLs.
std::string Base64(std::string_view bytes);

}  // namespace impactlab
