// CSV and Parquet as other tools write them.
#include <doctest/doctest.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <random>

#include "tests/traces/op/dirty_trace.h"
#include "tests/traces/op/random_trace.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

using Lines = std::vector<std::string>;

const std::string kPass = "1,2,6,16,forward-compute,2.6883304,0.5,3,0,4,2\n";

OpTrace plain_trace() {
  return reading_of(kOpHeader + kPass).trace;
}

TEST_CASE("csv: semicolons and tabs separate, commas are then the points of decimals") {
  for (const char separator : {';', '\t'}) {
    std::string text = kOpHeader + kPass;
    std::ranges::replace(text, ',', separator);
    check_equal(reading_of(text).trace, plain_trace());
    std::ranges::replace(text, '.', ',');
    check_equal(reading_of(text).trace, plain_trace());
  }
}

TEST_CASE("csv: header names may be in upper case and padded; the exact name wins") {
  check_equal(
      reading_of("DP_RANK, Stage ,RANK,STEP,OpType,START_TS,Duration,SEQ_ID,MC,MB_ID,GMC\n" + kPass).trace,
      plain_trace());
  const std::string doubled = "Rank," + kOpHeader + "99," + kPass;
  CHECK(reading_of(doubled).trace.rank[0] == 6);
  CHECK(error_of("dp_rank,stage,RANK,Rank,step,optype,start_ts,duration\n1,2,6,6,16,gc,0.5,0.5\n") ==
        "t.csv:1: column \"Rank\" occurs twice");
}

TEST_CASE("csv: integers may be written as 3.0, +3 or 3e0, but not as 3.5") {
  for (const char* three : {"3.0", "+3", "3e0", " 3", "3.", "+3.0"}) {
    CAPTURE(three);
    const auto trace =
        reading_of(kOpHeader + "1,2,6,16,forward-compute,2.6883304,0.5," + three + ",0,4,2\n").trace;
    check_equal(trace, plain_trace());
  }
  CHECK(error_of(kOpHeader + "1,2,6,16,forward-compute,2.6,0.5,3.5,0,4,2\n") ==
        "t.csv:2: seq_id must be an integer, not \"3.5\"");
  CHECK(error_of(kOpHeader + "1,2,6,16,forward-compute,2.6,0.5,,0,4,2\n") ==
        "t.csv:2: seq_id must be an integer, not \"\"");
}

TEST_CASE("csv: a null mc, mb_id or gmc is unset, and follows from the rest where it can") {
  for (const char* null : {"", "null", "NaN", "None", "NA"}) {
    CAPTURE(null);
    const std::string n = null;
    const std::string text = kOpHeader + "0,0,0,1,forward-compute,0.5,0.5,3," + n + "," + n + "," + n + "\n" +
                             "0,1,1,1,params-all-gather,0.5,0.5,0," + n + ",-1,-1\n" +
                             "0,1,1,1,gc,0.5,0.5,0," + n + ",0," + n + "\n";
    const OpTraceReading reading = reading_of(text);
    CHECK(reading.trace.mc == std::vector<std::int16_t>{0, 0, -1});
    CHECK(reading.trace.mb_id == std::vector<std::int32_t>{3, -1, 0});
    CHECK(reading.trace.gmc == std::vector<std::int32_t>{0, -1, -1});
    CHECK(reading.notes == Lines{"rows whose missing mc, mb_id or gmc was derived: 2"});
  }
}

TEST_CASE("csv: without gmc it is mc * stages + stage of passes, over all files") {
  const std::string header = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id\n";
  const TemporaryFile first("a.csv", header + "0,0,0,1,forward-compute,0.5,0.5,0,1,0\n");
  const TemporaryFile second("b.csv",
                             header + "0,2,1,1,backward-compute,0.5,0.5,0,1,0\n0,2,1,1,gc,1,0,0,-1,0\n");
  const auto reading = read_op_trace({first.path(), second.path()}, {});
  REQUIRE(reading);
  // 3 stages: 1 * 3 + 0 and 1 * 3 + 2.
  CHECK(reading->trace.gmc == std::vector<std::int32_t>{3, 5, -1});
}

