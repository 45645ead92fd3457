// FILE.journal: a header, then a line a record, appended and synced before anything else is measured. What is
// in it is never measured twice. Host only.
#pragma once

#include <string>
#include <vector>

#include "gpu/calibrate/json_value.h"
#include "gpu/calibrate/record.h"

namespace goodput::gpu::calibrate {

inline constexpr const char* kJournalSchema = "goodput.calibration_journal/1";

enum class JournalStart { kNew, kResume };

// Held alone: another process that opens it is refused.
class Journal {
 public:
  // `header`: an object; "utc" in it may differ, for a journal that is resumed keeps its own. A new journal
  // must not be there yet, one to be resumed may be missing; a torn last line of that is dropped. Throws
  // std::invalid_argument: one line with the place, what differs, and the remedy.
  Journal(std::string path, JournalStart start, const JsonValue& header);
  Journal(Journal&&) = delete;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  [[nodiscard]] const JsonValue& header() const { return header_; }
  // What was there when it was opened.
  [[nodiscard]] const std::vector<Record>& kept() const { return kept_; }

  // On the disk when it returns. Throws std::invalid_argument where it cannot be written.
  void append(const Record& record);

  // The file; nothing may be appended any more.
  void remove();

 private:
  void begin();
  void resume(const std::string& content);
  void write(const std::string& line);

  std::string path_;
  int file_ = -1;
  JsonValue header_;
  std::vector<Record> kept_;
};

// "machine gpu: 'NVIDIA H200' there, 'NVIDIA H100' here; ..."; "" where they agree in all but "utc".
[[nodiscard]] std::string differences(const JsonValue& there, const JsonValue& here);

}  // namespace goodput::gpu::calibrate
