#include "tracking/video/detail/media_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "data/base/error.h"
#include "data/files/output_folder.h"
#include "tracking/video/detail/libav_versions.h"

extern "C" {
#include <libavformat/avio.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
}

namespace impactlab::tracking {

MediaFile::MediaFile(const std::filesystem::path& path) : path_(path), target_(path) {
  std::error_code error;
  // A link stays a link: what it points to is replaced.
  for (int depth = 0; depth < 40 && std::filesystem::is_symlink(target_, error); ++depth) {
    const std::filesystem::path next = std::filesystem::read_symlink(target_, error);
    if (error) break;
    target_ = next.is_absolute() ? next : target_.parent_path() / next;
  }
  const std::filesystem::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  std::filesystem::create_directories(folder, error);
  if (error)
    throw OutputError(
        fmt::format("{}: cannot create its folder: {}", path.string(), error.message()));
  struct stat existing = {};
  const bool exists = ::stat(target_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode))
    throw OutputError(fmt::format("{}: found a folder, allowed the name of a file", path.string()));
  if (exists && !S_ISREG(existing.st_mode))
    throw OutputError(fmt::format("{}: a video needs a regular file", path.string()));
  if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    Fail("cannot replace", errno);

  static std::atomic<unsigned> counter = 0;
  for (int attempt = 0; attempt < 1000 && fd_ < 0; ++attempt) {
    temporary_ = folder / fmt::format(".impactlab-{}-video-{}.tmp", ::getpid(), counter++);
    fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST && errno != EINTR) break;
  }
  if (fd_ < 0) {
    temporary_.clear();
    Fail("cannot create", errno);
  }
  if (exists) (void)!::fchmod(fd_, existing.st_mode & 07777);
  constexpr int kBuffer = 1 << 16;
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBuffer));
  const auto write_bytes = [](void* self, WrittenByte* data, int size) {
    return Write(self, data, size);
  };
  io_ = buffer != nullptr ? avio_alloc_context(buffer, kBuffer, 1, this, nullptr, write_bytes, Seek)
                          : nullptr;
  if (io_ == nullptr) {
    av_free(buffer);
    Discard();
    throw std::bad_alloc();
  }
}

MediaFile::~MediaFile() {
  if (io_ != nullptr) {
    av_freep(&io_->buffer);
    avio_context_free(&io_);
  }
  Discard();
}

void MediaFile::Discard() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void MediaFile::Fail(const char* action, int error) const {
  throw OutputError(fmt::format("{}: {}: {}", path_.string(), action, std::strerror(error)));
}

void MediaFile::Check() const {
  if (error_ != 0) Fail("cannot write", error_);
}

int MediaFile::Write(void* self, const std::uint8_t* data, int size) {
  auto& file = *static_cast<MediaFile*>(self);
  int done = 0;
  while (done < size && file.error_ == 0) {
    const ssize_t n =
        ::pwrite(file.fd_, data + done, static_cast<std::size_t>(size - done), file.at_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      file.error_ = errno;
      break;
    }
    done += static_cast<int>(n);
    file.at_ += n;
  }
  file.size_ = std::max(file.size_, file.at_);
  return file.error_ != 0 ? AVERROR(file.error_) : size;
}

std::int64_t MediaFile::Seek(void* self, std::int64_t offset, int whence) {
  auto& file = *static_cast<MediaFile*>(self);
  switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
      return file.size_;
    case SEEK_CUR:
      offset += file.at_;
      break;
    case SEEK_END:
      offset += file.size_;
      break;
    default:
      break;
  }
  if (offset < 0) return AVERROR(EINVAL);
  return file.at_ = offset;
}

bool MediaFile::Overwrite(std::string_view mark, std::string_view to) {
  avio_flush(io_);
  Check();
  std::array<char, 4096> head{};
  const ssize_t n = ::pread(fd_, head.data(), head.size(), 0);
  if (n < 0) Fail("cannot read back", errno);
  std::size_t at = std::string_view(head.data(), static_cast<std::size_t>(n)).find(mark);
  if (at == std::string_view::npos) return false;
  at += mark.size();
  if (::pwrite(fd_, to.data(), to.size(), static_cast<off_t>(at)) !=
      static_cast<ssize_t>(to.size()))
    Fail("cannot write", errno);
  return true;
}

void MediaFile::Commit() {
  avio_flush(io_);
  Check();
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != ENOTSUP) Fail("cannot write", errno);
  if (::close(std::exchange(fd_, -1)) != 0) Fail("cannot write", errno);
  AnnounceOutput(path_, temporary_);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    Fail("cannot rename its temporary file", errno);
  temporary_.clear();
}

}  // namespace impactlab::tracking
