#include "traces/io/decompressor.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

namespace goodput {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in unsigned int
constexpr unsigned char kGzipMagic[] = {0x1f, 0x8b};
constexpr unsigned char kZstdMagic[] = {0x28, 0xb5, 0x2f, 0xfd};

template <std::size_t kSize>
bool begins_with(std::span<const unsigned char> head, const unsigned char (&magic)[kSize]) {
  return head.size() >= kSize && std::equal(std::begin(magic), std::end(magic), head.begin());
}

Error damaged(std::string_view name, std::string_view why) {
  return {fmt::format("{} data is damaged: {}", name, why)};
}

// zlib's own gzread() drops whatever follows a gzip member and is none, and with it rows.
class GzipDecompressor final : public Decompressor {
 public:
  GzipDecompressor() {
    constexpr int kGzipWindow = 15 + 16;
    GOODPUT_CHECK(inflateInit2(&inflater_, kGzipWindow) == Z_OK, "zlib cannot be initialized");
  }
  ~GzipDecompressor() override { inflateEnd(&inflater_); }

  [[nodiscard]] std::string_view name() const override { return "gzip"; }
  [[nodiscard]] bool begins_part(unsigned char first) const override { return first == kGzipMagic[0]; }
  void restart() override { inflateReset(&inflater_); }

  Result<Progress> run(std::span<const unsigned char> from, std::span<char> into) override {
    const std::size_t wanted = std::min(into.size(), kMostAtOnce);
    inflater_.next_in = const_cast<unsigned char*>(from.data());  // zlib does not write to it
    inflater_.avail_in = static_cast<unsigned>(std::min(from.size(), kMostAtOnce));
    inflater_.next_out = reinterpret_cast<unsigned char*>(into.data());
    inflater_.avail_out = static_cast<unsigned>(wanted);
    const int code = inflate(&inflater_, Z_NO_FLUSH);
    const bool is_damaged = code != Z_STREAM_END && code != Z_OK && code != Z_BUF_ERROR;
    if (is_damaged && inflater_.avail_out == wanted) {  // of what comes before damage zlib says it next time
      return damaged(name(), inflater_.msg != nullptr ? inflater_.msg : "unknown");
    }
    const auto read = static_cast<std::size_t>(inflater_.next_in - from.data());
    return Progress{read, wanted - inflater_.avail_out, code == Z_STREAM_END};
  }

 private:
  z_stream inflater_{};
};

class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : stream_(ZSTD_createDCtx()) {
    GOODPUT_CHECK(stream_ != nullptr, "zstd cannot be initialized");
  }
  ~ZstdDecompressor() override { ZSTD_freeDCtx(stream_); }

  [[nodiscard]] std::string_view name() const override { return "zstd"; }
  // A frame, or one of those that decoders skip (0x184D2A50 to 0x184D2A5F).
  [[nodiscard]] bool begins_part(unsigned char first) const override {
    return first == kZstdMagic[0] || (first & 0xf0) == 0x50;
  }
  void restart() override {
    ZSTD_DCtx_reset(stream_, ZSTD_reset_session_only);
    failure_ = 0;
  }

  Result<Progress> run(std::span<const unsigned char> from, std::span<char> into) override {
    ZSTD_inBuffer input{from.data(), from.size(), 0};
    ZSTD_outBuffer output{into.data(), into.size(), 0};
    const std::size_t left = failure_ != 0 ? failure_ : ZSTD_decompressStream(stream_, &output, &input);
    if (ZSTD_isError(left) != 0) failure_ = left;
    if (failure_ != 0 && output.pos == 0) return damaged(name(), ZSTD_getErrorName(failure_));
    return Progress{input.pos, output.pos, left == 0};
  }

 private:
  ZSTD_DCtx* stream_;
  std::size_t failure_ = 0;  // of the data behind what was returned; 0: none
};

}  // namespace

std::unique_ptr<Decompressor> decompressor_for(std::span<const unsigned char> head) {
  if (begins_with(head, kGzipMagic)) return std::make_unique<GzipDecompressor>();
  if (begins_with(head, kZstdMagic)) return std::make_unique<ZstdDecompressor>();
  return nullptr;
}

}  // namespace goodput
