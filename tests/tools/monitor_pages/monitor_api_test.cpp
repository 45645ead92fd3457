#include "tools/monitor_pages/monitor_api.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "sim/base/json.h"
#include "tests/tools/monitor_pages/shown_monitor.h"

namespace goodput {
namespace {

using testing::MadeUpJob;
using testing::ShownMonitor;

Json document(ShownMonitor& monitor, const std::string& path,
              std::map<std::string, std::string, std::less<>> query = {}) {
  const HttpResponse response = monitor.get(path, std::move(query));
  REQUIRE(response.status == 200);
  CHECK(response.content_type == "application/json");
  Json read = Json::parse(response.body);
  CHECK(read.at("schema") == "goodput.monitor/2");
  return read;
}

std::string refused(ShownMonitor& monitor, int status, const std::string& path,
                    std::map<std::string, std::string, std::less<>> query = {}) {
  const HttpResponse response = monitor.get(path, std::move(query));
  CHECK(response.status == status);
  return Json::parse(response.body).at("error").get<std::string>();
}

TEST_CASE("monitor api: jobs and what they lose") {
  ShownMonitor monitor({MadeUpJob{}});
  const Json jobs = document(monitor, "/api/v1/jobs");
  CHECK(jobs.at("kind") == "jobs");
  REQUIRE(jobs.at("jobs").size() == 1);
  const Json& job = jobs.at("jobs")[0];
  CHECK(job.at("name") == "llama-70b");
  CHECK(job.at("state") == "running");
  CHECK(job.at("steps") == Json({{"analysed", 39}, {"incomplete", 1}, {"refused", 0}, {"skipped", 0}}));
  CHECK(job.at("gpus") == 128);
  CHECK(job.at("worst_worker") == Json({{"dp_rank", 2}, {"stage", 1}, {"rank", 72}, {"host", "node0009"}}));
  // The last 20 analysed steps: 39, 37 to 20, which are slow, and 19, which is not.
  CHECK(job.at("window").at("steps") == 20);
  const double waste = job.at("window").at("waste").get<double>();
  CHECK(job.at("window").at("lost_gpu_hours_per_day").get<double>() == doctest::Approx(waste * 24 * 128));
  CHECK(job.at("window").at("lost_usd_per_day").get<double>() == doctest::Approx(waste * 24 * 128 * 2));
  const Json one = document(monitor, "/api/v1/jobs/llama-70b");
  CHECK(one.at("causes")[0].at("cause") == "worker-fault");
  CHECK(one.at("causes")[0].at("likely_in") == 19);
  CHECK(one.at("job").at("open_incidents") == 1);
  CHECK(one.at("incidents").size() == 1);
}

TEST_CASE("monitor api: the window has as many analysed steps as it may, whatever lies between them") {
  MadeUpJob job;
  job.every = 10;
  job.has_incomplete_step = false;
  ShownMonitor monitor({job});
  monitor.options.window = 3;
  const Json shown = document(monitor, "/api/v1/jobs/llama-70b").at("job");
  CHECK(shown.at("steps") == Json({{"analysed", 4}, {"incomplete", 0}, {"refused", 0}, {"skipped", 36}}));
  CHECK(shown.at("window").at("steps") == 3);
  double slowdown = 0;
  for (const std::int64_t step : {30, 20, 10}) slowdown += testing::made_up_step(job, step).totals.slowdown;
  CHECK(shown.at("window").at("slowdown").get<double>() == slowdown / 3);
}

TEST_CASE("monitor api: a step has the exact slowdown of every worker") {
  ShownMonitor monitor({MadeUpJob{}});
  const StepResult made = testing::made_up_step(MadeUpJob{}, 39);
  const Json step = document(monitor, "/api/v1/jobs/llama-70b/steps/0/39").at("step");
  CHECK(step.at("slowdown") == made.totals.slowdown);
  CHECK(step.at("slowdown_by_worker").size() == 16);
  CHECK(step.at("slowdown_by_worker").at("2:1") == made.worker_slowdown[9]);
  CHECK(step.at("slowdown_by_worker").at("0:3") == made.worker_slowdown[3]);
  CHECK(step.at("slowdown_by_optype").at("forward-compute") == 1.1);
  CHECK(step.at("causes")[0].at("workers") == Json::array({"2:1"}));
  CHECK(step.at("m_w") == 0.93);
  const Json incomplete = document(monitor, "/api/v1/jobs/llama-70b/steps/0/38").at("step");
  CHECK(incomplete.at("status") == "incomplete");
  CHECK(!incomplete.contains("slowdown"));
  CHECK(incomplete.at("missing")[0].at("host") == "node0003");
}

TEST_CASE("monitor api: spans of steps, maps and the history of a worker") {
  ShownMonitor monitor({MadeUpJob{}});
  const Json steps =
      document(monitor, "/api/v1/jobs/llama-70b/steps", {{"from", "10"}, {"to", "12"}}).at("steps");
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].at("step") == 10);
  CHECK(steps[2].at("step") == 12);
  const Json newest =
      document(monitor, "/api/v1/jobs/llama-70b/steps", {{"limit", "2"}, {"newest", "1"}}).at("steps");
  CHECK(newest.size() == 2);
  CHECK(document(monitor, "/api/v1/jobs/llama-70b/steps", {{"most", "2"}, {"newest", "1"}}).at("steps") ==
        newest);
  // 16 bits: slowdowns to 1e-4 relative.
  const Json map = document(monitor, "/api/v1/jobs/llama-70b/steps/0/39/map").at("map");
  CHECK(map.at("slowdown_by_worker").at("2:1").get<double>() ==
        doctest::Approx(testing::made_up_step(MadeUpJob{}, 39).worker_slowdown[9]).epsilon(2e-4));
  // The map before one that has none.
  CHECK(document(monitor, "/api/v1/jobs/llama-70b/steps/0/38/map").at("map").at("step") == 37);
  const Json worker = document(monitor, "/api/v1/jobs/llama-70b/workers/2/1");
  CHECK(worker.at("worker").at("host") == "node0009");
  CHECK(worker.at("history").size() == 39);
}

