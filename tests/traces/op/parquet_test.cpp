#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/traces/io/temporary_file.h"
#include "tests/traces/op/random_trace.h"
#include "traces/op/op_trace_format.h"
#include "traces/op/op_trace_reader.h"

#ifdef GOODPUT_HAVE_PARQUET

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

namespace goodput {
namespace {

Result<OpTrace> read_parquet(const std::string& path) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  TraceIntake intake(TraceIntake::Mode::kStrict);
  GOODPUT_TRY_STATUS(op_trace_format_parquet().append_file(source, intake));
  return std::move(intake).take_trace();
}

std::string parquet_bytes(const OpTrace& trace) {
  const TemporaryFile file("t.parquet");
  REQUIRE(op_trace_format_parquet().write(trace, file.path(), file.path()));
  return file.content();
}

OpTrace parquet_trace(const std::string& bytes) {
  const TemporaryFile file("t.parquet", bytes);
  auto trace = read_parquet(file.path());
  INFO((trace ? std::string() : trace.error().message()));
  REQUIRE(trace);
  return *std::move(trace);
}

std::string parquet_error(const std::string& bytes) {
  const TemporaryFile file("t.parquet", bytes);
  const auto trace = read_parquet(file.path());
  REQUIRE_FALSE(trace);
  return without_path(trace.error().message(), file);
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> array_of(std::shared_ptr<arrow::DataType> type,
                                       const std::vector<Value>& values) {
  Builder builder(std::move(type), arrow::default_memory_pool());
  for (const auto& value : values) REQUIRE(builder.Append(value).ok());
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> int64s(const std::vector<std::int64_t>& values) {
  return array_of<arrow::Int64Builder>(arrow::int64(), values);
}

std::shared_ptr<arrow::Array> doubles(const std::vector<double>& values) {
  return array_of<arrow::DoubleBuilder>(arrow::float64(), values);
}

std::shared_ptr<arrow::Array> strings(const std::vector<std::string>& values) {
  return array_of<arrow::StringBuilder>(arrow::utf8(), values);
}

// A table by column, of three good rows. Tests replace the column they are about.
struct Table {
  std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>> columns = {
      {"dp_rank", int64s({0, 1, 2})},
      {"stage", int64s({0, 0, 1})},
      {"rank", int64s({0, 1, 2})},
      {"step", int64s({5, 5, -7})},
      {"optype", strings({"gc", "optimizer", "forward-compute"})},
      {"start_ts", doubles({0, 0.1, -2})},
      {"duration", doubles({0, 0.3, 2})},
      {"seq_id", int64s({0, 1, 2})},
      {"mc", int64s({-1, -1, 1})},
      {"mb_id", int64s({-1, 0, 3})},
      {"gmc", int64s({-1, -1, 3})}};

  std::shared_ptr<arrow::Array>& operator[](std::string_view name) {
    for (auto& [column, array] : columns) {
      if (column == name) return array;
    }
    return columns.emplace_back(name, nullptr).second;
  }
  void erase(std::string_view name) {
    std::erase_if(columns, [&](const auto& column) { return column.first == name; });
  }

  [[nodiscard]] std::string bytes(const std::shared_ptr<parquet::WriterProperties>& properties =
                                      parquet::default_writer_properties()) const {
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (const auto& [name, array] : columns) {
      fields.push_back(arrow::field(name, array->type()));
      arrays.push_back(array);
    }
    const TemporaryFile file("t.parquet");
    const auto table = arrow::Table::Make(arrow::schema(fields), arrays);
    const auto stream = arrow::io::FileOutputStream::Open(file.path()).ValueOrDie();
    const auto store_schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    REQUIRE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), stream, 1 << 20, properties,
                                       store_schema)
                .ok());
    REQUIRE(stream->Close().ok());
    return file.content();
  }
};

