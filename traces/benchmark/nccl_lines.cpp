#include "traces/benchmark/nccl_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::array<std::string_view, 11> kNcclTests = {
    "all_reduce", "all_gather", "reduce_scatter", "alltoall", "alltoallv", "sendrecv",
    "broadcast",  "reduce",     "gather",         "scatter",  "hypercube"};
constexpr std::array<std::string_view, 9> kTypePrefixes = {"int",    "uint", "half", "float", "double",
                                                           "bfloat", "f8",   "fp8",  "char"};
constexpr std::string_view kSuffix = "_perf";
constexpr std::string_view kUnknown = "N/A";

bool is_name_letter(char c) {
  return c == '_' || std::islower(static_cast<unsigned char>(c)) != 0;
}

bool is_type(std::string_view word) {
  return std::any_of(kTypePrefixes.begin(), kTypePrefixes.end(),
                     [&](std::string_view prefix) { return word.starts_with(prefix); });
}

bool is_number(std::string_view word) {
  return word == kUnknown || parse_number(word).has_value();
}

std::optional<PrintedNumber> printed_number(std::string_view word) {
  const std::optional<double> value = parse_number(word);
  if (!value || *value < 0) return std::nullopt;
  const std::size_t e = std::min(word.find('e'), word.size());
  const std::size_t point = word.find('.');
  double power = point == std::string_view::npos ? 0 : -static_cast<double>(e - point - 1);
  if (e < word.size()) power += parse_number(word.substr(e + (word[e + 1] == '+' ? 2 : 1))).value_or(0);
  return PrintedNumber{*value, 0.5 * std::pow(10.0, power)};
}

// The column of the size: after what a launcher puts in front of a row ("0:"). None: this is not a row.
std::optional<std::size_t> first_column(const Words& words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (is_type(words[i + 2]) && parse_integer(words[i]) && parse_integer(words[i + 1])) return i;
  }
  return std::nullopt;
}

// What a row without its first columns looks like, or one whose columns were damaged.
bool looks_like_rest_of_row(std::string_view line, const Words& words) {
  constexpr std::ptrdiff_t kLeastNumbers = 6, kLeastDecimals = 3;
  if (line.find("NCCL") != std::string_view::npos) return false;
  const auto is_decimal = [](std::string_view word) {
    return word.find('.') != std::string_view::npos && parse_number(word).has_value();
  };
  return std::count_if(words.begin(), words.end(), is_number) >= kLeastNumbers &&
         std::count_if(words.begin(), words.end(), is_decimal) >= kLeastDecimals;
}

}  // namespace

