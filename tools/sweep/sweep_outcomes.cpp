#include "tools/sweep/sweep_outcomes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/json.h"

namespace goodput {
namespace {

OrderedJson rounded(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

std::size_t metric_place(TrialMetric metric) {
  return static_cast<std::size_t>(std::find(kSweepMetrics.begin(), kSweepMetrics.end(), metric) -
                                  kSweepMetrics.begin());
}

// Parameters in which two points differ.
std::size_t differences(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0 : 1;
  return count;
}

// Rows that finish, of which none costs less and is done sooner.
std::vector<std::size_t> cost_time_front(const std::vector<SweepOutcome>& rows) {
  const std::size_t cost = metric_place(TrialMetric::kCost);
  const std::size_t time = metric_place(TrialMetric::kJct);
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].estimates[cost] && rows[i].estimates[time]) known.push_back(i);
  }
  std::stable_sort(known.begin(), known.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(rows[a].estimates[cost]->mean, rows[a].estimates[time]->mean) <
           std::pair(rows[b].estimates[cost]->mean, rows[b].estimates[time]->mean);
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : known) {
    if (front.empty() || rows[i].estimates[time]->mean < rows[front.back()].estimates[time]->mean)
      front.push_back(i);
  }
  return front;
}

// Which rows are shown, in their order.
class RowChoice {
 public:
  RowChoice(const std::vector<SweepOutcome>& rows, std::size_t most)
      : rows_(rows), chosen_(rows.size(), false), left_(std::min(most, rows.size())) {}

  void take(std::size_t row) {
    if (left_ == 0 || chosen_[row]) return;
    chosen_[row] = true;
    --left_;
  }
  // Of the points that differ from a best one in so many parameters.
  void take_around(const SweepManifest& manifest, const std::vector<SweepSummary::Best>& best,
                   std::size_t parameters) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (const SweepSummary::Best& of : best) {
        if (differences(manifest.values[rows_[i].point], manifest.values[of.point]) <= parameters) take(i);
      }
    }
  }
  void take_evenly() {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!chosen_[i]) others.push_back(i);
    }
    const std::size_t room = left_;
    for (std::size_t i = 0; i < room; ++i) take(others[i * others.size() / room]);
  }
  [[nodiscard]] std::vector<const SweepOutcome*> rows() const {
    std::vector<const SweepOutcome*> rows;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (chosen_[i]) rows.push_back(&rows_[i]);
    }
    return rows;
  }

 private:
  const std::vector<SweepOutcome>& rows_;
  std::vector<bool> chosen_;
  std::size_t left_;
};

// A value a row.
template <typename Of>
OrderedJson sweep_column(const std::vector<const SweepOutcome*>& rows, Of of) {
  std::vector<OrderedJson> values;
  values.reserve(rows.size());
  for (const SweepOutcome* row : rows) values.push_back(of(*row));
  return OrderedJson(std::move(values));
}

OrderedJson metrics_json(const std::vector<const SweepOutcome*>& rows) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < kSweepMetrics.size(); ++i) {
    const auto value = [i](const SweepOutcome& row) {
      return row.estimates[i] ? rounded(row.estimates[i]->mean) : OrderedJson(nullptr);
    };
    const auto end = [i](std::size_t which) {
      return [i, which](const SweepOutcome& row) {
        const bool has_one = row.estimates[i] && row.estimates[i]->interval;
        return has_one ? rounded((*row.estimates[i]->interval)[which]) : OrderedJson(nullptr);
      };
    };
    const bool is_known = std::any_of(rows.begin(), rows.end(),
                                      [i](const SweepOutcome* row) { return row->estimates[i].has_value(); });
    if (!is_known) continue;
    json[std::string(info(kSweepMetrics[i]).name)] = {{"value", sweep_column(rows, value)},
                                                      {"low", sweep_column(rows, end(0))},
                                                      {"high", sweep_column(rows, end(1))}};
  }
  return json;
}

}  // namespace

void SweepOutcomes::add(const PointRows& rows) {
  for (const PolicyRows& policy : rows.policies) {
    if (!policy.refused.empty()) continue;
    ++count_;
    if (rows_.size() == kMostKept) continue;
    auto name = std::find(policies_.begin(), policies_.end(), policy.name);
    if (name == policies_.end()) name = policies_.insert(name, policy.name);
    SweepOutcome row;
    row.point = rows.point;
    row.policy = static_cast<std::uint32_t>(name - policies_.begin());
    row.trials = policy.trials.size();
    row.is_finished = std::all_of(policy.trials.begin(), policy.trials.end(),
                                  [](const TrialRow& trial) { return trial.finished; });
    for (const MetricEstimate& estimate : policy.estimates) {
      for (std::size_t i = 0; i < kSweepMetrics.size(); ++i) {
        if (info(kSweepMetrics[i]).name == estimate.metric) row.estimates[i] = estimate.estimate;
      }
    }
    rows_.push_back(row);
  }
}

OrderedJson SweepOutcomes::json(const SweepManifest& manifest, const std::vector<SweepSummary::Best>& best,
                                std::size_t most) const {
  RowChoice choice(rows_, most);
  choice.take_around(manifest, best, 0);
  choice.take_around(manifest, best, 1);
  for (const std::size_t row : cost_time_front(rows_)) choice.take(row);
  choice.take_evenly();
  const std::vector<const SweepOutcome*> rows = choice.rows();
  OrderedJson parameters = OrderedJson::object();
  for (std::size_t i = 0; i < manifest.parameters.size(); ++i) {
    parameters[manifest.parameters[i]] = sweep_column(rows, [&manifest, i](const SweepOutcome& row) {
      const std::string& value = manifest.values[row.point][i];
      return value.empty() ? OrderedJson(nullptr) : OrderedJson::parse(value);
    });
  }
  return {
      {"rows", rows.size()},
      {"left_out", count_ - rows.size()},
      {"point", sweep_column(rows, [](const SweepOutcome& row) { return OrderedJson(row.point); })},
      {"policy",
       sweep_column(rows, [this](const SweepOutcome& row) { return OrderedJson(policies_[row.policy]); })},
      {"finished", sweep_column(rows, [](const SweepOutcome& row) { return OrderedJson(row.is_finished); })},
      {"trials", sweep_column(rows, [](const SweepOutcome& row) { return OrderedJson(row.trials); })},
      {"parameters", std::move(parameters)},
      {"metrics", metrics_json(rows)}};
}

}  // namespace goodput
