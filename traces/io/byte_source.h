// A file read front to back, decompressed on the way when it is gzip or zstd (also several of either in one
// file).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"

namespace goodput {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of UTF-8

class ByteSource {
 public:
  ByteSource(ByteSource&&) noexcept;
  ~ByteSource();

  // Refuses what is not readable: missing, a directory, no permission, empty.
  static Result<ByteSource> open(const std::string& path);

  // Up to 64 KiB and more from the first character that is no white space, without consuming anything. Fails
  // on a damaged gzip header.
  Result<std::string_view> peek();

  // Fills `into` from the front and returns how much was read: less than asked only at the end of the file.
  // Fails behind more than 1 MiB of blanks in a row: an empty stretch of that size is damage.
  // Fails when compressed data is damaged, or truncated unless that is accepted.
  Result<std::size_t> read(std::span<char> into);

  // Compressed data that ends early ends the file where it does.
  void accept_truncation();
  // "gzip data ends early" once that was met and accepted; else empty.
  [[nodiscard]] std::string truncation() const;

  // Of what was peeked at or read.
  [[nodiscard]] bool is_compressed() const;

  [[nodiscard]] const std::string& path() const { return path_; }

  // Called with the bytes of the file (compressed where they are) consumed so far, after every read.
  using OnProgress = std::function<void(std::size_t)>;
  void report_progress(OnProgress on_progress) { on_progress_ = std::move(on_progress); }

 private:
  class File;
  Status watch_blanks(std::span<const char> text);
  ByteSource(std::string path, std::unique_ptr<File> file);

  std::string path_;
  std::unique_ptr<File> file_;
  std::string head_;  // peeked, not yet read
  std::size_t head_used_ = 0;
  bool peeked_ = false;
  std::size_t blank_run_ = 0;  // blanks up to here, in a row
  OnProgress on_progress_;
};

// The whole of `source`. For files that are small by nature: metadata, configs.
Result<std::string> read_all(ByteSource& source, std::size_t limit_bytes);

}  // namespace goodput
