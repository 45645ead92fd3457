#include "tools/monitor_pages/page_route.h"

#include <doctest/doctest.h>

namespace goodput {
namespace {

using Kind = PageRoute::Kind;

TEST_CASE("page route: every page has its path") {
  CHECK(route_of("/").kind == Kind::kJobs);
  CHECK(route_of("/jobs").kind == Kind::kJobs);
  CHECK(route_of("/incidents").kind == Kind::kIncidents);
  CHECK(route_of("/incidents/goodput-12").kind == Kind::kIncident);
  CHECK(route_of("/incidents/goodput-12").incident == "goodput-12");
  CHECK(route_of("/metrics").kind == Kind::kMetrics);
  CHECK(route_of("/healthz").kind == Kind::kHealth);
  CHECK(route_of("/readyz").kind == Kind::kReady);
  CHECK(route_of("/events").kind == Kind::kEvents);
  CHECK(route_of("/static/monitor.css").asset == "monitor.css");
  const PageRoute step = route_of("/jobs/a/steps/1/-20/timeline.json.gz");
  CHECK(step.kind == Kind::kTimeline);
  CHECK(step.job == "a");
  CHECK(step.step == StepId{1, -20});
  const PageRoute worker = route_of("/jobs/a/workers/127/63");
  CHECK(worker.kind == Kind::kWorker);
  CHECK(worker.dp_rank == 127);
  CHECK(worker.stage == 63);
}

TEST_CASE("page route: the API has the same paths below /api/v1") {
  CHECK(route_of("/api/v1").kind == Kind::kIndex);
  CHECK(route_of("/api/v1/").kind == Kind::kIndex);
  const PageRoute map = route_of("/api/v1/jobs/a/steps/0/5/map");
  CHECK(map.is_api);
  CHECK(map.kind == Kind::kMap);
  CHECK(route_of("/api/v1/jobs/a/steps").kind == Kind::kSteps);
  const PageRoute mute = route_of("/api/v1/incidents/goodput-12/mute");
  CHECK(mute.kind == Kind::kIncidentAction);
  CHECK(mute.incident == "goodput-12");
  CHECK(mute.action == IncidentAction::Kind::kMute);
  CHECK(!route_of("/api/v2/jobs").is_api);
  CHECK(route_of("/api/v2/jobs").kind == Kind::kNone);
}

TEST_CASE("page route: the path of an action belongs to the API only") {
  CHECK(route_of("/incidents/goodput-12/mute").kind == Kind::kNone);
}

TEST_CASE("page route: a name may be any text, also with slashes and words that mean something") {
  CHECK(route_of("/jobs/team/llama/steps/0/5").job == "team/llama");
  CHECK(route_of("/jobs/steps").kind == Kind::kJob);
  CHECK(route_of("/jobs/steps/steps/0/5").job == "steps");
  CHECK(route_of("/jobs/workers/1/2").kind == Kind::kJob);
  CHECK(route_of("/jobs/workers/1/2").job == "workers/1/2");
  CHECK(job_link("team/a b") == "/jobs/team/a%20b");
  CHECK(step_link("a", {2, 7}) == "/jobs/a/steps/2/7");
  CHECK(worker_link("a", 3, 4) == "/jobs/a/workers/3/4");
  CHECK(incident_link("goodput-12") == "/incidents/goodput-12");
}

TEST_CASE("page route: the names of jobs are those whose links lead to their pages") {
  for (const char* name : {"a", "a/b", "steps", "workers", "steps/0/5", "workers/1/2", "a/steps/x",
                           "a/steps/0", "a b?c#d%2F", ".a", "...", "a/workers", "\xe4\xbd\x9c"}) {
    CAPTURE(name);
    CHECK(has_job_page(name));
  }
  for (const char* name : {"", ".", "..", "/", "a//b", "/a", "a/", "a/../b", "./a", "a\\b", "a\n", "a\xff",
                           "x/steps", "x/steps/0/5", "x/steps/0/5/map", "a/workers/1/1"}) {
    CAPTURE(name);
    CHECK(!has_job_page(name));
  }
}

TEST_CASE("page route: numbers that are none, or too large, are no page of a step") {
  CHECK(route_of("/jobs/a/steps/x/5").kind == Kind::kJob);
  CHECK(route_of("/jobs/a/steps/4294967296/5").kind == Kind::kJob);
  CHECK(route_of("/jobs/a/workers/-1/5").kind == Kind::kJob);
  CHECK(route_of("/incidents/").kind == Kind::kNone);
  CHECK(route_of("/api/v1/incidents/goodput-12/close").kind == Kind::kNone);
  CHECK(route_of("/api/v1/incidents/goodput-12/end/2").kind == Kind::kNone);
  CHECK(route_of("/jobs/").kind == Kind::kNone);
  CHECK(route_of("").kind == Kind::kNone);
}

}  // namespace
}  // namespace goodput
