// The thread that reads: follows the files of all jobs and hands steps on as they become whole.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/monitor/job_intake.h"
#include "tools/monitor/step_queue.h"
#include "tools/monitor_pages/monitor_status.h"
#include "tools/monitor_store/monitor_store.h"
#include "traces/follow/followed_files.h"

namespace goodput {

struct WatchedJob {
  std::string name;
  std::string folder;
};

struct MonitorLoopOptions {
  std::vector<WatchedJob> jobs;
  std::string spool;            // a folder of which each folder is a job whose rows were pushed; empty: none
  std::string metadata_path;    // --meta, of all jobs; empty: each has its own or none
  double seconds_per_unit = 1;  // of times in tables
  StepIntakeOptions steps;
  FollowOptions follow;                                 // without folders
  bool is_once = false;                                 // takes what is there and ends
  std::uint64_t slack_bytes = std::uint64_t{64} << 20;  // that may be unread before steps are skipped
};

class MonitorLoop {
 public:
  // Goes on where the store says. All must outlive it. `store`: only read, and only here.
  static Result<MonitorLoop> open(MonitorLoopOptions options, MonitorStore& store, StepQueue& queue,
                                  MonitorStatus& status);

  MonitorLoop(MonitorLoop&&) noexcept;
  ~MonitorLoop();

  // Until stop(), or (`is_once`) until all that is there was handed on. Closes the queue.
  Status run();
  void stop();  // from any thread; so is
  void wake() { files_->wake(); }
  // Told once a round, on this thread: what was met that is worth a line.
  std::function<void(const std::string& note)> on_note;
  // Called once a round.
  std::function<void()> on_round;
  [[nodiscard]] std::vector<std::string> job_names() const;
  // Jobs of which all that is there was read, but for a last line without an end. On the thread of run().
  [[nodiscard]] std::vector<std::string> read_jobs() const;

 private:
  struct Job;
  struct FileState {
    Job* job = nullptr;
    std::string log;  // what it is a rotated part of
    std::uint64_t read_to = 0;
    std::string told_path;  // with the latest step
    std::uint64_t told_offset = 0;
    std::uint64_t told_seen = 0;
  };

  struct ReadableFile {
    FileNumber file = 0;
    std::int64_t step = 0;  // that it is at; the least there is: not read yet
  };

  MonitorLoop(MonitorLoopOptions options, StepQueue& queue, MonitorStatus& status);
  Result<Job*> add_job(const WatchedJob& watched);
  Result<FileState*> state_of(FileNumber file);
  // What a former process read is a job's from the start: what becomes of its names is told, too.
  Status take_over_known_files();
  [[nodiscard]] Result<Job*> job_of_path(const std::string& path);
  [[nodiscard]] Result<std::vector<ReadableFile>> readable_files();
  Result<bool> read_some();  // false: no file was readable, or nobody takes more steps
  Status take(const FollowedPiece& piece);
  Status read_rests();
  bool hand_on(Job& job);
  bool push(Job& job, GatheredStep step);
  void note_positions(Job& job, QueuedStep& queued);
  void forget_files(Job& job);
  void look_at_backlog();
  [[nodiscard]] std::uint64_t unread_below(const std::string& folder) const;
  [[nodiscard]] std::uint64_t unread_of(const Job& job) const;
  [[nodiscard]] std::chrono::milliseconds longest_wait() const;
  void report();

  MonitorLoopOptions options_;
  MonitorStore* store_ = nullptr;
  StepQueue* queue_;
  MonitorStatus* status_;
  std::optional<FollowedFiles> files_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::map<FileNumber, FileState> file_states_;
  std::uint64_t allowed_unread_ = 0;
  std::map<std::string, std::uint64_t> unread_by_folder_;
  std::uint64_t unread_ = 0;  // the sum
  bool is_behind_ = false;
  std::unique_ptr<std::atomic<bool>> is_stopped_ = std::make_unique<std::atomic<bool>>(false);
};

}  // namespace goodput
