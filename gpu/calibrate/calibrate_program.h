// The program goodput-calibrate, but for its main().
#pragma once

#include <string>
#include <vector>

namespace goodput::gpu::calibrate {

// `arguments` without the name of the program; `revision` of the sources. Returns the exit status: see
// --help.
[[nodiscard]] int run_calibrate_program(const std::vector<std::string>& arguments,
                                        const std::string& revision);

}  // namespace goodput::gpu::calibrate
