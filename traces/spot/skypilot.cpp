// SkyPilot's spot traces: {"metadata": {"gap_seconds": g}, "data": [n0, n1, ...], "prices": [p0, p1, ...]}: n
// instances at tick i * g, each at p USD an hour; prices may be absent. A null in "data" is a hole.
//
// Published files count available instances, SkyPilot's own simulator preempted ones, and neither says so: a
// count above 1 is of available ones, with only 0 and 1 the user must tell. Whether nodes were held is for
// the user to tell as well. Both may be stated in "metadata": "polarity", "meaning", and "nodes", which is
// how many there are in all.
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "traces/io/csv_lines.h"
#include "traces/spot/spot_fields.h"
#include "traces/spot/spot_format.h"

namespace goodput {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kLargestFile = std::size_t{256} << 20;
constexpr double kLongestGap = 1e9;  // s, 31 years
constexpr std::int32_t kNull = -1;

// From tick `tick` on.
template <typename Value>
struct Run {
  std::size_t tick = 0;
  Value value{};
};
template <typename Value>
using Runs = std::vector<Run<Value>>;

struct Metadata {
  SimDuration gap{};
  std::optional<SpotPolarity> polarity{};
  std::optional<SpotMeaning> meaning{};
  std::optional<std::int32_t> nodes{};
};

// The file as it says, by tick.
struct Ticks {
  std::optional<Metadata> metadata{};
  std::optional<Runs<std::int32_t>> data{};
  std::optional<Runs<double>> prices{};
  std::size_t data_size = 0;
  std::size_t prices_size = 0;
};

std::string_view without_space_behind(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  return text;
}

class SkypilotFile {
 public:
  explicit SkypilotFile(std::string path) : path_(std::move(path)) {}

