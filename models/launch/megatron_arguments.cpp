#include "models/launch/megatron_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "models/launch/megatron_known.h"
#include "models/launch/shell_lexer.h"
#include "models/launch/shell_script.h"
#include "models/launch/structured_text.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

constexpr std::array<std::string_view, 8> kTelling = {
    "--num-layers",       "--tensor-model-parallel-size", "--num-attention-heads",          "--hidden-size",
    "--micro-batch-size", "--global-batch-size",          "--pipeline-model-parallel-size", "--seq-length"};
constexpr std::size_t kMostArguments = 2000;

std::string key_of(std::string_view argument) {
  std::string key(argument.substr(2));
  std::ranges::replace(key, '-', '_');
  return key;
}

// Of a command, up to a pipe or a redirection; a word that is a whole command line is cut up.
ShellCommand all_words(const ShellCommand& command) {
  constexpr std::string_view kEnds[] = {"|", "|&", ">", ">>", "&>", ">&", "2>", "2>&1", "<"};
  ShellCommand words;
  for (const ShellText& word : command) {
    const bool is_command_line =
        word.text.find(" --") != std::string::npos || word.text.find("\n--") != std::string::npos;
    if (is_command_line) {
      for (ShellText& part : shell_words(word)) words.push_back(std::move(part));
    } else {
      if (std::ranges::find(kEnds, word.text) != std::end(kEnds)) break;
      words.push_back(word);
    }
  }
  return words;
}

bool has_telling_argument(const ShellCommand& words) {
  return std::ranges::any_of(words, [](const ShellText& word) {
    const std::string_view name = std::string_view(word.text).substr(0, word.text.find('='));
    return std::ranges::find(kTelling, name) != kTelling.end();
  });
}

std::vector<std::string> texts_of(const ShellCommand& words) {
  std::vector<std::string> texts;
  for (const ShellText& word : words) texts.push_back(word.text);
  return texts;
}

// The command that starts the training. An argument file is one command over all its lines.
Result<ShellCommand> training_command(const ShellScript& script, const std::string& file) {
  std::optional<ShellCommand> found;
  ShellCommand of_argument_file;
  for (const ShellCommand& command : script.commands) {
    ShellCommand words = all_words(command);
    if (words.empty()) continue;
    if (words[0].text.starts_with("--")) {
      of_argument_file.insert(of_argument_file.end(), words.begin(), words.end());
      continue;
    }
    if (!has_telling_argument(words) || words[0].text == "echo" || words[0].text == "printf") continue;
    if (found && texts_of(*found) != texts_of(words)) {
      return Error{fmt::format("starts training twice, here and in line {}; keep one of the commands",
                               found->front().line()),
                   {.file = file, .position = Position::line(words.front().line())}};
    }
    found = std::move(words);
  }
  if (found) return *std::move(found);
  if (has_telling_argument(of_argument_file)) return of_argument_file;
  // A variable that another script runs with.
  for (const ShellText& value : script.variables) {
    if (ShellCommand words = all_words({value}); has_telling_argument(words)) return words;
  }
  return Error{"no command passes arguments of Megatron-LM, such as the number of layers", {.file = file}};
}

// What a launcher calls its number of nodes, or of processes: on each node, or in total.
struct LauncherOption {
  std::string_view name;
  enum class Counts { kNodes, kPerNode, kTotal } counts;
};
using Counts = LauncherOption::Counts;
constexpr LauncherOption kLauncherOptions[] = {
    {"--nnodes", Counts::kNodes},
    {"--nproc_per_node", Counts::kPerNode},
    {"--nproc-per-node", Counts::kPerNode},
    {"--num_nodes", Counts::kNodes},
    {"--num_gpus", Counts::kPerNode},
    {"--nodes", Counts::kNodes},
    {"-N", Counts::kNodes},
    {"--ntasks-per-node", Counts::kPerNode},
    {"--gpus-per-node", Counts::kPerNode},
    {"--ntasks", Counts::kTotal},
    {"-np", Counts::kTotal},
    {"-n", Counts::kTotal},
    {"--num_processes", Counts::kTotal},
};

class Launcher {
 public:
  explicit Launcher(std::string file) : file_(std::move(file)) {}

