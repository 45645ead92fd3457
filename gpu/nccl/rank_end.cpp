#include "gpu/nccl/rank_end.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <utility>

#include "gpu/nccl/rank_launcher.h"

namespace goodput::gpu {
namespace {

// A cluster that fails in as many ways as it has ranks makes no message of as many texts.
constexpr std::size_t kToldCauses = 4;

// glibc has sigabbrev_np() since 2.32 only.
constexpr std::array<std::pair<int, const char*>, 13> kSignals = {{{SIGABRT, "SIGABRT"},
                                                                   {SIGALRM, "SIGALRM"},
                                                                   {SIGBUS, "SIGBUS"},
                                                                   {SIGFPE, "SIGFPE"},
                                                                   {SIGHUP, "SIGHUP"},
                                                                   {SIGILL, "SIGILL"},
                                                                   {SIGINT, "SIGINT"},
                                                                   {SIGKILL, "SIGKILL"},
                                                                   {SIGPIPE, "SIGPIPE"},
                                                                   {SIGQUIT, "SIGQUIT"},
                                                                   {SIGSEGV, "SIGSEGV"},
                                                                   {SIGTERM, "SIGTERM"},
                                                                   {SIGXCPU, "SIGXCPU"}}};

struct Cause {
  std::string text;
  std::vector<std::int32_t> ranks;
};

std::vector<Cause> causes_of(const std::vector<RankEnd>& ends, bool consequences) {
  std::vector<Cause> causes;
  for (const RankEnd& end : ends) {
    if (end.error.empty() || end.consequence != consequences) continue;
    const auto same = std::find_if(causes.begin(), causes.end(),
                                   [&](const Cause& cause) { return cause.text == end.error; });
    if (same == causes.end()) {
      causes.push_back({end.error, {end.rank}});
    } else {
      same->ranks.push_back(end.rank);
    }
  }
  return causes;
}

}  // namespace

std::string text_of_status(int wait_status) {
  if (WIFEXITED(wait_status)) {
    const int code = WEXITSTATUS(wait_status);
    return code == 0 ? "" : "exit code " + std::to_string(code);
  }
  const int signal = WTERMSIG(wait_status);
  const auto* const known = std::find_if(kSignals.begin(), kSignals.end(),
                                         [&](const auto& named) { return named.first == signal; });
  return "killed by signal " + std::to_string(signal) +
         (known == kSignals.end() ? "" : std::string(" (") + known->second + ")");
}

std::string rank_list(const std::vector<std::int32_t>& ranks) {
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    if (end - begin == 2) --end;  // "0, 1", not "0 to 1"
    list += (begin == 0 ? "" : ", ") + std::to_string(ranks[begin]);
    if (end - begin > 2) list += " to " + std::to_string(ranks[end - 1]);
  }
  return list;
}

std::string message_of(const std::vector<RankEnd>& ends) {
  std::vector<Cause> causes = causes_of(ends, false);
  std::vector<std::int32_t> followed;
  for (const Cause& consequence : causes_of(ends, true)) {
    followed.insert(followed.end(), consequence.ranks.begin(), consequence.ranks.end());
  }
  if (causes.empty()) {  // nobody says what began it
    causes = causes_of(ends, true);
    followed.clear();
  }
  std::string message;
  for (std::size_t i = 0; i < std::min(causes.size(), kToldCauses); ++i) {
    message += (i == 0 ? "" : "; ") + rank_list(causes[i].ranks) + ": " + causes[i].text;
  }
  if (causes.size() > kToldCauses) {
    message += "; " + std::to_string(causes.size() - kToldCauses) + " more errors on other ranks";
  }
  if (!followed.empty()) {
    std::sort(followed.begin(), followed.end());
    message += "; " + rank_list(followed) + " ended as a consequence";
  }
  return message;
}

}  // namespace goodput::gpu
