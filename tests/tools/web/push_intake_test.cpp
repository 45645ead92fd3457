#include "tools/web/push_intake.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <zlib.h>

#include <optional>
#include <string>
#include <vector>

namespace goodput::testing {
namespace {

constexpr std::size_t kQueueBytes = std::size_t{1} << 20;

std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<unsigned char*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

HttpRequest push_of(std::string body, const std::string& type = "text/plain", const std::string& key = {}) {
  HttpRequest request;
  request.method = "POST";
  request.path = "/v1/jobs/llama/ops";
  request.headers["content-type"] = type;
  request.headers["content-length"] = fmt::format("{}", body.size());
  if (!key.empty()) request.headers["idempotency-key"] = key;
  request.body = std::move(body);
  return request;
}

// "STATUS BODY" of what is said to it.
std::string answer_to(PushQueue& queue, const HttpRequest& request, const PushLimits& limits = {}) {
  const PushIntake intake(queue, limits);
  const auto refusal = intake.refuse(request);
  const HttpResponse response = refusal ? *refusal : intake.accept(request);
  return fmt::format("{} {}", response.status, response.body.substr(0, response.body.find('\n')));
}

int gate_status(const std::string& path, const std::string& header = {}, const std::string& value = {},
                const std::string& method = "POST") {
  PushQueue queue(kQueueBytes, {});
  HttpRequest request = push_of("x");
  request.method = method;
  request.path = path;
  if (!header.empty()) request.headers[header] = value;
  const auto refusal = PushIntake(queue).refuse(request);
  return refusal ? refusal->status : 200;
}

std::vector<std::string> pieces_of(CheckedPush push) {
  std::vector<std::string> pieces;
  for (auto piece = push.lines.next(); piece && *piece; piece = push.lines.next()) pieces.push_back(**piece);
  return pieces;
}

std::vector<std::string> taken(PushQueue& queue) {
  std::vector<std::string> pieces;
  while (auto push = queue.take()) {
    queue.finish(*push);
    for (std::string& piece : pieces_of(*std::move(push))) pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace

TEST_CASE("push: what was sent is taken in as whole lines, compressed or not") {
  int woken = 0;
  PushQueue queue(kQueueBytes, [&woken] { ++woken; });
  CHECK(answer_to(queue, push_of("a\nb")) == "202 {\"accepted_bytes\":3}");
  CHECK(answer_to(queue, push_of(gzipped("c\n") + gzipped("d\n"), "Text/CSV; charset=utf-8")) ==
        "202 {\"accepted_bytes\":4}");
  CHECK(woken == 2);
  std::optional<CheckedPush> first = queue.take();
  REQUIRE(first);
  CHECK(first->job == "llama");
  CHECK_FALSE(first->is_csv);
  queue.finish(*first);
  CHECK(pieces_of(*std::move(first)) == std::vector<std::string>{"a\nb\n"});
  std::optional<CheckedPush> second = queue.take();
  REQUIRE(second);
  CHECK(second->is_csv);
  queue.finish(*second);
  CHECK(pieces_of(*std::move(second)) == std::vector<std::string>{"c\nd\n"});
  CHECK_FALSE(queue.take());
  CHECK(queue.counts().waiting_bytes == 0);
}

TEST_CASE("push: long texts come in pieces of whole lines") {
  std::string text = "step,worker\n";
  for (int i = 0; i < 200'000; ++i) text += fmt::format("{},{}\n", i, i % 7);
  PushQueue queue(kQueueBytes, {});
  PushLimits limits;
  limits.piece_bytes = 100'000;
  answer_to(queue, push_of(gzipped(text), "text/csv"), limits);
  std::string together;
  const std::vector<std::string> pieces = taken(queue);
  CHECK(pieces.size() > 3);
  for (const std::string& piece : pieces) {
    CHECK(piece.ends_with('\n'));
    together += piece;
  }
  CHECK(together == text);
}

TEST_CASE("push: what could not be kept may be sent again with its key") {
  PushQueue queue(kQueueBytes, {});
  for (int tries = 0; tries < 3; ++tries) {
    CHECK(answer_to(queue, push_of("a\n", "text/plain", "k1")) == "202 {\"accepted_bytes\":2}");
    const std::optional<CheckedPush> push = queue.take();
    REQUIRE(push);
    queue.give_up(*push);
    CHECK(queue.counts().waiting_bytes == 0);
  }
}

TEST_CASE("push: a key is taken in once a job") {
  PushQueue queue(kQueueBytes, {});
  CHECK(answer_to(queue, push_of("a\n", "text/plain", "k1")) == "202 {\"accepted_bytes\":2}");
  CHECK(answer_to(queue, push_of("a\n", "text/plain", "k1")) ==
        "200 {\"accepted_bytes\":0,\"repeated\":\"already accepted\"}");
  HttpRequest other = push_of("a\n", "text/plain", "k1");
  other.path = "/v1/jobs/mixtral/ops";
  CHECK(answer_to(queue, other) == "202 {\"accepted_bytes\":2}");
  CHECK(taken(queue).size() == 2);
  CHECK(queue.counts().repeated == 1);
  for (std::size_t i = 0; i < PushKeys::kKeptKeys; ++i) {
    answer_to(queue, push_of("b\n", "text/plain", fmt::format("later{}", i)));
  }
  CHECK(answer_to(queue, push_of("a\n", "text/plain", "k1")) == "202 {\"accepted_bytes\":2}");  // forgotten
  for (std::size_t i = 0; i < 2 * PushKeys::kKeptJobs; ++i) {
    other.path = fmt::format("/v1/jobs/j{}/ops", i);
    answer_to(queue, other);
  }
  CHECK(answer_to(queue, push_of("a\n", "text/plain", "k1")) ==
        "202 {\"accepted_bytes\":2}");  // with its job
}

TEST_CASE("push: who is too fast is told so, before his body is read and behind it, until there is room") {
  PushQueue queue(10, {});
  CHECK(answer_to(queue, push_of("12345\n")).starts_with("202"));
  const std::string full = "429 {\"error\":\"too many pushed rows are waiting to be read; try again later\"}";
  CHECK(answer_to(queue, push_of("12345\n")) == full);
  CHECK(PushIntake(queue).accept(push_of("12345\n")).status == 429);  // its length was not known
  CHECK(PushIntake(queue).accept(push_of("12345\n")).headers[0].first == "Retry-After");
  CHECK(queue.counts().refused == 3);
  const std::optional<CheckedPush> push = queue.take();
  REQUIRE(push);
  CHECK(answer_to(queue, push_of("12345\n")) == full);  // what was taken is in use
  queue.finish(*push);
  CHECK(answer_to(queue, push_of("12345\n")).starts_with("202"));
  CHECK(queue.counts().pushes == 2);
}

TEST_CASE("push: what cannot be read is refused as a whole") {
  PushQueue queue(kQueueBytes, {});
  const std::string good = gzipped("line\nline\n");
  CHECK(answer_to(queue, push_of("")) == "400 {\"error\":\"the request body is empty\"}");
  CHECK(answer_to(queue, push_of(good.substr(0, good.size() - 3))) ==
        "400 {\"error\":\"gzip data ends early: the body is truncated\"}");
  CHECK(answer_to(queue, push_of(good + "x")) ==
        "400 {\"error\":\"the gzip data is damaged: something other than gzip follows its first part\"}");
  std::string damaged = good;
  damaged[12] = '\x7f';
  CHECK(answer_to(queue, push_of(damaged)).starts_with("400 {\"error\":\"gzip data is damaged: "));
  PushLimits limits;
  limits.line_bytes = 1000;
  CHECK(answer_to(queue, push_of(std::string(1001, 'x')), limits) ==
        "400 {\"error\":\"a line is longer than 1000 bytes\"}");
  CHECK(taken(queue).empty());
}

TEST_CASE("push: gzip bombs go off in a piece's memory") {
  PushQueue queue(kQueueBytes, {});
  const std::string bomb = gzipped(std::string(std::size_t{20} << 20, '\n'));  // to a thousandth
  CHECK(bomb.size() < 100'000);
  CHECK(answer_to(queue, push_of(bomb)) ==
        "400 {\"error\":\"the body decompresses to more than 200 times its size, which is the limit\"}");
  PushLimits limits;
  limits.text_bytes = std::size_t{4} << 20;
  CHECK(answer_to(queue, push_of(bomb), limits) ==
        "413 {\"error\":\"the rows are more than 4194304 bytes when decompressed; push them in parts\"}");
  CHECK(queue.counts().waiting_bytes == 0);
}

TEST_CASE("push: names, types and methods are looked at before the body") {
  CHECK(gate_status("/v1/jobs/a.B_9-/ops") == 200);
  CHECK(gate_status("/v1/jobs/" + std::string(100, 'a') + "/ops") == 200);
  CHECK(gate_status("/v1/jobs/" + std::string(101, 'a') + "/ops") == 400);
  for (const char* name : {".hidden", "a b", "a/b", "<script>", "\xc3\xa9"}) {
    CAPTURE(name);
    CHECK(gate_status(fmt::format("/v1/jobs/{}/ops", name)) == 400);
  }
  CHECK(gate_status("/v1/jobs/a/ops", {}, {}, "GET") == 405);
  CHECK(gate_status("/v1/jobs/a/ops", "content-type", "") == 200);
  CHECK(gate_status("/v1/jobs/a/ops", "content-type", "application/json") == 415);
  CHECK(gate_status("/v1/jobs/a/ops", "content-encoding", "gzip") == 200);
  CHECK(gate_status("/v1/jobs/a/ops", "content-encoding", "br") == 415);
  CHECK(gate_status("/v1/jobs/a/ops", "idempotency-key", std::string(201, 'k')) == 400);
  CHECK(PushIntake::is_push_path("/v1/jobs/a/ops"));
  for (const char* path : {"/v1/jobs//ops", "/v1/jobs/ops", "/v1/jobs/a/ops/", "/v1/jobs/a", "/"}) {
    CAPTURE(path);
    CHECK_FALSE(PushIntake::is_push_path(path));
  }
}

}  // namespace goodput::testing
