#include <fmt/format.h>

#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include "sim/base/append.h"
#include "tools/checkpoint/checkpoint_report.h"

namespace goodput {
namespace {

// "12,345,678"
std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string size_text(double bytes) {
  return bytes < 1e10 ? fmt::format("{:.1f} MB", bytes / 1e6) : fmt::format("{:.2f} GB", bytes / 1e9);
}
std::string size_text(Bytes bytes) {
  return size_text(static_cast<double>(bytes.value));
}

std::string count_text(double parameters) {
  return parameters < 1e10 ? fmt::format("{:.1f} M", parameters / 1e6)
                           : fmt::format("{:.1f} B", parameters / 1e9);
}

std::string steps_text(std::int64_t steps) {
  return fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
}

struct Row {
  std::int64_t modules = 0;
  std::int64_t parameters = 0;
  Bytes bytes{};
};

class Text {
 public:
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    append(text_, format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void row(std::string_view name, const Row& row, std::string_view remark = "") {
    const std::string modules = row.modules > 0 ? grouped(row.modules) : "";
    line("  {:<22} {:>8} {:>17} {:>14}{}", name, modules, grouped(row.parameters), size_text(row.bytes),
         remark);
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

void add_modules(const CheckpointReport& report, Text& text) {
  const auto& [model, bytes] = std::tie(report.model, report.bytes);
  std::array<Row, std::size(kModulePartNames)> parts{};
  Row dense;
  Row expert;
  for (std::size_t i = 0; i < model.dense.size(); ++i) {
    for (Row* const row : {&parts.at(static_cast<std::size_t>(model.dense[i].part)), &dense}) {
      ++row->modules;
      row->parameters += model.dense[i].parameters;
      row->bytes = row->bytes + bytes.dense[i];
    }
  }
  for (const ExpertLayer& layer : model.expert_layers) {
    ++expert.modules;
    expert.parameters += layer.parameters;
  }
  expert.bytes = bytes.one_expert();
  text.line("  {:<22} {:>8} {:>17} {:>14}", "", "modules", "parameters", "bytes");
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (parts[part].modules > 0) text.row(kModulePartNames[part], parts[part]);
  }
  if (model.experts > 0) {
    text.row("all but experts", dense);
    text.row("one expert per layer", expert, fmt::format("   x {} experts", model.experts));
  }
  text.row("checkpoint", {0, model.parameters(), bytes.total()});
  if (model.experts > 0) {
    const Bytes counterpart = dense_counterpart(model, bytes);
    text.line("  {:<22} {:>8} {:>17} {:>14}   the checkpoint is {:.3f}x as large", "dense counterpart", "",
              "", size_text(counterpart), bytes.total() / counterpart);
  }
}

void add_savings(const CheckpointReport& report, Text& text) {
  const PartialCheckpoint& checkpoint = report.checkpoint;
  const double saving = per_rank_saving(report.partial, report.full, checkpoint.sharding);
  if (report.model.experts > 0) {
    text.line("\nSaving {} of {} experts per layer, {} selection", checkpoint.k.persist, report.model.experts,
              kExpertSelectionNames[static_cast<std::size_t>(checkpoint.selection)]);
    text.line("  without duplicates     {:>14}   {:.1f} % less than a full checkpoint",
              size_text(report.bytes.partial(checkpoint.k.persist)),
              100 * non_redundant_saving(report.bytes, checkpoint.k.persist));
  } else {
    text.line("");
  }
  text.line("  largest rank           {:>14}   ranks: {}; sharding: {}; {} in a full checkpoint",
            size_text(report.partial.peak), checkpoint.ranks,
            kShardingNames[static_cast<std::size_t>(checkpoint.sharding)], size_text(report.full.peak));
  text.line("  average rank           {:>14}", size_text(report.partial.mean_bytes));
  text.line("  reduction per rank     {:>12.1f} %   {}", 100 * saving,
            checkpoint.sharding == Sharding::kNone ? "on average" : "on the largest rank");
}

// "5", "0-3", "0 and 7 more".
std::string ranks_text(const FailedRanks& ranks) {
  if (!ranks) return "all";
  const std::int32_t first = ranks->front();
  const std::size_t others = ranks->size() - 1;
  if (others == 0) return fmt::format("{}", first);
  if (std::cmp_equal(ranks->back() - first, others)) return fmt::format("{}-{}", first, ranks->back());
  return fmt::format("{} and {} more", first, others);
}

std::string levels_text(const PecLevels& k) {
  return k.snapshot == k.persist ? fmt::format("{}", k.persist)
                                 : fmt::format("{}, snapshot {}", k.persist, k.snapshot);
}

void add_faults(const CheckpointRunReport& report, Text& text) {
  if (report.costs.loss.faults.empty()) return;
  text.line("\n  {:>10}  {:<14} {:>12} {:>12} {:>13} {:>10}   {}", "after step", "failed ranks",
            "back to step", "tokens lost", "from storage", "restore", "K from then on");
  for (std::size_t i = 0; i < report.costs.loss.faults.size(); ++i) {
    const FaultLoss& fault = report.costs.loss.faults[i];
    const RunRestore& restore = report.costs.restores[i];
    text.line("  {:>10}  {:<14} {:>12} {:>12.6g} {:>13} {:>8.3f} s   {}", fault.fault.step,
              ranks_text(fault.fault.ranks), fault.recovered_step, fault.tokens_lost,
              size_text(restore.reads.storage), to_seconds(restore.time), levels_text(fault.k_after));
  }
  text.line("");
}

void add_headline(const CheckpointRunReport& report, Text& text) {
  const std::size_t faults = report.costs.loss.faults.size();
  if (faults == 0)
    return text.line("Saving checkpoints costs this run {:.1f} s (O_ckpt).\n",
                     report.costs.overhead.total_s());
  text.line("Checkpoints and {} fault{} cost this run {:.1f} s (O_ckpt) and {:.3f} % of its tokens (PLT).\n",
            faults, faults == 1 ? "" : "s", report.costs.overhead.total_s(), 100 * report.costs.loss.plt);
}

void add_recommendation(const CheckpointRunReport& report, Text& text) {
  if (report.recommended) {
    text.line(
        "  recommended                        --snapshot-k {} --pec-k {}, the largest snapshot that overlaps "
        "with the forward and backward passes",
        report.recommended->snapshot, report.recommended->persist);
  } else {
    text.line(
        "  recommended                        nothing: even a snapshot of one expert per layer takes longer "
        "than the forward and backward passes");
  }
}

void add_warnings(const CheckpointRunReport& report, Text& text) {
  const auto& [run, costs, recommended, assumed] = report;
  if (costs.mean_interval > static_cast<double>(run.interval))
    text.line(
        "warning: storage takes {:.3f} s per checkpoint, longer than {}, so one is saved only every {:.1f} "
        "steps; use --interval {} or more, faster storage or smaller shards",
        to_seconds(costs.times.persist), steps_text(run.interval), costs.mean_interval, costs.least_interval);
  if (const std::string warning = plt_warning(costs.loss.plt); !warning.empty())
    text.line("warning: {}; use {}a larger --pec-k or a shorter --interval", warning,
              run.dynamic_limit || run.faults.size() < 2 ? "" : "--dynamic-k, ");
}

void add_run(const CheckpointReport& of, const CheckpointRunReport& report, Text& text) {
  const auto& [run, costs, recommended, assumed] = report;
  text.line("\nA run of {} with {} checkpoints every {}", steps_text(run.steps),
            kSaveModeNames[static_cast<std::size_t>(run.mode)], steps_text(run.interval));
  text.line(
      "  snapshot               {:>12.3f} s   then {:.3f} s to write to storage; none is skipped at an "
      "interval of {} or more",
      to_seconds(costs.times.snapshot), to_seconds(costs.times.persist), steps_text(costs.least_interval));
  text.line("  training waits         {:>12.3f} s   per checkpoint", to_seconds(costs.stall));
  if (of.model.experts > 0 && run.mode == SaveMode::kAsync) add_recommendation(report, text);
  text.line("  overhead (O_ckpt)      {:>12.1f} s   saving {:.1f}, restarts {:.1f}, lost steps {:.1f}",
            costs.overhead.total_s(), costs.overhead.save_s, costs.overhead.restart_s, costs.overhead.lost_s);
  text.line(
      "  lost tokens (PLT)      {:>12.3f} %   of all tokens, in experts restored from older checkpoints",
      100 * costs.loss.plt);
  add_faults(report, text);
  for (const auto& [option, value] : assumed) text.line("  assumed: --{} {:.15g}", option, value);
  add_warnings(report, text);
}

}  // namespace

std::string checkpoint_text(const CheckpointReport& report) {
  Text text;
  if (report.run) add_headline(*report.run, text);
  text.line("A full checkpoint of {} takes {}: {} parameters, {} bytes each.\n", report.model.name,
            size_text(report.bytes.total()), count_text(static_cast<double>(report.model.parameters())),
            report.bytes_per_parameter);
  add_modules(report, text);
  add_savings(report, text);
  if (report.run) add_run(report, *report.run, text);
  text.line("\nLowest tier: {}", to_string(report.tier()));
  return std::move(text).take();
}

}  // namespace goodput
