// /api/v1: the same as the pages for programs, goodput.monitor/2 (docs/formats/monitor-api.md).
#pragma once

#include "sim/base/errors.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/shown_job.h"
#include "tools/web/http_message.h"

namespace goodput {

// REQUIRES: route.is_api. What there is not is a 404, a parameter that makes no sense a 400.
Result<HttpResponse> api_response(PageContext& context, const PageRoute& route, const HttpRequest& request);

// One incident, as GET and every action on it answer.
[[nodiscard]] HttpResponse incident_response(const PageContext& context, const Incident& incident);

}  // namespace goodput
