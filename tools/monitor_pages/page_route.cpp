#include "tools/monitor_pages/page_route.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "tools/monitor_pages/markup.h"
#include "tools/web/request_target.h"

namespace goodput {
namespace {

using Kind = PageRoute::Kind;

constexpr std::string_view kApi = "/api/v1";

std::optional<std::int32_t> small_integer(std::string_view text) {
  const std::optional<std::int64_t> value = parse_integer(text);
  if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

// What may stand behind a step.
Kind kind_of_step_part(std::string_view part) {
  if (part == "map") return Kind::kMap;
  if (part == "timeline.json.gz") return Kind::kTimeline;
  if (part == "rows.csv.gz") return Kind::kRows;
  return Kind::kNone;
}

// `parts` ends in steps, RUN, STEP and perhaps something of that step; how many parts that were, or 0.
std::size_t read_step(std::span<const std::string_view> parts, PageRoute& route) {
  const std::size_t size = parts.size();
  const Kind behind = size == 0 ? Kind::kNone : kind_of_step_part(parts[size - 1]);
  const std::size_t count = behind == Kind::kNone ? 3 : 4;
  if (size < count || parts[size - count] != "steps") return 0;
  const std::optional<std::int32_t> run = small_integer(parts[size - count + 1]);
  const std::optional<std::int64_t> step = parse_integer(parts[size - count + 2]);
  if (!run || !step) return 0;
  route.kind = behind == Kind::kNone ? Kind::kStep : behind;
  route.step = {*run, *step};
  return count;
}

std::size_t read_worker(std::span<const std::string_view> parts, PageRoute& route) {
  const std::size_t size = parts.size();
  if (size < 3 || parts[size - 3] != "workers") return 0;
  const std::optional<std::int32_t> dp_rank = small_integer(parts[size - 2]);
  const std::optional<std::int32_t> stage = small_integer(parts[size - 1]);
  if (!dp_rank || !stage) return 0;
  route.kind = Kind::kWorker;
  route.dp_rank = *dp_rank;
  route.stage = *stage;
  return 3;
}

// Of what stands behind /jobs/; the name of the job is what is left of what has a meaning.
PageRoute route_of_job(std::span<const std::string_view> parts) {
  PageRoute route;
  route.kind = Kind::kJob;
  std::size_t behind = 0;
  if (parts.size() > 1) {
    const std::span<const std::string_view> further = parts.subspan(1);
    behind = read_step(further, route);
    if (behind == 0) behind = read_worker(further, route);
    if (behind == 0 && further.back() == "steps") {
      route.kind = Kind::kSteps;
      behind = 1;
    }
  }
  for (std::size_t i = 0; i + behind < parts.size(); ++i) {
    if (i > 0) route.job += '/';
    route.job += parts[i];
  }
  if (route.job.empty()) route.kind = Kind::kNone;
  return route;
}

PageRoute route_of_kind(Kind kind) {
  PageRoute route;
  route.kind = kind;
  return route;
}

// `parts`: what follows /incidents.
PageRoute route_of_incident(std::span<const std::string_view> parts) {
  if (parts.empty()) return route_of_kind(Kind::kIncidents);
  if (parts[0].empty() || parts.size() > 2) return {};
  PageRoute route = route_of_kind(Kind::kIncident);
  route.incident = parts[0];
  if (parts.size() == 1) return route;
  const auto action = std::ranges::find(kIncidentActions, parts[1]);
  if (action == std::end(kIncidentActions)) return {};
  route.kind = Kind::kIncidentAction;
  route.action = static_cast<IncidentAction::Kind>(action - std::begin(kIncidentActions));
  return route;
}

// Of what there is as a page and below /api/v1.
PageRoute route_of_content(std::string_view path) {
  const std::vector<std::string_view> parts = split(path.substr(1), '/');
  if (path == "/" || path == "/jobs") return route_of_kind(Kind::kJobs);
  if (parts[0] == "jobs") return route_of_job(std::span(parts).subspan(1));
  if (parts[0] == "incidents") return route_of_incident(std::span(parts).subspan(1));
  return {};
}

}  // namespace

PageRoute route_of(std::string_view path) {
  if (!path.starts_with('/')) return {};
  static constexpr std::pair<std::string_view, Kind> kFixed[] = {{"/metrics", Kind::kMetrics},
                                                                 {"/healthz", Kind::kHealth},
                                                                 {"/readyz", Kind::kReady},
                                                                 {"/events", Kind::kEvents}};
  for (const auto& [name, kind] : kFixed) {
    if (path == name) return route_of_kind(kind);
  }
  constexpr std::string_view kStatic = "/static/";
  if (path.starts_with(kStatic)) {
    PageRoute route = route_of_kind(Kind::kAsset);
    route.asset = path.substr(kStatic.size());
    return route;
  }
  const bool is_api = path == kApi || path.starts_with("/api/v1/");
  if (is_api) path.remove_prefix(kApi.size());
  PageRoute route =
      is_api && (path.empty() || path == "/") ? route_of_kind(Kind::kIndex) : route_of_content(path);
  // A form on the page of an incident names the action in a field.
  if (!is_api && route.kind == Kind::kIncidentAction) return {};
  route.is_api = is_api;
  return route;
}

bool has_job_page(std::string_view name) {
  const auto leads_to = [name](const std::string& link, Kind kind) {
    const std::optional<RequestTarget> target = parse_request_target(link);
    if (!target) return false;
    const PageRoute route = route_of(target->path);
    return route.kind == kind && route.job == name;
  };
  return leads_to(job_link(name), Kind::kJob) && leads_to(step_link(name, {}), Kind::kStep);
}

// A slash in a name stays one: proxies and servers disagree about %2F, and route_of() takes it.
std::string job_link(std::string_view job) {
  std::string link = "/jobs";
  for (const std::string_view part : split(job, '/')) link += "/" + url_segment(part);
  return link;
}

std::string step_link(std::string_view job, StepId step) {
  return fmt::format("{}/steps/{}/{}", job_link(job), step.run, step.step);
}

std::string worker_link(std::string_view job, std::int32_t dp_rank, std::int32_t stage) {
  return fmt::format("{}/workers/{}/{}", job_link(job), dp_rank, stage);
}

std::string incident_link(std::string_view key) {
  return "/incidents/" + url_segment(key);
}

}  // namespace goodput
