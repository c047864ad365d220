#include "data/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "data/files/output_folder.h"

namespace impactlab {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Last target of a chain of links; a link to a file that is not there yet names the file to make.
std::filesystem::path ResolveLinks(std::filesystem::path path) {
  std::error_code error;
  for (int depth = 0; depth < 40 && std::filesystem::is_symlink(path, error); ++depth) {
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

std::filesystem::path FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

int OpenRetry(const char* path, int flags, mode_t mode = 0666) {
  int fd = -1;
  do {
    fd = ::open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path, bool to_disk)
    : path_(path), target_(ResolveLinks(path)), to_disk_(to_disk) {
  if (path.empty())
    throw OutputError("output: found an empty file name, allowed the name of a file");
  if (!target_.has_filename())
    throw OutputError(fmt::format("{}: found a folder, allowed the name of a file", path.string()));
  std::error_code error;
  std::filesystem::create_directories(FolderOf(target_), error);
  if (error)
    throw OutputError(
        fmt::format("{}: cannot create its folder: {}", path.string(), error.message()));

  struct stat existing = {};
  const bool exists = ::stat(target_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode))
    throw OutputError(fmt::format("{}: found a folder, allowed the name of a file", path.string()));
  if (exists && !S_ISREG(existing.st_mode)) {
    // Renaming over a device or a pipe would destroy it.
    fd_ = OpenRetry(target_.c_str(), O_WRONLY);
    if (fd_ < 0) Fail("cannot open", errno);
    return;
  }
  // A rename needs no write permission on the file it replaces; a file that someone protected stays
  // protected.
  if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    Fail("cannot replace", errno);

  static std::atomic<unsigned> counter = 0;
  for (int attempt = 0; attempt < 1000 && fd_ < 0; ++attempt) {
    // The name does not grow with the target's, which may be as long as the file system allows.
    temporary_ = FolderOf(target_) / fmt::format(".impactlab-{}-{}.tmp", ::getpid(), counter++);
    fd_ = OpenRetry(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) {
    const int cause = errno;
    temporary_.clear();
    Fail("cannot create", cause);
  }
  // best effort: content matters more than mode
  if (exists) (void)!::fchmod(fd_, existing.st_mode & 07777);
  buffer_.reserve(kBufferBytes);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      buffer_(std::move(other.buffer_)),
      fd_(std::exchange(other.fd_, -1)),
      to_disk_(other.to_disk_) {}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::Fail(const char* action, int error) {
  Discard();
  throw OutputError(fmt::format("{}: {}: {}", path_.string(), action, std::strerror(error)));
}

void AtomicFile::Flush() {
  const char* next = buffer_.data();
  std::size_t left = buffer_.size();
  while (left > 0) {
    const ssize_t written = ::write(fd_, next, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail("cannot write", errno);
    next += written;
    left -= static_cast<std::size_t>(written);
  }
  buffer_.clear();
}

void AtomicFile::Write(std::string_view text) {
  if (fd_ < 0)
    throw OutputError(fmt::format("{}: cannot write: the file is closed already", path_.string()));
  buffer_.append(text);
  if (buffer_.size() >= kBufferBytes) Flush();
}

void AtomicFile::Commit() {
  if (fd_ < 0)
    throw OutputError(fmt::format("{}: cannot write: the file is closed already", path_.string()));
  Flush();
  const bool direct = temporary_.empty();
  // Some file systems report a full disk only now.
  if (!direct && to_disk_ && ::fsync(fd_) != 0 && errno != EINVAL && errno != ENOTSUP)
    Fail("cannot write", errno);
  if (::close(std::exchange(fd_, -1)) != 0) Fail("cannot write", errno);
  if (direct) return;
  AnnounceOutput(path_, temporary_);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    Fail("cannot rename its temporary file", errno);
  temporary_.clear();
  if (!to_disk_) return;
  // Makes the new name itself survive a power cut; the content is safe already, so a refusal is no
  // fault.
  const int folder = OpenRetry(FolderOf(target_).c_str(), O_RDONLY | O_DIRECTORY);
  if (folder >= 0) {
    (void)!::fsync(folder);
    ::close(folder);
  }
}

void WriteFile(const std::filesystem::path& path, std::string_view text, bool to_disk) {
  AtomicFile file(path, to_disk);
  file.Write(text);
  file.Commit();
}

void CheckFolder(const std::filesystem::path& folder, const std::string& where) {
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(folder, error).lexically_normal();
  while (!std::filesystem::exists(there, error) && !std::filesystem::is_symlink(there, error) &&
         there.has_relative_path())
    there = there.parent_path();
  const auto refuse = [&](const std::string& found) {
    throw OutputError(fmt::format("{}: found '{}', {}, allowed a folder that can be written into",
                                  where, folder.string(), found));
  };
  const std::string named = there == std::filesystem::absolute(folder, error).lexically_normal()
                                ? "which"
                                : fmt::format("where '{}'", there.string());
  if (!std::filesystem::is_directory(there, error)) refuse(named + " is no folder");
  if (::faccessat(AT_FDCWD, there.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    refuse(named + " may not be written");
}

void ReadPieces(const std::filesystem::path& path, std::size_t max_bytes,
                const std::function<void(std::string_view)>& take) {
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) ::close(fd);
    }
  };
  const auto fail = [&](int error) {
    throw DataError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(error)));
  };
  const auto check_size = [&](std::uintmax_t bytes) {
    if (bytes <= max_bytes) return;
    throw DataError(fmt::format("{}: found {} bytes or more, allowed at most {}", path.string(),
                                bytes, max_bytes));
  };
  // A pipe that nobody writes to would be waited for, without end.
  const Descriptor file{OpenRetry(path.c_str(), O_RDONLY | O_NONBLOCK)};
  struct stat status = {};
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) fail(errno);
  if (S_ISDIR(status.st_mode)) fail(EISDIR);
  const bool pipe = S_ISFIFO(status.st_mode);
  const auto wait = [&] {
    return ::fcntl(file.fd, F_SETFL, ::fcntl(file.fd, F_GETFL) & ~O_NONBLOCK) == 0;
  };
  if (!pipe && !wait()) fail(errno);
  if (S_ISREG(status.st_mode)) check_size(static_cast<std::uintmax_t>(status.st_size));
  const std::size_t likely =
      S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) + 1 : kPieceBytes;
  std::string piece(std::min(kPieceBytes, likely), '\0');
  std::uintmax_t total = 0;
  while (true) {
    const ssize_t count = ::read(file.fd, piece.data(), piece.size());
    if (count < 0 && (errno == EINTR || (pipe && errno == EAGAIN && wait()))) continue;
    if (count < 0) fail(errno);
    if (count == 0 && pipe && total == 0)
      throw DataError(
          fmt::format("{}: found a pipe that nobody writes to, allowed a file", path.string()));
    if (count == 0) return;
    total += static_cast<std::uintmax_t>(count);
    check_size(total);
    take(std::string_view(piece.data(), static_cast<std::size_t>(count)));
  }
}

std::string ReadHead(const std::filesystem::path& path, std::size_t bytes) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  const bool missing =
      type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::none;
  if (!missing && type != std::filesystem::file_type::regular &&
      type != std::filesystem::file_type::directory)
    throw DataError(fmt::format("{}: found {}, allowed a regular file", path.string(),
                                type == std::filesystem::file_type::fifo     ? "a pipe"
                                : type == std::filesystem::file_type::socket ? "a socket"
                                                                             : "a device"));
  std::string text(bytes, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  // says what is wrong with it
  if (text.empty())
    ReadPieces(path, std::numeric_limits<std::size_t>::max(), [](std::string_view) {});
  return text;
}

std::string ReadFile(const std::filesystem::path& path, std::size_t max_bytes) {
  std::string text;
  ReadPieces(path, max_bytes, [&](std::string_view piece) { text.append(piece); });
  return text;
}

}  // namespace impactlab
