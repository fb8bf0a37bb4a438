"""The guest's boot image: Debian's kernel, and an initramfs of its modules and the tools that `init`
uses. It is made once and kept until one of its sources changes."""
import contextlib
import fcntl
import glob
import json
import lzma
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from archive import Archive

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE.parents[1] / "build" / "guest"  # where tools/bootstrap puts the kernel's package
# rxe requests crc32 and siw crc32c by name at run time, so no module's dependencies list them.
MODULES = ["veth", "tun", "sch_netem", "crc32_generic", "crc32c_generic", "libcrc32c", "rdma_rxe",
           "ib_umad", "ib_uverbs", "rdma_ucm"]
EVENTS = HERE / "event_module"
TOOLS = ["ip", "tc", "rdma"]
APPLETS = ["awk", "cat", "chmod", "cp", "cut", "date", "dd", "dmesg", "echo", "env", "false", "find",
           "grep", "head", "insmod", "kill", "ln", "ls", "mkdir", "mount", "mv", "od", "ping", "printf", "ps",
           "readlink", "reboot", "rm", "sed", "sleep", "sort", "stty", "sync", "tail", "test",
           "timeout", "touch", "tr", "true", "uname", "wc"]
FILES = {
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n",
    "/etc/group": "root:x:0:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


class Missing(Exception):
    """This machine lacks a program or package that the guest needs."""


def program(name, brought_by="tools/bootstrap"):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise Missing(f"no {name} on this machine: run {brought_by}")
    return found


@contextlib.contextmanager
def locked(path):
    """Holds an exclusive lock on the file `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def newest_package(name):
    return max(PACKAGES.glob(f"{name}-*.deb"), key=os.path.getmtime, default=None)


def kernel_package():
    found = newest_package("linux-image")
    if found is None:
        raise Missing(f"no kernel package in {PACKAGES}: run tools/bootstrap")
    return found


def state_of(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size]


def uncompressed(kernel):
    """The ELF file in a bzImage, which QEMU boots directly, so that the guest need not unpack it."""
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
    raise Missing(f"{kernel.name} contains no kernel that is compressed by xz")


def version_of(package):
    """Returns 6.1.0-49-amd64 for linux-image-6.1.0-49-amd64_6.1.190-1_amd64.deb."""
    return package.name.split("_")[0].removeprefix("linux-image-")


def headers_of(version):
    """The folder of the headers that modules are built with."""
    return f"/usr/src/linux-headers-{version}"


def build_module(folder, version, *settings):
    subprocess.run(["make", "-s", "-C", headers_of(version), f"M={folder}", *settings, "modules"],
                   check=True, stdout=sys.stderr)


def unpack_source(package, folder, member=""):
    """Unpacks `member` of the kernel's source, or all of it, below a folder with the package's name."""
    name = package.name.partition("_")[0]
    unpack = (f"set -o pipefail; dpkg-deb --fsys-tarfile {shlex.quote(str(package))} |"
              f" tar -xOf - ./usr/src/{name}.tar.xz | tar -xJf - -C {shlex.quote(str(folder))}"
              f" {name}/{member}")
    subprocess.run(["bash", "-c", unpack], check=True)


def build_siw(source, version, made):
    """Builds siw, which Debian's kernel lacks, from the kernel's source package."""
    driver = "drivers/infiniband/sw/siw"
    with tempfile.TemporaryDirectory(dir=made.parent) as build:
        unpack_source(source, build, driver)
        folder = f"{build}/{source.name.partition('_')[0]}/{driver}"
        build_module(folder, version, "CONFIG_RDMA_SIW=m")
        os.replace(f"{folder}/siw.ko", made)


def build_events(tree, version):
    with tempfile.TemporaryDirectory(dir=tree) as build:
        folder = shutil.copytree(EVENTS, f"{build}/events")
        build_module(folder, version)
        shutil.copy(f"{folder}/irpverbs_events.ko", f"{tree}/lib/modules/{version}")


def built_modules(tree, version, source):
    """Builds the modules that the kernel package lacks, as far as this machine has their sources."""
    if not os.path.isdir(headers_of(version)):
        return []
    build_events(tree, version)
    if source is None:
        return ["irpverbs_events"]
    kept = source.with_name(f"siw-{version}-of-{source.stem}.ko")  # unpacking the source takes long
    if not kept.exists():
        build_siw(source, version, kept)
    shutil.copy(kept, f"{tree}/lib/modules/{version}/siw.ko")
    return ["irpverbs_events", "siw"]


def modules_of(tree, version, wanted):
    """Paths of the modules and their dependencies, in loading order."""
    depmod, modprobe = program("depmod"), program("modprobe")
    subprocess.run([depmod, "-b", tree, version], check=True)
    paths = []
    for module in wanted:
        asked = subprocess.run([modprobe, "-d", tree, "-S", version, "--show-depends", module],
                               capture_output=True, text=True, check=False)
        if asked.returncode != 0:
            raise Missing(f"the kernel {version} has no module {module}")
        paths += [line.split()[1] for line in asked.stdout.splitlines()
                  if line.startswith("insmod")]
    return list(dict.fromkeys(paths))


def add_modules(archive, tree, version, source):
    """Adds the modules to the archive; returns the names of the ones that were built."""
    built = built_modules(tree, version, source)
    names = []
    for path in modules_of(tree, version, [*MODULES, *built]):
        name = os.path.basename(path).removesuffix(".ko")
        subprocess.run(["strip", "-g", path], check=True)  # reduces it to a third
        archive.copy(path, f"/modules/{name}.ko")
        names.append(name)
    archive.text("/modules/order", "\n".join(names) + "\n")
    return built


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
    # busybox's own shell would prefer busybox's ip to the one on PATH.
    archive.copy(program("dash"), "/usr/bin/sh")
    for tool in TOOLS:
        archive.copy(program(tool))
    for path, content in FILES.items():
        archive.text(path, content)
    archive.text("/init", (HERE / "init").read_text(), executable=True)


def add_dynamically_loaded(archive):
    """Adds libraries that programs load at run time: libgcc_s for pthread_exit, and libibverbs' drivers."""
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

    def check_has(self, module):
        if module not in self._made["built"]:
            raise Missing(f"no module {module}: run tools/bootstrap modules")

    def prepare(self):
        """Makes the image if it is missing or out of date; one process at a time does so."""
        packages = list(filter(None, [kernel_package(), newest_package("linux-source")]))
        program("qemu-system-x86_64")
        with locked(self.folder / "lock"):
            if not self._is_fresh(packages):
                self._make(packages)

    def _is_fresh(self, packages):
        try:
            self._made = json.loads(self._made_of.read_text())
        except (OSError, ValueError):
            return False
        sources = self._made["sources"]
        return (all(str(each) in sources for each in packages) and
                all(state_of(path) == state for path, state in sources.items()))

    def _make(self, packages):
        self._made_of.unlink(missing_ok=True)
        archive = Archive()
        with tempfile.TemporaryDirectory(dir=self.folder) as tree:
            subprocess.run(["dpkg-deb", "-x", packages[0], tree], check=True)
            version = version_of(packages[0])
            self.kernel.write_bytes(uncompressed(pathlib.Path(tree) / f"boot/vmlinuz-{version}"))
            source = packages[1] if len(packages) > 1 else None
            built = add_modules(archive, tree, version, source)
        add_tools(archive)
        add_dynamically_loaded(archive)
        self.initramfs.write_bytes(archive.bytes())
        sources = [*packages, *(HERE / name for name in ("archive.py", "image.py", "init")),
                   *EVENTS.iterdir(), headers_of(version),  # which may be installed later
                   *filter(os.path.exists, archive.sources)]
        self._made = {"paths": sorted(archive.paths()), "built": built,
                      "sources": {str(path): state_of(path) for path in sources}}
        self._made_of.write_text(json.dumps(self._made))
