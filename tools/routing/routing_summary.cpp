#include "tools/routing/routing_summary.h"

#include <algorithm>

#include "sim/routing/routing_statistics.h"

namespace goodput {
namespace {

constexpr double MeanSkew::*kMeans[] = {&MeanSkew::padding_factor, &MeanSkew::top_padding_factor,
                                        &MeanSkew::variation,      &MeanSkew::zipf_exponent,
                                        &MeanSkew::hottest_share,  &MeanSkew::entropy,
                                        &MeanSkew::idle_experts};

// 0, 1, 2, 5, 10, 20, 50, ... below `rows`: the places of a course, and the distances of drift.
std::vector<std::size_t> spread_out(std::size_t rows) {
  std::vector<std::size_t> places = {0};
  for (std::size_t decade = 1; decade < rows; decade *= 10) {
    for (const std::size_t step : {1U, 2U, 5U}) {
      if (decade * step < rows) places.push_back(decade * step);
    }
  }
  return places;
}

std::optional<std::int64_t> common_interval(const std::vector<std::int64_t>& iterations) {
  if (iterations.size() < 2) return std::nullopt;
  const std::int64_t interval = iterations[1] - iterations[0];
  for (std::size_t i = 1; i < iterations.size(); ++i) {
    if (iterations[i] - iterations[i - 1] != interval) return std::nullopt;
  }
  return interval;
}

MeanSkew skew_at(const RoutingTrace& trace, std::size_t iteration, std::size_t layer, std::size_t top) {
  const auto loads = trace.loads(iteration, layer);
  const RoutingSkew skew = skew_of(loads);
  return {skew.padding_factor,
          padding_factor_of_busiest(loads, top),
          skew.variation,
          skew.zipf_exponent,
          skew.hottest_share,
          skew.entropy,
          static_cast<double>(skew.idle_experts)};
}

MeanSkew mean_of(const std::vector<MeanSkew>& skews) {
  MeanSkew mean;
  for (const auto member : kMeans) {
    for (const MeanSkew& skew : skews) mean.*member += skew.*member;
    mean.*member /= static_cast<double>(skews.size());
  }
  return mean;
}

LayerRouting summarize_layer(const RoutingTrace& trace, const RoutingQuestion& question, std::size_t layer,
                             std::size_t top) {
  const std::size_t rows = trace.iterations().size();
  std::vector<MeanSkew> skews;
  for (std::size_t i = question.iteration.value_or(0);
       i < (question.iteration ? *question.iteration + 1 : rows); ++i)
    skews.push_back(skew_at(trace, i, layer, top));
  LayerRouting routing{trace.layers()[layer], mean_of(skews)};
  if (rows == 1) return routing;
  routing.distance = mean_routing_distance(trace, layer, 1);
  routing.hottest_change_rate = hottest_change_rate(trace, layer);
  return routing;
}

LayerRouting mean_of(const std::vector<LayerRouting>& layers) {
  std::vector<MeanSkew> skews;
  double distance = 0;
  double changes = 0;
  for (const LayerRouting& layer : layers) {
    skews.push_back(layer.skew);
    distance += layer.distance.value_or(0);
    changes += layer.hottest_change_rate.value_or(0);
  }
  LayerRouting mean{0, mean_of(skews)};
  if (!layers.front().distance) return mean;
  mean.distance = distance / static_cast<double>(layers.size());
  mean.hottest_change_rate = changes / static_cast<double>(layers.size());
  return mean;
}

std::vector<RoutingMoment> course_of(const RoutingTrace& trace, const std::vector<std::size_t>& layers,
                                     std::size_t top) {
  std::vector<std::size_t> places = spread_out(trace.iterations().size());
  if (places.back() + 1 != trace.iterations().size()) places.push_back(trace.iterations().size() - 1);
  std::vector<RoutingMoment> course;
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::vector<MeanSkew> skews;
    double distance = 0;
    for (const std::size_t layer : layers) {
      skews.push_back(skew_at(trace, places[i], layer, top));
      if (i == 0) continue;
      distance += routing_distance(trace.loads(places[i - 1], layer), trace.loads(places[i], layer));
    }
    RoutingMoment moment{trace.iterations()[places[i]], mean_of(skews)};
    if (i > 0) moment.distance = distance / static_cast<double>(layers.size());
    course.push_back(moment);
  }
  return course;
}

std::vector<RoutingLag> drift_of(const RoutingTrace& trace, const std::vector<std::size_t>& layers,
                                 std::optional<std::int64_t> interval) {
  std::vector<RoutingLag> lags;
  for (const std::size_t rows : spread_out(trace.iterations().size())) {
    if (rows == 0) continue;
    double sum = 0;
    for (const std::size_t layer : layers) sum += mean_routing_distance(trace, layer, rows);
    RoutingLag lag{rows, std::nullopt, sum / static_cast<double>(layers.size())};
    if (interval) lag.iterations = *interval * static_cast<std::int64_t>(rows);
    lags.push_back(lag);
  }
  return lags;
}

}  // namespace

RoutingSummary summarize(const RoutingTrace& trace, const RoutingQuestion& question) {
  const std::size_t top = question.top == 0 ? static_cast<std::size_t>(trace.experts()) : question.top;
  RoutingSummary summary;
  summary.interval = common_interval(trace.iterations());
  summary.least_tokens = trace.total(0, question.layers.front());
  for (const std::size_t layer : question.layers) {
    summary.layers.push_back(summarize_layer(trace, question, layer, top));
    for (std::size_t i = 0; i < trace.iterations().size(); ++i) {
      summary.least_tokens = std::min(summary.least_tokens, trace.total(i, layer));
      summary.most_tokens = std::max(summary.most_tokens, trace.total(i, layer));
    }
  }
  summary.mean = mean_of(summary.layers);
  summary.course = course_of(trace, question.layers, top);
  summary.drift = drift_of(trace, question.layers, summary.interval);
  return summary;
}

}  // namespace goodput
