// release-too: the numbers that users get from damaged traces.
// Every kind of damage done to traces of every shape: what is refused, with which words; what is accepted,
// with which findings, and with the answers of the undamaged trace without the steps that were left out.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/cleaning/step_selection.h"
#include "sim/cleaning/trace_cleaning.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/damaged_trace.h"
#include "tests/support/published_case.h"
#include "tests/support/trace_generator.h"
#include "tools/whatif/whatif_compat.h"
#include "traces/op/op_trace_reader.h"

namespace goodput::testing {
namespace {

// Every field of the reference artifact's result files.
std::string answers(const OpGraph& graph, const Recording& recording) {
  return compat_json(value_or_throw(WhatIfEngine(graph, recording, {}).analyse()), {}, 1.0);
}

std::string answers_of_clean(OpTrace trace, const std::vector<NumberRange>& asked_for) {
  const TraceIndex index = value_or_throw(index_trace(trace));
  std::vector<std::uint32_t> selected;
  for (std::uint32_t i = 0; i < index.steps.size(); ++i) {
    if (is_asked_for(index.steps[i], asked_for)) selected.push_back(i);
  }
  const AnalysedTrace got = analysed(std::move(trace), selected);
  return answers(got.graph, got.recording);
}

// The answers, or what the refusal says.
struct Outcome {
  std::string answers;
  std::string refusal;
  std::vector<CleaningFinding> findings;
};

Outcome outcome_of(const DamagedTrace& damaged, bool strict) {
  Result<CleanTrace> clean = clean_trace(damaged.rows, damaged.findings, {strict, damaged.steps});
  if (!clean) return {"", clean.error().message(), {}};
  const Result<OpGraph> graph = megatron::build_graph(clean->index.lane);
  if (!graph) return {"", graph.error().message(), {}};
  const Recording recording =
      arrange(std::move(clean->trace), std::move(clean->index), *graph, clean->selected);
  return {answers(*graph, recording), "", std::move(clean->findings)};
}

// `missing-ops 2, other-shape 1`
std::string as_text(const std::map<CleaningRule, std::size_t>& counts) {
  std::string text;
  for (const auto& [rule, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", info(rule).name, count);
  }
  return text;
}

std::string counted(const std::vector<CleaningFinding>& findings) {
  std::map<CleaningRule, std::size_t> counts;
  for (const CleaningFinding& finding : findings) counts[finding.rule] += finding.count;
  return as_text(counts);
}

bool is_strict(const DamagedTrace& damaged) {
  return std::any_of(damaged.counts.begin(), damaged.counts.end(),
                     [](const auto& count) { return info(count.first).strict; });
}

void check(const DamagedTrace& damaged) {
  const Outcome got = outcome_of(damaged, false);
  if (!damaged.refusal.empty()) {
    CAPTURE(got.refusal);
    REQUIRE(got.refusal.find(damaged.refusal) != std::string::npos);
    return;
  }
  REQUIRE(got.refusal == "");
  std::string details;
  for (const CleaningFinding& finding : got.findings) details += finding.detail + "; ";
  CAPTURE(details);
  REQUIRE(counted(got.findings) == as_text(damaged.counts));
  // The same rows: not one bit may differ, which is more than the 1e-6 that are asked for.
  REQUIRE(got.answers == answers_of_clean(damaged.want, damaged.steps));
  if (is_strict(damaged)) REQUIRE(outcome_of(damaged, true).refusal != "");
}

// Every step begins where the one before ended, and a bit.
OpTrace on_one_clock(const OpTrace& trace) {
  OpTrace rows;
  std::map<std::int64_t, double> ends;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    double& end = ends[trace.step[i]];
    end = std::max(end, trace.start_s[i] + trace.duration_s[i]);
  }
  double origin = 5000;
  for (auto& [step, value] : ends) origin += std::exchange(value, origin) + 0.01;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    OpRow row = trace.row(i);
    row.start_s += ends[row.step];
    REQUIRE_FALSE(rows.append(row));
  }
  return rows;
}

WholeTrace generated(TraceSpec spec, bool absolute) {
  spec.steps = 8;
  spec.data_parallel_ops = spec.dp * spec.dsp_size > 1;
  if (spec.vpp > 1) spec.type2_noops = true;
  const auto make = [&](const TraceSpec& of) {
    return absolute ? on_one_clock(generate_trace(of)) : generate_trace(of);
  };
  WholeTrace whole{to_string(spec), make(spec), absolute, std::nullopt, std::nullopt};
  TraceSpec other = spec;
  other.micro_batches = spec.vpp > 1 ? spec.micro_batches - spec.pp : spec.micro_batches - 1;
  if (other.micro_batches > 1) whole.small = make(other);
  other = spec;
  other.dp = spec.dp - 1;
  if (other.dp > 1) whole.narrow = make(other);
  return whole;
}

std::vector<WholeTrace> generated_traces() {
  std::vector<WholeTrace> traces;
  for (const bool absolute : {false, true}) {
    TraceSpec spec;
    spec.float32 = !absolute;
    spec.slow_worker_factor = 1.5;
    spec.micro_batches = 4;
    for (const auto [dp, pp, vpp] :
         std::vector<std::array<int, 3>>{{2, 2, 1}, {3, 1, 1}, {1, 1, 1}, {1, 3, 1}, {3, 2, 2}, {4, 4, 1}}) {
      spec.dp = dp;
      spec.pp = pp;
      spec.vpp = vpp;
      spec.schedule = vpp > 1 ? Schedule::kInterleaved : dp == 3 ? Schedule::kGPipe : Schedule::kOneFOneB;
      spec.overlap_dp = dp == 4;
      spec.type1_noops = dp == 4;
      spec.sparse_steps = pp == 2;
      spec.rank_gap = 8;
      traces.push_back(generated(spec, absolute));
      ++spec.seed;
    }
  }
  return traces;
}

std::size_t check_all_kinds(const std::vector<WholeTrace>& traces, std::uint64_t places) {
  std::size_t variants = 0;
  for (const WholeTrace& whole : traces) {
    CAPTURE(whole.name);
    CAPTURE(whole.absolute);
    for (const DamageKind& kind : damage_kinds()) {
      CAPTURE(std::string(kind.name));
      for (std::uint64_t place = 1; place <= places; ++place) {
        CAPTURE(place);
        RandomStream random(place, kind.name);
        const auto damaged = kind.damage(whole, random);
        if (!damaged) continue;
        check(*damaged);
        ++variants;
      }
    }
  }
  return variants;
}

}  // namespace

