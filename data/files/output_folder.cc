#include "data/files/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/glob.h"
#include "data/files/sha256.h"
#include "data/files/text.h"

namespace impactlab {
namespace {

namespace fs = std::filesystem;
using ManifestJson = nlohmann::json;

constexpr const char* kManifestName = "manifest.json";
constexpr const char* kManifestJournal = ".manifest.journal";
constexpr const char* kManifestSchema = "impactlab.manifest/1";
constexpr const char* kKeptStages = ".stages";
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

// Contents that a file may have, by its name relative to the folder.
using Digests = std::map<std::string, std::set<std::string>>;

// What stands under a name.
enum class Kind { kNothing, kFile, kFolder, kOther };
Kind KindOf(const fs::path& path) {
  std::error_code error;
  switch (fs::symlink_status(path, error).type()) {
    case fs::file_type::none:
    case fs::file_type::not_found:
      return Kind::kNothing;
    case fs::file_type::regular:
      return Kind::kFile;
    case fs::file_type::directory:
      return Kind::kFolder;
    default:
      return Kind::kOther;
  }
}

// A name that stays inside its folder.
bool IsInside(const std::string& name) {
  const fs::path path(name);
  return !name.empty() && !path.has_root_path() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

// Files of a manifest; nothing where the file is none.
std::optional<Digests> ReadManifest(const fs::path& path) {
  if (KindOf(path) != Kind::kFile) return std::nullopt;
  try {
    const ManifestJson json = ManifestJson::parse(ReadFile(path, kMostBytes));
    if (json.at("schema") != kManifestSchema) return std::nullopt;
    Digests out;
    for (const auto& [name, digest] : json.at("files").items())
      if (IsInside(name)) out[name].insert(digest.get<std::string>());
    return out;
  } catch (const DataError&) {
  } catch (const ManifestJson::exception&) {
  }
  return std::nullopt;
}

void AddJournal(const fs::path& path, Digests* out) {
  if (KindOf(path) != Kind::kFile) return;
  std::string text;
  try {
    text = ReadFile(path, kMostBytes);
  } catch (const DataError&) {
    return;
  }
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const ManifestJson line = ManifestJson::parse(text.substr(at, end - at), nullptr, false);
    if (!line.is_array() || line.size() != 2 || !line[0].is_string() || !line[1].is_string())
      continue;
    if (IsInside(line[0])) (*out)[line[0]].insert(line[1].get<std::string>());
  }
}

// A job may also write into a folder inside the folder of another one, or the other way round: the
// manifests of the folders above list its files too.
void AddManifestsAbove(const fs::path& root, Digests* out) {
  std::string below;
  for (fs::path at = root; at.has_relative_path(); at = at.parent_path()) {
    below.insert(0, at.filename().generic_string() + "/");
    const std::optional<Digests> files = ReadManifest(at.parent_path() / kManifestName);
    if (!files) continue;
    for (const auto& [name, digests] : *files)
      if (name.starts_with(below))
        (*out)[name.substr(below.size())].insert(digests.begin(), digests.end());
  }
}

bool IsRunOfOurs(const fs::path& root) {
  if (KindOf(root / "run.yaml") != Kind::kFile) return false;
  try {
    const std::string text = "\n" + ReadFile(root / "run.yaml", kMostBytes);
    return text.find("\nschema: impactlab.") != std::string::npos;
  } catch (const DataError&) {
    return false;
  }
}

// Looks for foreign things under the names of a job.
class FolderSearch {
 public:
  FolderSearch(const fs::path& root, const Digests& own, bool adopt)
      : root_(root), own_(own), adopt_(adopt) {}

  void Look(const std::string& pattern) {
    std::vector<std::string> parts;
    for (const fs::path& part : fs::path(pattern)) parts.push_back(part.string());
    Look("", parts, 0);
  }

  std::map<std::string, bool> foreign;          // whether it is one of ours that was changed
  std::map<std::string, std::string> verified;  // own files with their digests
  std::vector<std::string> adopted;

