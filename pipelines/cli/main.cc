// impactlab: from recordings of impacts to friction, restitution and a validation table; from
// pictures of a board to a camera rig.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <string_view>

#include "data/base/error.h"
#include "data/cache/provenance.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/answer.h"
#include "pipelines/cli/detail/command_line.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/first_steps.h"
#include "pipelines/reference/key_reference.h"
#include "pipelines/simulate/system_config.h"

namespace {

constexpr const char* kForce = "do stages again that an earlier run finished with the same inputs";

std::string Quoted(int argc, char** argv) {
  std::string line = "impactlab";
  for (int i = 1; i < argc; ++i) line += " " + impactlab::pipelines::ShellWord(argv[i]);
  return line;
}

bool json_wanted = false;  // whether a script reads standard output

int Fail(int code, const char* what) {
  // Not fmt::print, which throws where nobody reads: this is the last that can be said.
  std::fputs(fmt::format("impactlab: {}\n", what).c_str(), stderr);
  if (json_wanted) std::fputs(impactlab::pipelines::ErrorAnswerJson(code, what).c_str(), stdout);
  return code;
}

void AddRunOptions(CLI::App& verb, impactlab::RunArguments& arguments) {
  verb.add_option("experiment", arguments.experiment, "experiment file (YAML)")->required();
  verb.add_option("--recordings", arguments.recordings,
                  "glob of recordings, instead of the experiment's");
  verb.add_option("--out", arguments.out, "run folder to write")->capture_default_str();
  verb.add_option("--threads", arguments.threads, "threads; 0: one a core")
      ->check(impactlab::pipelines::WholeNumber(0, 256))
      ->capture_default_str();
  verb.add_flag("--quiet", arguments.quiet, "no progress, no summary");
  verb.add_flag("--force", arguments.force, kForce);
  verb.add_flag("--json", arguments.json, "one JSON object on standard output instead of text");
  verb.add_flag("--dry-run", arguments.dry_run,
                "check every file and say what would be done; nothing is written");
  verb.add_option(
      "--require", arguments.require,
      "requirement such as accepted>=40 or mu_k.half_width<=0.03; exit code 1 when not met");
}

void AddStageOptions(CLI::App& verb, impactlab::StageArguments& arguments, bool needs_fit) {
  verb.add_option("experiment", arguments.experiment, "experiment file (YAML)")->required();
  verb.add_option("--events", arguments.events, "events.csv, or any table of pre and post states")
      ->required();
  if (needs_fit) verb.add_option("--fit", arguments.fit, "fit.json")->required();
  verb.add_option("--out", arguments.out, "folder to write")->capture_default_str();
}

// One verb for all ways to predict: from a fit for an experiment, or from given coefficients for a
// system or for given states.
void AddPredictOptions(CLI::App& verb, impactlab::StageArguments& stage,
                       impactlab::PredictStatesArguments& states, std::filesystem::path& csv) {
  verb.add_option("file", stage.experiment,
                  "system file (YAML), or experiment file with --events and --fit; without it a "
                  "state or a table of states");
  verb.add_option("--events", stage.events, "events.csv, or any table of pre and post states");
  verb.add_option("--fit", stage.fit, "fit.json");
  verb.add_option(
      "--states", states.states,
      "CSV of states: A_F_*, v_minus_F_* as in events.csv, optional e, mu_k, mu_s, e_t");
  verb.add_option("--v-minus-m-per-s", states.velocity,
                  "one state: v_t v_n, or v_x v_y v_n in space; of the contact point, or of the "
                  "centre with --lever-m")
      ->expected(2, 3);
  verb.add_option("--a-per-kg", states.inverse_mass,
                  "inverse mass at the contact: A_tt A_tn A_nn, or A_xx A_xy A_xn A_yy A_yn A_nn")
      ->expected(3, 6);
  verb.add_option("--lever-m", states.lever,
                  "planar body: lever r_t r_n from the centre of mass to the contact")
      ->expected(2);
  verb.add_option("--mass-kg", states.mass, "of that body")->capture_default_str();
  verb.add_option("--inertia-kg-m2", states.inertia, "of that body, about its centre of mass");
  verb.add_option("--theta-dot-rad-per-s", states.spin,
                  "of that body, counter-clockwise with t right and n up");
  verb.add_option("--e", states.e,
                  "restitution: e* of the energetic law, e_p of Poisson's, e_n of the others")
      ->capture_default_str();
  verb.add_option("--mu-k", states.mu_k, "kinetic friction")->capture_default_str();
  verb.add_option("--mu-s", states.mu_s, "static friction; mu_k where it is not given");
  verb.add_option("--e-t", states.e_t,
                  "tangential restitution of what sticks, in [0, 1]; below 0, down to -1, only "
                  "Whittaker's law takes it")
      ->capture_default_str();
  verb.add_flag("--json", states.json, "JSON instead of text");
  verb.add_option("--routh", states.routh,
                  "CSV of Routh's construction for the first state, for a plot");
  verb.add_option("--csv", csv, "of a system: table to write");
  verb.add_option(
      "--out", states.out,
      "of an experiment: folder to write (out); of a system or states: JSON file to write");
}

// What one way to predict reads is refused beside another, where it would silently not count.
int PredictCommandOf(const CLI::App& verb, impactlab::StageArguments stage,
                     const impactlab::PredictStatesArguments& states,
                     const std::filesystem::path& csv) {
  using impactlab::ConfigError;
  const bool is_file = !stage.experiment.empty();
  const bool is_system = is_file && stage.events.empty() && stage.fit.empty() &&
                         impactlab::IsSystemFile(stage.experiment);
  if (!is_system && !csv.empty())
    throw ConfigError("predict: found --csv without a system file, allowed with one");
  if (verb.count("--mu-s") > 0 && std::isnan(states.mu_s))
    throw ConfigError("--mu-s: found nan, allowed a number of at least mu_k");
  if (verb.count("--a-per-kg") > 0 && verb.count("--lever-m") > 0)
    throw ConfigError(
        "predict: found --lever-m beside --a-per-kg, allowed one of them: both say how the contact "
        "yields");
  if (!is_file) return impactlab::PredictStatesCommand(states);
  for (const char* option :
       {"--states", "--v-minus-m-per-s", "--a-per-kg", "--lever-m", "--mass-kg", "--inertia-kg-m2",
        "--theta-dot-rad-per-s", "--e", "--mu-k", "--mu-s", "--e-t", "--routh"}) {
    if (verb.count(option) > 0)
      throw ConfigError(
          fmt::format("predict: found {} beside {}, allowed for states alone: the file says it",
                      option, is_system ? "a system file" : "an experiment"));
  }
  if (is_system)
    return impactlab::PredictSystemCommand({stage.experiment, states.json, states.out, csv});
  if (stage.events.empty() || stage.fit.empty())
    throw ConfigError(
        "predict: found an experiment without --events or --fit, allowed both; a system or states "
        "of their own need no experiment");
  if (!states.out.empty()) stage.out = states.out;
  return impactlab::PredictCommand(stage);
}

int Main(int argc, char** argv) {
  using namespace impactlab;
  CLI::App app(
      "Experimental impact mechanics: recordings of drops and throws in, friction, restitution and "
      "a validation table out.",
      "impactlab");
  app.formatter(std::make_shared<pipelines::HelpFormatter>());
  app.set_version_flag("--version", "impactlab " + ProgramVersion());
  app.require_subcommand(1);

  int code = 0;
  pipelines::SharedOptions shared;
  const auto on = [&](CLI::App* verb, const std::function<int()>& command) {
    verb->callback(
        [&code, &shared, verb, command] { code = pipelines::RunShared(*verb, shared, command); });
  };
  RunArguments run;
  run.command = Quoted(argc, argv);
  auto* run_verb =
      app.add_subcommand("run", "recordings to events, audit, fit, validation table and report");
  AddRunOptions(*run_verb, run);
  run_verb->add_flag("!--no-report", run.report, "leave report.html out");
  run_verb->add_flag("--tables", run.tables,
                     "the validation table as CSV, Markdown, LaTeX and HTML as well");
  run_verb
      ->add_option("--bootstrap", run.bootstrap,
                   "resamples over recordings, instead of the experiment's")
      ->check(pipelines::WholeNumber(0, 100000));
  run_verb
      ->add_option(
          "--bounces", run.bounces,
          "follow recordings past their first impact, with so many draws each; 32 is enough")
      ->check(pipelines::WholeNumber(0, 100000));
  on(run_verb, [&] { return RunCommand(run, pipelines::program_cancellation); });

  auto* reconstruct_verb =
      app.add_subcommand("reconstruct", "recordings to events.csv, motion.csv and audit.json");
  AddRunOptions(*reconstruct_verb, run);
  on(reconstruct_verb, [&] { return ReconstructCommand(run, pipelines::program_cancellation); });

  StageArguments stage;
  auto* identify_verb = app.add_subcommand("identify", "events.csv to fit.json");
  AddStageOptions(*identify_verb, stage, false);
  on(identify_verb, [&] { return IdentifyCommand(stage); });
  PredictStatesArguments states;
  auto* predict_verb =
      app.add_subcommand("predict",
                         "a system, a state, or a table of states, through every law of impact; or "
                         "events.csv and fit.json to predictions.csv");
  std::filesystem::path system_csv;
  AddPredictOptions(*predict_verb, stage, states, system_csv);
  on(predict_verb, [&] { return PredictCommandOf(*predict_verb, stage, states, system_csv); });
  auto* validate_verb = app.add_subcommand(
      "validate", "events.csv and fit.json to validation.csv, in sample and k-fold");
  AddStageOptions(*validate_verb, stage, true);
  validate_verb->add_flag("--tables", stage.tables,
                          "the table as Markdown, LaTeX and HTML as well");
  on(validate_verb, [&] { return ValidateCommand(stage); });

  AuditArguments audit;
  auto* audit_verb = app.add_subcommand(
      "audit", "tables of impacts as printed: do they agree with themselves, and with the laws");
  audit_verb->add_option("file", audit.file, "published tables (YAML)")->required();
  audit_verb->add_option("--out", audit.out, "folder to write")->capture_default_str();
  audit_verb->add_flag("--quiet", audit.quiet, "no summary");
  on(audit_verb, [&] { return AuditCommand(audit); });

  CoefficientArguments coefficient;
  auto* coefficient_verb = app.add_subcommand("coefficient",
                                              "friction and restitution from the readings of bench "
                                              "tests, each with its uncertainty budget");
  coefficient_verb->add_option("file", coefficient.file, "readings (YAML)")->required();
  coefficient_verb->add_option("--out", coefficient.out, "folder to write")->capture_default_str();
  coefficient_verb->add_flag("--quiet", coefficient.quiet, "no summary");
  on(coefficient_verb, [&] { return CoefficientCommand(coefficient); });

  std::filesystem::path cases, outcomes = "outcomes.json", scene, folder = "out";
  auto* solve_verb =
      app.add_subcommand("solve", "exact outcomes of single impacts: cases.json to outcomes.json");
  solve_verb->add_option("cases", cases, "JSON array of cases")->required();
  solve_verb->add_option("--out", outcomes, "file to write")->capture_default_str();
  on(solve_verb, [&] { return SolveCommand(cases, outcomes); });
  auto* synth_verb = app.add_subcommand(
      "synth", "synthetic recordings, or pictures of a board, with known truth from a scene file");
  synth_verb->add_option("scene", scene, "scene file (YAML)")->required();
  synth_verb->add_option("--out", folder, "folder to write")->capture_default_str();
  on(synth_verb, [&] { return SynthCommand(scene, folder); });

  MapArguments map;
  auto* map_verb = app.add_subcommand(
      "map", "parameter maps of single impacts: sweep files to CSV, pictures and a gallery");
  map_verb->add_option("files", map.files, "sweep files (YAML)")->required();
  map_verb->add_option("--out", map.out, "folder to write")->capture_default_str();
  map_verb->add_option("--threads", map.threads, "threads; 0: one a core")
      ->check(pipelines::WholeNumber(0, 256))
      ->capture_default_str();
  map_verb->add_flag("--quiet", map.quiet, "no progress, no summary");
  on(map_verb, [&] { return MapCommand(map); });

  SimulateArguments simulate;
  auto* simulate_verb = app.add_subcommand(
      "simulate",
      "bodies followed through flight, contact and impacts: a scenario file to tables and a page");
  simulate_verb->add_option("file", simulate.file, "scenario file (YAML)")->required();
  simulate_verb->add_option("--out", simulate.out, "folder to write")->capture_default_str();
  simulate_verb->add_option("--video", simulate.video,
                            "video to write as well (mp4, mkv, mov, avi)");
  simulate_verb->add_option("--speed", simulate.speed, "seconds of motion a second of video")
      ->capture_default_str();
  simulate_verb->add_flag("!--no-page", simulate.page, "leave page.html out");
  simulate_verb->add_flag("--quiet", simulate.quiet, "no summary");
  on(simulate_verb, [&] { return SimulateCommand(simulate); });

  CampaignArguments campaign;
  auto* campaign_verb = app.add_subcommand("campaign",
                                           "several experiments as one: runs, models of the "
                                           "coefficients over them, differences between them");
  campaign_verb->add_option("file", campaign.file, "campaign file (YAML)")->required();
  campaign_verb
      ->add_option("--out", campaign.out, "folder to write; the run of every member lies in it")
      ->capture_default_str();
  campaign_verb->add_option("--threads", campaign.threads, "threads; 0: one a core")
      ->check(pipelines::WholeNumber(0, 256))
      ->capture_default_str();
  campaign_verb->add_flag("--quiet", campaign.quiet, "no progress, no summary");
  campaign_verb->add_flag("--force", campaign.force, kForce);
  campaign.command = run.command;
  on(campaign_verb, [&] { return CampaignCommand(campaign); });

  DiagramArguments diagram;
  auto* diagram_verb = app.add_subcommand(
      "diagram",
      "bifurcation diagram of a scenario: a diagram file to tables, pictures and a page");
  diagram_verb->add_option("file", diagram.file, "diagram file (YAML)")->required();
  diagram_verb
      ->add_option("--out", diagram.out,
                   "folder to write; one that was interrupted is gone on with")
      ->capture_default_str();
  diagram_verb->add_option("--threads", diagram.threads, "threads; 0: one a core")
      ->check(pipelines::WholeNumber(0, 256))
      ->capture_default_str();
  diagram_verb->add_flag("--quiet", diagram.quiet, "no progress, no summary");
  on(diagram_verb, [&] { return DiagramCommand(diagram); });

  DoctorArguments doctor;
  auto* doctor_verb = app.add_subcommand(
      "doctor", "examines the time base of recordings before anything is measured in them");
  doctor_verb->add_option("files", doctor.files, "videos, or folders of pictures")->required();
  doctor_verb->add_option("--reference", doctor.reference,
                          "clip of the same camera (its calibration) to compare the view with");
  doctor_verb->add_option(
      "--rate-hz", doctor.rate,
      "true frame rate, where the files do not know it (slow motion, pictures)");
  doctor_verb->add_option("--stamps", doctor.stamps, "CSV with a column t_s, one row a frame");
  doctor_verb->add_option("--exposure-s", doctor.exposure, "exposure time; 0: not known");
  doctor_verb->add_option("--t-line-s", doctor.t_line,
                          "row time of a rolling shutter; 0: not known");
  doctor_verb->add_option("--max-frames", doctor.max_frames, "frames examined of each file")
      ->check(pipelines::WholeNumber(1, 100000000))
      ->capture_default_str();
  doctor_verb->add_flag("--json", doctor.json, "JSON instead of text");
  doctor_verb->add_option("--out", doctor.out, "JSON file to write as well");
  on(doctor_verb, [&] { return DoctorCommand(doctor); });

  ConvertArguments convert;
  auto* convert_verb =
      app.add_subcommand("convert", "cameras from and to the files of other programs");
  convert_verb
      ->add_option("file", convert.file,
                   "rig.yaml, OpenCV, Kalibr, mrcal, aniposelib, DLT or MATLAB file")
      ->required();
  convert_verb->add_option("--export", convert.exports,
                           "FORMAT=PATH with impactlab, opencv, kalibr, mrcal, aniposelib; without "
                           "it the cameras are shown");
  convert_verb->add_option("--format", convert.format, "of the file, where it is not recognised");
  convert_verb
      ->add_option("--size-px", convert.size,
                   "width and height of the pictures, where the file does not say")
      ->expected(2);
  convert_verb->add_option("--length-unit-m", convert.length_unit,
                           "one unit of length of the file; 0: what it says, else a metre");
  convert_verb->add_option("--extrinsics", convert.extrinsics,
                           "OpenCV: the file with R and T where it is another one");
  convert_verb->add_flag("--relative", convert.relative,
                         "give up the pose of the first camera where a format cannot carry it");
  on(convert_verb, [&] { return ConvertCommand(convert); });

  PlanArguments plan;
  auto* plan_verb = app.add_subcommand(
      "plan", "what an experiment would say of friction and restitution, before anybody films");
  plan_verb->add_option("file", plan.file, "plan file (YAML)")->required();
  plan_verb->add_option("--out", plan.out, "folder to write")->capture_default_str();
  plan_verb->add_option("--threads", plan.threads, "threads; 0: one a core")
      ->check(pipelines::WholeNumber(0, 256))
      ->capture_default_str();
  plan_verb->add_flag("!--no-page", plan.page, "leave plan.html out");
  plan_verb->add_flag("--quiet", plan.quiet, "no progress, no summary");
  on(plan_verb, [&] { return PlanCommand(plan); });

  CalibrateArguments calibrate;
  calibrate.command = run.command;
  auto* calibrate_verb = app.add_subcommand(
      "calibrate", "pictures or videos of a board to rig.yaml, with a certificate");
  calibrate_verb->add_option("file", calibrate.file, "calibration file (YAML)")->required();
  calibrate_verb->add_option("--out", calibrate.out, "folder to write")->capture_default_str();
  calibrate_verb->add_option("--threads", calibrate.threads, "threads; 0: one a core")
      ->check(pipelines::WholeNumber(0, 256))
      ->capture_default_str();
  calibrate_verb->add_flag("--quiet", calibrate.quiet, "no progress, no summary");
  calibrate_verb->add_flag("--force", calibrate.force, kForce);
  calibrate_verb->add_flag("!--no-report", calibrate.report, "leave calibration.html out");
  calibrate_verb->add_option("--export", calibrate.exports,
                             "FORMAT=PATH: the rig in a foreign format as well");
  on(calibrate_verb, [&] { return CalibrateCommand(calibrate); });

  TrackArguments track;
  track.command = run.command;
  auto* track_verb = app.add_subcommand("track", "videos of a marked body to tracks.csv");
  track_verb->add_option("file", track.file, "tracking file (YAML)")->required();
  track_verb->add_option("--out", track.out, "folder to write")->capture_default_str();
  track_verb->add_option("--overlay", track.overlay,
                         "videos with the tracks drawn in, NAME_RECORDING_CAMERA.mp4 for NAME.mp4");
  track_verb->add_option("--threads", track.threads, "threads; 0: one a core")
      ->check(pipelines::WholeNumber(0, 256))
      ->capture_default_str();
  track_verb->add_flag("!--no-sheets", track.sheets,
                       "leave the pictures of the frames about the impacts out");
  track_verb->add_flag("!--no-report", track.report, "leave tracking.html out");
  track_verb->add_flag("--quiet", track.quiet, "no progress, no summary");
  track_verb->add_flag("--force", track.force, kForce);
  on(track_verb, [&] { return TrackCommand(track); });

  ImportArguments import;
  auto* import_verb =
      app.add_subcommand("import", "two-dimensional tracks of other programs to tracks.csv");
  import_verb
      ->add_option("files", import.files,
                   "DLTdv, Tracker or DeepLabCut export, or a table; one recording each")
      ->required();
  import_verb->add_option("--out", import.out, "file to write")->capture_default_str();
  import_verb->add_option(
      "--format", import.format,
      "impactlab, dltdv, tracker, deeplabcut, table, where it is not recognised");
  import_verb->add_option("--cameras", import.cameras, "names, in the order of the file's cameras")
      ->delimiter(',');
  import_verb->add_option("--rate-hz", import.rate, "frame rate, for files that count frames");
  import_verb->add_option("--height-px", import.height,
                          "height of the pictures, for files that count rows from below");
  import_verb->add_flag("--rows-from-top", import.rows_from_top, "DLTdv from version 7 on");
  import_verb
      ->add_option("--sd-px", import.sd,
                   "standard deviation of a point, where the file does not say")
      ->capture_default_str();
  import_verb->add_option("--corrections", import.corrections, "corrections.csv to apply");
  on(import_verb, [&] { return ImportCommand(import); });

  ExportArguments markers;
  auto* export_verb =
      app.add_subcommand("export",
                         "a run folder, a table or a fit as .mat, .h5, .json, .csv or .tex; "
                         "markers in space as CSV, TRC or C3D; an .svg as .pdf");
  export_verb
      ->add_option(
          "file", markers.file,
          "run folder, CSV table or fit.json; tracks.csv, or a marker CSV, TRC or C3D; an .svg")
      ->required();
  export_verb
      ->add_option("--out", markers.out,
                   "file to write; of several recordings NAME_RECORDING.trc for NAME.trc")
      ->required();
  export_verb->add_option("--rig", markers.rig, "rig.yaml of the cameras, for tracks");
  export_verb->add_option("--recording", markers.recording, "the one to take, of tracks");
  export_verb->add_option("--format", markers.format,
                          "csv, trc, c3d, where the name does not say it");
  export_verb
      ->add_option("--up-axis", markers.up,
                   "axis of the file written that points up: x, y, z; OpenSim has y")
      ->capture_default_str();
  export_verb->add_option("--up-axis-of-file", markers.up_of_file,
                          "the same of a marker file read; else what a C3D says, else z");
  export_verb->add_option("--unit", markers.unit, "m or mm, of TRC and C3D")->capture_default_str();
  on(export_verb, [&] { return ExportCommand(markers); });

  BoardArguments board;
  auto* board_verb = app.add_subcommand("board", "a calibration board to print at true scale");
  board_verb->add_option("--kind", board.kind, "chessboard, charuco, circles or asymmetric-circles")
      ->capture_default_str();
  board_verb
      ->add_option("--corners", board.corners,
                   "inner corners (squares less one) or discs, columns x rows")
      ->capture_default_str();
  board_verb
      ->add_option("--square-m", board.square,
                   "side of a square; spacing of discs (asymmetric grids: half of it)")
      ->required();
  board_verb->add_option("--marker-m", board.marker, "side of a marker; 0: 0.75 of the square");
  board_verb->add_option("--disc-diameter-m", board.disc_diameter,
                         "diameter of a disc; 0: half of the distance between discs");
  board_verb->add_option("--dictionary", board.dictionary, "of ChArUco markers")
      ->capture_default_str();
  board_verb->add_flag("--legacy", board.legacy, "ChArUco pattern of OpenCV before 4.6");
  board_verb
      ->add_option("--page", board.page, "a4, a3, a2, a1, a0, letter, or WIDTHxHEIGHT in metres")
      ->capture_default_str();
  board_verb->add_option("-o,--out", board.out, "file to write: .pdf or .svg")
      ->capture_default_str();
  on(board_verb, [&] { return BoardCommand(board); });

  NewArguments fresh;
  std::string kinds = "what goes in; one of:";
  for (const NewKind& kind : NewKinds()) kinds += fmt::format(" {} ({});", kind.name, kind.what);
  kinds.pop_back();
  auto* new_verb = app.add_subcommand(
      "new", "a commented folder to fill in: experiment, campaign, scenario, table");
  new_verb->add_option("kind", fresh.kind, kinds)->required();
  new_verb
      ->add_option("folder", fresh.folder, "folder to make, or to add to; no file is written over")
      ->required();
  on(new_verb, [&] { return NewCommand(fresh); });
  CheckArguments check;
  auto* check_verb = app.add_subcommand(
      "check", "what is there of an experiment, what is missing, and what to do about it");
  check_verb->add_option("paths", check.paths, "folders, configurations, tables or videos")
      ->required();
  check_verb->add_flag("--json", check.json, "JSON instead of text");
  on(check_verb, [&] { return CheckCommand(check); });
  ReferenceArguments reference;
  auto* reference_verb = app.add_subcommand(
      "reference", "keys of the configuration files: meaning, unit, allowed values, default");
  reference_verb->add_option(
      "kind", reference.kind,
      "of file: experiment, calibration, tracking, ...; without it all kinds are named");
  reference_verb->add_option("key", reference.key, "a key, or a map with all that is in it");
  reference_verb->add_option("--out", reference.out, "Markdown file of all keys to write");
  reference_verb->add_option(
      "--examples", reference.examples,
      "folder of complete files to make the reference from anew (data/reference)");
  on(reference_verb, [&] { return ReferenceCommand(reference); });
  std::string shell;
  auto* completion_verb =
      app.add_subcommand("completion", "a script that completes verbs and options in a shell");
  completion_verb->add_option("shell", shell, "bash, zsh or fish")->required();
  completion_verb->callback([&] { fmt::print("{}", pipelines::CompletionScript(app, shell)); });
  pipelines::AddExamples(&app);
  pipelines::AddSharedOptions(&app, &shared);

  // An empty name is no wish to write beside whatever lies in the current folder.
  for (CLI::App* verb : app.get_subcommands({}))
    if (CLI::Option* out = verb->get_option_no_throw("--out"))
      out->check([](const std::string& name) {
        return name.empty() ? "found an empty name, allowed a folder or file" : std::string();
      });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Fail(impactlab::kUsage, pipelines::ParseFault(app, argc, argv, error.what()).c_str());
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  impactlab::pipelines::CancelOnSignals();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  json_wanted = std::any_of(argv + std::min(argc, 1), argv + argc, [](const char* word) {
    return std::string_view(word) == "--json" || std::string_view(word).starts_with("--json=");
  });
  try {
    const int code = Main(argc, argv);
    if (std::fflush(stdout) != 0)
      return Fail(impactlab::kUnusable, "standard output cannot be written");
    return code;
  } catch (const impactlab::ConfigError& error) {
    return Fail(impactlab::kUsage, error.what());
  } catch (const impactlab::DataError& error) {
    return Fail(impactlab::kUnusable, error.what());
  } catch (const impactlab::OutputError& error) {
    return Fail(impactlab::kUnusable, error.what());
  } catch (const impactlab::Interrupted& error) {
    return Fail(impactlab::kInterrupted, error.what());
  } catch (const std::bad_alloc&) {
    return Fail(impactlab::kUnusable, "out of memory");
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0)
      return Fail(impactlab::kUnusable, "standard output cannot be written");
    return Fail(impactlab::kInternal, error.what());
  }
}
