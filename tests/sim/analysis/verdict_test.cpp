#include "sim/analysis/verdict.h"

#include <doctest/doctest.h>

#include "sim/analysis/verdict_json.h"
#include "sim/base/json.h"

namespace goodput {
namespace {

// Two replicas of four stages: worker dp * 4 + stage is rank 8 * (dp * 4 + stage).
WorkerGrid grid() {
  WorkerGrid grid;
  grid.dp_size = 2;
  grid.pp_size = 4;
  for (std::int32_t worker = 0; worker < 8; ++worker) grid.ranks.push_back(8 * worker);
  return grid;
}

WorkerGrid grid_with_hosts() {
  WorkerGrid with_hosts = grid();
  with_hosts.places = {{"host", {"a", "a", "b", "b", "c", "c", "d", ""}}};
  return with_hosts;
}

// Steps 10 to 14 of 24 s as recorded, 20 s replayed.
WhatIf whatif(double slowdown) {
  WhatIf result;
  result.steps = {10, 11, 12, 13, 14};
  result.base_s = {24, 24, 24, 24, 24};
  result.nodelay.span_s = {20, 20, 20, 20, 20};
  result.slowdown = slowdown;
  result.blocking.by_optype = {{"forward-compute", "backward-pp-comm"}, {1.02, 1.3}, {}};
  result.blocking.by_stage = {{"0", "1", "2", "3"}, {1.0, 1.01, 1.0, 1.25}, {}};
  return result;
}

RootCause likely(std::string name, double gain) {
  RootCause cause;
  cause.name = std::move(name);
  cause.likely = true;
  cause.gain = gain;
  cause.evidence = "the evidence";
  return cause;
}

RootCause slow_worker(std::size_t worker, double pace, double gain) {
  RootCause cause = likely("worker-fault", gain);
  cause.workers = {{worker, pace, {}}};
  return cause;
}

Verdict verdict_of(const RootCause& cause, const WorkerGrid& workers = grid()) {
  const auto verdict = find_verdict(whatif(1.3), workers, {cause});
  REQUIRE(verdict);
  return *verdict;
}

TimePattern window(std::size_t first, std::size_t last, double high) {
  TimePattern time;
  time.kind = TimePattern::Kind::kWindow;
  time.first = first;
  time.last = last;
  time.high = high;
  return time;
}

TEST_CASE("verdict: the sentence names the slow worker, its pace, its cost, and the step without it") {
  // 20 s / 1.25 = 16 s: 20 % of the time.
  const Verdict verdict = verdict_of(slow_worker(6, 1.5, 1.25));
  CHECK(
      verdict.sentence ==
      "One slow worker costs this job 20.0 % of its time: rank 48 (dp 1, stage 2) takes 1.50x as long as its "
      "peers. Without it a step would take 16.0 s instead of 20.0 s.");
  CHECK(verdict.subject.key == "worker:1:2");
  CHECK(verdict.cost->s_per_step == doctest::Approx(4));
  CHECK(verdict.cost->share == doctest::Approx(0.2));
  CHECK(verdict.next_check ==
        "check the host of rank 48: clocks, memory errors, links; drain hosts that stay slow");
}

TEST_CASE("verdict: the host is named where it is known") {
  const Verdict verdict = verdict_of(slow_worker(6, 1.5, 1.25), grid_with_hosts());
  CHECK(verdict.sentence.find("rank 48 (dp 1, stage 2, host d) takes") != std::string::npos);
  CHECK(verdict.next_check == "check host d: clocks, memory errors, links; drain hosts that stay slow");
}

TEST_CASE("verdict: a cause with an onset says since when, and its pace from then on") {
  RootCause cause = slow_worker(6, 1.2, 1.25);
  cause.workers.front().time = window(2, 4, 1.5);
  const Verdict verdict = verdict_of(cause);
  CHECK(verdict.since_step == 12);
  CHECK_FALSE(verdict.until_step);
  CHECK(
      verdict.sentence.find("rank 48 (dp 1, stage 2) has taken 1.50x as long as its peers since step 12.") !=
      std::string::npos);
  cause.workers.front().time = window(1, 2, 1.5);
  CHECK(verdict_of(cause).sentence.find("took 1.50x as long as its peers in steps 11 to 12.") !=
        std::string::npos);
  cause.workers.front().time = window(0, 1, 1.5);
  CHECK(verdict_of(cause).sentence.find("took 1.50x as long as its peers until step 11.") !=
        std::string::npos);
}

TEST_CASE("verdict: a slow link has two ends, and its hosts are to be checked") {
  RootCause cause = likely("slow-link", 1.5);
  cause.value = 40;
  cause.stage = 1;
  cause.peer_stage = 2;
  cause.time = TimePattern{};
  cause.workers = {{1, 40, {}}, {2, 40, {}}};
  const Verdict one = verdict_of(cause);
  CHECK(one.subject == Verdict::Subject{"link", "link:0:1-2"});
  REQUIRE(one.link);
  CHECK(*one.link == Verdict::Link{1, 2, 0});
  CHECK(one.pace == 40);
  CHECK(one.sentence ==
        "A slow link costs this job 33.3 % of its time: messages between rank 8 (dp 0, stage 1) and rank 16 "
        "(dp 0, "
        "stage 2) take 40x as long as usual. Without it a step would take 13.3 s instead of 20.0 s.");
  CHECK(one.next_check ==
        "check the link between the host of rank 8 and the host of rank 16: NICs, cables, switch ports");
  cause.more_links = 2;
  CHECK(verdict_of(cause).sentence.starts_with(
      "3 slow links cost this job 33.3 % of its time: messages between "));
  CHECK(verdict_of(cause).sentence.find("as usual; 2 more links are also slow.") != std::string::npos);
  cause.more_links = 0;
  cause.workers.clear();
  cause.time = window(3, 4, 12);
  const Verdict all = verdict_of(cause);
  CHECK(all.subject == Verdict::Subject{"link", "link:all:1-2"});
  CHECK(all.since_step == 13);
  CHECK(all.pace == 12);
  CHECK(all.sentence.find(
            "messages between stages 1 and 2 have taken 12x as long as usual since step 13, in all "
            "replicas.") != std::string::npos);
  CHECK(all.next_check ==
        "check what the links between stages 1 and 2 have in common in all replicas: switches and routes "
        "between their hosts, network settings");
}

TEST_CASE("verdict: several workers are counted, the slowest named first") {
  RootCause cause = slow_worker(6, 1.5, 1.25);
  for (const std::size_t worker : {1U, 2U, 3U}) cause.workers.push_back({worker, 1.2, {}});
  CHECK(
      verdict_of(cause).sentence ==
      "4 slow workers cost this job 20.0 % of its time: rank 48 (dp 1, stage 2), rank 8 (dp 0, stage 1), "
      "rank 16 (dp 0, stage 2) and 1 more take up to 1.50x as long as their peers. Without them a step would "
      "take 16.0 s instead of 20.0 s.");
}

TEST_CASE(
    "verdict: workers that were slow at different times share no onset, and the pace is the most of them") {
  RootCause cause = slow_worker(6, 1.3, 1.25);
  cause.workers.front().time = window(3, 4, 1.4);
  cause.workers.push_back({1, 1.2, window(1, 2, 1.5)});
  const Verdict verdict = verdict_of(cause);
  CHECK_FALSE(verdict.since_step);
  CHECK(verdict.sentence.find(
            "rank 48 (dp 1, stage 2) since step 13 and rank 8 (dp 0, stage 1) in steps 11 to 12 "
            "take up to 1.50x as long as their peers.") != std::string::npos);
  cause.workers.back().time = window(3, 4, 1.2);
  CHECK(verdict_of(cause).sentence.find("have taken up to 1.40x as long as their peers since step 13.") !=
        std::string::npos);
}

TEST_CASE("verdict: with one replica nothing tells a slow machine from a large stage") {
  WorkerGrid one = grid();
  one.dp_size = 1;
  one.ranks.resize(4);
  const Verdict verdict = verdict_of(slow_worker(1, 1.5, 1.25), one);
  CHECK(verdict.sentence.find("A slow stage costs this job 20.0 % of its time: stage 1 (rank 8) takes 1.50x "
                              "as long as the median stage, because of its host or because of its layers "
                              "(with one replica, the trace cannot show which).") == 0);
  CHECK(verdict.next_check ==
        "check the host of rank 8: clocks, memory errors, links; if it is healthy, move layers off stage 1");
}

TEST_CASE("verdict: several replicas or hosts are all named, each with its ranks") {
  RootCause replica = likely("slow-replica", 1.25);
  for (std::size_t worker = 0; worker < 8; ++worker)
    replica.workers.push_back({worker, worker < 4 ? 1.5 : 1.3, {}});
  CHECK(verdict_of(replica).sentence.find(
            "2 slow replicas cost this job 20.0 % of its time: dp 0 (ranks 0, 8, 16 and "
            "24) and dp 1 (ranks 32, 40, 48 and 56) take up to 1.50x") == 0);
  RootCause host = likely("slow-host", 1.25);
  for (const std::size_t worker : {4U, 2U, 3U, 5U}) host.workers.push_back({worker, 1.4, {}});
  const Verdict verdict = verdict_of(host, grid_with_hosts());
  CHECK(verdict.sentence.find(
            "2 slow hosts cost this job 20.0 % of its time: host c (ranks 32 and 40) and host b (ranks "
            "16 and 24) take up to 1.40x") == 0);
  CHECK(verdict.subject.key == "host:c");
  CHECK(verdict.next_check ==
        "check what the workers of host c and host b share: power, cooling, clocks, links; drain hosts that "
        "stay slow");
}

TEST_CASE("verdict: the pace of a host is the mean of its workers") {
  RootCause host = likely("slow-host", 1.25);
  host.workers = {{2, 1.8, {}}, {3, 1.2, {}}};
  CHECK(verdict_of(host, grid_with_hosts()).pace == doctest::Approx(1.5));
}

TEST_CASE("verdict: a doubt is the answer, at any S, unless late launches explain it") {
  const Doubt doubt{"the replay takes 2.58x as long as the recording", "record all operations"};
  RootCause unlikely = slow_worker(6, 1.5, 1.25);
  unlikely.likely = false;
  for (const double slowdown : {1.0, 1.3}) {
    const auto verdict = find_verdict(whatif(slowdown), grid(), {unlikely}, doubt);
    REQUIRE(verdict);
    CHECK(verdict->kind == kUnexplained);
    CHECK(verdict->subject.key == "job");
    CHECK(verdict->workers.empty());
    CHECK(verdict->next_check == "record all operations");
    CHECK(verdict->sentence.starts_with(
        "This trace does not show what slows the job down: the replay takes 2.58x as long as the recording. "
        "According to the recorded times, stragglers cost "));
  }
  CHECK(find_verdict(whatif(1.3), grid(), {likely("launch-delay", 1.2)}, doubt)->kind == "launch-delay");
}

TEST_CASE("verdict: long and short steps have their own units") {
  WhatIf result = whatif(1.3);
  result.nodelay.span_s = {2000, 2000, 2000, 2000, 2000};
  CHECK(find_verdict(result, grid(), {slow_worker(6, 1.5, 1.25)})
            ->sentence.ends_with("take 1600 s instead of 2000 s."));
  result.nodelay.span_s = {0.02, 0.02, 0.02, 0.02, 0.02};
  CHECK(find_verdict(result, grid(), {slow_worker(6, 1.5, 1.25)})
            ->sentence.ends_with("take 16 ms instead of 20 ms."));
}

TEST_CASE("verdict: a slow link inside a host is not in the network") {
  RootCause link = likely("communication-flap", 1.25);
  link.workers = {{2, 50, {}}};
  link.stage = 2;
  link.peer_stage = 3;
  CHECK(verdict_of(link, grid_with_hosts()).next_check ==
        "check the links between the GPUs of ranks 16 and 24 in host b");
}

TEST_CASE("verdict: replicas, hosts and stages are subjects of their own") {
  RootCause replica = likely("slow-replica", 1.25);
  for (const std::size_t worker : {4U, 5U, 6U, 7U}) replica.workers.push_back({worker, 1.3, {}});
  CHECK(verdict_of(replica).subject.key == "replica:1");
  CHECK(verdict_of(replica).sentence.find(
            "One slow replica costs this job 20.0 % of its time: dp 1 (ranks 32, 40, "
            "48 and 56) takes 1.30x as long as the other replicas.") == 0);
  RootCause host = likely("slow-host", 1.25);
  for (const std::size_t worker : {2U, 3U}) host.workers.push_back({worker, 1.4, {}});
  CHECK(verdict_of(host, grid_with_hosts()).subject.key == "host:b");
  CHECK(verdict_of(host, grid_with_hosts())
            .sentence.find(
                "One slow host costs this job 20.0 % of its time: host b (ranks 16 and 24) takes 1.40x") ==
        0);
  RootCause stage = likely("stage-partition", 1.25);
  stage.stage = 3;
  stage.value = 1.4;
  CHECK(verdict_of(stage).subject.key == "stage:3");
  CHECK(verdict_of(stage).sentence ==
        "An uneven layer split costs this job 20.0 % of its time: stage 3 takes 1.40x as long as the median "
        "stage in every replica. Without it a step would take 16.0 s instead of 20.0 s.");
}

TEST_CASE("verdict: a link is named by its stages and replica, and its check by the hosts at both ends") {
  RootCause link = likely("communication-flap", 1.25);
  link.workers = {{1, 50, {}}};
  link.stage = 1;
  link.peer_stage = 2;
  const Verdict verdict = verdict_of(link, grid_with_hosts());
  CHECK(verdict.subject.key == "link:0:1-2");
  CHECK(verdict.sentence.find("A slow link costs this job 20.0 % of its time: messages between stages 1 and "
                              "2 of dp 0 take up to 50x as long as the median.") == 0);
  CHECK(verdict.next_check == "check the link between host a and host b: NICs, cables, switch ports");
}

TEST_CASE("verdict: late launches are measured against the step as recorded") {
  // 24 s / 1.2 = 20 s.
  const Verdict verdict = verdict_of(likely("launch-delay", 1.2));
  CHECK(verdict.subject.key == "job");
  CHECK(verdict.sentence ==
        "Late launches cost this job 16.7 % of its time: GPUs waited for operations that were launched late. "
        "Without them a step would take 20.0 s instead of 24.0 s.");
}

TEST_CASE("verdict: a second cause is named if its gain is within 20 % of the first one's") {
  RootCause stage = likely("stage-partition", 1.21);  // 0.21 >= 0.8 * 0.25
  stage.stage = 3;
  stage.value = 1.4;
  const auto both = find_verdict(whatif(1.3), grid(), {slow_worker(6, 1.5, 1.25), stage});
  CHECK(
      both->sentence.ends_with("instead of 20.0 s. An uneven layer split costs 17.4 %: stage 3 takes 1.40x "
                               "as long as the median stage in every replica."));
  stage.gain = 1.19;
  CHECK(find_verdict(whatif(1.3), grid(), {slow_worker(6, 1.5, 1.25), stage})
            ->sentence.ends_with("of 20.0 s."));
}

TEST_CASE("verdict: without a likely cause there is none below S = 1.05, and `unexplained` from there on") {
  RootCause unlikely = slow_worker(6, 1.0, 1.0);
  unlikely.likely = false;
  CHECK_FALSE(find_verdict(whatif(1.049), grid(), {unlikely}));
  const auto verdict = find_verdict(whatif(1.3), grid(), {unlikely});
  CHECK(verdict->kind == kUnexplained);
  CHECK(verdict->sentence ==
        "Stragglers cost this job 23.1 % of its time, and no single cause was found: slow backward-pp-comm "
        "operations alone make steps 1.30x as long; stage 3 alone makes steps 1.25x as long.");
}

TEST_CASE("verdict: the headline of a healthy job is a sentence too") {
  CHECK(headline(std::nullopt, whatif(1.004), 0.04) ==
        "This job has no stragglers that matter: they cost 0.4 % of its time (S = 1.004).");
  CHECK(headline(std::nullopt, whatif(0.99), 0.04) ==
        "This job has no stragglers that matter: they cost 0.0 % of its time (S = 0.990).");
  CHECK(headline(std::nullopt, whatif(1.03), 0.04) ==
        "Stragglers cost this job 2.9 % of its time (S = 1.030), and no single cause stands out.");
  CHECK(headline(std::nullopt, whatif(1.004), 0.41) ==
        "Stragglers cost this job 0.4 % of its time (S = 1.004), but messages between stages take 41.0 % of "
        "each step. S cannot show a link that is slow in all replicas.");
}

TEST_CASE("verdict: JSON has null for what is unknown, and for no verdict") {
  CHECK(verdict_json(std::nullopt) == nullptr);
  const OrderedJson json = verdict_json(verdict_of(slow_worker(6, 1.5, 1.25)));
  CHECK(json["kind"] == "worker-fault");
  CHECK(json["subject"].dump() == R"({"type":"worker","key":"worker:1:2"})");
  CHECK(json["workers"].dump() == R"([{"dp":1,"stage":2,"rank":48,"host":null}])");
  CHECK(json["link"] == nullptr);
  CHECK(json["since_step"] == nullptr);
  CHECK(json["pace"] == 1.5);
}

TEST_CASE("verdict: what was stored is read back, and a damaged text is refused") {
  RootCause link = likely("communication-flap", 1.25);
  link.workers = {{1, 50, window(1, 2, 1.5)}};
  link.stage = 1;
  link.peer_stage = 2;
  RootCause growing = slow_worker(6, 1.2, 1.24);
  growing.workers.front().time = window(2, 4, 1.5);
  growing.workers.front().time.kind = TimePattern::Kind::kGrowth;
  for (const auto& causes : {std::vector{link, growing}, std::vector{growing}}) {
    const auto verdict = find_verdict(whatif(1.3), grid_with_hosts(), causes);
    const auto back = read_verdict(verdict_text(verdict));
    REQUIRE(back);
    CHECK(*back == verdict);
  }
  CHECK(verdict_text(std::nullopt).empty());
  CHECK_FALSE(*read_verdict(""));
  CHECK(read_verdict("{}").error().what == "contains a damaged verdict");
  CHECK_FALSE(read_verdict("{"));
}

}  // namespace
}  // namespace goodput
