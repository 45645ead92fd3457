#include "tools/monitor_store/rows_blob.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "tools/monitor_store/blob_archive.h"
#include "tools/monitor_store/packed_bytes.h"

namespace goodput {
namespace {

constexpr int kRowsLevel = 1;  // of zstd: noise does not get smaller by more work
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 31;

// What stays from step to step. visit(column)
template <typename Trace, typename Visit>
void for_each_op_column(Trace& rows, Visit visit) {
  visit(rows.dp_rank);
  visit(rows.stage);
  visit(rows.rank);
  visit(rows.optype);
  visit(rows.seq_id);
  visit(rows.mc);
  visit(rows.mb_id);
  visit(rows.gmc);
}

template <typename Value>
std::string_view bytes_of(const std::vector<Value>& column) {
  return {reinterpret_cast<const char*>(column.data()), column.size() * sizeof(Value)};
}

Error damaged_rows() {
  return Error{"contains damaged rows of a step"};
}

template <typename Value>
Status read_column(const std::string& frame, std::size_t rows, std::vector<Value>& column) {
  GOODPUT_TRY(const std::string bytes, decompressed(frame, rows * sizeof(Value)));
  if (bytes.size() != rows * sizeof(Value)) return damaged_rows();
  column.resize(rows);
  if (rows > 0) std::memcpy(column.data(), bytes.data(), bytes.size());
  return Ok{};
}

// ---- A column of times: differences of the bits of neighbours, for those in a lane follow each other.

template <typename Real>
using BitsOf = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;

bool are_float32(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) {
    const auto back = static_cast<double>(static_cast<float>(value));
    return std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(value);
  });
}

template <typename Real>
std::string packed_reals(const std::vector<double>& values) {
  using Bits = BitsOf<Real>;
  std::vector<Bits> words(values.size());
  Bits before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<Bits>(static_cast<Real>(values[i]));
    words[i] = zigzag(static_cast<Bits>(bits - before));
    before = bits;
  }
  return compressed(planes_of(std::span<const Bits>(words)), kRowsLevel);
}

template <typename Real>
Result<std::vector<double>> unpacked_reals(const std::string& frame, std::size_t rows) {
  using Bits = BitsOf<Real>;
  GOODPUT_TRY(const std::string planes, decompressed(frame, rows * sizeof(Bits)));
  if (planes.size() != rows * sizeof(Bits)) return damaged_rows();
  std::vector<double> values;
  values.reserve(rows);
  Bits bits = 0;
  for (const Bits word : words_of<Bits>(planes)) {
    bits = static_cast<Bits>(bits + unzigzag(word));
    values.push_back(static_cast<double>(std::bit_cast<Real>(bits)));
  }
  return values;
}

void pack_times(BlobWriter& writer, const std::vector<double>& values) {
  const bool is_narrow = are_float32(values);
  writer(is_narrow, is_narrow ? packed_reals<float>(values) : packed_reals<double>(values));
}

Result<std::vector<double>> unpack_times(BlobReader& reader, std::size_t rows) {
  bool is_narrow = false;
  std::string frame;
  reader(is_narrow, frame);
  return is_narrow ? unpacked_reals<float>(frame, rows) : unpacked_reals<double>(frame, rows);
}

}  // namespace

std::string op_columns_hash(const OpTrace& rows) {
  BytesHash hash;
  for_each_op_column(rows, [&hash](const auto& column) { hash.add(bytes_of(column)); });
  return hash.value();
}

std::string op_columns_blob(const OpTrace& rows) {
  BlobWriter writer;
  for_each_op_column(rows,
                     [&writer](const auto& column) { writer(compressed(bytes_of(column), kRowsLevel)); });
  return writer.bytes();
}

std::string times_blob(const OpTrace& rows) {
  BlobWriter writer;
  writer(rows.size());
  // Nearly always one step.
  const bool is_one_step =
      std::equal(rows.step.begin() + (rows.step.empty() ? 0 : 1), rows.step.end(), rows.step.begin());
  writer(is_one_step);
  if (is_one_step) {
    writer(rows.step.empty() ? std::int64_t{0} : rows.step.front());
  } else {
    writer(compressed(bytes_of(rows.step), kRowsLevel));
  }
  pack_times(writer, rows.start_s);
  pack_times(writer, rows.duration_s);
  return writer.bytes();
}

Result<OpTrace> read_rows(std::string_view op_columns, std::string_view times) {
  BlobReader reader(times);
  std::uint64_t rows = 0;
  bool is_one_step = false;
  reader(rows, is_one_step);
  if (rows > kMostRows) return damaged_rows();
  OpTrace trace;
  std::int64_t step = 0;
  std::string steps;
  if (is_one_step) {
    reader(step);
  } else {
    reader(steps);
  }
  GOODPUT_TRY(trace.start_s, unpack_times(reader, rows));
  GOODPUT_TRY(trace.duration_s, unpack_times(reader, rows));
  if (is_one_step) {
    trace.step.assign(trace.start_s.size(), step);
  } else {
    GOODPUT_TRY_STATUS(read_column(steps, rows, trace.step));
  }
  BlobReader columns(op_columns);
  Status status = Ok{};
  for_each_op_column(trace, [&](auto& column) {
    std::string frame;
    columns(frame);
    if (status) status = read_column(frame, rows, column);
  });
  GOODPUT_TRY_STATUS(std::move(status));
  if (!reader.is_good() || !columns.is_good()) return damaged_rows();
  return trace;
}

}  // namespace goodput
