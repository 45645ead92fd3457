#include "gpu/nccl/rank_launcher.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>

#include "gpu/nccl/launched_rank.h"
#include "gpu/nccl/rank_channel.h"
#include "gpu/nccl/rank_end.h"

namespace goodput::gpu {
namespace {

using std::chrono::milliseconds;
using LaunchClock = std::chrono::steady_clock;

// A process that forked one of its own has its socket open after its death: then the end is seen at a look.
constexpr milliseconds kBetweenLooks{50};
constexpr milliseconds kBetweenLooksAtEnd{1};
// Until a process that is killed is given up: it may be within a driver that never answers.
constexpr milliseconds kDying{5000};

// A rank as its launcher sees it.
struct ForkedRank {
  ForkedRank(pid_t process, RankChannel end) : pid(process), channel(std::move(end)) {}

  pid_t pid;
  RankChannel channel;
  bool is_sharing = false;
  std::optional<RankWord> said;  // kDone, kFailed or kConsequence
  std::string text;              // with it
  std::string why_killed;
  bool is_over = false;
};

class Launch {
 public:
  explicit Launch(const LaunchOptions& options) : options_(options), began_(LaunchClock::now()) {}
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch();

  void fork_all(const std::function<void(RankProcess&)>& body);
  std::vector<RankEnd> watch();

 private:
  using Ranks = std::vector<ForkedRank>;

  void fork_one(const std::function<void(RankProcess&)>& body);
  [[noreturn]] void cannot_start(const char* what, const char* remedy) const;
  [[nodiscard]] std::int32_t number(const ForkedRank& rank) const {
    return static_cast<std::int32_t>(&rank - ranks_.data());
  }
  [[nodiscard]] bool any_running() const;
  [[nodiscard]] RankEnd& end_of(const ForkedRank& rank) {
    return ends_[static_cast<std::size_t>(number(rank))];
  }
  void look();
  void read(ForkedRank& rank);
  void hear(ForkedRank& rank, const RankMessage& message);
  void reap(ForkedRank& rank);
  void finish(ForkedRank& rank, std::string error, const std::string& lost);
  void fail(const ForkedRank& rank, const std::string& lost);
  void tell_others(const ForkedRank& rank, RankWord word, const std::string& text);
  void check_deadlines();
  void pass_signal_on();
  void give_up();
  void kill_all(const std::string& why);

