#include "gpu/nccl/environment_rank.h"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "tests/gpu/launched_case.h"
#include "tests/traces/io/temporary_file.h"

namespace goodput::gpu {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Variables = std::map<std::string, std::string>;

Variables torchrun(std::int32_t rank, std::int32_t ranks) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(ranks)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"TORCHELASTIC_RUN_ID", "a"}};
}

Variables srun(std::int32_t rank, std::int32_t ranks) {
  return {{"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_NTASKS", std::to_string(ranks)},
          {"SLURM_LOCALID", std::to_string(rank)},
          {"SLURM_JOB_ID", "12"}};
}

// Without an id file, and a deadline that is soon over.
EnvironmentOptions options_under(const Variables& variables) {
  EnvironmentOptions options;
  options.deadline = 200ms;
  options.variable = [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  return options;
}

std::unique_ptr<RankProcess> rank_under(const Variables& variables, const std::string& id_file) {
  EnvironmentOptions options = options_under(variables);
  options.id_file = id_file;
  return environment_rank(options);
}

UniqueId made_id() {
  UniqueId id;
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = static_cast<char>(255 - 2 * i);
  return id;
}

UniqueId none_made() {
  throw std::logic_error("only rank 0 makes it");
}

std::string share_error(const Variables& variables, const std::string& id_file) {
  const std::string message = error_of([&] { rank_under(variables, id_file)->share(made_id); });
  const std::string place = "the id file " + id_file + " ";
  return message.rfind(place, 0) == 0 ? message.substr(place.size()) : message;
}

std::ptrdiff_t files_beside(const TemporaryFile& file) {
  return std::distance(fs::directory_iterator(fs::path(file.path()).parent_path()), fs::directory_iterator());
}

TEST_CASE("environment_rank: torchrun's and Slurm's variables say which rank this is") {
  const auto torch = rank_under({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}, "x");
  CHECK(torch->rank() == 5);
  CHECK(torch->ranks() == 8);
  CHECK(torch->local_rank() == 1);
  CHECK(torch->lost().empty());
  Variables slurm = {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "0"}};
  CHECK(rank_under(slurm, "x")->rank() == 2);
  CHECK(rank_under(slurm, "x")->ranks() == 4);
  CHECK(rank_under(slurm, "x")->local_rank() == 0);
  slurm.merge(torchrun(1, 3));  // torchrun within a Slurm job
  CHECK(rank_under(slurm, "x")->ranks() == 3);
}

TEST_CASE("environment_rank: variables that do not say which rank this is") {
  const auto message = [](const Variables& variables) {
    return error_of([&] { rank_under(variables, "x"); });
  };
  CHECK(message({}) ==
        "the rank of this process is unknown: start it with torchrun, which sets RANK, WORLD_SIZE and "
        "LOCAL_RANK, or with srun, which sets SLURM_PROCID, SLURM_NTASKS and SLURM_LOCALID");
  CHECK(message({{"RANK", "0"}, {"LOCAL_RANK", "0"}}) ==
        "WORLD_SIZE is not set: torchrun sets RANK, WORLD_SIZE and LOCAL_RANK");
  CHECK(message({{"SLURM_NTASKS", "4"}}) ==  // a shell within an allocation, without srun
        "SLURM_PROCID is not set: srun sets SLURM_PROCID, SLURM_NTASKS and SLURM_LOCALID");
  const auto with = [&](const char* name, const char* value) {
    Variables variables = torchrun(0, 4);
    variables[name] = value;
    return message(variables);
  };
  CHECK(with("RANK", "one") == "RANK must be a whole number of at least 0, not 'one'");
  CHECK(with("RANK", "-1") == "RANK must be a whole number of at least 0, not '-1'");
  CHECK(with("RANK", "1x") == "RANK must be a whole number of at least 0, not '1x'");
  CHECK(with("LOCAL_RANK", "") == "LOCAL_RANK must be a whole number of at least 0, not ''");
  CHECK(with("WORLD_SIZE", "0") == "WORLD_SIZE must be a whole number of at least 1, not '0'");
  CHECK(with("WORLD_SIZE", "99999999999") ==
        "WORLD_SIZE must be a whole number of at least 1, not '99999999999'");
  CHECK(with("RANK", "4") == "RANK must be less than WORLD_SIZE (4), not 4");
  CHECK(with("LOCAL_RANK", "7") == "LOCAL_RANK must be less than WORLD_SIZE (4), not 7");
  CHECK(error_of([] { rank_under(torchrun(0, 1), ""); }) ==
        "no id file is given: give one in a folder that all ranks can see, a different one for every run");
}

TEST_CASE("environment_rank: without a look-up of its own it asks the environment") {
  for (const char* const name : {"RANK", "WORLD_SIZE", "LOCAL_RANK"}) REQUIRE(std::getenv(name) == nullptr);
  CHECK_THROWS_AS(static_cast<void>(environment_rank({})), RankError);
}

