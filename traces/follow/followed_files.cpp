#include "traces/follow/followed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "sim/base/text.h"
#include "traces/follow/followed_content.h"
#include "traces/follow/followed_contents.h"
#include "traces/follow/log_name.h"

namespace goodput {
namespace {

constexpr std::size_t kLookBytes = std::size_t{64} << 10;
constexpr std::size_t kMostBytesToGo = std::size_t{16} << 20;  // decompressed at once to get to a place
constexpr std::size_t kKeptBuffer = std::size_t{4} << 20;

// Behind the last end of a line; 0: there is none.
std::size_t end_of_lines(std::string_view text) {
  const void* found = memrchr(text.data(), '\n', text.size());
  return found == nullptr ? 0 : static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1;
}

constexpr std::chrono::seconds kRetryReading{5};

}  // namespace

// ---- Takes whole lines from a content that grows, piece by piece.

struct TextPiece {
  std::string_view text{};  // whole lines; empty: none at the moment. Valid until the next call
  bool is_replay = false;   // before FollowedContent::seen
  bool is_other = false;    // what stands before it is not what was read there: another content
  std::string warning{};    // what was left out; empty: nothing
};

class TextPieces {
 public:
  TextPieces(std::size_t piece_bytes, std::size_t longest_line)
      : piece_bytes_(std::min(piece_bytes, longest_line)), longest_line_(longest_line) {}

  // The next lines of `content`, which goes on behind them. `is_rest`: also what has no end of a line.
  // REQUIRES: `file` is the source of `content`.
  Result<TextPiece> next(FollowedContent& content, const FileHandle& file, bool is_rest) {
    return content.is_compressed ? next_compressed(content, file, is_rest)
                                 : next_plain(content, file, is_rest);
  }

 private:
  // What was read last is read again and compared: a file that was emptied and has grown beyond is another
  // one.
  Result<TextPiece> next_plain(FollowedContent& content, const FileHandle& file, bool is_rest) {
    if (content.blank > content.read && !is_rest) {
      GOODPUT_TRY(const bool has_end, has_line_end(content, file));
      if (!has_end) return TextPiece{};
    }
    const std::size_t before = content.tail.size();
    while (true) {
      const std::span<char> into =
          room(before + static_cast<std::size_t>(content.blank - content.read) + piece_bytes_);
      GOODPUT_TRY(const std::size_t count, read_at(file, content.path, into, content.read - before));
      if (count < before || std::memcmp(into.data(), content.tail.data(), before) != 0)
        return TextPiece{.is_other = true};
      const bool is_end = count < into.size();
      const std::string_view text(into.data() + before, count - before);
      if (content.read == 0 && !text.starts_with(std::string_view(content.head).substr(0, text.size())))
        return TextPiece{.is_other = true};
      TextPiece piece = cut(content, text, is_rest && is_end);
      if (is_end || !piece.text.empty() || !piece.warning.empty() || content.skips_line) return piece;
    }
  }

  Result<TextPiece> next_compressed(FollowedContent& content, const FileHandle& file, bool is_rest) {
    TextPiece piece;
    GOODPUT_TRY(const bool is_there, go_to_read(content, file, piece));
    if (!is_there) return piece;
    bool is_end = false;
    while (piece.text.empty() && piece.warning.empty() && !is_end) {
      const std::size_t carried = content.carried.size();
      const std::span<char> into = room(carried + piece_bytes_);
      std::memcpy(into.data(), content.carried.data(), carried);
      auto count = content.stream->read(file, content.path, into.subspan(carried));
      if (!count) {
        content.is_damaged = true;
        content.carried.clear();
        return TextPiece{.warning =
                             fmt::format("{}; the data before that point was read", count.error().message())};
      }
      content.streamed += *count;
      is_end = *count == 0;
      const std::string_view text(into.data(), carried + *count);
      const std::uint64_t begin = content.read;
      piece = cut(content, text, is_end && (is_rest || content.stream->is_whole()));
      content.carried = text.substr(static_cast<std::size_t>(content.read - begin));
    }
    if (is_end) content.ended_at = content.stored_size;
    content.is_complete = is_end && content.carried.empty() && content.stream->is_whole();
    return piece;
  }

