// What people do to incidents: POST from the forms of their pages, and below /api/v1.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/errors.h"
#include "sim/live/incident.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_pages/shown_job.h"
#include "tools/web/access.h"
#include "tools/web/http_message.h"

namespace goodput {

// Whether a POST to this path does something to an incident.
[[nodiscard]] bool takes_actions(const PageRoute& route);

// For the gate of the server, before the body is read: what is wrong with a request that takes_actions(). 401
// and 403 as refuse_action(), 411 and 413 as refuse_large_form(). Nothing: it may come.
[[nodiscard]] std::optional<HttpResponse> refuse_incident_action(const std::optional<AccessToken>& token,
                                                                 const HttpRequest& without_body,
                                                                 const std::vector<std::string>& own_origins);

// What became of an action: the incident after it, or what to answer instead.
using ActionOutcome = std::variant<Incident, HttpResponse>;

// Performs what a form, or a JSON object, asks for: `by`, of a mute `for`, and of the form of a page
// `action`. Refusals: 400 for other fields and values, 403 if nobody may do anything, 404 without such an
// incident, 409 if it is closed, 503 while the monitor starts or shuts down. REQUIRES: takes_actions(route);
// the gate let the request in.
[[nodiscard]] Result<ActionOutcome> perform_action(PageContext& context, const PageRoute& route,
                                                   const HttpRequest& request);

}  // namespace goodput
