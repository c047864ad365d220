// The verb that computes bifurcation diagrams.

#include "pipelines/simulate/diagram.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "data/base/progress.h"
#include "data/files/atomic_file.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/verb.h"

namespace impactlab::pipelines {

namespace {

struct DiagramArguments {
  std::filesystem::path file;
  // with the journal of a run that was interrupted it goes on
  std::filesystem::path out = "diagram";
  int threads = 0;
  bool quiet = false;
  SharedOptions shared;
};

int RunDiagram(const DiagramArguments& arguments) {
  const Diagram diagram = LoadDiagram(arguments.file);
  std::vector<std::string> names = {"diagram.csv", "periods.csv", "diagram.svg",
                                    "diagram_[0-9]*.svg", "index.html"};
  // The journal, which grows line by line, tells by its first one whose it is.
  if (!IsDiagramJournal(arguments.out / "journal.txt")) names.emplace_back("journal.txt");
  const auto folder = OpenOutput(arguments.out, names, arguments.shared);
  if (!folder) return kDone;
  ProgressOptions options;
  options.enabled = !arguments.quiet;
  std::optional<Progress> progress;
  const auto begin = [&](std::size_t left, std::size_t damaged) {
    if (damaged > 0 && !arguments.quiet)
      fmt::print(
          "{} lines of the journal in {} are damaged or follow one that is; their motions are "
          "computed again\n",
          damaged, arguments.out.string());
    if (left < diagram.size() && !arguments.quiet)
      fmt::print("{} of {} motions are in {}\n", diagram.size() - left, diagram.size(),
                 arguments.out.string());
    progress.emplace(diagram.path.stem().string(), static_cast<std::int64_t>(left), "motions",
                     options);
  };
  const std::vector<DiagramCell> cells =
      ComputeDiagram(diagram, arguments.out / "journal.txt",
                     {.threads = arguments.threads, .cancellation = &program_cancellation}, begin,
                     [&] { progress->Advance(); });
  progress->Finish();
  if (!diagram.y) WriteDiagramPoints(arguments.out / "diagram.csv", diagram, cells);
  WriteDiagramPeriods(arguments.out / "periods.csv", diagram, cells);
  for (std::size_t s = 0; s < (diagram.y ? diagram.starts.size() : 1); ++s)
    WriteFile(arguments.out / (s == 0 ? "diagram.svg" : fmt::format("diagram_{}.svg", s + 1)),
              DiagramSvg(diagram, cells, s));
  WriteDiagramPage(arguments.out / "index.html", diagram, cells);
  folder->Finish();
  const auto given_up = std::count_if(
      cells.begin(), cells.end(), [](const DiagramCell& cell) { return cell.end == "given_up"; });
  if (!arguments.quiet)
    fmt::print("{} motions, {} given up; written to {}\npage        {}\n", cells.size(), given_up,
               arguments.out.string(), (arguments.out / "index.html").string());
  return given_up == static_cast<std::ptrdiff_t>(cells.size()) ? kUnusable : kDone;
}

}  // namespace

Action AddDiagram(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<DiagramArguments>();
  verb.add_option("file", arguments->file, "diagram file (YAML)")->required();
  verb.add_option("--out", arguments->out,
                  "folder to write; one that was interrupted is gone on with")
      ->capture_default_str();
  AddThreads(verb, arguments->threads);
  AddQuiet(verb, arguments->quiet);
  return [arguments, &call] {
    arguments->shared = call.shared;
    return RunDiagram(*arguments);
  };
}

}  // namespace impactlab::pipelines
