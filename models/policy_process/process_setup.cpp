#include "models/policy_process/process_setup.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "models/policy/restart_options.h"
#include "models/policy_process/job_questions.h"
#include "models/policy_process/policy_answers.h"
#include "models/policy_process/policy_conversation.h"
#include "models/policy_process/process_policy.h"
#include "sim/base/json.h"
#include "sim/process/child_process.h"

namespace goodput {
namespace {

using Conversation = ProcessPolicy::Conversation;

// A process that said hello.
struct Greeted {
  Conversation conversation;
  HelloAnswer hello;
};

// Starts processes of a command, for one job.
class PolicyProcesses {
 public:
  PolicyProcesses(PolicyCommand command, const Json& options, RestartJob job)
      : command_(std::move(command)),
        job_(std::move(job)),
        hello_({{"call", "hello"},
                {"protocol", kPolicyProtocol},
                {"policy", command_.name},
                {"options", options},
                {"job", job_facts(*job_.job)}}) {}

  [[nodiscard]] Result<Greeted> start() const {
    const auto error = [this](const Error& of) {
      return Error{fmt::format("{} during hello: {}", policy_named(command_), of.message())};
    };
    auto channel = ChildProcess::start(command_.command, {.answer = command_.timeout});
    if (!channel) return error(channel.error());
    Greeted greeted{std::make_unique<PolicyConversation>(*std::move(channel)), {}};
    JobQuestions questions(job_, {});
    const auto answer = greeted.conversation->call(hello_, questions);
    if (!answer) return error(answer.error());
    auto hello = read_hello(*answer);
    if (!hello) {
      return error(greeted.conversation->with_complaint(Error{"wrong answer: " + hello.error().message()}));
    }
    greeted.hello = *std::move(hello);
    return greeted;
  }

  [[nodiscard]] const PolicyCommand& command() const { return command_; }
  [[nodiscard]] const RestartJob& job() const { return job_; }

 private:
  PolicyCommand command_;
  RestartJob job_;
  OrderedJson hello_;
};

class PreparedProcess final : public PreparedPolicy {
 public:
  PreparedProcess(std::unique_ptr<const PolicyProcesses> processes, Greeted first,
                  std::vector<std::string> warnings)
      : PreparedPolicy(Tier::kAssumed, std::move(warnings), processes->job().fits),
        processes_(std::move(processes)),
        hello_(std::move(first.hello)) {
    idle_.push_back(std::move(first.conversation));
  }

  [[nodiscard]] std::unique_ptr<RecoveryPolicy> start_run(const RunKey& run) const override {
    return std::make_unique<ProcessPolicy>(
        ProcessPolicy::Run{&processes_->command(), &hello_.metrics, run}, conversation(),
        std::make_unique<JobQuestions>(processes_->job(), run), [this](Conversation ended) {
          const std::scoped_lock lock(mutex_);
          idle_.push_back(std::move(ended));
        });
  }

 private:
  [[nodiscard]] Result<Conversation> conversation() const {
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        Conversation last = std::move(idle_.back());
        idle_.pop_back();
        return last;
      }
    }
    GOODPUT_TRY(Greeted another, processes_->start());
    if (another.hello == hello_) return std::move(another.conversation);
    return Error{fmt::format("{} during hello: the answer changed between two starts",
                             policy_named(processes_->command()))};
  }

  std::unique_ptr<const PolicyProcesses> processes_;
  HelloAnswer hello_;
  mutable std::mutex mutex_;
  mutable std::vector<Conversation> idle_;  // in which a run came to its end
};

class ProcessSetup final : public PolicySetup {
 public:
  ProcessSetup(PolicyCommand command, const std::string& options)
      : command_(std::move(command)), options_(Json::parse(options)) {}

  // What the program makes of them is its own affair.
  [[nodiscard]] config::Fields fields(const PolicyContext& /*context*/) override {
    config::Fields all;
    for (auto option = options_.begin(); option != options_.end(); ++option) {
      Json* const value = &*option;
      all.push_back({option.key(),
                     config::Need::kOptional,
                     {"anything",
                      [value](const Json& from, const config::Place&) -> Status {
                        *value = from;
                        return Ok{};
                      },
                      [value](OrderedJson& into) { into = *value; },
                      {}},
                     "option of the policy"});
    }
    return all;
  }

  [[nodiscard]] Result<std::unique_ptr<PreparedPolicy>> prepare(const JobModel& job) const override {
    GOODPUT_TRY(RestartJob restarts, restart_job(job, RestartOptions{}));
    std::vector<std::string> warnings = restarts.warnings;
    warnings.insert(warnings.end(), restarts.idle_nodes.begin(), restarts.idle_nodes.end());
    auto processes = std::make_unique<const PolicyProcesses>(command_, options_, std::move(restarts));
    GOODPUT_TRY(Greeted first, processes->start());
    if (!first.hello.refuse.empty()) {
      return Error{fmt::format("{} during hello: the policy refused the job: {}", policy_named(command_),
                               first.hello.refuse)};
    }
    warnings.insert(warnings.end(), first.hello.warnings.begin(), first.hello.warnings.end());
    return std::unique_ptr<PreparedPolicy>(
        std::make_unique<PreparedProcess>(std::move(processes), std::move(first), std::move(warnings)));
  }

 private:
  PolicyCommand command_;
  Json options_;
};

}  // namespace

std::unique_ptr<PolicySetup> process_setup(const PolicyCommand& command, const std::string& options) {
  return std::make_unique<ProcessSetup>(command, options);
}

}  // namespace goodput
