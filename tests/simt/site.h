// Where in the source a thread calls the machine.
#pragma once

namespace simt {

// As a default argument, `Site::here()` is the place of the call.
struct Site {
  const char* file = "";
  int line = 0;
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace simt
