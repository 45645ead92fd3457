// Bytes of a connection: heads, what they ask for, bodies in pieces.
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/errors.h"
#include "tests/fuzz/fuzz_target.h"
#include "tools/web/request_parser.h"
#include "tools/web/request_rules.h"

namespace goodput::fuzz {
namespace {

constexpr std::size_t kMostBody = 1000;

void check_request(const HttpRequest& request) {
  GOODPUT_CHECK(request.path.starts_with('/'), "a path that begins elsewhere");
  const std::string behind = request.path + "/";
  for (const std::string_view part : {"/../", "/./", "//"}) {
    const std::size_t found = behind.find(part);
    const bool is_last = part == "//" && found + 2 == behind.size();
    GOODPUT_CHECK(found == std::string::npos || is_last, "a path that leads elsewhere");
  }
  GOODPUT_CHECK(request.path.find('\0') == std::string::npos, "a path that ends early");
}

// How much of `input` the body takes.
std::size_t read_in_pieces(RequestParser& parser, std::string_view input, std::size_t piece) {
  std::string waiting;
  std::size_t given = 0;
  std::size_t used = 0;
  while (given < input.size()) {
    const std::string_view next = input.substr(given, piece);
    waiting += next;
    given += next.size();
    const RequestParser::Progress progress = parser.read_body(waiting, kMostBody);
    GOODPUT_CHECK(progress.used <= waiting.size(), "more was used than there was");
    GOODPUT_CHECK(parser.body_size() <= kMostBody, "a body larger than it may be");
    waiting.erase(0, progress.used);
    used += progress.used;
    if (progress.state != RequestParser::State::kMore) break;
  }
  return used;
}

}  // namespace
}  // namespace goodput::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 64;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  while (true) {
    input.remove_prefix(empty_line_bytes(input, 4));
    const std::size_t bytes = head_bytes(input, 0);
    if (bytes == 0) break;
    RequestParser parser;
    Result<RequestHead> head = parser.read_head(input.substr(0, bytes));
    input.remove_prefix(bytes);
    if (!head) break;
    const JudgedRequest judged = judge_request(*std::move(head), {{"localhost"}, {}, fuzz::kMostBody});
    if (judged.refusal || judged.body_refusal) break;
    fuzz::check_request(judged.request);
    if (judged.has_body) input.remove_prefix(fuzz::read_in_pieces(parser, input, piece));
  }
  return 0;
}