TEST_CASE("environment_rank: processes that only have the file in common share the id, and leave nothing") {
  const TemporaryFile file("id");
  const LaunchCase launch;
  std::array<int, 2> ends{};  // says to rank 0 that the others have it
  REQUIRE(pipe(ends.data()) == 0);
  launch.check_well(options_of(4), [&](RankProcess& process) {
    EnvironmentOptions options = options_under(torchrun(process.rank(), 4));
    options.id_file = file.path();
    options.deadline = 10s;  // however late another process begins
    const auto rank = environment_rank(options);
    must(rank->share(rank->rank() == 0 ? made_id : none_made) == made_id());
    std::array<char, 3> bytes{};
    if (rank->rank() != 0) must(write(ends[1], bytes.data(), 1) == 1);
    for (int other = 1; rank->rank() == 0 && other < 4; ++other) must(read(ends[0], bytes.data(), 1) == 1);
    rank->joined();
    must(rank->rank() != 0 || !fs::exists(file.path()));
  });
  close(ends[0]);
  close(ends[1]);
  CHECK(files_beside(file) == 0);
}

TEST_CASE("environment_rank: the file is there whole, and goes with rank 0") {
  const TemporaryFile file("id");
  Variables slurm = {{"SLURM_PROCID", "0"},  {"SLURM_NTASKS", "2"},  {"SLURM_LOCALID", "0"},
                     {"SLURM_JOB_ID", "12"}, {"SLURM_STEP_ID", "3"}, {"SLURM_RESTART_COUNT", "1"}};
  {
    const auto rank = rank_under(slurm, file.path());
    CHECK(files_beside(file) == 0);
    CHECK(rank->share(made_id) == made_id());
    CHECK(files_beside(file) == 1);
    // 255, 253, ... 1
    CHECK(file.content().rfind("goodput-nccl-id 1 ranks 2 run 12.3.1\nfffdfbf9f7f5", 0) == 0);
    CHECK(file.content().substr(file.content().size() - 11) == "050301\nend\n");
    slurm["SLURM_PROCID"] = "1";
    const auto other = rank_under(slurm, file.path());
    CHECK(other->share(none_made) == made_id());
    other->joined();
    CHECK(files_beside(file) == 1);
  }
  CHECK(files_beside(file) == 0);
}

TEST_CASE("environment_rank: what names the run") {
  const TemporaryFile file("id");
  const auto run_of = [&](const Variables& variables) {
    const auto rank = rank_under(variables, file.path());
    rank->share(made_id);
    const std::string line = file.content().substr(0, file.content().find('\n'));
    return line.substr(line.rfind("run ") + 4);
  };
  Variables torch = torchrun(0, 1);
  CHECK(run_of(torch) == "a.0");
  torch["TORCHELASTIC_RESTART_COUNT"] = "2";
  CHECK(run_of(torch) == "a.2");
  torch["TORCHELASTIC_RUN_ID"] = "two words\n";
  CHECK(run_of(torch) == "two_words_.2");
  torch["TORCHELASTIC_RUN_ID"] = "none";
  CHECK(run_of(torch) == "-");
  torch["MASTER_ADDR"] = "node1";
  torch["MASTER_PORT"] = "29500";
  CHECK(run_of(torch) == "node1:29500");
  Variables slurm = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_LOCALID", "0"}};
  CHECK(run_of(slurm) == "-");
  slurm["SLURM_JOB_ID"] = "12";
  CHECK(run_of(slurm) == "12.0.0");
}

TEST_CASE("environment_rank: rank 0 replaces no file, and removes none that is another's") {
  const TemporaryFile file("id", "precious\n");
  CHECK(share_error(torchrun(0, 2), file.path()) ==
        "already exists: a run that was killed left it behind, or another run uses it; remove it, or use a "
        "different file for every run");
  CHECK(file.content() == "precious\n");
  CHECK(files_beside(file) == 1);
}

TEST_CASE("environment_rank: a file that rank 0 cannot write") {
  const TemporaryFile folder("folder");
  CHECK(share_error(torchrun(0, 2), folder.path() + "/id") ==
        "cannot be written: No such file or directory; use a folder that all ranks can write to");
  const LaunchCase launch;
  const std::string path = fs::path(folder.path()).parent_path().string();
  // Neither may root write everywhere, nor is there always space: in a process with limits.
  launch.check_well(options_of(1), [&](RankProcess&) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit few_bytes{100, 100};
    setrlimit(RLIMIT_FSIZE, &few_bytes);
    const std::string full = share_error(torchrun(0, 2), path + "/id");
    must(full == "cannot be written: File too large; use a folder that all ranks can write to");
    must(files_beside(folder) == 0);
    chmod(path.c_str(), 0555);
    if (getuid() == 0) must(setuid(65534) == 0);
    const std::string closed = share_error(torchrun(0, 2), path + "/id");
    must(closed == "cannot be written: Permission denied; use a folder that all ranks can write to");
  });
}

