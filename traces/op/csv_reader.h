// Reads op traces as CSV (traces/op/csv.cpp).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "traces/io/byte_source.h"
#include "traces/op/op_trace_format.h"

namespace goodput {

// Whether a file that begins like this is an op trace as CSV, its fields separated by commas, semicolons or
// tabs.
[[nodiscard]] bool is_op_csv(std::string_view head);

Result<FileNotes> append_op_csv(ByteSource& source, TraceIntake& intake);

// The same line by line, of a file that is still being written.
class OpCsvLines {
 public:
  // `path`: for messages. `intake` must outlive it.
  OpCsvLines(std::string path, TraceIntake& intake);
  OpCsvLines(OpCsvLines&&) noexcept;
  ~OpCsvLines();

  // A line without its end, which must be followed by a character that belongs to no number. Fails where it
  // is no row; further ones can be taken all the same, once there was a header. Times are float32 as long as
  // all are written so.
  Status take(std::string_view line, std::size_t number);

  // What append_op_csv() does.
  static Result<FileNotes> take_file(ByteSource& source, TraceIntake& intake);

 private:
  class Taker;
  TraceIntake* intake_;
  std::unique_ptr<Taker> taker_;
};

}  // namespace goodput