  Result<Ticks> parse(std::string text) {
    const std::size_t size = text.size();
    text.resize(size + simdjson::SIMDJSON_PADDING);
    const std::size_t mark = std::string_view(text).starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    ondemand::parser parser;
    ondemand::document document;
    if (const auto code = parser.iterate(text.data() + mark, size - mark, text.size() - mark).get(document))
      return no_json(code);
    ondemand::object root;
    if (const auto code = document.get_object().get(root)) return no_json(code);
    for (auto field : root) {
      std::string_view key;
      if (const auto code = field.unescaped_key().get(key)) return no_json(code);
      ondemand::value value;
      if (const auto code = field.value().get(value)) return no_json(code);
      GOODPUT_TRY_STATUS(take(key, value));
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
      return Error{"has text after the closing '}'; remove it", {.file = path_}};
    GOODPUT_TRY_STATUS(check());
    return std::move(ticks_);
  }

 private:
  [[nodiscard]] Error no_json(simdjson::error_code code) const {
    return {fmt::format("is truncated or not JSON of the form {{\"metadata\": {{...}}, \"data\": [...]}}: {}",
                        simdjson::error_message(code)),
            {.file = path_}};
  }
  [[nodiscard]] Error error_at(std::string_view pointer, std::string_view what) const {
    return {std::string(what), {.file = path_, .pointer = std::string(pointer)}};
  }
  [[nodiscard]] Error twice(std::string_view key) const {
    return error_at(fmt::format("/{}", key), "occurs twice; remove one");
  }

  Status take(std::string_view key, ondemand::value& value) {
    if (key == "metadata") {
      if (ticks_.metadata) return twice(key);
      return read_metadata(value);
    }
    if (key == "data") {
      if (ticks_.data) return twice(key);
      GOODPUT_TRY(ticks_.data_size,
                  read_array(value, ticks_.data.emplace(), "data", &SkypilotFile::count_of));
    }
    if (key == "prices") {
      if (ticks_.prices) return twice(key);
      GOODPUT_TRY(ticks_.prices_size,
                  read_array(value, ticks_.prices.emplace(), "prices", &SkypilotFile::price_of));
    }
    return Ok{};  // others may be there and say nothing to us
  }

  // The number of ticks; `runs` gets those that differ from the one before.
  template <typename Value>
  Result<std::size_t> read_array(ondemand::value& value, Runs<Value>& runs, std::string_view key,
                                 Result<Value> (*value_of)(ondemand::value&, std::string_view)) {
    const std::string pointer = fmt::format("/{}", key);
    ondemand::array array;
    if (value.get_array().get(array)) return error_at(pointer, "must be an array with one number per tick");
    std::size_t tick = 0;
    for (auto item : array) {
      ondemand::value element;
      if (const auto code = item.get(element)) return no_json(code);
      auto parsed = value_of(element, key == "data" ? "the count" : "the price");
      if (!parsed) return parsed.error().inside(fmt::format("{}/{}", pointer, tick)).in_file(path_);
      if (runs.empty() || runs.back().value != *parsed) runs.push_back({tick, *parsed});
      if (++tick > kMostSpotRows)
        return error_at(pointer, fmt::format("has more than {} ticks", kMostSpotRows));
    }
    return tick;
  }

  static Error no_number(ondemand::value& element, std::string_view what, std::string_view wish) {
    const std::string_view token = without_space_behind(element.raw_json_token());
    return {fmt::format("{} must be {}, not {}", what, wish, in_quotes(token))};
  }

  // Whole numbers, also written with a fraction of zeros.
  static Result<std::int32_t> count_of(ondemand::value& element, std::string_view what) {
    std::int64_t count = 0;
    if (element.get_int64().get(count) == simdjson::SUCCESS) return check_spot_count(count, what);
    ondemand::json_type type{};
    if (element.type().get(type) == simdjson::SUCCESS) {
      if (type == ondemand::json_type::null && element.raw_json_token().starts_with("null")) return kNull;
      double number = 0;
      const bool is_number = type == ondemand::json_type::number && !element.get_double().get(number);
      if (is_number && number == std::floor(number) && std::abs(number) <= kMostSpotNodes)
        return check_spot_count(static_cast<std::int64_t>(number), what);
    }
    return no_number(element, what, fmt::format("a number of nodes from 0 to {}, or null", kMostSpotNodes));
  }

  static Result<double> price_of(ondemand::value& element, std::string_view what) {
    double price = 0;
    if (element.get_double().get(price) == simdjson::SUCCESS) return check_spot_price(price, what);
    return no_number(element, what, fmt::format("USD per node-hour from 0 to {}", kMostSpotPrice));
  }

  Status read_metadata(ondemand::value& value) {
    Metadata& metadata = ticks_.metadata.emplace();
    ondemand::object object;
    if (value.get_object().get(object))
      return error_at("/metadata", "must be an object such as {\"gap_seconds\": 300}");
    for (auto field : object) {
      std::string_view key;
      if (const auto code = field.unescaped_key().get(key)) return no_json(code);
      ondemand::value member;
      if (const auto code = field.value().get(member)) return no_json(code);
      const Status read = read_member(key, member, metadata);
      if (!read) return read.error().inside(fmt::format("/metadata/{}", key)).in_file(path_);
    }
    return Ok{};
  }

  static Status read_member(std::string_view key, ondemand::value& value, Metadata& metadata) {
    if (key == "gap_seconds") {
      GOODPUT_TRY(metadata.gap, gap_of(value));
    } else if (key == "nodes") {
      GOODPUT_TRY(const std::int32_t nodes, count_of(value, "it"));
      if (nodes < 1) return Error{"must be at least 1 node"};
      metadata.nodes = nodes;
    } else if (key == "polarity") {
      GOODPUT_TRY(const std::size_t place, choice_of(value, kSpotPolarityNames));
      metadata.polarity = static_cast<SpotPolarity>(place);
    } else if (key == "meaning") {
      GOODPUT_TRY(const std::size_t place, choice_of(value, kSpotMeaningNames));
      metadata.meaning = static_cast<SpotMeaning>(place);
    }
    return Ok{};
  }

  static Result<SimDuration> gap_of(ondemand::value& value) {
    constexpr std::string_view kWish = "a number of seconds above 0 and up to 1e9";
    double seconds = 0;
    if (value.get_double().get(seconds)) return no_number(value, "it", kWish);
    if (!(seconds <= kLongestGap) || from_seconds(std::max(seconds, 0.0)) <= SimDuration{})
      return no_number(value, "it", kWish);
    return from_seconds(seconds);
  }

  static Result<std::size_t> choice_of(ondemand::value& value, std::span<const std::string_view> names) {
    std::string_view text;
    const bool is_text = value.get_string().get(text) == simdjson::SUCCESS;
    const auto found = is_text ? std::find(names.begin(), names.end(), text) : names.end();
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    return Error{fmt::format("must be \"{}\" or \"{}\"", names[0], names[1])};
  }

  Status check() const {
    if (!ticks_.metadata || ticks_.metadata->gap == SimDuration{})
      return error_at("/metadata/gap_seconds", "is missing; add the seconds from one tick to the next");
    if (!ticks_.data) return error_at("/data", "is missing; add one count per tick");
    if (ticks_.data_size == 0) return error_at("/data", "is empty; add the number of nodes at each tick");
    if (ticks_.data->front().value == kNull)
      return error_at("/data/0", "is null; begin the recording at the first known count");
    if (ticks_.prices && ticks_.prices_size != ticks_.data_size) {
      return error_at(
          "/prices",
          fmt::format("has {} prices, but /data has {} counts; each tick needs one price and one count",
                      ticks_.prices_size, ticks_.data_size));
    }
    std::int64_t end = 0;
    if (__builtin_mul_overflow(ticks_.metadata->gap.count(), static_cast<std::int64_t>(ticks_.data_size),
                               &end))
      return error_at("/metadata/gap_seconds", "makes the recording longer than 292 years");
    return Ok{};
  }

  std::string path_;
  Ticks ticks_;
};

Run<std::int32_t> highest_of(const Runs<std::int32_t>& runs) {
  return *std::max_element(runs.begin(), runs.end(),
                           [](const auto& a, const auto& b) { return a.value < b.value; });
}

std::string_view name_of(SpotPolarity polarity) {
  return kSpotPolarityNames[static_cast<std::size_t>(polarity)];
}

Result<SpotPolarity> settle_polarity(const Ticks& ticks, const SpotOptions& options,
                                     const std::string& path) {
  const std::optional<SpotPolarity> stated = ticks.metadata->polarity;
  if (stated && options.polarity && *stated != *options.polarity) {
    return Error{fmt::format("is \"{}\", but {} is {}; remove the option or correct the file",
                             name_of(*stated), kOption, name_of(*options.polarity)),
                 {.file = path, .pointer = "/metadata/polarity"},
                 "polarity"};
  }
  if (stated) return *stated;
  if (options.polarity) return *options.polarity;
  if (highest_of(*ticks.data).value > 1) return SpotPolarity::kAvailable;
  return Error{
      fmt::format(
          "has no count above 1, so the meaning of a count is unclear: 1 means 1 available node in published "
          "files, but 1 preempted node in SkyPilot's simulator; give {} available|preempted",
          kOption),
      {.file = path, .pointer = "/data"},
      "polarity"};
}

// Counts of preempted nodes need to know of how many.
Status check_counts(const Ticks& ticks, SpotPolarity polarity, const std::string& path) {
  const auto highest = highest_of(*ticks.data);
  const Where where{.file = path, .pointer = fmt::format("/data/{}", highest.tick)};
  const std::optional<std::int32_t> nodes = ticks.metadata->nodes;
  if (nodes && highest.value > *nodes)
    return Error{fmt::format("is {}, but must be at most /metadata/nodes ({})", highest.value, *nodes),
                 where};
  if (nodes || polarity == SpotPolarity::kAvailable || highest.value <= 1) return Ok{};
  return Error{fmt::format("is {} preempted nodes, but the total is unknown; add \"nodes\" to \"metadata\", "
                           "or remove {} preempted",
                           highest.value, kOption),
               where, "polarity"};
}

SpotTrace trace_of(const Ticks& ticks, SpotPolarity polarity) {
  const Metadata& metadata = *ticks.metadata;
  const auto time_of = [&](std::size_t tick) {
    return SimTime{metadata.gap * static_cast<std::int64_t>(tick)};
  };
  SpotTrace trace;
  trace.polarity = polarity;
  trace.end = time_of(ticks.data_size);
  const Runs<std::int32_t>& data = *ticks.data;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const SimTime begin = time_of(data[i].tick);
    const std::int32_t value = data[i].value;
    if (value == kNull)
      trace.holes.push_back({begin, i + 1 < data.size() ? time_of(data[i + 1].tick) : trace.end});
    else
      append_spot_count(trace, begin,
                        polarity == SpotPolarity::kAvailable ? value : metadata.nodes.value_or(1) - value);
  }
  if (!ticks.prices) return trace;
  for (const Run<double>& price : *ticks.prices) append_spot_price(trace, time_of(price.tick), price.value);
  return trace;
}

// What tells it from a Chrome trace, which may have "metadata" too.
bool is_skypilot(std::string_view head) {
  head = without_byte_order_mark(head);
  constexpr std::string_view kSpace = " \t\r\n";
  head.remove_prefix(std::min(head.find_first_not_of(kSpace), head.size()));
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  return head.starts_with('{') && !has("\"traceEvents\"") && (has("\"gap_seconds\"") || has("\"data\""));
}

Result<SpotContent> read_skypilot(ByteSource& source, const SpotOptions& options) {
  GOODPUT_TRY(std::string text, read_all(source, kLargestFile));
  GOODPUT_TRY(const Ticks ticks, SkypilotFile(source.path()).parse(std::move(text)));
  GOODPUT_TRY(const SpotPolarity polarity, settle_polarity(ticks, options, source.path()));
  GOODPUT_TRY_STATUS(check_counts(ticks, polarity, source.path()));
  return SpotContent{.trace = trace_of(ticks, polarity), .stated_meaning = ticks.metadata->meaning};
}

}  // namespace

SpotFormat spot_format_skypilot() {
  return {
      .name = "skypilot",
      .summary =
          "spot counts: SkyPilot's JSON with gap_seconds, data (one count per tick) and optionally prices",
      .extensions = {},
      .matches = is_skypilot,
      .read = read_skypilot,
      .write = nullptr};
}

}  // namespace goodput
