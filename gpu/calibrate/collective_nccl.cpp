#include "gpu/calibrate/collective_nccl.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "gpu/calibrate/collective_nccl_case.h"
#include "gpu/calibrate/stopping_rule.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr std::size_t kMostText = 256;
constexpr std::size_t kMostFactBytes = std::size_t{64} << 10U;  // of a rank: a Greeting, a piece of a journal
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// What ranks tell each other as they meet.
struct Greeting {
  char host[kMostText] = {};
  char gpu[kMostText] = {};
  std::uint64_t wanted = 0;
  double deadline_at = 0;
  double now = 0;
};

// Behind what each does for itself. "": it could.
struct Readiness {
  char problem[kMostText] = {};
  double now = 0;
};

struct VisitFacts {
  bench::Statistics us;
  double sm_mhz = kNoNumber;
  std::uint64_t nwrong = 0;
  bool ended = false;  // by the deadline
  double now = 0;
};

void put(const std::string& text, char (&to)[kMostText]) {
  std::strncpy(to, text.c_str(), kMostText - 1);
}

std::string ranks_text(std::size_t a, std::size_t b) {
  return "ranks " + std::to_string(a) + " and " + std::to_string(b);
}

void check_alike(const std::vector<Greeting>& ranks) {
  for (std::size_t b = 1; b < ranks.size(); ++b) {
    if (ranks[b].wanted == ranks[0].wanted) continue;
    throw RankError(ranks_text(0, b) + " measure different points: give all ranks the same options");
  }
}

void check_own_gpus(const std::vector<Greeting>& ranks) {
  for (std::size_t b = 1; b < ranks.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (std::strcmp(ranks[a].host, ranks[b].host) != 0 || std::strcmp(ranks[a].gpu, ranks[b].gpu) != 0)
        continue;
      throw RankError(ranks_text(a, b) + " share GPU " + ranks[b].gpu +
                      ": they would take turns, so their times would be meaningless (correctness_only); "
                      "start one rank per GPU");
    }
  }
}

}  // namespace

CollectiveRanks::CollectiveRanks(Communicator& all, const RankPlace& place, Sizes sizes, std::uint64_t wanted,
                                 const bench::Deadline& deadline)
    : all_(all),
      rule_(rule_for(sizes)),
      time_{deadline.now, 0},
      deadline_{[this] { return time_.now; }, deadline.at},
      exchange_(all, kMostFactBytes),
      alone_(rule_, {bench::steady_clock(), std::numeric_limits<double>::infinity()}) {
  if (all.ranks() < 2) {
    throw RankError("collectives of a single rank would be copies (correctness_only); start 2 or more ranks");
  }
  meet(place, wanted);
  split();
}

void CollectiveRanks::meet(const RankPlace& place, std::uint64_t wanted) {
  Greeting own;
  put(place.host, own.host);
  put(place.gpu, own.gpu);
  own.wanted = wanted;
  own.deadline_at = deadline_.at;
  own.now = all_.rank() == 0 ? time_.of_rank_0() : 0;
  const std::vector<Greeting> ranks = exchange_.gather(own);
  check_own_gpus(ranks);
  check_alike(ranks);
  deadline_.at = ranks[0].deadline_at;
  time_.now = ranks[0].now;
  std::vector<std::string> hosts;
  for (const Greeting& rank : ranks) hosts.emplace_back(rank.host);
  groups_ = collective_groups(hosts);
}

// Ranks that are in no group are one of their own, which nobody uses.
void CollectiveRanks::split() {
  for (const CollectiveGroup& group : groups_.groups) {
    const bool is_member = all_.rank() < group.ranks;
    std::unique_ptr<Communicator> communicator = all_.split(is_member ? 0 : 1);
    std::unique_ptr<CollectiveTimer> timer;
    if (is_member) timer = std::make_unique<CollectiveTimer>(*communicator, rule_, deadline_, time_);
    members_.push_back({std::move(communicator), std::move(timer)});
  }
}

