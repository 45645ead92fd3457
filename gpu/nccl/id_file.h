// The file through which rank 0 hands NCCL's id to ranks on other machines. It appears whole and is never one
// that was there before:
//   goodput-nccl-id 1 ranks 4 run 4711.0.0
//   <the id, in hexadecimal digits>
//   end
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

#include "gpu/nccl/rank_process.h"

namespace goodput::gpu {

// Which start of the program a file is of, as far as the environment says it.
struct RunName {
  std::string text = "-";  // a word, the same on every rank
  bool is_unique = false;  // no other run has it; else a file that is too old is refused
};

class IdFile {
 public:
  // `deadline`: of wait(), and the age at which a file of a run that is not unique is refused.
  IdFile(std::string path, std::int32_t ranks, RunName run, std::chrono::milliseconds deadline);
  IdFile(const IdFile&) = delete;
  IdFile& operator=(const IdFile&) = delete;
  ~IdFile() { remove(); }

  // Of rank 0. Throws RankError.
  void write(const UniqueId& id);
  // Of the others: until it is there. Throws RankError.
  [[nodiscard]] UniqueId wait() const;
  // What write() has written.
  void remove();

 private:
  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string write_beside(const std::string& text) const;
  [[nodiscard]] UniqueId id_in(const std::string& text) const;
  void check_head(const std::string& line) const;
  void check_age(std::time_t written) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  std::int32_t ranks_;
  RunName run_;
  std::chrono::milliseconds deadline_;
  std::time_t began_;
  bool is_ours_ = false;
};

}  // namespace goodput::gpu
