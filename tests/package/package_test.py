#!/usr/bin/env python3
"""Makes the Debian package of a release build and looks at it as a user would.

    package_test.py BUILD                 unpacks it into an empty folder and runs it there, from /
    package_test.py BUILD --root ROOT     installs it with apt into the Debian root ROOT (debootstrap), runs it there, and
                                          removes it again; needs root rights and a package mirror

The second is for every change of packaging; the first is what ./run-tests does.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SAMPLE = "share/goodput/traces/samples/slow_worker.csv.gz"
RANK_SAMPLE = "share/goodput/traces/samples/fsdp_slow_rank/rank0.json.gz"  # in a folder: a job is one
UNIT = "lib/systemd/system/goodput-monitor.service"
MOST_EXPOSED = 20  # of 100: what `systemd-analyze security` says of the unit, times ten
PYTHON = "share/goodput/python/"  # what policies of one's own are written with
WANTED = ["bin/goodput", SAMPLE, RANK_SAMPLE, UNIT, PYTHON + "goodput_policy.py",
          "share/goodput/configs/plans/llama3-70b-h100.json", "share/man/man1/goodput.1",
          "share/bash-completion/completions/goodput", "share/zsh/site-functions/_goodput",
          "share/fish/vendor_completions.d/goodput.fish", "share/doc/goodput/LICENSE", "share/doc/goodput/copyright",
          "share/doc/goodput/d3/copyright", "share/doc/goodput/README.md", "share/doc/goodput/docs/formats/README.md"]
COMPLETE = ('source {usr}/share/bash-completion/completions/goodput; COMP_WORDS=(goodput wh); COMP_CWORD=1; '
            '$(complete -p goodput | sed "s/.*-F \\([^ ]*\\).*/\\1/") goodput wh goodput; echo "${{COMPREPLY[@]}}"')


class Failed(Exception):
    pass


def check(is_so, what):
    if not is_so:
        raise Failed(what)


def run(command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    check(done.returncode == 0, f"{command} ends with {done.returncode}:\n{done.stdout}")
    return done.stdout


def make_package(build, folder):
    run(["cpack", "--config", build / "CPackConfig.cmake", "-B", folder], cwd=build)
    packages = list(folder.glob("*.deb"))
    check(len(packages) == 1, f"not one package: {packages}")
    return packages[0]


def check_contents(package):
    names = {line.split()[5].removeprefix("./usr/") for line in run(["dpkg-deb", "-c", package]).splitlines()}
    for name in WANTED:
        check(name in names, f"the package lacks {name}")
    for name in names:
        is_ours = name.startswith(PYTHON)
        check((is_ours or not name.endswith((".py", ".h", ".a"))) and "test" not in pathlib.Path(name).name, f"what is {name} for?")
    control = run(["dpkg-deb", "-f", package])
    for key in ("Depends: libc6", "Maintainer: ", "Description: ", "Version: "):
        check(key in control, f"the package's control file lacks {key}:\n{control}")


class Place:
    """Where goodput is installed: how a command is run there, and the folder that holds bin and share, as seen from there."""

    def __init__(self, usr, enter=()):
        self.usr, self.enter = usr, list(enter)

    def shell(self, command):
        environment = {"PATH": f"{self.usr}/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/", "LC_ALL": "C.UTF-8"}
        return run([*self.enter, "bash", "-c", command], cwd="/", env=environment)


def check_use(place):
    """From /, with nothing of the repository or its environment at hand."""
    usr = place.usr
    check("One slow worker costs this job 28.7 %" in place.shell(f"goodput whatif {usr}/{SAMPLE}"), "whatif of the sample")
    check("Llama 3 70B on 64 x H100" in place.shell("goodput plan-step llama3-70b-h100"), "plan-step by name")
    check("lazarus" in place.shell("goodput simulate capacity-1k --trials 1"), "a scenario that names a sample")
    check("llama3-70b" in place.shell("goodput list models"), "list models")
    shadowed = place.shell("d=$(mktemp -d); mkdir $d/models; "
                           f"sed 's/\"Llama 3 70B\"/\"Mine\"/' {usr}/share/goodput/configs/models/llama3-70b.json > "
                           "$d/models/llama3-70b.json; GOODPUT_CONFIGS=$d goodput plan-step llama3-70b-h100; rm -r $d")
    check("Mine on 64 x H100" in shadowed and "which shadows " + usr in shadowed, f"a config of one's own: {shadowed}")
    check(place.shell(COMPLETE.format(usr=usr)).strip() == "whatif", "completion of `goodput wh` in bash")


def check_parquet(place):
    file = "$(mktemp --suffix=.parquet)"
    place.shell(f"f={file}; goodput trace convert {place.usr}/{SAMPLE} $f && goodput trace info $f; rm $f")


def check_linking(usr):
    """No library from where it was built."""
    paths = run(["readelf", "-d", usr / "bin/goodput"])
    runpath = [line for line in paths.splitlines() if "RUNPATH" in line or "RPATH" in line]
    check(all("[$ORIGIN/../lib/goodput]" in line for line in runpath), f"the program looks for libraries in {runpath}")
    linked = run(["ldd", usr / "bin/goodput"])
    check("not found" not in linked, linked)
    for line in linked.splitlines():
        if "libarrow" in line or "libparquet" in line:
            check(str(usr) in line, f"not its own library: {line}")


def check_unit(usr):
    """That the service is one, and how much it could do to the machine."""
    if not shutil.which("systemd-analyze"):
        return
    unit = (usr / UNIT).read_text()
    command = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    copy = usr.parent / pathlib.Path(UNIT).name
    copy.write_text(unit.replace(command, command.replace("=goodput", f"={usr}/bin/goodput")))
    said = run(["systemd-analyze", "verify", "--man=no", copy])
    check(not said, said)
    run(["systemd-analyze", "security", "--offline=true", f"--threshold={MOST_EXPOSED}", copy])


def unpacked(package, folder, has_parquet):
    run(["dpkg-deb", "-x", package, folder])
    usr = folder / "usr"
    check_linking(usr)
    check_unit(usr)
    place = Place(str(usr))
    check_use(place)
    if has_parquet:
        check_parquet(place)
    if shutil.which("man"):
        check("goodput whatif" in place.shell(f"man -l {usr}/share/man/man1/goodput.1"), "the manual page")


def installed(package, root, has_parquet):
    place = Place("/usr", ["chroot", root])
    # What apt and man keep is theirs.
    files = "find / -xdev -name '*goodput*' -not -path '/proc/*' -not -path '/var/lib/*' -not -path '/var/cache/*'"
    check(not place.shell(files), f"goodput is in {root} already")
    shutil.copy(package, root / "goodput.deb")
    mount = not os.path.ismount(root / "proc")
    if mount:
        run(["mount", "-t", "proc", "proc", root / "proc"])
    try:
        place.shell("apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq ./goodput.deb bash-completion "
                    "man-db >/dev/null 2>&1 || apt-get install -y ./goodput.deb bash-completion man-db; rm goodput.deb")
        check_use(place)
        if has_parquet:
            check_parquet(place)
        check("goodput whatif" in place.shell("man goodput"), "man goodput")
        zsh = place.shell("apt-get install -y -qq zsh >/dev/null 2>&1; "
                          "zsh -fc 'autoload -Uz compinit; compinit -u -D; print $_comps[goodput]'")
        check(zsh.strip().endswith("_goodput"), f"completion is found by zsh: {zsh}")
        loaded = place.shell("source /usr/share/bash-completion/bash_completion; _completion_loader goodput; complete -p goodput")
        check("goodput" in loaded, "completion is loaded by bash-completion")
    finally:
        place.shell("apt-get remove -y -qq goodput && apt-get autoremove -y -qq")
        left = place.shell(files)
        if mount:
            run(["umount", root / "proc"])
    check(not left, f"left behind: {left}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--without", action="append", default=[], metavar="FEATURE")
    arguments = parser.parse_args()
    if not shutil.which("dpkg-shlibdeps"):
        print("skipped: no dpkg-dev")
        return 0
    has_parquet = "parquet" not in arguments.without
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        try:
            package = make_package(arguments.build.resolve(), folder)
            check_contents(package)
            if arguments.root:
                installed(package, arguments.root.resolve(), has_parquet)
            else:
                unpacked(package, folder / "unpacked", has_parquet)
        except Failed as failure:
            print(f"failed: {failure}")
            return 1
    print("the package is as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
