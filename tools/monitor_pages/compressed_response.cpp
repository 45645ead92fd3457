#include "tools/monitor_pages/compressed_response.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::size_t kWorthIt = 8192;

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// Whether a coding in Accept-Encoding has the weight 0, of `CODING;q=WEIGHT` what follows the coding.
bool is_refused(std::string_view parameters) {
  for (const std::string_view parameter : split(parameters, ';')) {
    const std::string_view text = without_blanks(parameter);
    if (equals_lower("q=", text.substr(0, 2))) return !(parse_number(text.substr(2)).value_or(1) > 0);
  }
  return false;
}

// What Accept-Encoding says of gzip; where it does not name it, what it says of `*` (RFC 9110, 12.5.3).
bool takes_gzip(std::string_view accepted) {
  bool takes_any = false;
  for (const std::string_view part : split(accepted, ',')) {
    const std::size_t end = std::min(part.find(';'), part.size());
    const std::string_view coding = without_blanks(part.substr(0, end));
    const bool takes = !is_refused(part.substr(end));
    if (equals_lower("gzip", coding) || equals_lower("x-gzip", coding)) return takes;
    if (coding == "*") takes_any = takes;
  }
  return takes_any;
}

// Nothing: zlib has no memory.
std::optional<std::string> gzipped(const std::string& bytes) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast,cppcoreguidelines-pro-type-reinterpret-cast): zlib's
  // API
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): zlib's API
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!is_whole) return std::nullopt;
  return out;
}

}  // namespace

HttpResponse compressed(HttpResponse response, const HttpRequest& request) {
  const bool is_compressed = response.content_type == "application/gzip";
  if (response.body.size() < kWorthIt || is_compressed) return response;
  response.headers.emplace_back("Vary", "Accept-Encoding");  // of both: a cache tells them apart by it
  if (!takes_gzip(request.header("accept-encoding"))) return response;
  if (std::optional<std::string> body = gzipped(response.body)) {
    response.body = *std::move(body);
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  return response;
}

}  // namespace goodput
