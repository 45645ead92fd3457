#include "traces/io/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace goodput {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;
constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr unsigned char kGzipMagic[] = {0x1f, 0x8b};

}  // namespace

// An open file and, for gzip, the inflater behind it. zlib's own gzread() drops whatever follows a gzip
// member and is none, and with it rows.
class ByteSource::File {
 public:
  File(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor), buffer_(kReadBytes + 1) {}
  ~File() {
    if (is_gzip_) inflateEnd(&inflater_);
    close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Fills `into` from the front; less only at the end.
  Result<std::size_t> read(std::span<char> into) {
    if (consumed_ == 0) GOODPUT_TRY_STATUS(begin());
    return is_gzip_ ? read_gzip(into) : read_plain(into);
  }
  [[nodiscard]] std::size_t consumed_bytes() const { return consumed_ - available_; }

 private:
  // Reads the next piece of the file into the buffer; nothing available afterwards: the end.
  Status refill() {
    ssize_t count = 0;
    do {
      count = ::read(descriptor_, buffer_.data(), kReadBytes);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return Error{fmt::format("cannot read: {}", std::strerror(errno)), {.file = path_}};
    next_ = buffer_.data();
    available_ = static_cast<std::size_t>(count);
    consumed_ += available_;
    return Ok{};
  }

  // A pipe may hand out its first byte alone; two tell what the file is.
  Status refill_behind_first() {
    const unsigned char first = *next_;
    GOODPUT_TRY_STATUS(refill());
    std::memmove(buffer_.data() + 1, buffer_.data(), available_);
    buffer_[0] = first;
    ++available_;
    return Ok{};
  }

  Status begin() {
    GOODPUT_TRY_STATUS(refill());
    if (available_ == 1) GOODPUT_TRY_STATUS(refill_behind_first());
    is_gzip_ = available_ >= 2 && std::equal(std::begin(kGzipMagic), std::end(kGzipMagic), next_);
    if (!is_gzip_) return Ok{};
    constexpr int kGzipWindow = 15 + 16;
    GOODPUT_CHECK(inflateInit2(&inflater_, kGzipWindow) == Z_OK, "zlib does not start");
    in_member_ = true;
    return Ok{};
  }

  Result<std::size_t> read_plain(std::span<char> into) {
    std::size_t filled = 0;
    while (filled < into.size()) {
      if (available_ == 0) GOODPUT_TRY_STATUS(refill());
      if (available_ == 0) break;
      const std::size_t count = std::min(available_, into.size() - filled);
      std::memcpy(into.data() + filled, next_, count);
      next_ += count;
      available_ -= count;
      filled += count;
    }
    return filled;
  }

  Result<std::size_t> read_gzip(std::span<char> into) {
    std::size_t filled = 0;
    while (filled < into.size()) {
      if (available_ == 0) GOODPUT_TRY_STATUS(refill());
      if (available_ == 0 && in_member_)
        return Error{"gzip data ends early: the file is truncated", {.file = path_}};
      if (available_ == 0) break;
      if (!in_member_) {
        GOODPUT_TRY_STATUS(begin_member());
        continue;
      }
      GOODPUT_TRY(const std::size_t count, inflate_into(into.subspan(filled)));
      filled += count;
    }
    return filled;
  }

  // Behind a member stands another one, or zeros that pad a tape block.
  Status begin_member() {
    if (*next_ == 0) {
      ++next_;
      --available_;
      is_padding_ = true;
      return Ok{};
    }
    if (is_padding_ || *next_ != kGzipMagic[0]) {
      return Error{"gzip data is damaged: what follows its first part is no gzip data", {.file = path_}};
    }
    inflateReset(&inflater_);
    in_member_ = true;
    return Ok{};
  }

  Result<std::size_t> inflate_into(std::span<char> into) {
    const std::size_t wanted = std::min<std::size_t>(into.size(), std::size_t{1} << 30);
    inflater_.next_in = next_;
    inflater_.avail_in = static_cast<unsigned>(available_);
    inflater_.next_out = reinterpret_cast<unsigned char*>(into.data());
    inflater_.avail_out = static_cast<unsigned>(wanted);
    const int code = inflate(&inflater_, Z_NO_FLUSH);
    next_ = inflater_.next_in;
    available_ = inflater_.avail_in;
    if (code == Z_STREAM_END)
      in_member_ = false;
    else if (code != Z_OK && code != Z_BUF_ERROR) {
      return Error{
          fmt::format("gzip data is damaged: {}", inflater_.msg != nullptr ? inflater_.msg : "unknown"),
          {.file = path_}};
    }
    return wanted - inflater_.avail_out;
  }

  std::string path_;
  int descriptor_;
  std::vector<unsigned char> buffer_;
  unsigned char* next_ = nullptr;  // in the buffer
  std::size_t available_ = 0;      // from there
  std::size_t consumed_ = 0;       // read from the file
  z_stream inflater_{};
  bool is_gzip_ = false;
  bool in_member_ = false;
  bool is_padding_ = false;
};

ByteSource::ByteSource(std::string path, std::unique_ptr<File> file)
    : path_(std::move(path)), file_(std::move(file)) {}
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

Result<ByteSource> ByteSource::open(const std::string& path) {
  if (path.empty()) return Error{"a file name is empty"};
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) {
    return Error{fmt::format("is a directory; name its files, for example {}/*",
                             path.ends_with('/') ? path.substr(0, path.size() - 1) : path),
                 {.file = path}};
  }
  if (std::filesystem::is_regular_file(status) && std::filesystem::file_size(path, ignored) == 0) {
    return Error{"is empty", {.file = path}};
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Error{fmt::format("cannot open: {}", std::strerror(errno)), {.file = path}};
  return ByteSource(path, std::make_unique<File>(path, descriptor));
}

Result<std::string_view> ByteSource::peek() {
  if (!peeked_) {
    head_.resize(kHeadBytes);
    GOODPUT_TRY(const std::size_t count, file_->read(head_));
    head_.resize(count);
    peeked_ = true;
  }
  return std::string_view(head_);
}

Result<std::size_t> ByteSource::read(std::span<char> into) {
  const std::size_t from_head = std::min(head_.size() - head_used_, into.size());
  std::memcpy(into.data(), head_.data() + head_used_, from_head);
  head_used_ += from_head;
  GOODPUT_TRY(const std::size_t from_file, file_->read(into.subspan(from_head)));
  if (on_progress_) on_progress_(file_->consumed_bytes());
  return from_head + from_file;
}

Result<std::string> read_all(ByteSource& source, std::size_t limit_bytes) {
  constexpr std::size_t kFirstRead = std::size_t{1} << 16;
  std::string text;
  while (text.size() <= limit_bytes) {
    const std::size_t before = text.size();
    text.resize(std::min(limit_bytes + 1, std::max(kFirstRead, 2 * before)));
    GOODPUT_TRY(const std::size_t count, source.read(std::span(text).subspan(before)));
    const bool is_whole = before + count < text.size();
    text.resize(before + count);
    if (is_whole) return text;
  }
  return Error{fmt::format("is larger than {} bytes; is it the right file?", limit_bytes),
               {.file = source.path()}};
}

}  // namespace goodput
