#include <doctest/doctest.h>

#include <string>

#include "sim/base/text.h"
#include "tools/cli/command_help.h"

namespace goodput {
namespace {

CommandHelp press() {
  CommandHelp help{
      .name = "tool press", .summary = "flattens what it is given", .example = "tool press a\ntool press b"};
  help.arguments = {{.value = "FILE...", .text = "To be flattened", .is_required = true},
                    {.value = "OUT", .text = "The result"}};
  help.options = {{.names = {"-f", "--force"}, .text = "Harder", .group = "Options"},
                  {.names = {"--an-option-with-a-long-name"},
                   .value = "N",
                   .text = "How often, if more than once, is wanted",
                   .group = "Options"},
                  {.names = {"--late"}, .value = "X", .text = "Of another group", .group = "More"}};
  return help;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string_view line : split(text, '\n')) longest = std::max(longest, line.size());
  return longest;
}

}  // namespace

TEST_CASE("help: usage, arguments, options by group and examples, one below the other") {
  CHECK(usage(press()) == "tool press [OPTIONS] FILE... [OUT]");
  CHECK(help_text(press(), 100) ==
        "tool press: flattens what it is given\n"
        "\n"
        "Usage: tool press [OPTIONS] FILE... [OUT]\n"
        "\n"
        "Arguments:\n"
        "  FILE...                 To be flattened\n"
        "  OUT                     The result\n"
        "\n"
        "Options:\n"
        "  -f, --force             Harder\n"
        "  --an-option-with-a-long-name N\n"
        "                          How often, if more than once, is wanted\n"
        "\n"
        "More:\n"
        "  --late X                Of another group\n"
        "\n"
        "Example:\n"
        "  tool press a\n"
        "  tool press b\n");
}

TEST_CASE("help: lines break between words at the terminal's width; on a narrow one texts stand below") {
  CHECK(longest_line(help_text(press(), 60)) <= 60);
  const std::string narrow = help_text(press(), 40);
  CHECK(longest_line(narrow) <= 40);
  CHECK(narrow.find("  -f, --force\n      Harder\n") != std::string::npos);
  CHECK(narrow.find("      How often, if more than once, is\n      wanted\n") != std::string::npos);
}

TEST_CASE("help: a command with commands lists them and takes no options of its own") {
  CommandHelp help{.name = "tool", .summary = "many things"};
  help.commands = {press()};
  CHECK(help_text(help, 80) ==
        "tool: many things\n\nUsage: tool COMMAND [OPTIONS]\n\nCommands:\n"
        "  press                   flattens what it is given\n");
}

}  // namespace goodput
