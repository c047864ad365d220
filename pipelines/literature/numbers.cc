// Printed numbers and labels, and what follows from them.

#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "pipelines/literature/audit.h"

namespace impactlab {

Eigen::Vector3d SlopeNormal(double slope, double downhill) {
  return {std::cos(downhill) * std::sin(slope), std::sin(downhill) * std::sin(slope),
          std::cos(slope)};
}

std::optional<CaseLabel> ReadCaseLabel(const std::string& text) {
  const std::string label(TrimSpace(text));
  if (label.empty() || label[0] < '0' || label[0] > '6') return std::nullopt;
  CaseLabel out;
  out.path_case.digit = label[0] - '0';
  const std::string rest = label.substr(1);
  if (rest.empty()) return out;
  const bool reverses = out.path_case.digit == 2 || out.path_case.digit == 4;
  if (!reverses) return std::nullopt;
  out.plot_code = rest[0] == '.';
  out.path_case.letter = rest == "a" || rest == ".25"   ? 'a'
                         : rest == "b" || rest == ".5"  ? 'b'
                         : rest == "c" || rest == ".75" ? 'c'
                                                        : ' ';
  if (out.path_case.letter == ' ') return std::nullopt;
  return out;
}

std::string ModeOf(const ImpactCase& path_case) {
  switch (path_case.digit) {
    case 1:
    case 3:
    case 5:
      return "sticking";
    case 2:
    case 4:
      return "reverse sliding";
    default:
      return "sliding";
  }
}

std::string ModeOf(const std::string& words) {
  std::string lower;
  for (const char c : LowerCase(words))
    if (c >= 'a' && c <= 'z') lower += c;
  if (lower.find("stick") != std::string::npos) return "sticking";
  if (lower.find("slid") == std::string::npos && lower.find("slip") == std::string::npos) return {};
  return lower.find("rev") != std::string::npos || lower[0] == 'r' ? "reverse sliding" : "sliding";
}

const char* AttitudeName(AttitudeSource source) {
  return source == AttitudeSource::kStated   ? "stated"
         : source == AttitudeSource::kSolved ? "orientation solved"
                                             : "needs orientation";
}

}  // namespace impactlab
