#include "pipelines/simulate/detail/diagram_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"

namespace impactlab::pipelines {
namespace {

constexpr const char* kJournalSchema = "impactlab.diagram_journal/1";

std::string Sum(std::string_view line) { return Sha256(line).substr(0, 8); }

void AppendAll(std::string& line, const double* values, std::size_t n) {
  line += fmt::format(" {}", n);
  for (std::size_t i = 0; i < n; ++i) {
    line += ' ';
    AppendNumber(line, values[i]);
  }
}

// What a line says; it is only read when its sum holds.
class WordReader {
 public:
  explicit WordReader(const std::string& line) : stream_(line) {}
  std::string Word() {
    std::string word;
    stream_ >> word;
    return word;
  }
  // -1 for anything else.
  long long Count() { return static_cast<long long>(ParseNumber(Word()).value_or(-1)); }
  std::vector<double> Numbers() {
    std::vector<double> out;
    for (long long n = Count(); n > 0; --n) out.push_back(ParseNumber(Word()).value_or(NAN));
    return out;
  }

 private:
  std::istringstream stream_;
};

Eigen::VectorXd Vector(const std::vector<double>& v) {
  return Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
}

std::string LineOf(const Diagram& diagram, std::size_t index, const DiagramCell& cell) {
  const std::size_t ix = index % diagram.nx(), iy = index / diagram.nx() % diagram.ny();
  std::string line = fmt::format("{} {} {} {} {} {} {}", index, FormatNumber(diagram.x.values[ix]),
                                 diagram.y ? FormatNumber(diagram.y->values[iy]) : "-", cell.end,
                                 cell.period, cell.impacts, cell.rests ? 1 : 0);
  std::vector<double> flat;
  for (const auto& point : cell.points) flat.insert(flat.end(), point.begin(), point.end());
  AppendAll(line, flat.data(), flat.size());
  const MechanismState& last = cell.last;
  AppendAll(line, &last.t, last.q.size() > 0 ? 1 : 0);
  AppendAll(line, last.q.data(), static_cast<std::size_t>(last.q.size()));
  AppendAll(line, last.u.data(), static_cast<std::size_t>(last.u.size()));
  return line + ' ' + Sum(line) + '\n';
}

bool TakeLine(const std::string& line, const Diagram& diagram, std::vector<DiagramCell>& cells) {
  const std::size_t space = line.rfind(' ');
  if (space == std::string::npos ||
      line.substr(space + 1) != Sum(std::string_view(line).substr(0, space)))
    return false;
  WordReader words(line.substr(0, space));
  const long long index = words.Count();
  if (index < 0 || index >= static_cast<long long>(cells.size())) return false;
  words.Word(), words.Word();
  DiagramCell cell;
  cell.end = words.Word();
  cell.period = static_cast<int>(words.Count());
  cell.impacts = static_cast<int>(words.Count());
  cell.rests = words.Count() == 1;
  const std::vector<double> flat = words.Numbers();
  const auto width = static_cast<std::ptrdiff_t>(diagram.record.size());
  for (auto at = flat.begin(); at != flat.end(); at += width)
    cell.points.emplace_back(at, at + width);
  const std::vector<double> t = words.Numbers();
  if (!t.empty()) cell.last.t = t[0];
  cell.last.q = Vector(words.Numbers());
  cell.last.u = Vector(words.Numbers());
  cells[static_cast<std::size_t>(index)] = std::move(cell);
  return true;
}

}  // namespace

}  // namespace impactlab::pipelines

bool impactlab::IsDiagramJournal(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::regular)
    return false;
  const std::string_view schema = pipelines::kJournalSchema;
  const std::string head = ReadHead(path, schema.size());
  return schema.starts_with(head);
}

namespace impactlab::pipelines {

DiagramJournal::DiagramJournal(const std::filesystem::path& path, const Diagram& diagram,
                               std::vector<DiagramCell>& cells)
    : path_(path), diagram_(diagram) {
  const auto fail = [&](const std::string& cause) {
    throw OutputError(fmt::format("{}: {}", path.string(), cause));
  };
  std::error_code folder;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), folder);
  if (folder) fail(folder.message());
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) fail(std::strerror(errno));
  try {
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0)
      fail("another run writes to this folder; wait for it or give another --out");
    const std::string text = ReadFile(path, std::size_t{2} << 30);
    const std::string head = fmt::format("{} {}\n", kJournalSchema, diagram.hash);
    const std::size_t first = text.find('\n');
    // A run that ended within the first line has done nothing.
    const bool begun = first != std::string::npos;
    if (begun ? text.compare(0, head.size(), head) != 0 : head.compare(0, text.size(), text) != 0)
      throw DataError(fmt::format(
          "{}: found the journal of {}, allowed that of '{}' as it stands; give another --out or "
          "remove the folder",
          path.string(), text.rfind(kJournalSchema, 0) == 0 ? "another diagram" : "something else",
          diagram.path.string()));
    std::size_t at = begun ? first + 1 : 0, good = at;
    for (std::size_t end; begun && (end = text.find('\n', at)) != std::string::npos &&
                          TakeLine(text.substr(at, end - at), diagram, cells);)
      good = at = end + 1;
    damaged_ = static_cast<std::size_t>(
        std::count(text.begin() + static_cast<std::ptrdiff_t>(good), text.end(), '\n'));
    if (ftruncate(fd_, static_cast<off_t>(good)) != 0) fail(std::strerror(errno));
    if (!begun && write(fd_, head.data(), head.size()) != static_cast<ssize_t>(head.size()))
      fail("cannot be written");
  } catch (...) {
    close(fd_);
    throw;
  }
}

DiagramJournal::~DiagramJournal() { close(fd_); }

void DiagramJournal::Append(std::size_t index, const DiagramCell& cell) {
  const std::string line = LineOf(diagram_, index, cell);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = write(fd_, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw OutputError(fmt::format("{}: {}", path_.string(), std::strerror(errno)));
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace impactlab::pipelines
