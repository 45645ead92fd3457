#include "tools/fleet/whatif_result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "sim/base/hash.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

namespace dom = simdjson::dom;

constexpr double kSecondsAnHour = 3600;
constexpr double kLongestStepS = 1e9;
// Of S, of a step, and of a worker alone.
constexpr double kLeastSlowdown = 1e-3;
constexpr double kMostSlowdown = 1e6;
constexpr double kMostPace = 1e9;
// Causes that blame workers.
constexpr std::array<std::string_view, 5> kHostCauses = {"worker-fault", "slow-replica", "slow-host",
                                                         "slow-switch", "slow-rack"};

class WhatIfResultReader {
 public:
  WhatIfResultReader(dom::object root, const std::string& file) : root_(root), file_(file) {}

  Result<FleetJob> read() {
    GOODPUT_TRY_STATUS(check_schema());
    FleetJob job;
    job.source = file_;
    GOODPUT_TRY(job.tier, read_tier());
    GOODPUT_TRY_STATUS(read_job(job));
    GOODPUT_TRY(job.slowdown, number_at("/slowdown", kLeastSlowdown, kMostSlowdown));
    GOODPUT_TRY(job.discrepancy, number_at("/discrepancy", 0, 1e9));
    GOODPUT_TRY(job.m_w, optional_at("/m_w"));
    GOODPUT_TRY(job.m_s, optional_at("/m_s"));
    GOODPUT_TRY_STATUS(read_steps(job));
    GOODPUT_TRY_STATUS(read_optypes(job));
    read_hosts(job);
    GOODPUT_TRY_STATUS(read_causes(job));
    return job;
  }

 private:
  [[nodiscard]] Error error_at(std::string_view pointer, std::string what) const {
    return {std::move(what), {.file = file_, .pointer = std::string(pointer)}};
  }

  [[nodiscard]] Status check_schema() const {
    std::string_view schema;
    if (root_["schema"].get(schema)) {
      return error_at(
          "/schema",
          "is missing, so this is not a goodput result; expected a result of `goodput whatif --json`");
    }
    if (schema == kWhatIfSchema) return Ok{};
    if (schema.starts_with("goodput.whatif/")) {
      return error_at("/schema", fmt::format("is {}, written by a newer goodput; this version reads {}",
                                             in_quotes(schema), kWhatIfSchema));
    }
    return error_at("/schema", fmt::format("must be {} (a result of `goodput whatif --json`), not {}",
                                           kWhatIfSchema, in_quotes(schema)));
  }

  // A result that does not say rests on nobody's word.
  [[nodiscard]] Result<Tier> read_tier() const {
    dom::element element;
    if (root_["lowest_tier"].get(element) || element.is_null()) return Tier::kAssumed;
    std::string_view name;
    if (element.get(name)) return error_at("/lowest_tier", "must be a string");
    const auto* const found = std::find(kTierNames.begin(), kTierNames.end(), name);
    if (found != kTierNames.end()) return static_cast<Tier>(found - kTierNames.begin());
    return error_at("/lowest_tier",
                    fmt::format("must be one of {}, not {}", fmt::join(kTierNames, ", "), in_quotes(name)));
  }

  [[nodiscard]] Status check_range(double number, std::string_view pointer, double least, double most) const {
    if (number >= least && number <= most) return Ok{};
    return error_at(pointer, fmt::format("must be from {:g} to {:g}, not {:g}", least, most, number));
  }
  [[nodiscard]] Result<double> number_of(dom::element element, std::string_view pointer, double least,
                                         double most) const {
    double number = 0;
    if (element.get(number)) return error_at(pointer, "must be a number");
    GOODPUT_TRY_STATUS(check_range(number, pointer, least, most));
    return number;
  }
  [[nodiscard]] Result<double> number_at(std::string_view pointer, double least, double most) const {
    dom::element element;
    if (root_.at_pointer(pointer).get(element)) return error_at(pointer, "is missing");
    return number_of(element, pointer, least, most);
  }
  // Absent where the result says null, or nothing.
  [[nodiscard]] Result<std::optional<double>> optional_at(std::string_view pointer) const {
    dom::element element;
    if (root_.at_pointer(pointer).get(element) || element.is_null()) return std::optional<double>{};
    GOODPUT_TRY(const double number, number_of(element, pointer, -1e9, 1e9));
    return std::optional(number);
  }

  Status read_job(FleetJob& job) const {
    std::string_view name;
    if (root_.at_pointer("/job/trial_name").get(name))
      return error_at("/job/trial_name", "is missing or not a string");
    job.name = on_one_line(name);
    GOODPUT_TRY(const double gpus, number_at("/job/world_size", 1, 1e9));
    job.gpus = static_cast<std::int64_t>(gpus);
    GOODPUT_TRY(const double stages, number_at("/trace/pp_size", 1, 1e6));
    job.pp_size = static_cast<std::int32_t>(stages);
    std::string_view hash;
    if (root_["config_hash"].get(hash) == simdjson::SUCCESS) {
      Hash of_text;
      of_text.add(hash);
      job.rows = of_text.value();
    }
    return Ok{};
  }

