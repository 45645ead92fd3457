#include "tools/monitor_pages/compressed_response.h"

#include <zlib.h>

#include <optional>
#include <string>
#include <string_view>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::size_t kWorthIt = 8192;

// `gzip` or `*` in Accept-Encoding, not with the weight 0.
bool takes_gzip(std::string_view accepted) {
  for (std::string_view part : split(accepted, ',')) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    const std::string_view coding = part.substr(0, part.find_first_of(" ;"));
    if (coding != "gzip" && coding != "*") continue;
    const std::size_t weight = part.find("q=");
    return weight == std::string_view::npos || parse_number(part.substr(weight + 2)).value_or(1) > 0;
  }
  return false;
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
  if (response.body.size() < kWorthIt || is_compressed || !takes_gzip(request.header("accept-encoding")))
    return response;
  if (std::optional<std::string> body = gzipped(response.body)) {
    response.body = *std::move(body);
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.headers.emplace_back("Vary", "Accept-Encoding");
  }
  return response;
}

}  // namespace goodput