 private:
  void Look(const std::string& folder, const std::vector<std::string>& parts, std::size_t at) {
    const bool literal = parts[at].find_first_of("*?[") == std::string::npos;
    std::vector<std::string> found;
    if (literal) {
      found.push_back(parts[at]);
    } else {
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(root_ / folder, error))
        if (const std::string name = entry.path().filename().string(); MatchesGlob(parts[at], name))
          found.push_back(name);
    }
    for (const std::string& one : found) {
      const std::string name = folder.empty() ? one : fmt::format("{}/{}", folder, one);
      const Kind kind = KindOf(root_ / name);
      if (kind == Kind::kNothing) continue;
      const bool last = at + 1 == parts.size();
      if (kind != (last ? Kind::kFile : Kind::kFolder))
        foreign[name] = false;
      else if (last)
        Judge(name);
      else
        Look(name, parts, at + 1);
    }
  }

  void Judge(const std::string& name) {
    if (verified.contains(name) || foreign.contains(name)) return;
    Digests listed;
    if (const auto found = own_.find(name); found != own_.end()) listed[name] = found->second;
    // of a job that wrote into a folder inside this one
    for (std::size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1))
      if (const auto inner = Inner(name.substr(0, slash)).find(name.substr(slash + 1));
          inner != Inner(name.substr(0, slash)).end())
        listed[name].insert(inner->second.begin(), inner->second.end());
    std::string digest;
    try {
      if (adopt_ || listed.contains(name)) digest = Sha256File(root_ / name);
    } catch (const DataError&) {  // what cannot be read cannot be known
    }
    const bool is_listed = listed.contains(name);
    if (digest.empty() || (is_listed && !listed[name].contains(digest)) ||
        (!is_listed && !adopt_)) {
      foreign[name] = is_listed;
      return;
    }
    if (!is_listed) adopted.push_back(name);
    verified[name] = digest;
  }

  const Digests& Inner(const std::string& folder) {
    const auto found = inner_.find(folder);
    if (found != inner_.end()) return found->second;
    Digests files = ReadManifest(root_ / folder / kManifestName).value_or(Digests{});
    AddJournal(root_ / folder / kManifestJournal, &files);
    return inner_[folder] = std::move(files);
  }

  const fs::path root_;
  const Digests& own_;
  const bool adopt_;
  std::map<std::string, Digests> inner_;
};

// Renames what is foreign to the first free name of NAME.aside, NAME.aside2, ...
std::string MoveAside(const fs::path& path) {
  for (int count = 1;; ++count) {
    std::string name =
        path.filename().string() + ".aside" + (count > 1 ? std::to_string(count) : "");
    const fs::path to = path.parent_path() / name;
    if (KindOf(to) != Kind::kNothing) continue;
    if (::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0)
      return name;
    int error = errno;
    if (error == EEXIST) continue;
    // Not every file system knows how to rename without replacing.
    if (error == EINVAL || error == ENOSYS) {
      if (std::rename(path.c_str(), to.c_str()) == 0) return name;
      error = errno;
    }
    throw OutputError(
        fmt::format("{}: cannot be moved aside: {}", path.string(), std::strerror(error)));
  }
}

std::string NamesOf(const std::map<std::string, bool>& foreign, bool changed) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> names;
  for (const auto& [name, is_changed] : foreign)
    if (is_changed == changed) names.push_back(FindTextFault(name) ? Excerpt(name) : name);
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return JoinNames(names) + (more > 0 ? fmt::format(" and {} more", more) : "");
}

[[noreturn]] void Refuse(const fs::path& folder, const std::map<std::string, bool>& foreign) {
  std::string found = NamesOf(foreign, false);
  if (!found.empty()) found += ", not written by ImpactLab";
  if (const std::string changed = NamesOf(foreign, true); !changed.empty())
    found += fmt::format("{}{}, changed since ImpactLab wrote it", found.empty() ? "" : ", and ",
                         changed);
  throw ConfigError(fmt::format(
      "{}: found {}; allowed under names that will be written are only files that {} lists, as it "
      "lists them; give another --out, or --move-aside to rename them",
      folder.string(), found, kManifestName));
}

// Digests of the folder, and what is foreign in it.
struct Found {
  Found(fs::path canonical, Digests files, bool adopt)
      : root(std::move(canonical)), own(std::move(files)), search(root, own, adopt) {}
  fs::path root;
  Digests own;
  FolderSearch search;
};

