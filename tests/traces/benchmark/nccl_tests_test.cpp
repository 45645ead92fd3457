// Logs of nccl-tests: the layouts of its versions, what launchers and NCCL add to them, and damage.
#include "traces/benchmark/nccl_tests.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/traces/benchmark/nccl_log.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

using testing::nccl_log;
using testing::rank_lines;

Result<std::vector<NcclTestsTable>> read_log(const TemporaryFile& file) {
  ByteSource source = ByteSource::open(file.path()).value();
  return read_nccl_tests(source);
}
std::vector<NcclTestsTable> tables_of(const std::string& log) {
  return read_log(TemporaryFile("nccl.log", log)).value();
}
std::string error_of_log(const std::string& log) {
  const TemporaryFile file("nccl.log", log);
  const auto read = read_log(file);
  REQUIRE_FALSE(read);
  return without_path(read.error().message(), file);
}

// 2.0 to 2.10: no root column, and an error column instead of the number of wrong results.
constexpr std::string_view kOldRanks =
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n#\n"
    "# Using devices\n"
    "#   Rank  0 Pid     26 on      alpha device  0 [0x10] A100-SXM4-40GB\n"
    "#   Rank  1 Pid     26 on      alpha device  1 [0x20] A100-SXM4-40GB\n#\n";
constexpr std::string_view kOldReduce =
    "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  "
    "error\n"
    "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)     "
    "  \n"
    "     1048576        262144   float     sum    52.43   20.00   20.00  2e-07    51.00   20.56   20.56  "
    "1e-07\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 20.28 \n#\n";

// 2.11 to 2.16.
constexpr std::string_view kMiddle =
    "# nThread 1 nGpus 2 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
    "validation: 1 graph: 0\n#\n# Using devices\n"
    "#  Rank  0 Group  0 Pid     26 on      alpha device  0 [0x10] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid     26 on       beta device  0 [0x20] NVIDIA H100 80GB HBM3\n"
    "NCCL version 2.18.3+cuda12.2\n#\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n"
    "           0             0  bfloat16     sum      -1    15.51    0.00    0.00      0    15.52    0.00   "
    " 0.00    "
    "N/A\n"
    "     1048576        524288  bfloat16     sum      -1    52.43   20.00   20.00      0    51.00   20.56   "
    "20.56    "
    "N/A\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 20.28 \n#\n";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string two_ranks() {
  return rank_lines(2, 2, "NVIDIA H100");
}
// Two rows of sendrecv, whose bus bandwidth is that of the buffer. They are lines 10 and 11.
std::string short_log() {
  return nccl_log("sendrecv", two_ranks(), 1, {{1048576, 52.43}, {2097152, 104.86}});
}

}  // namespace

TEST_CASE("nccl-tests: versions before 2.11 have an error column and no root") {
  const auto tables = tables_of(std::string(kOldRanks) + std::string(kOldReduce));
  REQUIRE(tables.size() == 1);
  const NcclTestsTable& table = tables.front();
  REQUIRE(table.ranks.size() == 2);
  CHECK(table.ranks[1].rank == 1);
  CHECK(table.ranks[1].host == "alpha");
  CHECK(table.ranks[1].gpu == "A100-SXM4-40GB");
  REQUIRE(table.rows.size() == 1);
  const NcclTestsRow& row = table.rows.front();
  CHECK(row.line == 9);
  CHECK(row.bytes == 1048576);
  CHECK(row.type == "float");
  CHECK(row.time_us.value == 52.43);
  CHECK(row.time_us.half_unit == doctest::Approx(0.005));
  CHECK(row.busbw.value == 20.00);
  CHECK(table.test.empty());
}

TEST_CASE(
    "nccl-tests: versions 2.11 to 2.16 have a root and count wrong results; rows of 0 bytes do not count") {
  const auto tables = tables_of(std::string(kMiddle));
  REQUIRE(tables.size() == 1);
  REQUIRE(tables[0].rows.size() == 1);
  CHECK(tables[0].rows[0].type == "bfloat16");
  CHECK(tables[0].rows[0].time_us.value == 52.43);
  CHECK(tables[0].nccl == "2.18.3");
  CHECK(tables[0].version.empty());
  CHECK(tables[0].ranks[1].host == "beta");
}

TEST_CASE("nccl-tests: version 2.17 says its name, its version and that of NCCL") {
  const auto tables = tables_of(short_log());
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].test == "sendrecv");
  CHECK(tables[0].version == "2.17.6");
  CHECK(tables[0].nccl == "2.28.7");
  REQUIRE(tables[0].rows.size() == 2);
  CHECK(tables[0].rows[1].time_us.value == 104.86);
  // 1.2e+07 us: two digits, so half a unit is 5e5.
  const auto slow = tables_of(nccl_log("sendrecv", two_ranks(), 1, {{1 << 30, 1.2e7}}));
  CHECK(slow[0].rows[0].time_us.value == 1.2e7);
  CHECK(slow[0].rows[0].time_us.half_unit == doctest::Approx(5e5));
}

TEST_CASE(
    "nccl-tests: columns may be empty, absent, or of every iteration, and rows may end with a time of day") {
  const std::string blank = replaced(short_log(), "     sum      -1", "              -1");
  CHECK(tables_of(blank)[0].rows.size() == 2);
  const std::string ranks = "# Using devices\n" + two_ranks();
  const std::string single =
      ranks +
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1    52.43   20.00   20.00    N/A\n";
  CHECK(tables_of(single)[0].rows.size() == 1);
  const std::string each = ranks +
                           "#  size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% "
                           "time algbw busbw #wrong i_min "
                           "i_max i_p99 i_cv% timestamp\n"
                           "1048576 262144 float sum -1 52.43 20.00 20.00 0 50.00 60.00 59.00 1.20 51.00 "
                           "20.56 20.56 0 50.00 60.00 59.00 "
                           "1.20 2026-01-02 03:04:05\n";
  REQUIRE(tables_of(each)[0].rows.size() == 1);
  CHECK(tables_of(each)[0].rows[0].time_us.value == 52.43);
}