TEST_CASE("cleaning: 1,000 damaged variants of generated traces come out as the table says" *
          doctest::test_suite("slow")) {
  const std::size_t variants = check_all_kinds(generated_traces(), 4);
  CHECK(variants >= 1000);
  MESSAGE(variants, " variants");
}

TEST_CASE("cleaning: damaged variants of real traces come out as the table says" *
          doctest::test_suite("slow")) {
  std::vector<WholeTrace> traces;
  for (const char* name : {"AR", "ST"}) {
    const auto folder = published_case(name);
    if (folder.empty()) return;
    OpTrace rows = value_or_throw(read_op_trace({(folder / "trace.csv.gz").string()}, {})).trace;
    traces.push_back({name, std::move(rows), false, std::nullopt, std::nullopt});
  }
  const std::size_t variants = check_all_kinds(traces, 1);
  CHECK(variants >= 40);
  MESSAGE(variants, " variants");
}

TEST_CASE("cleaning: generated traces of all shapes have nothing to clean and are not refused") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const TraceSpec spec = random_spec(seed);
    CAPTURE(to_string(spec));
    const Result<CleanTrace> clean = clean_trace(generate_trace(spec), {}, {});
    REQUIRE(clean);
    REQUIRE(clean->findings.empty());
    REQUIRE(clean->selected.size() == clean->index.steps.size());
    REQUIRE(megatron::build_graph(clean->index.lane));
  }
}

}  // namespace goodput::testing
