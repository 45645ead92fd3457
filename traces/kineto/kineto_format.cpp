#include "traces/kineto/kineto_format.h"

#include <algorithm>
#include <iterator>

#include "traces/op/ndtimeline_names.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

// The string that `text` begins with, its quotes included.
std::string_view first_string(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return text.substr(0, end + 1);
}

// Whether `text` has a string after `key` for which `is_one` holds.
template <typename Predicate>
bool any_value(std::string_view text, std::string_view key, const Predicate& is_one) {
  for (std::size_t at = 0; (at = text.find(key)) != std::string_view::npos;) {
    text = without_blanks(text.substr(at + key.size()));
    if (!text.starts_with(':')) continue;
    text = without_blanks(text.substr(1));
    if (!text.starts_with('"')) continue;
    const std::string_view value = first_string(text);
    if (value.size() < 2 || value.back() != '"') return false;  // the head ends within it
    if (is_one(value.substr(1, value.size() - 2))) return true;
  }
  return false;
}

}  // namespace

bool is_kineto(std::string_view head) {
  constexpr std::string_view kKeys[] = {R"("deviceProperties")", R"("distributedInfo")",
                                        R"("baseTimeNanoseconds")"};
  constexpr std::string_view kCategories[] = {"cpu_op",          "kernel",     "cuda_runtime",
                                              "user_annotation", "gpu_memcpy", "python_function"};
  const bool is_object = head.substr(0, head.find_first_of("[{") + 1).ends_with('{');
  const std::string_view before = head.substr(0, is_object ? head.find(R"("traceEvents")") : 0);
  const auto is_there = [&](std::string_view key) { return before.find(key) != std::string_view::npos; };
  const auto is_category = [&](std::string_view value) {
    return std::ranges::find(kCategories, value) != std::end(kCategories);
  };
  const auto is_ours = [](std::string_view name) { return find_metric(name).has_value(); };
  return ((is_there(R"("schemaVersion")") && std::ranges::any_of(kKeys, is_there)) ||
          any_value(head, R"("cat")", is_category)) &&
         !any_value(head, R"("name")", is_ours);
}

namespace {

Result<FileNotes> refuse_rows(ByteSource& source, TraceIntake& /*intake*/) {
  return Error{
      "is a torch.profiler (Kineto) trace, which has kernels and collectives, not the ops of other formats; "
      "analyze it with `goodput whatif DIR`",
      {.file = source.path()}};
}

}  // namespace

OpTraceFormat op_trace_format_kineto() {
  return {
      .name = kKinetoFormat,
      .summary = "torch.profiler (Kineto) traces of all ranks of a job, one file per rank (.json, .json.gz)",
      .extensions = {},
      .matches = is_kineto,
      .append_file = refuse_rows,
      .write = nullptr};
}

}  // namespace goodput
