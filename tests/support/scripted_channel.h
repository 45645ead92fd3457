// The other side of a conversation, as a function of the lines that it is sent.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/process/line_channel.h"

namespace goodput::testing {

class ScriptedChannel final : public LineChannel {
 public:
  using Answer = std::function<Result<std::string>(std::string_view)>;

  // `sent`: gathers the lines; none: nobody wants to know.
  explicit ScriptedChannel(Answer answer, std::vector<std::string>* sent = nullptr)
      : answer_(std::move(answer)), sent_(sent) {}

  [[nodiscard]] Result<std::string> exchange(std::string_view line) override {
    if (sent_ != nullptr) sent_->emplace_back(line);
    return answer_(line);
  }
  [[nodiscard]] std::string last_complaint() override { return complaint; }

  std::string complaint{};

 private:
  Answer answer_;
  std::vector<std::string>* sent_;
};

}  // namespace goodput::testing
