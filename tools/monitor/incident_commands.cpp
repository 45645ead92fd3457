#include "tools/monitor/incident_commands.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/quantities.h"
#include "tools/alerting/alerting_config.h"
#include "tools/monitor_pages/markup.h"
#include "tools/web/access.h"

namespace goodput {
namespace {

constexpr long kTimeoutS = 40;
constexpr std::size_t kMaxAnswerBytes = std::size_t{16} << 20;

struct ApiAnswer {
  long status = 0;
  Json json;
};

struct FreeHeaders {
  void operator()(curl_slist* headers) const { curl_slist_free_all(headers); }
};
using ApiHeaders = std::unique_ptr<curl_slist, FreeHeaders>;

void add_header(ApiHeaders& headers, const std::string& line) {
  curl_slist* const first = headers.release();
  headers.reset(curl_slist_append(first, line.c_str()));
}

// Of libcurl: fewer bytes than there were end the transfer.
std::size_t append_answer(const char* data, std::size_t size, std::size_t count, void* into) {
  auto& text = *static_cast<std::string*>(into);
  if (text.size() + size * count > kMaxAnswerBytes) return 0;
  text.append(data, size * count);
  return size * count;
}

// POSTs `body`, or GETs without one.
Result<ApiAnswer> call_api(const std::string& url, const std::optional<AccessToken>& token,
                           const std::optional<Json>& body) {
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl_easy_init(), curl_easy_cleanup);
  if (!handle) return Error{"out of memory while opening a connection"};
  ApiHeaders headers;
  add_header(headers, "Content-Type: application/json");
  if (token) add_header(headers, "Authorization: " + token->bearer());
  std::string text;
  curl_easy_setopt(handle.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT, kTimeoutS);
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle.get(), CURLOPT_USERAGENT, "goodput");
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, append_answer);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &text);
  const std::string sent = body ? body->dump() : "";
  if (body) curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDS, sent.c_str());
  const CURLcode code = curl_easy_perform(handle.get());
  if (code != CURLE_OK) {
    return Error{fmt::format("{}: {}; pass the address of a running monitor with --url", url,
                             curl_easy_strerror(code))};
  }
  ApiAnswer answer;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  try {
    answer.json = Json::parse(text);
    if (answer.status >= 200 && answer.status < 300) return answer;
    return Error{fmt::format("{}: {}", url, on_one_line(answer.json.at("error").get<std::string>()))};
  } catch (const JsonError&) {
    return Error{fmt::format("{}: the reply (status {}) is not from a goodput monitor; check --url", url,
                             answer.status)};
  }
}

std::string user_name() {
  const passwd* user = getpwuid(getuid());
  return user == nullptr ? "" : user->pw_name;
}

std::string line_of(const Json& incident) {
  return fmt::format("{}  {}, opened at step {}  {}: {}", incident.at("key").get<std::string>(),
                     incident.at("state").get<std::string>(), incident.at("opened_step").get<std::int64_t>(),
                     incident.at("job").get<std::string>(), incident.at("sentence").get<std::string>());
}

}  // namespace

void IncidentCommands::add(Options& options, const std::string& name, const std::string& summary,
                           std::optional<IncidentAction::Kind> action) {
  Options subcommand = options.add_optional_subcommand(name, summary);
  if (action)
    subcommand
        .add("incident", arguments_.incident, "KEY", "Key of the incident, as shown in messages and on pages")
        .required();
  subcommand.add("--url", arguments_.url, "URL",
                 fmt::format("Address of the running monitor (default {})", arguments_.url));
  subcommand.add("--token-file", arguments_.token_file, "FILE", "File with the monitor's access token")
      .input();
  if (action)
    subcommand.add("--by", arguments_.by, "NAME",
                   "Your name, recorded with the action (default: your user name)");
  if (action == IncidentAction::Kind::kMute)
    subcommand
        .add("--for", arguments_.duration, "TIME", "How long to mute the incident, such as 90m, 4h or 7d")
        .required();
  if (!action) subcommand.add_flag("--all", arguments_.shows_closed, "Include closed incidents");
  subcommands_.push_back({action, subcommand});
}

void IncidentCommands::add_to(Options& options) {
  using Kind = IncidentAction::Kind;
  add(options, "incidents", "List the open incidents of a running monitor", std::nullopt);
  add(options, "acknowledge", "Record that you are working on an incident", Kind::kAcknowledge);
  add(options, "mute", "Mute messages about an incident for a given time", Kind::kMute);
  add(options, "end", "Close an incident", Kind::kEnd);
}

bool IncidentCommands::are_chosen() const {
  return std::ranges::any_of(subcommands_, [](const Subcommand& one) { return one.options.are_chosen(); });
}

Result<ExitCode> IncidentCommands::run(const CommandContext& context) const {
  if (const std::string fault = fault_of_url(arguments_.url); !fault.empty())
    return Error{fmt::format("{}: {}", in_quotes(arguments_.url), fault)}.of_option("url");
  for (const Subcommand& one : subcommands_) {
    if (!one.options.are_chosen()) continue;
    return one.action ? act(*one.action, context) : list(context);
  }
  return Error{"no subcommand was given"};
}

Result<ExitCode> IncidentCommands::list(const CommandContext& context) const {
  std::optional<AccessToken> token;
  if (!arguments_.token_file.empty()) {
    GOODPUT_TRY(token, AccessToken::read(arguments_.token_file));
  }
  const std::string path = arguments_.shows_closed ? "/api/v1/incidents" : "/api/v1/incidents?open=1";
  GOODPUT_TRY(const ApiAnswer answer, call_api(arguments_.url + path, token, std::nullopt));
  try {
    const Json& incidents = answer.json.at("incidents");
    for (const Json& incident : incidents) context.print(on_one_line(line_of(incident)) + "\n");
    if (incidents.empty())
      context.print(arguments_.shows_closed ? "No incidents.\n" : "No open incidents.\n");
  } catch (const JsonError&) {
    return Error{fmt::format(
        "{}: the reply does not match this version of goodput; use the same version as the monitor",
        arguments_.url)};
  }
  return ExitCode::kOk;
}

Result<ExitCode> IncidentCommands::act(IncidentAction::Kind action, const CommandContext& context) const {
  if (arguments_.token_file.empty()) {
    return Error{
        fmt::format("{} is required: changing an incident needs the monitor's access token", kOption)}
        .of_option("token_file");
  }
  GOODPUT_TRY(const std::optional<AccessToken> token, AccessToken::read(arguments_.token_file));
  const std::string by = arguments_.by.empty() ? user_name() : arguments_.by;
  if (by.empty())
    return Error{fmt::format("{} is required: your user name cannot be determined", kOption)}.of_option("by");
  Json body = {{"by", by}};
  if (action == IncidentAction::Kind::kMute) {
    if (const Result<SimDuration> duration = parse_duration(arguments_.duration); !duration)
      return duration.error().of_option("for");
    body["for"] = arguments_.duration;
  }
  const std::string_view verb = kIncidentActions[static_cast<std::size_t>(action)];
  GOODPUT_TRY(const ApiAnswer answer, call_api(fmt::format("{}/api/v1/incidents/{}/{}", arguments_.url,
                                                           url_segment(arguments_.incident), verb),
                                               token, body));
  try {
    context.print(on_one_line(line_of(answer.json.at("incident"))) + "\n");
  } catch (const JsonError&) {
    return Error{fmt::format(
        "{}: the reply does not match this version of goodput; use the same version as the monitor",
        arguments_.url)};
  }
  return ExitCode::kOk;
}

}  // namespace goodput
