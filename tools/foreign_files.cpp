#include "tools/foreign_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/cost/calibration.h"
#include "models/failure/failure_presets.h"
#include "sim/base/errors.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/launch/launch_files.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

// Refuses logs where presets and calibrations are expected: only the options of an import say what is in
// them.
class ImportableLogs final : public config::ForeignFiles {
 public:
  std::optional<Result<Json>> read(const std::string& file, const config::Kind& kind,
                                   const config::Library& /*library*/) override {
    const bool is_preset = kind.folder == kFailurePresetFiles.folder;
    std::error_code failed;
    if ((!is_preset && kind.folder != kCalibrationFiles.folder) ||
        !std::filesystem::is_regular_file(file, failed))
      return std::nullopt;
    auto source = ByteSource::open(file);
    if (!source) return std::nullopt;  // the reader of our own files says so
    const auto head = source->peek();
    if (!head || head->starts_with('{')) return std::nullopt;
    const std::string name = on_one_line(file);
    const std::string what =
        is_preset
            ? fmt::format(
                  "is not a failure preset; if it is a failure log, run `goodput import failures {} "
                  "--nodes N --out FILE` and use FILE",
                  name)
            : fmt::format(
                  "is not a calibration; if it is a log of nccl-tests or a CSV of GEMM times, run `goodput "
                  "import calibration {} --out FILE` and use FILE",
                  name);
    return Result<Json>(Error{what, {.file = file}});
  }
};

class AllForeignFiles final : public config::ForeignFiles {
 public:
  explicit AllForeignFiles(std::vector<std::shared_ptr<ForeignFiles>> all) : all_(std::move(all)) {}

  std::optional<Result<Json>> read(const std::string& file, const config::Kind& kind,
                                   const config::Library& library) override {
    for (const auto& one : all_) {
      if (auto read = one->read(file, kind, library)) return read;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::shared_ptr<ForeignFiles>> all_;
};

}  // namespace

std::shared_ptr<config::ForeignFiles> foreign_files() {
  return std::make_shared<AllForeignFiles>(
      std::vector<std::shared_ptr<config::ForeignFiles>>{launch_files(), std::make_shared<ImportableLogs>()});
}

}  // namespace goodput
