"""The guest as User Mode Linux: the kernel, and each program that runs under it, are processes of this
machine. It is built once, from Debian's source."""
import contextlib
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from image import EVENTS, PACKAGES, Missing, locked, newest_package, program, unpack_source

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = HERE / "uml.config"
BUILD = "run tests/guest/guest.py --build-uml"
TOOLS = ["gcc", "ccache", "make", "flex", "bison", "bc", "strip"]
# Changes to the kernel's tree: (file, old text, new text).
CHANGES = [
    # Bytes of the processor's state, which is larger with AMX; the first program would crash.
    ("arch/x86/um/user-offsets.c", "HOST_FP_SIZE, 2696", "HOST_FP_SIZE, 12288"),
    # Without EXITKILL the programs of a killed kernel would go on as processes of this machine.
    ("arch/um/os-Linux/skas/process.c", "PTRACE_O_TRACESYSGOOD)",
     "(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))"),
    ("drivers/infiniband/Makefile", "+= core/", "+= core/ event_module/"),
]
# Sanitizers that need more address space than a program has under User Mode Linux, by their symbols.
SANITIZERS = {b"__asan_init": "address", b"__tsan_init": "thread"}


def kernel_source():
    found = newest_package("linux-source")
    if found is None:
        raise Missing(f"no kernel source in {PACKAGES}: run tools/bootstrap uml, then {BUILD}")
    return found


def kernel_path():
    """The path of the built kernel, which depends on all of its sources."""
    made_of = hashlib.sha256(f"{kernel_source().name} {CHANGES}".encode())
    for file in [CONFIG, *sorted(EVENTS.iterdir())]:
        made_of.update(file.read_bytes())
    return PACKAGES / f"linux-uml-{made_of.hexdigest()[:16]}"


# ---- building

def change(tree):
    for name, old, new in CHANGES:
        file = tree / name
        text = file.read_text()
        if old not in text:
            raise OSError(f"{name} of this kernel has changed: it has no {old!r}")
        file.write_text(text.replace(old, new))
    shutil.copytree(EVENTS, tree / "drivers/infiniband/event_module")


def configure(make, tree, log):
    subprocess.run([*make, f"KCONFIG_ALLCONFIG={CONFIG}", "allnoconfig"], stdout=log,
                   stderr=log, check=True)
    taken = (tree / ".config").read_text().splitlines()
    for line in CONFIG.read_text().splitlines():
        if line.startswith("CONFIG_") and line not in taken:
            raise OSError(f"this kernel does not accept {line}")


def make_kernel(source, folder, log):
    """Builds the kernel in `folder` and returns its path."""
    unpack_source(source, folder)
    tree = folder / source.name.partition("_")[0]
    make = ["setpriv", "--pdeathsig", "TERM", "make", "-s", "-C", str(tree), "ARCH=um",
            "CC=ccache gcc", f"-j{os.cpu_count()}"]
    change(tree)
    configure(make, tree, log)
    subprocess.run([*make, "linux"], stdout=log, stderr=log, check=True)
    subprocess.run(["strip", "-g", tree / "linux"], check=True)
    return tree / "linux"


def build():
    """Builds the kernel if it is missing, one process at a time; removes leftovers of a killed build."""
    for tool in TOOLS:
        program(tool, "tools/bootstrap uml")
    os.nice(10)
    with locked(PACKAGES / "lock-uml"):
        kernel = kernel_path()
        if kernel.exists():
            return
        for left in PACKAGES.glob("build-uml-*"):
            shutil.rmtree(left, ignore_errors=True)
        print("guest: building User Mode Linux, which takes some minutes", file=sys.stderr)
        said = PACKAGES / "build-uml.log"
        # When this process is terminated, its children still write for a moment.
        with (tempfile.TemporaryDirectory(dir=PACKAGES, prefix="build-uml-",
                                          ignore_cleanup_errors=True) as folder,
              open(said, "wb") as log):
            try:
                made = make_kernel(kernel_source(), pathlib.Path(folder), log)
            except subprocess.CalledProcessError as problem:
                raise OSError(f"{problem}; its output is in {said}") from problem
            for old in PACKAGES.glob("linux-uml-*"):
                old.unlink()
            os.replace(made, kernel)
        said.unlink()


# ---- running

def sanitizer_of(file):
    content = pathlib.Path(file).read_bytes()
    if not content.startswith(b"\x7fELF"):
        return None
    return next((name for mark, name in SANITIZERS.items() if mark in content), None)


def why_not(given):
    """The reason why User Mode Linux can't do what the options ask for; None if there is none."""
    if given.processors != 1:
        return "--uml has one processor"
    for folder in given.keep:
        if not os.path.isdir(folder):
            return f"--keep: there is no folder {folder}"
    if given.program is not None and "/" in given.program:
        if sanitizer := sanitizer_of(given.program):
            return f"--uml has no room for the {sanitizer} sanitizer of {given.program}"
    return None


def folder_for(memory, scratch):
    """The folder for the file that is the guest's memory: in /dev/shm, if there is room."""
    shared = "/dev/shm"
    try:
        status = os.statvfs(shared)
    except OSError:
        return scratch
    return shared if status.f_bavail * status.f_frsize > memory << 20 else scratch


class Uml:
    def __init__(self):
        self._kernel = None

    def prepare(self, given):
        if given.build_uml:
            build()
        self._kernel = kernel_path()
        if not self._kernel.exists():
            old = any(PACKAGES.glob("linux-uml-*"))
            raise Missing(f"User Mode Linux is {'out of date' if old else 'not built'}: {BUILD}")
        program("busybox")

    @contextlib.contextmanager
    def started(self, orders, scratch, console, given):
        """The process that is the guest, with `orders` in its /run."""
        run = pathlib.Path(scratch) / "run"
        run.mkdir()
        kept = "".join(f"{os.path.realpath(each)}\n" for each in given.keep)
        for name, text in {**orders, "keep": kept}.items():
            (run / name).write_text(text)
        # UML makes its output non-blocking for all who share it, so cat stands between it and stdout.
        with (open(console, "ab") as log,
              subprocess.Popen(["cat"], stdin=subprocess.PIPE) as output):
            line = output.stdin.fileno()
            with subprocess.Popen(
                    self._command(run, line, given), stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, pass_fds=[line],
                    env={**os.environ, "TMPDIR": folder_for(given.memory, scratch)}) as guest:
                output.stdin.close()
                yield guest

    def _command(self, run, line, given):
        # The kernel and a program wait for each other at each system call, which takes half as long
        # when both are on one processor.
        processor = random.choice(sorted(os.sched_getaffinity(0)))
        return [  # setpriv kills the guest when this program ends in any way
            "taskset", "-c", str(processor), "setpriv", "--pdeathsig", "KILL", str(self._kernel),
            f"mem={given.memory}M", "root=none", "rootfstype=hostfs", "rootflags=/", "ro",
            f'init="{HERE}/uml_init"', f'guest_run="{run}"', f"uml_dir={run.parent}", "umid=uml",
            "con=null", "ssl=null", "ssl0=null,fd:1", f"ssl1=null,fd:{line}", "console=ttyS0",
            "loglevel=4", "quiet"]
