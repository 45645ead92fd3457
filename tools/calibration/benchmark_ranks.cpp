#include "tools/calibration/benchmark_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

Error at(std::size_t line, std::string what) {
  return {std::move(what), {.file = {}, .position = Position::line(line)}};
}

Status check_ranks(const NcclTestsTable& table) {
  if (table.ranks.empty()) {
    return at(
        table.line,
        "the table comes without the lines that list the ranks (\"#  Rank  0 ...\"); import the whole log");
  }
  std::set<std::int64_t> known;
  std::map<std::pair<std::string, std::string>, std::int64_t> places;
  for (const NcclTestsRank& rank : table.ranks) {
    if (!known.insert(rank.rank).second) {
      return at(rank.line,
                fmt::format(
                    "rank {} is listed twice: every process ran on its own; build nccl-tests with MPI=1, so "
                    "that all ranks run together",
                    rank.rank));
    }
  }
  for (const NcclTestsRank& rank : table.ranks) {
    const auto [other, is_new] = places.try_emplace({rank.host, rank.place}, rank.rank);
    if (is_new) continue;
    return at(rank.line,
              fmt::format(
                  "ranks {} and {} have the same GPU of host {}; run one rank per GPU, and give every host a "
                  "name of its own",
                  other->second, rank.rank, rank.host));
  }
  const auto missing = *known.rbegin() + 1 - static_cast<std::int64_t>(known.size());
  if (missing == 0) return Ok{};
  return at(table.ranks.front().line,
            fmt::format("the lines of {} of {} ranks are missing; import the whole log", missing,
                        *known.rbegin() + 1));
}

Status check_gpus(const NcclTestsTable& table) {
  const NcclTestsRank& first = table.ranks.front();
  for (const NcclTestsRank& rank : table.ranks) {
    if (rank.gpu == first.gpu) continue;
    return at(rank.line,
              fmt::format("rank {} has {}, but rank {} has {}; a calibration is of one type of GPU",
                          rank.rank, in_quotes(rank.gpu), first.rank, in_quotes(first.gpu)));
  }
  return Ok{};
}

}  // namespace

Result<BenchmarkRanks> benchmark_ranks(const NcclTestsTable& table) {
  GOODPUT_TRY_STATUS(check_ranks(table));
  GOODPUT_TRY_STATUS(check_gpus(table));
  std::map<std::int64_t, std::map<std::string, std::int64_t>> groups;  // ranks by host
  std::map<std::string, std::int64_t> hosts;
  for (const NcclTestsRank& rank : table.ranks) {
    ++groups[rank.group][rank.host];
    ++hosts[rank.host];
  }
  const auto& [first_host, per_node] = *groups.begin()->second.begin();
  for (const auto& [group, by_host] : groups) {
    for (const auto& [host, ranks] : by_host) {
      if (ranks == per_node) continue;
      return at(
          table.ranks.front().line,
          fmt::format("{} has {} of the ranks, but {} has {}; run the test with the same number of ranks on "
                      "every host",
                      host, ranks, first_host, per_node));
    }
    if (by_host.size() == groups.begin()->second.size()) continue;
    return at(
        table.ranks.front().line,
        fmt::format("group {} is on {} hosts, but group {} is on {}; run the test with groups of one size",
                    group, by_host.size(), groups.begin()->first, groups.begin()->second.size()));
  }
  const auto count = static_cast<std::int64_t>(groups.begin()->second.size());
  BenchmarkRanks layout{.ranks = per_node * count, .per_node = per_node};
  layout.groups = static_cast<std::int64_t>(groups.size());
  for (const auto& [host, ranks] : hosts) layout.on_host = std::max(layout.on_host, ranks);
  layout.gpu = table.ranks.front().gpu;
  return layout;
}

}  // namespace goodput
