// Timelines for trace viewers (ui.perfetto.dev, chrome://tracing): processes, their threads, and on these
// slices, which last, instants, and flows from slice to slice. "Trace Event Format" of the Chromium project,
// as JSON: events of the phases X, i, s, t, f and M. Events go to the file in blocks as they come: a timeline
// need not fit into memory.
//
// Thread ids should lie above all process ids: viewers take thread n of process n for its main thread, and
// some do not tell thread 0 from thread 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "traces/io/byte_sink.h"

namespace goodput {

class ChromeWriter {
 public:
  // All times are given in nanoseconds; the format counts microseconds. Viewers read them as float64.
  enum class Precision : std::uint8_t {
    kMicroseconds,  // what is below is cut off, of starts and ends alike
    kNanoseconds,   // three decimals
  };

  // Creates or truncates `path`; gzip when `final_path`, the name it is going to have, ends in .gz.
  static Result<ChromeWriter> open(const std::string& path, std::string_view final_path, Precision precision);

  // Texts that many events have in common, made once.
  struct Thread {
    std::string text;
  };
  struct Label {
    std::string text;
  };
  // `category`: what a viewer may filter by; none when empty.
  [[nodiscard]] static Label label(std::string_view name, std::string_view category = {});

  // Processes are shown in the order of their ids.
  void name_process(std::size_t process, std::string_view name);
  // Threads of a process are shown by ascending `sort_index`.
  Thread name_thread(std::size_t process, std::size_t thread, std::string_view name, std::size_t sort_index);

  // REQUIRES: 0 <= start_ns <= end_ns; slices of a thread do not overlap. `args` and `more_args` together:
  // the members of a JSON object, what a viewer shows of the slice.
  void slice(const Thread& thread, const Label& label, std::int64_t start_ns, std::int64_t end_ns,
             std::string_view args, std::string_view more_args = {});
  enum class Scope { kThread, kAll };  // where an instant is drawn: on its thread, or across the timeline
  void instant(const Thread& thread, std::string_view name, std::int64_t at_ns, std::string_view args,
               Scope scope = Scope::kThread);

  // A point of a flow, inside a slice of the thread. REQUIRES: a flow, which is what has the same name and
  // id, begins with kStart and ends with kEnd; its times rise.
  enum class FlowPhase { kStart, kStep, kEnd };
  void flow(const Thread& thread, FlowPhase phase, std::string_view name, std::int64_t id,
            std::int64_t at_ns);

  // To be called now and then: writes what has come together, once that is a block.
  Status flush_if_full();
  // Ends the file; nothing may be added afterwards.
  Status close();

 private:
  ChromeWriter(ByteSink sink, Precision precision);
  void begin_event();
  void append_time(std::int64_t ns);
  void append_args(std::string_view args, std::string_view more_args);

  ByteSink sink_;
  Precision precision_;
  std::string text_;  // not written yet
  bool is_first_event_ = true;
};

}  // namespace goodput
