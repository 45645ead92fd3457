#include "traces/follow/followed_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/hash.h"
#include "sim/base/text.h"

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
    if (decompressor_ == nullptr) return Error{"is no longer a compressed file"};
    in_part_ = true;
    return Ok{};
  }
  while (!stored.empty() && stored.front() == 0) {
    is_padding_ = true;
    stored = stored.subspan(1);
  }
  if (stored.empty()) return Ok{};
  if (is_padding_ || !decompressor_->begins_part(stored.front())) {
    return Error{fmt::format("the {0} data is damaged: something other than {0} follows its first part",
                             decompressor_->name())};
  }
  decompressor_->restart();
  in_part_ = true;
  return Ok{};
}

void FollowedContent::advance(std::string_view text) {
  note_head(read, text);
  read += text.size();
  seen = std::max(seen, read);
  blank = read;
  if (line != 0) line += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
  if (text.size() >= kTailBytes) {
    tail = text.substr(text.size() - kTailBytes);
  } else {
    tail += text;
    tail.erase(0, tail.size() - std::min(tail.size(), kTailBytes));
  }
  const bool is_far = marks.empty() || read >= 2 * marks.back().offset;
  if (tail.size() == kTailBytes && is_far) marks.push_back({read, hash_of_tail(tail)});
}

std::uint64_t hash_of_tail(std::string_view tail) {
  Hash hash;
  hash.add(tail);
  return hash.value();
}

// What was noted behind `read` may have been written anew since.
void FollowedContent::note_head(std::uint64_t offset, std::string_view text) {
  if (offset > head.size() || offset >= kHeadBytes) return;
  text = text.substr(0, kHeadBytes - offset);
  const std::string_view noted = std::string_view(head).substr(offset);
  if (noted.starts_with(text)) return;
  head.resize(offset);
  head += text;
}

std::uint64_t FollowedContent::unread_stored_bytes() const {
  if (!source || is_complete || is_damaged) return 0;
  const std::uint64_t before = is_compressed ? (stream != nullptr ? stream->stored_bytes() : 0) : read;
  return stored_size - std::min(before, stored_size);
}

bool FollowedContent::is_cut() const {
  return stream != nullptr && !is_damaged && ended_at > 0 && ended_at == stored_size && !stream->is_whole();
}

bool FollowedContent::has_news() const {
  if (!source || is_complete || is_damaged) return false;
  if (kind == ContentKind::kWhole) return read == 0;
  if (is_compressed) return stored_size > ended_at;
  return stored_size > std::max(read, blank) || (is_final && stored_size > read);
}

}  // namespace goodput
