// What docs/formats says of checkpoints is what the program does.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "models/shape/swin_shape.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "tests/support/config_table.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"

namespace goodput {
namespace {

std::string page(const std::string& name) {
  std::ifstream file(GOODPUT_CONFIGS "/../" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json checkpoint_json() {
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code =
      run_command_line(builtin_commands(),
                       {"checkpoint", GOODPUT_CONFIGS "/models/gpt2-moe-small.json", "--pec-k", "1",
                        "--interval", "100", "--faults", "250:3", "--quiet", "--json", "-"},
                       out, err);
  REQUIRE_MESSAGE(code == ExitCode::kOk, err.str());
  return Json::parse(out.str());
}

}  // namespace

TEST_CASE("docs: the fields of Swin transformers are those of the reader") {
  SwinModel model;
  const std::string table = config::describe(config_fields(model));
  CHECK_MESSAGE(page("docs/formats/models.md").find(table) != std::string::npos,
                "docs/formats/models.md wants the table\n", table);
}

TEST_CASE("docs: every key of goodput.checkpoint/1 is explained") {
  const std::string text = page("docs/formats/checkpoint.md");
  REQUIRE(text.starts_with("# goodput.checkpoint/1"));
  const Json result = checkpoint_json();
  for (const auto& item : result.items()) {
    const std::string& key = item.key;
    if (key == "schema" || key == "version" || key == "revision" || key == "seed" || key == "lowest_tier" ||
        key == "config_files")
      continue;  // of every result
    CHECK_MESSAGE(text.find(key) != std::string::npos, key);
  }
  for (const auto& item : result.at("faults").at(0).items())
    CHECK_MESSAGE(text.find(item.key) != std::string::npos, item.key);
  for (const auto& item : result.at("modules").at(0).items())
    CHECK_MESSAGE(text.find(item.key) != std::string::npos, item.key);
}

}  // namespace goodput
