// A file that is written whole or not at all: to a temporary one beside it, then renamed.
#pragma once

#include <string>

namespace goodput::gpu::bench {

// Throws std::invalid_argument ("cannot write FILE: reason") now, so that nobody measures in vain. Without a
// write() nothing is left behind, and what was there stays.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Once. Throws as the constructor.
  void write(const std::string& content);

 private:
  std::string path_;
  std::string temporary_;  // empty: there is none
};

}  // namespace goodput::gpu::bench
