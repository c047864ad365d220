#include "pipelines/track/detail/config_recordings.h"

#include <algorithm>
#include <functional>

#include "data/files/glob.h"
#include "data/files/text.h"
#include "pipelines/config/input_files.h"
#include "pipelines/config/yaml.h"

namespace impactlab::pipelines {
namespace {

// Files of one camera of one recording. One that is not there stays in the list: it becomes a row
// with a reason, not the end of the batch.
std::vector<std::filesystem::path> FilesOf(const std::vector<std::string>& texts,
                                           const std::filesystem::path& base) {
  std::vector<std::filesystem::path> out;
  for (const std::string& text : texts) {
    std::error_code absent;
    const std::filesystem::path full = base / text;
    std::vector<std::filesystem::path> found;
    try {
      found = std::filesystem::is_directory(full, absent) ? FindFiles({text}, base, false, text)
                                                          : ExpandGlob(text, base);
    } catch (const DataError&) {
      // An empty or unreadable folder is named when it is opened.
    }
    if (found.empty()) found.push_back(full);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

std::string Quoted(const std::filesystem::path& path) {
  return YamlQuote(std::filesystem::absolute(path).string());
}

std::string QuotedPaths(const std::vector<std::filesystem::path>& paths) {
  std::string out;
  for (const auto& path : paths) out += (out.empty() ? "" : ", ") + Quoted(path);
  return "[" + out + "]";
}

}  // namespace

int IndexOf(const YamlNode& node, const std::string& key, const std::string& name,
            const std::vector<std::string>& names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<int>(at - names.begin());
  const std::string nearest = NearestName(name, names);
  throw node.Fault(key, Excerpt(name) + (nearest.empty() ? "" : ", nearest is " + nearest),
                   JoinNames(names));
}

namespace {

// A map whose keys are cameras: `read` takes what stands under one, `write` gives it; nothing where
// there is nothing of a camera.
void VisitByCamera(Keys& keys, const std::vector<std::string>& cameras, const char* meaning,
                   const std::function<void(const YamlNode&, std::size_t camera)>& read,
                   const std::function<std::string(std::size_t camera)>& write) {
  const YamlNode* const node = keys.reading();
  for (const std::string& name : node != nullptr ? node->Keys() : cameras) {
    const YamlNode empty;
    const auto camera =
        static_cast<std::size_t>(IndexOf(node != nullptr ? *node : empty, name, name, cameras));
    keys.Custom(
        name.c_str(), meaning, [&](const YamlNode& map, const char*) { read(map, camera); },
        [&] { return write(camera); });
  }
}

void VisitRecording(Keys& keys, TrackedRecording& r, const TrackConfig& plan) {
  const std::vector<std::string> cameras = NamesOf(plan.cameras);
  keys.Text("name", r.name, "of the recording", Need::kRequired);
  // It becomes part of file names.
  keys.Check(r.name.front() != '.' && r.name.size() <= 200 &&
                 r.name.find_first_of("/\\\n\r\t") == std::string::npos,
             "name", Excerpt(r.name),
             "a name that can be part of a file's name: no / and no dot in front");
  if (keys.reading() != nullptr) {
    const std::vector<std::string> earlier = NamesOf(plan.recordings);
    keys.Check(std::find(earlier.begin(), earlier.end(), r.name) == earlier.end(), "name",
               r.name + " again", "a name of its own");
    r.files.resize(cameras.size());
    r.stamps.resize(cameras.size());
  }
  keys.Map(
      "files", "a camera may be missing",
      [&](Keys& k) {
        VisitByCamera(
            k, cameras, "a video, or a folder or list of pictures",
            [&](const YamlNode& node, std::size_t c) {
              r.files[c] = FilesOf(node.Texts(cameras[c]), node.Folder());
            },
            [&](std::size_t c) { return r.files[c].empty() ? "" : QuotedPaths(r.files[c]); });
      },
      Need::kRequired);
  const bool stamped =
      std::any_of(r.stamps.begin(), r.stamps.end(), [](const auto& file) { return !file.empty(); });
  if (keys.reading() == nullptr && !stamped) return;
  keys.Map("stamps",
           "times of the frames, where files do not know them. Default: those of the files",
           [&](Keys& k) {
             VisitByCamera(
                 k, cameras, "CSV with a column t_s, one row a frame",
                 [&](const YamlNode& node, std::size_t c) {
                   r.stamps[c] = node.Folder() / node.Text(cameras[c]);
                 },
                 [&](std::size_t c) { return r.stamps[c].empty() ? "" : Quoted(r.stamps[c]); });
           });
}

// Patterns of the files of every camera, whose matches belong together. They are written as what
// they found.
void ReadPatterns(const YamlNode& node, const std::string& where, TrackConfig& plan) {
  const std::vector<std::string> cameras = NamesOf(plan.cameras);
  std::vector<std::vector<std::filesystem::path>> files(cameras.size());
  for (const std::string& camera : node.Keys()) {
    node.Explain(camera, "of its videos: a pattern, a file or a list");
    files[static_cast<std::size_t>(IndexOf(node, camera, camera, cameras))] = FindFiles(
        node.Texts(camera), node.Folder(), true, node.Where(camera) + ": " + node.FullName(camera));
  }
  for (std::size_t c = 0; c < files.size(); ++c)
    if (files[c].empty()) throw node.Fault(cameras[c], "nothing", "a pattern for every camera");
  std::vector<std::string> notes;
  for (const auto& match :
       MatchByName(cameras, files, where, "video", "; or list the recordings one by one", &notes)) {
    TrackedRecording recording;
    recording.name = match.name;
    recording.stamps.resize(files.size());
    for (std::size_t c = 0; c < files.size(); ++c) {
      recording.files.emplace_back();
      if (match.file[c] >= 0)
        recording.files.back().push_back(files[c][static_cast<std::size_t>(match.file[c])]);
    }
    plan.recordings.push_back(std::move(recording));
  }
}

}  // namespace

void VisitRecordings(Keys& keys, TrackConfig& plan) {
  const char* const listed = "recordings";
  const char* const patterns = "files";
  if (const YamlNode* root = keys.reading()) {
    const bool one_by_one = root->Has(listed), by_pattern = root->Has(patterns);
    if (one_by_one == by_pattern)
      throw root->Fault(
          by_pattern ? patterns : listed,
          by_pattern ? "files as well" : "neither recordings nor files",
          "recordings: a list with name and files; or files: a pattern for every camera");
    if (by_pattern) {
      keys.Map(
          patterns,
          "Pattern of the videos of every camera; those whose names change alike belong together. "
          "Instead of recordings.",
          [&](Keys& k) {
            ReadPatterns(*k.reading(), root->Where(patterns) + ": " + patterns, plan);
          },
          Need::kRequired);
      return;
    }
  }
  keys.List(
      listed, plan.recordings, "one by one; or files", Style::kLines,
      [&](Keys& k, TrackedRecording& r) { VisitRecording(k, r, plan); }, Need::kRequired);
}

}  // namespace impactlab::pipelines
