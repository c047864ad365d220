#include "data/cache/stage_cache.h"

#include <fmt/format.h>
#include <link.h>
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"

namespace impactlab {
namespace {

constexpr std::size_t kDigits = 64;     // digits of a SHA-256 in hexadecimal
constexpr std::size_t kKeyDigits = 40;  // digits of a key in the name of an entry

// Size and time of a file to the nanosecond, or nothing.
std::string Stamp(const char* path) {
  struct stat found = {};
  if (::stat(path, &found) != 0) return "";
  return fmt::format("{} {} {}.{:09}\n", path, found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec);
}

// The program and every library it has loaded: another release of one of them may give another last
// digit.
std::string Program() {
  std::string text = ProgramVersion() + "\n";
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const bool itself = info->dlpi_name == nullptr || *info->dlpi_name == 0;
        *static_cast<std::string*>(out) += Stamp(itself ? "/proc/self/exe" : info->dlpi_name);
        return 0;
      },
      &text);
  return text;
}

// By its name: somebody may have put a file of his own among them.
bool IsEntry(const std::filesystem::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const std::size_t dash = name.rfind('-');
  std::error_code error;
  return entry.symlink_status(error).type() == std::filesystem::file_type::regular &&
         dash != std::string::npos && name.size() == dash + 1 + kKeyDigits &&
         name.find_first_not_of("0123456789abcdef", dash + 1) == std::string::npos;
}

}  // namespace

struct StageCache::State {
  std::filesystem::path folder;
  bool force = false;
  std::string program = Program();
  mutable std::mutex mutex;
  std::map<std::string, StageCount> counts;
  std::set<std::filesystem::path> used;
  std::map<std::string, std::string> hashes;  // by stamp

  std::filesystem::path File(const std::string& stage, const std::string& key) const {
    return folder / (stage + "-" + key.substr(0, kKeyDigits));
  }
};

StageCache::StageCache(std::filesystem::path folder, bool force)
    : state_(std::make_unique<State>()) {
  state_->folder = std::move(folder);
  state_->force = force;
}

StageCache::~StageCache() = default;

std::string StageCache::Key(const std::string& stage, std::string_view inputs) const {
  return Sha256(fmt::format("{}\n{}\n{}", stage, state_->program, inputs));
}

std::optional<std::string> StageCache::Find(const std::string& stage, const std::string& key) {
  const std::filesystem::path file = state_->File(stage, key);
  {
    const std::lock_guard lock(state_->mutex);
    state_->used.insert(file);
  }
  std::error_code absent;
  if (state_->force || !std::filesystem::is_regular_file(file, absent)) return std::nullopt;
  try {
    std::string text = ReadFile(file);
    if (text.size() < kDigits) return std::nullopt;
    const std::string hash = text.substr(0, kDigits);
    text.erase(0, kDigits);
    if (Sha256(text) != hash) return std::nullopt;
    return text;
  } catch (const DataError&) {
    return std::nullopt;
  }
}

void StageCache::Keep(const std::string& stage, const std::string& key, std::string_view bytes) {
  constexpr bool kToDisk = false;  // its hash tells an entry that a crash of the machine cut short
  WriteFile(state_->File(stage, key), Sha256(bytes) + std::string(bytes), kToDisk);
}

void StageCache::Count(const std::string& stage, bool reused) {
  const std::lock_guard lock(state_->mutex);
  ++(reused ? state_->counts[stage].reused : state_->counts[stage].made);
}

std::map<std::string, StageCount> StageCache::Counts() const {
  const std::lock_guard lock(state_->mutex);
  return state_->counts;
}

void StageCache::Prune() {
  const std::lock_guard lock(state_->mutex);
  std::error_code error;
  std::vector<std::filesystem::path> unused;
  for (const auto& entry : std::filesystem::directory_iterator(state_->folder, error))
    if (!state_->used.contains(entry.path()) && IsEntry(entry)) unused.push_back(entry.path());
  for (const std::filesystem::path& file : unused) std::filesystem::remove(file, error);
  // Files of a process that was killed while writing: .impactlab-PROCESS-NUMBER.tmp.
  unused.clear();
  // The folder beside the run may hold anything: unreadable folders are ignored, and so are files
  // that disappear meanwhile.
  auto at = std::filesystem::recursive_directory_iterator(
      state_->folder.parent_path(), std::filesystem::directory_options::skip_permission_denied,
      error);
  for (; !error && at != std::filesystem::end(at); at.increment(error)) {
    const std::string name = at->path().filename().string();
    int process = 0, number = 0;
    char end = 0;
    if (std::sscanf(name.c_str(), ".impactlab-%d-%d.tm%c", &process, &number, &end) == 3 &&
        end == 'p' && ::kill(process, 0) != 0 && errno == ESRCH)
      unused.push_back(at->path());
  }
  for (const std::filesystem::path& file : unused) std::filesystem::remove(file, error);
}

std::string StageCache::Sha256Of(const std::filesystem::path& path) {
  const std::string stamp = Stamp(path.c_str());
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->hashes.find(stamp);
    if (!stamp.empty() && found != state_->hashes.end()) return found->second;
  }
  std::string hash;
  try {
    hash = Sha256File(path);
  } catch (const DataError&) {  // for the stage an unreadable file is the same as none
  }
  const std::lock_guard lock(state_->mutex);
  state_->hashes[stamp] = hash;
  return hash;
}

std::vector<std::pair<std::string, std::string>> ContentOf(
    StageCache* cache, const std::vector<std::filesystem::path>& files) {
  std::vector<std::pair<std::string, std::string>> out;
  if (cache == nullptr) return out;
  for (const std::filesystem::path& file : files)
    out.emplace_back(file.string(), file.empty() ? "" : cache->Sha256Of(file));
  return out;
}

}  // namespace impactlab
