#include "tools/json_result.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "goodput_revision.h"
#include "tools/output_file.h"

namespace goodput {

nlohmann::ordered_json begin_json_result(std::string_view name, const CommandContext& context) {
  return {{"schema", fmt::format("goodput.{}/1", name)},
          {"version", GOODPUT_VERSION},
          {"revision", GOODPUT_REVISION},
          {"seed", context.options.seed}};
}

Status write_json_result(const nlohmann::ordered_json& result, const CommandContext& context) {
  if (context.options.json_path.empty()) return Ok{};
  // Names from input files may be no UTF-8: replaced, not thrown on.
  const std::string text =
      result.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
  if (!context.options.json_on_stdout()) return write_text_atomically(context.options.json_path, text);
  context.out << text;
  return Ok{};
}

}  // namespace goodput