std::unique_ptr<Found> Examine(const fs::path& folder, const std::vector<std::string>& names) {
  std::error_code error;
  const fs::path whole = fs::absolute(folder.empty() ? "." : folder).lexically_normal();
  fs::path root = fs::weakly_canonical(whole, error);
  if (error) root = whole;
  if (!root.has_filename()) root = root.parent_path();
  const fs::path manifest = root / kManifestName, journal = root / kManifestJournal;
  std::optional<Digests> listed = ReadManifest(manifest);
  const Kind kind_of_manifest = KindOf(manifest), kind_of_journal = KindOf(journal);
  const bool foreign_manifest = kind_of_manifest != Kind::kNothing && !listed;
  Digests own = listed ? std::move(*listed) : Digests{};
  AddJournal(journal, &own);
  AddManifestsAbove(root, &own);
  // Until a run writes its run.yaml anew, whatever else is written into the folder.
  const bool adopt = !own.contains("run.yaml") && IsRunOfOurs(root);
  auto out = std::make_unique<Found>(std::move(root), std::move(own), adopt);
  for (const std::string& name : names) out->search.Look(name);
  if (foreign_manifest) out->search.foreign[kManifestName] = false;
  if (kind_of_journal != Kind::kNothing && kind_of_journal != Kind::kFile)
    out->search.foreign[kManifestJournal] = false;
  const Kind stages = KindOf(out->root / kKeptStages);
  if (stages != Kind::kNothing && stages != Kind::kFolder) out->search.foreign[kKeptStages] = false;
  return out;
}

}  // namespace

struct OutputFolder::State {
  fs::path folder, root;  // as given; canonical
  std::vector<std::string> notes;
  std::mutex mutex;
  Digests files;
  std::set<std::string> verified;  // known to be ours as they stand
  bool changed = false;            // the manifest does not hold all of it yet
  bool has_journal = false;

  bool IsOurs(const std::string& name) {
    const Kind kind = KindOf(root / name);
    if (kind == Kind::kNothing || (kind == Kind::kFile && verified.contains(name))) return true;
    const auto listed = files.find(name);
    if (kind != Kind::kFile || listed == files.end()) return false;
    return listed->second.contains(Sha256File(root / name));
  }

  void Note(const std::string& name, const std::string& digest) {
    const std::string line =
        ManifestJson{name, digest}.dump(-1, ' ', true, ManifestJson::error_handler_t::replace) +
        "\n";
    const fs::path path = root / kManifestJournal;
    const int fd =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    const bool written =
        fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (!written)
      throw OutputError(fmt::format("{}: cannot write: {}", path.string(), std::strerror(error)));
    files[name].insert(digest);
    verified.insert(name);
    changed = has_journal = true;
  }

  void Finish() {
    const std::lock_guard lock(mutex);
    if (!changed) return;
    ManifestJson listed = ManifestJson::object();
    for (auto& [name, digests] : files) {
      if (KindOf(root / name) != Kind::kFile) continue;
      std::string digest = *digests.begin();
      if (digests.size() > 1) {
        const std::string now = Sha256File(root / name);
        if (digests.contains(now)) digest = now;
      }
      listed[name] = digest;
    }
    const ManifestJson json = {{"schema", kManifestSchema}, {"files", std::move(listed)}};
    WriteFile(root / kManifestName,
              json.dump(1, ' ', false, ManifestJson::error_handler_t::replace) + "\n");
    if (has_journal) ::unlink((root / kManifestJournal).c_str());
    changed = has_journal = false;
  }
};

