"""What the guest boots: Debian's kernel, and an initramfs of its modules and of the tools that `init`
uses. Made once and kept, until anything that went into it changes."""
import fcntl
import glob
import json
import lzma
import os
import pathlib
import shutil
import subprocess
import tempfile

from archive import Archive

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE.parents[1] / "build" / "guest"  # where tools/bootstrap puts the kernel's package
# rxe asks for crc32 and siw for crc32c by name at run time: no module's dependencies list them.
MODULES = ["veth", "sch_netem", "crc32_generic", "crc32c_generic", "libcrc32c", "rdma_rxe",
           "ib_umad", "ib_uverbs", "rdma_ucm"]
TOOLS = ["ip", "tc", "rdma"]
APPLETS = ["awk", "cat", "chmod", "cp", "cut", "date", "dd", "dmesg", "echo", "env", "false", "find",
           "grep", "head", "insmod", "kill", "ln", "ls", "mkdir", "mount", "mv", "od", "printf", "ps",
           "readlink", "reboot", "rm", "sed", "sleep", "sort", "stty", "sync", "tail", "test",
           "timeout", "touch", "tr", "true", "uname", "wc"]
FILES = {
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n",
    "/etc/group": "root:x:0:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


class Missing(Exception):
    """This machine lacks something that the guest needs."""


def program(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise Missing(f"no {name} on this machine: run tools/bootstrap")
    return found


def kernel_package():
    packages = sorted(PACKAGES.glob("linux-image-*.deb"), key=os.path.getmtime)
    if not packages:
        raise Missing(f"no kernel package in {PACKAGES}: run tools/bootstrap")
    return packages[-1]


def state_of(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size]


def uncompressed(kernel):
    """The ELF file in a bzImage: QEMU boots it directly, and the guest does not unpack it."""
    data = kernel.read_bytes()
    at = data.find(b"\xfd7zXZ\0")
    while at >= 0:
        try:
            found = lzma.LZMADecompressor().decompress(data[at:])
        except lzma.LZMAError:
            found = b""
        if found.startswith(b"\x7fELF"):
            return found
        at = data.find(b"\xfd7zXZ\0", at + 1)
    raise Missing(f"{kernel.name} holds no kernel that is compressed by xz")


def modules_of(tree, version):
    """Paths of MODULES and of what they depend on, in an order in which they load."""
    depmod, modprobe = program("depmod"), program("modprobe")
    subprocess.run([depmod, "-b", tree, version], check=True)
    paths = []
    for module in MODULES:
        asked = subprocess.run([modprobe, "-d", tree, "-S", version, "--show-depends", module],
                               capture_output=True, text=True, check=False)
        if asked.returncode != 0:
            raise Missing(f"the kernel {version} has no module {module}")
        paths += [line.split()[1] for line in asked.stdout.splitlines()
                  if line.startswith("insmod")]
    return list(dict.fromkeys(paths))


def add_modules(archive, tree, version):
    names = []
    for path in modules_of(tree, version):
        name = os.path.basename(path).removesuffix(".ko")
        subprocess.run(["strip", "-g", path], check=True)  # a third of the size
        archive.copy(path, f"/modules/{name}.ko")
        names.append(name)
    archive.text("/modules/order", "\n".join(names) + "\n")


def add_tools(archive):
    for folder in ("bin", "sbin", "lib", "lib64"):
        archive.folder(f"/usr/{folder}")
        archive.link(f"/{folder}", f"usr/{folder}")
    for folder in ("/dev", "/proc", "/sys", "/tmp", "/run", "/root", "/var"):
        archive.folder(folder)
    archive.link("/var/run", "/run")
    archive.copy(program("busybox"), "/usr/bin/busybox")
    for applet in APPLETS:
        archive.link(f"/usr/bin/{applet}", "busybox")
    # Not busybox's shell: that prefers busybox's ip to the one on PATH.
    archive.copy(program("dash"), "/usr/bin/sh")
    for tool in TOOLS:
        archive.copy(program(tool))
    for path, content in FILES.items():
        archive.text(path, content)
    archive.text("/init", (HERE / "init").read_text(), executable=True)


def add_dynamically_loaded(archive):
    """What no program's list of libraries names: pthread_exit's, and libibverbs' drivers."""
    library = "/usr/lib/x86_64-linux-gnu"
    archive.copy(f"{library}/libgcc_s.so.1")
    for kind in ("rxe", "siw"):
        for driver in glob.glob(f"{library}/libibverbs/lib{kind}-rdmav*.so"):
            archive.copy(driver)
            archive.text(f"/etc/libibverbs.d/{kind}.driver", f"driver {kind}\n")


class Image:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.kernel = self.folder / "vmlinux"
        self.initramfs = self.folder / "initramfs"
        self._made_of = self.folder / "made_of.json"
        self._made = None

    def paths(self):
        """The files in the initramfs."""
        return self._made["paths"]

    def prepare(self):
        """Makes it when it is not there or out of date; one process at a time."""
        package = kernel_package()
        program("qemu-system-x86_64")
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._is_fresh(package):
                self._make(package)

    def _is_fresh(self, package):
        try:
            self._made = json.loads(self._made_of.read_text())
        except (OSError, ValueError):
            return False
        sources = self._made["sources"]
        return str(package) in sources and all(state_of(path) == state
                                               for path, state in sources.items())

    def _make(self, package):
        self._made_of.unlink(missing_ok=True)
        archive = Archive()
        with tempfile.TemporaryDirectory(dir=self.folder) as tree:
            subprocess.run(["dpkg-deb", "-x", package, tree], check=True)
            kernel, = pathlib.Path(tree).glob("boot/vmlinuz-*")
            self.kernel.write_bytes(uncompressed(kernel))
            add_modules(archive, tree, kernel.name.removeprefix("vmlinuz-"))
        add_tools(archive)
        add_dynamically_loaded(archive)
        self.initramfs.write_bytes(archive.bytes())
        sources = [package, *HERE.glob("*.py"), HERE / "init",
                   *filter(os.path.exists, archive.sources)]
        self._made = {"paths": sorted(archive.paths()),
                      "sources": {str(path): state_of(path) for path in sources}}
        self._made_of.write_text(json.dumps(self._made))
