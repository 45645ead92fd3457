#include "tools/web/push_intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::string_view kBeforeName = "/v1/jobs/";
constexpr std::string_view kBehindName = "/ops";
constexpr std::size_t kMostNameBytes = 100;
constexpr std::size_t kMostKeyBytes = 200;

std::string_view job_of(std::string_view path) {
  path.remove_prefix(kBeforeName.size());
  path.remove_suffix(kBehindName.size());
  return path;
}

bool is_csv(const HttpRequest& request) {
  return equals_lower("text/csv", media_type(request.header("content-type")));
}

bool is_known_type(std::string_view type) {
  return type.empty() || equals_lower("text/csv", type) || equals_lower("text/plain", type);
}

bool is_known_encoding(std::string_view encoding) {
  return encoding.empty() || equals_lower("gzip", encoding) || equals_lower("identity", encoding);
}

HttpResponse no_room() {
  HttpResponse response = plain_error(429, "too many pushed rows are waiting to be read; try again later");
  response.headers.emplace_back("Retry-After", "5");
  return response;
}

HttpResponse as_json(int status, const Json& json) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = json.dump() + "\n";
  return response;
}

}  // namespace

bool is_job_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostNameBytes && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                  (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
         });
}

bool PushIntake::is_push_path(std::string_view path) {
  return path.size() > kBeforeName.size() + kBehindName.size() && path.starts_with(kBeforeName) &&
         path.ends_with(kBehindName);
}

std::optional<HttpResponse> PushIntake::refuse(const HttpRequest& request) const {
  if (request.method != "POST") {
    HttpResponse refusal = plain_error(405, "only POST is allowed here");
    refusal.headers.emplace_back("Allow", "POST");
    return refusal;
  }
  if (!is_job_name(job_of(request.path))) {
    return plain_error(
        400, "a job name must be 1 to 100 characters from A-Z a-z 0-9 . _ - and must not start with a dot");
  }
  if (!is_known_type(media_type(request.header("content-type")))) {
    return plain_error(415, "Content-Type must be text/plain (lines of a raw log) or text/csv");
  }
  if (!is_known_encoding(request.header("content-encoding"))) {
    return plain_error(415, "Content-Encoding must be gzip, or be left out");
  }
  if (request.header("idempotency-key").size() > kMostKeyBytes) {
    return plain_error(400, fmt::format("Idempotency-Key must be at most {} bytes", kMostKeyBytes));
  }
  const auto bytes = parse_integer(request.header("content-length"));
  if (!queue_.has_room(static_cast<std::size_t>(std::max<std::int64_t>(bytes.value_or(1), 1)))) {
    queue_.count_refused();
    return no_room();
  }
  return std::nullopt;
}

HttpResponse PushIntake::accept(const HttpRequest& request) const {
  if (request.body.empty()) return plain_error(400, "the request body is empty");
  CheckedPush push{.job = std::string(job_of(request.path)),
                   .is_csv = is_csv(request),
                   .key = push_key(request.header("idempotency-key")),
                   .lines = PushedLines(request.body, limits_)};
  for (bool has_more = true; has_more;) {
    const auto piece = push.lines.next();
    if (!piece) {
      const bool is_too_much = push.lines.text_bytes() > limits_.text_bytes;
      return plain_error(is_too_much ? 413 : 400, piece.error().what);
    }
    has_more = piece->has_value();
  }
  const std::size_t bytes = push.lines.text_bytes();
  push.lines.rewind();
  switch (queue_.put(std::move(push))) {
    case PushQueue::Outcome::kTaken:
      return as_json(202, {{"accepted_bytes", bytes}});
    case PushQueue::Outcome::kRepeated:
      return as_json(200, {{"accepted_bytes", 0}, {"repeated", "already accepted"}});
    case PushQueue::Outcome::kFull:
      break;
  }
  return no_room();
}

}  // namespace goodput
