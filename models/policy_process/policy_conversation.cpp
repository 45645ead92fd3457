#include "models/policy_process/policy_conversation.h"

#include <fmt/format.h>

#include <utility>

#include "models/policy_process/policy_answers.h"
#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {

Result<Json> PolicyConversation::call(const OrderedJson& message, PolicyHost& host) {
  // A name from the command line need be no UTF-8.
  std::string line = message.dump();
  for (int questions = 0; questions <= kMostQuestions; ++questions) {
    Result<std::string> said = channel_->exchange(line);
    if (!said) return with_complaint(said.error());
    Result<Json> parsed = parse_policy_line(*said);
    if (!parsed) return with_complaint(parsed.error());
    if (!parsed->contains("ask")) return parsed;
    const Result<OrderedJson> answer = host.answer(*parsed);
    if (!answer)
      return with_complaint({fmt::format("asked {}: {}", in_quotes(*said), answer.error().message())});
    line = answer->dump();
  }
  return with_complaint({fmt::format("asked more than {} questions", kMostQuestions)});
}

Error PolicyConversation::with_complaint(Error error) {
  const std::string complaint = channel_->last_complaint();
  if (!complaint.empty()) error.what += "; its last output on stderr: " + in_quotes(complaint);
  return error;
}

}  // namespace goodput
