#include "data/files/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <limits>
#include <memory>
#include <stdexcept>

#include "data/base/error.h"
#include "data/files/atomic_file.h"

namespace impactlab {
namespace {

class Hasher {
 public:
  Hasher() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
      throw std::runtime_error("SHA-256 is not available");
  }

  void Take(std::string_view bytes) {
    if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1)
      throw std::runtime_error("SHA-256 failed");
  }

  std::string Finish() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    if (EVP_DigestFinal_ex(context_.get(), digest, &length) != 1)
      throw std::runtime_error("SHA-256 failed");
    std::string text;
    for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string Sha256(std::string_view bytes) {
  Hasher hasher;
  hasher.Take(bytes);
  return hasher.Finish();
}

std::string Sha256File(const std::filesystem::path& path, std::uint64_t* bytes) {
  std::error_code absent;
  // A pipe would be waited for, without end.
  if (std::filesystem::exists(path, absent) && !std::filesystem::is_regular_file(path, absent) &&
      !std::filesystem::is_directory(path, absent))
    throw DataError(path.string() + ": is not a regular file");
  Hasher hasher;
  std::uint64_t total = 0;
  ReadPieces(path, std::numeric_limits<std::size_t>::max(), [&](std::string_view piece) {
    hasher.Take(piece);
    total += piece.size();
  });
  if (bytes) *bytes = total;
  return hasher.Finish();
}

}  // namespace impactlab
