// Incidents on the pages of a monitor: as a card, as rows of a table, and what is said of one in a line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/live/incident.h"
#include "tools/monitor_pages/shown_job.h"

namespace goodput {

// `2 open incidents, 1 muted`; none: an empty text.
[[nodiscard]] std::string open_incidents_text(std::span<const Incident> open, double now_s);

// Muted ones last, then those that cost most per day first; else the order stays.
void put_urgent_first(std::vector<Incident>& open, double now_s);

// The sentence of its verdict.
[[nodiscard]] std::string incident_sentence(const Incident& incident);
// Its state, with who put it there: `open`, `acknowledged by ann 5 min ago`, `closed 2.0 h ago by ann`.
[[nodiscard]] std::string incident_state_html(const PageContext& context, const Incident& incident);
// Whom it is about, with a link if that is one worker.
[[nodiscard]] std::string incident_subject_html(const Incident& incident);
// With a link to its history.
[[nodiscard]] std::string verdict_worker_html(std::string_view job, const Verdict::Worker& worker);
// Below the sentence: job, severity, state, since when; then what it costs and what to check next.
[[nodiscard]] std::string incident_summary_html(const PageContext& context, const Incident& incident);

// The sentence as a heading with a link, then the summary. `heading` is 2 to 6.
[[nodiscard]] std::string incident_card_html(const PageContext& context, const Incident& incident,
                                             int heading);
// Many of them as a table; none: an empty text.
[[nodiscard]] std::string incident_table_html(const PageContext& context, std::string_view caption,
                                              std::span<const Incident> incidents);

// Seconds per step and dollars per day, as far as they are known.
[[nodiscard]] std::string cost_text(std::optional<double> s_per_step, std::optional<double> usd_per_day);

}  // namespace goodput