namespace {

// Folders that jobs of this process write into. Writers do not know whose folder they write in, so
// it is looked up by the path of the file.
struct OpenFolders {
  std::mutex mutex;
  std::vector<std::pair<fs::path, std::weak_ptr<void>>> all;
};
OpenFolders& Opened() {
  static OpenFolders opened;
  return opened;
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& folder, const std::vector<std::string>& names,
                           bool move_aside)
    : state_(std::make_shared<State>()) {
  const std::unique_ptr<Found> found = Examine(folder, names);
  State& state = *state_;
  state.folder = folder;
  state.root = found->root;
  if (!found->search.foreign.empty() && !move_aside) Refuse(folder, found->search.foreign);
  for (const auto& [name, changed] : found->search.foreign)
    state.notes.push_back(
        fmt::format("{}: renamed to {}", (folder / name).string(), MoveAside(state.root / name)));
  state.files = std::move(found->own);
  for (const auto& [name, changed] : found->search.foreign) state.files.erase(name);
  for (const auto& [name, digest] : found->search.verified) {
    state.verified.insert(name);
    state.files[name].insert(digest);
  }
  if (!found->search.adopted.empty()) {
    for (const std::string& name : found->search.adopted)
      state.Note(name, found->search.verified.at(name));
    state.notes.push_back(fmt::format(
        "{}: has a run.yaml that no {} lists, as folders of earlier versions; {} file{} with names "
        "that will be written {} taken for its own, though no digest tells whether somebody "
        "changed "
        "them",
        folder.string(), kManifestName, found->search.adopted.size(),
        found->search.adopted.size() == 1 ? "" : "s",
        found->search.adopted.size() == 1 ? "is" : "are"));
  }
  OpenFolders& opened = Opened();
  const std::lock_guard lock(opened.mutex);
  opened.all.emplace_back(state.root, state_);
}

OutputFolder::~OutputFolder() {
  try {
    state_->Finish();
  } catch (const std::exception&) {  // the journal is there
  }
  OpenFolders& opened = Opened();
  const std::lock_guard lock(opened.mutex);
  std::erase_if(opened.all, [&](const auto& one) {
    const auto state = one.second.lock();
    return !state || state == state_;
  });
}

const std::vector<std::string>& OutputFolder::notes() const { return state_->notes; }

void OutputFolder::Finish() { state_->Finish(); }

std::shared_ptr<OutputFolder::State> OutputFolder::Around(const fs::path& file, std::string* name) {
  std::error_code error;
  OpenFolders& opened = Opened();
  const std::lock_guard lock(opened.mutex);
  if (opened.all.empty()) return nullptr;
  const fs::path whole = fs::absolute(file, error).lexically_normal();
  const fs::path there = fs::weakly_canonical(whole.parent_path(), error) / whole.filename();
  std::shared_ptr<State> around;
  for (const auto& [root, folder] : opened.all) {
    const std::string relative = there.lexically_relative(root).generic_string();
    if (relative.empty() || relative == "." || relative == ".." || relative.starts_with("../"))
      continue;
    // the innermost one, and of equals the last
    if (around && root.native().size() < around->root.native().size()) continue;
    around = std::static_pointer_cast<State>(folder.lock());
    *name = relative;
  }
  if (*name == kManifestName || name->starts_with(std::string(kKeptStages) + "/")) return nullptr;
  return around;
}

void CheckOutputFolder(const fs::path& folder, const std::vector<std::string>& names) {
  const std::unique_ptr<Found> found = Examine(folder, names);
  if (!found->search.foreign.empty()) Refuse(folder, found->search.foreign);
}

std::string LiteralPattern(std::string_view name) {
  std::string out;
  for (const char c : name)
    out += c == '*' || c == '?' || c == '[' ? fmt::format("[{}]", c) : std::string(1, c);
  return out;
}

void AnnounceOutput(const fs::path& file, const fs::path& content) {
  std::string name;
  const auto state = OutputFolder::Around(file, &name);
  if (!state) return;
  const std::string digest = Sha256File(content);
  const std::lock_guard lock(state->mutex);
  if (!state->IsOurs(name))
    throw OutputError(fmt::format(
        "{}: found a file that ImpactLab did not write or that was changed since, allowed one that "
        "{} lists, as it lists it",
        file.string(), (state->folder / kManifestName).string()));
  state->Note(name, digest);
}

bool RemoveOutput(const fs::path& file) {
  std::string name;
  std::error_code error;
  const auto state = OutputFolder::Around(file, &name);
  if (!state) return fs::is_regular_file(file, error) && fs::remove(file, error);
  const std::lock_guard lock(state->mutex);
  if (KindOf(file) != Kind::kFile || !state->IsOurs(name)) return false;
  const bool removed = fs::remove(file, error);
  if (removed && state->files.erase(name) > 0) state->changed = true;
  return removed;
}

void RemoveOutputs(const fs::path& folder, const std::vector<std::string>& names) {
  bool removed = false;
  for (const std::string& name : names) removed = RemoveOutput(folder / name) || removed;
  std::error_code not_empty;
  if (removed) fs::remove(folder, not_empty);
}

}  // namespace impactlab
