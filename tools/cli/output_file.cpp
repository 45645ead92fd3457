#include "tools/cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "tools/cli/command.h"

namespace goodput {
namespace {

// Temporary files to remove when a signal ends the process: a handler may neither lock nor allocate, so it
// reads fixed slots. The one piece of mutable global state there is, because signals are global too.
constexpr std::size_t kMostUnfinishedFiles = 64;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::array<std::atomic<const char*>, kMostUnfinishedFiles> unfinished_files{};

extern "C" void remove_unfinished_files_and_exit(int) {
  for (const std::atomic<const char*>& slot : unfinished_files) {
    if (const char* path = slot.load(); path != nullptr) unlink(path);
  }
  _exit(static_cast<int>(ExitCode::kInterrupted));
}

constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP};

// Interrupts wait while this exists: a file must not exist before its slot knows it.
class HeldInterrupts {
 public:
  HeldInterrupts() {
    sigset_t interrupts;
    sigemptyset(&interrupts);
    for (const int signal : kInterrupts) sigaddset(&interrupts, signal);
    pthread_sigmask(SIG_BLOCK, &interrupts, &before_);
  }
  ~HeldInterrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;

 private:
  sigset_t before_{};
};

// A temporary file that is gone when this is, unless it was renamed before.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {
    for (std::atomic<const char*>& slot : unfinished_files) {
      const char* expected = nullptr;
      if (slot.compare_exchange_strong(expected, path_.c_str())) {
        slot_ = &slot;
        return;
      }
    }
  }
  ~TemporaryFile() {
    if (!renamed_) unlink(path_.c_str());
    if (slot_ != nullptr) slot_->store(nullptr);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  Status rename_to(const std::string& target) {
    if (std::rename(path_.c_str(), target.c_str()) != 0) {
      return Error{fmt::format("cannot write: {}", std::strerror(errno)), {.file = target}};
    }
    renamed_ = true;
    return Ok{};
  }

 private:
  const std::string path_;
  std::atomic<const char*>* slot_ = nullptr;
  bool renamed_ = false;
};

// Creates an empty file of a new name beside `target`, with the permissions a new `target` would get.
Result<std::string> create_beside(const std::string& target) {
  const std::filesystem::path whole(target);
  const std::string hidden = (whole.parent_path() / ("." + whole.filename().string())).string();
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::string path = fmt::format("{}.tmp{}.{}", hidden, getpid(), attempt);
    const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file >= 0) {
      close(file);
      return path;
    }
    if (errno != EEXIST)
      return Error{fmt::format("cannot write: {}", std::strerror(errno)), {.file = target}};
  }
  return Error{"cannot write: too many temporary files in the folder", {.file = target}};
}

// EINVAL: the file system has no disk. EACCES: a folder that may be written but not read cannot be synced.
Status sync_path(const std::string& path, int flags, const std::string& shown_path) {
  const int file = open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0 && errno == EACCES) return Ok{};
  const bool is_synced = file >= 0 && (fsync(file) == 0 || errno == EINVAL);
  const int why = errno;
  if (file >= 0) close(file);
  if (!is_synced) return Error{fmt::format("cannot write: {}", std::strerror(why)), {.file = shown_path}};
  return Ok{};
}

bool is_same_file(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return a == b;
  std::error_code failed;
  if (std::filesystem::exists(a, failed) && !std::filesystem::is_regular_file(a, failed)) return false;
  if (std::filesystem::equivalent(a, b, failed) && !failed) return true;
  const auto resolved = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed);
  };
  return resolved(a) == resolved(b);
}

// Replacing a symbolic link that leads nowhere would lose the link, and what it stands for is not known.
Status check_link(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, failed))) return Ok{};
  const std::filesystem::file_status status = std::filesystem::status(path, failed);
  if (std::filesystem::exists(status)) return Ok{};
  if (status.type() != std::filesystem::file_type::not_found)
    return Error{fmt::format("cannot write: {}", failed.message()), {.file = path}};
  return Error{fmt::format("is a symbolic link to {}, which does not exist; name another file",
                           std::filesystem::read_symlink(path, failed).string()),
               {.file = path}};
}

Status write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno != EINTR) return Error{fmt::format("cannot write: {}", std::strerror(errno))};
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return Ok{};
}

}  // namespace

Status write_file_atomically(const std::string& path,
                             const std::function<Status(const std::string&)>& write) {
  GOODPUT_TRY_STATUS(check_link(path));
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) return Error{"is a directory; name a file", {.file = path}};
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return write(path);
  // A symbolic link stays one: the file it points to is what is replaced.
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, ignored);
  const std::string target = ignored ? path : resolved.string();
  std::optional<HeldInterrupts> held(std::in_place);
  GOODPUT_TRY(const std::string temporary_path, create_beside(target));
  TemporaryFile temporary(temporary_path);
  held.reset();
  if (Status written = write(temporary.path()); !written) {
    Error error = std::move(written).error();
    if (error.where.file == temporary.path()) error.where.file = path;  // people know only this one
    return error;
  }
  GOODPUT_TRY_STATUS(sync_path(temporary.path(), O_RDONLY, path));
  GOODPUT_TRY_STATUS(temporary.rename_to(target));
  const std::string folder = std::filesystem::path(target).parent_path();
  return sync_path(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY, path);
}

Status sync_folder(const std::string& folder) {
  return sync_path(folder, O_RDONLY | O_DIRECTORY, folder);
}

Status write_text_atomically(const std::string& path, std::string_view text) {
  return write_file_atomically(path, [&](const std::string& temporary) -> Status {
    const int file = open(temporary.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return Error{fmt::format("cannot write: {}", std::strerror(errno)), {.file = path}};
    Status written = write_all(file, text);
    if (close(file) != 0 && written)
      return Error{fmt::format("cannot write: {}", std::strerror(errno)), {.file = path}};
    if (!written) return written.error().in_file(path);
    return Ok{};
  });
}

Status check_file_roles(const std::vector<std::string>& inputs, const std::vector<OutputPath>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputPath& output = outputs[i];
    if (output.path.empty()) continue;
    if (output.path != "-") GOODPUT_TRY_STATUS(check_link(output.path));
    for (const std::string& input : inputs) {
      if (is_same_file(input, output.path)) {
        return Error{fmt::format("is both input and output ({}); name another output file", output.option),
                     {.file = output.path}};
      }
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (outputs[k].path.empty() || !is_same_file(outputs[k].path, output.path)) continue;
      return Error{fmt::format("is given for both {} and {}; name two different files", outputs[k].option,
                               output.option),
                   {.file = output.path == "-" ? "stdout" : output.path}};
    }
  }
  return Ok{};
}

void remove_unfinished_files_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = remove_unfinished_files_and_exit;
  sigemptyset(&action.sa_mask);
  for (const int signal : kInterrupts) {
    struct sigaction inherited {};
    sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup stays in force
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace goodput
