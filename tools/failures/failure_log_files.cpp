#include "tools/failures/failure_log_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>

#include "models/failure/failure_presets.h"
#include "sim/base/errors.h"
#include "sim/base/json.h"
#include "traces/faults/fault_reader.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

class FailureLogFiles final : public config::ForeignFiles {
 public:
  std::optional<Result<Json>> read(const std::string& file, const config::Kind& kind,
                                   const config::Library& /*library*/) override {
    std::error_code failed;
    if (kind.folder != kFailurePresetFiles.folder || !std::filesystem::is_regular_file(file, failed))
      return std::nullopt;
    auto source = ByteSource::open(file);
    if (!source) return std::nullopt;  // the reader of presets says so
    const auto head = source->peek();
    if (!head || head->starts_with('{')) return std::nullopt;  // an object may be a preset
    const bool is_jobs = is_job_list(*head);
    if (!is_jobs && !is_fault_list(*head)) return std::nullopt;
    return Result<Json>(
        Error{fmt::format("is a failure log; make a preset of it with: goodput import failures {}{} --out "
                          "failures.json",
                          file, is_jobs ? "" : " --nodes N"),
              {.file = file}});
  }
};

}  // namespace

std::shared_ptr<config::ForeignFiles> failure_log_files() {
  return std::make_shared<FailureLogFiles>();
}

}  // namespace goodput
