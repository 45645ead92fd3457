// What ranks that share a GPU tell NCCL.
#include "gpu/nccl/loopback.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "gpu/nccl/rank_launcher.h"

namespace goodput::gpu {
namespace {

std::map<std::string, std::string> environment_of(std::int32_t rank, std::int64_t run) {
  const auto pairs = loopback_environment(rank, run);
  return {pairs.begin(), pairs.end()};
}

TEST_CASE(
    "loopback: every rank of every run is a host of its own, with two channels over the loopback interface") {
  CHECK(environment_of(3, 77) == std::map<std::string, std::string>{{"NCCL_HOSTID", "loopback-77-3"},
                                                                    {"NCCL_SOCKET_IFNAME", "lo"},
                                                                    {"NCCL_IB_DISABLE", "1"},
                                                                    {"NCCL_MNNVL_ENABLE", "0"},
                                                                    {"NCCL_NVLS_ENABLE", "0"},
                                                                    {"NCCL_MAX_NCHANNELS", "2"},
                                                                    {"NCCL_MAX_P2P_NCHANNELS", "2"}});
  CHECK(environment_of(3, 77).at("NCCL_HOSTID") != environment_of(2, 77).at("NCCL_HOSTID"));
  CHECK(environment_of(3, 77).at("NCCL_HOSTID") != environment_of(3, 78).at("NCCL_HOSTID"));
}

TEST_CASE("loopback: what the user has set is left alone") {
  // In a process of its own, for the environment stays changed.
  const auto ends = run_ranks({}, [](RankProcess&) {
    setenv("NCCL_SOCKET_IFNAME", "eth7", 1);
    setenv("NCCL_MAX_NCHANNELS", "", 1);
    enter_loopback(0, 5);
    const std::map<std::string, std::string> expected = {
        {"NCCL_HOSTID", "loopback-5-0"}, {"NCCL_SOCKET_IFNAME", "eth7"}, {"NCCL_MAX_NCHANNELS", ""}};
    for (const auto& [name, value] : expected) {
      if (std::getenv(name.c_str()) != value) throw std::runtime_error(name + " is another");
    }
  });
  CHECK(message_of(ends) == "");
}

}  // namespace
}  // namespace goodput::gpu
