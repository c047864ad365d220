#pragma once
// Parts that experiment and scene files share: body, floor, flight and frame errors. Private to the
// pipelines room.

#include <string>
#include <string_view>
#include <vector>

#include "data/yaml/yaml.h"
#include "impact/body/body.h"
#include "impact/body/free_flight.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab::pipelines {

// The `body` map. A body without mass_kg weighs 1 kg (mass_known false) and takes its inertia per
// mass or from its shape.
Body ParseBody(const YamlNode& node, bool planar);
// The `floor` map; level at height 0 where it is missing. The normal is made a unit vector.
Plane ParseFloor(const YamlNode& root, bool planar);
// Keys gravity_m_per_s2 and drag_per_m of the document.
FlightOptions ParseFlight(const YamlNode& root, bool planar);
// A map of frame errors such as `correction`; no errors where it is missing.
FrameCorrection ParseCorrection(const YamlNode& root, const std::string& key, bool planar);

// Names of the single entries of a FrameCorrection, as in audit evidence and as keys in files.
std::vector<std::string> CorrectionNames();

// YAML of the same parts, each ending in a newline; the parsers read them back to the same values.
std::string BodyYaml(const Body& body);
std::string FloorYaml(const Plane& floor);
std::string FlightYaml(const FlightOptions& flight);
std::string CorrectionYaml(const std::string& key, const FrameCorrection& correction, bool planar);

// "key: value" lines, indented by two spaces for every level.
std::string YamlLine(int level, std::string_view key, double value);
std::string YamlLine(int level, std::string_view key, const std::vector<double>& values);
std::string YamlWord(int level, std::string_view key, std::string_view plain_text);
inline std::string YamlCount(int level, std::string_view key, long long value) {
  return YamlWord(level, key, std::to_string(value));
}
inline std::string YamlFlag(int level, std::string_view key, bool value) {
  return YamlWord(level, key, value ? "true" : "false");
}

}  // namespace impactlab::pipelines
