#include "tests/tools/sweep/store/random_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "sim/base/random.h"

namespace goodput::testing {
namespace {

// Any finite double: of random bits, or one that people write.
double random_double(RandomStream& random) {
  if (random.below(3) > 0) return static_cast<double>(random.below(2000)) / 16;
  for (;;) {
    const auto value = std::bit_cast<double>(random.bits());
    if (std::isfinite(value)) return value;
  }
}

std::string random_text(RandomStream& random) {
  constexpr std::string_view kTexts[] = {"",           "plain",       "a, comma",    "a \"quote\"",
                                         "two\nlines", "tab\tand \\", "caf\xc3\xa9", "null",
                                         "1e3",        "\x01\x1f"};
  return std::string(kTexts[random.below(std::size(kTexts))]);
}

PolicyRows random_policy(RandomStream& random, const std::string& name, std::size_t trials) {
  PolicyRows policy;
  policy.name = name;
  if (random.below(6) == 0) {
    policy.refused = "does not fit, by far";
    return policy;
  }
  policy.tier = "assumed";
  for (std::uint64_t i = random.below(3); i > 0; --i) policy.warnings.push_back(random_text(random));
  for (const char* column : {"steps", "jct_s", "goodput", "cost"}) {
    if (random.below(8) > 0) policy.columns.emplace_back(column);
  }
  if (name == "own") policy.columns.emplace_back("own_metric");
  for (std::size_t i = 0; i < trials; ++i) {
    TrialRow& trial = policy.trials.emplace_back();
    trial.finished = random.below(2) == 0;
    trial.stopped = random_text(random);
    for (std::size_t k = 0; k < policy.columns.size(); ++k)
      trial.values.push_back(random.below(5) == 0 ? std::nullopt : std::optional(random_double(random)));
  }
  for (const std::string& column : policy.columns) {
    MetricEstimate metric{column, {.mean = random_double(random)}};
    if (random.below(3) > 0) metric.estimate.interval = {random_double(random), random_double(random)};
    metric.estimate.is_doubtful = random.below(4) == 0;
    policy.estimates.push_back(metric);
  }
  return policy;
}

bool is_same_number(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::bit_cast<std::uint64_t>(*a) == std::bit_cast<std::uint64_t>(*b);
}

bool is_same_trial(const TrialRow& a, const TrialRow& b) {
  return a.finished == b.finished && a.stopped == b.stopped &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), is_same_number);
}

bool is_same_estimate(const MetricEstimate& a, const MetricEstimate& b) {
  const auto bound = [](const MetricEstimate& one, std::size_t end) {
    return one.estimate.interval ? std::optional((*one.estimate.interval)[end]) : std::nullopt;
  };
  return a.metric == b.metric && is_same_number(a.estimate.mean, b.estimate.mean) &&
         is_same_number(bound(a, 0), bound(b, 0)) && is_same_number(bound(a, 1), bound(b, 1)) &&
         a.estimate.is_doubtful == b.estimate.is_doubtful;
}

bool is_same_policy(const PolicyRows& a, const PolicyRows& b) {
  return a.name == b.name && a.refused == b.refused && a.tier == b.tier && a.warnings == b.warnings &&
         a.columns == b.columns &&
         std::equal(a.trials.begin(), a.trials.end(), b.trials.begin(), b.trials.end(), is_same_trial) &&
         std::equal(a.estimates.begin(), a.estimates.end(), b.estimates.begin(), b.estimates.end(),
                    is_same_estimate);
}

}  // namespace

bool is_same(const PointRows& a, const PointRows& b) {
  return a.point == b.point && a.config_hash == b.config_hash && a.error == b.error &&
         std::equal(a.policies.begin(), a.policies.end(), b.policies.begin(), b.policies.end(),
                    is_same_policy);
}

RandomSweep random_sweep(std::uint64_t seed, std::size_t points) {
  RandomStream random(seed, "random sweep");
  RandomSweep sweep;
  sweep.manifest = {.grid_hash = fmt::format("{:016x}", seed),
                    .version = "0.1.0 (test)",
                    .seed = seed,
                    .scenario = "a scenario.json",
                    .parameters = {"/policies/own/interval_steps", "spares", "Steps", "what"},
                    .values = {},
                    .request = R"({"until":"cost\u00b10.2%"})"};
  for (std::uint64_t point = 0; point < points; ++point) {
    sweep.manifest.values.push_back(
        {fmt::format("{}", 10 * point), fmt::format("{}", 0.5 * static_cast<double>(point % 3)),
         point % 2 == 0 ? "1" : "", R"("a \"b\", )" + std::to_string(point) + '"'});
    PointRows& rows = sweep.points.emplace_back();
    rows.point = point;
    if (random.below(7) == 0) {
      rows.error = "nodes: 3 are too few, \"by far\"";
      continue;
    }
    rows.config_hash = fmt::format("{:016x}", random.bits());
    const std::size_t trials = 1 + random.below(4);
    for (const char* name : {"ds", "own"}) rows.policies.push_back(random_policy(random, name, trials));
  }
  return sweep;
}

Status sweep_shard(const RandomSweep& sweep, const std::string& dir, Shard shard, Existing existing) {
  GOODPUT_TRY(ShardJournal journal, ShardJournal::open(dir, sweep.manifest, shard, existing));
  for (std::size_t i = sweep.points.size(); i-- > 0;) {
    if (shard_of(i, shard.count) != shard.index || journal.done()[i]) continue;
    GOODPUT_TRY_STATUS(journal.append(sweep.points[i]));
  }
  return journal.finish();
}

SweepFolder::SweepFolder() {
  above_ = (std::filesystem::temp_directory_path() / "goodput-sweep-XXXXXX").string();
  if (mkdtemp(above_.data()) == nullptr) throw std::runtime_error("cannot make " + above_);
  path_ = above_ + "/out";
}

SweepFolder::~SweepFolder() {
  std::filesystem::remove_all(above_);
}

std::string message_of(const Status& status) {
  return status ? "" : status.error().message();
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace goodput::testing