void CollectiveRanks::begin_sweep() {
  alone_.begin_sweep();
  for (const Members& members : members_) {
    if (members.timer != nullptr) members.timer->begin_sweep();
  }
}

CollectiveRanks::Members& CollectiveRanks::members_of(const CollectiveGroup& group) {
  const auto same = std::find_if(groups_.groups.begin(), groups_.groups.end(),
                                 [&](const CollectiveGroup& one) { return one.ranks == group.ranks; });
  if (same == groups_.groups.end()) throw std::logic_error("the ranks of a point must be a group");
  return members_[static_cast<std::size_t>(same - groups_.groups.begin())];
}

// Nothing of NCCL is queued while `step` runs, so that it may allocate.
void CollectiveRanks::agree(const std::function<void()>& step) {
  Readiness own;
  try {
    step();
  } catch (const std::exception& error) {
    put(*error.what() == '\0' ? "unknown error (without a message)" : error.what(), own.problem);
  }
  own.now = all_.rank() == 0 ? time_.of_rank_0() : 0;
  const std::vector<Readiness> ranks = exchange_.gather(own);
  time_.now = ranks[0].now;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (*ranks[rank].problem == '\0') continue;
    throw PointLeftOut("rank " + std::to_string(rank) + ": " + ranks[rank].problem);
  }
}

Visit CollectiveRanks::visit(const CollectivePoint& point, Checking checking) {
  Members& members = members_of(point.group);
  CollectiveTimer* const timer = members.timer.get();
  std::unique_ptr<CollectiveCase> measured;
  agree([&] {
    if (timer == nullptr) return;
    measured = std::make_unique<CollectiveCase>(point, *members.communicator, timer->stream());
  });
  VisitFacts own;
  all_.or_abort([&] {
    if (timer == nullptr) return;
    try {
      const Visit visit = timer->measure([&](cudaStream_t stream) { measured->queue(stream); });
      own.us = visit.us;
      own.sm_mhz = visit.sm_mhz.value_or(kNoNumber);
      if (checking == Checking::kYes) own.nwrong = measured->count_wrong(timer->stream());
    } catch (const bench::DeadlinePassed&) {
      own.ended = true;
    }
  });
  own.now = all_.rank() == 0 ? time_.of_rank_0() : 0;
  const std::vector<VisitFacts> ranks = exchange_.gather(own);
  const VisitFacts& first = ranks[0];  // a member of all groups
  time_.now = first.now;
  if (first.ended) throw bench::DeadlinePassed();
  Visit visit;
  visit.us = first.us;
  if (!std::isnan(first.sm_mhz)) visit.sm_mhz = first.sm_mhz;
  if (checking == Checking::kYes) {
    visit.nwrong = 0;
    for (const VisitFacts& rank : ranks) *visit.nwrong += rank.nwrong;
  }
  visit.source = std::string(CollectiveCase::call_of(point.op)) + ", out of place, behind a barrier";
  return visit;
}

Visit CollectiveRanks::visit_each(const SweepPoint& point) {
  Visit visit;
  agree([&] { visit = point.visit(alone_, Checking::kNo); });
  VisitFacts own;
  own.us = visit.us;
  own.now = all_.rank() == 0 ? time_.of_rank_0() : 0;
  const std::vector<VisitFacts> ranks = exchange_.gather(own);
  time_.now = ranks[0].now;
  const auto slowest =
      std::max_element(ranks.begin(), ranks.end(),
                       [](const VisitFacts& a, const VisitFacts& b) { return a.us.median < b.us.median; });
  visit.us = slowest->us;
  return visit;
}

void CollectiveRanks::close() {
  for (Members& members : members_) {
    members.timer.reset();
    members.communicator->close();
  }
  members_.clear();
}

}  // namespace goodput::gpu::calibrate
