#include "gpu/bench/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace goodput::gpu::bench {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw std::invalid_argument("cannot write " + path + ": " + std::strerror(error));
}

// 0, or what went wrong.
int write_all(const std::string& path, const std::string& content) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return errno;
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  const int error = written ? 0 : errno;
  const bool closed = std::fclose(file) == 0;
  return error != 0 || closed ? error : errno;
}

}  // namespace

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".part" + std::to_string(getpid())) {
  std::error_code no_matter;
  if (std::filesystem::is_directory(path_, no_matter)) refuse(path_, EISDIR);
  if (std::filesystem::exists(path_, no_matter) && !std::filesystem::is_regular_file(path_, no_matter)) {
    throw std::invalid_argument("cannot write " + path_ +
                                ": it is not a regular file, and writing would replace it");
  }
  if (const int error = write_all(temporary_, "")) refuse(path_, error);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void OutputFile::write(const std::string& content) {
  if (const int error = write_all(temporary_, content)) refuse(path_, error);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(path_, errno);
}

}  // namespace goodput::gpu::bench