// As a file system does that has no hard links.
void refuse_links() {
  std::array<sock_filter, 5> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
#ifdef SYS_link
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_link, 1, 0),
#else
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 1, 0),
#endif
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

TEST_CASE("environment_rank: a folder without links") {
  const TemporaryFile file("id");
  const LaunchCase launch;
  launch.check_well(options_of(1), [&](RankProcess&) {
    refuse_links();
    const std::string message = share_error(torchrun(0, 2), file.path());
    must(message == "cannot be created: Operation not permitted; use a different folder");
  });
  CHECK(files_beside(file) == 0);
}

TEST_CASE("environment_rank: files that are not this run's are refused by who reads them") {
  const TemporaryFile file("id");
  const auto left_by = [&](const Variables& variables, int age_s = 0) {
    fs::remove(file.path());
    const auto rank = rank_under(variables, file.path());
    rank->share(made_id);
    fs::rename(file.path(), file.path() + ".kept");  // it removes what it wrote
    const std::time_t written = std::time(nullptr) - age_s;
    const utimbuf times{written, written};
    utime((file.path() + ".kept").c_str(), &times);
  };
  const auto message = [&](const Variables& variables) {
    fs::rename(file.path() + ".kept", file.path());
    return share_error(variables, file.path());
  };
  left_by(torchrun(0, 4));
  CHECK(message(torchrun(1, 8)) ==
        "is for 4 ranks, but this run has 8; remove it, or use a different file for every run");
  Variables other = torchrun(1, 4);
  other["TORCHELASTIC_RUN_ID"] = "b";
  left_by(torchrun(0, 4));
  CHECK(message(other) ==
        "belongs to run a.0, but this is run b.0; remove it, or use a different file for every run");
  left_by(srun(0, 4), 1000);
  CHECK(message(srun(1, 4)) == "no error");  // its run is this one: it only began late
  left_by(torchrun(0, 4), 1);                // at the end of a second, and the other began 1 ms later
  CHECK(message(torchrun(1, 4)) == "no error");

  // The names of these may be used again.
  Variables nameless = torchrun(0, 4);
  nameless.erase("TORCHELASTIC_RUN_ID");
  for (Variables variables : {torchrun(0, 4), nameless}) {
    left_by(variables, 1000);
    variables["RANK"] = "1";
    const std::string old = message(variables);
    CHECK_MESSAGE((old == "belongs to an earlier run: it was written 1000 s before this rank started; remove "
                          "it, or use a different file for every run" ||
                   old == "belongs to an earlier run: it was written 1001 s before this rank started; remove "
                          "it, or use a different file for every run"),
                  old);
  }
}

TEST_CASE("environment_rank: files that are cut, or something else") {
  const TemporaryFile file("id");
  rank_under(torchrun(0, 2), file.path());
  std::string whole;
  {
    const auto rank = rank_under(torchrun(0, 2), file.path());
    rank->share(made_id);
    whole = file.content();
  }
  const auto message = [&](const std::string& text) {
    std::ofstream(file.path(), std::ios::binary) << text;
    return share_error(torchrun(1, 2), file.path());
  };
  CHECK(message(whole) == "no error");
  const std::string remedy = "; remove it, or use a different file for every run";
  const std::size_t line = whole.find('\n');
  for (const std::size_t length : {line, line + 1, line + 2, line + 256, line + 257, whole.size() - 2}) {
    CAPTURE(length);
    CHECK(message(whole.substr(0, length)) == "is truncated" + remedy);
  }
  std::string damaged = whole;
  damaged[line + 5] = 'g';
  CHECK(message(damaged) == "is truncated" + remedy);
  CHECK(message("") == "is not an id file" + remedy);
  CHECK(message("goodput-nccl-id 2 ranks") == "is not an id file" + remedy);
  CHECK(message(std::string(1'000'000, 'x')) == "is not an id file" + remedy);
  const std::string folder = fs::path(file.path()).parent_path().string();
  CHECK(share_error(torchrun(1, 2), folder) == "is not an id file" + remedy);
  REQUIRE(mkfifo((file.path() + ".pipe").c_str(), 0600) == 0);
  CHECK(share_error(torchrun(1, 2), file.path() + ".pipe") == "is not an id file" + remedy);
  fs::remove(file.path() + ".pipe");
}

TEST_CASE("environment_rank: the wait for rank 0 ends at the deadline, and not before") {
  const TemporaryFile file("id");
  const auto began = std::chrono::steady_clock::now();
  CHECK(share_error(torchrun(1, 2), file.path()) ==
        "was not written by rank 0 within 200 ms; check that rank 0 is running and that all ranks can see "
        "the folder of the file");
  CHECK(std::chrono::steady_clock::now() - began >= 200ms);
}

}  // namespace
}  // namespace goodput::gpu
