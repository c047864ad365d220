#pragma once
// A folder that a job writes into, which may hold files of others.
//
// The folder's `manifest.json` lists the files that were written by ImpactLab, each with the
// SHA-256 of its content. While an OutputFolder is open, every file that AtomicFile (or another
// writer that calls AnnounceOutput) is about to put into it is noted in a journal before it takes
// its name, so that a job that is killed leaves no file it does not know again; Finish turns the
// journal into the manifest. A file is foreign where neither lists it with the content it has:
// somebody else made it, or somebody changed it since. Nothing foreign is ever written over or
// removed. Names in hidden folders (the kept stages of a run) are not listed.
//
// Folders of versions before 0.2 have no manifest. Where a folder has a `run.yaml` of ImpactLab
// that no manifest lists, files that are not listed and have names of the job are taken for its
// own.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace impactlab {

class OutputFolder {
 public:
  // `names`: every file that the job may write, relative to the folder, with `*`, `?` and `[...]`
  // as in data/files/glob.h within one part of a path. ConfigError where a foreign file, folder or
  // link has one of these names; with `move_aside` it is renamed instead: NAME.aside, NAME.aside2.
  // OutputError where that cannot be done. The folder need not exist.
  OutputFolder(const std::filesystem::path& folder, const std::vector<std::string>& names,
               bool move_aside = false);
  // Finishes, without an error where the manifest cannot be written: the journal is kept then.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // What was renamed, and that files were taken for the job's own without a manifest; sentences.
  const std::vector<std::string>& notes() const;

  // Writes the manifest; OutputError where it cannot. Files are noted until then, and foreign ones
  // protected.
  void Finish();

 private:
  friend void AnnounceOutput(const std::filesystem::path&, const std::filesystem::path&);
  friend bool RemoveOutput(const std::filesystem::path&);
  struct State;
  static std::shared_ptr<State> Around(const std::filesystem::path& file, std::string* name);

  std::shared_ptr<State> state_;
};

// Refuses foreign files as the constructor does; renames and notes nothing.
void CheckOutputFolder(const std::filesystem::path& folder, const std::vector<std::string>& names);

// A name, or several parts of a path, as a pattern that matches nothing else.
std::string LiteralPattern(std::string_view name);

// For writers: to be called before the file `content` is renamed to `file`. OutputError where that
// would write over a foreign file of an open OutputFolder. Elsewhere nothing happens.
void AnnounceOutput(const std::filesystem::path& file, const std::filesystem::path& content);

// Removes a file that an earlier job left; whether it did. In an open OutputFolder only files of
// its own are removed.
bool RemoveOutput(const std::filesystem::path& file);
// The same of several files in `folder`, and of the folder where that leaves it empty.
void RemoveOutputs(const std::filesystem::path& folder, const std::vector<std::string>& names);

}  // namespace impactlab