OpTrace expected_trace() {
  OpTrace trace;
  for (const OpRow& row : {OpRow{0, 0, 0, 5, OpType::kGc, 0, 0, 0, -1, -1, -1},
                           OpRow{1, 0, 1, 5, OpType::kOptimizer, 0.1, 0.3, 1, -1, 0, -1},
                           OpRow{2, 1, 2, -7, OpType::kForwardCompute, -2, 2, 2, 1, 3, 3}}) {
    REQUIRE_FALSE(trace.append(row));
  }
  return trace;
}

TEST_CASE("parquet: 64-bit integers, doubles and plain strings are read") {
  check_equal(parquet_trace(Table().bytes()), expected_trace());
}

TEST_CASE("parquet: integers of any width, signed or not, are read") {
  Table table;
  table["dp_rank"] = array_of<arrow::UInt8Builder, std::uint8_t>(arrow::uint8(), {0, 1, 2});
  table["stage"] = array_of<arrow::Int16Builder, std::int16_t>(arrow::int16(), {0, 0, 1});
  table["rank"] = array_of<arrow::UInt64Builder, std::uint64_t>(arrow::uint64(), {0, 1, 2});
  table["step"] = array_of<arrow::Int32Builder, std::int32_t>(arrow::int32(), {5, 5, -7});
  table["seq_id"] = array_of<arrow::UInt32Builder, std::uint32_t>(arrow::uint32(), {0, 1, 2});
  table["mc"] = array_of<arrow::Int8Builder, std::int8_t>(arrow::int8(), {-1, -1, 1});
  check_equal(parquet_trace(table.bytes()), expected_trace());
}

TEST_CASE("parquet: float32 times, large strings and dictionaries of any index width are read") {
  OpTrace expected = expected_trace();
  expected.start_s[1] = static_cast<double>(0.1F);
  Table table;
  table["start_ts"] = array_of<arrow::FloatBuilder, float>(arrow::float32(), {0, 0.1F, -2});
  table["optype"] = array_of<arrow::LargeStringBuilder, std::string>(arrow::large_utf8(),
                                                                     {"gc", "optimizer", "forward-compute"});
  check_equal(parquet_trace(table.bytes()), expected);
  const auto names =
      strings({"forward-compute", "first-op", "gc", "optimizer"});  // with one that is not used
  const auto small = array_of<arrow::Int8Builder, std::int8_t>(arrow::int8(), {2, 3, 0});
  const auto large = array_of<arrow::Int32Builder, std::int32_t>(arrow::int32(), {2, 3, 0});
  for (const auto& indices : {small, large}) {
    const auto type = arrow::dictionary(indices->type(), arrow::utf8());
    table["optype"] = arrow::DictionaryArray::FromArrays(type, indices, names).ValueOrDie();
    check_equal(parquet_trace(table.bytes()), expected);
  }
}

TEST_CASE("parquet: any order of columns, other columns, row groups and compressions") {
  Table table;
  std::reverse(table.columns.begin(), table.columns.end());
  table["host"] = strings({"a", "b", "c"});
  for (const auto codec :
       {arrow::Compression::UNCOMPRESSED, arrow::Compression::ZSTD, arrow::Compression::GZIP}) {
    parquet::WriterProperties::Builder builder;
    builder.compression(codec)->max_row_group_length(2)->data_page_version(
        parquet::ParquetDataPageVersion::V2);
    check_equal(parquet_trace(table.bytes(builder.disable_dictionary()->build())), expected_trace());
  }
}

TEST_CASE("parquet: a file without seq_id, mc and mb_id leaves the ids to be derived") {
  Table table;
  for (const char* name : {"seq_id", "mc", "mb_id"}) table.erase(name);
  const OpTrace trace = parquet_trace(table.bytes());
  CHECK(trace.seq_id == std::vector<std::int32_t>(3, kUnset));
  CHECK(trace.mc == std::vector<std::int16_t>(3, kUnset));
  CHECK(trace.mb_id == std::vector<std::int32_t>(3, kUnset));
  CHECK(trace.gmc == std::vector<std::int32_t>(3, kUnset));
}

