// Where in a recording trials start, and caps to the nodes that a job holds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/models/failure/failure_stream.h"

namespace goodput::testing {
namespace {

using Starts = RecordingReplay::Starts;

// 100 s in which a node comes or goes every 3 s.
SpotTrace busy_trace() {
  SpotTrace trace;
  trace.file = "spot.csv";
  trace.end = at_s(100);
  std::set<NodeId> held;
  for (int i = 0; i < 33; ++i) {
    const NodeId node = i * 7 % 5;
    const bool is_held = held.contains(node);
    trace.events.push_back(
        {at_s(3 * i), is_held ? NodeEvent::Kind::kRemove : NodeEvent::Kind::kAdd, node, 1});
    if (is_held)
      held.erase(node);
    else
      held.insert(node);
  }
  return trace;
}

SpotTrace busy_counts() {
  SpotTrace trace;
  trace.file = "counts.json";
  trace.end = at_s(100);
  for (int i = 0; i < 33; ++i) trace.counts.push_back({at_s(3 * i), 3 + i * 5 % 7});
  return trace;
}

std::vector<FailureConfig> trace_model(std::string_view options) {
  auto read = read_failures(
      fmt::format(R"({{"model": "trace", "file": "x"{}{}}})", options.empty() ? "" : ", ", options));
  REQUIRE(read.has_value());
  return *std::move(read);
}

RecordingReplay replay_with(const FailureSource& source, std::string_view options, std::uint64_t trial) {
  const auto configs = trace_model(options);
  return replays_of(configs, {&source, 1}, 1, trial).at(0).value();
}

std::string starts_name(std::chrono::seconds window, std::string_view options = "") {
  const SpotTrace trace = busy_trace();
  switch (replay_with({&trace, {}, window}, options, 1).starts) {
    case Starts::kRandom:
      return "random";
    case Starts::kChosen:
      return "chosen";
    case Starts::kTooShort:
      return "too short";
  }
  return "";
}

NodeEvents events_with(const FailureSource& source, std::string_view options, std::uint64_t trial) {
  const auto configs = trace_model(options);
  auto model = make_failure_model(configs, {&source, 1}, 1, trial);
  REQUIRE(model.has_value());
  return check_stream(**model, SimTime::max());
}

NodeId peak(const NodeEvents& events) {
  NodeId held = 0;
  NodeId most = 0;
  for (const NodeEvent& event : events)
    most = std::max(most, held += event.kind == NodeEvent::Kind::kAdd ? 1 : -1);
  return most;
}

}  // namespace

TEST_CASE("trace starts: a trial that starts at s replays what from_s of s does") {
  for (const SpotTrace& trace : {busy_trace(), busy_counts()}) {
    for (const char* const cap :
         {"", R"(, "cap": {"rule": "saturate", "nodes": 3})", R"(, "cap": {"rule": "thin", "nodes": 3})"}) {
      std::set<SimDuration> starts;
      for (std::uint64_t trial = 0; trial < 20; ++trial) {
        const FailureSource source{&trace, {}, std::chrono::seconds(20)};
        const std::string random = fmt::format(R"("starts": "random"{})", cap);
        const SimDuration start = replay_with(source, random, trial).start;
        const std::string fixed = fmt::format(R"("starts": "fixed", "from_s": {}{})", to_seconds(start), cap);
        CHECK(events_with(source, random, trial) == events_with(source, fixed, trial));
        starts.insert(start);
      }
      CHECK(starts.contains(std::chrono::seconds(0)));  // of trial 0
      CHECK(starts.size() > 10);
    }
  }
}

TEST_CASE("trace starts: they are random where the recording is four times as long as the window") {
  CHECK(starts_name(std::chrono::seconds(25)) == "random");
  CHECK(starts_name(std::chrono::seconds(26)) == "too short");
  CHECK(starts_name(std::chrono::seconds(0)) == "too short");  // not known
  CHECK(starts_name(std::chrono::seconds(10), R"("to_s": 39)") == "too short");
  CHECK(starts_name(std::chrono::seconds(10), R"("from_s": 1)") == "chosen");
  CHECK(starts_name(std::chrono::seconds(10), R"("starts": "fixed")") == "chosen");
  CHECK(starts_name(std::chrono::seconds(10), R"("starts": "random", "from_s": 1)") == "random");
  CHECK(starts_name(std::chrono::seconds(99), R"("starts": "random")") == "random");
}

TEST_CASE("trace starts: each second that leaves a window is as likely as another") {
  const SpotTrace trace = busy_trace();
  const FailureSource source{&trace, {}, std::chrono::seconds(25)};
  double sum = 0;
  SimDuration first = SimDuration::max();
  SimDuration last{};
  for (std::uint64_t trial = 1; trial <= 1000; ++trial) {
    const SimDuration start = replay_with(source, "", trial).start;
    sum += to_seconds(start);
    first = std::min(first, start);
    last = std::max(last, start);
  }
  // Of the seconds 0 to 75: mean 37.5, standard deviation 21.9, of a mean of 1000 0.69.
  CHECK(std::abs(sum / 1000 - 37.5) < 3 * 0.69);
  CHECK(first == std::chrono::seconds(0));
  CHECK(last == std::chrono::seconds(75));
  // A part of the recording has the starts that are in it.
  const SimDuration of_part = replay_with(source, R"("starts": "random", "from_s": 40, "to_s": 70)", 3).start;
  CHECK(of_part >= std::chrono::seconds(40));
  CHECK(of_part <= std::chrono::seconds(45));
}

TEST_CASE("trace starts: jobs with windows of about the same length mostly start together") {
  // A start that 20 s leave room for and 22 s do not is 79 or 80 of the seconds 0 to 80: 2 of 81.
  const SpotTrace trace = busy_trace();
  int apart = 0;
  for (std::uint64_t trial = 1; trial <= 1000; ++trial) {
    const auto start = [&](int window) {
      return replay_with({&trace, {}, std::chrono::seconds(window)}, "", trial).start;
    };
    if (start(20) != start(22)) ++apart;
  }
  CHECK(apart > 0);
  CHECK(apart < 60);
}

TEST_CASE("trace starts: the rate of losses is that of the whole recording") {
  const SpotTrace trace = busy_counts();
  const FailureSource whole{&trace, {}, {}};
  const FailureSource random{&trace, {}, std::chrono::seconds(10)};
  const auto rate = [](const FailureSource& source) {
    return make_interruption_rate(trace_model(""), {&source, 1}, 1).value()(2);
  };
  CHECK(rate(whole) > 0);
  CHECK(rate(whole) == rate(random));
}

TEST_CASE(
    "trace starts: a recording that is too short for random starts is refused where they are asked for") {
  const SpotTrace trace = busy_trace();
  CHECK(problem_of(R"({"model": "trace", "file": "x", "starts": "random"})",
                   {{&trace, {}, std::chrono::seconds(100)}}) ==
        "/starts: is \"random\", but spot.csv has only 100 s to replay and the job may take 100 s; give a "
        "longer recording, or set \"fixed\"");
}

TEST_CASE("trace: a recording is capped to the nodes that a job holds, unless it has a smaller cap") {
  const SpotTrace trace = busy_counts();  // 3 to 9 nodes
  const FailureSource source{&trace, {}, {}};
  const auto most_held = [&](std::string_view options, NodeId cap) {
    auto configs = trace_model(options);
    if (cap > 0) configs.front().setup().cap_nodes(cap, /*others_wait=*/true);
    const auto model = make_failure_model(configs, {&source, 1}, 1, 0).value();
    CHECK(model->nodes() == 9);  // ids stay those of the recording
    const NodeId most = model->most_held();
    CHECK(peak(check_stream(*model, SimTime::max())) <= most);
    return most;
  };
  CHECK(most_held("", 0) == 9);
  CHECK(most_held("", 4) == 4);
  CHECK(most_held("", 12) == 9);
  CHECK(most_held(R"("cap": {"rule": "saturate", "nodes": 2})", 4) == 2);
  CHECK(most_held(R"("cap": {"rule": "first_seen", "nodes": 8})", 4) == 4);
}

TEST_CASE("merged failures: no more nodes are held than any of the models allows") {
  // The recording knows nodes 0 to 8 and holds 4 of them at most; the other model has nodes 9 and 10, too.
  const SpotTrace trace = busy_counts();
  const auto model = failures_of(R"([{"model": "trace", "file": "x", "cap": {"rule": "saturate", "nodes": 4}},
                      {"model": "exponential", "nodes": 11, "mtbf_hours": 1000}])",
                                 {{&trace, {}}, {}});
  CHECK(model->nodes() == 11);
  CHECK(model->most_held() == 6);
}

}  // namespace goodput::testing
