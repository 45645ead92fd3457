#include "sim/process/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::size_t kKeptComplaints = 4096;  // bytes: the last of what was written

void set_nonblocking(int descriptor) {
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

// Bytes that are there now, 0: the end, -1: none yet.
ssize_t read_now(int descriptor, std::array<char, 1 << 16>& buffer) {
  ssize_t got = -1;
  do {
    got = read(descriptor, buffer.data(), buffer.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno != EAGAIN) return 0;
  return got;
}

}  // namespace

Result<std::unique_ptr<LineChannel>> ChildProcess::start(const std::string& command,
                                                         const LineLimits& limits) {
  GOODPUT_TRY(WatchedProcess process, WatchedProcess::start(command));
  set_nonblocking(process.output());
  set_nonblocking(process.errors());
  return std::unique_ptr<LineChannel>(new ChildProcess(std::move(process), limits));
}

ChildProcess::~ChildProcess() {
  if (!is_fine_) return;
  process_.close_input();
  static_cast<void>(process_.finish());
}

Result<std::string> ChildProcess::exchange(std::string_view line) {
  is_fine_ = false;
  if (!incoming_.empty()) return Error{"wrote more than the one line that was requested"};
  outgoing_.assign(line).push_back('\n');
  written_ = 0;
  const Deadline deadline = std::chrono::steady_clock::now() + limits_.answer;
  while (true) {
    if (std::optional<std::string> answer = take_line()) {
      is_fine_ = true;
      return *std::move(answer);
    }
    GOODPUT_TRY_STATUS(move_bytes(deadline));
  }
}

Status ChildProcess::move_bytes(Deadline deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left <= milliseconds{0})
    return Error{
        fmt::format("did not answer within {} s", static_cast<double>(limits_.answer.count()) / 1000)};
  const bool writes = written_ < outgoing_.size();
  std::array<pollfd, 3> files = {pollfd{process_.output(), POLLIN, 0},
                                 pollfd{has_errors_ ? process_.errors() : -1, POLLIN, 0},
                                 pollfd{writes ? process_.input() : -1, POLLOUT, 0}};
  if (poll(files.data(), files.size(), static_cast<int>(left.count())) < 0) return Ok{};  // a signal: again
  if (files[1].revents != 0) read_errors();
  if (files[0].revents != 0) GOODPUT_TRY_STATUS(read_output());
  if (files[2].revents != 0) GOODPUT_TRY_STATUS(write_some());
  return Ok{};
}

Status ChildProcess::write_some() {
  const ssize_t sent = send(process_.input(), outgoing_.data() + written_, outgoing_.size() - written_,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    written_ += static_cast<std::size_t>(sent);
  } else if (errno != EAGAIN && errno != EINTR) {
    written_ = outgoing_.size();  // nobody reads it: how the program ended says why
  }
  return Ok{};
}

Status ChildProcess::read_output() {
  std::array<char, 1 << 16> buffer;
  const ssize_t got = read_now(process_.output(), buffer);
  if (got == 0) return ended();
  if (got > 0) incoming_.append(buffer.data(), static_cast<std::size_t>(got));
  if (incoming_.size() > limits_.line_bytes && incoming_.find('\n') > limits_.line_bytes)
    return Error{fmt::format("wrote a line longer than {} bytes", limits_.line_bytes)};
  return Ok{};
}

void ChildProcess::read_errors() {
  std::array<char, 1 << 16> buffer;
  const ssize_t got = read_now(process_.errors(), buffer);
  if (got == 0) has_errors_ = false;
  if (got > 0) complaints_.append(buffer.data(), static_cast<std::size_t>(got));
  if (complaints_.size() > kKeptComplaints) complaints_.erase(0, complaints_.size() - kKeptComplaints);
}

std::optional<std::string> ChildProcess::take_line() {
  const std::size_t end = incoming_.find('\n', searched_);
  searched_ = end == std::string::npos ? incoming_.size() : 0;
  if (end == std::string::npos) return std::nullopt;
  std::string line = incoming_.substr(0, end);
  incoming_.erase(0, end + 1);
  return line;
}

Error ChildProcess::ended() {
  const std::string how = process_.finish().text();
  return {incoming_.empty() ? how : how + " in the middle of a line"};
}

std::string ChildProcess::last_complaint() {
  if (has_errors_) read_errors();  // all that a pipe holds
  std::string_view last;
  for (const std::string_view line : split(complaints_, '\n')) {
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) last = line;
  }
  return std::string(last);
}

}  // namespace goodput
