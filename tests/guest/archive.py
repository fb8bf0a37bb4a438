"""Builds an initramfs from files of this machine at their own paths, in the kernel's cpio format (newc)."""
import os
import re
import subprocess

FOLDER, FILE, LINK = 0o040755, 0o100644, 0o120777


def libraries(program):
    """The shared libraries that ldd lists; none for a file that is not a dynamic program."""
    result = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    missing = re.findall(r"^\s*(\S+) => not found", result.stdout, re.M)
    if missing:
        raise FileNotFoundError(f"{program} needs {', '.join(missing)}, which is missing")
    return re.findall(r"(/\S+) \(0x", result.stdout)


def place_of(file):
    """The path in the guest: the file's own, with the links in its folder resolved."""
    folder, name = os.path.split(os.path.abspath(file))
    return os.path.join(os.path.realpath(folder), name)


class Archive:
    def __init__(self, beneath=None):
        """`beneath`: paths that exist already, from an archive that is unpacked before this one."""
        self.sources = set()  # the copied files
        self._entries = {}
        self._beneath = set(beneath or ())

    def paths(self):
        return self._beneath | set(self._entries)

    def _put(self, path, mode, content):
        folder = os.path.dirname(path)
        if folder not in ("/", "") and folder not in self.paths():
            self._put(folder, FOLDER, b"")
        self._entries[path] = (mode, content)

    def folder(self, path):
        self._put(path, FOLDER, b"")

    def link(self, path, target):
        self._put(path, LINK, target.encode())

    def text(self, path, content, executable=False):
        self._put(path, FILE | (0o111 if executable else 0), content.encode())

    def copy(self, source, path=None):
        """Adds a file at `path` or its own path, and its libraries at theirs; returns the file's path."""
        place = place_of(path or source)
        if place in self.paths():
            return place
        self.sources.add(source)
        with open(source, "rb") as file:
            content = file.read()
        self._put(place, FILE | (os.stat(source).st_mode & 0o111), content)
        if content.startswith(b"\x7fELF"):
            for library in libraries(source):
                self.copy(library)
        return place

    def bytes(self):
        made = bytearray()
        entries = [*sorted(self._entries.items()), ("/TRAILER!!!", (0, b""))]
        for number, (path, (mode, content)) in enumerate(entries, 1):
            name = path[1:].encode() + b"\0"
            fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
            made += b"070701" + b"".join(b"%08x" % field for field in fields) + name
            made += bytes(-len(made) % 4) + content
            made += bytes(-len(made) % 4)
        return bytes(made)
