#include "traces/io/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "traces/io/decompressor.h"

namespace goodput {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10;
constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr std::size_t kMostBlankBytes = std::size_t{1} << 20;
constexpr std::string_view kBlanks = " \t\r\n\v\f";

}  // namespace

// An open file and, where it is compressed, the decompressor behind it.
class ByteSource::File {
 public:
  File(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor), buffer_(kReadBytes) {}
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // Fills `into` from the front; less only at the end.
  Result<std::size_t> read(std::span<char> into) {
    if (consumed_ == 0) GOODPUT_TRY_STATUS(begin());
    return decompressor_ != nullptr ? read_compressed(into) : read_plain(into);
  }
  [[nodiscard]] std::size_t consumed_bytes() const { return consumed_ - available_; }
  [[nodiscard]] bool is_compressed() const { return decompressor_ != nullptr; }
  void accept_truncation() { accepts_truncation_ = true; }
  [[nodiscard]] std::string truncation() const {
    return is_truncated_ ? fmt::format("{} data ends early", decompressor_->name()) : std::string();
  }

 private:
  // Reads the next piece of the file behind what is available; nothing more afterwards: the end.
  Status refill() {
    if (available_ > 0) std::memmove(buffer_.data(), next_, available_);
    next_ = buffer_.data();
    ssize_t count = 0;
    do {
      count = ::read(descriptor_, buffer_.data() + available_, kReadBytes - available_);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return Error{fmt::format("cannot read: {}", std::strerror(errno)), {.file = path_}};
    available_ += static_cast<std::size_t>(count);
    consumed_ += static_cast<std::size_t>(count);
    return Ok{};
  }

  // A pipe may hand out its first bytes one by one.
  Status begin() {
    for (std::size_t before = 0; available_ < kCompressionMagicBytes; before = available_) {
      GOODPUT_TRY_STATUS(refill());
      if (available_ == before) break;
    }
    decompressor_ = decompressor_for({next_, available_});
    in_part_ = decompressor_ != nullptr;
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

  Result<std::size_t> read_compressed(std::span<char> into) {
    std::size_t filled = 0;
    while (filled < into.size() && !is_truncated_) {
      if (available_ == 0) GOODPUT_TRY_STATUS(refill());
      if (in_part_) {
        GOODPUT_TRY(const std::size_t count, decompress_into(into.subspan(filled)));
        filled += count;
      } else if (available_ == 0) {
        break;
      } else {
        GOODPUT_TRY_STATUS(begin_part());
      }
    }
    return filled;
  }

  // Behind a part stands another one, or zeros that pad a tape block.
  Status begin_part() {
    if (*next_ == 0) {
      ++next_;
      --available_;
      is_padding_ = true;
      return Ok{};
    }
    if (is_padding_ || !decompressor_->begins_part(*next_)) {
      return Error{fmt::format("the {0} data is damaged: something other than {0} follows its first part",
                               decompressor_->name()),
                   {.file = path_}};
    }
    decompressor_->restart();
    in_part_ = true;
    return Ok{};
  }

  Result<std::size_t> decompress_into(std::span<char> into) {
    const bool at_end = available_ == 0;
    auto progress = decompressor_->run({next_, available_}, into);
    if (!progress) return std::move(progress).error().in_file(path_);
    next_ += progress->read;
    available_ -= progress->read;
    in_part_ = !progress->part_ended;
    if (at_end && progress->written == 0 && in_part_) {
      if (!accepts_truncation_) {
        return Error{fmt::format("{} data ends early: the file is truncated", decompressor_->name()),
                     {.file = path_}};
      }
      is_truncated_ = true;
    }
    return progress->written;
  }

  std::string path_;
  int descriptor_;
  std::vector<unsigned char> buffer_;
  unsigned char* next_ = nullptr;               // in the buffer
  std::size_t available_ = 0;                   // from there
  std::size_t consumed_ = 0;                    // read from the file
  std::unique_ptr<Decompressor> decompressor_;  // null: not compressed
  bool in_part_ = false;
  bool is_padding_ = false;
  bool accepts_truncation_ = false;
  bool is_truncated_ = false;
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

namespace {

Error too_blank(const std::string& path) {
  return {fmt::format("has more than {} MiB of blank lines in a row, probably in place of lost data; remove "
                      "them if no data was there",
                      kMostBlankBytes >> 20),
          {.file = path}};
}

}  // namespace

// Blank lines before the first that is none say nothing about what the file is.
Result<std::string_view> ByteSource::peek() {
  std::size_t blanks = std::min(head_.find_first_not_of(kBlanks), head_.size());
  while (!peeked_) {
    const std::size_t before = head_.size();
    head_.resize(before + kHeadBytes);
    GOODPUT_TRY(const std::size_t count, file_->read(std::span(head_).subspan(before)));
    head_.resize(before + count);
    blanks = std::min(head_.find_first_not_of(kBlanks, blanks), head_.size());
    if (blanks > kMostBlankBytes) return too_blank(path_);
    peeked_ = head_.size() - blanks >= kHeadBytes || count < kHeadBytes;
  }
  return std::string_view(head_).substr(blanks);
}

void ByteSource::accept_truncation() {
  file_->accept_truncation();
}

std::string ByteSource::truncation() const {
  return file_->truncation();
}

bool ByteSource::is_compressed() const {
  return file_->is_compressed();
}

Result<std::size_t> ByteSource::read(std::span<char> into) {
  const std::size_t from_head = std::min(head_.size() - head_used_, into.size());
  std::memcpy(into.data(), head_.data() + head_used_, from_head);
  head_used_ += from_head;
  GOODPUT_TRY(const std::size_t from_file, file_->read(into.subspan(from_head)));
  if (on_progress_) on_progress_(file_->consumed_bytes());
  GOODPUT_TRY_STATUS(watch_blanks(into.first(from_head + from_file)));
  return from_head + from_file;
}

// In pieces that are no longer than what is refused: a longer run is seen from its ends.
Status ByteSource::watch_blanks(std::span<const char> text) {
  while (!text.empty()) {
    const std::string_view piece(text.data(), std::min(text.size(), kMostBlankBytes));
    const std::size_t leading = std::min(piece.find_first_not_of(kBlanks), piece.size());
    if (blank_run_ + leading > kMostBlankBytes) {
      return too_blank(path_);
    }
    const bool is_blank = leading == piece.size();
    blank_run_ = is_blank ? blank_run_ + leading : piece.size() - 1 - piece.find_last_not_of(kBlanks);
    text = text.subspan(piece.size());
  }
  return Ok{};
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
