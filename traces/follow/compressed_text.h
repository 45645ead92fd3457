// The text of a compressed file, as far as it has been written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/process/file_handle.h"
#include "traces/io/decompressor.h"

namespace goodput {

// Holds the state of the decompressor, not the file: that may be closed and opened again in between.
class CompressedText {
 public:
  // Of text, from the front: as much as there is and fits. 0: no more at the moment. Fails on damaged data,
  // once all before the damage was returned, and from then on.
  Result<std::size_t> read(const FileHandle& file, const std::string& path, std::span<char> into);

  // The stored data up to here end where they may end.
  [[nodiscard]] bool is_whole() const { return decompressor_ != nullptr && !in_part_; }
  [[nodiscard]] std::uint64_t stored_bytes() const { return stored_; }  // used up so far
  [[nodiscard]] std::string_view form() const {
    return decompressor_ != nullptr ? decompressor_->name() : "";
  }

 private:
  // Some of that; 0: no more at the moment.
  Result<std::size_t> fill(const FileHandle& file, const std::string& path, std::span<char> into);
  Status begin_part(std::span<const unsigned char>& stored);

  std::optional<Error> failure_;
  std::unique_ptr<Decompressor> decompressor_;  // null: nothing was read yet
  std::uint64_t stored_ = 0;
  bool in_part_ = false;
  bool is_padding_ = false;  // zeros follow the last part, as on tapes
};

}  // namespace goodput
