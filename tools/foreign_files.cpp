#include "tools/foreign_files.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/json.h"
#include "tools/failures/failure_log_files.h"
#include "tools/launch/launch_files.h"

namespace goodput {
namespace {

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
      std::vector<std::shared_ptr<config::ForeignFiles>>{launch_files(), failure_log_files()});
}

}  // namespace goodput
