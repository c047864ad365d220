#pragma once
// A file that libavformat writes, with jumps back, under a temporary name until it is whole.
// Private to the room: shows libav.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

struct AVIOContext;

namespace impactlab::tracking {

// As AtomicFile, for files that are not written from beginning to end. Errors are OutputError with
// path and cause.
class MediaFile {
 public:
  explicit MediaFile(const std::filesystem::path& path);
  ~MediaFile();
  MediaFile(const MediaFile&) = delete;
  MediaFile& operator=(const MediaFile&) = delete;

  AVIOContext* io() const { return io_; }
  // OutputError where a write has failed: libavformat passes on only some of them.
  void Check() const;
  // Writes `to` over what follows the first `mark` within the first 4096 bytes; false where that
  // mark is not. After everything has been written.
  bool Overwrite(std::string_view mark, std::string_view to);
  // Makes the file appear under its name; nothing may be written afterwards.
  void Commit();
  void Discard() noexcept;

 private:
  static int Write(void* self, const std::uint8_t* data, int size);
  static std::int64_t Seek(void* self, std::int64_t offset, int whence);
  [[noreturn]] void Fail(const char* action, int error) const;

  std::filesystem::path path_, target_, temporary_;
  int fd_ = -1, error_ = 0;
  std::int64_t at_ = 0, size_ = 0;
  AVIOContext* io_ = nullptr;
};

}  // namespace impactlab::tracking