TEST_CASE("nccl-tests: prefixes and tags of launchers do not matter, in front of a row or within it") {
  std::string tagged, numbered;
  const std::string log = replaced(short_log(), "     sum      -1", "     sum      -1[1,0]<stdout>:");
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = log.find('\n', at) + 1;
    tagged += "[1,0]<stdout>:" + log.substr(at, end - at);
    numbered += "0: " + log.substr(at, end - at);
    at = end;
  }
  for (const std::string& text : {tagged, numbered}) {
    const auto tables = tables_of(text);
    REQUIRE(tables.size() == 1);
    CHECK(tables[0].test == "sendrecv");
    CHECK(tables[0].ranks.size() == 2);
    CHECK(tables[0].rows.size() == 2);
  }
}

TEST_CASE("nccl-tests: messages of NCCL may stand between lines and interrupt a row") {
  const std::string message = "node0:12:34 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n";
  const std::string between = replaced(short_log(), "     2097152", message + message + "     2097152");
  CHECK(tables_of(between)[0].rows.size() == 2);
  for (const std::string_view place : {"     sum      -1", "   20.00   20.00       0"}) {
    const std::string within =
        replaced(short_log(), place, std::string(place) + message + "node1:12:34 [1] NCCL INFO comm 1 2 3\n");
    const auto tables = tables_of(within);
    REQUIRE(tables[0].rows.size() == 2);
    CHECK(tables[0].rows[0].line == 10);
    CHECK(tables[0].rows[0].time_us.value == 52.43);
  }
}

TEST_CASE("nccl-tests: a log may have several runs, and a command line names the test of the next table") {
  const std::string two = "+ mpirun -np 2 ./build/all_gather_perf -b 1M\n" + std::string(kOldRanks) +
                          std::string(kOldReduce) + "root@alpha:~# ./alltoall_perf_mpi -b 8\n" +
                          std::string(kMiddle) + "run all_reduce_perf|sendrecv_perf\n" + std::string(kMiddle);
  const auto tables = tables_of(two);
  REQUIRE(tables.size() == 3);
  CHECK(tables[0].echoed_test == "all_gather");
  CHECK(tables[1].echoed_test == "alltoall");
  CHECK(tables[2].echoed_test.empty());
  CHECK(tables[0].nccl.empty());
  CHECK(tables[1].nccl == "2.18.3");
  // A message with a name in it does not end a table.
  const std::string warned =
      replaced(short_log(), "     2097152", "./sendrecv_perf: no version information\n     2097152");
  CHECK(tables_of(warned)[0].rows.size() == 2);
  // A run that ended before its table does not lend its ranks to the next one.
  CHECK(tables_of(std::string(kOldRanks) + std::string(kMiddle))[0].ranks.size() == 2);
}

TEST_CASE("nccl-tests: the cut last row of a run that was killed is left out") {
  const std::string log = short_log();
  const std::size_t row = log.find("     2097152");
  for (const std::size_t length : {20U, 40U, 70U, 100U}) {
    const auto tables = tables_of(log.substr(0, row + length));
    REQUIRE(tables.size() == 1);
    CHECK(tables[0].rows.size() == 1);
    CHECK(tables[0].cut_line == 11);
  }
  const auto aborted =
      tables_of(log.substr(0, row + 40) + "\nslurmstepd: error: *** JOB 1 CANCELLED ***\n" + log);
  REQUIRE(aborted.size() == 2);
  CHECK(aborted[0].cut_line == 11);
  CHECK_FALSE(aborted[1].cut_line);
}

TEST_CASE("nccl-tests: damaged and wrong rows are errors with their line") {
  const std::string damaged = ":10: the row is damaged; remove it, or import an intact log";
  CHECK(error_of_log(replaced(short_log(), "  52.43 ", "  52.4e3x ")) == damaged);
  CHECK(error_of_log(replaced(short_log(), "     float", " fl")) == damaged);
  CHECK(error_of_log(replaced(short_log(), "     sum      -1    52.43", "")) == damaged);
  CHECK(error_of_log(replaced(short_log(), "20.00       0", "20.00       3")) ==
        ":10: #wrong is above 0: the results are wrong and the time is not valid; remove this run from the "
        "log");
  CHECK(error_of_log(replaced(short_log(), "  52.43 ", "   0.00 ")) == ":10: the time is 0; remove the row");
  CHECK(error_of_log(replaced(short_log(), "values : 0 OK", "values : 3 FAILED")) ==
        ":12: nccl-tests found wrong results; the times of such a run are not valid, so remove it from the "
        "log");
}

TEST_CASE("nccl-tests: what is no time of a GPU, or no log, is refused") {
  CHECK(error_of_log(replaced(short_log(), "    time ", " cputime ")) ==
        ":9: the column cputime has times of the CPU, not of the GPU; run the test without -C");
  CHECK(
      error_of_log(replaced(short_log(), "[0000:00:00] ", "")) ==
      ":6: cannot read where this rank runs: \"Rank  0 Group  0 Pid   100 on node0 device  0 NVIDIA H100\"");
  CHECK(error_of_log("nothing here\n") ==
        ": has neither a table of nccl-tests nor a CSV header with the columns m, n and k; give a log of "
        "all_reduce_perf or a similar test, or a CSV of GEMM times");
}

}  // namespace goodput
