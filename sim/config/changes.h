// Values of a config file that are replaced, or added, before its fields are read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"

namespace goodput::config {

// `/failures/p` = `0.15`.
struct Change {
  std::string pointer{};
  std::string value{};   // JSON; what is no JSON is text
  std::string option{};  // that asks for it, where that is not the same for all
  // The config that asks for it: relative paths in `value` start at its folder; empty: at the current one.
  std::string file{};
};
[[nodiscard]] Json json_or_text(std::string_view text);

// The changes of one file, made in turn. A pointer may reach into what the file names: "/plan/parallel/dp",
// where "/plan" is a name, waits until that file is read, and is then seen from there.
class Changes {
 public:
  Changes() = default;
  // `option` asks for them, where they do not say what does, of a config that is called `noun`: for messages,
  // about pointers as they were given.
  Changes(const std::vector<Change>& changes, std::string_view noun, std::string_view option);

  [[nodiscard]] bool empty() const { return steps_.empty() && waiting_.empty(); }
  // Those that lie in the file itself. The first two names of a longer pointer have to be there: of
  // /policies/ds/checkpoint/interval_steps the policy, whose checkpoint is made where it is not there.
  [[nodiscard]] Status apply_to(Json& file);
  // Those that wait for the file that is named at `pointer`: they wait no longer.
  [[nodiscard]] Changes take(std::string_view pointer);
  // What put the value at `pointer` there; none: the file itself has it.
  [[nodiscard]] const Change* behind(std::string_view pointer) const;
  // Fails where one still waits: what it points into names no file.
  [[nodiscard]] Status check_none_waits() const;

 private:
  struct Step {
    Change given{};
    std::string pointer{};  // from the root of this file
    std::string name_at{};  // waits for the file that is named there

    // `below`, as seen from this file, in what was given.
    [[nodiscard]] std::string as_given(std::string_view below) const;
  };

  [[nodiscard]] Status apply(Step step, Json& file);
  [[nodiscard]] Error error(const Step& step, std::string_view what) const;

  std::string noun_{};
  std::string option_{};
  std::vector<Step> steps_{};    // not made yet
  std::vector<Step> waiting_{};  // made in a file that is named
  std::vector<Step> made_{};     // in the file itself, each where it was put
};

}  // namespace goodput::config
