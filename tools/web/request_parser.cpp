#include "tools/web/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cctype>
#include <limits>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::string_view kEmptyLine = "\r\n";
constexpr std::string_view kLastChunk = "0\r\n";

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

// Beast joins such a line to the one before, or takes it for a header of its own; proxies read it otherwise.
bool has_folded_line(std::string_view head) {
  return head.find("\n ") != std::string_view::npos || head.find("\n\t") != std::string_view::npos;
}

}  // namespace

std::size_t head_bytes(std::string_view input, std::size_t searched) {
  const std::size_t from = searched < kEndOfHead.size() ? 0 : searched - kEndOfHead.size() + 1;
  const std::size_t end = input.find(kEndOfHead, from);
  return end == std::string_view::npos ? 0 : end + kEndOfHead.size();
}

std::size_t empty_line_bytes(std::string_view input, std::size_t most) {
  std::size_t bytes = 0;
  while (bytes < most * kEmptyLine.size() && input.substr(bytes).starts_with(kEmptyLine))
    bytes += kEmptyLine.size();
  return bytes;
}

// What Beast finds, kept.
class RequestParser::Beast final : public boost::beast::http::basic_parser<true> {
 public:
  Beast() {
    header_limit(std::numeric_limits<std::uint32_t>::max());
    // Ours is in read_body(). (Without one, 1.74 takes any Content-Length for too large.)
    body_limit(std::numeric_limits<std::uint64_t>::max());
  }

  // NOLINTBEGIN: names and parameters are Beast's
  using Code = boost::beast::error_code;
  using Text = boost::beast::string_view;
  void on_request_impl(boost::beast::http::verb, Text method, Text target, int version, Code&) override {
    head.method.assign(method.data(), method.size());
    head.target.assign(target.data(), target.size());
    head.is_http_1_0 = version == 10;
  }
  void on_response_impl(int, Text, int, Code&) override {}
  void on_field_impl(boost::beast::http::field, Text name, Text value, Code&) override {
    if (in_body) return;  // trailers are of no use here
    head.fields.emplace_back(to_lower({name.data(), name.size()}), std::string(value.data(), value.size()));
  }
  void on_header_impl(Code&) override { in_body = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Code&) override {
    if (length.has_value() && *length <= most_bytes) body.reserve(*length);
  }
  std::size_t on_body_impl(Text piece, Code& code) override { return append(piece, code); }
  void on_chunk_header_impl(std::uint64_t size, Text, Code& code) override {
    if (size > most_bytes - body.size()) code = boost::beast::http::error::body_limit;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, Text piece, Code& code) override {
    return append(piece, code);
  }
  void on_finish_impl(Code&) override {}
  // NOLINTEND

  RequestHead head;
  std::string body;
  std::size_t most_bytes = 0;  // of the body
  bool in_body = false;

 private:
  std::size_t append(Text piece, Code& code) {
    if (piece.size() > most_bytes - body.size()) {
      code = boost::beast::http::error::body_limit;
      return 0;
    }
    body.append(piece.data(), piece.size());
    return piece.size();
  }
};

RequestParser::RequestParser() : beast_(std::make_unique<Beast>()) {}
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;
RequestParser::~RequestParser() = default;

Result<RequestHead> RequestParser::read_head(std::string_view head) {
  if (has_folded_line(head)) {
    return Error{
        "a header line begins with a space or a tab; continued headers are not accepted, so send each header "
        "on one line"};
  }
  boost::beast::error_code code;
  const std::size_t used = beast_->put(boost::asio::buffer(head.data(), head.size()), code);
  if (code || used != head.size() || !beast_->is_header_done()) return Error{std::string(kNoRequest)};
  RequestHead& found = beast_->head;
  std::size_t encodings = 0;
  for (const auto& [name, value] : found.fields) {
    // Beast takes "gzip, chunked" for chunked, and ignores encodings that it does not know.
    if (name == "transfer-encoding" && (++encodings > 1 || !equals_lower("chunked", value))) {
      return Error{std::string(kNoRequest)};
    }
  }
  found.is_chunked = encodings != 0;
  if (found.is_chunked && (found.is_http_1_0 || !beast_->chunked())) return Error{std::string(kNoRequest)};
  if (const auto length = beast_->content_length(); length.has_value()) found.content_length = *length;
  found.keeps_alive = beast_->keep_alive();
  beast_->eager(true);
  return std::move(found);
}

RequestParser::Progress RequestParser::read_body(std::string_view input, std::size_t most_bytes) {
  beast_->most_bytes = most_bytes;
  Progress progress;
  // Two more bytes come in any case. Given this and then one of them, Beast 1.74 fails an assertion.
  if (beast_->chunked() && input.size() < kLastChunk.size() + 2 && input.starts_with(kLastChunk))
    return progress;
  boost::beast::error_code code;
  progress.used = beast_->put(boost::asio::buffer(input.data(), input.size()), code);
  if (code == boost::beast::http::error::body_limit) {
    progress.state = State::kTooLarge;
  } else if (code && code != boost::beast::http::error::need_more) {
    progress.state = State::kMalformed;
  } else if (beast_->is_done()) {
    progress.state = State::kComplete;
  }
  return progress;
}

bool RequestParser::is_complete() const {
  return beast_->is_done();
}
std::size_t RequestParser::body_size() const {
  return beast_->body.size();
}
std::string RequestParser::take_body() {
  return std::move(beast_->body);
}

}  // namespace goodput
