"""The guest as User Mode Linux: a kernel that is a program of this machine, as are those that run
under it. Built once, of Debian's source."""
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
# In the kernel's tree: the file, what stands there, what shall.
CHANGES = [
    # Bytes of a processor's state: with AMX it is larger, and the first program would be the last.
    ("arch/x86/um/user-offsets.c", "HOST_FP_SIZE, 2696", "HOST_FP_SIZE, 12288"),
    # The programs of a kernel that was killed would go on as programs of this machine.
    ("arch/um/os-Linux/skas/process.c", "PTRACE_O_TRACESYSGOOD)",
     "(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))"),
    ("drivers/infiniband/Makefile", "+= core/", "+= core/ event_module/"),
]
# They need more room than a program has there.
SANITIZERS = {b"__asan_init": "address", b"__tsan_init": "thread"}


def kernel_source():
    found = newest_package("linux-source")
    if found is None:
        raise Missing(f"no kernel source in {PACKAGES}: run tools/bootstrap uml, then {BUILD}")
    return found


def kernel_path():
    """Where the kernel is once it is built; another path whenever something went into it that is new."""
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
            raise OSError(f"{name} of this kernel is not as it was: it has no {old!r}")
        file.write_text(text.replace(old, new))
    shutil.copytree(EVENTS, tree / "drivers/infiniband/event_module")


def configure(make, tree, log):
    subprocess.run([*make, f"KCONFIG_ALLCONFIG={CONFIG}", "allnoconfig"], stdout=log,
                   stderr=log, check=True)
    taken = (tree / ".config").read_text().splitlines()
    for line in CONFIG.read_text().splitlines():
        if line.startswith("CONFIG_") and line not in taken:
            raise OSError(f"this kernel does not take {line}")


def make_kernel(source, folder, log):
    """Its path."""
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
    """Unless it is there already. One process at a time; what a killed one left is removed."""
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
        # If this is told to end, what it runs still writes for a moment.
        with (tempfile.TemporaryDirectory(dir=PACKAGES, prefix="build-uml-",
                                          ignore_cleanup_errors=True) as folder,
              open(said, "wb") as log):
            try:
                made = make_kernel(kernel_source(), pathlib.Path(folder), log)
            except subprocess.CalledProcessError as problem:
                raise OSError(f"{problem}; what it said is in {said}") from problem
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
    """What is asked for and can't be had of User Mode Linux; None if it can be tried."""
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
    """Where the guest's memory is a file: in memory, if there is room."""
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
        # Another program has standard output: what UML writes to no longer blocks, for nobody.
        with (open(console, "ab") as told,
              subprocess.Popen(["cat"], stdin=subprocess.PIPE) as output):
            line = output.stdin.fileno()
            with subprocess.Popen(
                    self._command(run, line, given), stdin=subprocess.DEVNULL, stdout=told,
                    stderr=told, pass_fds=[line],
                    env={**os.environ, "TMPDIR": folder_for(given.memory, scratch)}) as guest:
                output.stdin.close()
                yield guest

    def _command(self, run, line, given):
        # Of the kernel and its programs one waits for the other at each system call, which takes half
        # as long where both are on one processor.
        processor = random.choice(sorted(os.sched_getaffinity(0)))
        return [  # setpriv: as for QEMU
            "taskset", "-c", str(processor), "setpriv", "--pdeathsig", "KILL", str(self._kernel),
            f"mem={given.memory}M", "root=none", "rootfstype=hostfs", "rootflags=/", "ro",
            f'init="{HERE}/uml_init"', f'guest_run="{run}"', f"uml_dir={run.parent}", "umid=uml",
            "con=null", "ssl=null", "ssl0=null,fd:1", f"ssl1=null,fd:{line}", "console=ttyS0",
            "loglevel=4", "quiet"]
