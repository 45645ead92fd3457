#include "tools/alerting/alerting_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

#include "sim/base/json.h"
#include "sim/base/registry.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

using config::Fields;
using config::Need;

constexpr double kLongestTryS = 300;
constexpr double kLongestRetryS = 86400;

// The variant with its alternative number `index`, as it is by default.
template <typename Variant, std::size_t... kIndices>
Variant default_of(std::size_t index, std::index_sequence<kIndices...> /*all*/) {
  Variant made;
  (static_cast<void>(index == kIndices && (made.template emplace<kIndices>(), true)), ...);
  return made;
}

// Which of the kinds an object is, by its key "kind".
Result<std::size_t> kind_of(const Json& value, const config::Place& place,
                            std::span<const std::string_view> kinds, std::string_view noun) {
  const std::string wanted = fmt::format("one of {}", fmt::join(kinds, ", "));
  if (!value.is_object())
    return place.not_wanted(value, fmt::format("an object with a \"kind\" ({})", wanted));
  const auto kind = value.find("kind");
  if (kind == value.end()) return place.at("kind").error("is missing; it must be " + wanted);
  if (!kind->is_string()) return place.at("kind").not_wanted(*kind, wanted);
  const auto found = index_of_name(kinds, noun, kind->get_ref<const std::string&>());
  if (!found) return place.at("kind").error(found.error().what);
  return *found;
}

// An object of a kind that was looked up already.
template <typename T>
config::ObjectAccess of_kind(T& value) {
  const auto fields = [&value] {
    Fields all = {{"kind",
                   Need::kRequired,
                   {"one of the kinds",
                    [](const Json&, config::Place&) -> Status { return Ok{}; },
                    [&value](OrderedJson& into) { into = value.kind(); },
                    {}},
                   "determines the other keys"}};
    for (config::Field& field : config_fields(value)) all.push_back(std::move(field));
    return all;
  };
  return {[] { return true; }, fields, [&value] { return config_finish(value); }};
}

// An object of objects, each with a name and a kind. `choice`: a pointer to the member with the kinds'
// variant.
template <typename T, typename Variant>
config::Value named_of_kinds(std::vector<T>& all, Variant T::*choice, std::span<const std::string_view> kinds,
                             std::string_view noun) {
  const std::string wanted = fmt::format("an object of {}s by name", noun);
  const auto read = [&all, choice, kinds, noun, wanted](const Json& value, config::Place& place) -> Status {
    if (!value.is_object()) return place.not_wanted(value, wanted);
    all.clear();
    for (const auto& [name, one] : value.items()) {
      config::Place at = place.at(name);
      if (std::string wrong = fault_of_name(name); !wrong.empty()) return at.error(std::move(wrong));
      GOODPUT_TRY(const std::size_t kind, kind_of(one, at, kinds, noun));
      T made;
      made.name = name;
      made.*choice = default_of<Variant>(kind, std::make_index_sequence<std::variant_size_v<Variant>>());
      GOODPUT_TRY_STATUS(config::object(of_kind(made)).read(one, at));
      all.push_back(std::move(made));
    }
    return Ok{};
  };
  const auto write = [&all](OrderedJson& into) {
    for (T& one : all) into[one.name] = config::write(of_kind(one).fields());
  };
  return {wanted, read, write, {}};
}

// Texts by name.
config::Value header_values(std::vector<std::pair<std::string, std::string>>& headers) {
  const std::string wanted = "an object of strings, such as {\"X-Team\": \"training\"}";
  const auto read = [&headers, wanted](const Json& value, config::Place& place) -> Status {
    if (!value.is_object()) return place.not_wanted(value, wanted);
    headers.clear();
    for (const auto& [name, text] : value.items()) {
      const config::Place at = place.at(name);
      if (!text.is_string()) return at.not_wanted(text, "a string");
      headers.emplace_back(name, text.get<std::string>());
    }
    return Ok{};
  };
  const auto write = [&headers](OrderedJson& into) {
    for (const auto& [name, text] : headers) into[name] = text;
  };
  return {wanted, read, write, {}};
}

config::Value command_words(std::vector<std::string>& command) {
  const std::string wanted = "an array of strings, such as [\"/usr/local/bin/page\", \"training\"]";
  const auto read = [&command, wanted](const Json& value, config::Place& place) -> Status {
    const bool are_texts = value.is_array() && !value.empty() &&
                           std::ranges::all_of(value, [](const auto& word) { return word.is_string(); });
    if (!are_texts) return place.not_wanted(value, wanted);
    command = value.get<std::vector<std::string>>();
    return Ok{};
  };
  const auto write = [&command](OrderedJson& into) {
    if (!command.empty()) into = command;
  };
  return {wanted, read, write, {}};
}

config::Range seconds_up_to(double most) {
  return {.least = 0, .most = most, .is_least_excluded = true};
}

