// `goodput routing info FILE...` and `goodput routing synth CONFIG.json --out FILE`.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/routing/synthetic_routing.h"
#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "tools/cli/command.h"
#include "tools/cli/config_files.h"
#include "tools/cli/json_result.h"
#include "tools/cli/named_choice.h"
#include "tools/cli/output_file.h"
#include "tools/routing/routing_selection.h"
#include "tools/routing/routing_summary.h"
#include "traces/io/byte_sink.h"
#include "traces/io/formats.h"
#include "traces/routing/routing_format.h"
#include "traces/routing/routing_reader.h"

namespace goodput {
namespace {

// ---- A summary of a routing trace, for people and as JSON.

struct RoutingReport {
  const RoutingReading& reading;
  const RoutingQuestion& question;
  const RoutingSummary& summary;
  std::size_t files = 1;
};

std::string count(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string describe_trace(const RoutingReport& report) {
  const RoutingTrace& trace = report.reading.trace;
  const RoutingSummary& summary = report.summary;
  std::string text;
  const auto line = [&text](std::string_view label, const std::string& value) {
    text += fmt::format("{:<12} {}\n", label, value);
  };
  std::string format =
      fmt::format("{} in {}", report.reading.format, count(static_cast<std::int64_t>(report.files), "file"));
  if (report.reading.ranks > 1 || report.reading.micro_batches > 1) {
    format += fmt::format("; summed over {} and {}", count(report.reading.ranks, "rank"),
                          report.reading.micro_batches == 1
                              ? "1 micro-batch"
                              : fmt::format("{} micro-batches", report.reading.micro_batches));
  }
  line("format", format);
  line("iterations", fmt::format("{} from {} to {}{}", trace.iterations().size(), trace.iterations().front(),
                                 trace.iterations().back(),
                                 summary.interval ? fmt::format(", every {}", *summary.interval) : ""));
  line("layers", fmt::format("{} of {}", summary.layers.size(), trace.layers().size()));
  line("experts", fmt::format("{}", trace.experts()));
  line("tokens", summary.least_tokens == summary.most_tokens
                     ? fmt::format("{} per layer and iteration, counting copies", summary.most_tokens)
                     : fmt::format("{} to {} per layer and iteration, counting copies", summary.least_tokens,
                                   summary.most_tokens));
  return text;
}

// `max/mean` of all, of the busiest where asked, and so on.
std::string skew_header(std::size_t top) {
  return fmt::format("{:>9}{} {:>9} {:>7} {:>9} {:>8} {:>6}", "max/mean",
                     top == 0 ? "" : fmt::format(" {:>9}", fmt::format("of top {}", top)), "variation",
                     "Zipf s", "hottest %", "entropy", "idle");
}
std::string skew_columns(const MeanSkew& skew, std::size_t top) {
  return fmt::format("{:>9.2f}{} {:>9.2f} {:>7.2f} {:>9.1f} {:>8.3f} {:>6.1f}", skew.padding_factor,
                     top == 0 ? "" : fmt::format(" {:>9.2f}", skew.top_padding_factor), skew.variation,
                     skew.zipf_exponent, 100 * skew.hottest_share, skew.entropy, skew.idle_experts);
}

std::string percent(std::optional<double> share, int width) {
  return share ? fmt::format("{:>{}.1f}", 100 * *share, width) : fmt::format("{:>{}}", "-", width);
}

std::string describe_layer(const std::string& name, const LayerRouting& layer, std::size_t top) {
  return fmt::format("{:>9} {} {} {}\n", name, skew_columns(layer.skew, top), percent(layer.distance, 8),
                     percent(layer.hottest_change_rate, 9));
}

OrderedJson skew_json(const MeanSkew& skew, std::size_t top) {
  return {{"padding_factor", skew.padding_factor},
          {"top_padding_factor", top == 0 ? OrderedJson(nullptr) : OrderedJson(skew.top_padding_factor)},
          {"variation", skew.variation},
          {"zipf_exponent", skew.zipf_exponent},
          {"hottest_share", skew.hottest_share},
          {"entropy", skew.entropy},
          {"idle_experts", skew.idle_experts}};
}

OrderedJson layer_json(OrderedJson begin, const LayerRouting& layer, std::size_t top) {
  begin.update(skew_json(layer.skew, top));
  begin["distance"] = or_null(layer.distance);
  begin["hottest_change_rate"] = or_null(layer.hottest_change_rate);
  return begin;
}

OrderedJson integer_or_null(std::optional<std::int64_t> value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

std::string routing_text(const RoutingReport& report) {
  const RoutingTrace& trace = report.reading.trace;
  const std::size_t top = report.question.top;
  std::string text = describe_trace(report);
  text += report.question.iteration
              ? fmt::format("\nBy layer, at iteration {}\n", trace.iterations()[*report.question.iteration])
              : fmt::format("\nBy layer, mean of all iterations\n");
  text += fmt::format("{:>9} {} {:>8} {:>9}\n", "layer", skew_header(top), "moved %", "changed %");
  for (const LayerRouting& layer : report.summary.layers) {
    text += describe_layer(fmt::format("{}", layer.layer), layer, top);
  }
  if (report.summary.layers.size() > 1) text += describe_layer("mean", report.summary.mean, top);

  text += fmt::format("\nOver the course of training, mean of {}\n{:>9} {} {:>8}\n",
                      report.summary.layers.size() == 1 ? "the layer" : "these layers", "iteration",
                      skew_header(top), "moved %");
  for (const RoutingMoment& moment : report.summary.course) {
    text += fmt::format("{:>9} {} {}\n", moment.iteration, skew_columns(moment.skew, top),
                        percent(moment.distance, 8));
  }
  if (report.summary.drift.empty()) return text;
  text += "\nShare of tokens that go to a different expert\n";
  for (const RoutingLag& lag : report.summary.drift) {
    const std::string after = lag.iterations ? count(*lag.iterations, "iteration")
                                             : count(static_cast<std::int64_t>(lag.rows), "row");
    text += fmt::format("  {:>16} later {:>6.1f} %\n", after, 100 * lag.distance);
  }
  return text;
}

// Adds the keys of docs/formats/routing.md, "routing info --json".
void add_routing_json(const RoutingReport& report, OrderedJson& json) {
  const RoutingTrace& trace = report.reading.trace;
  const RoutingSummary& summary = report.summary;
  const std::size_t top = report.question.top;
  json["format"] = report.reading.format;
  json["files"] = report.files;
  json["ranks"] = report.reading.ranks;
  json["micro_batches"] = report.reading.micro_batches;
  json["iterations"] = {{"count", trace.iterations().size()},
                        {"first", trace.iterations().front()},
                        {"last", trace.iterations().back()},
                        {"interval", integer_or_null(summary.interval)}};
  json["experts"] = trace.experts();
  json["tokens"] = {{"min", summary.least_tokens}, {"max", summary.most_tokens}};
  json["at_iteration"] = report.question.iteration
                             ? OrderedJson(trace.iterations()[*report.question.iteration])
                             : OrderedJson(nullptr);
  json["top"] = top == 0 ? OrderedJson(nullptr) : OrderedJson(top);
  json["layers"] = OrderedJson::array();
  for (const LayerRouting& layer : summary.layers) {
    json["layers"].push_back(layer_json({{"layer", layer.layer}}, layer, top));
  }
  json["mean"] = layer_json(OrderedJson::object(), summary.mean, top);
  json["course"] = OrderedJson::array();
  for (const RoutingMoment& moment : summary.course) {
    OrderedJson entry = {{"iteration", moment.iteration}};
    entry.update(skew_json(moment.skew, top));
    entry["distance"] = or_null(moment.distance);
    json["course"].push_back(std::move(entry));
  }
  json["drift"] = OrderedJson::array();
  for (const RoutingLag& lag : summary.drift) {
    json["drift"].push_back(
        {{"rows", lag.rows}, {"iterations", integer_or_null(lag.iterations)}, {"distance", lag.distance}});
  }
}

// ---- The command.

std::uint64_t hash_of(const RoutingTrace& trace) {
  Hash hash;
  for (const std::int64_t iteration : trace.iterations()) hash.add(iteration);
  for (const std::int64_t layer : trace.layers()) hash.add(layer);
  for (std::size_t i = 0; i < trace.iterations().size(); ++i) {
    for (std::size_t l = 0; l < trace.layers().size(); ++l) {
      for (const std::int64_t load : trace.loads(i, l)) hash.add(load);
    }
  }
  return hash.value();
}

// ---- info

struct InfoOptions {
  std::vector<std::string> paths;
  std::string layers;  // list; empty: all
  std::optional<std::int64_t> iteration;
  std::optional<std::int64_t> top;
};

Result<RoutingQuestion> make_question(const RoutingTrace& trace, const InfoOptions& options) {
  RoutingQuestion question;
  GOODPUT_TRY(question.layers, find_layers(trace, options.layers));
  if (options.iteration) question.iteration = trace.index_at(*options.iteration);
  if (!options.top) return question;
  if (*options.top < 1 || *options.top > trace.experts()) {
    return Error{fmt::format("--top must be a number from 1 to {} (the number of experts per layer), not {}",
                             trace.experts(), *options.top)};
  }
  question.top = static_cast<std::size_t>(*options.top);
  return question;
}

std::uint64_t hash_of(const RoutingTrace& trace, const RoutingQuestion& question) {
  Hash hash;
  hash.add(hash_of(trace));
  for (const std::size_t layer : question.layers) hash.add(layer);
  hash.add(question.iteration ? static_cast<std::int64_t>(*question.iteration) : -1);
  hash.add(question.top);
  return hash.value();
}

Result<ExitCode> run_info(const InfoOptions& options, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_file_roles(options.paths, {}, context));
  GOODPUT_TRY(const RoutingReading reading, read_routing_files(options.paths));
  GOODPUT_TRY(const RoutingQuestion question, make_question(reading.trace, options));
  const RoutingSummary summary = summarize(reading.trace, question);
  const RoutingReport report{reading, question, summary, options.paths.size()};
  context.print(routing_text(report));
  if (!context.options.wants_result()) return ExitCode::kOk;
  OrderedJson json =
      begin_json_result("routing_info", context, {hash_of(reading.trace, question), {}, "measured"});
  add_routing_json(report, json);
  GOODPUT_TRY_STATUS(write_json_result(json, context));
  return ExitCode::kOk;
}

// ---- synth

struct SynthOptions {
  std::string config_path;
  std::string out_path;
  std::string to;  // format; empty: from the extension
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> experts;
  std::optional<std::int64_t> interval;
  std::optional<std::int64_t> iterations;
};

Result<RoutingFormat> output_format(const SynthOptions& options) {
  const std::string name = options.to.empty() && options.out_path == "-" ? "wide_csv" : options.to;
  if (!name.empty()) {
    Result<RoutingFormat> format = find_writable_format(routing_formats(), "routing trace", name);
    if (!format) return format.error().of_option("to");
    return format;
  }
  Result<RoutingFormat> format = format_of_extension(routing_formats(), options.out_path);
  if (!format) return Error{format.error().what + " or give --to", format.error().where};
  return format;
}

template <typename Integer>
Status replace(Integer& value, const std::optional<std::int64_t>& option, std::string_view name,
               std::int64_t most) {
  if (!option) return Ok{};
  if (*option < 1 || *option > most) {
    return Error{fmt::format("{} must be a whole number from 1 to {}, not {}", name, most, *option)};
  }
  value = static_cast<Integer>(*option);
  return Ok{};
}

Result<RoutingModel> read_model(const SynthOptions& options) {
  constexpr std::int64_t kMostNumber = 65536;
  constexpr std::int64_t kMostIterations = 10'000'000;
  GOODPUT_TRY(RoutingModel model, config::read<RoutingModel>(options.config_path));
  GOODPUT_TRY_STATUS(replace(model.layers, options.layers, "--layers", kMostNumber));
  GOODPUT_TRY_STATUS(replace(model.experts, options.experts, "--experts", kMostNumber));
  GOODPUT_TRY_STATUS(replace(model.interval, options.interval, "--interval", kMostIterations));
  GOODPUT_TRY_STATUS(replace(model.iterations, options.iterations, "--iterations", kMostIterations));
  if (const Status fits = config_finish(model); !fits) {
    return fits.error().in_file(options.config_path);
  }
  return model;
}

Status write_synth_json(const std::string& file, RoutingModel model, const RoutingTrace& trace,
                        const OrderedJson& output, const CommandContext& context) {
  if (!context.options.wants_result()) return Ok{};
  OrderedJson config = config::write(config_fields(model));
  Hash hash;
  hash.add(config.dump());
  OrderedJson json = begin_json_result("routing_synth", context, {hash.value(), {}, "model", {file}});
  json["output"] = output;
  json["trace_hash"] = fmt::format("{:016x}", hash_of(trace));
  json["config"] = std::move(config);
  return write_json_result(json, context);
}

Result<ExitCode> run_synth(SynthOptions options, const CommandContext& context) {
  const std::string& out = options.out_path;
  GOODPUT_TRY(const config::Library library, config_library(context));
  GOODPUT_TRY(options.config_path, config_file(options.config_path, kRoutingModelFiles, library, context));
  GOODPUT_TRY(const RoutingFormat format, output_format(options));
  GOODPUT_TRY_STATUS(check_file_roles({options.config_path}, {{"--out", out}}, context));
  GOODPUT_TRY(const RoutingModel model, read_model(options));
  const RoutingTrace trace = synthesize_routing(model, context.options.seed);
  // The trace gets its name when everything was written.
  const auto write = [&](const std::string& file) -> Status {
    GOODPUT_TRY_STATUS(format.write(trace, file, out));
    return write_synth_json(options.config_path, model, trace, {{"path", out}, {"format", format.name}},
                            context);
  };
  GOODPUT_TRY_STATUS(out == "-" ? write(std::string(kStdoutPath)) : write_file_atomically(out, write));
  if (out != "-") {
    context.print(fmt::format("Wrote {}: {} iterations x {} layers x {} experts as {}\n", out,
                              model.iterations, model.layers, model.experts, format.name));
  }
  return ExitCode::kOk;
}

class RoutingCommand final : public Command {
 public:
  void configure(Options& options) override {
    info_options_ =
        options.add_subcommand("info", "Show how unevenly experts are loaded, and how fast that changes");
    info_options_
        ->add("files", info_.paths, "FILE...", "Files of one routing trace (see 'goodput list formats')")
        .input()
        .required();
    info_options_->add("--layers", info_.layers, "LIST", "Use only these layers, for example 0-11");
    info_options_->add("--iteration", info_.iteration, "I",
                       "Show each layer at iteration I; if it was not recorded, at the latest one before it "
                       "(default: the mean of all iterations)");
    info_options_->add("--top", info_.top, "E",
                       "Also show the max/mean load of the E most loaded experts of each layer");
    Options synth =
        options.add_subcommand("synth", "Generate a routing trace with the statistics of a recorded one");
    configure_synth(synth);
  }

  Result<ExitCode> run(const CommandContext& context) override {
    return info_options_->are_chosen() ? run_info(info_, context) : run_synth(synth_, context);
  }

 private:
  void configure_synth(Options& options) {
    options
        .add("config", synth_.config_path, "MODEL",
             "Statistics of the trace: a name from 'goodput list routing-models', or a file")
        .listed("routing-models")
        .required();
    options
        .add("--out", synth_.out_path, "FILE",
             "Trace to write; its extension sets the format (- for stdout, as wide_csv)")
        .output()
        .required();
    options.add("--to", synth_.to, "NAME", "Format of the trace (see 'goodput list formats')")
        .one_of(names_of(routing_formats()));
    options.add("--iterations", synth_.iterations, "N",
                "Number of recorded iterations (default: as in MODEL)");
    options.add("--interval", synth_.interval, "N",
                "Number of iterations from one recorded iteration to the next (default: as in MODEL)");
    options.add("--layers", synth_.layers, "N", "Number of MoE layers (default: as in MODEL)");
    options.add("--experts", synth_.experts, "N", "Number of experts per layer (default: as in MODEL)");
  }

  std::optional<Options> info_options_;
  InfoOptions info_;
  SynthOptions synth_;
};

}  // namespace

CommandInfo command_routing() {
  return {.name = "routing",
          .summary = "Show how unevenly a router loads the experts, or generate routing traces",
          .example =
              "goodput routing info loads.csv.gz --layers 0-11 --top 8 --iteration 201\n"
              "goodput routing synth smartmoe-like --out loads.csv.gz --seed 1",
          .make = make_command<RoutingCommand>};
}

}  // namespace goodput
