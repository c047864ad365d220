#pragma once
// Helpers of the data room's tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "data/base/error.h"
#include "tests/support/folder.h"

namespace impactlab::test {

// The one line of the error that `action` throws. Anything else is a failure of the test.
template <typename Error, typename Action>
std::string MessageOf(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    std::string message = error.what();
    EXPECT_FALSE(message.empty());
    EXPECT_LT(message.size(), 2000u);
    for (const char c : message)
      EXPECT_GE(static_cast<unsigned char>(c), 0x20) << "not one clean line: " << message;
    return message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
    return {};
  }
  ADD_FAILURE() << "no error";
  return {};
}

// Gives up the rights of root, for which no permission holds, while it lives.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_root_(::geteuid() == 0) {
    if (was_root_) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~OrdinaryUser() {
    if (was_root_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }

 private:
  bool was_root_;
};

inline void Put(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string Get(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace impactlab::test