  const LaunchOptions& options_;
  LaunchClock::time_point began_;
  Ranks ranks_;
  std::vector<RankEnd> ends_;
  std::optional<LaunchClock::time_point> first_failure_;
  std::optional<LaunchClock::time_point> killed_;
  bool has_passed_signal_ = false;
  std::optional<std::size_t> unshared_;  // a rank that was done without share()
};

void Launch::fork_all(const std::function<void(RankProcess&)>& body) {
  // What is not yet written would be by every rank.
  flush_output();
  ranks_.reserve(static_cast<std::size_t>(options_.ranks));
  for (std::int32_t rank = 0; rank < options_.ranks; ++rank) {
    ends_.push_back({rank, "", false});
    fork_one(body);
  }
}

void Launch::fork_one(const std::function<void(RankProcess&)>& body) {
  auto channel = RankChannel::make_pair();
  if (!channel) cannot_start("cannot create a socket for it", "allow more open files (ulimit -n)");
  auto& [here, there] = *channel;
  const pid_t launcher = getpid();
  const auto rank = static_cast<std::int32_t>(ranks_.size());
  const pid_t pid = fork();
  if (pid < 0) cannot_start("cannot fork", "allow more processes (ulimit -u)");
  if (pid > 0) {
    ranks_.emplace_back(pid, std::move(here));
    return;
  }
  leave_launcher(launcher);
  // The other end of each channel is the launcher's alone, or its death would not close them.
  close(here.socket());
  for (const ForkedRank& earlier : ranks_) close(earlier.channel.socket());
  _exit(LaunchedRank(rank, options_, std::move(there)).run(body));
}

void Launch::cannot_start(const char* what, const char* remedy) const {
  const std::string why = std::strerror(errno);
  throw RankError("cannot start rank " + std::to_string(ranks_.size()) + " of " +
                  std::to_string(options_.ranks) + ": " + what + ": " + why + "; " + remedy +
                  ", or start fewer ranks");
}

Launch::~Launch() {
  for (ForkedRank& rank : ranks_) {
    if (rank.is_over) continue;
    kill(rank.pid, SIGKILL);
    while (waitpid(rank.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

std::vector<RankEnd> Launch::watch() {
  while (any_running()) {
    look();
    pass_signal_on();
    check_deadlines();
  }
  return ends_;
}

bool Launch::any_running() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const ForkedRank& rank) { return !rank.is_over; });
}

// Waits until something happens, for a moment at most.
void Launch::look() {
  std::vector<pollfd> polled;
  milliseconds moment = kBetweenLooks;
  for (const ForkedRank& rank : ranks_) {
    const bool is_open = !rank.is_over && !rank.channel.is_closed();
    if (!rank.is_over && !is_open) moment = kBetweenLooksAtEnd;
    polled.push_back({is_open ? rank.channel.socket() : -1, POLLIN, 0});  // -1 is passed over
  }
  const int ready = poll(polled.data(), polled.size(), static_cast<int>(moment.count()));
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ready > 0 && polled[i].revents != 0) read(ranks_[i]);
    if (!ranks_[i].is_over && (ready <= 0 || ranks_[i].channel.is_closed())) reap(ranks_[i]);
  }
}

void Launch::read(ForkedRank& rank) {
  while (const auto message = rank.channel.receive()) hear(rank, *message);
}

void Launch::hear(ForkedRank& rank, const RankMessage& message) {
  switch (message.word) {
    case RankWord::kId:
      rank.is_sharing = true;
      tell_others(rank, RankWord::kId, message.text);
      return;
    case RankWord::kSharing:
      rank.is_sharing = true;
      return;
    case RankWord::kConsequence:
      // The first that ended so: what it was waiting for was no failure until now.
      if (!first_failure_ && unshared_) ends_[*unshared_].error = "ended without calling share()";
      [[fallthrough]];
    case RankWord::kFailed:
      fail(rank, "rank " + std::to_string(number(rank)) + " failed: " + message.text);
      [[fallthrough]];
    case RankWord::kDone:
      rank.said = message.word;
      rank.text = message.text;
      return;
    case RankWord::kLost:
    case RankWord::kUnshared:
      return;  // only a launcher says so
  }
}

void Launch::reap(ForkedRank& rank) {
  int status = 0;
  if (waitpid(rank.pid, &status, WNOHANG) == 0) return;
  read(rank);  // what it said last
  rank.is_over = true;
  const std::string name = "rank " + std::to_string(number(rank));
  if (rank.said == RankWord::kFailed || rank.said == RankWord::kConsequence) {
    finish(rank, rank.text, "");  // the others know
  } else if (rank.said != RankWord::kDone) {
    const std::string error = WIFSIGNALED(status) || WEXITSTATUS(status) != 0
                                  ? text_of_status(status)
                                  : "exit code 0 before it finished";
    finish(rank, error, name + (WIFSIGNALED(status) ? " was " : " ended with ") + error);
  } else if (!rank.is_sharing) {
    if (!unshared_) unshared_ = static_cast<std::size_t>(number(rank));
    tell_others(rank, RankWord::kUnshared, name + " ended without calling share()");
  }
}

void Launch::finish(ForkedRank& rank, std::string error, const std::string& lost) {
  const bool is_killed = !rank.why_killed.empty() && !rank.said;
  RankEnd& end = end_of(rank);
  end.error = is_killed ? rank.why_killed : std::move(error);
  end.consequence = rank.said == RankWord::kConsequence || (is_killed && first_failure_);
  if (!lost.empty() && !is_killed) fail(rank, lost);
}

// Only the first is told: the others may be consequences.
void Launch::fail(const ForkedRank& rank, const std::string& lost) {
  if (first_failure_) return;
  first_failure_ = LaunchClock::now();
  tell_others(rank, RankWord::kLost, lost);
}

void Launch::tell_others(const ForkedRank& rank, RankWord word, const std::string& text) {
  for (ForkedRank& other : ranks_) {
    if (&other != &rank && !other.is_over) other.channel.send(word, text);
  }
}

void Launch::check_deadlines() {
  const LaunchClock::time_point now = LaunchClock::now();
  if (killed_ && now - *killed_ >= kDying) return give_up();
  if (first_failure_ && now - *first_failure_ >= options_.grace) {
    kill_all("killed " + std::to_string(options_.grace.count()) + " ms after another rank failed");
  } else if (options_.limit > milliseconds(0) && now - began_ >= options_.limit) {
    kill_all("killed after " + std::to_string(options_.limit.count()) + " ms, the time limit for all ranks");
  }
}

void Launch::pass_signal_on() {
  const int signal = options_.passed_on && !has_passed_signal_ ? options_.passed_on() : 0;
  if (signal == 0) return;
  has_passed_signal_ = true;
  for (const ForkedRank& rank : ranks_) {
    if (!rank.is_over) kill(rank.pid, signal);
  }
}

void Launch::give_up() {
  for (ForkedRank& rank : ranks_) {
    if (rank.is_over) continue;
    rank.is_over = true;
    rank.why_killed += ", but has not ended: a driver does not respond";
    finish(rank, "", "");
  }
}

void Launch::kill_all(const std::string& why) {
  if (!killed_) killed_ = LaunchClock::now();
  for (ForkedRank& rank : ranks_) {
    if (rank.is_over || !rank.why_killed.empty()) continue;
    rank.why_killed = why;
    kill(rank.pid, SIGKILL);  // not reaped, so the number is still its own
  }
}

// How children end is told to nobody where SIGCHLD is ignored, or to a handler that waits for all of them.
class DefaultChildSignal {
 public:
  DefaultChildSignal() {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &before_);
  }
  DefaultChildSignal(const DefaultChildSignal&) = delete;
  DefaultChildSignal& operator=(const DefaultChildSignal&) = delete;
  ~DefaultChildSignal() { sigaction(SIGCHLD, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

}  // namespace

std::vector<RankEnd> run_ranks(const LaunchOptions& options, const std::function<void(RankProcess&)>& body) {
  if (options.ranks < 1 || options.ranks > kMaxLaunchedRanks) {
    throw RankError("the number of ranks must be from 1 to " + std::to_string(kMaxLaunchedRanks) + ", not " +
                    std::to_string(options.ranks));
  }
  const DefaultChildSignal child_signal;
  Launch launch(options);
  launch.fork_all(body);
  return launch.watch();
}

}  // namespace goodput::gpu