  Status read_steps(FleetJob& job) const {
    dom::object steps;
    if (root_["per_step"].get(steps) || steps.size() == 0)
      return error_at("/per_step", "is missing or empty");
    double recorded_s = 0;
    for (const auto& [name, step] : steps) {
      const std::string pointer = fmt::format("/per_step/{}", name);
      double slowdown = 0;
      double seconds = 0;
      if (step["slowdown"].get(slowdown) || step["recorded_s"].get(seconds))
        return error_at(pointer, "must have the keys slowdown and recorded_s");
      GOODPUT_TRY_STATUS(check_range(slowdown, pointer + "/slowdown", kLeastSlowdown, kMostSlowdown));
      GOODPUT_TRY_STATUS(check_range(seconds, pointer + "/recorded_s", 0, kLongestStepS));
      job.step_slowdown.push_back(slowdown / job.slowdown);
      recorded_s += seconds;
    }
    job.steps = static_cast<std::int64_t>(job.step_slowdown.size());
    job.gpu_hours = recorded_s * static_cast<double>(*job.gpus) / kSecondsAnHour;
    return Ok{};
  }

  Status read_optypes(FleetJob& job) const {
    dom::object types;
    if (root_["slowdown_by_optype"].get(types)) return error_at("/slowdown_by_optype", "is missing");
    for (const auto& [name, value] : types) {
      GOODPUT_TRY(const double slowdown,
                  number_of(value, fmt::format("/slowdown_by_optype/{}", name), 1e-6, 1e9));
      job.by_optype.push_back({on_one_line(name), slowdown});
    }
    return Ok{};
  }

  void read_hosts(FleetJob& job) const {
    dom::array hosts;
    if (root_.at_pointer("/workers/host").get(hosts)) return;
    for (const dom::element host : hosts) {
      std::string_view name;
      if (host.get(name) == simdjson::SUCCESS && !name.empty()) job.hosts.push_back(on_one_line(name));
    }
    std::sort(job.hosts.begin(), job.hosts.end());
    job.hosts.erase(std::unique(job.hosts.begin(), job.hosts.end()), job.hosts.end());
  }

  Status read_causes(FleetJob& job) const {
    dom::array causes;
    if (root_["root_causes"].get(causes)) return error_at("/root_causes", "is missing");
    std::size_t number = 0;
    for (const dom::element cause : causes) {
      const std::string pointer = fmt::format("/root_causes/{}", number++);
      std::string_view name;
      bool is_likely = false;
      if (cause["cause"].get(name) || cause["likely"].get(is_likely))
        return error_at(pointer, "must have the keys cause and likely");
      if (name == "sequence-length") {
        GOODPUT_TRY(job.correlation, optional_at(pointer + "/value"));
      }
      if (!is_likely) continue;
      LikelyCause likely{on_one_line(name), {}};
      GOODPUT_TRY(likely.gain, optional_at(pointer + "/gain"));
      job.causes.push_back(std::move(likely));
      dom::array workers;
      if (std::find(kHostCauses.begin(), kHostCauses.end(), name) == kHostCauses.end()) continue;
      if (cause["workers"].get(workers) == simdjson::SUCCESS)
        GOODPUT_TRY_STATUS(add_slow_hosts(workers, pointer, job));
    }
    return Ok{};
  }

  // The worst worker of each host.
  Status add_slow_hosts(dom::array workers, const std::string& cause, FleetJob& job) const {
    std::size_t number = 0;
    for (const dom::element worker : workers) {
      const std::string pointer = fmt::format("{}/workers/{}/pace", cause, number++);
      std::string_view host;
      std::string_view key;
      SlowHost slow;
      if (worker["host"].get(host) || worker["worker"].get(key) || worker["pace"].get(slow.pace)) continue;
      slow.host = on_one_line(host);
      if (root_["slowdown_by_worker"][key].get(slow.slowdown)) continue;
      GOODPUT_TRY_STATUS(check_range(slow.pace, pointer, 0, kMostPace));
      GOODPUT_TRY_STATUS(check_range(slow.slowdown, fmt::format("/slowdown_by_worker/{}", key),
                                     kLeastSlowdown, kMostSlowdown));
      const auto same = std::find_if(job.slow_hosts.begin(), job.slow_hosts.end(),
                                     [&](const SlowHost& other) { return other.host == slow.host; });
      if (same == job.slow_hosts.end()) {
        job.slow_hosts.push_back(std::move(slow));
      } else if (same->slowdown < slow.slowdown) {
        *same = std::move(slow);
      }
    }
    return Ok{};
  }

  dom::object root_;
  const std::string& file_;
};

}  // namespace

Result<FleetJob> read_whatif_result(std::string text, const std::string& file) {
  const std::size_t size = text.size();
  text.resize(size + simdjson::SIMDJSON_PADDING);
  dom::parser parser;
  dom::element document;
  if (const auto code = parser.parse(text.data(), size, false).get(document)) {
    return Error{fmt::format("is truncated or not JSON: {}; expected a result of `goodput whatif --json`, or "
                             "a monitor database",
                             simdjson::error_message(code)),
                 {.file = file}};
  }
  dom::object root;
  if (document.get(root))
    return Error{"is not a JSON object; expected a result of `goodput whatif --json`", {.file = file}};
  return WhatIfResultReader(root, file).read();
}

}  // namespace goodput
