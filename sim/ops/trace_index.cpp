#include "sim/ops/trace_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace goodput {
namespace {

constexpr std::uint32_t kNoOp = ~0U;

// Maps (type, stage, seq_id) to a dense op index through one table.
class OpTable {
 public:
  static Result<OpTable> build(const OpTrace& trace);

  [[nodiscard]] std::uint32_t& slot(OpType type, std::int16_t stage, std::int32_t seq_id) {
    return slots_[offsets_[kind(type, stage)] + static_cast<std::size_t>(seq_id)];
  }
  [[nodiscard]] std::size_t stages() const { return stages_; }

  // Numbers the occupied slots in table order: by (stage, type, seq_id). Returns the ops with only these
  // three set.
  std::vector<TraceOp> number_ops();

 private:
  [[nodiscard]] static std::size_t kind(OpType type, std::int16_t stage) {
    return static_cast<std::size_t>(stage) * kNdtimelineTypeCount + index_of(type);
  }
  std::size_t stages_ = 0;
  std::vector<std::size_t> offsets_;  // by kind, plus one
  std::vector<std::uint32_t> slots_;
};

Result<OpTable> OpTable::build(const OpTrace& trace) {
  OpTable table;
  table.stages_ = static_cast<std::size_t>(*std::max_element(trace.stage.begin(), trace.stage.end())) + 1;
  std::vector<std::int32_t> last_seq(table.stages_ * kNdtimelineTypeCount, -1);
  for (std::size_t row = 0; row < trace.size(); ++row) {
    auto& last = last_seq[kind(trace.optype[row], trace.stage[row])];
    last = std::max(last, trace.seq_id[row]);
  }
  table.offsets_.push_back(0);
  for (const std::int32_t last : last_seq) {
    table.offsets_.push_back(table.offsets_.back() + static_cast<std::size_t>(last) + 1);
  }
  // A dense trace has about as many seq_ids as a lane has ops; a table far larger than the file is a mistake
  // in it.
  constexpr std::size_t kSmallTable = 1024;
  if (table.offsets_.back() > kSmallTable + trace.size()) {
    const auto worst = std::max_element(last_seq.begin(), last_seq.end()) - last_seq.begin();
    const auto& type = kNdtimelineTypes[static_cast<std::size_t>(worst) % kNdtimelineTypeCount];
    return Error{
        fmt::format("seq_id {} of {} on stage {} is too large for a trace of {} rows; number the ops of "
                    "every step from 0",
                    last_seq[static_cast<std::size_t>(worst)], type.name,
                    static_cast<std::size_t>(worst) / kNdtimelineTypeCount, trace.size())};
  }
  table.slots_.assign(table.offsets_.back(), kNoOp);
  for (std::size_t row = 0; row < trace.size(); ++row) {
    table.slot(trace.optype[row], trace.stage[row], trace.seq_id[row]) = 0;
  }
  return table;
}

std::vector<TraceOp> OpTable::number_ops() {
  std::vector<TraceOp> ops;
  for (std::size_t kind = 0; kind + 1 < offsets_.size(); ++kind) {
    for (std::size_t at = offsets_[kind]; at < offsets_[kind + 1]; ++at) {
      if (slots_[at] == kNoOp) continue;
      slots_[at] = static_cast<std::uint32_t>(ops.size());
      TraceOp op;
      op.type = static_cast<OpType>(kind % kNdtimelineTypeCount);
      op.stage = static_cast<std::int16_t>(kind / kNdtimelineTypeCount);
      op.seq_id = static_cast<std::int32_t>(at - offsets_[kind]);
      ops.push_back(op);
    }
  }
  return ops;
}

// Fills steps and step_of_row. Rows of a step mostly stand together, so the last step answers most look-ups.
void index_steps(const OpTrace& trace, TraceIndex& index) {
  std::unordered_map<std::int64_t, std::uint32_t> first_seen;
  index.step_of_row.resize(trace.size());
  std::uint32_t last = 0;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    if (row == 0 || trace.step[row] != index.steps[last]) {
      const auto [entry, is_new] =
          first_seen.try_emplace(trace.step[row], static_cast<std::uint32_t>(index.steps.size()));
      if (is_new) index.steps.push_back(trace.step[row]);
      last = entry->second;
    }
    index.step_of_row[row] = last;
  }
  const std::vector<std::int64_t> by_appearance = index.steps;
  std::sort(index.steps.begin(), index.steps.end());
  if (index.steps == by_appearance) return;
  std::vector<std::uint32_t> place(by_appearance.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    const auto at = std::lower_bound(index.steps.begin(), index.steps.end(), by_appearance[i]);
    place[i] = static_cast<std::uint32_t>(at - index.steps.begin());
  }
  for (auto& step : index.step_of_row) step = place[step];
}

// The instances of a trace in the order lane by lane, op by op: which are there.
class Presence {
 public:
  Presence(const TraceIndex& index, std::size_t rows)
      : ops_(index.lane.ops.size()), dp_(static_cast<std::size_t>(index.dp_size)) {
    const auto lanes = static_cast<unsigned __int128>(index.steps.size()) * dp_;
    const auto instances = lanes * ops_;
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    instances_ = instances > kMost ? kMost : static_cast<std::uint64_t>(instances);
    // Of more instances than rows, one of the first rows+1 is missing.
    seen_.assign(static_cast<std::size_t>(std::min<std::uint64_t>(instances_, rows + 1)), 0);
  }
  // False when the instance was there already (as far as the first rows+1 instances can tell).
  [[nodiscard]] bool mark(std::uint32_t step, std::int32_t dp, std::uint32_t op) {
    const std::size_t lane = step * dp_ + static_cast<std::size_t>(dp);
    if (lane >= seen_.size()) return true;  // and so is the product below, which might overflow
    const std::size_t at = lane * ops_ + op;
    if (at >= seen_.size()) return true;
    const bool is_new = seen_[at] == 0;
    seen_[at] = 1;
    return is_new;
  }
  [[nodiscard]] std::uint64_t instances() const { return instances_; }
  [[nodiscard]] std::size_t first_missing() const {
    return static_cast<std::size_t>(std::find(seen_.begin(), seen_.end(), 0) - seen_.begin());
  }

