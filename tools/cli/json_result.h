// JSON results of commands: the keys they all begin with, and where they go, as JSON and as a page.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "tools/cli/command.h"
#include "tools/cli/output_file.h"

namespace goodput {

// Where the numbers of a result come from.
struct Provenance {
  std::optional<std::uint64_t> config_hash;  // of the input and the options that move a number
  std::optional<std::string> calibration;    // the calibration file, when one was used
  std::optional<std::string> lowest_tier;    // measured > literature > datasheet > model > assumed
  std::vector<std::string> config_files{};   // that were read, the one the command was told of first
};

// Version and revision.
[[nodiscard]] std::string program_version();

// {"schema": "goodput.<name>/1", "version", "revision", "seed", "config_hash", "calibration", "lowest_tier"}
// and, where there are any, "config_files"; the command adds the rest.
[[nodiscard]] OrderedJson begin_json_result(std::string_view name, const CommandContext& context,
                                            const Provenance& provenance);

// Appends a member without the linear search of operator[]: for maps with an entry a step or worker.
// REQUIRES: `object` has no member of this name.
void append_member(OrderedJson& object, std::string name, OrderedJson value);

// The number, or null when there is none.
[[nodiscard]] OrderedJson or_null(std::optional<double> value);

// As check_file_roles() of output_file.h, with --json and --report among the outputs. To be called before
// anything is computed.
Status check_file_roles(const std::vector<std::string>& inputs, std::vector<OutputPath> outputs,
                        const CommandContext& context);

// Where --json says (nowhere, stdout, or a file that is written whole or not at all), and as a page where
// --report says.
Status write_json_result(const OrderedJson& result, const CommandContext& context);

}  // namespace goodput
