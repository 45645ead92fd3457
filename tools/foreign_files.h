// Files of other programs in place of configs of ours.
#pragma once

#include <memory>

#include "sim/config/library.h"

namespace goodput {

// Launch files as plans and models. Logs are refused with the command that imports them.
[[nodiscard]] std::shared_ptr<config::ForeignFiles> foreign_files();

}  // namespace goodput