  // Whether a line that was not at its end may be now.
  Result<bool> has_line_end(FollowedContent& content, const FileHandle& file) {
    while (content.blank - content.read <= longest_line_) {
      const std::span<char> into = room(kLookBytes);
      GOODPUT_TRY(const std::size_t count, read_at(file, content.path, into, content.blank));
      if (std::memchr(into.data(), '\n', count) != nullptr) return true;
      content.blank += count;
      if (count < into.size()) return false;
    }
    return true;
  }

  // Decompresses up to where reading goes on, a piece at a time. True: there.
  Result<bool> go_to_read(FollowedContent& content, const FileHandle& file, TextPiece& piece) {
    if (content.stream == nullptr) {
      content.stream = std::make_unique<CompressedText>();
      content.streamed = 0;
      content.carried.clear();
    }
    const std::uint64_t read = content.read;
    for (std::size_t done = 0; content.streamed < read && done < kMostBytesToGo;) {
      const std::span<char> into =
          room(static_cast<std::size_t>(std::min<std::uint64_t>(read - content.streamed, piece_bytes_)));
      auto count = content.stream->read(file, content.path, into);
      if (!count) content.is_damaged = true;
      if (!count) piece.warning = count.error().message();
      if (!count || *count == 0) {
        piece.is_other = count && content.stream->is_whole();
        content.ended_at = content.stored_size;
        return false;
      }
      const std::string_view text(into.data(), *count);
      const std::uint64_t tail_begin = std::max(read - content.tail.size(), content.streamed);
      content.streamed += *count;
      done += *count;
      if (content.streamed <= tail_begin) continue;  // always, of what a former process has read
      const std::string_view part =
          text.substr(text.size() - static_cast<std::size_t>(content.streamed - tail_begin));
      const auto at = static_cast<std::size_t>(tail_begin - (read - content.tail.size()));
      if (content.tail.compare(at, part.size(), part) == 0) continue;
      piece.is_other = true;
      return false;
    }
    return content.streamed >= read;
  }

  [[nodiscard]] TextPiece cut(FollowedContent& content, std::string_view text, bool is_rest) const {
    if (content.skips_line) return skip_line(content, text);
    const bool is_replay = content.read < content.seen;
    const std::uint64_t end = content.read + text.size();
    std::size_t lines = 0;
    if (is_replay && end > content.seen)
      lines = end_of_lines(text.substr(0, static_cast<std::size_t>(content.seen - content.read)));
    if (lines == 0) lines = end_of_lines(text);
    if (text.size() > longest_line_ && text.find('\n') > longest_line_) {
      content.skips_line = true;
      return skip_line(content, text);
    }
    const bool is_unfinished = lines == 0;
    if (is_unfinished && is_rest) lines = text.size();
    content.advance(text.substr(0, lines));
    content.blank = memchr(text.data() + lines, '\n', text.size() - lines) == nullptr ? end : content.read;
    return {.text = text.substr(0, lines), .is_replay = is_replay};
  }

  // Goes on behind the end of a line that is too long, if that is in `text`.
  [[nodiscard]] TextPiece skip_line(FollowedContent& content, std::string_view text) const {
    const std::size_t newline = text.find('\n');
    const std::uint64_t line = content.line;
    content.advance(text.substr(0, newline == std::string_view::npos ? newline : newline + 1));
    if (newline == std::string_view::npos) return {};
    content.skips_line = false;
    const std::string what =
        fmt::format("the line is longer than {} MiB and was skipped", longest_line_ >> 20);
    const Position position = line == 0 ? Position::byte(content.read) : Position::line(line);
    return {.warning = Error{what, {.file = on_one_line(content.path), .position = position}}.message()};
  }

  std::span<char> room(std::size_t bytes) {
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    if (buffer_.size() > kKeptBuffer && bytes <= kKeptBuffer) {
      buffer_.resize(kKeptBuffer);
      buffer_.shrink_to_fit();
    }
    return std::span(buffer_).first(bytes);
  }

  std::size_t piece_bytes_;
  std::size_t longest_line_;
  std::vector<char> buffer_;
};

// ---- Files.

class FollowedFiles::Impl {
 public:
  Impl(FollowedContents contents, const FollowOptions& options)
      : contents_(std::move(contents)), pieces_(options.piece_bytes, options.longest_line) {}

  [[nodiscard]] FollowedContents& contents() { return contents_; }
  // Contents as readable() has them, oldest parts of a log first.
  const std::vector<FileNumber>& order();
  // Its path, unless another content has that now.
  [[nodiscard]] std::string name_of(FileNumber number, const FollowedContent& content);
  Result<FollowedPiece> read(FileNumber file, bool is_rest);

