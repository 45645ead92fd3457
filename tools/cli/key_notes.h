// Keys of config files that have no effect or a new name, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "sim/base/json_fwd.h"
#include "sim/config/config.h"

namespace goodput {

// `/routing/skew has no effect: there is a model`, `/most_trials is now named "max_trials"`, each with its
// file if that is not `file`.
[[nodiscard]] std::vector<std::string> key_note_lines(const config::KeyNotes& keys, const std::string& file);
// The same, each as a line "warning: ..." or, for a new name, "note: ...".
[[nodiscard]] std::string key_notes_text(const config::KeyNotes& keys, const std::string& file);

// [{file, pointer, why}] of the keys that have no effect.
[[nodiscard]] OrderedJson unused_keys_json(const config::KeyNotes& keys);

}  // namespace goodput
