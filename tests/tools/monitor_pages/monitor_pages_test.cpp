#include "tools/monitor_pages/monitor_pages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "sim/base/json.h"
#include "tests/tools/monitor_pages/shown_monitor.h"

namespace goodput {
namespace {

using testing::MadeUpJob;
using testing::ShownMonitor;

// Every page of a job with 40 steps, of which 39 was the last.
std::vector<std::string> pages_of(const MadeUpJob& job) {
  const std::string& link = job.name;
  return {"/",
          "/jobs/" + link,
          "/jobs/" + link + "/steps/0/39",
          "/jobs/" + link + "/steps/0/38",
          "/jobs/" + link + "/workers/2/1",
          "/incidents",
          "/incidents/" + testing::incident_key_of(job)};
}

std::size_t occurrences(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

// Names of elements that are not closed in the order they were opened; of our markup, which names all.
std::string unbalanced(const std::string& html) {
  static const std::regex kTag(R"(<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^<>"]|"[^"<>]*")*?)(/?)>)");
  static const std::vector<std::string> kVoid = {"meta", "link", "input", "br"};
  std::vector<std::string> open;
  for (auto tag = std::sregex_iterator(html.begin(), html.end(), kTag); tag != std::sregex_iterator();
       ++tag) {
    const std::string name = (*tag)[2];
    if ((*tag)[4].length() > 0 || std::ranges::find(kVoid, name) != kVoid.end()) continue;
    if ((*tag)[1].length() == 0) {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != name)
        return "</" + name + "> in " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " stays open";
}

TEST_CASE("monitor pages: the first screen says which machine, since when, what it costs and what to check") {
  ShownMonitor monitor({MadeUpJob{}});
  const HttpResponse page = monitor.get("/");
  REQUIRE(page.status == 200);
  CHECK(page.content_type == "text/html; charset=utf-8");
  CHECK(has(page.body, "<h1>1 of 1 job needs attention: 1 open incident</h1>"));
  // S of step 22 is 1.27 and a little, of which 21.x % is lost.
  CHECK(has(page.body, "One slow worker costs this job 21."));
  CHECK(has(page.body, "% of its time: rank 72 (dp 2, stage 1, host node0009).</a></h3>"));
  // Opened with the result of step 22, 9.4 s after it began at 220 s; now are 400 s.
  CHECK(has(page.body, "2 min 51 s ago"));
  CHECK(has(page.body, "$2,346 per day"));
  CHECK(has(page.body, "clocks, temperatures and ECC errors of the GPUs of node0009"));
}

TEST_CASE("monitor pages: every page is whole markup, without inline styles and scripts") {
  ShownMonitor monitor({MadeUpJob{}});
  for (const std::string& path : pages_of(MadeUpJob{})) {
    INFO(path);
    const HttpResponse page = monitor.get(path);
    REQUIRE(page.status == 200);
    CHECK(unbalanced(page.body) == "");
    CHECK(occurrences(page.body, "<h1>") == 1);
    CHECK(!has(page.body, " style="));
    CHECK(!has(page.body, "<style"));
    CHECK(occurrences(page.body, "<script") == 1);
    CHECK(!std::regex_search(page.body, std::regex(R"( on[a-z]+=)")));
    CHECK(!std::regex_search(page.body, std::regex(R"(\b(nan|inf)\b)")));
  }
}

TEST_CASE("monitor pages: the charts of a job with relative times have step numbers on their x axis") {
  MadeUpJob job;
  job.has_absolute_times = false;
  ShownMonitor monitor({job});
  ShownMonitor absolute({MadeUpJob{}});
  for (const char* path : {"/jobs/llama-70b", "/jobs/llama-70b/workers/2/1"}) {
    INFO(path);
    const std::string page = monitor.get(path).body;
    CHECK(has(page, ">step (start times are not known)</text>"));
    CHECK(!has(page, "text-anchor=\"end\">min before"));
    CHECK(has(absolute.get(path).body, "text-anchor=\"end\">min before"));
  }
  CHECK(has(monitor.get("/jobs/llama-70b").body, "class=\"alert-span\""));
}

TEST_CASE("monitor pages: what a name holds is never markup, wherever it is from") {
  MadeUpJob job;
  job.name = testing::hostile_name("job");
  job.host_prefix = testing::hostile_name("host");
  ShownMonitor monitor({job});
  monitor.status.update([&](MonitorState& state) { state.problem = testing::hostile_name("problem"); });
  std::vector<std::string> paths = pages_of(job);
  paths.push_back("/jobs/" + testing::hostile_name("nobody"));
  for (const std::string& path : paths) {
    INFO(path);
    const HttpResponse page = monitor.get(path);
    CHECK(unbalanced(page.body) == "");
    CHECK(occurrences(page.body, "<script") == 1);  // ours
    CHECK(!has(page.body, "<b>forward"));
    CHECK(!has(page.body, "\xe2\x80\xae"));
    CHECK(!has(page.body, "\x01"));
    CHECK(!has(page.body, "\xff"));
  }
}

TEST_CASE("monitor pages: a link of a page leads to a page") {
  MadeUpJob job;
  job.name = "a b/ü?#%&";
  ShownMonitor monitor({job});
  const auto decoded = [](std::string_view link) {
    std::string path;
    for (std::size_t i = 0; i < link.size(); ++i) {
      if (link[i] != '%') {
        path += link[i];
        continue;
      }
      path += static_cast<char>(std::stoi(std::string(link.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    }
    return path;
  };
  static const std::regex kLink(R"(href="(/[^"?#]*)[^"]*\")");
  for (const std::string& path : pages_of(job)) {
    const std::string body = monitor.get(path).body;
    for (auto link = std::sregex_iterator(body.begin(), body.end(), kLink); link != std::sregex_iterator();
         ++link) {
      const std::string target = (*link)[1];
      INFO(path << " -> " << target);
      CHECK(monitor.get(decoded(target)).status == 200);
    }
  }
}

TEST_CASE("monitor pages: an incomplete step names the workers that are missing") {
  ShownMonitor monitor({MadeUpJob{}});
  const std::string page = monitor.get("/jobs/llama-70b/steps/0/38").body;
  CHECK(
      has(page, "This step was not analyzed: incomplete. rows of 1 of its workers did not come within 30 s"));
  CHECK(has(page, "dp 0 stage 3 (rank 24, host node0003)"));
}

TEST_CASE("monitor pages: a step leads to its neighbours, and a number to the latest step before it") {
  ShownMonitor monitor({MadeUpJob{}});
  const std::string page = monitor.get("/jobs/llama-70b/steps/0/20").body;
  CHECK(has(page, "rel=\"prev\" href=\"/jobs/llama-70b/steps/0/19\""));
  CHECK(has(page, "rel=\"next\" href=\"/jobs/llama-70b/steps/0/21\""));
  CHECK(has(page, "min=\"0\" max=\"39\" value=\"20\""));
  const HttpResponse found = monitor.get("/jobs/llama-70b/steps", {{"run", "0"}, {"step", "1000"}});
  CHECK(found.status == 303);
  REQUIRE(found.headers.size() == 1);
  CHECK(found.headers[0].second == "/jobs/llama-70b/steps/0/39");
  CHECK(monitor.get("/jobs/llama-70b/steps", {{"step", "-1"}}).status == 404);
  CHECK(has(monitor.get("/jobs/llama-70b/steps", {{"step", "x"}}).body,
            "The address must contain ?step=NUMBER"));
  CHECK(monitor.get("/jobs/nobody/steps", {{"step", "5"}}).status == 404);
}

TEST_CASE("monitor pages: states of jobs are told apart") {
  ShownMonitor monitor({MadeUpJob{}});
  CHECK(has(monitor.get("/").body, "<span class=\"state fine\">running</span>"));
  monitor.status.update([](MonitorState& state) { state.jobs["llama-70b"].is_behind = true; });
  CHECK(has(monitor.get("/").body, "behind (steps are skipped)"));
  monitor.now_s += 121;  // silent after 120 s
  CHECK(has(monitor.get("/").body, "silent (no rows are arriving)"));
  monitor.status.update([](MonitorState& state) {
    state.jobs.clear();
    state.jobs["new"] = {};
  });
  const std::string page = monitor.get("/").body;
  CHECK(has(page, "not watched at the moment"));
  CHECK(has(page, "waiting for its first step"));
  CHECK(monitor.get("/jobs/new").status == 200);
}

TEST_CASE("monitor pages: the maps of the window together tell a slow host from long sequences") {
  MadeUpJob data;
  data.name = "data";
  data.is_data = true;
  ShownMonitor monitor({MadeUpJob{}, data});
  // One map of either shows a replica of four that is slower than the others.
  CHECK(has(monitor.get("/jobs/llama-70b").body, "single slow workers (machines)"));
  CHECK(has(monitor.get("/jobs/data").body, "slow workers across replicas (sequence lengths)"));
}

TEST_CASE("monitor pages: what there is not is a 404 that says what it is") {
  ShownMonitor monitor({MadeUpJob{}});
  const auto says = [&](const std::string& path, std::string_view what) {
    const HttpResponse response = monitor.get(path);
    return response.status == 404 && has(response.body, what);
  };
  CHECK(says("/nothing", "There is no such page."));
  CHECK(says("/jobs/x", "There is no job with this name."));
  CHECK(says("/jobs/llama-70b/steps/0/99", "There is no such step, or it is no longer stored."));
  CHECK(says("/jobs/llama-70b/workers/4/0", "The job has no such worker."));
  CHECK(says("/incidents/2", "There is no such incident, or it is no longer stored."));
  CHECK(says("/static/x.css", "There is no such file."));
  CHECK(says("/jobs/llama-70b/steps/0/5/timeline.json.gz", "The rows of this step are no longer stored."));
}

TEST_CASE("monitor pages: where nothing can be done only GET and HEAD are answered") {
  ShownMonitor monitor({MadeUpJob{}});
  HttpRequest request;
  request.method = "POST";
  request.path = "/";
  const HttpResponse refused = monitor.respond(request);
  CHECK(refused.status == 405);
  REQUIRE(refused.headers.size() == 1);
  CHECK(refused.headers[0].second == "GET, HEAD");
}

TEST_CASE("monitor pages: a database that cannot be read is a 500 that says so, and not ready") {
  MonitorStatus status;
  status.update([](MonitorState& state) { state.is_ready = true; });
  MonitorPageOptions options;
  options.store_path = "/nonexistent/monitor.db";
  MonitorPages pages(status, options, [] { return 0.0; });
  HttpRequest request;
  request.method = "GET";
  request.path = "/";
  const HttpResponse page = pages.respond(request);
  CHECK(page.status == 500);
  CHECK(has(page.body, "/nonexistent/monitor.db"));
  request.path = "/readyz";
  CHECK(pages.respond(request).status == 503);
}

TEST_CASE("monitor pages: health is a loop that goes round, readiness results that can be stored") {
  ShownMonitor monitor({MadeUpJob{}});
  CHECK(monitor.get("/healthz").body == "ok\n");
  CHECK(monitor.get("/readyz").body == "ready\n");
  monitor.now_s += 61;
  CHECK(monitor.get("/healthz").status == 503);
  CHECK(monitor.get("/healthz").body == "the monitor's main loop has not run for 61 s\n");
  monitor.status.update([](MonitorState& state) { state.problem = "the disk is full"; });
  CHECK(monitor.get("/readyz").status == 503);
  CHECK(monitor.get("/readyz").body == "the disk is full\n");
  monitor.status.update([](MonitorState& state) {
    state.problem.clear();
    state.is_ready = false;
  });
  CHECK(monitor.get("/readyz").body == "the watched folders have not been read yet\n");
}

TEST_CASE("monitor pages: one can listen to all jobs and to one that there is") {
  ShownMonitor monitor({MadeUpJob{}});
  CHECK(monitor.get("/events").topic == "all");
  CHECK(monitor.get("/events", {{"topic", "job/llama-70b"}}).topic == job_topic("llama-70b"));
  const HttpResponse nobody = monitor.get("/events", {{"topic", "job/x"}});
  CHECK(nobody.status == 404);
  CHECK(nobody.topic.empty());
  CHECK(has(nobody.body, "the parameter topic must be all, or job/NAME with the name of an existing job"));
}

TEST_CASE("monitor pages: a step whose rows are kept has a timeline and rows, gzipped") {
  ShownMonitor monitor({MadeUpJob{}});
  for (const char* file : {"timeline.json.gz", "rows.csv.gz"}) {
    INFO(file);
    const HttpResponse response = monitor.get(std::string("/jobs/llama-70b/steps/0/39/") + file);
    REQUIRE(response.status == 200);
    CHECK(response.content_type == "application/gzip");
    CHECK(response.body.starts_with("\x1f\x8b"));
    CHECK(response.headers[0].second == std::string("attachment; filename=\"step-0-39.") + file + "\"");
  }
}

TEST_CASE("monitor pages: of too many ops no timeline is made, and it is said what to do") {
  ShownMonitor monitor({MadeUpJob{}});
  monitor.options.most_timeline_ops = 100;
  const HttpResponse response = monitor.get("/jobs/llama-70b/steps/0/39/timeline.json.gz");
  CHECK(response.status == 413);
  // 16 workers of 194 ops.
  CHECK(has(response.body, "This step has 3104 ops, which is too many for a browser. Write its rows with "));
  CHECK(has(monitor.get("/jobs/llama-70b/steps/0/39").body,
            "This step has 3,104 ops, which is too many for a browser."));
}

TEST_CASE("monitor pages: large pages are gzipped for those who take it") {
  using Header = std::pair<std::string, std::string>;
  ShownMonitor monitor({MadeUpJob{}});
  HttpRequest request;
  request.method = "GET";
  request.path = "/jobs/llama-70b";
  MonitorPages pages(monitor.status, monitor.options, [&] { return monitor.now_s; });
  for (const char* accepted : {"", "br", "identity", "br, gzip;q=0", "gzip;q=0.000", "GZIP ; Q=0", "*;q=0",
                               "gzip;q=0, *", "*, gzip;q=0", "notgzip"}) {
    CAPTURE(accepted);
    request.headers["accept-encoding"] = accepted;
    const HttpResponse page = pages.respond(request);
    CHECK(page.body.starts_with("<!doctype html>"));
    CHECK(std::ranges::count(page.headers, Header("Content-Encoding", "gzip")) == 0);
    CHECK(std::ranges::count(page.headers, Header("Vary", "Accept-Encoding")) == 1);
  }
  for (const char* accepted : {"br, gzip", "gzip", "GZip;q=0.1", "*", "*;q=0, gzip", "identity;q=0,\tgzip",
                               "x-gzip", "br;q=0, *;q=0.5"}) {
    CAPTURE(accepted);
    request.headers["accept-encoding"] = accepted;
    const HttpResponse page = pages.respond(request);
    CHECK(page.body.starts_with("\x1f\x8b"));
    CHECK(std::ranges::count(page.headers, Header("Content-Encoding", "gzip")) == 1);
    CHECK(std::ranges::count(page.headers, Header("Vary", "Accept-Encoding")) == 1);
  }
}

TEST_CASE("monitor pages: styles and script may be kept for good under their version") {
  ShownMonitor monitor({MadeUpJob{}});
  const HttpResponse style = monitor.get("/static/monitor.css");
  CHECK(style.content_type == "text/css; charset=utf-8");
  CHECK(has(style.body, "--accent: #0f5c57;"));
  CHECK(has(style.body, "@media (prefers-color-scheme: dark)"));
  CHECK(has(style.headers[0].second, "immutable"));
  CHECK(has(monitor.get("/static/monitor.js").body, "EventSource"));
}

}  // namespace
}  // namespace goodput
