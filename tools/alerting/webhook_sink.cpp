// An HTTP POST of an alert, signed if wanted.
#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "tools/alerting/alert_sink.h"

namespace goodput {
namespace {

constexpr std::size_t kReadOfAnswer = 4096;  // bytes: the status says all, the rest is for people
constexpr std::size_t kMostSecret = 65536;
constexpr double kLongestWaitS = 3600;  // that a receiver may ask for

// The first bytes of an answer.
struct AnswerHead {
  std::size_t header_bytes = 0;
  std::string text;
  bool is_cut = false;
};

// Of libcurl: fewer bytes than there were end the transfer.
std::size_t keep_head(const char* data, std::size_t size, std::size_t count, void* into) {
  auto& head = *static_cast<AnswerHead*>(into);
  const std::size_t bytes = size * count;
  const std::size_t kept = std::min(bytes, kReadOfAnswer - head.text.size());
  head.text.append(data, kept);
  head.is_cut = kept < bytes;
  return kept;
}

// Headers say nothing we want to know, but they are not endless.
std::size_t count_headers(const char* /*data*/, std::size_t size, std::size_t count, void* total) {
  constexpr std::size_t kMostHeaders = 65536;
  auto& bytes = *static_cast<std::size_t*>(total);
  bytes += size * count;
  return bytes <= kMostHeaders ? size * count : 0;
}

int shall_stop(void* stop, curl_off_t /*all*/, curl_off_t /*done*/, curl_off_t /*up*/, curl_off_t /*sent*/) {
  return *static_cast<const std::atomic<bool>*>(stop) ? 1 : 0;
}

struct HeaderList {
  HeaderList() = default;
  ~HeaderList() { curl_slist_free_all(first); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  void add(const std::string& line) { first = curl_slist_append(first, line.c_str()); }

  curl_slist* first = nullptr;
};

using CurlHandle = std::unique_ptr<CURL, void (*)(CURL*)>;

// What must stay out of the rules file. An empty path: nothing.
Result<std::string> secret_in(const std::string& path, std::string_view key) {
  if (path.empty()) return std::string();
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const int problem = errno;
  std::string text;
  std::array<char, kMostSecret + 1> buffer{};
  file.read(buffer.data(), buffer.size());
  text.assign(buffer.data(), static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const Where where{.file = path};
  if (!file.is_open() || file.bad())
    return Error{fmt::format("cannot be read: {}", std::strerror(problem)), where, std::string(key)};
  if (text.empty()) return Error{"is empty; it must contain the secret", where, std::string(key)};
  if (text.size() > kMostSecret)
    return Error{"is longer than 64 KiB, the limit for a secret", where, std::string(key)};
  return text;
}

// The same where it goes into one line.
Result<std::string> secret_line_in(const std::string& path, std::string_view key) {
  GOODPUT_TRY(std::string line, secret_in(path, key));
  if (on_one_line(line) != line)
    return Error{"must be a single line without control characters", {.file = path}, std::string(key)};
  return line;
}

class Webhook final : public AlertSink {
 public:
  Webhook(WebhookSink config, std::string secret, std::string token, std::string routing_key)
      : config_(std::move(config)),
        secret_(std::move(secret)),
        token_(std::move(token)),
        routing_key_(std::move(routing_key)) {}

  [[nodiscard]] SinkAnswer deliver(const AlertMessage& message, const std::atomic<bool>& stop) override {
    const CurlHandle handle(curl_easy_init(), curl_easy_cleanup);
    if (!handle) return {"out of memory while opening a connection"};
    const std::string body = payload_of(message, config_.shape, routing_key_);
    HeaderList headers;
    headers.add("Content-Type: application/json");
    headers.add("Expect:");  // no waiting for 100 Continue
    headers.add("Idempotency-Key: " + message_key(message));
    if (!secret_.empty()) headers.add("X-Goodput-Signature: " + body_signature(secret_, body));
    if (!token_.empty()) headers.add("Authorization: Bearer " + token_);
    for (const auto& [name, text] : config_.headers)
      headers.add(text.empty() ? name + ";" : fmt::format("{}: {}", name, text));
    AnswerHead head;
    set_options(handle.get(), body, headers, head, stop);
    const CURLcode code = curl_easy_perform(handle.get());
    return answer_of(handle.get(), code, head);
  }

 private:
  void set_options(CURL* handle, const std::string& body, const HeaderList& headers, AnswerHead& head,
                   const std::atomic<bool>& stop) const {
    const auto limit_ms = std::max(1L, static_cast<long>(1000 * config_.timeout_s));
    curl_easy_setopt(handle, CURLOPT_URL, config_.url.c_str());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);  // there are other threads
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, limit_ms);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, limit_ms);
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.first);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "goodput-monitor");
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, keep_head);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &head);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, count_headers);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &head.header_bytes);
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, shall_stop);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &stop);
  }

  // Of an answer that was cut off here the status counts, of one that the receiver cut off nothing does.
  static SinkAnswer answer_of(CURL* handle, CURLcode code, const AnswerHead& head) {
    constexpr long kTooManyRequests = 429;
    constexpr long kRequestTimeout = 408;
    if (code == CURLE_ABORTED_BY_CALLBACK) return {"the attempt was stopped because the monitor stopped"};
    if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && head.is_cut)) return {curl_easy_strerror(code)};
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300) return {};
    SinkAnswer answer;
    answer.problem = fmt::format("the server answered with status {}", status);
    if (status >= 300 && status < 400) answer.problem += ", a redirect, which goodput does not follow";
    if (!head.text.empty()) answer.problem += ": " + in_quotes(head.text);
    answer.is_refused =
        status >= 400 && status < 500 && status != kTooManyRequests && status != kRequestTimeout;
    curl_off_t wait_s = 0;
    curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &wait_s);
    answer.wait_s = std::clamp(static_cast<double>(wait_s), 0.0, kLongestWaitS);
    return answer;
  }

  WebhookSink config_;
  std::string secret_;
  std::string token_;
  std::string routing_key_;
};

}  // namespace

Result<std::unique_ptr<AlertSink>> make_webhook_sink(const WebhookSink& config) {
  static const CURLcode started =
      curl_global_init(CURL_GLOBAL_DEFAULT);  // once a process, as libcurl wants it
  if (started != CURLE_OK)
    return Error{fmt::format("cannot initialize libcurl: {}", curl_easy_strerror(started))};
  WebhookSink whole = config;
  if (!config.url_file.empty()) {
    GOODPUT_TRY(whole.url, secret_line_in(config.url_file, "url_file"));
    if (const std::string fault = fault_of_url(whole.url); !fault.empty())
      return Error{fault, {.file = config.url_file}, "url_file"};
  }
  GOODPUT_TRY(std::string secret, secret_in(config.secret_file, "secret_file"));
  GOODPUT_TRY(std::string token, secret_line_in(config.bearer_token_file, "bearer_token_file"));
  GOODPUT_TRY(std::string routing_key, secret_line_in(config.routing_key_file, "routing_key_file"));
  return std::unique_ptr<AlertSink>(std::make_unique<Webhook>(std::move(whole), std::move(secret),
                                                              std::move(token), std::move(routing_key)));
}

std::string body_signature(const std::string& secret, const std::string& body) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int bytes = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(body.data());
  const auto* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), data, body.size(),
                          digest.data(), &bytes);
  GOODPUT_CHECK(made != nullptr, "cannot compute the HMAC");
  std::string text = "sha256=";
  for (unsigned int i = 0; i < bytes; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace goodput