  void see(std::string_view name, const std::string& value, std::uint32_t line) {
    const auto option = std::ranges::find(kLauncherOptions, name, &LauncherOption::name);
    if (option == std::end(kLauncherOptions)) return;
    Setting setting{.key = std::string(name),
                    .shown = fmt::format("{} {}", name, value),
                    .texts = {value},
                    .is_list = false,
                    .where = {.file = file_, .position = Position::line(line)}};
    by_[static_cast<std::size_t>(option->counts)] = std::move(setting);
  }
  // Of torchrun, which has one node and one process unless it is told otherwise.
  void see_torchrun() { is_torchrun_ = true; }
  // What #SBATCH lines ask for, where the command says nothing.
  void see_batch(const std::map<std::string, std::string>& options) {
    for (const auto& [name, value] : options) {
      const std::string dashed = (name.size() == 1 ? "-" : "--") + name;
      std::string count = value;
      std::string option = dashed;
      if (name == "gres" || name == "gpus") {
        count = value.substr(0, value.find(','));
        count = count.substr(count.rfind(':') + 1);
        option = name == "gres" ? "--gpus-per-node" : "--ntasks";
        if (name == "gres" && !value.starts_with("gpu")) continue;
      }
      if (option == "--gpus-per-node") count = count.substr(count.rfind(':') + 1);
      const auto known = std::ranges::find(kLauncherOptions, option, &LauncherOption::name);
      if (known == std::end(kLauncherOptions) || by_[static_cast<std::size_t>(known->counts)]) continue;
      if (option == "--ntasks-per-node" && options.contains("gres")) continue;  // one launcher per node
      if (option == "--ntasks-per-node" && options.contains("gpus-per-node")) continue;
      see(option, count, 1);
    }
  }

  [[nodiscard]] std::optional<Setting> gpus() const {
    const auto& nodes = by_[static_cast<std::size_t>(Counts::kNodes)];
    const auto& per_node = by_[static_cast<std::size_t>(Counts::kPerNode)];
    const auto& total = by_[static_cast<std::size_t>(Counts::kTotal)];
    if (total && !(nodes && per_node)) return total;
    if (!nodes && !per_node) return std::nullopt;
    if (!is_torchrun_ && (!nodes || !per_node)) return std::nullopt;
    Setting setting = nodes ? *nodes : *per_node;
    setting.shown = nodes && per_node ? fmt::format("{} x {}", nodes->shown, per_node->shown) : setting.shown;
    const auto count = [](const std::optional<Setting>& of) -> std::optional<std::int64_t> {
      return of ? parse_integer(of->texts.front()) : std::optional<std::int64_t>(1);
    };
    const auto first = count(nodes);
    const auto second = count(per_node);
    std::int64_t product = 0;
    if (!first || !second) {
      setting.texts = {first ? per_node->texts.front() : nodes->texts.front()};
    } else if (!__builtin_mul_overflow(*first, *second, &product)) {
      setting.texts = {std::to_string(product)};
    }
    return setting;
  }

 private:
  std::string file_;
  std::array<std::optional<Setting>, 3> by_{};
  bool is_torchrun_ = false;
};

// A variable without value, which is no word. `is_unknown`: goodput cannot tell whether it has one.
bool is_lone_variable(std::string_view text, bool& is_unknown) {
  if (text.size() < 2 || text.front() != kUnsetBegin || text.find(kUnsetEnd) + 1 != text.size()) return false;
  is_unknown = text[1] == kUnknown;
  return true;
}

