#pragma once
// Small parts of sentences for people.

#include <string>
#include <vector>

namespace impactlab {

// "a", "a and b", "a, b and c"; another word in place of "and".
std::string ListInWords(const std::vector<std::string>& items, const std::string& last = "and");
// "two", "three", ... up to "ten"; digits for other numbers.
std::string NumberInWords(int n);

}  // namespace impactlab