TEST_CASE("csv: a gmc that is said to be unset stays unset") {
  CHECK(reading_of(kOpHeader + "1,2,6,16,forward-compute,2.6,0.5,3,0,4,-1\n").trace.gmc[0] == -1);
}

TEST_CASE("csv: a header line again is skipped, one of another order taken") {
  const OpTraceReading reading =
      reading_of(kOpHeader + kPass + kOpHeader + kPass +
                 "\xef\xbb\xbfstep,dp_rank,stage,rank,optype,start_ts,duration,seq_id,mc,mb_id,"
                 "gmc\n16,1,2,6,forward-compute,2.6883304,0.5,3,0,4,2\n");
  CHECK(reading.trace.step == std::vector<std::int64_t>{16, 16, 16});
  CHECK(reading.trace.dp_rank == std::vector<std::int32_t>{1, 1, 1});
  CHECK(summaries(reading) == Lines{"repeated-headers 2 [] t.csv:3: repeated header line"});
}

TEST_CASE("csv: wherever the last line is cut, the rows before it are kept and what is lost is said") {
  const std::string last = "1,2,6,17,backward-compute,3.5,0.5,3,0,4,25\n";
  // Cut inside gmc, the last field, it may be whole: nothing tells.
  for (std::size_t size = 1; size <= last.rfind(',') + 1; ++size) {
    CAPTURE(size);
    const OpTraceReading reading = reading_of(kOpHeader + kPass + last.substr(0, size));
    CHECK(reading.trace.size() == 1);
    REQUIRE(reading.findings.size() == 1);
    CHECK(reading.findings[0].rule == CleaningRule::kCutRecords);
    CHECK(reading.findings[0].count == 1);
    // The step is known once the comma behind it is there: "1,2,6,17," has 9 characters.
    CHECK(reading.findings[0].steps ==
          (size < 9 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{17}));
    if (!last.substr(0, size).ends_with("4,"))  // there strict has an unset gmc
      CHECK_FALSE(read_text(kOpHeader + kPass + last.substr(0, size), true));
  }
  CHECK(reading_of(kOpHeader + kPass + last.substr(0, last.size() - 1)).trace.size() == 2);
  CHECK(error_of(kOpHeader + "1,2,6\n" + kPass) == "t.csv:2: has 3 fields, but the header has 11 columns");
}

std::string gzipped(std::string_view text) {
  const TemporaryFile file("t");
  const gzFile out = gzopen(file.path().c_str(), "wb");
  REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  gzclose(out);
  return file.content();
}

std::string zstd_compressed(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  REQUIRE(ZSTD_isError(size) == 0);
  return out.substr(0, size);
}

std::string random_csv(std::uint64_t seed, std::size_t rows) {
  const TemporaryFile file("t.csv");
  REQUIRE(op_trace_format_csv().write(random_trace(seed, rows, TimeKind::kFloat64), file.path(), "t.csv"));
  return file.content();
}

