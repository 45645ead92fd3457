#include "traces/follow/followed_content.h"

#include <algorithm>

#include "sim/base/hash.h"

namespace goodput {
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
