#include "tools/cli/json_result.h"

#include <fmt/format.h>

#include <ostream>

#include "goodput_revision.h"
#include "sim/base/json.h"
#include "tools/page/page_html.h"
#include "tools/page/page_result.h"

namespace goodput {

std::string program_version() {
  return fmt::format("{} ({})", GOODPUT_VERSION, GOODPUT_REVISION);
}

OrderedJson begin_json_result(std::string_view name, const CommandContext& context,
                              const Provenance& provenance) {
  const auto text_or_null = [](const std::optional<std::string>& text) {
    return text ? OrderedJson(*text) : OrderedJson(nullptr);
  };
  const auto& hash = provenance.config_hash;
  OrderedJson json = {
      {"schema", fmt::format("goodput.{}/1", name)},
      {"version", GOODPUT_VERSION},
      {"revision", GOODPUT_REVISION},
      {"seed", context.options.seed},
      {"config_hash", hash ? OrderedJson(fmt::format("{:016x}", *hash)) : OrderedJson(nullptr)},
      {"calibration", text_or_null(provenance.calibration)},
      {"lowest_tier", text_or_null(provenance.lowest_tier)}};
  if (!provenance.config_files.empty()) json["config_files"] = provenance.config_files;
  return json;
}

void append_member(OrderedJson& object, std::string name, OrderedJson value) {
  object.append(std::move(name), std::move(value));
}

OrderedJson or_null(std::optional<double> value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

Status check_file_roles(const std::vector<std::string>& inputs, std::vector<OutputPath> outputs,
                        const CommandContext& context) {
  const GlobalOptions& options = context.options;
  outputs.push_back({"--json", options.json_path});
  outputs.push_back({"--report", options.report_path});
  return check_file_roles(inputs, outputs);
}

Status write_json_result(const OrderedJson& result, const CommandContext& context) {
  const GlobalOptions& options = context.options;
  if (!options.wants_result()) return Ok{};
  // Names from input files may be no UTF-8: replaced, not thrown on.
  const std::string text = result.dump(2) + '\n';
  if (!options.report_path.empty()) {
    GOODPUT_TRY(PageResult shown, page_result("", text));
    GOODPUT_TRY_STATUS(write_text_atomically(options.report_path, page_html({std::move(shown)})));
  }
  if (options.json_path.empty()) return Ok{};
  if (!options.json_on_stdout()) return write_text_atomically(options.json_path, text);
  context.out << text;
  return Ok{};
}

}  // namespace goodput
