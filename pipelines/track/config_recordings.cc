#include "pipelines/track/detail/config_recordings.h"

#include <algorithm>

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

// Recordings one by one, or by patterns whose matches belong together.
void ParseRecordings(const YamlNode& root, TrackConfig& plan) {
  const std::vector<std::string> cameras = NamesOf(plan.cameras);
  const bool listed = root.Has("recordings"), patterns = root.Has("files");
  if (listed == patterns)
    throw root.Fault(
        listed ? "files" : "recordings", listed ? "files as well" : "neither recordings nor files",
        "recordings: a list with name and files; or files: a pattern for every camera");
  const auto find = [&](const YamlNode& node, const std::string& camera) {
    return FindFiles(node.Texts(camera), root.Folder(), true,
                     node.Where(camera) + ": " + node.FullName(camera));
  };
  if (patterns) {
    const YamlNode node = root.Map("files");
    std::vector<std::vector<std::filesystem::path>> files(cameras.size());
    for (const std::string& camera : node.Keys())
      files[static_cast<std::size_t>(IndexOf(node, camera, camera, cameras))] = find(node, camera);
    for (std::size_t c = 0; c < files.size(); ++c)
      if (files[c].empty()) throw node.Fault(cameras[c], "nothing", "a pattern for every camera");
    std::vector<std::string> notes;
    for (const auto& match : MatchByName(cameras, files, root.Where("files") + ": files", "video",
                                         "; or list the recordings one by one", &notes)) {
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
    return;
  }
  for (const YamlNode& node : root.List("recordings")) {
    TrackedRecording recording;
    recording.name = node.Text("name");
    // It becomes part of file names.
    const bool fits = recording.name.front() != '.' && recording.name.size() <= 200 &&
                      recording.name.find_first_of("/\\\n\r\t") == std::string::npos;
    if (!fits)
      throw node.Fault("name", Excerpt(recording.name),
                       "a name that can be part of a file's name: no / and no dot in front");
    const std::vector<std::string> earlier = NamesOf(plan.recordings);
    if (std::find(earlier.begin(), earlier.end(), recording.name) != earlier.end())
      throw node.Fault("name", recording.name + " again", "a name of its own");
    recording.files.resize(cameras.size());
    const YamlNode files = node.Map("files");
    for (const std::string& camera : files.Keys()) {
      auto& of_camera =
          recording.files[static_cast<std::size_t>(IndexOf(files, camera, camera, cameras))];
      of_camera = FilesOf(files.Texts(camera), root.Folder());
    }
    recording.stamps.resize(cameras.size());
    const YamlNode stamps = node.MapOrEmpty("stamps");
    for (const std::string& camera : stamps.Keys())
      recording.stamps[static_cast<std::size_t>(IndexOf(stamps, camera, camera, cameras))] =
          root.Folder() / stamps.Text(camera);
    plan.recordings.push_back(std::move(recording));
  }
}

// Free names of cameras are keys here, and patterns are written as what they found.
std::string RecordingsYaml(const TrackConfig& plan) {
  std::string out = "recordings:\n";
  for (const TrackedRecording& r : plan.recordings) {
    out += "  - " + YamlWord(0, "name", YamlQuote(r.name)) + "    files:\n";
    for (std::size_t c = 0; c < r.files.size(); ++c)
      if (!r.files[c].empty()) out += YamlWord(3, plan.cameras[c].name, QuotedPaths(r.files[c]));
    std::string stamps;
    for (std::size_t c = 0; c < r.stamps.size(); ++c)
      if (!r.stamps[c].empty()) stamps += YamlWord(3, plan.cameras[c].name, Quoted(r.stamps[c]));
    if (!stamps.empty()) out += "    stamps:\n" + stamps;
  }
  return out;
}

}  // namespace impactlab::pipelines
