#pragma once
// Files of a run folder: events.csv with its covariance sidecar, motion.csv, audit.json. Columns
// are documented in data/README.md.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "reconstruction/audit/audit.h"
#include "reconstruction/bundle/impact_bundle.h"
#include "reconstruction/bundle/layout_learn.h"
#include "reconstruction/motion/motion_fit.h"
#include "reconstruction/motion/set_diagnosis.h"

namespace impactlab {

// events.csv and events_cov.csv
void WriteEvents(const std::filesystem::path& folder, std::span<const ImpactEvent> events);
// Reads events.csv of a run folder or a table of pre/post states made elsewhere; `events_cov.csv`
// beside it where present, else the table's sd_ columns.
std::vector<ImpactEvent> ReadEvents(const std::filesystem::path& events_csv, const Body& body,
                                    const Plane& floor, const Eigen::Vector3d& gravity_W);

// flight arcs and rests, one row each
void WriteMotion(const std::filesystem::path& path, std::span<const MotionFit> fits);

// drops.csv: how every bundle fit went, one row an impact and camera.
// layout.csv
void WriteLayout(const std::filesystem::path& path, std::span<const std::string> names,
                 const LearnedLayout& layout);
void WriteDrops(const std::filesystem::path& path, std::span<const MarkerTracks* const> recordings,
                std::span<const std::vector<ImpactBundle>> drops);
// A file NAME.csv for every recording that has poses, as experiments read them.
void WritePoses(const std::filesystem::path& folder,
                std::span<const PoseRecording* const> recordings);

std::string ToJson(const AuditResult& audit);
std::string ToJson(const SetDiagnosis& diagnosis);

}  // namespace impactlab
