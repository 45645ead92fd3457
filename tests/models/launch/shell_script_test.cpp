// What a launch script's commands come to, and where goodput must not guess. Expected words are bash's.
#include "models/launch/shell_script.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "models/launch/list_expression.h"
#include "models/launch/settings.h"
#include "models/launch/shell_arithmetic.h"
#include "sim/base/random.h"

namespace goodput {
namespace {

using launch::ShellCommand;
using launch::ShellScript;

// The words of the last command, with blanks between them; <NAME> is not set, <?NAME> not known.
std::string last_command(const std::string& text,
                         const std::map<std::string, std::string>& environment = {}) {
  const auto script = launch::read_shell_script(text, "x.sh", environment);
  if (!script) return script.error().message();
  if (script->commands.empty()) return "no command";
  std::string result;
  for (const auto& word : script->commands.back()) result += (result.empty() ? "" : " ") + word.text;
  std::string shown;
  for (const char c : result) {
    shown += c == launch::kUnsetBegin ? '<' : c == launch::kUnsetEnd ? '>' : c == launch::kUnknown ? '?' : c;
  }
  return shown;
}

TEST_CASE("shell: variables, arrays and defaults become words as in bash") {
  CHECK(last_command("A=3\nrun --a $A ${B:-4} \"${C:-\"$A/b\"}\"\n") == "run --a 3 4 3/b");
  CHECK(last_command("A=(--x 1 # one\n  \"--y 2\")\nA+=(--z)\nrun ${A[@]}\n") == "run --x 1 --y 2 --z");
  CHECK(last_command("A=\" --x 1 \\\n  --y 2 \"\nrun $A\n") == "run --x 1 --y 2");
  CHECK(last_command("N=4\nrun $((N*8/2+1)) $(( N > 3 && N < 9 ? 16 : 1 ))\n") == "run 17 16");
  CHECK(last_command("T=350_000\nrun ${T//_}\n") == "run 350000");
  CHECK(last_command("run 'a b' \"c d\"\n") == "run a b c d");
  CHECK(last_command("run $X ${Y}\n") == "run <X> <Y>");
  CHECK(last_command("run $X\n", {{"X", "7"}}) == "run 7");
}

TEST_CASE("shell: an empty quoted list is no word, an empty quoted text is one") {
  const auto script = launch::read_shell_script("E=()\nrun \"$@\" \"${E[@]}\" \"\" end\n", "x.sh", {});
  REQUIRE(script);
  REQUIRE(script->commands.size() == 1);
  CHECK(script->commands[0].size() == 3);  // run, "", end
}

TEST_CASE("shell: conditions with known values choose a branch") {
  CHECK(
      last_command("S=70\nif [ $S = 8 ]; then A=1; elif [[ $S == 70 ]]; then A=2; else A=3; fi\nrun $A\n") ==
      "run 2");
  CHECK(last_command("A=1; B=2; T=8\nif [[ $A == 1 && $B == 1 ]]; then T=4; fi\nrun $T\n") == "run 8");
  CHECK(last_command("T=8\nif [ -z \"$NO\" ] && [ 3 -gt 2 ]; then T=4; fi\nrun $T\n") == "run 4");
  CHECK(last_command("T=8\nif (( 2 < 3 && 1 > 2 )); then T=4; fi\nrun $T\n") == "run 8");
  CHECK(last_command("S=b\ncase $S in\n a|c) T=1 ;;\n b) T=2 ;;\n *) T=3 ;;\nesac\nrun $T\n") == "run 2");
  CHECK(last_command("D=false\nT=8\n$D && T=4\nif false; then T=2; fi\nrun $T\n") == "run 8");
}

TEST_CASE("shell: what goodput does not run leaves values that it does not know") {
  CHECK(last_command("T=1\nif nvidia-smi | grep -q A100; then T=4; fi\nrun $T\n") == "run <?T>");
  CHECK(last_command("T=1\nif [ -f x ]; then T=16; fi\nrun $T\n") == "run <?T>");
  CHECK(last_command("T=$(nproc)\nrun $T $(nproc)\n") == "run <?T> <?>");
  CHECK(last_command("T=1\nfor T in 2 4; do echo; done\nrun $T\n") == "run <?T>");
  CHECK(last_command("T=1\n((T*=2))\nrun $T\n") == "run <?T>");
  CHECK(last_command("T=1\nread -r T P <<< \"4 2\"\nrun $T\n") == "run <?T>");
  CHECK(last_command("T=1\nprintf -v T %d 4\nrun $T\n") == "run <?T>");
  CHECK(last_command("T=1\nf() { T=4; }\nf\nrun $T\n") == "run <?T>");
  CHECK(last_command("T=4\nunset T\nrun ${T:-2}\n") == "run 2");
  CHECK(last_command("declare -x T=4\nrun $T\n") == "run 4");
  CHECK(last_command("T=$(nproc)\nrun $T\n", {{"T", "9"}}) == "run 9");
}

TEST_CASE("shell: arguments that a condition may add are left out, with their line") {
  const auto script =
      launch::read_shell_script("A='--x 1'\nif [ -f x ]; then\n  A=\"$A --y 2\"\nfi\nrun $A\n", "x.sh", {});
  REQUIRE(script);
  CHECK(script->left_out == std::vector<std::uint32_t>{3});
  CHECK(script->commands.back().size() == 3);
}

TEST_CASE("shell: command lines in quotation marks, eval and here documents are read") {
  CHECK(last_command("C='run --a 1'\nsrun -N 2 bash -c \"$C --b 2\"\n") == "srun -N 2 run --a 1 --b 2");
  CHECK(last_command("export C='run --a 1'\nsrun bash -c '$C'\n") == "srun run --a 1");
  CHECK(last_command("C=\"run --f '([0]*3)'\"\neval $C\n") == "run --f ([0]*3)");
  CHECK(last_command("N=3\nsbatch <<EOF\nsrun run --n ${N}\nEOF\n").find("srun run --n 3") ==
        std::string::npos);
  CHECK(
      launch::read_shell_script("N=3\nsbatch <<EOF\nsrun run --n ${N}\nEOF\n", "x.sh", {})->commands.size() ==
      2);
  CHECK(last_command("cat > f <<EOF\nrun --no\nEOF\nrun --yes\n") == "run --yes");
}

TEST_CASE("shell: #SBATCH lines give options and variables of Slurm") {
  const auto script = launch::read_shell_script(
      "#SBATCH --nodes=8\n#SBATCH -n 64\nrun $SLURM_NNODES $SLURM_NTASKS\n", "x.sh", {});
  REQUIRE(script);
  CHECK(script->batch_options.at("nodes") == "8");
  CHECK(script->commands[0][1].text == "8");
  CHECK(script->commands[0][2].text == "64");
}

TEST_CASE("shell: every word knows the line that it comes from") {
  const auto script = launch::read_shell_script("A=(\n --x 1\n --y 2\n)\n\nrun ${A[@]}\n", "x.sh", {});
  REQUIRE(script);
  std::vector<std::uint32_t> lines;
  for (const auto& word : script->commands[0]) lines.push_back(word.line());
  CHECK(lines == std::vector<std::uint32_t>{6, 2, 2, 3, 3});
}

TEST_CASE("shell: scripts that never end in bash either are one error") {
  CHECK(last_command("A='x\n") == "x.sh:1: ' is not closed");
  CHECK(last_command("\nrun ${A\n") == "x.sh:2: { is not closed");
  std::string doubling = "A=aaaaaaaaaaaaaaaa\n";
  for (int i = 0; i < 40; ++i) doubling += "A=$A$A\n";
  CHECK(last_command(doubling) == "x.sh: its variables grow beyond 4 MiB; give the arguments directly");
}

TEST_CASE("shell: arithmetic has bash's precedence and number bases") {
  const auto value = [](const std::string& text) {
    return launch::shell_arithmetic(text, [](const std::string&) { return std::nullopt; });
  };
  CHECK(value("1 + 2 * 3") == 7);
  CHECK(value("-(7 / 2) % 3") == 0);
  CHECK(value("010 + 0x10") == 24);
  CHECK(value("1 < 2 == 1 && 0 || 1") == 1);
  CHECK(value("1 / 0") == std::nullopt);
  CHECK(value("2 ** 2") == std::nullopt);
  CHECK(value("9223372036854775807 + 1") == std::nullopt);
}

TEST_CASE("shell: random scripts of random pieces end, with commands or one error") {
  const std::vector<std::string> pieces = {
      "A=",   "$A",   "${A", "}",   "\"",   "'",     "(",     ")",    "[[ ", " ]]",  "if ",     "; then ",
      "fi\n", "\\\n", "`",   "$((", "))",   " --x ", "case ", " in ", ";;",  "esac", "<<E\n",   "E\n",
      "|",    "&&",   "{",   "f()", "for ", "do ",   "done ", "#",    "\n",  "1",    "bash -c "};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "shell");
    std::string text;
    for (std::size_t i = random.below(30); i > 0; --i) text += pieces[random.below(pieces.size())];
    const auto script = launch::read_shell_script(text, "x.sh", {});
    if (!script) CHECK(script.error().message().find('\n') == std::string::npos);
  }
}

TEST_CASE("launch lists: Python's lists and Megatron-LM's layouts are written out") {
  CHECK(launch::list_of_integers("([0]*3+[1]*2)") == std::vector<std::int64_t>{0, 0, 0, 1, 1});
  CHECK(launch::list_of_integers("[1, 0]") == std::vector<std::int64_t>{1, 0});
  CHECK(launch::list_of_integers("[1]*100000") == std::nullopt);
  CHECK(launch::list_of_integers("x") == std::nullopt);
  CHECK(launch::layers_of_layout("Et*3|(tt|)*2,mL") == std::vector<std::int32_t>{3, 2, 2, 0});
  CHECK(launch::layers_of_layout("Etx|tL") == std::nullopt);
  CHECK(launch::layers_of_layout("((((t|)*99)*99)*99)*99") == std::nullopt);
}

}  // namespace
}  // namespace goodput
