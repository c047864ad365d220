#pragma once
// The verbs of the program. Each reads files, calls the library and writes files; main adds them to
// the command line.

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace impactlab {

class Cancellation;

struct RunArguments {
  std::filesystem::path experiment;
  std::string recordings;  // glob that replaces the experiment's; relative to the working folder
  std::filesystem::path out = "out";
  int threads = 0;
  bool report = true;
  bool tables = false;  // validation_table.csv, .md, .tex, .html
  bool quiet = false;
  int bootstrap = -1;  // replaces the experiment's; -1 keeps it
  // draws for motion past the first impact (StudyBounces); -1: it is not followed
  int bounces = -1;
  std::vector<std::string> require;  // "accepted>=40", "mu_k.half_width<=0.03", ...
  std::string command;               // command line, for run.yaml
  bool force = false;                // stages that an earlier run finished are done again
  bool json = false;                 // one JSON object on the terminal instead of text
  bool dry_run = false;              // check every file and say what would be done
};

struct StageArguments {
  std::filesystem::path experiment;
  std::filesystem::path events;  // events.csv
  std::filesystem::path fit;     // fit.json
  std::filesystem::path out = "out";
  bool tables = false;  // of `validate`: validation_table.csv, .md, .tex, .html
};

// One state before an impact, or a table of them, for every law of single contacts.
struct PredictStatesArguments {
  std::filesystem::path states;  // CSV; empty: one state from the flags
  // of the contact point (with inverse_mass) or of the centre (with lever): v_t v_n, or v_x v_y v_n
  // [m/s]
  std::vector<double> velocity;
  std::vector<double> inverse_mass;  // A_F: tt tn nn, or xx xy xn yy yn nn [1/kg]
  // planar: r_t r_n from the centre of mass to the contact [m]
  std::vector<double> lever;
  double mass = 1, inertia = 0, spin = 0;  // with lever [kg], [kg m^2], theta_dot [rad/s]
  // mu_s: NaN is mu_k
  double e = 0.5, mu_k = 0.2, mu_s = std::numeric_limits<double>::quiet_NaN(), e_t = 0;
  // JSON on the terminal
  bool json = false;
  // JSON file to write; empty: none
  std::filesystem::path out;
  std::filesystem::path routh;  // CSV of Routh's construction for the first state; empty: none
};

// A system file, for every law of impacts at several contacts.
struct PredictSystemArguments {
  std::filesystem::path file;
  bool json = false;          // JSON on the terminal
  std::filesystem::path out;  // JSON file to write; empty: none
  std::filesystem::path csv;  // table to write; empty: none
};

// Tables of impacts as printed, to be audited and set beside predictions.
struct AuditArguments {
  std::filesystem::path file;
  std::filesystem::path out = "audit";
  bool quiet = false;
};

// Readings of bench tests for coefficients.
struct CoefficientArguments {
  std::filesystem::path file;
  std::filesystem::path out = "coefficients";
  bool quiet = false;
};

struct MapArguments {
  std::vector<std::filesystem::path> files;
  std::filesystem::path out = "maps";
  int threads = 0;
  bool quiet = false;
};

// A bifurcation diagram of a scenario.
struct DiagramArguments {
  std::filesystem::path file;
  // with the journal of a run that was interrupted it goes on
  std::filesystem::path out = "diagram";
  int threads = 0;
  bool quiet = false;
};

// Several experiments beside each other.
struct CampaignArguments {
  std::filesystem::path file;
  std::filesystem::path out = "campaign";
  int threads = 0;
  bool quiet = false;
  std::string command;  // command line, for the runs
  bool force = false;   // stages that an earlier run finished are done again
};

// A mechanism followed through its motion.
struct SimulateArguments {
  std::filesystem::path file;
  std::filesystem::path out = "out";
  std::filesystem::path video;  // empty: none
  double speed = 1;             // seconds of motion a second of video
  bool page = true;
  bool quiet = false;
};

// An experiment that is planned.
struct PlanArguments {
  std::filesystem::path file;
  std::filesystem::path out = "plan";
  int threads = 0;
  bool page = true;
  bool quiet = false;
};

struct CalibrateArguments {
  std::filesystem::path file;
  std::filesystem::path out = "calibration";
  int threads = 0;
  bool report = true;
  bool quiet = false;
  std::vector<std::string> exports;  // "FORMAT=PATH"
  std::string command;               // command line, for run.yaml
  bool force = false;
};

struct TrackArguments {
  std::filesystem::path file;
  std::filesystem::path out = "tracks";
  // videos named after it, one for each recording and camera; empty: none
  std::filesystem::path overlay;
  int threads = 0;
  bool sheets = true;
  bool report = true;
  bool quiet = false;
  std::string command;  // command line, for run.yaml
  bool force = false;
};

struct ImportArguments {
  std::vector<std::filesystem::path> files;
  std::filesystem::path out = "tracks.csv";
  std::filesystem::path corrections;  // empty: none
  std::string format;                 // of the files; empty: recognised
  std::vector<std::string> cameras;   // names, in the order of the file's cameras
  double rate = 0;                    // of files that count frames [1/s]
  int height = 0;                     // of the pictures, for files that count rows from below [px]
  bool rows_from_top = false;         // DLTdv from version 7 on
  double sd = 0.5;                    // of a point, where the file does not say [px]
};

// Markers in space: from tracks and a rig, or from a marker file, to a marker file.
struct ExportArguments {
  std::filesystem::path file;  // tracks.csv, or a marker CSV, TRC or C3D
  // .csv, .trc, .c3d; of several recordings NAME_RECORDING.trc for NAME.trc
  std::filesystem::path out;
  std::filesystem::path rig;  // of tracks
  std::string recording;      // of tracks; empty: all
  std::string format;         // of the output; empty: by its extension
  std::string up = "z";       // axis of the output that points up
  std::string up_of_file;     // of a marker file; empty: what a C3D says, else z
  std::string unit = "mm";    // of TRC and C3D
};

// A camera file of another program, or a rig.yaml, into other formats.
struct ConvertArguments {
  std::filesystem::path file;
  std::vector<std::string> exports;  // FORMAT=PATH
  std::string format;                // of the file; empty: recognised
  std::vector<int> size;             // width and height for files that do not say [px]
  // one unit of length of the file [m]; 0: what the file says, else a metre
  double length_unit = 0;
  std::filesystem::path extrinsics;  // OpenCV: the file with R and T where it is another one
  // give up the pose of the first camera where a format cannot carry it
  bool relative = false;
};

struct BoardArguments {
  std::string kind = "chessboard";
  std::string corners = "9x6";  // points in a row x points in a column; discs of circle grids
  // side of a square, spacing of discs, half the spacing of an asymmetric grid [m]
  double square = 0;
  double marker = 0;         // ChArUco [m]; 0: 0.75 of the square
  double disc_diameter = 0;  // circle grids [m]; 0: half of the distance between discs
  std::string dictionary = "4X4_50";
  bool legacy = false;
  std::string page = "a4";
  std::filesystem::path out = "board.pdf";  // .pdf or .svg
};

// Recordings whose time base is examined.
struct DoctorArguments {
  std::vector<std::filesystem::path> files;  // videos, or folders of pictures
  // a clip of the same camera, of its calibration say; empty: none
  std::filesystem::path reference;
  std::filesystem::path stamps;  // table of stamps of the one recording; empty: none
  double rate = 0;               // true rate [1/s]; 0: as stamped
  double exposure = 0;           // [s]; 0: not known
  double t_line = 0;             // row time of a rolling shutter [s]; 0: not known
  long long max_frames = 20000;
  bool json = false;          // JSON on the terminal
  std::filesystem::path out;  // JSON file to write; empty: none
};

// Each returns the exit code: 0 done, 1 a requirement is not met, 3 nothing usable. Errors are
// thrown. `cancellation` ends a run that another thread or a signal handler cancels.
int RunCommand(const RunArguments& arguments, const Cancellation& cancellation);
int ReconstructCommand(const RunArguments& arguments, const Cancellation& cancellation);
int IdentifyCommand(const StageArguments& arguments);
int PredictCommand(const StageArguments& arguments);
int PredictSystemCommand(const PredictSystemArguments& arguments);
int PredictStatesCommand(const PredictStatesArguments& arguments);
int MapCommand(const MapArguments& arguments);
int CampaignCommand(const CampaignArguments& arguments);
int DiagramCommand(const DiagramArguments& arguments);
int SimulateCommand(const SimulateArguments& arguments);
int AuditCommand(const AuditArguments& arguments);
int PlanCommand(const PlanArguments& arguments);
int CoefficientCommand(const CoefficientArguments& arguments);
int ValidateCommand(const StageArguments& arguments);
int SolveCommand(const std::filesystem::path& cases, const std::filesystem::path& out);
int DoctorCommand(const DoctorArguments& arguments);
int ConvertCommand(const ConvertArguments& arguments);
int TrackCommand(const TrackArguments& arguments);
int ImportCommand(const ImportArguments& arguments);
int ExportCommand(const ExportArguments& arguments);
int CalibrateCommand(const CalibrateArguments& arguments);
int BoardCommand(const BoardArguments& arguments);
int SynthCommand(const std::filesystem::path& scene, const std::filesystem::path& out);

}  // namespace impactlab
