// A file that is replaced whole or not at all, as often as need be: a temporary one beside it is written,
// then renamed.
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

  // Whoever reads it, even when this program is killed here, finds the old content or the new. Throws as the
  // constructor.
  void write(const std::string& content);

 private:
  std::string path_;
  std::string temporary_;  // empty: this one was moved from
};

}  // namespace goodput::gpu::bench
