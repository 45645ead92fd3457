// A file with given content in a folder of its own, removed with this object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace goodput {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view name, std::string_view content = {}) {
    std::string folder = (std::filesystem::temp_directory_path() / "goodput-test-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    folder_ = folder;
    path_ = (folder_ / name).string();
    if (!content.empty()) std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

// `message` with the file's path cut off its front: what a test can compare.
inline std::string without_path(std::string message, const TemporaryFile& file) {
  return message.starts_with(file.path()) ? message.substr(file.path().size()) : message;
}

}  // namespace goodput
