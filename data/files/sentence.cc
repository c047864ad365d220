#include "data/files/sentence.h"

#include <iterator>

namespace impactlab {

std::string ListInWords(const std::vector<std::string>& items, const std::string& last) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += i + 1 == items.size() ? " " + last + " " : ", ";
    out += items[i];
  }
  return out;
}

std::string NumberInWords(int n) {
  constexpr const char* kWords[] = {"two",   "three", "four", "five", "six",
                                    "seven", "eight", "nine", "ten"};
  constexpr int kLeast = 2;
  return n >= kLeast && n - kLeast < static_cast<int>(std::size(kWords)) ? kWords[n - kLeast]
                                                                         : std::to_string(n);
}

}  // namespace impactlab
