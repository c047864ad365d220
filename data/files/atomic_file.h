#pragma once
// Output files that are either complete or not there.
//
// Text goes to a hidden temporary file in the folder of the final one, which takes its name in one
// step at Commit() after everything has reached the disk. A writer that is destroyed without
// Commit() (an exception, an interrupt) leaves the last good file as it was. Every write is
// checked. A symbolic link is followed; a device or a pipe is written directly. All errors are
// OutputError with path and cause.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "data/base/error.h"

namespace impactlab {

class AtomicFile {
 public:
  // Creates missing parent folders. Without `to_disk` the file outlives a crash of the program but
  // perhaps not one of the machine; that saves some 10 ms a file where hundreds are written that
  // can be made again.
  explicit AtomicFile(const std::filesystem::path& path, bool to_disk = true);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void Write(std::string_view text);
  // Makes the file appear under its name. Nothing may be written afterwards.
  void Commit();

  const std::filesystem::path& path() const { return path_; }

 private:
  void Flush();
  void Discard() noexcept;
  [[noreturn]] void Fail(const char* action, int error);

  std::filesystem::path path_;       // as given
  std::filesystem::path target_;     // with links resolved
  std::filesystem::path temporary_;  // empty when target_ is written directly
  std::string buffer_;
  int fd_ = -1;
  bool to_disk_ = true;
};

// Writes `text` as the whole of `path`.
void WriteFile(const std::filesystem::path& path, std::string_view text, bool to_disk = true);

// Whether files can be written into `folder`, which is made later where it is not there: so that
// hours of work do not end in an error that was there from the start. OutputError, begun by
// `where`.
void CheckFolder(const std::filesystem::path& folder, const std::string& where);

// Hands the content of a file to `take` in pieces of at most 1 MB. DataError "path: cause" for a
// folder, a file that is missing or may not be read, one of more than `max_bytes`, and a pipe that
// nobody writes to.
void ReadPieces(const std::filesystem::path& path, std::size_t max_bytes,
                const std::function<void(std::string_view)>& take);

// Whole content of a file, with the same errors.
std::string ReadFile(const std::filesystem::path& path,
                     std::size_t max_bytes = std::size_t{512} << 20);

// First `bytes` of a file that is read again later, which a pipe or a device cannot be: DataError
// for them as well.
std::string ReadHead(const std::filesystem::path& path, std::size_t bytes);

}  // namespace impactlab