Fields target_fields(WebhookSink& sink) {
  return {
      {"shape", Need::kOptional, config::choice(sink.shape, kWebhookShapes), "format of the messages"},
      {"url", Need::kOptional, config::text(sink.url), "http or https address to which messages are posted"},
      {"url_file", Need::kOptional, config::path(sink.url_file),
       "file whose only line is the URL; use it instead of `url` if the URL is secret"},
      {"headers", Need::kOptional, header_values(sink.headers), "additional HTTP headers, by name"},
      {"timeout_s", Need::kOptional, config::number(sink.timeout_s, seconds_up_to(kLongestTryS)),
       "time limit for one delivery attempt, in seconds"},
      {"secret_file", Need::kOptional, config::path(sink.secret_file),
       "file with the key that signs each body (HMAC-SHA256)"},
      {"bearer_token_file", Need::kOptional, config::path(sink.bearer_token_file),
       "file whose only line is the bearer token for the Authorization header"},
      {"routing_key_file", Need::kOptional, config::path(sink.routing_key_file),
       "file whose only line is PagerDuty's routing key; required if `shape` is \"pagerduty\""}};
}

Fields target_fields(StderrSink& /*sink*/) {
  return {};
}

Fields target_fields(ExecSink& sink) {
  return {{"command", Need::kRequired, command_words(sink.command),
           "program and its arguments; started without a shell"},
          {"timeout_s", Need::kOptional, config::number(sink.timeout_s, seconds_up_to(kLongestTryS)),
           "time limit for the program, in seconds; after that, the program and all processes that it "
           "started are killed"}};
}

bool is_token(const std::string& name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [kOthers](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

// A header that a line break would end, and another one begin.
Status check_headers(const WebhookSink& sink) {
  constexpr std::array<std::string_view, 5> kOwn = {"content-type", "content-length", "host",
                                                    "idempotency-key", "x-goodput-signature"};
  for (const auto& [name, text] : sink.headers) {
    const Where where{.pointer = "/headers/" + name};
    if (!is_token(name)) return Error{"contains an invalid header name", {.pointer = "/headers"}};
    if (on_one_line(text) != text) return Error{"contains control characters", where};
    for (const std::string_view own : kOwn) {
      if (equals_lower(own, name)) return Error{"is set by the monitor itself; leave it out", where};
    }
    if (!sink.bearer_token_file.empty() && equals_lower("authorization", name))
      return Error{"is already set by \"bearer_token_file\"; leave out the header or \"bearer_token_file\"",
                   where};
  }
  return Ok{};
}

Status check_target(const WebhookSink& sink) {
  if (sink.url.empty() == sink.url_file.empty())
    return Error{"needs exactly one of \"url\" and \"url_file\""};
  if (!sink.url.empty()) {
    if (const std::string fault = fault_of_url(sink.url); !fault.empty())
      return Error{fault, {.pointer = "/url"}};
  }
  if (sink.shape == WebhookShape::kPagerDuty && sink.routing_key_file.empty())
    return Error{"is missing; PagerDuty needs the routing key of the service to notify",
                 {.pointer = "/routing_key_file"}};
  return check_headers(sink);
}
Status check_target(const StderrSink& /*sink*/) {
  return Ok{};
}
Status check_target(const ExecSink& sink) {
  if (!sink.command.front().empty()) return Ok{};
  return Error{"is empty; give a program", {.pointer = "/command/0"}};
}

}  // namespace

std::string fault_of_url(std::string_view url) {
  const bool is_web = url.starts_with("http://") || url.starts_with("https://");
  const std::size_t host = url.find("//") + 2;
  if (!is_web || host == url.size() || url[host] == '/') return "must be http://HOST/... or https://HOST/...";
  if (url.find_first_of(" \t") != std::string_view::npos || on_one_line(url) != url)
    return "contains spaces or control characters; percent-encode them, such as %20 for a space";
  return "";
}

config::Fields config_fields(SinkConfig& sink) {
  Fields fields = std::visit([](auto& target) { return target_fields(target); }, sink.target);
  fields.push_back({"retry_s", Need::kOptional, config::number(sink.retry_s, seconds_up_to(kLongestRetryS)),
                    "pause before the first retry, in seconds; each further failure doubles the pause"});
  fields.push_back(config::renamed(
      {"max_retry_s", Need::kOptional, config::number(sink.max_retry_s, seconds_up_to(kLongestRetryS)),
       "maximum pause between retries, in seconds; the monitor retries until the message is delivered"},
      "most_retry_s"));
  return fields;
}

Status config_finish(SinkConfig& sink) {
  GOODPUT_TRY_STATUS(std::visit([](const auto& target) { return check_target(target); }, sink.target));
  if (sink.retry_s <= sink.max_retry_s) return Ok{};
  return Error{fmt::format("must be at least `retry_s` ({}), not {}", sink.retry_s, sink.max_retry_s),
               {.pointer = "/max_retry_s"}};
}

config::Fields config_fields(AlertingConfig& config) {
  return {{"rules", Need::kRequired, named_of_kinds(config.rules, &AlertRule::condition, kAlertKinds, "rule"),
           "rules that open incidents"},
          {"sinks", Need::kOptional, named_of_kinds(config.sinks, &SinkConfig::target, kSinkKinds, "sink"),
           "where messages go when an incident opens, changes or closes"}};
}

Result<AlertingConfig> read_alerting_config(const std::string& file) {
  AlertingConfig config;
  GOODPUT_TRY(config.notes, config::read_file(file, config::access(config)));
  return config;
}

}  // namespace goodput
