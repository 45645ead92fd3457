#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "sim/base/errors.h"
#include "tools/cli/command_line.h"
#include "tools/cli/output_file.h"
#include "tools/commands.h"
#include "tools/foreign_files.h"

namespace {

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

constexpr std::size_t kNarrowest = 40;  // what is drawn takes as much

// https://no-color.org: a non-empty NO_COLOR turns colours off.
goodput::Terminal this_terminal() {
  goodput::Terminal terminal;
  const std::string name = environment("TERM");
  const bool is_dumb = name.empty() || name == "dumb";
  terminal.shows_progress = isatty(STDERR_FILENO) != 0 && !is_dumb;
  if (isatty(STDOUT_FILENO) == 0) return terminal;
  terminal.colour = environment("NO_COLOR").empty() && !is_dumb;
  const std::string depth = environment("COLORTERM");
  terminal.true_colour = depth == "truecolor" || depth == "24bit";
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.width = std::max<std::size_t>(size.ws_col, kNarrowest);
  return terminal;
}

}  // namespace

int main(int argc, char** argv) {
  using goodput::ExitCode;
  const auto exit_status = [](ExitCode code) { return static_cast<int>(code); };
  try {
    goodput::remove_unfinished_files_on_interrupt();
    return exit_status(goodput::run_command_line(
        goodput::builtin_commands(), {argv + (argc > 0 ? 1 : 0), argv + argc}, std::cout, std::cerr,
        this_terminal(), environment, goodput::foreign_files()));
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: not enough memory for this input\n");
    return exit_status(ExitCode::kBadInput);
  } catch (const goodput::InternalError& error) {
    fmt::print(stderr, "internal error: {}; please report it\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "internal error: unexpected exception: {}; please report it\n", error.what());
  }
  return exit_status(ExitCode::kOurBug);
}
