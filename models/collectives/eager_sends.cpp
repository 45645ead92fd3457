#include "models/collectives/eager_sends.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace goodput {
namespace {

using Kind = CommunicationPart::Kind;

// How much the time between the two ends of one message may vary between steps. NCCL's own jitter is a few
// microseconds.
constexpr std::int64_t kJitterNs = 40'000;

bool is_alone_in_kernel(const JoinedRanks& joined, const PartOfRank& one) {
  const RankSlot& slot = joined.slots()[joined.slot_of(one.rank)];
  const SlotPart& own = slot.parts[one.part];
  return slot.first_part[own.cut + 1] - slot.first_part[own.cut] == 1;
}

}  // namespace

std::vector<std::vector<char>> find_eager_sends(const JoinedRanks& joined, const MatchedParts& matched,
                                                bool takes_all) {
  std::vector<std::vector<char>> eager;
  for (const RankSlot& slot : joined.slots()) eager.emplace_back(slot.parts.size(), 0);
  if (!joined.is_on_device()) return eager;
  // By slot and part of the send: in how many of its lanes the ends vary more than that, and the lanes.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::size_t, std::size_t>> stray;
  for (const std::vector<PartOfRank>& message : matched) {
    if (message.size() != 2) continue;
    const PartOfRank& send = message[0];
    const PartOfRank& receive = message[1];
    if (joined.part(send.rank, 0, send.part).kind != Kind::kSend) continue;
    if (!is_alone_in_kernel(joined, send) || !is_alone_in_kernel(joined, receive)) continue;
    std::vector<std::int64_t> apart;
    for (std::size_t step = 0; step < joined.steps().size(); ++step)
      apart.push_back(joined.part(receive.rank, step, receive.part).end_ns -
                      joined.part(send.rank, step, send.part).end_ns);
    const auto [least, most] = std::ranges::minmax(apart);
    auto& [strays, lanes] = stray[{joined.slot_of(send.rank), send.part}];
    strays += takes_all || most - least > kJitterNs ? 1 : 0;
    ++lanes;
  }
  for (const auto& [send, count] : stray) {
    if (4 * count.first > count.second) eager[send.first][send.second] = 1;
  }
  return eager;
}

}  // namespace goodput
