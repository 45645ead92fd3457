#include "tools/monitor/key_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "sim/base/text.h"
#include "tools/cli/output_file.h"
#include "tools/web/push_intake.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

// Three times what is kept at most, of the longest names.
constexpr std::size_t kMostJournalBytes = std::size_t{64} << 20;

std::string line_of(const PushedKey& pushed) {
  return fmt::format("{} {}\n", pushed.key, pushed.job);
}

Result<std::string> journal_text(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_empty(path, failed)) return std::string();
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  GOODPUT_TRY(std::string text, read_all(source, kMostJournalBytes));
  text.resize(text.rfind('\n') + 1);  // without half a line
  return text;
}

}  // namespace

Result<KeyJournal> KeyJournal::open(std::string path) {
  GOODPUT_TRY(FileDescriptor file, open_file(path, O_WRONLY | O_CREAT));
  KeyJournal journal(std::move(path), std::move(file));
  GOODPUT_TRY_STATUS(journal.find_end());
  if (journal.lines_ > journal.most_lines_) GOODPUT_TRY_STATUS(journal.write_anew());
  return journal;
}

Status KeyJournal::find_end() {
  GOODPUT_TRY(const std::string text, journal_text(path_));
  GOODPUT_TRY(const PushKeys keys, read());
  bytes_ = text.size();
  lines_ = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  most_lines_ = 2 * keys.all().size() + kSlackLines;
  return Ok{};
}

Result<PushKeys> KeyJournal::read() const {
  GOODPUT_TRY(const std::string text, journal_text(path_));
  PushKeys keys;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view key = line.substr(0, blank);
    const std::string_view job = line.substr(std::min(blank + 1, line.size()));
    if (is_push_key(key) && is_job_name(job)) keys.add({std::string(job), std::string(key)});
  }
  return keys;
}

Status KeyJournal::add(const std::vector<PushedKey>& keys) {
  std::string text;
  for (const PushedKey& key : keys) text += line_of(key);
  if (text.empty()) return Ok{};
  // What a call before could only write in part is written over.
  const auto end = static_cast<off_t>(bytes_);
  if (ftruncate(file_.number(), end) != 0 || lseek(file_.number(), end, SEEK_SET) < 0)
    return cannot("write", path_);
  GOODPUT_TRY_STATUS(write_all(file_, path_, text));
  if (fsync(file_.number()) != 0 && errno != EINVAL) return cannot("write", path_);  // EINVAL: no disk
  bytes_ += text.size();
  lines_ += keys.size();
  return lines_ > most_lines_ ? write_anew() : Ok{};
}

Status KeyJournal::write_anew() {
  GOODPUT_TRY(const PushKeys keys, read());
  std::string text;
  for (const PushedKey& key : keys.all()) text += line_of(key);
  GOODPUT_TRY_STATUS(write_text_atomically(path_, text));
  GOODPUT_TRY(file_, open_file(path_, O_WRONLY));
  return find_end();
}

}  // namespace goodput
