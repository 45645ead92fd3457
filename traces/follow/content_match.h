// Whether a file that has come is one that is known: moved on by rotation, or copied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/follow/content_head.h"
#include "traces/follow/followed_content.h"

namespace goodput {

enum class ContentMatch : std::uint8_t {
  kOther,      // another content
  kCopy,       // nothing is in the file that is not in the content too, as far as it goes now
  kContinues,  // the content has no source, and the file has all of it that was read
};

// A file whose head was read, and that is open.
struct OpenedFile {
  const StoredFile& stored;
  const FileHandle& handle;
  const ContentHead& head;
};

// What stands in `file` before `end`, for stands_before(): as much as tells one text from another.
[[nodiscard]] std::string text_before(const FileHandle& file, std::uint64_t end);
// Whether text of `file` right before `end` is `tail`.
[[nodiscard]] bool stands_before(const FileHandle& file, std::uint64_t end, std::string_view tail);

// Whether what was read of `content`, or its head if nothing was, still stands in `file`, as far as that can
// be told. `file` may be closed: it does.
[[nodiscard]] bool is_still(const FollowedContent& content, const FileHandle& file);

// To a content without a source.
[[nodiscard]] ContentMatch match_without_source(const OpenedFile& file, const FollowedContent& content);
// To a content that is read from the file `source`, which is open and as it was.
[[nodiscard]] ContentMatch match_with_source(const OpenedFile& file, const FollowedContent& content,
                                             const OpenedFile& source);

}  // namespace goodput
