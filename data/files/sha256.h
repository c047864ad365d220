#pragma once
// SHA-256 (FIPS 180-4), in lower-case hexadecimal.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace impactlab {

std::string Sha256(std::string_view bytes);
// Reads the file in pieces; DataError when it cannot be read. `bytes` is set to its size.
std::string Sha256File(const std::filesystem::path& path, std::uint64_t* bytes = nullptr);

}  // namespace impactlab
