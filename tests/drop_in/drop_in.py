"""Programs of rdma-core on the drop-in libraries. The build passes the libraries' folder."""
import os
import signal
import subprocess
import tempfile
from pathlib import Path

LIBRARIES = Path(os.environ["IRPVERBS_DROP_IN"])
TOPOLOGIES = Path(__file__).resolve().parent.parent / "hca/topologies"


def environment(hca, **more):
    """The environment of a program on that fabric; without a variable when hca is None."""
    made = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES), "LC_ALL": "C", **more}
    made.pop("IRPVERBS_HCA", None)
    if hca is not None:
        made["IRPVERBS_HCA"] = hca
    return made


def run(*words, hca="software:", timeout=300, folder=None, **more):
    """Runs a program; standard error goes to standard output."""
    return subprocess.run(words, env=environment(hca, **more), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="backslashreplace", timeout=timeout, check=False)


class Daemon:
    """irpverbsd, which serves the HCAs of a URI until the end of the test."""

    def __init__(self, test, hca="software:"):
        folder = tempfile.TemporaryDirectory(prefix="irpverbsd")
        test.addCleanup(folder.cleanup)
        self.socket = f"{folder.name}/served/socket"
        command = [os.environ["IRPVERBS_DAEMON"], "--hca", hca, "--socket", self.socket]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.ends_by = 0
        test.addCleanup(self.stop, test)
        test.assertIn(self.socket, self.process.stdout.readline())

    def stop(self, test):
        self.process.terminate()
        self.process.communicate(timeout=300)
        test.assertEqual(self.process.returncode, self.ends_by)

    def kill(self):
        """Ends the daemon without a chance to say so."""
        self.ends_by = -signal.SIGKILL
        self.process.kill()
        self.process.wait()

    def status(self):
        command = [os.environ["IRPVERBS_DAEMON"], "--socket", self.socket, "--status"]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    def host(self, name):
        """The URI of a host of the fabric."""
        return f"user:{self.socket}?host={name}"