// `--key value ...`, `--key=value` and `--flag`, from `begin` on.
Status add_arguments(const ShellCommand& words, std::size_t begin, Settings& settings) {
  for (std::size_t i = begin; i < words.size();) {
    const ShellText& word = words[i++];
    if (!word.text.starts_with("--") || word.text.size() == 2) continue;
    const std::size_t equals = word.text.find('=');
    const std::string name = word.text.substr(0, equals);
    Setting setting{.key = key_of(name), .shown = name, .texts = {}, .is_list = false, .where = {}};
    setting.where = {.file = settings.file(), .position = Position::line(word.line())};
    if (equals != std::string::npos) setting.texts.push_back(word.text.substr(equals + 1));
    const bool is_flag = is_flag_argument(setting.key);
    while (equals == std::string::npos && i < words.size() && !words[i].text.starts_with("--")) {
      const std::string& text = words[i++].text;
      const bool is_complete = is_flag || (!setting.texts.empty() && is_value_argument(setting.key));
      bool is_unknown = false;
      if (is_complete && (text.empty() || is_lone_variable(text, is_unknown))) {
        if (!is_unknown) continue;
        Setting by = setting;
        by.texts = {text};
        by.is_list = false;
        return text_of(by).error();
      }
      setting.texts.push_back(text);
      setting.shown += ' ' + text;
    }
    if (equals != std::string::npos) setting.shown = word.text;
    setting.is_list = setting.texts.size() > 1;
    settings.add(std::move(setting));
    if (settings.all().size() > kMostArguments)
      return Error{fmt::format("has more than {} arguments", kMostArguments), {.file = settings.file()}};
  }
  return Ok{};
}

// The launcher's own arguments come before the program (*.py), or before the first that is not its.
std::size_t read_launcher(const ShellCommand& words, Launcher& launcher) {
  std::size_t program = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (std::ranges::find(kTelling, words[i].text) != kTelling.end()) break;
    if (words[i].text.ends_with(".py") || words[i].text == "-m") program = i + 1;
    if (words[i].text.find("torchrun") != std::string::npos ||
        words[i].text.find("torch.distributed") != std::string::npos)
      launcher.see_torchrun();
    if (words[i].text.ends_with("launch.py") || (i > 0 && words[i - 1].text == "-m")) program = 0;
  }
  const std::size_t end = program > 0 ? program : words.size();
  for (std::size_t i = 0; i < end; ++i) {
    const std::size_t equals = words[i].text.find('=');
    const std::string name = words[i].text.substr(0, equals);
    if (equals != std::string::npos)
      launcher.see(name, words[i].text.substr(equals + 1), words[i].line());
    else if (i + 1 < words.size())
      launcher.see(name, words[i + 1].text, words[i].line());
  }
  return program;
}

}  // namespace

bool has_megatron_arguments(std::string_view text) {
  return std::ranges::any_of(
      kTelling, [&](std::string_view name) { return text.find(name) != std::string_view::npos; });
}

Result<MegatronArguments> read_megatron_arguments(const std::string& text, const std::string& file,
                                                  const std::map<std::string, std::string>& environment) {
  GOODPUT_TRY(const ShellScript script, read_shell_script(text, file, environment));
  GOODPUT_TRY(const ShellCommand words, training_command(script, file));
  Launcher launcher(file);
  const std::size_t begin = read_launcher(words, launcher);
  launcher.see_batch(script.batch_options);
  MegatronArguments arguments{Settings(file), launcher.gpus()};
  GOODPUT_TRY_STATUS(add_arguments(words, begin, arguments.settings));
  for (const std::uint32_t line : script.left_out)
    arguments.warnings.push_back({"adds arguments under a condition that goodput cannot evaluate: left out",
                                  {.file = file, .position = Position::line(line)}});
  for (const ShellText& sourced : script.sourced)
    arguments.warnings.push_back(
        {fmt::format("reads {}, which goodput does not: what it sets is not known", in_quotes(sourced.text)),
         {.file = file, .position = Position::line(sourced.line())}});
  return arguments;
}

void explain_unused(const Settings& settings, LaunchDraft& draft) {
  for (const Setting* unused : settings.unused()) {
    const bool is_off =
        unused->texts.size() == 1 && !unused->is_list && flag_of(*unused) && !*flag_of(*unused);
    if (is_off || is_null(*unused)) {
      draft.ignore(*unused);
      continue;
    }
    switch (effect_of_argument(unused->key)) {
      case ArgumentEffect::kChanges:
        draft.warn(*unused, "is not modeled: the step time or the memory will differ");
        break;
      case ArgumentEffect::kNotKnown:
        draft.warn(
            *unused,
            fmt::format("is not a setting that goodput knows{}; check that it does not change the model, "
                        "the layout, precision or memory",
                        similar_argument(unused->key)));
        break;
      case ArgumentEffect::kNone:
        draft.ignore(*unused);
    }
  }
}

}  // namespace goodput::launch
