#include "traces/follow/followed_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "traces/follow/followed_contents.h"
#include "traces/follow/log_name.h"
#include "traces/follow/text_pieces.h"

namespace goodput {
namespace {

constexpr std::chrono::seconds kRetryReading{5};

}  // namespace

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
  std::ranges::stable_sort(named, [](const auto& a, const auto& b) {
    return a.first.log != b.first.log ? a.first.log < b.first.log : a.first.is_older_than(b.first);
  });
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
      contents_.warn_once(content.path, fmt::format("{} data ends early: what follows is read when it comes",
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
