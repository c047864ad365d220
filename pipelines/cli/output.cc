#include "pipelines/cli/detail/output.h"

#include <fmt/format.h>

#include <cstdio>

#include "data/files/atomic_file.h"
#include "pipelines/cli/detail/exit_code.h"

namespace impactlab::pipelines {

std::unique_ptr<OutputFolder> OpenOutput(const std::filesystem::path& out,
                                         const std::vector<std::string>& names,
                                         const SharedOptions& shared) {
  CheckFolder(out, "--out");
  if (shared.dry_run) {
    if (!shared.move_aside) CheckOutputFolder(out, names);
    return nullptr;
  }
  auto folder = std::make_unique<OutputFolder>(out, names, shared.move_aside);
  for (const std::string& note : folder->notes()) fmt::print(stderr, "impactlab: note: {}\n", note);
  return folder;
}

int WithOutput(const std::filesystem::path& out, const std::vector<std::string>& names,
               const SharedOptions& shared, const std::function<int()>& work) {
  const std::unique_ptr<OutputFolder> folder = OpenOutput(out, names, shared);
  if (!folder) return kDone;
  const int code = work();
  folder->Finish();
  return code;
}

std::vector<std::string> NameWithin(const std::filesystem::path& out,
                                    const std::filesystem::path& path) {
  if (path.empty()) return {};
  const auto whole = [](const std::filesystem::path& any) {
    std::error_code error;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(any), error);
  };
  const std::string name =
      (whole(path.parent_path().empty() ? "." : path.parent_path()) / path.filename())
          .lexically_relative(whole(out))
          .generic_string();
  if (name.empty() || name == "." || name == ".." || name.starts_with("../")) return {};
  return {LiteralPattern(name)};
}

std::vector<std::string> CalibrationNames(const std::string& prefix) {
  std::vector<std::string> out;
  for (const char* name : {"rig.yaml", "calibration.json", "run.yaml", "calibration.html"})
    out.push_back(prefix + name);
  return out;
}

std::vector<std::string> TrackingNames(const std::string& prefix) {
  std::vector<std::string> out;
  for (const char* name : {"tracks.csv", "tracking.json", "tracking.html", "run.yaml",
                           "sheets/*.png", "frames/*.jpg", "frames/*.json"})
    out.push_back(prefix + name);
  return out;
}

std::vector<std::string> DiagnosticsNames() {
  return {"area.csv",      "edges.csv",       "law_comparison.csv",
          "specimens.csv", "restitution.csv", "scrutiny.json"};
}

std::vector<std::string> FormNames(const std::string& form) {
  std::vector<std::string> out;
  for (const char* extension : {".csv", ".md", ".tex"})
    out.push_back(LiteralPattern(form) + extension);
  return out;
}

std::vector<std::string> ValidationFormNames() {
  std::vector<std::string> out = FormNames("validation_table");
  out.emplace_back("validation_table.html");
  return out;
}

}  // namespace impactlab::pipelines
