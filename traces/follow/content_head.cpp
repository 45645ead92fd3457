#include "traces/follow/content_head.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "sim/base/hash.h"
#include "sim/base/text.h"
#include "traces/io/byte_source.h"
#include "traces/io/decompressor.h"
#include "traces/io/formats.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

constexpr std::size_t kSniffedBytes = std::size_t{64} << 10;

// A JSON file of any kind begins the way a Chrome trace does; only a trace has events.
bool is_of_events(std::string_view text) {
  return text.find("\"ph\"") != std::string_view::npos ||
         text.find("\"traceEvents\"") != std::string_view::npos;
}

// True for a timeline that goodput itself drew for a viewer: its passes lack the stage, so it is not a trace.
bool is_timeline(std::string_view text) {
  return text.find("-compute\"") != std::string_view::npos && text.find("\"pp\"") == std::string_view::npos;
}

ContentKind kind_of(std::string_view text, bool is_named_as_text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\v\f");
  if (begin == std::string_view::npos) return ContentKind::kUnknown;
  text.remove_prefix(begin);
  const OpTraceFormat* format = matching_format(op_trace_formats(), text);
  const bool is_chrome = format != nullptr && format->name == "chrome";
  if (is_chrome && is_of_events(text)) return is_timeline(text) ? ContentKind::kUnknown : ContentKind::kWhole;
  if (format != nullptr && (format->name == "parquet" || format->name == "kineto"))
    return ContentKind::kWhole;
  return is_named_as_text || (format != nullptr && !is_chrome) ? ContentKind::kLines : ContentKind::kUnknown;
}

// What the beginning of compressed data says, as far as it can be read.
std::string decompressed_head(Decompressor& decompressor, std::span<const unsigned char> stored,
                              bool& is_all) {
  std::string text(kSniffedBytes, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const auto progress = decompressor.run(stored, std::span(text).subspan(filled));
    if (!progress) break;
    stored = stored.subspan(progress->read);
    filled += progress->written;
    if (progress->part_ended && stored.empty()) is_all = true;
    if (progress->part_ended && !stored.empty() && decompressor.begins_part(stored.front()))
      decompressor.restart();
    else if (progress->part_ended || (progress->written == 0 && progress->read == 0))
      break;
  }
  text.resize(filled);
  return text;
}

}  // namespace

Result<ContentHead> read_content_head(const FileHandle& file, const std::string& path,
                                      bool is_named_as_text) {
  std::string stored(kSniffedBytes, '\0');
  GOODPUT_TRY(const std::size_t count, read_at(file, path, stored, 0));
  stored.resize(count);
  ContentHead head;
  const std::span<const unsigned char> bytes(reinterpret_cast<const unsigned char*>(stored.data()), count);
  const std::unique_ptr<Decompressor> decompressor = decompressor_for(bytes);
  head.is_compressed = decompressor != nullptr;
  head.is_all = count < kHeadBytes && !head.is_compressed;
  head.text = head.is_compressed ? decompressed_head(*decompressor, bytes, head.is_all) : stored;
  head.kind = kind_of(head.text, is_named_as_text);
  if (head.kind == ContentKind::kWhole) head.text = std::move(stored);
  head.is_all = head.is_all && head.text.size() <= kHeadBytes;
  head.text.resize(std::min(head.text.size(), kHeadBytes));
  head.text.shrink_to_fit();
  return head;
}

std::uint64_t hash_of_head(std::string_view text) {
  Hash hash;
  for (const char c : text) hash.add(c);
  return hash.value();
}

std::uint64_t ContentHead::hash_of_first(std::size_t bytes) const {
  if (hashed_bytes != bytes || bytes == 0) {
    hash = hash_of_head(std::string_view(text).substr(0, bytes));
    hashed_bytes = bytes;
  }
  return hash;
}

Result<std::size_t> read_at(const FileHandle& file, const std::string& path, std::span<char> into,
                            std::uint64_t offset) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const ssize_t count =
        pread(file.get(), into.data() + filled, into.size() - filled, static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Error{fmt::format("cannot read: {}", std::strerror(errno)), {.file = on_one_line(path)}};
    }
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

}  // namespace goodput
