#include "gpu/calibrate/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace goodput::gpu::calibrate {
namespace {

[[noreturn]] void refuse_journal(const std::string& path, const std::string& why) {
  throw std::invalid_argument(path + ": " + why);
}

std::string read_whole(const std::string& path, int file) {
  std::string content;
  char piece[65536];
  for (ssize_t got = 0; (got = read(file, piece, sizeof piece)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_journal(path, std::strerror(errno));
    content.append(piece, static_cast<std::size_t>(got));
  }
  return content;
}

// Opened for this process alone.
int open_alone(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) throw std::invalid_argument("cannot write " + path + ": " + std::strerror(errno));
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    refuse_journal(path, "is not a regular file");
  }
  // A program that was killed holds it for a moment longer.
  for (int tries = 0; tries < 20; ++tries) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  close(file);
  refuse_journal(path, "another goodput-calibrate is writing it");
}

// Bytes of the lines that have their end.
std::size_t whole_lines(const std::string& content) {
  return content.rfind('\n') + 1;  // 0 where there is none
}

// What `take` throws gets the place in front.
void for_each_line(const std::string& path, const std::string& content,
                   const std::function<void(std::size_t number, const std::string& line)>& take) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < whole_lines(content);) {
    const std::size_t end = content.find('\n', at);
    ++number;
    try {
      take(number, content.substr(at, end - at));
    } catch (const std::invalid_argument& error) {
      refuse_journal(path + ":" + std::to_string(number), error.what());
    }
    at = end + 1;
  }
}

std::string shown(const JsonValue* value) {
  if (value == nullptr) return "nothing";
  if (const auto* text = std::get_if<std::string>(&value->content())) return "'" + *text + "'";
  return json_text(*value);
}

void add_differences(const std::string& where, const JsonValue& there, const JsonValue& here,
                     std::string& text) {
  const auto compare = [&](const std::string& name) {
    if (where.empty() && name == "utc") return;
    const JsonValue* const a = there.find(name);
    const JsonValue* const b = here.find(name);
    const auto is_object = [](const JsonValue* value) {
      return value != nullptr && std::holds_alternative<JsonValue::Object>(value->content());
    };
    if (is_object(a) && is_object(b)) return add_differences(where + name + " ", *a, *b, text);
    if (a != nullptr && b != nullptr && *a == *b) return;
    text += (text.empty() ? "" : "; ") + where + name + ": " + shown(a) + " there, " + shown(b) + " here";
  };
  for (const auto& member : there.object()) compare(member.first);
  for (const auto& member : here.object()) {
    if (there.find(member.first) == nullptr) compare(member.first);
  }
}

}  // namespace

std::string differences(const JsonValue& there, const JsonValue& here) {
  std::string text;
  add_differences("", there, here, text);
  return text;
}

Journal::Journal(std::string path, JournalStart start, const JsonValue& header)
    : path_(std::move(path)), header_(header) {
  const bool was_there = access(path_.c_str(), F_OK) == 0;
  file_ = open_alone(path_);
  try {
    const std::string content = read_whole(path_, file_);
    if (start == JournalStart::kNew && !content.empty())
      refuse_journal(path_, "already exists; continue it with --resume, or remove it to start over");
    content.empty() ? begin() : resume(content);
  } catch (...) {
    if (!was_there) static_cast<void>(unlink(path_.c_str()));
    close(file_);
    throw;
  }
}

Journal::~Journal() {
  close(file_);
}

void Journal::remove() {
  static_cast<void>(unlink(path_.c_str()));
}

void Journal::begin() {
  write(json_text(header_) + "\n");
}

void Journal::resume(const std::string& content) {
  const std::size_t whole = whole_lines(content);
  if (whole < content.size() && ftruncate(file_, static_cast<off_t>(whole)) != 0)
    refuse_journal(path_, std::strerror(errno));
  if (whole == 0) return begin();
  for_each_line(path_, content, [this](std::size_t number, const std::string& line) {
    if (number > 1) return kept_.push_back(parse_record(line));
    const JsonValue there = parse_json(line);
    if (const std::string differs = differences(there, header_); !differs.empty())
      throw std::invalid_argument("belongs to a different calibration: " + differs +
                                  "; remove it to start over, or use a different --out");
    header_ = there;
  });
}

void Journal::append(const Record& record) {
  write(line_of(record));
}

void Journal::write(const std::string& line) {
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t wrote = ::write(file_, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) throw std::invalid_argument("cannot write " + path_ + ": " + std::strerror(errno));
    done += static_cast<std::size_t>(wrote);
  }
  if (fdatasync(file_) != 0 && errno != EINVAL && errno != EROFS)
    throw std::invalid_argument("cannot write " + path_ + ": " + std::strerror(errno));
}

}  // namespace goodput::gpu::calibrate