// The error when one column is replaced.
std::string error_with(std::string_view column, std::shared_ptr<arrow::Array> array) {
  Table table;
  table[column] = std::move(array);
  return parquet_error(table.bytes());
}

TEST_CASE("parquet: a missing column is named") {
  Table table;
  table.erase("duration");
  table["durations"] = doubles({0, 1, 2});
  CHECK(parquet_error(table.bytes()) ==
        ": no column \"duration\", but \"durations\"; did you mean \"duration\"?");
}

TEST_CASE("parquet: columns of a wrong type are named with their type") {
  CHECK(error_with("step", strings({"1", "2", "3"})) == ": column step must contain integers, not String");
  CHECK(error_with("stage", array_of<arrow::BooleanBuilder, bool>(arrow::boolean(), {true, false, true})) ==
        ": column stage must contain integers, not BOOLEAN");
  CHECK(error_with("optype", int64s({1, 2, 3})) == ": column optype must contain strings, not INT64");
  CHECK(error_with("duration", int64s({1, 2, 3})) ==
        ": column duration must contain float or double (seconds), not INT64");
  const auto timestamps =
      array_of<arrow::TimestampBuilder, std::int64_t>(arrow::timestamp(arrow::TimeUnit::MICRO), {1, 2, 3});
  CHECK(error_with("start_ts", timestamps)
            .starts_with(": column start_ts must contain float or double (seconds), not Timestamp("));
  const auto nested =
      arrow::StructArray::Make({int64s({1, 2, 3})}, std::vector<std::string>{"x"}).ValueOrDie();
  CHECK(error_with("mc", nested) == ": column mc is nested, but must have plain values");
}

template <typename Builder>
std::shared_ptr<arrow::Array> with_null(double first, double last) {
  Builder builder;
  using Value = typename Builder::value_type;
  REQUIRE(builder.Append(static_cast<Value>(first)).ok());
  REQUIRE(builder.AppendNull().ok());
  REQUIRE(builder.Append(static_cast<Value>(last)).ok());
  return builder.Finish().ValueOrDie();
}

TEST_CASE("parquet: a null is refused with its row, unless the field may be unset") {
  CHECK(error_with("step", with_null<arrow::Int64Builder>(1, 1)) == ":row 2: step is null");
  CHECK(error_with("duration", with_null<arrow::DoubleBuilder>(1, 1)) == ":row 2: duration is null");
  Table table;
  table["mb_id"] = with_null<arrow::Int64Builder>(1, 2);
  table["mc"] = with_null<arrow::UInt16Builder>(0, 0);
  table["gmc"] = with_null<arrow::DoubleBuilder>(0, 0);
  const OpTrace trace = parquet_trace(table.bytes());
  CHECK(trace.mb_id == std::vector<std::int32_t>{1, kUnset, 2});
  CHECK(trace.mc == std::vector<std::int16_t>{0, kUnset, 0});
  CHECK(trace.gmc == std::vector<std::int32_t>{0, kUnset, 0});
}

TEST_CASE("parquet: integers may be stored as floats and doubles, if they are whole") {
  Table table;
  table["step"] = doubles({7, 8, -9});
  table["mc"] = doubles({0, std::numeric_limits<double>::quiet_NaN(), 1});
  const OpTrace trace = parquet_trace(table.bytes());
  CHECK(trace.step == std::vector<std::int64_t>{7, 8, -9});
  CHECK(trace.mc == std::vector<std::int16_t>{0, kUnset, 1});
  CHECK(error_with("step", doubles({1, 2, 3.5})) == ":row 3: step must be an integer, not 3.5");
  CHECK(error_with("step", doubles({1, 1e300, 3})) == ":row 2: step must be an integer, not 1e+300");
  CHECK(error_with("stage", doubles({1, 40000, 3})) == ":row 2: stage must be from 0 to 32766, not 40000");
  CHECK(error_with("rank", doubles({1, std::numeric_limits<double>::quiet_NaN(), 3})) ==
        ":row 2: rank is null");
}

