#include "traces/benchmark/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "traces/benchmark/nccl_lines.h"
#include "traces/io/csv_lines.h"

namespace goodput {
namespace {

constexpr std::string_view kStarting = "Collective test starting: ";
constexpr std::string_view kConcluded = "Collective test concluded: ";
constexpr std::string_view kVersion = "nccl-tests version ";

// Takes the lines of a log one by one.
class NcclLog {
 public:
  Status take(std::string_view raw, std::size_t number) {
    const std::string text = without_output_tags(raw);
    const std::string_view line = text;
    if (columns_ && line.find_first_not_of(" \t") != std::string_view::npos) last_line_ = {number, text};
    if (run_.nccl.empty()) run_.nccl = nccl_version_in(line);
    if (const auto comment = comment_of(line)) {
      GOODPUT_TRY(const bool is_known, take_comment(*comment, number));
      if (is_known) return Ok{};
    }
    if (columns_) {
      GOODPUT_TRY(const bool is_row, take_row(line, number));
      if (is_row) return Ok{};
    }
    if (std::string test = test_in_command(line); !test.empty()) echoed_test_ = std::move(test);
    return Ok{};
  }

  [[nodiscard]] std::vector<NcclTestsTable> finish() && {
    if (columns_ && !run_.cut_line && is_cut_before_type(last_line_.second)) run_.cut_line = last_line_.first;
    end_table();
    return std::move(tables_);
  }

 private:
  // Whether it is a comment of nccl-tests. A prompt may end in "# ", too.
  Result<bool> take_comment(std::string_view comment, std::size_t number) {
    const std::string_view text = comment.substr(std::min(comment.find_first_not_of(" \t"), comment.size()));
    if (text.starts_with(kVersion)) {
      begin_run();
      take_versions(text.substr(kVersion.size()));
    } else if (text.starts_with(kStarting)) {
      begin_run();
      run_.test = test_in_command(text);
    } else if (text.starts_with("nThread ")) {
      begin_run();
    } else if (text.starts_with("Rank ")) {
      if (columns_) begin_run();
      GOODPUT_TRY(NcclTestsRank rank, rank_of(text));
      rank.line = number;
      run_.ranks.push_back(std::move(rank));
    } else if (const auto columns = columns_of(text)) {
      GOODPUT_TRY_STATUS(begin_table(*columns, number));
    } else if (text.starts_with("Out of bounds values")) {
      GOODPUT_TRY_STATUS(refuse_cut_row());
      end_table();
      echoed_test_.clear();
      if (text.find("FAILED") != std::string_view::npos)
        return Error{
            "nccl-tests found wrong results; the times of such a run are not valid, so remove it from the "
            "log"};
    } else {
      return text.starts_with(kConcluded);
    }
    return true;
  }

  // "2.17.6 nccl-headers=22807 nccl-library=22807"
  void take_versions(std::string_view text) {
    constexpr std::string_view kLibrary = "nccl-library=";
    const Words words = words_of(text);
    if (!words.empty()) run_.version = words.front();
    for (const std::string_view word : words) {
      if (!word.starts_with(kLibrary)) continue;
      if (const auto code = parse_integer(word.substr(kLibrary.size()))) run_.nccl = nccl_version_of(*code);
    }
  }

  // A run states what it is before its ranks, and its ranks before its table.
  void begin_run() {
    end_table();
    if (!run_.ranks.empty()) run_ = {};
  }

  Status begin_table(const NcclColumns& columns, std::size_t number) {
    if (columns.is_cpu_time)
      return Error{"the column cputime has times of the CPU, not of the GPU; run the test without -C"};
    end_table();
    columns_ = columns;
    run_.line = number;
    run_.echoed_test = std::exchange(echoed_test_, {});
    return Ok{};
  }

  void end_table() {
    if (!columns_) return;
    columns_.reset();
    interrupted_.clear();
    tables_.push_back(std::exchange(run_, {}));
  }

  // Whether it is a row, or a part of one.
  Result<bool> take_row(std::string_view line, std::size_t number) {
    const std::string text = before_nccl_message(line);
    const bool is_rest = !interrupted_.empty() && is_rest_of_row(text);
    const std::string row_text = is_rest ? interrupted_ + " " + text : text;
    const NcclRowText row = row_of(row_text, *columns_);
    if (!row.is_row) return false;
    if (is_rest)
      number = *std::exchange(run_.cut_line, std::nullopt);
    else
      GOODPUT_TRY_STATUS(refuse_cut_row());
    interrupted_.clear();
    if (!row.is_complete) {
      run_.cut_line = number;
      if (text.size() < line.size()) interrupted_ = row_text;
      return true;
    }
    GOODPUT_TRY_STATUS(add_row(row, number));
    return true;
  }

  Status add_row(const NcclRowText& text, std::size_t number) {
    if (text.is_wrong) {
      return Error{
          "#wrong is above 0: the results are wrong and the time is not valid; remove this run from the log"};
    }
    if (text.row.bytes <= 0) return Ok{};
    if (text.row.time_us.value <= 0) return Error{"the time is 0; remove the row"};
    run_.rows.push_back(text.row);
    run_.rows.back().line = number;
    return Ok{};
  }

  // Only the last row of a run may be incomplete: that of a run that was killed.
  [[nodiscard]] Status refuse_cut_row() const {
    if (!run_.cut_line) return Ok{};
    return Error{"the row is damaged; remove it, or import an intact log",
                 {.file = {}, .position = Position::line(*run_.cut_line)}};
  }

  static bool is_cut_before_type(std::string_view line) {
    Words words = words_of(line);
    if (!words.empty() && words.front().ends_with(':')) words.erase(words.begin());
    return !words.empty() && words.size() <= 2 &&
           std::all_of(words.begin(), words.end(),
                       [](std::string_view word) { return parse_integer(word).has_value(); });
  }

  NcclTestsTable run_;                             // the run that the lines are about
  std::optional<NcclColumns> columns_;             // of its table; none: it has not begun
  std::string interrupted_;                        // the part of run_.cut_line before a message of NCCL
  std::string echoed_test_;                        // of the last command line, for the next table
  std::pair<std::size_t, std::string> last_line_;  // of the table
  std::vector<NcclTestsTable> tables_;
};

}  // namespace

Result<std::vector<NcclTestsTable>> read_nccl_tests(ByteSource& source) {
  NcclLog log;
  const Status read = for_each_line(source, kCsvBlockBytes, [&](std::string_view line, std::size_t number) {
    return log.take(line, number);
  });
  if (!read) return read.error().in_file(source.path());
  std::vector<NcclTestsTable> tables = std::move(log).finish();
  if (tables.empty()) {
    return Error{
        "has neither a table of nccl-tests nor a CSV header with the columns m, n and k; give a log of "
        "all_reduce_perf or a similar test, or a CSV of GEMM times",
        {.file = source.path()}};
  }
  return tables;
}

}  // namespace goodput
