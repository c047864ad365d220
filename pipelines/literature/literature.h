#pragma once
// Tables of impacts as printed - states before and after, coefficients, computed states, case
// labels, shares of energy - read, audited and set beside what the laws of this program make of
// them. Files: data/README.md, schema impactlab.published/1.

#include <Eigen/Core>
#include <filesystem>
#include <string>
#include <vector>

#include "pipelines/literature/audit.h"
#include "pipelines/literature/planar.h"
#include "pipelines/page/presentation_table.h"

namespace impactlab {

struct PublishedTable {
  PrintedTable table;
  // Texts of the states as printed, by row: before (6), after (6), computed (6; empty where there
  // is none), in the axes of the table.
  struct Texts {
    std::vector<std::string> minus, plus, computed;
  };
  std::vector<Texts> texts;
  TableAudit audit;
};

struct PublishedTables {
  std::string name, source;
  Eigen::Matrix3d R_WT = Eigen::Matrix3d::Identity();  // axes of the printed tables in W
  std::vector<PublishedTable> tables;
  std::vector<PlanarTable> planar;
  std::vector<std::string> unread;            // "FILE: COLUMN" of columns that are not read
  std::vector<std::filesystem::path> inputs;  // all files
};

// Reads and audits. ConfigError for the YAML file, DataError for a table of numbers.
PublishedTables LoadPublished(const std::filesystem::path& path);

// "states", "comparison" (measured, computed there, every law of ours), "balance" (energy, contact,
// spin), "planar" and "faults"; those of which the file has none are left out.
std::vector<PresentationTable> FormsOf(const PublishedTables& all);

// The tables above as CSV, Markdown and LaTeX, and index.html.
void WritePublished(const std::filesystem::path& folder, const PublishedTables& all);

// For the terminal: of every table how many rows disagree, kinds of fault with their counts and
// first examples, and how many rows have an attitude. The full list is the form "faults".
std::string BriefReport(const PublishedTables& all);

}  // namespace impactlab
