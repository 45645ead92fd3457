"""Shells that complete a command line, for completion_test.py: each has complete(line), what it offers there.

A shell stays open for all lines. `folder` is where it runs and its home, `script` what `goodput completion` printed.
"""

import fcntl
import os
import pty
import re
import shlex
import subprocess
import termios
import threading

PATIENCE_S = 60  # a shell that says nothing for so long has failed


def environment(folder, goodput):
    kept = {name: os.environ[name] for name in os.environ if name.startswith(("ASAN", "LSAN", "UBSAN", "ARROW"))}
    path = f"{goodput.parent}:/usr/local/bin:/usr/bin:/bin"
    return kept | {"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8", "TERM": "dumb", "COLUMNS": "200"}


class Replies:
    """Lines that a shell writes to a pipe of its own, an END after every answer."""

    def __init__(self):
        self.reader, self.writer = os.pipe()
        self.lines = os.fdopen(self.reader, encoding="utf-8")

    def answer(self, process):
        """The lines up to END; a shell that says nothing is ended."""
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        answer = []
        while (line := self.lines.readline().rstrip("\n")) != "END":
            if not line and process.poll() is not None:
                raise RuntimeError("the shell has ended")
            answer.append(line)
        timer.cancel()
        return answer


class Piped:
    """A shell that reads lines from its stdin and answers each."""

    def __init__(self, command, folder, goodput):
        self.replies = Replies()
        self.process = subprocess.Popen(command, cwd=folder, env=environment(folder, goodput), text=True,
                                        stdin=subprocess.PIPE, stdout=self.replies.writer, stderr=subprocess.STDOUT)
        os.close(self.replies.writer)

    def complete(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.replies.answer(self.process)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.replies.lines.close()


class Bash(Piped):
    """Calls the completion function as bash does, without a terminal."""

    LOOP = """
source "$1"
[[ $(complete -p goodput) == "complete -F _goodput goodput" ]] || echo "not registered"
while IFS= read -r COMP_LINE; do
  IFS= read -r words
  eval "COMP_WORDS=($words)"
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_POINT=${#COMP_LINE} COMPREPLY=()
  word=${COMP_WORDS[-1]}
  [[ $word != [=:]* ]] || word=
  _goodput goodput "$word" "${COMP_WORDS[-2]}"
  [[ ${#COMPREPLY[@]} == 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
  echo END
done
"""

    def __init__(self, script, folder, goodput):
        super().__init__(["bash", "--norc", "-c", self.LOOP, "bash", str(script)], folder, goodput)

    def complete(self, line):
        words = re.findall(r"[=:]+|[<>]+|[^\s=:<>]+", line)
        if line.endswith(" "):
            words.append("")
        return super().complete(line + "\n" + shlex.join(words))


class Fish(Piped):
    """Descriptions are in `described`, by what was offered last."""

    LOOP = "source $argv[1]; while read -l line; complete -C $line; echo END; end"

    def __init__(self, script, folder, goodput):
        super().__init__(["fish", "--private", "-c", self.LOOP, str(script)], folder, goodput)
        self.described = {}

    def complete(self, line):
        self.described = dict((offer + "\t").split("\t")[:2] for offer in super().complete(line))
        return list(self.described)


class Terminal:
    """A shell on a terminal: a line is typed, then the key that completes it and tells what came of it."""

    KEY = "\x14"  # control-T

    def __init__(self, command, setup, folder, goodput):
        self.replies = Replies()
        self.terminal, inner = pty.openpty()
        self.process = subprocess.Popen(command, cwd=folder, env=environment(folder, goodput), stdin=inner,
                                        stdout=inner, stderr=inner, pass_fds=[self.replies.writer],
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(inner)
        self.shown = ""
        threading.Thread(target=self.read_screen, daemon=True).start()
        self.type(setup.replace("REPLY", str(self.replies.writer)).strip().replace("\n", "; ") + "\n")
        os.close(self.replies.writer)
        self.replies.answer(self.process)

    def read_screen(self):
        """Else the shell would wait until somebody did."""
        try:
            while text := os.read(self.terminal, 65536):
                self.shown += text.decode(errors="replace")
        except OSError:
            pass

    def type(self, text):
        os.write(self.terminal, text.encode())

    def answer(self, line):
        self.type(line + self.KEY)
        return self.replies.answer(self.process)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.replies.lines.close()


class InteractiveBash(Terminal):
    """complete(line): the line as the tab key leaves it."""

    SETUP = """
PS1= ; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'
source {script}
told() {{ printf '%s\\n' "$READLINE_LINE" END >&REPLY; READLINE_LINE=; READLINE_POINT=0; }}
bind -x '"\\C-g": told'
bind '"\\C-t": "\\t\\C-g"'
echo END >&REPLY
"""

    def __init__(self, script, folder, goodput):
        setup = self.SETUP.format(script=shlex.quote(str(script)))
        super().__init__(["bash", "--norc", "-i"], setup, folder, goodput)

    def complete(self, line):
        return self.answer(line)[0]


class Zsh(Terminal):
    """Keeps what is handed to compadd, which is what zsh offers; `line`: as the last completion left it."""

    SETUP = """
PS1= ; unsetopt autolist automenu autoparamslash prompt_cr zle_bracketed_paste 2>/dev/null
source {driver} {script} {how} REPLY
"""
    DRIVER = """
autoload -U compinit
case $2 in
  (sourced) compinit -D -u; source $1 ;;
  (installed) fpath=(${1:h} $fpath); compinit -D -u ;;
esac
typeset -g reply_to=$3
typeset -ga offered=()
compadd() {
  if [[ ${@[1,(i)(-|--)]} != *-[a-zA-Z]#(O|A|D)\\ * ]]; then
    local -a matching shown
    local -A ahead
    builtin compadd -A matching "$@"
    zparseopts -E -A ahead p: P:
    offered+=($IPREFIX$ahead[-P]$ahead[-p]$^matching)
  fi
  builtin compadd "$@"
}
told() {
  offered=()
  zle complete-word
  print -rl -- $offered "$BUFFER" END >&$reply_to
  BUFFER=
}
zle -N told
bindkey '^T' told
print END >&$reply_to
"""

    def __init__(self, script, folder, goodput, how="sourced"):
        driver = folder / "driver.zsh"
        driver.write_text(self.DRIVER)
        self.line = ""
        setup = self.SETUP.format(driver=shlex.quote(str(driver)), script=shlex.quote(str(script)), how=how)
        super().__init__(["zsh", "-f", "-i"], setup, folder, goodput)

    def complete(self, line):
        *offered, self.line = self.answer(line)
        return offered
