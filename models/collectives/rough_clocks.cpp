#include "models/collectives/rough_clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "models/collectives/matched_parts.h"
#include "sim/base/statistics.h"

namespace goodput {
namespace {

using Kind = CommunicationPart::Kind;

constexpr double kLargeNs = 5e6;

class RoughClocks {
 public:
  explicit RoughClocks(const JoinedRanks& joined) : joined_(joined), offset_(joined.ranks().size()) {}

  // By rank: how many nanoseconds its clock is ahead.
  std::vector<double> estimate(const MatchedParts& messages) {
    find_delays(messages);
    for (std::size_t lane = 0; lane < joined_.lanes(); ++lane) align_lane(lane);
    for (std::size_t lane = 1; lane < joined_.lanes(); ++lane) align_to_first_lane(lane);
    const double middle = median(offset_);
    for (double& offset : offset_) offset -= middle;
    return offset_;
  }

 private:
  static double median(std::vector<double> values) { return take_median(values); }

  // By sender and receiver: the shortest time from the begin of a send to the end of its receive.
  void find_delays(const MatchedParts& messages) {
    for (const std::vector<PartOfRank>& message : messages) {
      const PartOfRank& send = message[0];
      const PartOfRank& receive = message[1];
      for (std::size_t step = 0; step < joined_.steps().size(); ++step) {
        const auto delay = static_cast<double>(joined_.part(receive.rank, step, receive.part).end_ns -
                                               joined_.part(send.rank, step, send.part).begin_ns);
        const auto [least, is_new] = delays_.try_emplace({send.rank, receive.rank}, delay);
        least->second = std::min(least->second, delay);
      }
    }
  }

  // How far b's clock is ahead of a's, if messages go both ways.
  [[nodiscard]] std::optional<double> between(std::uint32_t a, std::uint32_t b) const {
    const auto there = delays_.find({a, b});
    const auto back = delays_.find({b, a});
    if (there == delays_.end() || back == delays_.end()) return std::nullopt;
    return (there->second - back->second) / 2;
  }

  // Follows the messages from the first rank of the lane.
  void align_lane(std::size_t lane) {
    std::vector<std::uint32_t> reached = {joined_.slots().front().ranks[lane]};
    std::vector<char> is_reached(joined_.ranks().size(), 0);
    is_reached[reached.front()] = 1;
    for (std::size_t at = 0; at < reached.size(); ++at) {
      for (const RankSlot& slot : joined_.slots()) {
        const std::uint32_t other = slot.ranks[lane];
        const auto apart = between(reached[at], other);
        if (is_reached[other] != 0 || !apart) continue;
        offset_[other] = offset_[reached[at]] + *apart;
        is_reached[other] = 1;
        reached.push_back(other);
      }
    }
  }

  void align_to_first_lane(std::size_t lane) {
    std::vector<double> apart;
    for (const RankSlot& slot : joined_.slots()) {
      const std::uint32_t rank = slot.ranks[lane];
      const std::uint32_t first = slot.ranks.front();
      for (std::size_t part = 0; part < slot.parts.size(); ++part) {
        if (joined_.part(first, 0, part).kind != Kind::kCollective) continue;
        std::vector<double> by_step;
        for (std::size_t step = 0; step < joined_.steps().size(); ++step)
          by_step.push_back(static_cast<double>(joined_.part(rank, step, part).end_ns -
                                                joined_.part(first, step, part).end_ns) -
                            (offset_[rank] - offset_[first]));
        apart.push_back(median(std::move(by_step)));
      }
    }
    if (apart.empty()) return;
    const double all = median(std::move(apart));
    for (const RankSlot& slot : joined_.slots()) offset_[slot.ranks[lane]] += all;
  }

  const JoinedRanks& joined_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> delays_;
  std::vector<double> offset_;
};

}  // namespace

Status align_roughly(JoinedRanks& joined, std::vector<std::string>& notes) {
  GOODPUT_TRY(const MatchedParts messages, match_messages(joined));
  const std::vector<double> offsets = RoughClocks(joined).estimate(messages);
  for (std::uint32_t rank = 0; rank < offsets.size(); ++rank) {
    if (std::abs(offsets[rank]) <= kLargeNs) continue;
    joined.shift_clock(rank, static_cast<std::int64_t>(offsets[rank]));
    notes.push_back(
        fmt::format("the clock of rank {} is off by {:+.1f} ms and was aligned", rank, 1e-6 * offsets[rank]));
  }
  return Ok{};
}

}  // namespace goodput
