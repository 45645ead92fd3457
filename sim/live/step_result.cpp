#include "sim/live/step_result.h"

#include <fmt/format.h>

#include "sim/base/errors.h"

namespace goodput {

WorkerPlace place_of(const JobLayout& shape, std::size_t worker) {
  GOODPUT_CHECK(worker < shape.workers(), "the job has no such worker");
  const auto stages = static_cast<std::size_t>(shape.pp_size);
  WorkerPlace place{
      static_cast<std::int32_t>(worker / stages), static_cast<std::int32_t>(worker % stages), -1, {}};
  if (worker < shape.ranks.size()) place.rank = shape.ranks[worker];
  if (worker < shape.hosts.size()) place.host = shape.hosts[worker];
  return place;
}

std::string describe(const WorkerPlace& place) {
  std::string text = fmt::format("dp {} stage {}", place.dp_rank, place.stage);
  if (place.rank >= 0 && !place.host.empty())
    text += fmt::format(" (rank {}, host {})", place.rank, place.host);
  else if (place.rank >= 0)
    text += fmt::format(" (rank {})", place.rank);
  else if (!place.host.empty())
    text += fmt::format(" (host {})", place.host);
  return text;
}

}  // namespace goodput
