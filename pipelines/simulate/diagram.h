#pragma once
// Bifurcation diagrams by brute force: a scenario followed past its transient for every value of
// one or two of its numbers, and what its Poincare section then holds.
//
// Sections: apexes, where a velocity falls through 0, and the stroboscope, once in a period of the
// surface that vibrates. With one number the points of the section are kept (the Bristol thesis,
// Figs 5.7 and 5.10), with two their period alone. Every result goes to a journal at once, so that
// a run that ends early, by whatever cause, goes on where it was and writes the same files as one
// that was let alone. Schema impactlab.diagram/1, see data/README.md.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipelines/config/run_context.h"
#include "pipelines/simulate/config.h"

namespace impactlab {

struct DiagramAxis {
  std::string key;     // in the scenario file, "mechanism.frequency_rad_per_s"
  std::string column;  // its last word; the full name where both axes end in the same
  std::string label;   // for pictures, with its unit
  std::vector<double> values;
};

struct DiagramStart {
  std::string name;
  std::vector<std::pair<std::string, double>> keys;  // of the scenario, replaced
};

enum class DiagramSection { kApex, kStroboscopic };
enum class DiagramFollow {
  kNone,
  kUp,   // every value of x starts from the last state of the value below
  kDown  // above
};

struct Diagram {
  std::filesystem::path path, scenario;
  std::string scenario_text;
  std::string name, figure, assumptions;
  DiagramAxis x;
  std::optional<DiagramAxis> y;      // with it only periods are kept
  std::vector<DiagramStart> starts;  // at least one
  DiagramSection section = DiagramSection::kApex;
  int falling = 0;   // kApex: velocity of Mechanism::u_names
  double phase = 0;  // kStroboscopic: of the surface [rad]
  // coordinates and velocities kept of a point, the first on the picture
  std::vector<std::string> record;
  std::string record_label;        // of the first
  int transient = 200, keep = 64;  // points of the section
  int longest_period = 8;          // 4 times that are within `keep`
  // within which points of a section agree, in the units of `record`
  double tolerance = 1e-3;
  double longest = 1e5;  // motion after which a value is given up [s]
  DiagramFollow follow = DiagramFollow::kNone;
  std::vector<std::pair<double, std::string>> lines;  // across the picture, at a value of x
  std::string hash;                                   // of both files and the program's version

  std::size_t nx() const { return x.values.size(); }
  std::size_t ny() const { return y ? y->values.size() : 1; }
  std::size_t Index(std::size_t start, std::size_t ix, std::size_t iy) const {
    return (start * ny() + iy) * nx() + ix;
  }
  std::size_t size() const { return starts.size() * nx() * ny(); }
  // ConfigError where the scenario refuses the values.
  Scenario At(std::size_t start, std::size_t ix, std::size_t iy) const;
};
// ConfigError; scenarios at the ends of the axes are tried.
Diagram LoadDiagram(const std::filesystem::path& path);

// One value, or pair of values, from one start.
struct DiagramCell {
  // "complete", "rest", "steady", "duration" (Diagram::longest is over), "given_up"
  std::string end;
  // in points of the section; 0: none up to longest_period
  int period = 0;
  int impacts = -1;                         // in a period; -1: no period
  bool rests = false;                       // stays in contact without impact or release
  std::vector<std::vector<double>> points;  // by point, as Diagram::record; none with two axes
  MechanismState last;                      // of runs that are carried on
};

// Whether a file is the journal of a diagram, or the beginning of one; false for a link and where
// there is no file.
bool IsDiagramJournal(const std::filesystem::path& path);

// Cells by Diagram::Index, on the threads of `context`; `advance` is called after each, `begin`
// before all with the number of cells left to do and of lines of the journal that are lost to
// damage. `journal` holds what was done before and takes what is done now. DataError where it
// belongs to another diagram, OutputError where it cannot be written or another run writes it,
// Interrupted.
std::vector<DiagramCell> ComputeDiagram(
    const Diagram& diagram, const std::filesystem::path& journal, const RunContext& context,
    const std::function<void(std::size_t left, std::size_t damaged)>& begin,
    const std::function<void()>& advance);

// diagram.csv (one axis) and periods.csv of data/README.md.
void WriteDiagramPoints(const std::filesystem::path& path, const Diagram& diagram,
                        const std::vector<DiagramCell>& cells);
void WriteDiagramPeriods(const std::filesystem::path& path, const Diagram& diagram,
                         const std::vector<DiagramCell>& cells);
// SVG that stands alone: all starts with one axis, the periods of one start with two.
std::string DiagramSvg(const Diagram& diagram, const std::vector<DiagramCell>& cells,
                       std::size_t start);
void WriteDiagramPage(const std::filesystem::path& path, const Diagram& diagram,
                      const std::vector<DiagramCell>& cells);

}  // namespace impactlab
