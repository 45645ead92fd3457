// Collectives against their closed forms, which are printed beside the results.
#include "models/cost/collectives.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <string_view>

#include "sim/base/random.h"
#include "tests/models/cost/cost_case.h"

namespace goodput {
namespace {

using doctest::Approx;
using testing::call_of;
using namespace std::chrono_literals;

constexpr double kGiga = 1e9;

// 400 GB/s inside nodes of 8, 50 GB/s a NIC and GPU; 5 us + 1 us a step inside, 7 us + 3 us between.
ClusterSpec cluster_of(std::int32_t nodes) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.gpus_per_node = 8;
  cluster.nics_per_node = 8;
  cluster.intra_node = {.bandwidth = {400 * kGiga}, .latency = 5us, .hop_latency = 1us, .send = {}};
  cluster.inter_node = {.bandwidth = {50 * kGiga}, .latency = 7us, .hop_latency = 3us, .send = {}};
  return cluster;
}
ClusterSpec without_latency(ClusterSpec cluster) {
  for (LinkSpec* link : {&cluster.intra_node, &cluster.inter_node}) link->latency = link->hop_latency = 0ns;
  return cluster;
}
ClusterSpec with_nvls(ClusterSpec cluster) {
  cluster.intra_node.in_network_reduction = true;
  return cluster;
}

void check_against(std::string_view what, double seconds, double closed_form) {
  MESSAGE(fmt::format("{}: closed form {:.3f} us, result {:.3f} us", what, 1e6 * closed_form, 1e6 * seconds));
  CHECK(seconds == Approx(closed_form).epsilon(1e-9));
}

// The faster of the algorithm's protocols.
double seconds_by(CollectiveAlgorithm algorithm, const CollectiveCall& call, const ClusterSpec& cluster) {
  double best = std::numeric_limits<double>::infinity();
  for (const CollectiveTime& time : collective_times(call, cluster))
    if (time.algorithm == algorithm) best = std::min(best, time.seconds());
  return best;
}

constexpr double kBulk = 14e-6;  // 14 steps of 1 us: what the bulk protocol takes longer to start

}  // namespace

TEST_CASE("collectives: a group of one costs nothing") {
  for (const Collective kind : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                Collective::kAllToAll, Collective::kSendRecv})
    CHECK(collective_seconds(call_of(kind, 1e9, 1), cluster_of(4)) == 0);
}

TEST_CASE("collectives: a ring moves (n-1)/n of the buffer a pass, in n-1 steps") {
  const ClusterSpec cluster = cluster_of(1);
  const double bytes = 1e9;
  for (const double n : {2.0, 4.0, 8.0}) {
    const auto size = static_cast<std::int32_t>(n);
    check_against(fmt::format("ring all-gather, {} GPUs, 1 GB: 19 us + (n-1) 1 us + (n-1)/n S/B", size),
                  collective_seconds(call_of(Collective::kAllGather, bytes, size), cluster),
                  kBulk + 5e-6 + (n - 1) * 1e-6 + (n - 1) / n * bytes / (400 * kGiga));
    check_against(fmt::format("ring all-reduce, {} GPUs, 1 GB: 19 us + 2(n-1) 1 us + 2(n-1)/n S/B", size),
                  collective_seconds(call_of(Collective::kAllReduce, bytes, size), cluster),
                  kBulk + 5e-6 + 2 * (n - 1) * 1e-6 + 2 * (n - 1) / n * bytes / (400 * kGiga));
    CHECK(collective_seconds(call_of(Collective::kReduceScatter, bytes, size), cluster) ==
          collective_seconds(call_of(Collective::kAllGather, bytes, size), cluster));
  }
}

TEST_CASE("collectives: small buffers take the low-latency protocol, at 45 % of the bandwidth") {
  const ClusterSpec cluster = cluster_of(1);
  const auto seconds = [&](double bytes) {
    return collective_seconds(call_of(Collective::kAllGather, bytes, 8), cluster);
  };
  check_against("ring all-gather, 8 GPUs, 64 KiB: 5 us + 7 us + 7/8 S/(0.45 B)", seconds(65536),
                12e-6 + 7.0 / 8 * 65536 / (0.45 * 400 * kGiga));
  // Both take as long where 7/8 S/B (1/0.45 - 1) is 14 us.
  const double knee = kBulk / (1 / 0.45 - 1) * 8 / 7 * 400 * kGiga;
  MESSAGE(fmt::format("8 GPUs change to the bulk protocol at {:.1f} MB", 1e-6 * knee));
  check_against("at the knee", seconds(knee), kBulk + 12e-6 + 7.0 / 8 * knee / (400 * kGiga));
  check_against("above", seconds(2 * knee), kBulk + 12e-6 + 7.0 / 8 * 2 * knee / (400 * kGiga));
}

