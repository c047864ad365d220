#pragma once
// Parts that experiment and scene files share: body, floor, flight and frame errors.

#include <string>
#include <string_view>
#include <vector>

#include "data/yaml/yaml.h"
#include "impact/body/body.h"
#include "impact/body/free_flight.h"
#include "pipelines/config/visit.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab::pipelines {

// Three components; `VisitPoint` of motion in a plane the two [x, z], with y = 0.
void VisitVector(Keys& keys, const char* key, Eigen::Vector3d& value, const Range& allowed,
                 const char* meaning, Need need = Need::kOptional);
void VisitPoint(Keys& keys, const char* key, Eigen::Vector3d& value, bool planar,
                const Range& allowed, const char* meaning, Need need = Need::kOptional);

// A direction that is not zero, of any length in the file and of length 1 here; planar: [x, z].
void VisitDirection(Keys& keys, const char* key, Eigen::Vector3d& direction, bool planar,
                    const char* meaning);

// Keys of a body. Without mass_kg it weighs 1 kg (mass_known false) and takes its inertia per mass
// or from its shape.
void VisitBody(Keys& keys, Body& body, bool planar);
Body ParseBody(const YamlNode& node, bool planar);
// The `floor` map; level at height 0 where it is missing. The normal is made a unit vector.
void VisitFloor(Keys& keys, Plane& floor, bool planar);
// Keys gravity_m_per_s2 and drag_per_m of the file.
void VisitFlight(Keys& keys, FlightOptions& flight, bool planar);
// A map of frame errors such as `correction`; no errors where it is missing.
void VisitCorrection(Keys& keys, const char* key, FrameCorrection& correction, bool planar);
// The `columns` map: our names of columns, and the names in the files.
void VisitColumns(Keys& keys, PoseColumns& columns);

// The map that says where a result came from; read, of a run.yaml, and never written here.
void VisitProvenance(Keys& keys);

// Names of the single entries of a FrameCorrection, as in audit evidence and as keys in files.
std::vector<std::string> CorrectionNames();

// The same as YAML that ends in a newline, with the map's name above it.
std::string BodyYaml(const Body& body);
std::string FloorYaml(const Plane& floor);
std::string FlightYaml(const FlightOptions& flight);

// "[1, 2]" and "[\"a\", \"b\"]".
std::string Bracketed(const std::vector<double>& values);
std::string QuotedList(const std::vector<std::string>& texts);

// "key: value" lines, indented by two spaces for every level.
std::string YamlLine(int level, std::string_view key, double value);
std::string YamlLine(int level, std::string_view key, const std::vector<double>& values);
std::string YamlWord(int level, std::string_view key, std::string_view plain_text);

}  // namespace impactlab::pipelines