TEST_CASE("monitor api: incidents are listed, those of a job, open ones, and one by its key") {
  ShownMonitor monitor({MadeUpJob{}});
  const std::string key = testing::incident_key_of(MadeUpJob{});
  const Json incidents = document(monitor, "/api/v1/incidents", {{"open", "1"}}).at("incidents");
  REQUIRE(incidents.size() == 1);
  CHECK(incidents[0].at("key") == key);
  CHECK(incidents[0].at("state") == "open");
  CHECK(incidents[0].at("verdict").at("fix") == Json::array({"worker=2:1"}));
  CHECK(incidents[0].at("evidence").size() == 2);
  CHECK(incidents[0].at("closed_s").is_null());
  CHECK(incidents[0].at("page") == "/incidents/" + key);
  CHECK(document(monitor, "/api/v1/incidents/" + key).at("incident") == incidents[0]);
  CHECK(document(monitor, "/api/v1/incidents", {{"job", "x"}}).at("incidents").empty());
}

TEST_CASE("monitor api: refusals say what is wanted") {
  ShownMonitor monitor({MadeUpJob{}});
  CHECK(refused(monitor, 404, "/api/v1/jobs/x") ==
        "there is no job with this name; /api/v1/jobs lists all jobs");
  CHECK(refused(monitor, 404, "/api/v1/jobs/x/steps") ==
        "there is no job with this name; /api/v1/jobs lists all jobs");
  CHECK(refused(monitor, 404, "/api/v1/jobs/llama-70b/steps/0/99") ==
        "there is no such step, or it is no longer stored");
  CHECK(refused(monitor, 404, "/api/v1/jobs/llama-70b/steps/0/-1/map") ==
        "no worker map is stored for this step or an earlier one");
  CHECK(refused(monitor, 404, "/api/v1/jobs/llama-70b/workers/9/9") == "the job has no such worker");
  CHECK(refused(monitor, 404, "/api/v1/incidents/9") ==
        "there is no such incident, or it is no longer stored");
  CHECK(refused(monitor, 404, "/api/v1/jobs/llama-70b/steps/0/39/rows.csv.gz") ==
        "there is no such path; /api/v1 lists all paths");
  CHECK(refused(monitor, 400, "/api/v1/jobs/llama-70b/steps", {{"most", "0"}}) ==
        "the parameter most must be an integer from 1 to 10000");
  CHECK(refused(monitor, 400, "/api/v1/jobs/llama-70b/workers/0/0", {{"run", "x"}}) ==
        "the parameter run must be an integer from 0 to 2147483647");
  CHECK(refused(monitor, 400, "/api/v1/incidents", {{"limit", "x"}}) ==
        "the parameter limit must be an integer from 1 to 10000");
}

TEST_CASE("monitor api: what is no number is null, what is no UTF-8 is replaced") {
  MadeUpJob job;
  job.name = "a\xff";
  ShownMonitor monitor({job});
  monitor.status.update(
      [](MonitorState& state) { state.jobs["a\xff"].lag_s = std::numeric_limits<double>::quiet_NaN(); });
  const Json jobs = document(monitor, "/api/v1/jobs");
  CHECK(jobs.at("jobs")[0].at("name") == "a\xef\xbf\xbd");
  CHECK(jobs.at("jobs")[0].at("intake").at("lag_s").is_null());
  monitor.status.update([](MonitorState& state) { state.jobs["a\xff"] = {}; });
  const Json intake = document(monitor, "/api/v1/jobs").at("jobs")[0].at("intake");
  CHECK(intake.at("lag_s").is_null());
  CHECK(intake.at("last_row_s").is_null());
  CHECK(document(monitor, "/api/v1").at("paths").size() == 11);
}

}  // namespace
}  // namespace goodput