 private:
  std::size_t ops_;
  std::size_t dp_;
  std::uint64_t instances_ = 0;
  std::vector<char> seen_;
};

Status check_dense(const OpTrace& trace, const TraceIndex& index) {
  Presence presence(index, trace.size());
  for (std::size_t row = 0; row < trace.size(); ++row) {
    if (presence.mark(index.step_of_row[row], trace.dp_rank[row], index.op_of_row[row])) continue;
    return Error{
        fmt::format("{} is recorded twice in step {}, dp_rank {}; keep one row per op (was a file given "
                    "twice, or were two ranks of one worker recorded?)",
                    index.lane.ops[index.op_of_row[row]].name(), trace.step[row], trace.dp_rank[row])};
  }
  if (presence.instances() == trace.size()) return Ok{};
  const std::size_t missing = presence.first_missing();
  const std::size_t ops = index.lane.ops.size();
  const std::size_t lane = missing / ops;
  const auto dp = static_cast<std::size_t>(index.dp_size);
  const std::uint64_t lanes = index.steps.size() * dp;
  return Error{
      fmt::format("{} is missing in step {}, dp_rank {}; in total, {} of {} op instances are missing ({} ops "
                  "x {} pairs of step and dp_rank); record every op in every step and dp_rank",
                  index.lane.ops[missing % ops].name(), index.steps[lane / dp], lane % dp,
                  presence.instances() - trace.size(), presence.instances(), ops, lanes)};
}

// The rows of dp_rank 0 in the first step give the ops their times and chunks; any row gives its worker's
// rank.
void fill_template(const OpTrace& trace, TraceIndex& index) {
  TemplateLane& lane = index.lane;
  lane.start_s.resize(lane.ops.size());
  lane.end_s.resize(lane.ops.size());
  constexpr std::int32_t kNoRank = std::numeric_limits<std::int32_t>::max();
  index.ranks.assign(static_cast<std::size_t>(index.dp_size) * static_cast<std::size_t>(lane.pp_size),
                     kNoRank);
  index.has_more_ranks.assign(index.ranks.size(), 0);
  std::vector<std::uint32_t> step_of_rank(index.ranks.size(), 0);
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const std::size_t worker =
        static_cast<std::size_t>(trace.dp_rank[row]) * static_cast<std::size_t>(lane.pp_size) +
        static_cast<std::size_t>(trace.stage[row]);
    std::int32_t& rank = index.ranks[worker];
    const std::uint32_t step = index.step_of_row[row];
    if (rank != kNoRank && rank != trace.rank[row]) index.has_more_ranks[worker] = 1;
    if (step >= step_of_rank[worker]) {
      rank = step > step_of_rank[worker] ? trace.rank[row] : std::min(rank, trace.rank[row]);
      step_of_rank[worker] = step;
    }
    if (step != 0 || trace.dp_rank[row] != 0) continue;
    const std::uint32_t op = index.op_of_row[row];
    lane.ops[op].mc = trace.mc[row];
    lane.ops[op].mb_id = trace.mb_id[row];
    lane.ops[op].gmc = trace.gmc[row];
    lane.start_s[op] = trace.start_s[row];
    lane.end_s[op] = end_of(trace.start_s[row], trace.duration_s[row], index.float32_times);
    lane.vpp_size = std::max<std::int32_t>(lane.vpp_size, trace.mc[row] + 1);
  }
}

}  // namespace

std::string TraceOp::name() const {
  return fmt::format("{}_{}_{}", to_string(type), seq_id, stage);
}

std::vector<std::string> index_warnings(const TraceIndex& index) {
  std::vector<std::string> warnings;
  for (const TraceOp& op : index.lane.ops) {
    const int expected = op.mc * index.lane.pp_size + op.stage;
    if (!is_pass_compute(op.type) || op.mc == kUnset || op.gmc == kUnset || op.gmc == expected) continue;
    warnings.push_back(fmt::format(
        "{} has gmc {}, but mc {} with {} stages gives gmc {}; using the recorded gmc to find pipeline peers",
        op.name(), op.gmc, op.mc, index.lane.pp_size, expected));
    break;  // one says it
  }
  return warnings;
}

Result<TraceIndex> index_trace(const OpTrace& trace) {
  if (trace.size() == 0) return Error{"contains no ops"};
  GOODPUT_CHECK(std::find(trace.seq_id.begin(), trace.seq_id.end(), kUnset) == trace.seq_id.end(),
                "rows without seq_id reached the index");
  TraceIndex index;
  GOODPUT_TRY(OpTable table, OpTable::build(trace));
  index.lane.ops = table.number_ops();
  index.lane.pp_size = static_cast<std::int32_t>(table.stages());
  index.dp_size = *std::max_element(trace.dp_rank.begin(), trace.dp_rank.end()) + 1;
  index.float32_times = times_are_float32(trace);
  index_steps(trace, index);
  index.op_of_row.resize(trace.size());
  for (std::size_t row = 0; row < trace.size(); ++row) {
    index.op_of_row[row] = table.slot(trace.optype[row], trace.stage[row], trace.seq_id[row]);
  }
  GOODPUT_TRY_STATUS(check_dense(trace, index));
  fill_template(trace, index);
  return index;
}

}  // namespace goodput