// Read as users do, not strictly.
OpTraceReading clean_reading(const std::string& bytes) {
  const TemporaryFile file("t.parquet", bytes);
  auto reading = read_op_trace({file.path()}, {});
  INFO((reading ? std::string() : reading.error().message()));
  REQUIRE(reading);
  return *std::move(reading);
}

TEST_CASE("parquet: rows of damaged times and unknown types are left out, whatever their order") {
  Table table;
  table["step"] = int64s({5, 6, 7});
  table["duration"] = with_null<arrow::DoubleBuilder>(1, -0.001);
  OpTraceReading reading = clean_reading(table.bytes());
  CHECK(reading.trace.step == std::vector<std::int64_t>{5, 7});
  REQUIRE(reading.findings.size() == 2);
  CHECK(reading.findings[0].rule == CleaningRule::kDamagedRows);
  CHECK(reading.findings[0].steps == std::vector<std::int64_t>{6});
  CHECK(reading.findings[0].detail.ends_with(":row 2: duration must be seconds from 0 to 9.2e+09, not nan"));
  CHECK(reading.findings[1].rule == CleaningRule::kNegativeDurations);
  CHECK(reading.findings[1].steps == std::vector<std::int64_t>{7});
  table["optype"] = strings({"my-span", "gc", "gc"});
  table["duration"] = doubles({std::numeric_limits<double>::quiet_NaN(), -5, 1});
  table["duration"] = doubles({std::numeric_limits<double>::quiet_NaN(), 5, 1});
  reading = clean_reading(table.bytes());
  CHECK(reading.trace.step == std::vector<std::int64_t>{6, 7});
  REQUIRE(reading.findings.size() == 1);
  CHECK(reading.findings[0].rule == CleaningRule::kUnknownOps);
  CHECK(reading.findings[0].steps == std::vector<std::int64_t>{5});
  CHECK(reading.findings[0].detail == "\"my-span\" 1");
}

TEST_CASE("parquet: values out of range are refused with the first bad row") {
  CHECK(error_with("stage", int64s({0, 40000, 50000})) == ":row 2: stage must be from 0 to 32766, not 40000");
  CHECK(error_with("dp_rank", int64s({0, 0, -1})) == ":row 3: dp_rank must be from 0 to 2147483646, not -1");
  CHECK(error_with("dp_rank", int64s({0, 0, 2147483647})) ==
        ":row 3: dp_rank must be from 0 to 2147483646, not 2147483647");
  CHECK(error_with("mc", int64s({0, 0, -2})) == ":row 3: mc must be from -1 to 32766, not -2");
  const auto huge = array_of<arrow::UInt64Builder, std::uint64_t>(arrow::uint64(), {0, UINT64_MAX, 0});
  CHECK(error_with("step", huge) == ":row 2: step is 18446744073709551615, which is too large");
  CHECK(error_with("start_ts", doubles({0, 0, std::numeric_limits<double>::quiet_NaN()})) ==
        ":row 3: start_ts must be seconds within +-9.2e+09, not nan");
  CHECK(error_with("duration", doubles({0, -1, 0})) ==
        ":row 2: duration must be seconds from 0 to 9.2e+09, not -1");
  CHECK(error_with("duration", doubles({0, 0, std::numeric_limits<double>::infinity()})) ==
        ":row 3: duration must be seconds from 0 to 9.2e+09, not inf");
  CHECK(error_with("optype", strings({"gc", "gc", "optimiser"})) ==
        ":row 3: unknown optype \"optimiser\"; did you mean \"optimizer\"?");
}

