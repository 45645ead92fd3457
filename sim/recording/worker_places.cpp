#include "sim/recording/worker_places.h"

#include <algorithm>
#include <utility>

namespace goodput {
namespace {

template <typename Key>
std::string find_name(const std::map<Key, std::string>& names, const Key& key) {
  const auto found = names.find(key);
  return found == names.end() ? std::string() : found->second;
}

std::vector<std::string> hosts_of(std::span<const std::int32_t> ranks,
                                  const std::map<std::int64_t, std::string>& hosts) {
  std::vector<std::string> names;
  for (const std::int32_t rank : ranks) names.push_back(find_name(hosts, std::int64_t{rank}));
  return names;
}

bool is_one_for_all(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name == names.front(); });
}

void add_kind(std::string name, std::vector<std::string> of_worker,
              std::vector<WorkerGrid::PlaceKind>& places) {
  const bool is_known = std::any_of(of_worker.begin(), of_worker.end(),
                                    [](const std::string& place) { return !place.empty(); });
  if (is_known) places.push_back({std::move(name), std::move(of_worker)});
}

}  // namespace

std::vector<WorkerGrid::PlaceKind> worker_places(const JobMetadataFields& metadata,
                                                 const std::map<std::int64_t, std::string>& read_hosts,
                                                 std::span<const std::int32_t> ranks) {
  std::vector<std::string> hosts = hosts_of(ranks, metadata.hosts);
  if (metadata.hosts.empty()) {
    hosts = hosts_of(ranks, read_hosts);
    if (is_one_for_all(hosts)) return {};
  }
  std::vector<std::string> switches;
  std::vector<std::string> racks;
  for (const std::string& host : hosts) {
    switches.push_back(find_name(metadata.switches, host));
    racks.push_back(find_name(metadata.racks, host));
  }
  std::vector<WorkerGrid::PlaceKind> places;
  add_kind("host", std::move(hosts), places);
  add_kind("switch", std::move(switches), places);
  add_kind("rack", std::move(racks), places);
  return places;
}

}  // namespace goodput
