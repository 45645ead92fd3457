// The lines of a log of nccl-tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/benchmark/nccl_tests.h"

namespace goodput {

using Words = std::vector<std::string_view>;

// Between blanks.
[[nodiscard]] Words words_of(std::string_view text);

// The line without the tags of mpirun, which may also be within rows ("[1,0]<stdout>:"), and without colors.
[[nodiscard]] std::string without_output_tags(std::string_view line);

// The text after the "#" of a comment, which may have a prefix before it; none: the line is not a comment.
[[nodiscard]] std::optional<std::string_view> comment_of(std::string_view line);

// The text before a message of NCCL ("host:1:2 [0] NCCL INFO ..."), even if the message follows a number
// without a blank; the whole line if it has no message. A process that prints both interrupts its rows like
// this.
[[nodiscard]] std::string before_nccl_message(std::string_view line);

// The words, if they are the rest of a row that was interrupted: numbers.
[[nodiscard]] bool is_rest_of_row(std::string_view line);

// The test that a command line runs, or empty: it names none, or several.
[[nodiscard]] std::string test_in_command(std::string_view line);

// "2.28.7" of the code 22807.
[[nodiscard]] std::string nccl_version_of(std::int64_t code);

// "2.22.3" of "NCCL version 2.22.3+cuda12.6" anywhere in the line; empty: there is none.
[[nodiscard]] std::string nccl_version_in(std::string_view line);

// "Rank 0 Group 0 Pid 12 on host device 0 [0000:1b:00] NVIDIA H100", with or without the group.
[[nodiscard]] Result<NcclTestsRank> rank_of(std::string_view comment);

// The columns of a table. Every table has size, count and type first, and then time, algbw and busbw.
struct NcclColumns {
  bool has_redop = false, has_root = false;
  std::size_t numbers = 0;      // from the first time on, in a complete row
  std::size_t wrong = 0;        // of these, the one that counts wrong results; 0: none
  bool is_cpu_time = false;     // -C: until the call returned
  bool has_timestamps = false;  // date and time at the end of a row
};
// None: the comment does not name columns.
[[nodiscard]] std::optional<NcclColumns> columns_of(std::string_view comment);

// A row of a table, as far as it could be read.
struct NcclRowText {
  bool is_row = false;       // the line is a row, or the rest of one that was interrupted
  bool is_complete = false;  // and has all columns
  NcclTestsRow row{};
  bool is_wrong = false;  // its results are
};
[[nodiscard]] NcclRowText row_of(std::string_view line, const NcclColumns& columns);

}  // namespace goodput
