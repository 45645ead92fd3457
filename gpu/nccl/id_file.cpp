#include "gpu/nccl/id_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

namespace goodput::gpu {
namespace {

constexpr std::string_view kMagic = "goodput-nccl-id 1 ";
constexpr std::string_view kEnd = "end";
constexpr std::string_view kRemedy = "; remove it, or use a different file for every run";
constexpr std::string_view kDigits = "0123456789abcdef";
// A cluster of readers asks the server of a shared folder this often.
constexpr std::chrono::milliseconds kBetweenReads{50};

class OpenFile {
 public:
  explicit OpenFile(int file) : file_(file) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  [[nodiscard]] int get() const { return file_; }

 private:
  int file_;
};

struct FoundFile {
  std::string text;
  std::time_t written;
};

std::string hexadecimal(const UniqueId& id) {
  std::string text;
  for (const char byte : id) {
    const auto bits = static_cast<unsigned char>(byte);
    text += {kDigits[bits / 16], kDigits[bits % 16]};
  }
  return text;
}

std::optional<UniqueId> from_hexadecimal(const std::string& text) {
  UniqueId id{};
  if (text.size() != 2 * id.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.size(); ++i) {
    unsigned byte = 0;
    const char* const end = text.data() + 2 * i + 2;
    if (std::from_chars(end - 2, end, byte, 16).ptr != end) return std::nullopt;
    id[i] = static_cast<char>(byte);
  }
  return id;
}

bool write_whole(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t bytes = write(file, text.data() + done, text.size() - done);
    if (bytes < 0 && errno != EINTR) return false;
    if (bytes > 0) done += static_cast<std::size_t>(bytes);
  }
  return fsync(file) == 0;
}

// Its first 4 KiB, for an id file is shorter. Nothing where it cannot be read: errno says why.
std::optional<FoundFile> read_file(const std::string& path) {
  // On NFS a client remembers that a file is not there, until its folder is opened.
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const OpenFile looked_at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const OpenFile file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) return FoundFile{"", status.st_mtime};
  std::string text;
  std::array<char, 1024> buffer{};
  while (text.size() < 4 * buffer.size()) {
    const ssize_t bytes = read(file.get(), buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return std::nullopt;
    if (bytes == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
  return FoundFile{text, status.st_mtime};
}

}  // namespace

IdFile::IdFile(std::string path, std::int32_t ranks, RunName run, std::chrono::milliseconds deadline)
    : path_(std::move(path)),
      ranks_(ranks),
      run_(std::move(run)),
      deadline_(deadline),
      began_(std::time(nullptr)) {}

std::string IdFile::head() const {
  return std::string(kMagic) + "ranks " + std::to_string(ranks_) + " run " + run_.text;
}

// link() makes it appear whole, and leaves one alone that is there. On NFS it may be done and say otherwise:
// then the file has two names.
void IdFile::write(const UniqueId& id) {
  const std::string beside = write_beside(head() + "\n" + hexadecimal(id) + "\n" + std::string(kEnd) + "\n");
  const bool is_linked = link(beside.c_str(), path_.c_str()) == 0;
  const int why = errno;
  struct stat status {};
  is_ours_ = is_linked || (stat(beside.c_str(), &status) == 0 && status.st_nlink == 2);
  unlink(beside.c_str());
  if (is_ours_) return;
  if (why != EEXIST)
    fail(std::string("cannot be created: ") + std::strerror(why) + "; use a different folder");
  fail("already exists: a run that was killed left it behind, or another run uses it" + std::string(kRemedy));
}

std::string IdFile::write_beside(const std::string& text) const {
  std::string beside = path_ + ".XXXXXX";
  const OpenFile file(mkostemp(beside.data(), O_CLOEXEC));
  if (file.get() >= 0 && write_whole(file.get(), text)) return beside;
  const int why = errno;
  if (file.get() >= 0) unlink(beside.c_str());
  fail(std::string("cannot be written: ") + std::strerror(why) +
       "; use a folder that all ranks can write to");
}

UniqueId IdFile::wait() const {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    if (const auto found = read_file(path_)) {
      const UniqueId id = id_in(found->text);
      check_age(found->written);
      return id;
    }
    if (errno != ENOENT && errno != ESTALE) {
      fail(std::string("cannot be read: ") + std::strerror(errno) + std::string(kRemedy));
    }
    if (std::chrono::steady_clock::now() - begin >= deadline_) {
      fail("was not written by rank 0 within " + std::to_string(deadline_.count()) +
           " ms; check that rank 0 is running and that all ranks can see the folder of the file");
    }
    std::this_thread::sleep_for(kBetweenReads);
  }
}

UniqueId IdFile::id_in(const std::string& text) const {
  std::istringstream lines(text);
  std::string first;
  std::string hex;
  std::string end;
  std::getline(lines, first);
  if (first.rfind(kMagic, 0) != 0) fail("is not an id file" + std::string(kRemedy));
  std::getline(lines, hex);
  std::getline(lines, end);
  const std::optional<UniqueId> id = from_hexadecimal(hex);
  if (!id || end != kEnd) fail("is truncated" + std::string(kRemedy));
  check_head(first);
  return *id;
}

void IdFile::check_head(const std::string& line) const {
  if (line == head()) return;
  std::istringstream words(line.substr(kMagic.size()));
  std::string ranks_word;
  std::string ranks;
  std::string run_word;
  std::string run;
  words >> ranks_word >> ranks >> run_word >> run;
  if (run != run_.text) {
    fail("belongs to run " + run + ", but this is run " + run_.text + std::string(kRemedy));
  }
  fail("is for " + ranks + " ranks, but this run has " + std::to_string(ranks_) + std::string(kRemedy));
}

void IdFile::check_age(std::time_t written) const {
  const std::chrono::seconds age(began_ - written);  // of two whole seconds: up to 1 s more than it is
  if (run_.is_unique || age <= deadline_ + std::chrono::seconds(1)) return;
  fail("belongs to an earlier run: it was written " + std::to_string(age.count()) +
       " s before this rank started" + std::string(kRemedy));
}

void IdFile::remove() {
  if (is_ours_) unlink(path_.c_str());
  is_ours_ = false;
}

void IdFile::fail(const std::string& what) const {
  throw RankError("the id file " + path_ + " " + what);
}

}  // namespace goodput::gpu
