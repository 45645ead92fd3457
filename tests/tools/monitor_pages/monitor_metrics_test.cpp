#include "tools/monitor_pages/monitor_metrics.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/tools/monitor_pages/shown_monitor.h"

namespace goodput {
namespace {

using testing::MadeUpJob;
using testing::ShownMonitor;

struct ReadMetrics {
  std::string fault;                     // the first line that the grammar does not allow; empty: none
  std::map<std::string, double> values;  // by name and labels as written
  std::set<std::string> names;
};

// By the grammar of Prometheus' text format 0.0.4: HELP, then TYPE, then the samples of one family.
ReadMetrics read_metrics(const std::string& text) {
  static const std::regex kHelp(R"(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (?:[^\\\n]|\\\\|\\n)*)");
  static const std::regex kType(R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge))");
  static const std::regex kSample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*")*\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?))re");
  ReadMetrics read;
  std::string family;
  std::string type;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) return {"the last line does not end", {}, {}};
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    std::smatch parts;
    if (std::regex_match(line, parts, kHelp)) {
      family = parts[1];
      if (!read.names.insert(family).second) return {"a second family: " + line, {}, {}};
      type.clear();
    } else if (std::regex_match(line, parts, kType) && parts[1] == family) {
      type = parts[2];
    } else if (std::regex_match(line, parts, kSample) && parts[1] == family && !type.empty()) {
      const bool is_new = read.values.emplace(parts[1].str() + parts[2].str(), std::stod(parts[3])).second;
      if (!is_new) return {"a second sample: " + line, {}, {}};
    } else {
      return {line, {}, {}};
    }
  }
  return read;
}

TEST_CASE("monitor metrics: the text is of Prometheus' grammar, with the figures of the job") {
  ShownMonitor monitor({MadeUpJob{}});
  const HttpResponse response = monitor.get("/metrics");
  CHECK(response.content_type == "text/plain; version=0.0.4; charset=utf-8");
  const ReadMetrics read = read_metrics(response.body);
  CHECK(read.fault == "");
  const StepResult last = testing::made_up_step(MadeUpJob{}, 39);
  CHECK(read.values.at("goodput_monitor_job_slowdown_ratio{job=\"llama-70b\"}") == last.totals.slowdown);
  CHECK(read.values.at("goodput_monitor_job_waste_ratio{job=\"llama-70b\"}") == last.totals.waste());
  CHECK(read.values.at("goodput_monitor_job_lag_seconds{job=\"llama-70b\"}") == 0.4);
  CHECK(read.values.at("goodput_monitor_job_last_row_timestamp_seconds{job=\"llama-70b\"}") ==
        testing::end_of(MadeUpJob{}) - 1);
  CHECK(read.values.at("goodput_monitor_job_steps_total{job=\"llama-70b\",status=\"analysed\"}") == 39);
  CHECK(read.values.at("goodput_monitor_job_steps_total{job=\"llama-70b\",status=\"incomplete\"}") == 1);
  CHECK(read.values.at("goodput_monitor_job_open_incidents{job=\"llama-70b\"}") == 1);
  CHECK(read.values.at("goodput_monitor_job_unread_bytes{job=\"llama-70b\"}") == 12345);
  CHECK(read.values.at("goodput_monitor_job_gpus{job=\"llama-70b\"}") == 128);  // 16 workers of 8
  CHECK(read.values.at(
            "goodput_monitor_job_worst_worker_info{job=\"llama-70b\",dp_rank=\"2\",stage=\"1\",rank=\"72\","
            "host=\"node0009\"}") == 1);
  CHECK(read.values.at("goodput_monitor_ready") == 1);
  CHECK(read.values.at("goodput_monitor_store_bytes") > 0);
}

TEST_CASE("monitor metrics: of a job without a row or a result there is neither a moment nor a lag") {
  ShownMonitor monitor({MadeUpJob{}});
  monitor.status.update([](MonitorState& state) {
    state.jobs["new"] = {};
    state.jobs["llama-70b"] = {};  // followed again after a restart, with its steps in the database
  });
  const ReadMetrics read = read_metrics(monitor.get("/metrics").body);
  CHECK(read.fault == "");
  for (const std::string job : {"{job=\"new\"}", "{job=\"llama-70b\"}"}) {
    INFO(job);
    CHECK(read.values.at("goodput_monitor_job_unread_bytes" + job) == 0);
    CHECK(!read.values.contains("goodput_monitor_job_last_row_timestamp_seconds" + job));
    CHECK(!read.values.contains("goodput_monitor_job_lag_seconds" + job));
  }
}

TEST_CASE("monitor metrics: no name breaks out of its label") {
  MadeUpJob job;
  job.name = testing::hostile_name("job\\") + "\n";
  job.host_prefix = testing::hostile_name("host");
  ShownMonitor monitor({job});
  const ReadMetrics read = read_metrics(monitor.get("/metrics").body);
  CHECK(read.fault == "");
  CHECK(read.names.size() > 20);
}

TEST_CASE("monitor metrics: no series a worker") {
  MadeUpJob large;
  large.dp_size = 32;
  large.steps = 2;
  large.has_rows = false;
  ShownMonitor monitor({large});
  CHECK(read_metrics(monitor.get("/metrics").body).values.size() < 50);
}

// What a dashboard or a rule names.
std::set<std::string> names_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  static const std::regex kName("goodput_monitor_[a-z_]+");
  std::set<std::string> names;
  for (auto name = std::sregex_iterator(text.begin(), text.end(), kName); name != std::sregex_iterator();
       ++name)
    names.insert(name->str());
  return names;
}

TEST_CASE("monitor metrics: what the dashboard, the rules and the page of docs name is there") {
  ShownMonitor monitor({MadeUpJob{}});
  const ReadMetrics read = read_metrics(monitor.get("/metrics").body);
  const std::filesystem::path configs = GOODPUT_CONFIGS;
  for (const auto& path :
       {configs / "monitoring/grafana-dashboard.json", configs / "monitoring/prometheus-alerts.yml",
        configs.parent_path() / "docs/formats/monitor-metrics.md"}) {
    INFO(path.string());
    const std::set<std::string> names = names_in(path);
    CHECK(names.size() >= 5);
    for (const std::string& name : names) {
      INFO(name);
      CHECK(read.names.contains(name));
    }
  }
}

TEST_CASE("monitor metrics: the page of docs lists every one") {
  ShownMonitor monitor({MadeUpJob{}});
  const std::set<std::string> listed =
      names_in(std::filesystem::path(GOODPUT_CONFIGS).parent_path() / "docs/formats/monitor-metrics.md");
  for (const std::string& name : read_metrics(monitor.get("/metrics").body).names) {
    INFO(name);
    CHECK(listed.contains(name));
  }
}

}  // namespace
}  // namespace goodput
