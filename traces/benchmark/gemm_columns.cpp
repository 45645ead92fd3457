#include "traces/benchmark/gemm_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "sim/base/text.h"

namespace goodput {
namespace {

using NameWords = std::vector<std::string>;

struct NamedUnit {
  std::string_view name;
  double size;
};
constexpr NamedUnit kTimeUnits[] = {  // in microseconds
    {"s", 1e6},           {"sec", 1e6},         {"secs", 1e6},        {"second", 1e6},       {"seconds", 1e6},
    {"ms", 1e3},          {"msec", 1e3},        {"millisecond", 1e3}, {"milliseconds", 1e3}, {"us", 1},
    {"usec", 1},          {"microsecond", 1},   {"microseconds", 1},  {"ns", 1e-3},          {"nsec", 1e-3},
    {"nanosecond", 1e-3}, {"nanoseconds", 1e-3}};
constexpr NamedUnit kRateUnits[] = {  // in FLOP/s
    {"gflops", 1e9},
    {"tflops", 1e12},
    {"pflops", 1e15}};

// What a column of another time or rate than that of the GEMM has in its name.
constexpr std::string_view kOtherTimes[] = {
    "cpu",    "host",  "min",   "max",       "best",   "worst",       "std",   "stdev",
    "stddev", "sigma", "p5",    "p05",       "p10",    "p90",         "p95",   "p99",
    "noise",  "peak",  "total", "launch",    "warmup", "theoretical", "setup", "compile",
    "init",   "start", "end",   "timestamp", "tune",   "tuning",      "build"};
// Names of columns that would be a time, if they had a unit.
constexpr std::string_view kTimeNames[] = {"time", "latency", "duration", "median", "elapsed", "runtime"};

double unit_of(std::span<const NamedUnit> units, std::string_view word) {
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const NamedUnit& unit) { return unit.name == word; });
  return found == units.end() ? 0 : found->size;
}

bool has_any(const NameWords& words, std::span<const std::string_view> wanted) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

bool has_word(const NameWords& words, std::string_view word) {
  return has_any(words, std::span(&word, 1));
}

// "elem/s", "ops_per_sec"
bool is_per_time(std::string_view name, const NameWords& words) {
  return name.find('/') != std::string_view::npos || (words.size() > 1 && words[words.size() - 2] == "per");
}

// "tflops", "GFLOP/s"; a GFLOP alone is work.
double rate_unit(std::string_view name, const NameWords& words) {
  for (const std::string& word : words) {
    const double unit =
        unit_of(kRateUnits, is_per_time(name, words) && word.ends_with("flop") ? word + "s" : word);
    if (unit > 0) return unit;
  }
  return 0;
}

// Of one column, as far as its name says.
struct ValueColumn {
  std::size_t column = 0;
  std::string_view name{};
  NameWords words{};
  double microseconds = 0, flops = 0;
};

std::vector<ValueColumn> value_columns(std::span<const std::string_view> names) {
  std::vector<ValueColumn> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ValueColumn column{.column = i, .name = names[i], .words = name_words(names[i])};
    if (column.words.empty() || has_any(column.words, kOtherTimes)) continue;
    column.flops = rate_unit(names[i], column.words);
    if (column.flops == 0 && !is_per_time(names[i], column.words))
      column.microseconds = unit_of(kTimeUnits, column.words.back());
    if (column.flops > 0 || column.microseconds > 0) columns.push_back(std::move(column));
  }
  return columns;
}

// Those that `wanted` holds of, if it does of any.
template <typename Wanted>
void prefer(std::vector<ValueColumn>& columns, Wanted wanted) {
  if (std::any_of(columns.begin(), columns.end(), wanted))
    columns.erase(
        std::remove_if(columns.begin(), columns.end(), [&](const ValueColumn& one) { return !wanted(one); }),
        columns.end());
}

Error no_value_column(std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const NameWords words = name_words(name);
    if (has_any(words, kTimeNames) && !has_any(words, kOtherTimes))
      return Error{
          fmt::format("the column {} has no unit; rename it, for example to time_us", in_quotes(name))};
  }
  return Error{"has no column of times or rates; add one, for example time_us or tflops"};
}

