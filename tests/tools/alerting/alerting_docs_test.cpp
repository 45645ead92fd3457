// What docs/formats/alert-rules.md and incidents.md say is what the program does.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "sim/base/json.h"
#include "tests/support/config_table.h"
#include "tests/support/incident_case.h"
#include "tools/alerting/alert_message.h"
#include "tools/alerting/alerting_config.h"

namespace goodput {
namespace {

std::string alerting_page(const std::string& name) {
  std::ifstream file(GOODPUT_CONFIGS "/../docs/formats/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `table` must stand in the page word for word: after a change, paste it in.
template <typename T>
void check_alerting_table(T value) {
  const std::string table = config::describe(config_fields(value));
  CHECK_MESSAGE(alerting_page("alert-rules.md").find(table) != std::string::npos,
                "docs/formats/alert-rules.md wants the table\n", table);
}

TEST_CASE("docs: the keys of alert rules and sinks are those of the reader") {
  check_alerting_table(AlertingConfig{});
  check_alerting_table(AlertRule{"", SlowdownRule{}});
  check_alerting_table(AlertRule{"", CauseRule{}});
  check_alerting_table(AlertRule{"", WorkerRule{}});
  check_alerting_table(AlertRule{"", SilenceRule{}});
  check_alerting_table(AlertRule{"", IncompleteRule{}});
  check_alerting_table(AlertRule{"", WorseningRule{}});
  check_alerting_table(SinkConfig{.target = WebhookSink{}});
  check_alerting_table(SinkConfig{.target = StderrSink{}});
  check_alerting_table(SinkConfig{.target = ExecSink{}});
}

void check_all_told(const std::string& page, const Json& value) {
  if (value.is_array() && !value.empty()) check_all_told(page, value.front());
  if (!value.is_object()) return;
  for (const auto& item : value.items()) {
    CHECK_MESSAGE(page.find("`" + item.key + "`") != std::string::npos, item.key);
    check_all_told(page, item.value);
  }
}

TEST_CASE("docs: every key of a message of ours and every variable of its environment is explained") {
  const std::string page = alerting_page("incidents.md");
  const AlertMessage message{full_incident()};
  check_all_told(page, Json::parse(payload_of(message, WebhookShape::kJson, "")));
  for (const std::string& variable : environment_of(message)) {
    const std::string name = variable.substr(0, variable.find('='));
    CHECK_MESSAGE(page.find("`" + name + "`") != std::string::npos, name);
  }
}

}  // namespace
}  // namespace goodput