 private:
  Result<FollowedPiece> read_text(FileNumber number, FollowedContent& content, bool is_rest);
  Result<FollowedPiece> read_whole(FollowedContent& content, FollowedPiece piece);
  void sort_by_name();

  FollowedContents contents_;
  TextPieces pieces_;
  std::vector<FileNumber> order_;
  std::map<std::string, FileNumber, std::less<>> by_path_;  // of several the one that is there, or the latest
};

const std::vector<FileNumber>& FollowedFiles::Impl::order() {
  if (contents_.take_renamed()) sort_by_name();
  return order_;
}

std::string FollowedFiles::Impl::name_of(FileNumber number, const FollowedContent& content) {
  if (contents_.take_renamed()) sort_by_name();
  return by_path_.at(content.path) == number ? content.path : std::string();
}

void FollowedFiles::Impl::sort_by_name() {
  std::vector<std::pair<LogName, FileNumber>> named;
  by_path_.clear();
  for (const auto& [number, content] : contents_.all()) {
    named.emplace_back(parse_log_name(content->path), number);
    const auto [other, is_only] = by_path_.try_emplace(content->path, number);
    if (!is_only && (contents_.has_name(*content) || !contents_.has_name(*contents_.find(other->second))))
      other->second = number;
  }
  std::ranges::stable_sort(named, comes_before, &std::pair<LogName, FileNumber>::first);
  order_.clear();
  for (const auto& [name, number] : named) order_.push_back(number);
}

Result<FollowedPiece> FollowedFiles::Impl::read(FileNumber file, bool is_rest) {
  FollowedContent* content = contents_.find(file);
  FollowedPiece piece;
  piece.file = file;
  if (content == nullptr) return piece;
  piece.path = content->path;
  piece.offset = piece.end = content->read;
  piece.first_line = content->line;
  if (content->is_loss_due) {
    content->is_loss_due = false;
    content->lost = 0;
    piece.kind = FollowedPiece::Kind::kGone;
    return piece;
  }
  if (!content->source) return piece;
  if (content->kind == ContentKind::kWhole) return read_whole(*content, std::move(piece));
  auto read = read_text(file, *content, is_rest);
  if (!read) content->retry_at = std::chrono::steady_clock::now() + kRetryReading;
  return read;
}

Result<FollowedPiece> FollowedFiles::Impl::read_text(FileNumber number, FollowedContent& content,
                                                     bool is_rest) {
  FollowedPiece piece;
  piece.file = number;
  piece.path = content.path;
  while (true) {
    piece.offset = content.read;
    piece.first_line = content.line;
    GOODPUT_TRY(const FileHandle* const file, contents_.open_source(content));
    if (file->get() < 0) {  // it is gone: refresh() will see
      contents_.folders().look_at_all();
      break;
    }
    GOODPUT_TRY(const TextPiece text, pieces_.next(content, *file, is_rest || content.is_final));
    if (!text.warning.empty()) contents_.warn(text.warning);
    piece.text = text.text;
    piece.is_replay = text.is_replay;
    if (text.is_other) contents_.refuse_source(number);
    if (content.is_cut()) {
      contents_.warn_once(content.path, fmt::format("{} data ends early; the rest is read when it arrives",
                                                    content.stream->form()));
    }
    const bool goes_on = piece.text.empty() && !text.warning.empty() && content.has_news();
    if (!goes_on) break;
  }
  piece.end = content.read;
  return piece;
}

// By its descriptor, so that the name cannot lead elsewhere by the time it is read.
Result<FollowedPiece> FollowedFiles::Impl::read_whole(FollowedContent& content, FollowedPiece piece) {
  if (content.read > 0) return piece;
  GOODPUT_TRY(const FileHandle* const file, contents_.open_source(content));
  if (file->get() < 0) {
    contents_.folders().look_at_all();
    return piece;
  }
  piece.kind = FollowedPiece::Kind::kWhole;
  piece.open_path = fmt::format("/proc/self/fd/{}", file->get());
  content.read = piece.end = content.stored_size;
  piece.is_replay = content.read <= content.seen;
  content.seen = std::max(content.seen, content.read);
  return piece;
}

Result<FollowedFiles> FollowedFiles::open(const FollowOptions& options,
                                          const std::vector<FollowedPosition>& known) {
  GOODPUT_TRY(FollowedContents contents, FollowedContents::open(options, known));
  return FollowedFiles(std::make_unique<Impl>(std::move(contents), options));
}

FollowedFiles::FollowedFiles(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FollowedFiles::FollowedFiles(FollowedFiles&&) noexcept = default;
FollowedFiles& FollowedFiles::operator=(FollowedFiles&&) noexcept = default;
FollowedFiles::~FollowedFiles() = default;

void FollowedFiles::refresh() {
  impl_->contents().refresh();
}

std::vector<FileNumber> FollowedFiles::readable() const {
  const auto now = std::chrono::steady_clock::now();
  std::vector<FileNumber> readable;
  const std::map<std::string, LogName> awaited = impl_->contents().oldest_awaited();
  for (const FileNumber number : impl_->order()) {
    const FollowedContent* content = impl_->contents().find(number);
    if (content == nullptr) continue;
    if (!content->is_loss_due && (!content->has_news() || content->retry_at > now)) continue;
    const LogName name = parse_log_name(content->path);
    const auto older = awaited.find(name.log);
    if (older == awaited.end() || !older->second.is_older_than(name)) readable.push_back(number);
  }
  return readable;
}

Result<FollowedPiece> FollowedFiles::read(FileNumber file) {
  return impl_->read(file, false);
}

Result<FollowedPiece> FollowedFiles::read_rest(FileNumber file) {
  return impl_->read(file, true);
}

void FollowedFiles::set_used(FileNumber file, std::uint64_t offset) {
  if (FollowedContent* content = impl_->contents().find(file))
    content->used = std::max(content->used, offset);
}

FollowedPosition FollowedFiles::position(FileNumber file) const {
  FollowedContent* content = impl_->contents().find(file);
  FollowedPosition position;
  position.is_done = true;
  if (content == nullptr) return position;
  position.path = impl_->name_of(file, *content);
  position.device = content->key.device;
  position.inode = content->key.inode;
  position.head_hash = content->known_head_hash;
  position.head_bytes = content->known_head_bytes;
  if (position.head_bytes == 0) {
    const auto bytes = std::min<std::uint64_t>(content->head.size(), content->seen);
    if (bytes != content->hashed_bytes) {
      const auto head = std::string_view(content->head).substr(0, static_cast<std::size_t>(bytes));
      content->head_hash = hash_of_head(head);
      content->hashed_bytes = bytes;
    }
    position.head_bytes = bytes;
    position.head_hash = bytes == 0 ? hash_of_head({}) : content->head_hash;
  }
  position.offset = content->used;
  position.seen = content->seen;
  const bool is_all_read = content->kind == ContentKind::kWhole ? content->read > 0 : content->is_complete;
  position.is_done = is_all_read && content->used >= content->read;
  return position;
}

std::vector<FileNumber> FollowedFiles::files() const {
  return impl_->order();
}

bool FollowedFiles::is_known(FileNumber file) const {
  return impl_->contents().find(file) != nullptr;
}

std::string FollowedFiles::log_of(FileNumber file) const {
  const FollowedContent* content = impl_->contents().find(file);
  return content == nullptr ? std::string() : parse_log_name(content->path).log;
}

std::string_view FollowedFiles::head(FileNumber file) const {
  const FollowedContent* content = impl_->contents().find(file);
  return content == nullptr ? std::string_view() : std::string_view(content->head);
}

std::map<std::string, std::uint64_t> FollowedFiles::unread_bytes() const {
  std::map<std::string, std::uint64_t> bytes;
  for (const auto& [number, content] : impl_->contents().all()) {
    if (const std::uint64_t unread = content->unread_stored_bytes(); unread > 0)
      bytes[content->owner] += unread;
  }
  return bytes;
}

void FollowedFiles::wait(std::chrono::milliseconds at_most) {
  const auto now = std::chrono::steady_clock::now();
  impl_->contents().folders().wait(now, std::min(now + at_most, impl_->contents().next_due()));
}

void FollowedFiles::wake() {
  impl_->contents().folders().wake();
}

bool FollowedFiles::uses_inotify() const {
  return impl_->contents().folders().uses_inotify();
}

std::vector<std::string> FollowedFiles::take_warnings() {
  return impl_->contents().take_warnings();
}

}  // namespace goodput
