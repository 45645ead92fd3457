#include "tools/routing/routing_report.h"

#include <fmt/format.h>

#include "sim/base/json.h"
#include "tools/cli/json_result.h"

namespace goodput {
namespace {

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
    format += fmt::format("; sums of {} and {}", count(report.reading.ranks, "rank"),
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
                     ? fmt::format("{} a layer and iteration, copies counted", summary.most_tokens)
                     : fmt::format("{} to {} a layer and iteration, copies counted", summary.least_tokens,
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

}  // namespace

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

  text += fmt::format("\nWhile the job trains, mean of {}\n{:>9} {} {:>8}\n",
                      report.summary.layers.size() == 1 ? "the layer" : "these layers", "iteration",
                      skew_header(top), "moved %");
  for (const RoutingMoment& moment : report.summary.course) {
    text += fmt::format("{:>9} {} {}\n", moment.iteration, skew_columns(moment.skew, top),
                        percent(moment.distance, 8));
  }
  if (report.summary.drift.empty()) return text;
  text += "\nTokens that another expert gets\n";
  for (const RoutingLag& lag : report.summary.drift) {
    const std::string after = lag.iterations ? count(*lag.iterations, "iteration")
                                             : count(static_cast<std::int64_t>(lag.rows), "row");
    text += fmt::format("  {:>16} later {:>6.1f} %\n", after, 100 * lag.distance);
  }
  return text;
}

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

}  // namespace goodput
