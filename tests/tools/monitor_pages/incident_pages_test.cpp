#include <doctest/doctest.h>

#include <string>

#include "tests/tools/monitor_pages/shown_monitor.h"

namespace goodput {
namespace {

using testing::MadeUpJob;
using testing::ShownMonitor;

bool shows(const std::string& html, std::string_view what) {
  return html.find(what) != std::string::npos;
}

// The made-up incident of the job, its page, and what may be changed of it.
struct ShownIncident {
  ShownMonitor monitor{{MadeUpJob{}}};
  std::string key = testing::incident_key_of(MadeUpJob{});

  [[nodiscard]] Incident stored() const { return monitor.incident(key); }
  [[nodiscard]] std::string page() { return monitor.get("/incidents/" + key).body; }
};

TEST_CASE(
    "incident pages: the page of an incident begins with its verdict, its cost and what to check next") {
  ShownIncident shown;
  const std::string page = shown.page();
  const std::string sentence = shown.stored().verdict.sentence;
  CHECK(shows(page, "<title>llama-70b: " + sentence));
  const std::size_t heading = page.find("<h1>" + sentence + "</h1>");
  const std::size_t cost = page.find(" s per step, $2,346 per day");
  const std::size_t check = page.find(
      "<dt>Check next</dt><dd><span class=\"value\">clocks, temperatures and ECC errors of the GPUs");
  const std::size_t facts = page.find("<h2>Facts</h2>");
  CHECK(heading < cost);
  CHECK(cost < check);
  CHECK(check < facts);
  CHECK(facts != std::string::npos);
}

TEST_CASE("incident pages: the facts name the subject, the severity, the state, the steps and the evidence") {
  ShownIncident shown;
  const std::string page = shown.page();
  CHECK(shows(
      page,
      "worker <a href=\"/jobs/llama-70b/workers/2/1\"><bdi>dp 2 stage 1 (rank 72, host node0009)</bdi>"));
  CHECK(shows(page, "<td class=\"long\">error</td>"));
  CHECK(shows(page, "<span class=\"state attention\">open</span>"));
  // The result of step 22 came at 1,700,000,000 + 220 + 9.4 s, 170.6 s before the end of step 39.
  CHECK(shows(page,
              "2023-11-14 22:17:09 UTC</time>, at <a href=\"/jobs/llama-70b/steps/0/22\">step 22</a>, 2 min "
              "51 s ago"));
  CHECK(shows(page,
              "<bdi>slow-worker</bdi></th><td><bdi>worker-fault</bdi></td><td>error</td>"
              "<td><a href=\"/jobs/llama-70b/steps/0/22\">step 22</a></td><td>yes</td>"));
  CHECK(shows(page, "<td><bdi>unexplained</bdi></td><td>warning</td>"));
  CHECK(shows(page, "<code>goodput whatif rows.csv.gz --fix \"worker=2:1\"</code>"));
}

TEST_CASE("incident pages: a cost and a check that are not known are left out") {
  ShownIncident shown;
  Incident incident = shown.stored();
  incident.verdict.cost.reset();
  incident.usd_per_day.reset();
  incident.verdict.next_check.clear();
  incident.verdict.fix.clear();
  shown.monitor.change(incident);
  const std::string page = shown.page();
  CHECK(!shows(page, "<dt>Cost</dt>"));
  CHECK(!shows(page, "<dt>Check next</dt>"));
  CHECK(!shows(page, "goodput whatif"));
  CHECK(shows(shown.monitor.get("/incidents").body, "<td>–</td></tr>"));
}

TEST_CASE("incident pages: a price that is not known leaves the seconds") {
  ShownIncident shown;
  Incident incident = shown.stored();
  incident.usd_per_day.reset();
  shown.monitor.change(incident);
  const std::string page = shown.page();
  CHECK(shows(page, " s per step</span>"));
  CHECK(!shows(page, "per day"));
}

TEST_CASE("incident pages: an incident that later steps hide says where it was last visible") {
  ShownIncident shown;
  CHECK(!shows(shown.page(), "last seen"));  // the latest analyzed step, 39, shows it
  Incident incident = shown.stored();
  incident.last_seen = {0, 31};
  shown.monitor.change(incident);
  CHECK(shows(shown.page(), "<td class=\"long\">at <a href=\"/jobs/llama-70b/steps/0/31\">step 31</a>"));
}

TEST_CASE("incident pages: subjects other than a worker are named") {
  ShownIncident shown;
  Incident incident = shown.stored();
  const auto named = [&](Verdict::Subject subject, std::string_view text) {
    incident.verdict.subject = std::move(subject);
    shown.monitor.change(incident);
    return shows(shown.page(), text);
  };
  CHECK(named({"host", "host:a:1"}, "<td class=\"long\">host <bdi>a:1</bdi></td>"));
  CHECK(named({"replica", "replica:3"}, "<td class=\"long\">replica <bdi>3</bdi></td>"));
  CHECK(named({"job", "job:silence"}, "<td class=\"long\">the whole job</td>"));
  incident.verdict.link = Verdict::Link{1, 2, 0};
  CHECK(named({"link", "link:0:1-2"}, "<td class=\"long\">link between stages 1 and 2 of replica 0</td>"));
  incident.verdict.link = Verdict::Link{1, 2, {}};
  CHECK(named({"link", "link:all:1-2"}, "link between stages 1 and 2 in all replicas</td>"));
  incident.verdict.workers.assign(9, incident.verdict.workers.front());
  CHECK(named({"host", "host:a"}, "</bdi></a> and 1 more</td>"));  // 8 of them are listed
}

TEST_CASE("incident pages: a closed incident says when, by whom, and which incident it is part of") {
  ShownIncident shown;
  Incident incident = shown.stored();
  incident.closed_at = StepId{0, 30};
  incident.closed_s = incident.opened_s + 80;
  incident.closed_by = "ann <x>";
  shown.monitor.change(incident);
  std::string page = shown.page();
  CHECK(shows(page, "<span class=\"state quiet\">closed</span> 90.6 s ago by <bdi>ann &lt;x&gt;</bdi>"));
  CHECK(shows(page, "step 30</a>, after 80.0 s, by <bdi>ann &lt;x&gt;</bdi>"));
  CHECK(!shows(page, "<h2>Actions</h2>"));
  CHECK(shows(shown.monitor.get("/incidents").body, "<h1>No incident is open</h1>"));
  incident.closed_by.clear();
  incident.merged_into = "goodput-12";
  shown.monitor.change(incident);
  page = shown.page();
  CHECK(shows(page, "<td class=\"long\"><a href=\"/incidents/goodput-12\"><bdi>goodput-12</bdi></a></td>"));
}

TEST_CASE("incident pages: an acknowledged incident names who works on it") {
  ShownIncident shown;
  Incident incident = shown.stored();
  incident.acknowledged = IncidentMark{"ann", shown.monitor.now_s - 120};
  shown.monitor.change(incident);
  CHECK(
      shows(shown.page(), "<span class=\"state fine\">acknowledged</span> by <bdi>ann</bdi> 2 min 0 s ago"));
  // The end of step 39 is 22:20:00.
  CHECK(shows(shown.page(), "by <bdi>ann</bdi> at <time datetime=\"2023-11-14T22:18:00Z\">"));
  CHECK(shows(shown.monitor.get("/").body, "1 of 1 job needs attention: 1 open incident"));
}

TEST_CASE("incident pages: a muted incident is shown but does not need attention until the mute is over") {
  ShownIncident shown;
  Incident incident = shown.stored();
  incident.muted = IncidentMute{"ann", shown.monitor.now_s, shown.monitor.now_s + 60};
  shown.monitor.change(incident);
  const std::string jobs = shown.monitor.get("/").body;
  CHECK(shows(jobs, "<h1>The job does not need attention: 1 muted incident</h1>"));
  CHECK(shows(jobs, "<td class=\"number\">0, 1 muted</td>"));
  CHECK(shows(jobs, incident.verdict.sentence));
  CHECK(shows(jobs,
              "<span class=\"state quiet\">muted</span> by <bdi>ann</bdi> until <time "
              "datetime=\"2023-11-14T22:21:00Z\">"));
  CHECK(shows(shown.monitor.get("/incidents").body, "<h1>1 incident is open and muted</h1>"));
  CHECK(!shows(shown.monitor.get("/jobs/llama-70b").body, "needs attention"));
  shown.monitor.now_s += 61;
  CHECK(shows(shown.monitor.get("/").body, "1 of 1 job needs attention: 1 open incident"));
}

TEST_CASE("incident pages: titles count the jobs and incidents that need attention") {
  MadeUpJob second;
  second.name = "second";
  MadeUpJob healthy;
  healthy.name = "healthy";
  healthy.slow_from = 1000;
  healthy.has_incomplete_step = false;
  ShownMonitor monitor({MadeUpJob{}, second, healthy});
  CHECK(shows(monitor.get("/").body, "<h1>2 of 3 jobs need attention: 2 open incidents</h1>"));
  CHECK(shows(monitor.get("/incidents").body, "<h1>2 incidents are open</h1>"));
  CHECK(
      shows(monitor.get("/jobs/second").body, "<h1><bdi>second</bdi> needs attention: 1 open incident</h1>"));
  // S is 1.012 to 1.016.
  const std::string healthy_page = monitor.get("/jobs/healthy").body;
  CHECK(shows(healthy_page, "<h1><bdi>healthy</bdi> loses 1."));
  CHECK(shows(healthy_page, " % of its time to stragglers; no likely cause was found</h1>"));
  Incident muted = monitor.incident(testing::incident_key_of(second));
  muted.muted = IncidentMute{"ann", monitor.now_s, monitor.now_s + 60};
  monitor.change(muted);
  CHECK(shows(monitor.get("/").body, "<h1>1 of 3 jobs needs attention: 1 open incident, 1 muted</h1>"));
  CHECK(shows(monitor.get("/incidents").body, "<h1>2 incidents are open, 1 of them muted</h1>"));
}

TEST_CASE("incident pages: a worker lists the incidents that are about it") {
  ShownIncident shown;
  CHECK(shows(shown.monitor.get("/jobs/llama-70b/workers/2/1").body, "/incidents/" + shown.key));
  CHECK(!shows(shown.monitor.get("/jobs/llama-70b/workers/1/2").body, "/incidents/" + shown.key));
}

TEST_CASE("incident pages: the forms of an open incident work without scripts and know the user's name") {
  ShownIncident shown;
  shown.monitor.let_act();
  HttpRequest request;
  request.method = "GET";
  request.path = "/incidents/" + shown.key;
  request.headers["authorization"] = "Basic YW5uOnRva2Vu";  // ann:token
  const std::string page = shown.monitor.respond(request).body;
  for (const char* action : {"acknowledge", "mute", "end"}) {
    INFO(action);
    CHECK(shows(page, "<form class=\"incident-action\" action=\"/incidents/" + shown.key +
                          "\" method=\"post\"><input type=\"hidden\" name=\"action\" value=\"" + action +
                          "\">"));
    CHECK(shows(page, std::string("id=\"") + action + "-by\" name=\"by\" value=\"ann\" required"));
  }
  for (const char* time : {"1h", "4h", "24h", "7d"})
    CHECK(shows(page, std::string("<option value=\"") + time + "\""));
  // A script that renews the page must leave what somebody types.
  CHECK(shows(page, "<section id=\"actions\">"));
}

TEST_CASE("incident pages: without a token the page says how to allow actions") {
  ShownIncident shown;
  const std::string page = shown.page();
  CHECK(shows(
      page, "Start the monitor with <code>--token-file</code> to acknowledge, mute or end incidents here."));
  CHECK(!shows(page, "<form"));
}

}  // namespace
}  // namespace goodput
