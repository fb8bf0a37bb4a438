#!/usr/bin/env python3
"""A simulated InfiniBand subnet in a folder: ibsim carries the datagrams, OpenSM manages it.

Any number of labs run side by side, each identified by its folder; `down` leaves no process behind.
As a module: `with Lab(folder, topology) as lab: lab.run("H0001", ["saquery"])`. The processes of such
a lab die with the program in any case; a SIGTERM unwinds it, as Ctrl-C does.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import zlib

STOCK_SHIM = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"


class LabError(Exception):
    pass


def process_lives(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return False
    return state not in ("", "Z")  # a zombie has ended


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def tied(command):
    """The command, wrapped so that it is killed when this program dies, and not run if it is dead."""
    run_if_alive = ["sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid())]
    return ["setpriv", "--pdeathsig", "KILL", *run_if_alive, *map(str, command)]


def unwind(*_):
    raise KeyboardInterrupt  # unittest takes other exceptions for failed tests, and continues


class Daemon:
    """A process of the lab, found by its pid file."""

    def __init__(self, lab, name):
        self.pid_file = lab / f"{name}.pid"
        self.errors = lab / f"{name}.err"
        self.child = None  # when started by this program

    def pid(self):
        try:
            return int(self.pid_file.read_text())
        except (OSError, ValueError):
            return None

    def lives(self):
        pid = self.pid()
        return pid is not None and process_lives(pid)

    def start(self, command, environment, folder, output, stdin=subprocess.DEVNULL):
        with open(output, "wb") as log, open(self.errors, "wb") as errors:
            self.child = subprocess.Popen(command, cwd=folder, env=environment, stdin=stdin,
                                          stdout=log, stderr=errors, start_new_session=True)
        self.pid_file.write_text(str(self.child.pid))

    def stop(self, seconds=10):
        pid = self.pid()
        for deed in (signal.SIGTERM, signal.SIGKILL):
            if pid is None or not process_lives(pid):
                break
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, deed)
            wait_until(lambda: not process_lives(pid), seconds)
        if self.child is not None:
            self.child.wait()
        self.pid_file.unlink(missing_ok=True)


class Lab:
    def __init__(self, folder, topology=None, sm_hosts=("H0001",), shim=None, ibsim_options=(),
                 opensm_options=()):
        self.folder = pathlib.Path(folder).resolve()
        self.topology = pathlib.Path(topology).resolve() if topology else None
        self.shim = shim or os.environ.get("IRPVERBS_LAB_SHIM") or STOCK_SHIM
        self.sm_hosts = sm_hosts
        self.ibsim_options = list(ibsim_options)
        self.opensm_options = list(opensm_options)
        self.ibsim = Daemon(self.folder, "ibsim")
        self._opensm = {}
        self._tie = list  # untied, since `up` and `down` may be two programs

    def __enter__(self):
        self._tie = tied
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, unwind)
        try:
            self.up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_):
        self.down()

    def opensm(self, host):
        return self._opensm.setdefault(host, Daemon(self.folder, f"opensm-{host}"))

    def environment(self, host):
        """The environment of a libibumad program on the simulated host."""
        # The name of an abstract socket, which is short and unique for this folder.
        name = f"lab{zlib.crc32(str(self.folder).encode()):08x}"
        # For files of the shim, which a killed program leaves behind.
        scratch = self.folder / "tmp"
        scratch.mkdir(parents=True, exist_ok=True)
        return dict(os.environ, LD_PRELOAD=self.shim, IBSIM_SOCKNAME=name, SIM_HOST=host,
                    TMPDIR=str(scratch))

    def up(self, seconds=120):
        for program in ("ibsim", "opensm"):
            if shutil.which(program) is None:
                raise LabError(f"no {program} on this machine: run tools/bootstrap")
        if self.topology is None or not self.topology.is_file():
            raise LabError(f"no topology file {self.topology}")
        if self.ibsim.lives():
            raise LabError(f"{self.folder} is up already")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._start_ibsim(seconds)
        # They start one after the other, so that the first becomes master.
        for host in self.sm_hosts:
            self.start_opensm(host)
            is_master = host == self.sm_hosts[0]
            self.wait_for_log(host, "SUBNET UP" if is_master else "Entering STANDBY state", seconds)

    def _start_ibsim(self, seconds):
        console = self.folder / "console"
        console.unlink(missing_ok=True)
        os.mkfifo(console)
        # Opened for reading and writing, since ibsim would spin at an end of file.
        stdin = os.open(console, os.O_RDWR)
        output = self.folder / "ibsim.log"
        command = ["ibsim", "-s", *self.ibsim_options, str(self.topology)]
        environment = self.environment("")
        del environment["LD_PRELOAD"]
        self.ibsim.start(self._tie(command), environment, self.folder, output, stdin)
        os.close(stdin)
        ready = lambda: output.read_bytes().endswith(b"sim> ")
        if not wait_until(lambda: ready() or not self.ibsim.lives(), seconds) or not ready():
            reason = self.ibsim.errors.read_text(errors="replace").strip().splitlines()
            raise LabError(f"ibsim did not start: {reason[-1] if reason else 'no reason given'}")

    def start_opensm(self, host):
        """Starts OpenSM on the host; the first becomes master, others stand by."""
        scratch = self.folder / f"opensm-{host}"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        options = [f"log_file {scratch}/opensm.log", f"dump_files_dir {scratch}/",
                   f"partition_config_file {self.folder}/partitions.conf",
                   "force_log_flush TRUE",  # wait_for_log reads the file
                   "accum_log_file FALSE", "fsync_high_avail_files FALSE",
                   "sweep_interval 0",      # ibsim's trap 128 still starts a sweep
                   *self.opensm_options]
        (scratch / "opensm.conf").write_text("\n".join(options) + "\n")
        environment = dict(self.environment(host), OSM_TMP_DIR=f"{scratch}/",
                           OSM_CACHE_DIR=f"{scratch}/")
        command = self._tie(["opensm", "-F", str(scratch / "opensm.conf")])
        self.opensm(host).start(command, environment, scratch, scratch / "output.log")

    def wait_for_subnet(self, host, seconds=120):
        self.wait_for_log(host, "SUBNET UP", seconds)

    def wait_for_log(self, host, text, seconds):
        log = self.folder / f"opensm-{host}" / "opensm.log"
        is_there = lambda: log.exists() and text.encode() in log.read_bytes()
        daemon = self.opensm(host)
        if not wait_until(lambda: is_there() or not daemon.lives(), seconds) or not is_there():
            raise LabError(f"no {text} within {seconds} s, see {log}")

    def run(self, host, command, seconds=120, **more):
        """Runs a libibumad program on a simulated host until it ends."""
        # The stock shim writes its files into the current folder.
        scratch = self.folder / "clients"
        scratch.mkdir(exist_ok=True)
        return subprocess.run(tied(command), cwd=scratch, env=self.environment(host),
                              timeout=seconds, text=True, capture_output=True, check=False, **more)

    def start(self, host, command, variables=None, **more):
        """Starts a libibumad program on a simulated host, with additional environment variables."""
        environment = dict(self.environment(host), **(variables or {}))
        return subprocess.Popen(tied(command), env=environment, text=True, **more)

    def console(self, command, seconds=60):
        """Sends one command to ibsim's console and returns the response."""
        output = self.folder / "ibsim.log"
        before = output.stat().st_size
        (self.folder / "console").write_text(command + "\n")
        response = lambda: output.read_bytes()[before:]
        if not wait_until(lambda: response().endswith(b"sim> "), seconds):
            raise LabError(f"ibsim did not respond to '{command}'")
        return response().decode(errors="replace").removesuffix("sim> ").strip()

    def down(self):
        # OpenSM ends first, since it disconnects from ibsim at its end.
        for file in self.folder.glob("opensm-*.pid"):
            self.opensm(file.stem.removeprefix("opensm-")).stop()
        self.ibsim.stop()
        (self.folder / "console").unlink(missing_ok=True)
        for folder in ("clients", "tmp"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shim", help="library to preload instead of Debian's libumad2sim")
    verbs = parser.add_subparsers(dest="verb", required=True)
    up = verbs.add_parser("up", help="start ibsim and OpenSM, and wait until the subnet is up")
    up.add_argument("folder")
    up.add_argument("topology")
    up.add_argument("--sm", default="H0001", help="host that OpenSM runs on (H0001)")
    down = verbs.add_parser("down", help="stop both")
    down.add_argument("folder")
    run = verbs.add_parser("run", help="run a libibumad program on a simulated host")
    run.add_argument("folder")
    run.add_argument("host")
    run.add_argument("command", nargs=argparse.REMAINDER)
    console = verbs.add_parser("console", help="run a command of ibsim's console")
    console.add_argument("folder")
    console.add_argument("command")
    given = parser.parse_args()
    try:
        if given.verb == "up":
            lab = Lab(given.folder, given.topology, (given.sm,), given.shim)
            try:
                lab.up()
            except BaseException:
                lab.down()
                raise
        elif given.verb == "down":
            Lab(given.folder).down()
        elif given.verb == "console":
            print(Lab(given.folder).console(given.command))
        else:
            lab = Lab(given.folder, shim=given.shim)
            if not given.command:
                parser.error("run: the command is missing")
            os.execvpe(given.command[0], given.command, lab.environment(given.host))
    except LabError as problem:
        sys.exit(f"lab.py: {problem}")


if __name__ == "__main__":
    main()
