#include "gpu/nccl/launched_rank.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>

namespace goodput::gpu {

namespace {

// An id or bad news end a wait at once, a deadline as late as this.
constexpr std::chrono::milliseconds kBetweenLooks{20};

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

void leave_launcher(pid_t launcher) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(1);  // it died before that
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
}

void flush_output() {
  std::cout.flush();
  std::clog.flush();
  std::fflush(nullptr);
}

UniqueId LaunchedRank::share(const std::function<UniqueId()>& make) {
  sharing_ = true;
  if (rank_ == 0) {
    id_ = make();
    channel_.send(RankWord::kId, {id_->data(), id_->size()});
    check_lost();
    return *id_;
  }
  channel_.send(RankWord::kSharing);
  const auto began = std::chrono::steady_clock::now();
  while (true) {
    check_lost();
    if (id_) return *id_;
    if (std::chrono::steady_clock::now() - began >= options_.share_deadline) {
      throw RankError("rank 0 did not create an id within " +
                      std::to_string(options_.share_deadline.count()) + " ms; it may hang");
    }
    channel_.wait(kBetweenLooks);
  }
}

void LaunchedRank::check_lost() {
  if (const std::string lost = this->lost(); !lost.empty()) throw LostRank(lost);
}

std::string LaunchedRank::lost() {
  read_messages();
  if (!lost_.empty()) return lost_;
  return sharing_ && !joined_ ? unshared_ : "";
}

void LaunchedRank::read_messages() {
  while (const auto message = channel_.receive()) {
    if (message->word == RankWord::kLost) lost_ = message->text;
    if (message->word == RankWord::kUnshared) unshared_ = message->text;
    if (message->word == RankWord::kId && message->text.size() == sizeof(UniqueId)) {
      std::copy(message->text.begin(), message->text.end(), id_.emplace().begin());
    }
  }
  if (channel_.is_closed() && lost_.empty()) lost_ = "the launcher has ended";
}

// What failed is told before the output is flushed, which may have to wait for its reader.
int LaunchedRank::run(const std::function<void(RankProcess&)>& body) noexcept {
  try {
    if (options_.prepare) options_.prepare(rank_);
    body(*this);
    flush_output();
    channel_.send(RankWord::kDone);
    return 0;
  } catch (const LostRank& error) {
    channel_.send(RankWord::kConsequence, one_line(error.what()));
  } catch (const std::exception& error) {
    channel_.send(RankWord::kFailed, one_line(error.what()));
  } catch (...) {
    channel_.send(RankWord::kFailed, "an exception that is not a std::exception");
  }
  flush_output();
  return 1;
}

}  // namespace goodput::gpu
