#include "traces/io/byte_sink.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace goodput {
namespace {

constexpr unsigned kGzipBufferBytes = 1U << 18;
constexpr std::size_t kLargestWrite = std::size_t{1} << 30;  // zlib counts in unsigned int

gzFile as_gz(void* file) {
  return static_cast<gzFile>(file);
}

Error write_error(const std::string& path, int error_number) {
  return {fmt::format("cannot write: {}", error_number == 0 ? "unknown error" : std::strerror(error_number)),
          {.file = path}};
}

}  // namespace

void ByteSink::CloseFile::operator()(void* file) const {
  gzclose_w(as_gz(file));
}

Result<ByteSink> ByteSink::open(const std::string& path, std::string_view final_path,
                                Compression compression) {
  errno = 0;
  // T: as it is. zlib leaves time and name out of the gzip header, so that equal input gives equal bytes.
  const char* mode = final_path.ends_with(".gz") ? "wb" : "wbT";
  gzFile file = path == kStdoutPath ? gzdopen(dup(STDOUT_FILENO), mode) : gzopen(path.c_str(), mode);
  if (file == nullptr) return write_error(path, errno);
  gzbuffer(file, kGzipBufferBytes);
  if (compression == Compression::kFast) gzsetparams(file, Z_BEST_SPEED, Z_DEFAULT_STRATEGY);
  return ByteSink(path, file);
}

Status ByteSink::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = static_cast<unsigned>(std::min(bytes.size(), kLargestWrite));
    errno = 0;
    if (gzwrite(as_gz(file_.get()), bytes.data(), count) == 0) return write_error(path_, errno);
    bytes.remove_prefix(count);
  }
  return Ok{};
}

Status ByteSink::write_if_full(std::string& text, std::size_t block) {
  if (text.size() < block) return Ok{};
  GOODPUT_TRY_STATUS(write(text));
  text.clear();
  return Ok{};
}

Status ByteSink::close() {
  errno = 0;
  if (gzclose_w(as_gz(file_.release())) != Z_OK) return write_error(path_, errno);
  return Ok{};
}

}  // namespace goodput
