#include "tools/launch/launch_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "models/plan/training_plan.h"
#include "models/shape/model_shape.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/launch/import_text.h"

namespace goodput {
namespace {

using launch::ImportedLaunch;

class LaunchFiles final : public config::ForeignFiles {
 public:
  std::optional<Result<Json>> read(const std::string& file, const config::Kind& kind,
                                   const config::Library& library) override {
    std::error_code failed;
    if (kind.folder != kPlanFiles.folder && kind.folder != kModelFiles.folder) return std::nullopt;
    if (!std::filesystem::is_regular_file(file, failed)) return std::nullopt;
    const std::scoped_lock lock(mutex_);
    const auto known = read_.find({file, std::string(kind.folder)});
    if (known != read_.end()) return known->second;
    std::optional<Result<Json>> result = import(file, kind, library);
    read_.emplace(std::pair{file, std::string(kind.folder)}, result);
    return result;
  }

 private:
  static std::optional<Result<Json>> import(const std::string& file, const config::Kind& kind,
                                            const config::Library& library) {
    const Result<launch::LaunchText> text = launch::read_launch_text(file);
    if (!text) return std::nullopt;  // the reader of our own files says so
    if (launch::format_of(*text) != nullptr || is_not_json(file)) return convert(file, kind, library);
    return std::nullopt;
  }

  // By its name: the reader of our own files would only say that it is no JSON.
  static bool is_not_json(const std::string& file) {
    const std::string ending = std::filesystem::path(file).extension().string();
    return ending == ".sh" || ending == ".yaml" || ending == ".yml" || ending == ".toml";
  }

  static Result<Json> convert(const std::string& file, const config::Kind& kind,
                              const config::Library& library) {
    launch::ImportRequest request;
    request.files = {file};
    const bool wants_plan = kind.folder == kPlanFiles.folder;
    request.wants_model_only = !wants_plan;
    GOODPUT_TRY(const ImportedLaunch imported, launch::import_launch(request, library));
    if (wants_plan && imported.is_model) {
      return Error{"describes only a model; name it in a plan, or let `goodput plan` find its layout",
                   {.file = file}};
    }
    if (!imported.missing.empty()) return missing_values(imported, file);
    if (library.note) {
      library.note(import_sentence(imported, request.files));
      for (const std::string& line : warning_lines(imported)) library.note(line);
      if (wants_plan) library.note(assumed_line(imported));
    }
    return Json::parse(imported.text);
  }

  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::optional<Result<Json>>> read_;
};

}  // namespace

std::shared_ptr<config::ForeignFiles> launch_files() {
  return std::make_shared<LaunchFiles>();
}

Error missing_values(const ImportedLaunch& imported, const std::string& file) {
  std::vector<std::string> whats;
  std::vector<std::string> options;
  bool lacks_model = false;
  for (const launch::MissingValue& missing : imported.missing) {
    whats.push_back(missing.what);
    lacks_model |= missing.pointer.starts_with("/model/");
    if (missing.pointer == "/gpus")
      options.emplace_back("--gpus N");
    else if (missing.pointer == "/parallel/global_batch")
      options.emplace_back("--batch N");
    else if (missing.pointer == "/parallel/sequence_length")
      options.emplace_back("--sequence-length N");
    else
      options.push_back(fmt::format("--set {}=N", missing.pointer));
  }
  const std::string model = lacks_model ? ", or name the model, for example --model llama3-70b" : "";
  return Error{fmt::format("does not give {}; import it with {}{}", fmt::join(whats, ", "),
                           fmt::join(options, " "), model),
               {.file = file}};
}

}  // namespace goodput
