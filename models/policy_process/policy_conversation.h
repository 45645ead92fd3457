// Calls and answers over a channel of lines. While the other side works out an answer it may ask for what
// this program knows; what it is told is not a matter of the conversation.
#pragma once

#include <memory>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "sim/process/line_channel.h"

namespace goodput {

// Whoever answers what a policy asks.
class PolicyHost {
 public:
  virtual ~PolicyHost() = default;

  // `question`: an object with "ask". The answer is an object; an error says what is wrong with the question.
  [[nodiscard]] virtual Result<OrderedJson> answer(const Json& question) = 0;
};

// For one thread at a time.
class PolicyConversation {
 public:
  // In one answer: who asks more often will ask for ever.
  static constexpr int kMostQuestions = 100'000;

  explicit PolicyConversation(std::unique_ptr<LineChannel> channel) : channel_(std::move(channel)) {}

  // Sends `message` and comes back with the answer, of which nothing is known but that it is an object.
  // After an error the conversation is over. Errors quote the last that the other side complained of.
  [[nodiscard]] Result<Json> call(const OrderedJson& message, PolicyHost& host);

  // The error of an answer that makes no sense, with that complaint.
  [[nodiscard]] Error with_complaint(Error error);

 private:
  std::unique_ptr<LineChannel> channel_;
};

}  // namespace goodput
