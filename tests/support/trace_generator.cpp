#include "tests/support/trace_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "sim/base/float32.h"
#include "sim/base/random.h"
#include "tests/support/random_integer.h"
#include "tests/support/training_step.h"

namespace goodput::testing {
namespace {

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(fmt::format("TraceSpec: want {}", what));
}

void check(const TraceSpec& spec) {
  require(spec.dp >= 1 && spec.pp >= 1 && spec.vpp >= 1 && spec.micro_batches >= 1 && spec.steps >= 1,
          "sizes of at least 1");
  require(spec.vpp == 1 || spec.schedule != Schedule::kOneFOneB, "an interleaved schedule for vpp > 1");
  require(spec.vpp == 1 || spec.micro_batches % spec.pp == 0, "a multiple of pp micro-batches for vpp > 1");
  require(spec.vpp == 1 || spec.type2_noops, "type2_noops for vpp > 1");
  require(spec.type2_noops || !(spec.missing_first_recv || spec.missing_last_send), "type2_noops");
  require(spec.data_parallel_ops == (spec.dp * spec.dsp_size > 1),
          "data_parallel_ops exactly if dp * dsp_size > 1");
  require(spec.dp_buckets_per_chunk >= 1, "a data-parallel bucket");
  require(spec.clock_skew_s >= 0 && spec.clock_skew_s <= 0.025, "a clock skew of 0 to 25 ms");
}

struct Recorder {
  std::int64_t rank;
  int dp_rank;
  int stage;
  double skew_s;
};

template <typename T>
void shuffle(std::vector<T>& values, RandomStream& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

// In order of their ranks.
std::vector<Recorder> make_recorders(const TraceSpec& spec) {
  RandomStream skews(spec.seed, "clock skew");
  RandomStream order(spec.seed, "rank order");
  std::vector<Recorder> recorders;
  std::vector<int> place(static_cast<std::size_t>(spec.dp));
  for (int stage = 0; stage < spec.pp; ++stage) {
    std::iota(place.begin(), place.end(), 0);
    if (spec.shuffled_ranks) shuffle(place, order);
    for (int dp = 0; dp < spec.dp; ++dp) {
      const std::int64_t rank =
          (std::int64_t{stage} * spec.dp + place[static_cast<std::size_t>(dp)]) * spec.rank_gap;
      const double skew = on_grid(spec, skews.uniform(-spec.clock_skew_s, spec.clock_skew_s));
      recorders.push_back({rank, dp, stage, skew});
    }
  }
  std::sort(recorders.begin(), recorders.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return recorders;
}

std::vector<std::int64_t> step_numbers(const TraceSpec& spec) {
  RandomStream random(spec.seed, "step numbers");
  std::vector<std::int64_t> numbers;
  std::int64_t number = spec.sparse_steps ? static_cast<std::int64_t>(random.below(100)) : 1;
  for (int i = 0; i < spec.steps; ++i) {
    numbers.push_back(number);
    number += spec.sparse_steps ? 1 + static_cast<std::int64_t>(random.below(50)) : 1;
  }
  return numbers;
}

double earliest_start(const std::vector<Worker>& workers) {
  double earliest = std::numeric_limits<double>::infinity();
  for (const Worker& worker : workers) {
    for (const auto& events : worker.ops) {
      if (!events.empty()) earliest = std::min(earliest, events.front().start);
    }
  }
  return earliest;
}

double recorded(const TraceSpec& spec, double seconds) {
  return spec.float32 ? round_to_float32(seconds) : seconds;
}

void append_worker(OpTrace& trace, const TraceSpec& spec, const Recorder& recorder, const Worker& worker,
                   std::int64_t step, double origin) {
  for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type) {
    std::int64_t seq_id = 0;
    for (const Event& event : worker.ops[type]) {
      const auto problem = trace.append({.dp_rank = recorder.dp_rank,
                                         .stage = recorder.stage,
                                         .rank = recorder.rank,
                                         .step = step,
                                         .optype = static_cast<OpType>(type),
                                         .start_s = recorded(spec, event.start - origin + recorder.skew_s),
                                         .duration_s = recorded(spec, event.end - event.start),
                                         .seq_id = seq_id++,
                                         .mc = event.mc,
                                         .mb_id = event.mb,
                                         .gmc = event.gmc});
      if (problem) throw std::logic_error(*problem + ": " + to_string(spec));
    }
  }
}

// ---- Random specs

bool chance(RandomStream& random, double probability) {
  return random.uniform() < probability;
}

template <std::size_t N>
double one_of(RandomStream& random, const double (&values)[N]) {
  return values[random.below(N)];
}

void draw_pipeline(TraceSpec& spec, RandomStream& random) {
  spec.pp = between(random, 1, 4);
  spec.schedule = static_cast<Schedule>(random.below(3));
  if (spec.schedule == Schedule::kInterleaved) spec.vpp = between(random, 1, 3);
  if (spec.schedule == Schedule::kGPipe && chance(random, 0.3)) spec.vpp = 2;
  spec.micro_batches = spec.vpp > 1 ? spec.pp * between(random, 1, 2) : between(random, 1, 6);
  spec.steps = between(random, 1, 4);
}

void draw_data_parallelism(TraceSpec& spec, RandomStream& random) {
  spec.dp = between(random, 1, 4);
  spec.dsp_size = chance(random, 0.3) ? 2 : 1;
  if (chance(random, 0.15)) spec.dp = spec.dsp_size = 1;
  spec.data_parallel_ops = spec.dp * spec.dsp_size > 1;
  spec.overlap_dp = chance(random, 0.5);
  spec.dp_buckets_per_chunk = between(random, 1, 3);
}

void draw_noops(TraceSpec& spec, RandomStream& random) {
  spec.type1_noops = chance(random, 0.4);
  spec.type2_noops = spec.vpp > 1 || chance(random, 0.3);
  spec.missing_first_recv = spec.type2_noops && chance(random, 0.3);
  spec.missing_last_send = spec.type2_noops && chance(random, 0.3);
  spec.noops_at_tolerance = chance(random, 0.3);
  spec.outlasting_noops = chance(random, 0.3);
}

void draw_times(TraceSpec& spec, RandomStream& random) {
  spec.jitter = one_of(random, {0.0, 0.02, 0.1, 0.4});
  spec.slow_dp_rank = between(random, 0, spec.dp - 1);
  spec.slow_stage = between(random, 0, spec.pp - 1);
  if (chance(random, 0.4)) spec.slow_worker_factor = random.uniform(1.2, 4);
  if (chance(random, 0.3)) spec.slow_last_stage_factor = random.uniform(1.1, 2);
  spec.launch_delay_s = one_of(random, {0.0, 20e-6, 2e-3, 8e-3});
  spec.clock_skew_s = one_of(random, {0.0, 0.0, 1e-3, 0.025});
  spec.exact_ties = chance(random, 0.25);
  spec.sparse_steps = chance(random, 0.5);
  spec.shuffled_ranks = chance(random, 0.3);
  spec.rank_gap = chance(random, 0.5) ? 1 : 8;
  spec.float32 = chance(random, 0.75);
}

// The slowest 3 % are two workers or more only from 34 workers on.
void make_wide(TraceSpec& spec, RandomStream& random) {
  spec.pp = between(random, 1, 2);
  spec.dp = between(random, 34, 40);
  spec.vpp = 1;
  spec.schedule = Schedule::kOneFOneB;
  spec.micro_batches = between(random, 1, 2);
  spec.data_parallel_ops = true;
}

void make_small(TraceSpec& spec) {
  constexpr int kMostRows = 2000;
  const int lane =
      spec.pp * (6 * spec.micro_batches * spec.vpp + 2 * spec.vpp * spec.dp_buckets_per_chunk + 8);
  spec.steps = std::clamp(kMostRows / (lane * spec.dp), 1, spec.steps);
  if (spec.dp <= 4) spec.dp = std::clamp(kMostRows / (lane * spec.steps), std::min(spec.dp, 2), spec.dp);
}

}  // namespace

std::string to_string(const TraceSpec& spec) {
  return fmt::format(
      "seed {}: dp {} dsp {} pp {} vpp {} micro-batches {} steps {} schedule {} dp ops {} overlap {} buckets "
      "{} "
      "type1 {} type2 {} missing recv {} send {} at tolerance {} outlasting {} jitter {} slow {}:{} x{} last "
      "stage "
      "x{} launch delay {} skew {} ties {} sparse steps {} shuffled ranks {} gap {} float32 {}",
      spec.seed, spec.dp, spec.dsp_size, spec.pp, spec.vpp, spec.micro_batches, spec.steps,
      static_cast<int>(spec.schedule), spec.data_parallel_ops, spec.overlap_dp, spec.dp_buckets_per_chunk,
      spec.type1_noops, spec.type2_noops, spec.missing_first_recv, spec.missing_last_send,
      spec.noops_at_tolerance, spec.outlasting_noops, spec.jitter, spec.slow_dp_rank, spec.slow_stage,
      spec.slow_worker_factor, spec.slow_last_stage_factor, spec.launch_delay_s, spec.clock_skew_s,
      spec.exact_ties, spec.sparse_steps, spec.shuffled_ranks, spec.rank_gap, spec.float32);
}

OpTrace generate_trace(const TraceSpec& spec) {
  check(spec);
  const std::vector<Recorder> recorders = make_recorders(spec);
  OpTrace trace;
  int index = 0;
  for (const std::int64_t step : step_numbers(spec)) {
    const std::vector<Worker> workers = simulate_step(spec, index++);
    const double origin = earliest_start(workers);
    for (const Recorder& recorder : recorders) {
      const auto worker = static_cast<std::size_t>(recorder.dp_rank * spec.pp + recorder.stage);
      append_worker(trace, spec, recorder, workers[worker], step, origin);
    }
    if (index == 1) trace.reserve(trace.size() * static_cast<std::size_t>(spec.steps));
  }
  return trace;
}

OpTrace shuffled(const OpTrace& trace, std::uint64_t seed) {
  std::vector<std::size_t> order(trace.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  RandomStream random(seed, "row order");
  shuffle(order, random);
  OpTrace result;
  result.reserve(trace.size());
  for (const std::size_t row : order) {
    if (const auto problem = result.append(trace.row(row))) throw std::logic_error(*problem);
  }
  return result;
}

TraceSpec random_spec(std::uint64_t seed) {
  RandomStream random(seed, "trace spec");
  TraceSpec spec;
  spec.seed = seed;
  draw_pipeline(spec, random);
  draw_data_parallelism(spec, random);
  draw_noops(spec, random);
  if (chance(random, 0.02)) {
    make_wide(spec, random);
  }
  make_small(spec);
  draw_times(spec, random);
  return spec;
}

}  // namespace goodput::testing