TEST_CASE("collectives: an all-reduce is a reduce-scatter and an all-gather, started once") {
  const ClusterSpec cluster = without_latency(cluster_of(4));
  const double gather = collective_seconds(call_of(Collective::kAllGather, 1e8, 32), cluster);
  const CollectiveCall all_reduce = call_of(Collective::kAllReduce, 1e8, 32);
  check_against("ring all-reduce, 32 GPUs, 100 MB: 2 all-gathers",
                seconds_by(CollectiveAlgorithm::kRing, all_reduce, cluster), 2 * gather);
}

TEST_CASE("collectives: where switches add up, the buffer goes out once and the sums come in") {
  const ClusterSpec cluster = with_nvls(cluster_of(1));
  const double bytes = 1e9;
  check_against("NVLS all-reduce, 8 GPUs, 1 GB: 19 us + 14 us + (n+1)/n S/B",
                collective_seconds(call_of(Collective::kAllReduce, bytes, 8), cluster),
                kBulk + 5e-6 + 14e-6 + 9.0 / 8 * bytes / (400 * kGiga));
  check_against("two GPUs, where (n+1)/n is more than a ring's 2(n-1)/n: the ring",
                collective_seconds(call_of(Collective::kAllReduce, bytes, 2), cluster),
                kBulk + 5e-6 + 2e-6 + bytes / (400 * kGiga));
  CHECK(collective_seconds(call_of(Collective::kAllGather, bytes, 8), cluster) ==
        collective_seconds(call_of(Collective::kAllGather, bytes, 8), cluster_of(1)));
}

TEST_CASE("collectives: over nodes the latencies of the parts add up and the slower transfer sets the pace") {
  // 4 nodes of 8. Inside 5 us + 7 steps; each of 3 other nodes 3 us and its 7 steps inside; starting over the
  // network takes 2 us more. 8 NICs of 50 GB/s are as fast as one NVLink of 400: 31/32 S/B on both.
  const double bytes = 1e9;
  const CollectiveCall gather = call_of(Collective::kAllGather, bytes, 32);
  check_against("hierarchical all-gather, 4 x 8 GPUs, 1 GB", collective_seconds(gather, cluster_of(4)),
                kBulk + (5 + 7) * 1e-6 + (2 + 3 * (3 + 7)) * 1e-6 + 31.0 / 32 * bytes / (400 * kGiga));
  ClusterSpec half = cluster_of(4);
  half.nics_per_node = 4;
  check_against("half the NICs: the network sets the pace", collective_seconds(gather, half),
                kBulk + (5 + 7) * 1e-6 + (2 + 3 * (3 + 7)) * 1e-6 + 31.0 / 32 * bytes / (200 * kGiga));
  for (const CollectiveTime& time : collective_times(call_of(Collective::kAllReduce, bytes, 32), half))
    CHECK(time.seconds() == Approx(time.inside.latency + time.between.latency +
                                   std::max(time.inside.transfer, time.between.transfer)));
}

TEST_CASE("collectives: one GPU a node uses nothing but its NIC") {
  check_against("all-gather, 16 nodes with a GPU each, 100 MB: 7 us + 15 x 3 us + 15/16 S/B",
                collective_seconds(call_of(Collective::kAllGather, 1e8, 16, 1), cluster_of(16)),
                7e-6 + 45e-6 + 15.0 / 16 * 1e8 / (50 * kGiga));
}

TEST_CASE("collectives: a tree beats a ring at many nodes for small buffers, a ring a tree for large ones") {
  const ClusterSpec cluster = cluster_of(128);
  const CollectiveCall small = call_of(Collective::kAllReduce, 8192, 128, 1);
  const double ring = seconds_by(CollectiveAlgorithm::kRing, small, cluster);
  const double tree = seconds_by(CollectiveAlgorithm::kTree, small, cluster);
  check_against("ring, 128 nodes, 8 KiB: 7 us + 2 x 127 x 3 us + 2 x 127/128 S/B", ring,
                7e-6 + 762e-6 + 2 * 127.0 / 128 * 8192 / (50 * kGiga));
  check_against("tree: 7 us + 2 log2(128) x 3 us + 2 x 127/128 S/(0.92 B)", tree,
                7e-6 + 42e-6 + 2 * 127.0 / 128 * 8192 / (0.92 * 50 * kGiga));
  CHECK(collective_seconds(small, cluster) == tree);
  const CollectiveCall large = call_of(Collective::kAllReduce, 8e9, 128, 1);
  CHECK(collective_seconds(large, cluster) == seconds_by(CollectiveAlgorithm::kRing, large, cluster));
}