TEST_CASE("csv: compressed data that ends early keeps its whole lines") {
  const std::string text = random_csv(1, 20'000);
  const OpTrace whole = reading_of(text).trace;
  for (const std::string& bytes : {gzipped(text), zstd_compressed(text)}) {
    for (const std::size_t share : {2U, 3U, 5U}) {
      const std::string cut = bytes.substr(0, bytes.size() / share);
      const OpTraceReading reading = reading_of(cut);
      const std::size_t rows = reading.trace.size();
      CHECK(rows > 0);
      CHECK(rows < whole.size());
      CHECK(std::equal(reading.trace.start_s.begin(), reading.trace.start_s.end(), whole.start_s.begin()));
      CHECK(std::equal(reading.trace.gmc.begin(), reading.trace.gmc.end(), whole.gmc.begin()));
      REQUIRE(reading.findings.size() == 1);
      CHECK(reading.findings[0].rule == CleaningRule::kCutRecords);
      CHECK(reading.findings[0].detail.ends_with("data ends early"));
    }
  }
  const std::string cut = gzipped(text).substr(0, 1000);
  CHECK(error_of(cut, true) == "t.csv: gzip data ends early: the file is truncated");
  CHECK(error_of(zstd_compressed(text).substr(0, 1000), true) ==
        "t.csv: zstd data ends early: the file is truncated");
}

TEST_CASE("csv: zstd files are read, several frames of one too") {
  const std::string text = random_csv(2, 500);
  const OpTrace whole = reading_of(text).trace;
  check_equal(reading_of(zstd_compressed(text)).trace, whole);
  check_equal(reading_of(zstd_compressed(text.substr(0, 999)) + zstd_compressed(text.substr(999))).trace,
              whole);
}

TEST_CASE(
    "csv: blank lines are nothing wherever they stand, but more than 1 MiB of them in a row is damage") {
  std::string spaced;
  for (int i = 0; i < 1 << 18; ++i) spaced += i % 2 == 0 ? "   \n" : "\t\r\n";
  for (const std::string& blanks : {std::string((std::size_t{1} << 20) - 8, '\n'), spaced}) {
    check_equal(reading_of(blanks + kOpHeader + kPass).trace, plain_trace());
    check_equal(reading_of(kOpHeader + blanks + kPass).trace, plain_trace());
    check_equal(reading_of(kOpHeader + kPass + blanks).trace, plain_trace());
  }
  const std::string lost((std::size_t{1} << 20) + 8, '\n');
  for (const std::string& text :
       {lost + kOpHeader + kPass, kOpHeader + lost + kPass, kOpHeader + kPass + lost}) {
    CHECK(error_of(text) ==
          "t.csv: has more than 1 MiB of blank lines in a row, probably in place of lost data; remove them "
          "if no data was there");
  }
}

#ifdef GOODPUT_HAVE_PARQUET

TEST_CASE("parquet: a compressed file is read like the file itself") {
  const OpTrace trace = random_trace(3, 1000, TimeKind::kFloat32);
  const TemporaryFile file("t.parquet");
  REQUIRE(op_trace_format_parquet().write(trace, file.path(), "t.parquet"));
  check_equal(reading_of(gzipped(file.content()), "t.parquet.gz").trace, trace);
  check_equal(reading_of(zstd_compressed(file.content()), "t.parquet.zst").trace, trace);
  const std::string cut = gzipped(file.content()).substr(0, 500);
  CHECK(error_of(cut, false, "t.parquet.gz") ==
        "t.parquet.gz: gzip data ends early: the file is truncated, and Parquet needs the end of the file");
}

#endif

TEST_CASE("published traces: other spellings of the tables give the same rows" *
          doctest::test_suite("slow")) {
  const std::filesystem::path folder = std::filesystem::path(GOODPUT_SHARED_DATA) / "ndtimeline";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: no shared data");
    return;
  }
  for (const char* name : {"AR", "ST", "OPEN-vpp2"}) {
    const auto plain = read_op_trace({(folder / name / "trace.csv.gz").string()}, {});
    REQUIRE(plain);
    CHECK(plain->findings.empty());
    CHECK(plain->hosts.empty());
    const TemporaryFile file("t.csv");
    REQUIRE(op_trace_format_csv().write(plain->trace, file.path(), "t.csv"));
    std::string text = file.content();
    std::ranges::replace(text, ',', ';');
    check_equal(reading_of(text).trace, plain->trace);
    // gmc is the last column: without it, it comes back.
    std::string without;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      without += text.substr(at, text.rfind(';', end) - at) + "\n";
      at = end + 1;
    }
    check_equal(reading_of(without).trace, plain->trace);
  }
}

}  // namespace
}  // namespace goodput
