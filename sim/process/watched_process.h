// A program or shell command that cannot outlive us: it runs in a process group of its own, under a watcher
// that ends the whole group when we say so, and as soon as we are gone, however that came about.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/process/file_handle.h"

namespace goodput {

// How a program came to its end.
struct ProcessEnd {
  bool was_running = true;  // and was ended by us
  int status = 0;           // of waitpid(), where it ended by itself

  // "ended with exit code 1", "was ended by signal 11 (Segmentation fault)"; of one that was running: "closed
  // its standard output".
  [[nodiscard]] std::string text() const;
};

class WatchedProcess {
 public:
  // `/bin/sh -c command`, with pipes for its standard input, output and error, and none of our other files.
  [[nodiscard]] static Result<WatchedProcess> start(const std::string& command);
  // The same of a program, which is looked for in PATH, and its arguments, without a shell. `environment`:
  // NAME=VALUE, beside what we have. A program that is not there ends with exit code 127.
  // REQUIRES: a program; no NUL in any text.
  [[nodiscard]] static Result<WatchedProcess> start(const std::vector<std::string>& program_and_arguments,
                                                    const std::vector<std::string>& environment);

  WatchedProcess(WatchedProcess&& other) noexcept;
  WatchedProcess& operator=(WatchedProcess&&) = delete;
  ~WatchedProcess();  // ends the group

  // That there will be no more for it to read.
  void close_input() { input_.reset(); }

  // Gives the command a moment to come to its own end, then ends the group. To be called once.
  [[nodiscard]] ProcessEnd finish();

  [[nodiscard]] int input() const {
    return input_.get();
  }  // a socket: writing to it can be told not to raise
  [[nodiscard]] int output() const { return output_.get(); }
  [[nodiscard]] int errors() const { return errors_.get(); }

 private:
  WatchedProcess() = default;

  FileHandle input_, output_, errors_;
  FileHandle control_;  // to the watcher
  pid_t watcher_ = -1;  // -1: waited for already
};

}  // namespace goodput