Words words_of(std::string_view text) {
  Words words;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::string without_output_tags(std::string_view line) {
  constexpr std::string_view kStdout = "<stdout>";
  std::string text;
  for (std::size_t at = line.find(kStdout); at != std::string_view::npos; at = line.find(kStdout)) {
    const std::size_t bracket = line.substr(0, at).rfind('[');
    text.append(line.substr(0, std::min(bracket, at))).append(" ");
    line.remove_prefix(at + kStdout.size());
    if (const std::size_t colon = line.find_first_not_of(' ');
        line.substr(std::min(colon, line.size())).starts_with(':'))
      line.remove_prefix(colon + 1);
  }
  text.append(line);
  for (std::size_t at = text.find("\x1b["); at != std::string::npos; at = text.find("\x1b[", at)) {
    const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
    text.erase(at, std::min(end, text.size() - 1) - at + 1);
  }
  return text;
}

std::optional<std::string_view> comment_of(std::string_view line) {
  const std::size_t hash = line.find("# ");
  if (hash == std::string_view::npos) return std::nullopt;
  return line.substr(hash + 2);
}

std::string before_nccl_message(std::string_view line) {
  const Words words = words_of(line);
  const auto nccl = std::find(words.begin(), words.end(), "NCCL");
  if (nccl == words.end() || nccl - words.begin() < 2) return std::string(line);
  const std::string_view host = nccl[-2];  // "host:1:2", perhaps behind a number
  const std::size_t begin =
      host.starts_with(kUnknown) ? kUnknown.size() : host.find_first_not_of("-.0123456789");
  return std::string(
      line.substr(0, static_cast<std::size_t>(host.data() - line.data()) + std::min(begin, host.size())));
}

bool is_rest_of_row(std::string_view line) {
  const Words words = words_of(line);
  const auto first = !words.empty() && words.front().ends_with(':') ? words.begin() + 1 : words.begin();
  return first != words.end() && std::all_of(first, words.end(), is_number);
}

std::string nccl_test_of(std::string_view text) {
  const auto found = std::find(kNcclTests.begin(), kNcclTests.end(), text);
  return found == kNcclTests.end() ? std::string{} : std::string(*found);
}

std::string test_in_command(std::string_view line) {
  std::string test;
  for (std::size_t at = line.find(kSuffix); at != std::string_view::npos; at = line.find(kSuffix, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_name_letter(line[begin - 1])) --begin;
    const std::string named = nccl_test_of(line.substr(begin, at - begin));
    if (!test.empty() && !named.empty() && named != test) return {};
    if (!named.empty()) test = named;
  }
  return test;
}

std::string nccl_version_of(std::int64_t code) {
  // From 2.9 on the minor version has two digits.
  const std::int64_t major = code < 10000 ? 1000 : 10000;
  return fmt::format("{}.{}.{}", code / major, code % major / 100, code % 100);
}

std::string nccl_version_in(std::string_view line) {
  constexpr std::string_view kBefore = "NCCL version ";
  const std::size_t at = line.find(kBefore);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + kBefore.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

Result<NcclTestsRank> rank_of(std::string_view comment) {
  const Error damaged{fmt::format("cannot read where this rank runs: {}", in_quotes(comment))};
  const Words words = words_of(comment);
  const auto after = [&words](std::string_view word) {
    const auto found = std::find(words.begin(), words.end(), word);
    return found == words.end() || found + 1 == words.end() ? std::string_view{} : *(found + 1);
  };
  NcclTestsRank rank;
  const std::optional<std::int64_t> number = parse_integer(after("Rank"));
  rank.group = parse_integer(after("Group")).value_or(0);
  rank.host = after("on");
  const std::size_t bus = comment.find('[');
  const std::size_t bus_end = comment.find("] ", std::min(bus, comment.size()));
  if (!number || *number < 0 || rank.host.empty() || bus_end == std::string_view::npos) return damaged;
  rank.rank = *number;
  rank.place = fmt::format("{} {}", after("device"), comment.substr(bus, bus_end - bus));
  rank.gpu = comment.substr(bus_end + 2);
  rank.gpu.erase(rank.gpu.find_last_not_of(kBlanks) + 1);
  if (rank.gpu.empty()) return damaged;
  return rank;
}

std::optional<NcclColumns> columns_of(std::string_view comment) {
  const Words words = words_of(comment);
  if (words.size() < 6 || words[0] != "size" || words[1] != "count" || words[2] != "type")
    return std::nullopt;
  const auto is_time = [](std::string_view word) { return word == "time" || word == "cputime"; };
  const auto time = std::find_if(words.begin(), words.end(), is_time);
  if (words.end() - time < 3 || time[1] != "algbw" || time[2] != "busbw") return std::nullopt;
  NcclColumns columns;
  columns.has_redop = std::find(words.begin(), time, "redop") != time;
  columns.has_root = std::find(words.begin(), time, "root") != time;
  columns.is_cpu_time = *time == "cputime";
  columns.has_timestamps = words.back() == "timestamp";
  columns.numbers = static_cast<std::size_t>(words.end() - time) - (columns.has_timestamps ? 1 : 0);
  if (columns.numbers > 3 && time[3] == "#wrong") columns.wrong = 3;
  return columns;
}

NcclRowText row_of(std::string_view line, const NcclColumns& columns) {
  Words words = words_of(line);
  NcclRowText text;
  const std::optional<std::size_t> first = first_column(words);
  text.is_row = first || looks_like_rest_of_row(line, words);
  if (!first) return text;
  if (columns.has_timestamps) words.resize(words.size() - std::min<std::size_t>(2, words.size() - *first));
  std::size_t at = *first + 3;
  // Some versions leave the column empty for collectives that reduce nothing.
  const auto is_reduction = [&] { return std::isalpha(static_cast<unsigned char>(words[at].front())) != 0; };
  if (columns.has_redop && at < words.size() && is_reduction()) text.row.redop = words[at++];
  if (columns.has_root && at < words.size()) text.row.root = words[at++];
  if (at + columns.numbers != words.size()) return text;
  const auto numbers = words.begin() + static_cast<std::ptrdiff_t>(at);
  const auto time = printed_number(numbers[0]);
  const auto algbw = printed_number(numbers[1]);
  const auto busbw = printed_number(numbers[2]);
  if (!time || !algbw || !busbw) return text;
  text.is_complete = true;
  text.row.bytes = *parse_integer(words[*first]);
  text.row.type = words[*first + 2];
  text.row.time_us = *time;
  text.row.algbw = *algbw;
  text.row.busbw = *busbw;
  if (columns.wrong > 0) {
    const std::string_view wrong = numbers[static_cast<std::ptrdiff_t>(columns.wrong)];
    text.is_wrong = parse_number(wrong).value_or(0) > 0;
    text.is_complete = is_number(wrong);
  }
  return text;
}

}  // namespace goodput
