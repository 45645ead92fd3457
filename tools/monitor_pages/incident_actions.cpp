#include "tools/monitor_pages/incident_actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/base/units.h"
#include "sim/config/quantities.h"
#include "tools/monitor_pages/page_frame.h"
#include "tools/web/form.h"
#include "tools/web/url_encoding.h"

namespace goodput {
namespace {

constexpr std::size_t kMaxNameBytes = 100;
constexpr double kMinMuteS = 60;
constexpr double kMaxMuteS = 30.0 * 86'400;

Result<FormFields> read_json_fields(const HttpRequest& request) {
  const Error wanted{R"(the body must be a JSON object of strings, such as {"by": "ann", "for": "4h"})"};
  FormFields fields;
  try {
    const Json json = Json::parse(request.body);
    if (!json.is_object()) return wanted;
    for (auto member = json.begin(); member != json.end(); ++member) {
      if (!member->is_string()) return wanted;
      fields.emplace(member.key(), member->get<std::string>());
    }
  } catch (const JsonError&) {
    return wanted;
  }
  return fields;
}

Result<FormFields> read_fields(const HttpRequest& request) {
  const std::string_view type = media_type(request.header("content-type"));
  if (equals_lower("application/json", type)) return read_json_fields(request);
  if (equals_lower(kFormType, type) || request.body.empty()) return parse_form(request);
  return Error{fmt::format("Content-Type must be {} or application/json", kFormType)};
}

// Takes the field out, so that those which are left are unknown. Absent: empty.
std::string take_field(FormFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  if (found == fields.end()) return {};
  std::string value = std::move(found->second);
  fields.erase(found);
  return value;
}

Result<IncidentAction::Kind> read_kind(const PageRoute& route, FormFields& fields) {
  if (route.is_api) return route.action;
  const std::string name = take_field(fields, "action");
  const auto found = std::ranges::find(kIncidentActions, name);
  if (found == std::end(kIncidentActions))
    return Error{fmt::format("\"action\" must be acknowledge, mute or end, not {}", in_quotes(name))};
  return static_cast<IncidentAction::Kind>(found - std::begin(kIncidentActions));
}

Result<std::string> read_name(std::string text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text.erase(0, begin);
  text.erase(text.find_last_not_of(' ') + 1);
  if (text.empty()) return Error{"\"by\" is missing or empty; set it to your name"};
  if (text.size() > kMaxNameBytes || !is_plain_text(text)) {
    return Error{fmt::format("\"by\" must be a name of at most {} bytes on one line, not {}", kMaxNameBytes,
                             in_quotes(text))};
  }
  return text;
}

Result<double> read_mute_s(const std::string& text) {
  const Result<SimDuration> duration = parse_duration(text);
  const double seconds = duration ? to_seconds(*duration) : 0;
  if (seconds >= kMinMuteS && seconds <= kMaxMuteS) return seconds;
  return Error{fmt::format("\"for\" must be a duration from 1m to 30d, such as 30m, 4h or 7d, not {}",
                           in_quotes(text))};
}

Result<IncidentAction> read_action(const PageRoute& route, const HttpRequest& request) {
  GOODPUT_TRY(FormFields fields, read_fields(request));
  IncidentAction action;
  action.incident = route.incident;
  GOODPUT_TRY(action.kind, read_kind(route, fields));
  GOODPUT_TRY(action.by, read_name(take_field(fields, "by")));
  const bool is_mute = action.kind == IncidentAction::Kind::kMute;
  if (is_mute) {
    GOODPUT_TRY(action.mute_s, read_mute_s(take_field(fields, "for")));
  }
  if (fields.empty()) return action;
  return Error{fmt::format("unknown field {}; allowed: {}", in_quotes(fields.begin()->first),
                           is_mute ? R"("by" and "for")" : R"("by")")};
}

}  // namespace

bool takes_actions(const PageRoute& route) {
  return route.kind == PageRoute::Kind::kIncidentAction ||
         (route.kind == PageRoute::Kind::kIncident && !route.is_api);
}

std::optional<HttpResponse> refuse_incident_action(const std::optional<AccessToken>& token,
                                                   const HttpRequest& without_body,
                                                   const std::vector<std::string>& own_origins) {
  if (std::optional<HttpResponse> refusal = refuse_action(token, without_body, own_origins)) return refusal;
  return refuse_large_form(without_body);
}

Result<ActionOutcome> perform_action(PageContext& context, const PageRoute& route,
                                     const HttpRequest& request) {
  const auto refusal = [&route](int status, std::string_view what) {
    return ActionOutcome(route.is_api ? plain_error(status, what) : error_page(status, what));
  };
  if (!context.options.act) return refusal(403, "start the monitor with --token-file to allow this");
  const Result<IncidentAction> action = read_action(route, request);
  if (!action) return refusal(400, action.error().message());
  GOODPUT_TRY(const std::optional<Incident> before, context.store.incident(route.incident));
  if (!before) return refusal(404, "there is no such incident, or it is no longer stored");
  constexpr std::string_view kClosed = "this incident is already closed";
  if (!before->is_open()) return refusal(409, kClosed);
  const std::unique_lock<std::mutex> turn = context.actions.enter();
  if (!turn.owns_lock()) return refusal(503, "another action is in progress; try again in a few seconds");
  const Result<std::optional<Incident>> after = context.options.act(*action);
  if (!after) return refusal(503, after.error().message());
  if (!*after) return refusal(409, kClosed);
  return ActionOutcome(**after);
}

}  // namespace goodput
