#include "data/files/base64.h"

#include <openssl/evp.h>

#include <algorithm>

namespace impactlab {

std::string Base64(std::string_view bytes) {
  // The encoder takes an int for the length and writes a NUL behind each piece. Pieces of a
  // multiple of three bytes need no padding, so their texts can be joined.
  constexpr std::size_t kPiece = std::size_t{3} << 24;
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  std::size_t end = 0;
  for (std::size_t i = 0; i < bytes.size(); i += kPiece)
    end += static_cast<std::size_t>(
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data() + end),
                        reinterpret_cast<const unsigned char*>(bytes.data() + i),
                        static_cast<int>(std::min(kPiece, bytes.size() - i))));
  out.resize(end);
  return out;
}

}  // namespace impactlab
