// Output of nccl-tests (all_reduce_perf and others): tables of times of collectives, and the ranks they ran
// on.
//
// Versions 2.0 and later, and what a launcher adds: other lines between those of a table, and tags in front
// of or within them ("[1,0]<stdout>:", "0:"). One log may hold several runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "traces/io/byte_source.h"

namespace goodput {

// A number as a program printed it. Its true value is within half a unit of the last digit.
struct PrintedNumber {
  double value = 0;
  double half_unit = 0;
};

// Out of place.
struct NcclTestsRow {
  std::size_t line = 0;
  std::int64_t bytes = 0;  // more than 0
  std::string type{};      // as printed: "float", "bfloat16"
  std::string redop{};     // "sum", "none"; empty: the table has no such column
  std::string root{};      // "-1": none; empty: likewise
  PrintedNumber time_us{};
  PrintedNumber algbw{}, busbw{};  // GB/s
};

// A line that says where a rank runs.
struct NcclTestsRank {
  std::size_t line = 0;
  std::int64_t rank = 0;
  std::int64_t group = 0;  // NCCL_TESTS_SPLIT makes several; each runs the test on its own
  std::string host{};
  std::string place{};  // device and bus within the host: "0 [0000:1b:00"
  std::string gpu{};
};

// One run of one test. Texts that the log does not state are empty.
struct NcclTestsTable {
  std::size_t line = 0;       // of the column names
  std::string test{};         // "all_reduce": what the run says it is
  std::string echoed_test{};  // what a command line before the table says it is
  std::string version{};      // of nccl-tests: "2.17.6"
  std::string nccl{};         // "2.28.7"
  std::vector<NcclTestsRank> ranks{};
  std::vector<NcclTestsRow> rows{};
  std::optional<std::size_t> cut_line{};  // of a last row that is not complete and not among the rows
};

// The tests that nccl-tests has: "all_reduce" is all_reduce_perf. Empty: the text is not such a name.
[[nodiscard]] std::string nccl_test_of(std::string_view text);

// Fails on a damaged row within a table, on wrong results, and if there is no table.
Result<std::vector<NcclTestsTable>> read_nccl_tests(ByteSource& source);

}  // namespace goodput
