// HTTP/1.x requests from bytes (Boost.Beast's parser). It sees whole heads only: given a head in pieces it
// limits none of it as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

inline constexpr std::string_view kNoRequest = "this is not an HTTP request";

struct RequestHead {
  std::string method;
  std::string target;                                       // as sent
  std::vector<std::pair<std::string, std::string>> fields;  // in their order, names in lower case
  std::optional<std::uint64_t> content_length;
  bool is_chunked = false;
  bool is_http_1_0 = false;
  bool keeps_alive = true;
};

// The bytes of the head that `input` begins with, blank line included; 0: it is not whole. `searched` bytes
// of it are known to hold no end.
[[nodiscard]] std::size_t head_bytes(std::string_view input, std::size_t searched);

// Bytes of the empty lines that `input` begins with, `most` lines at most: some clients send one behind a
// body (RFC 9112, 2.2).
[[nodiscard]] std::size_t empty_line_bytes(std::string_view input, std::size_t most);

// One request.
class RequestParser {
 public:
  enum class State : std::uint8_t { kMore, kComplete, kTooLarge, kMalformed };
  struct Progress {
    std::size_t used = 0;  // bytes of the input
    State state = State::kMore;
  };

  RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;
  ~RequestParser();

  // Fails if it is malformed, or if others may read it in another way: framing (RFC 9112, 6.3), a header that
  // is continued on the next line (5.2). The error says what a client is to be told. REQUIRES: a whole head;
  // nothing was read before.
  [[nodiscard]] Result<RequestHead> read_head(std::string_view head);

  // Takes from the front of `input` what belongs to the body; what is not used is to be given again, with
  // more behind it. A body of more than `most_bytes` is too large. REQUIRES: a head was read, and the last
  // progress was kMore.
  [[nodiscard]] Progress read_body(std::string_view input, std::size_t most_bytes);

  // Whether the head was all there is.
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] std::size_t body_size() const;
  [[nodiscard]] std::string take_body();

 private:
  class Beast;
  std::unique_ptr<Beast> beast_;
};

}  // namespace goodput