TEST_CASE("collectives: switches that add up between nodes halve what a NIC carries") {
  ClusterSpec cluster = without_latency(with_nvls(cluster_of(64)));
  cluster.inter_node.in_network_reduction = true;
  check_against(
      "SHARP all-reduce, 64 x 8 GPUs, 1 GB: S/8 a NIC",
      seconds_by(CollectiveAlgorithm::kInNetwork, call_of(Collective::kAllReduce, 1e9, 512), cluster),
      std::max(1e9 / 8 / (50 * kGiga), 9.0 / 8 * 1e9 / (400 * kGiga)));
}

TEST_CASE("collectives: the exchange of counts on 1024 GPUs takes what NCCL's tuner expects of it") {
  // The tuner's model at 8 GPUs a node: ring all-gather, protocol LL, 1246-2142 us; tree all-reduce 85 us.
  const ClusterSpec cluster = cluster_of(128);
  const double gather = collective_seconds(call_of(Collective::kAllGather, 8192, 1024), cluster);
  const double reduce = collective_seconds(call_of(Collective::kAllReduce, 8192, 1024), cluster);
  MESSAGE(fmt::format("1024 GPUs, 8 KiB: all-gather {:.0f} us, all-reduce {:.0f} us", 1e6 * gather,
                      1e6 * reduce));
  CHECK(gather > 1000e-6);
  CHECK(gather < 2200e-6);
  CHECK(reduce > 50e-6);
  CHECK(reduce < 110e-6);
}

TEST_CASE("collectives: an all-to-all keeps (n-1)/n of its bytes moving, its busiest GPU sets the pace") {
  const ClusterSpec cluster = without_latency(cluster_of(4));
  CollectiveCall call = call_of(Collective::kAllToAll, 1e9, 8);
  check_against("all-to-all, 8 GPUs, 1 GB: 7/8 S/B", collective_seconds(call, cluster),
                7.0 / 8 * 1e9 / (400 * kGiga));
  call.imbalance = 3;
  check_against("the busiest with 3 times the mean: three times as long", collective_seconds(call, cluster),
                3 * 7.0 / 8 * 1e9 / (400 * kGiga));
  call.group = {32, 8};
  check_against("over 4 nodes 24/32 of it through the NIC", collective_seconds(call, cluster),
                3 * 24.0 / 32 * 1e9 / (50 * kGiga));
}

TEST_CASE("collectives: imbalance stretches transfers, not latencies") {
  CollectiveCall call = call_of(Collective::kAllToAll, 0, 16);
  const double latency = collective_seconds(call, cluster_of(2));
  call.imbalance = 4;
  CHECK(collective_seconds(call, cluster_of(2)) == latency);
  call.bytes = 1e9;
  const double unbalanced = collective_seconds(call, cluster_of(2)) - latency;
  call.imbalance = 1;
  CHECK(unbalanced == Approx(4 * (collective_seconds(call, cluster_of(2)) - latency)));
}

TEST_CASE("collectives: a message takes a latency and its bytes, over NVLink or its share of the NICs") {
  ClusterSpec cluster = cluster_of(2);
  cluster.nics_per_node = 4;
  check_against("send inside, 1 MB: 5 us + S/B",
                collective_seconds(call_of(Collective::kSendRecv, 1e6, 2), cluster),
                5e-6 + 1e6 / (400 * kGiga));
  cluster.intra_node.send = BytesPerSecond{20 * kGiga};
  check_against("a measured rate of sends, start-up included: S/B",
                collective_seconds(call_of(Collective::kSendRecv, 1e6, 2), cluster), 1e6 / (20 * kGiga));
  check_against("send between, 1 MB, two GPUs a NIC: 7 us + S/(B/2)",
                collective_seconds(call_of(Collective::kSendRecv, 1e6, 2, 1), cluster),
                7e-6 + 1e6 / (25 * kGiga));
  CHECK(nic_bytes_per_second(cluster) == Approx(25 * kGiga));
}

TEST_CASE("collectives: efficiency scales the rated bandwidth") {
  ClusterSpec cluster = without_latency(cluster_of(1));
  const CollectiveCall call = call_of(Collective::kAllGather, 1e9, 8);
  const double rated = collective_seconds(call, cluster);
  cluster.intra_node.efficiency = 0.5;
  CHECK(collective_seconds(call, cluster) == Approx(2 * rated));
}

