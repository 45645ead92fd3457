#include "traces/byte_source.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace goodput {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;
constexpr unsigned kBufferBytes = 1U << 18;  // zlib reads compressed data in pieces of this size

gzFile as_gz(void* file) {
  return static_cast<gzFile>(file);
}

}  // namespace

void ByteSource::CloseFile::operator()(void* file) const {
  gzclose_r(as_gz(file));
}

Result<ByteSource> ByteSource::open(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) {
    return Error{path, fmt::format("is a directory; name its files, for example {}/*",
                                   path.ends_with('/') ? path.substr(0, path.size() - 1) : path)};
  }
  if (std::filesystem::is_regular_file(status) && std::filesystem::file_size(path, ignored) == 0) {
    return Error{path, "is empty"};
  }
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return Error{path, fmt::format("cannot open: {}", std::strerror(errno))};
  gzbuffer(file, kBufferBytes);
  return ByteSource(path, file);
}

Result<std::size_t> ByteSource::read_file(std::span<char> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const std::size_t wanted = std::min<std::size_t>(into.size() - filled, std::size_t{1} << 30);
    const int count = gzread(as_gz(file_.get()), into.data() + filled, static_cast<unsigned>(wanted));
    int code = Z_OK;
    const char* reason = gzerror(as_gz(file_.get()), &code);
    if (code == Z_BUF_ERROR) return Error{path_, "gzip data ends early: the file is truncated"};
    if (count < 0 && code == Z_ERRNO)
      return Error{path_, fmt::format("cannot read: {}", std::strerror(errno))};
    if (count < 0) return Error{path_, fmt::format("gzip data is damaged: {}", reason)};
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

Result<std::string_view> ByteSource::peek() {
  if (!peeked_) {
    head_.resize(kHeadBytes);
    GOODPUT_TRY(const std::size_t count, read_file(head_));
    head_.resize(count);
    peeked_ = true;
  }
  return std::string_view(head_);
}

Result<std::size_t> ByteSource::read(std::span<char> into) {
  const std::size_t from_head = std::min(head_.size() - head_used_, into.size());
  std::memcpy(into.data(), head_.data() + head_used_, from_head);
  head_used_ += from_head;
  GOODPUT_TRY(const std::size_t from_file, read_file(into.subspan(from_head)));
  const auto offset = gzoffset(as_gz(file_.get()));
  if (on_progress_ && offset >= 0) on_progress_(static_cast<std::size_t>(offset));
  return from_head + from_file;
}

Result<std::string> read_all(ByteSource& source, std::size_t limit_bytes) {
  std::string text(limit_bytes + 1, '\0');
  GOODPUT_TRY(const std::size_t count, source.read(text));
  if (count > limit_bytes) {
    return Error{source.path(), fmt::format("is larger than {} bytes; is it the right file?", limit_bytes)};
  }
  text.resize(count);
  return text;
}

}  // namespace goodput
