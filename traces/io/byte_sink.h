// A file written front to back, as it is or gzipped: the counterpart of ByteSource.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "sim/base/errors.h"

namespace goodput {

// Means the stdout the process was given, wherever it stands (opening this path anew would truncate what is
// there).
inline constexpr std::string_view kStdoutPath = "/dev/stdout";

class ByteSink {
 public:
  enum class Compression {
    kSmall,  // zlib's default
    kFast,   // level 1: about 20 % larger and three times as fast
  };

  // Creates or truncates `path`. Gzips when `final_path`, the name that the file is going to have, ends in
  // .gz.
  static Result<ByteSink> open(const std::string& path, std::string_view final_path,
                               Compression compression = Compression::kSmall);

  Status write(std::string_view bytes);
  // Writes `text` and empties it, once it has `block` bytes.
  Status write_if_full(std::string& text, std::size_t block);

  // Flushes everything; a file that was not closed this way may be incomplete. Nothing may be written
  // afterwards.
  Status close();

 private:
  struct CloseFile {
    void operator()(void* file) const;
  };
  ByteSink(std::string path, void* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<void, CloseFile> file_;  // zlib's gzFile
};

}  // namespace goodput
