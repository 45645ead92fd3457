#include "traces/follow/compressed_text.h"

#include <fmt/format.h>

#include <array>

#include "sim/base/text.h"
#include "traces/follow/content_head.h"

namespace goodput {

Result<std::size_t> CompressedText::read(const FileHandle& file, const std::string& path,
                                         std::span<char> into) {
  if (failure_) return *failure_;
  std::size_t filled = 0;
  while (filled < into.size() && !failure_) {
    const auto count = fill(file, path, into.subspan(filled));
    if (!count) {
      failure_ = count.error();
      if (filled == 0) return *failure_;
      break;
    }
    if (*count == 0) break;
    filled += *count;
  }
  return filled;
}

Result<std::size_t> CompressedText::fill(const FileHandle& file, const std::string& path,
                                         std::span<char> into) {
  std::array<char, std::size_t{64} << 10> buffer;
  while (true) {
    GOODPUT_TRY(const std::size_t count, read_at(file, path, buffer, stored_));
    std::span<const unsigned char> stored(reinterpret_cast<const unsigned char*>(buffer.data()), count);
    if (!in_part_ && stored.empty()) return std::size_t{0};
    if (!in_part_) {
      auto begun = begin_part(stored);
      if (!begun) return std::move(begun).error().in_file(on_one_line(path));
    }
    if (in_part_) {
      auto progress = decompressor_->run(stored, into);
      if (!progress) return std::move(progress).error().in_file(on_one_line(path));
      stored = stored.subspan(progress->read);
      in_part_ = !progress->part_ended;
      stored_ += count - stored.size();
      if (progress->written > 0 || (progress->read == 0 && in_part_)) return progress->written;
    } else {
      stored_ += count - stored.size();
    }
  }
}

// Another part may stand behind the last one, or zeros.
Status CompressedText::begin_part(std::span<const unsigned char>& stored) {
  if (decompressor_ == nullptr) {
    decompressor_ = decompressor_for(stored);
    if (decompressor_ == nullptr) return Error{"is no compressed file any more"};
    in_part_ = true;
    return Ok{};
  }
  while (!stored.empty() && stored.front() == 0) {
    is_padding_ = true;
    stored = stored.subspan(1);
  }
  if (stored.empty()) return Ok{};
  if (is_padding_ || !decompressor_->begins_part(stored.front())) {
    return Error{fmt::format("{0} data is damaged: what follows its first part is no {0} data",
                             decompressor_->name())};
  }
  decompressor_->restart();
  in_part_ = true;
  return Ok{};
}

}  // namespace goodput