Result<ValueColumn> value_column(std::span<const std::string_view> names) {
  std::vector<ValueColumn> columns = value_columns(names);
  prefer(columns, [](const ValueColumn& one) { return one.microseconds > 0; });
  prefer(columns,
         [](const ValueColumn& one) { return has_word(one.words, "median") || has_word(one.words, "p50"); });
  prefer(columns, [](const ValueColumn& one) { return has_word(one.words, "gpu"); });
  // nvbench: "GPU Time" is of single runs with a cold L2 cache, "Batch GPU" of many back to back.
  prefer(columns, [](const ValueColumn& one) { return !has_word(one.words, "batch"); });
  if (columns.empty()) return no_value_column(names);
  if (columns.size() == 1) return columns.front();
  std::vector<std::string> several;
  for (const ValueColumn& column : columns) several.push_back(in_quotes(column.name));
  return Error{fmt::format("has several columns of times or rates ({}); keep only one of them",
                           fmt::join(several, ", "))};
}

// The first of these names that a column has.
std::optional<std::size_t> column_named(std::span<const NameWords> columns,
                                        std::initializer_list<NameWords> names) {
  for (const NameWords& name : names) {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found != columns.end()) return static_cast<std::size_t>(found - columns.begin());
  }
  return std::nullopt;
}

std::vector<NameWords> words_of_all(std::span<const std::string_view> names) {
  std::vector<NameWords> words;
  for (const std::string_view name : names) words.push_back(name_words(name));
  return words;
}

}  // namespace

std::vector<std::string> name_words(std::string_view name) {
  constexpr std::string_view kMicro[] = {"\xc2\xb5", "\xce\xbc"};  // the micro sign and the Greek letter
  NameWords words;
  bool is_inside = false;
  bool was_lower = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    if (name.substr(i, 2) == kMicro[0] || name.substr(i, 2) == kMicro[1]) {
      c = 'u';
      ++i;
    }
    const auto letter = static_cast<unsigned char>(c);
    const bool is_upper = std::isupper(letter) != 0;
    if (std::isalnum(letter) == 0) {
      is_inside = false;
    } else {
      if (!is_inside || (was_lower && is_upper)) words.emplace_back();
      words.back() += static_cast<char>(std::tolower(letter));
      is_inside = true;
    }
    was_lower = std::islower(letter) != 0;
  }
  return words;
}

bool has_gemm_shape(std::span<const std::string_view> names) {
  const std::vector<NameWords> columns = words_of_all(names);
  return column_named(columns, {{"m"}}) && column_named(columns, {{"n"}}) && column_named(columns, {{"k"}});
}

Result<GemmColumns> gemm_columns(std::span<const std::string_view> names) {
  const std::vector<NameWords> words = words_of_all(names);
  GOODPUT_TRY(const ValueColumn value, value_column(names));
  constexpr std::string_view kVariants[] = {
      "benchmark", "kernel",   "impl",    "implementation", "library",   "backend", "algo",
      "algorithm", "provider", "version", "config",         "framework", "tile"};
  GemmColumns columns;
  columns.m = column_named(words, {{"m"}}).value_or(0);
  columns.n = column_named(words, {{"n"}}).value_or(0);
  columns.k = column_named(words, {{"k"}}).value_or(0);
  columns.value = value.column;
  columns.microseconds = value.microseconds;
  columns.flops = value.flops;
  columns.dtype = column_named(words, {{"dtype"},
                                       {"data", "type"},
                                       {"datatype"},
                                       {"precision"},
                                       {"type"},
                                       {"t", "ct"},
                                       {"t"},
                                       {"a", "type"},
                                       {"input", "type"}});
  columns.layout = column_named(words, {{"layout"},
                                        {"transa"},
                                        {"trans", "a"},
                                        {"transpose", "a"},
                                        {"op", "a"},
                                        {"opa"},
                                        {"a", "t"},
                                        {"ta"},
                                        {"trans"},
                                        {"transpose"},
                                        {"transb"},
                                        {"trans", "b"},
                                        {"b", "t"}});
  columns.gpu = column_named(words, {{"device", "name"}, {"gpu", "name"}, {"gpu"}});
  columns.batch = column_named(words, {{"batch"},
                                       {"batch", "size"},
                                       {"batch", "count"},
                                       {"batchcount"},
                                       {"b"},
                                       {"groups"},
                                       {"num", "groups"},
                                       {"group", "count"}});
  columns.samples = column_named(words, {{"samples"}, {"iterations"}, {"iters"}, {"repeats"}, {"runs"}});
  columns.skipped = column_named(words, {{"skipped"}});
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (has_any(words[i], kVariants)) columns.variants.push_back(i);
  }
  // A rate beside the time must be that of the time.
  for (const ValueColumn& other : value_columns(names)) {
    if (value.microseconds > 0 && other.flops > 0 && !columns.rate) {
      columns.rate = other.column;
      columns.rate_flops = other.flops;
    }
  }
  columns.count = names.size();
  return columns;
}

}  // namespace goodput
