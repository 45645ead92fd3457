#include "gpu/nccl/environment_rank.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "gpu/nccl/id_file.h"

namespace goodput::gpu {
namespace {

// What a starter of ranks calls them.
struct Starter {
  const char* program;
  const char* rank;
  const char* ranks;
  const char* local_rank;
};

constexpr Starter kTorchrun = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Starter kSlurm = {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"};

class RankEnvironment {
 public:
  explicit RankEnvironment(std::function<const char*(const char*)> variable)
      : variable_(std::move(variable)) {
    if (!variable_) variable_ = [](const char* name) { return std::getenv(name); };
  }

  [[nodiscard]] Starter starter() const;
  [[nodiscard]] std::int32_t number(const char* name, std::int32_t least) const;
  [[nodiscard]] RunName run(const Starter& starter) const;

 private:
  [[nodiscard]] std::optional<std::string> value(const char* name) const {
    const char* const text = variable_(name);
    return text == nullptr ? std::nullopt : std::optional<std::string>(text);
  }
  [[nodiscard]] bool has_any(const Starter& starter) const {
    return value(starter.rank) || value(starter.ranks) || value(starter.local_rank);
  }

  std::function<const char*(const char*)> variable_;
};

std::string names_of(const Starter& starter) {
  return std::string(starter.rank) + ", " + starter.ranks + " and " + starter.local_rank;
}

Starter RankEnvironment::starter() const {
  const bool is_torchrun = has_any(kTorchrun);
  if (!is_torchrun && !has_any(kSlurm)) {
    throw RankError("the rank of this process is unknown: start it with torchrun, which sets " +
                    names_of(kTorchrun) + ", or with srun, which sets " + names_of(kSlurm));
  }
  const Starter starter = is_torchrun ? kTorchrun : kSlurm;
  for (const char* const name : {starter.rank, starter.ranks, starter.local_rank}) {
    if (value(name)) continue;
    throw RankError(std::string(name) + " is not set: " + starter.program + " sets " + names_of(starter));
  }
  return starter;
}

std::int32_t RankEnvironment::number(const char* name, std::int32_t least) const {
  const std::string text = value(name).value_or("");
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least) return number;
  throw RankError(std::string(name) + " must be a whole number of at least " + std::to_string(least) +
                  ", not '" + text + "'");
}

// A job that Slurm starts again keeps its number. torchrun has "none" for a run without --rdzv-id, and then
// what is left is where its ranks meet, which the next run may share.
RunName RankEnvironment::run(const Starter& starter) const {
  RunName run;
  const auto job = value("SLURM_JOB_ID");
  const auto torch = value("TORCHELASTIC_RUN_ID");
  const auto address = value("MASTER_ADDR");
  const auto port = value("MASTER_PORT");
  if (starter.rank == kSlurm.rank && job) {
    run = {
        *job + "." + value("SLURM_STEP_ID").value_or("0") + "." + value("SLURM_RESTART_COUNT").value_or("0"),
        true};
  } else if (torch && *torch != "none") {
    run = {*torch + "." + value("TORCHELASTIC_RESTART_COUNT").value_or("0"), false};  // users name runs again
  } else if (address && port) {
    run = {*address + ":" + *port, false};
  }
  std::replace_if(
      run.text.begin(), run.text.end(), [](unsigned char letter) { return !std::isgraph(letter); }, '_');
  return run;
}

class EnvironmentRank final : public RankProcess {
 public:
  EnvironmentRank(const EnvironmentOptions& options, const RankEnvironment& environment)
      : EnvironmentRank(options, environment, environment.starter()) {}

  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] std::int32_t ranks() const override { return ranks_; }
  [[nodiscard]] std::int32_t local_rank() const override { return local_rank_; }

  UniqueId share(const std::function<UniqueId()>& make) override {
    if (rank_ != 0) return file_.wait();
    const UniqueId id = make();
    file_.write(id);
    return id;
  }
  void joined() override { file_.remove(); }
  [[nodiscard]] std::string lost() override { return ""; }

 private:
  EnvironmentRank(const EnvironmentOptions& options, const RankEnvironment& environment,
                  const Starter& starter)
      : rank_(environment.number(starter.rank, 0)),
        ranks_(environment.number(starter.ranks, 1)),
        local_rank_(environment.number(starter.local_rank, 0)),
        file_(options.id_file, ranks_, environment.run(starter), options.deadline) {
    for (const auto& [name, number] :
         {std::pair(starter.rank, rank_), std::pair(starter.local_rank, local_rank_)}) {
      if (number < ranks_) continue;
      throw RankError(std::string(name) + " must be less than " + starter.ranks + " (" +
                      std::to_string(ranks_) + "), not " + std::to_string(number));
    }
    if (options.id_file.empty()) {
      throw RankError(
          "no id file is given: give one in a folder that all ranks can see, a different one for every run");
    }
  }

  std::int32_t rank_;
  std::int32_t ranks_;
  std::int32_t local_rank_;
  IdFile file_;
};

}  // namespace

std::unique_ptr<RankProcess> environment_rank(const EnvironmentOptions& options) {
  return std::make_unique<EnvironmentRank>(options, RankEnvironment(options.variable));
}

}  // namespace goodput::gpu
