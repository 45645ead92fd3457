// The pages of a monitor, one a function. All of them answer 404 themselves where there is no such thing.
#pragma once

#include "sim/base/errors.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/shown_job.h"
#include "tools/web/http_message.h"

namespace goodput {

Result<HttpResponse> jobs_page(PageContext& context);
Result<HttpResponse> job_page(PageContext& context, const PageRoute& route, const HttpRequest& request);
Result<HttpResponse> step_page(PageContext& context, const PageRoute& route);
// /jobs/NAME/steps?run=R&step=S: on to that step, or the latest one before it that there is.
Result<HttpResponse> find_step(PageContext& context, const PageRoute& route, const HttpRequest& request);
Result<HttpResponse> worker_page(PageContext& context, const PageRoute& route);
Result<HttpResponse> incidents_page(PageContext& context);
Result<HttpResponse> incident_page(PageContext& context, const PageRoute& route, const HttpRequest& request);

}  // namespace goodput
