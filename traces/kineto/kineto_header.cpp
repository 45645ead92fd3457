#include "traces/kineto/kineto_header.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "traces/kineto/event_fields.h"

namespace goodput {
namespace {

constexpr std::string_view kJobKey = "distributedInfo";
constexpr std::string_view kHostKey = "host_name";
constexpr std::string_view kBaseTimeKey = "baseTimeNanoseconds";
constexpr std::string_view kHeaderKeys[] = {kJobKey, kHostKey, kBaseTimeKey};

// Reads one value. Errors name its place in the file.
class HeaderValue {
 public:
  HeaderValue(const std::string& file, const JsonKeptValue& kept) : file_(file), kept_(kept) {}

  [[nodiscard]] Error error(std::string_view what) const {
    return {fmt::format("{}: {}", in_quotes(kept_.key), what),
            {.file = file_, .position = Position::byte(kept_.offset)}};
  }

  [[nodiscard]] Status check(const EventFields& fields) const {
    if (!fields.is_damaged()) return Ok{};
    return error(
        fmt::format("is not valid JSON from {} on", in_quotes(fields.rest().substr(0, kShownBytes))));
  }

  [[nodiscard]] Result<std::string> string(std::string_view key, std::string_view text) const {
    JsonStrings strings;
    if (const auto value = strings.read(text)) return std::string(*value);
    return wrong(key, text, "a string");
  }

  // The name of a group. Versions before 2024 use numbers.
  [[nodiscard]] Result<std::string> name(std::string_view key, std::string_view text) const {
    if (json_integer(text)) return std::string(text);
    return string(key, text);
  }

  [[nodiscard]] Result<std::int64_t> integer(std::string_view key, std::string_view text, std::int64_t least,
                                             std::int64_t most) const {
    const auto value = json_integer(text);
    if (value && *value >= least && *value <= most) return *value;
    return wrong(key, text, fmt::format("an integer from {} to {}", least, most));
  }

 private:
  static constexpr std::size_t kShownBytes = 24;

  [[nodiscard]] Error wrong(std::string_view key, std::string_view text, std::string_view wanted) const {
    return error(fmt::format("{} must be {}, not {}", in_quotes(key), wanted, describe_json(text)));
  }

  const std::string& file_;
  const JsonKeptValue& kept_;
};

struct ListedGroup {
  ProcessGroup group;
  std::optional<std::int64_t> size;
  bool has_ranks = false;
};

Result<std::vector<std::int32_t>> listed_ranks(const HeaderValue& header,
                                               std::span<const std::string_view> items) {
  std::vector<std::int32_t> ranks;
  ranks.reserve(items.size());
  for (const std::string_view item : items) {
    GOODPUT_TRY(const std::int64_t rank, header.integer("ranks", item, 0, kMostKinetoRanks - 1));
    ranks.push_back(static_cast<std::int32_t>(rank));
  }
  return ranks;
}

Result<ListedGroup> listed_group(const HeaderValue& header, std::string_view text) {
  ListedGroup listed;
  EventFields fields(text);
  while (const auto key = fields.next()) {
    if (*key == "pg_name" || *key == "pg_id") {
      GOODPUT_TRY(auto name, header.name(*key, fields.value()));
      if (*key == "pg_name" || listed.group.name.empty()) listed.group.name = std::move(name);
    } else if (*key == "pg_desc") {
      GOODPUT_TRY(listed.group.description, header.string(*key, fields.value()));
    } else if (*key == "pg_size" || *key == "group_size") {
      GOODPUT_TRY(listed.size, header.integer(*key, fields.value(), 0, kMostKinetoRanks));
    } else if (*key == "ranks") {
      const auto items = json_items(fields.value());
      if (!items) continue;
      GOODPUT_TRY(listed.group.ranks, listed_ranks(header, *items));
      listed.has_ranks = true;
    }
  }
  GOODPUT_TRY_STATUS(header.check(fields));
  return listed;
}

// Versions before 2024 write an empty list for a group of all ranks.
void complete(ListedGroup& listed, std::optional<std::int64_t> world_size) {
  if (!listed.has_ranks || !listed.group.ranks.empty() || !world_size) return;
  if (listed.size.value_or(*world_size) != *world_size) return;
  listed.group.ranks.resize(static_cast<std::size_t>(*world_size));
  std::iota(listed.group.ranks.begin(), listed.group.ranks.end(), 0);
}

Status read_groups(const HeaderValue& value, std::string_view text, KinetoHeader& header) {
  const auto items = json_items(text);
  header.has_cut_groups = !items;
  if (!items) return Ok{};
  for (const std::string_view item : *items) {
    GOODPUT_TRY(ListedGroup listed, listed_group(value, item));
    complete(listed, header.world_size);
    if (!listed.group.ranks.empty()) header.groups.push_back(std::move(listed.group));
  }
  return Ok{};
}

Status read_job(const HeaderValue& value, std::string_view text, KinetoHeader& header) {
  std::optional<std::string_view> groups;
  EventFields fields(text);
  while (const auto key = fields.next()) {
    if (*key == "rank") {
      GOODPUT_TRY(header.rank, value.integer(*key, fields.value(), 0, kMostKinetoRanks - 1));
    } else if (*key == "world_size") {
      GOODPUT_TRY(header.world_size, value.integer(*key, fields.value(), 1, kMostKinetoRanks));
    } else if (*key == "backend") {
      GOODPUT_TRY(header.backend, value.string(*key, fields.value()));
    } else if (*key == "pg_config") {
      groups = fields.value();
    }
  }
  GOODPUT_TRY_STATUS(value.check(fields));
  return groups ? read_groups(value, *groups, header) : Status(Ok{});
}

}  // namespace

std::span<const std::string_view> kineto_header_keys() {
  return kHeaderKeys;
}

Result<KinetoHeader> read_kineto_header(const std::string& file, std::span<const JsonKeptValue> kept) {
  KinetoHeader header;
  for (const JsonKeptValue& one : kept) {
    const HeaderValue value(file, one);
    if (one.key == kJobKey) {
      GOODPUT_TRY_STATUS(read_job(value, one.text, header));
    } else if (one.key == kHostKey) {
      GOODPUT_TRY(header.host_name, value.string(one.key, one.text));
    } else if (one.key == kBaseTimeKey) {
      constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
      GOODPUT_TRY(header.base_ns, value.integer(one.key, one.text, 0, kMost));
    }
  }
  return header;
}

}  // namespace goodput
