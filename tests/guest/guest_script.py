"""Runs several commands in one guest and returns the output and exit status of each."""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(devices, programs, commands, options=(), functions=""):
    """`commands` maps names to shell commands, which may call the `functions`; `options` are guest.py's. Returns the
    guest's status, and a map from each name to its status and output."""
    lines = [functions, *(f"echo '== {name}'\n( {command} )\necho \"== status $?\"" for name, command in
             commands.items())]
    files = [word for each in programs for word in ("--file", each)]
    guest = [sys.executable, "-W", "error", str(HERE / "guest.py"), "--devices", devices, *options, *files]
    ended = subprocess.run([*guest, "sh", "-c", "\n".join(lines)], text=True, capture_output=True,
                           timeout=500, check=False)
    sys.stderr.write(ended.stderr)
    parts = re.split(r"^== (.*)\n", ended.stdout, flags=re.M)
    said = {}
    for name, output, status in zip(parts[1::4], parts[2::4], parts[3::4]):
        said[name] = int(status.removeprefix("status ")), output
    return ended.returncode, said