TEST_CASE("collectives: more bytes never take less time, nor do more GPUs where no switch adds up") {
  constexpr std::array kKinds = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                 Collective::kAllToAll};
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "collective");
    ClusterSpec cluster = cluster_of(64);
    cluster.intra_node.latency = from_seconds(random.uniform(0, 1e-5));
    cluster.inter_node.latency = from_seconds(random.uniform(0, 1e-5));
    cluster.inter_node.hop_latency = from_seconds(random.uniform(0, 5e-6));
    cluster.inter_node.bandwidth.value = random.uniform(1, 200) * kGiga;  // at most half of NVLink's
    CollectiveCall call{kKinds[random.below(kKinds.size())], std::exp2(random.uniform(0, 34)), {}, 1};
    const auto per_node = static_cast<std::int32_t>(1 + random.below(8));
    const auto nodes = static_cast<std::int32_t>(1 + random.below(32));
    call.group = {nodes * per_node, per_node};
    const double seconds = collective_seconds(call, cluster);
    CollectiveCall larger = call;
    larger.bytes *= random.uniform(1, 4);
    CHECK(collective_seconds(larger, cluster) >= seconds);
    CHECK(collective_seconds(larger, with_nvls(cluster)) >= collective_seconds(call, with_nvls(cluster)));
    CollectiveCall wider = call;
    wider.group.size += per_node * static_cast<std::int32_t>(1 + random.below(32));
    CHECK(collective_seconds(wider, cluster) >= seconds);
  }
}

TEST_CASE("collectives: with a separate latency for large messages, a ring uses the faster protocol") {
  ClusterSpec cluster = cluster_of(4);
  cluster.inter_node.bulk_hop_latency = 14us;
  const GpuGroup group{32, 8};
  // A ring over 4 nodes of 8: 5 + 7 us inside, 2 us more to start between nodes, and at 3 of 31 steps 14 us
  // and 7 us inside; its transfers at the rate of the NICs. Or 3 us a step, at 45 % of that rate.
  const auto ring = [&](double bytes, double hop, double rate, double start) {
    return 12e-6 + start + 2e-6 + 3 * (hop + 7e-6) + bytes * 31 / 32 / 8 / (50 * kGiga) / rate;
  };
  for (const double bytes : {1e3, 1e6, 1e9}) {
    const CollectiveCall call = {Collective::kAllGather, bytes, group};
    const double expected = std::min(ring(bytes, 14e-6, 1, kBulk), ring(bytes, 3e-6, 0.45, 0));
    check_against("all-gather", seconds_by(CollectiveAlgorithm::kRing, call, cluster), expected);
  }
}

TEST_CASE(
    "collectives: an all-to-all across pods runs at the rate of their uplinks, and rings do not slow down") {
  ClusterSpec cluster = without_latency(cluster_of(8));
  const CollectiveCall all_to_all{Collective::kAllToAll, 64e6, {64, 8}};
  const CollectiveCall gather{Collective::kAllGather, 64e6, {64, 8}};
  const auto seconds = [&](const CollectiveCall& call) { return collective_seconds(call, cluster); };
  const double flat = seconds(all_to_all);
  const double flat_ring = seconds(gather);
  check_against("one pod", flat, 56 * 1e6 / (50 * kGiga));  // a megabyte to each of 56 peers on other nodes
  cluster.pod = {.nodes = 8, .oversubscription = 4};
  CHECK(seconds(all_to_all) == flat);
  cluster.pod = {.nodes = 4, .oversubscription = 4};
  check_against("two pods", seconds(all_to_all),
                4 * 32 * 1e6 / (50 * kGiga));  // 32 peers are in the other pod
  CHECK(seconds(gather) == flat_ring);
  cluster.pod = {.nodes = 4, .oversubscription = 1};
  CHECK(seconds(all_to_all) == flat);
  cluster.pod = {.nodes = 2, .oversubscription = 4};  // less than one node's share
  check_against("ring over thin uplinks", seconds(gather), 2 * flat_ring);
}

TEST_CASE("collectives: an all-to-all that says what each link carries takes as long as the slower link") {
  const ClusterSpec cluster = without_latency(cluster_of(4));
  CollectiveCall call{Collective::kAllToAll, 1e9, {32, 8}};
  // Equal messages: 7 of 32 stay inside at 400 GB/s, 24 of 32 leave at 50 GB/s.
  CHECK(collective_seconds(call, cluster) == Approx(1e9 * 24 / 32 / (50 * kGiga)));
  call.by_link = CollectiveCall::LinkBytes{1e9 * 7 / 32, 1e9 * 24 / 32};
  CHECK(collective_seconds(call, cluster) == Approx(1e9 * 24 / 32 / (50 * kGiga)));
  call.by_link = CollectiveCall::LinkBytes{3e9, 0.3e9};
  CHECK(collective_seconds(call, cluster) == Approx(3e9 / (400 * kGiga)));
  call.by_link = CollectiveCall::LinkBytes{1e9, 0.3e9};
  CHECK(collective_seconds(call, cluster) == Approx(0.3e9 / (50 * kGiga)));
  call.imbalance = 2;
  CHECK(collective_seconds(call, cluster) == Approx(2 * 0.3e9 / (50 * kGiga)));
}

}  // namespace goodput