TEST_CASE("parquet: truncated and foreign files are errors of one line") {
  const std::string whole = Table().bytes();
  for (const std::size_t size : {std::size_t{4}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
    const std::string message = parquet_error(whole.substr(0, size));
    INFO(message);
    CHECK(message.starts_with(": cannot read as Parquet: "));
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("parquet: a pipe is refused, because Parquet is read from its end") {
  ByteSource source = *ByteSource::open("/dev/zero");
  TraceIntake intake;
  const Result<FileNotes> status = op_trace_format_parquet().append_file(source, intake);
  REQUIRE_FALSE(status);
  CHECK(status.error().message() ==
        "/dev/zero: Parquet cannot be read from a pipe, because it needs the end of the file first; write it "
        "to a file");
}

TEST_CASE("parquet: any trace survives writing and reading, and is written the same every time" *
          doctest::test_suite("slow")) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const TimeKind kind : {TimeKind::kFloat32, TimeKind::kFloat64}) {
      INFO("seed ", seed, ", kind ", static_cast<int>(kind));
      const OpTrace trace = random_trace(seed, 40'000, kind);
      const std::string bytes = parquet_bytes(trace);
      check_equal(parquet_trace(bytes), trace);
      CHECK(parquet_bytes(trace) == bytes);
    }
  }
}

TEST_CASE("parquet: a trace without rows survives too") {
  CHECK(parquet_trace(parquet_bytes({})).size() == 0);
}

TEST_CASE("parquet: the narrowest types of NDTimeline are written, wider ones where the values need them") {
  const auto types_of = [](const OpTrace& trace) {
    const TemporaryFile file("t.parquet", parquet_bytes(trace));
    const auto stream = arrow::io::ReadableFile::Open(file.path()).ValueOrDie();
    const auto reader = parquet::arrow::OpenFile(stream, arrow::default_memory_pool()).ValueOrDie();
    std::shared_ptr<arrow::Schema> schema;
    REQUIRE(reader->GetSchema(&schema).ok());
    std::string types;
    for (const auto& field : schema->fields()) types += field->type()->ToString() + " ";
    return types;
  };
  OpTrace trace;
  REQUIRE_FALSE(trace.append(OpRow{127, 127, 32767, 1, OpType::kGc, 0.5, 0.5, 1, 127, 127, 32767}));
  const std::string dictionary = "dictionary<values=string, indices=int8, ordered=0> ";
  CHECK(types_of(trace) == "int8 int8 int16 int64 " + dictionary + "float float int32 int8 int8 int16 ");
  REQUIRE_FALSE(trace.append(OpRow{128, 128, 32768, 1, OpType::kGc, 0.5, 0.1, 1, 128, 32768, 32768}));
  CHECK(types_of(trace) ==
        "int16 int16 int32 int64 " + dictionary + "double double int32 int16 int32 int32 ");
}

TEST_CASE("parquet: the published traces hold the same rows as their CSV") {
  for (const char* name : {"AR", "ST"}) {
    const std::string folder = std::string(GOODPUT_SHARED_DATA) + "/ndtimeline/" + name;
    if (!std::filesystem::exists(folder)) {
      MESSAGE("skipped: no shared data");
      return;
    }
    TraceIntake intake;
    auto source = ByteSource::open(folder + "/trace.csv.gz");
    REQUIRE(op_trace_format_csv().append_file(*source, intake));
    const OpTrace& from_csv = intake.trace();
    const auto from_parquet = read_parquet(folder + "/trace.parquet");
    REQUIRE(from_parquet);
    check_equal(*from_parquet, from_csv);
    check_equal(parquet_trace(parquet_bytes(from_csv)), from_csv);
  }
}

}  // namespace
}  // namespace goodput

#else

namespace goodput {

TEST_CASE("parquet: a build without it says how to get it") {
  const TemporaryFile file("t.parquet", "PAR1");
  OpTrace trace;
  auto source = ByteSource::open(file.path());
  REQUIRE(source);
  const std::string expected =
      file.path() + ": goodput was built without Parquet; run ./goodput-setup and build again, or use CSV";
  TraceIntake intake;
  const Result<FileNotes> read = op_trace_format_parquet().append_file(*source, intake);
  REQUIRE_FALSE(read);
  CHECK(read.error().message() == expected);
  const Status written = op_trace_format_parquet().write(trace, file.path(), file.path());
  REQUIRE_FALSE(written);
  CHECK(written.error().message() == expected);
}

}  // namespace goodput

#endif
