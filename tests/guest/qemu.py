"""The guest in QEMU: Debian's kernel, with the program in an additional initramfs."""
import contextlib
import pathlib
import subprocess

from archive import Archive
from image import PACKAGES, Image, program

KERNEL_ARGUMENTS = (
    "console=ttyS0 loglevel=4 panic=-1 mitigations=off nokaslr no_timer_check random.trust_cpu=on "
    "rcupdate.rcu_expedited=1 cryptomgr.notests audit=0 apparmor=0 "
    "tsc=reliable")  # else each read of the clock accesses an emulated device


class Qemu:
    def __init__(self):
        self._image = Image(PACKAGES)

    def prepare(self, given):
        self._image.prepare()
        if given.events:
            self._image.check_has("irpverbs_events")
        if "siw" in given.devices.split(","):
            self._image.check_has("siw")

    def _own_archive(self, orders, given):
        """The files that this run adds to the image."""
        archive = Archive(self._image.paths())
        for file in [given.program, *given.file]:
            if "/" in file:
                archive.copy(file)
        for name, text in orders.items():
            archive.text(f"/run/{name}", text)
        return archive

    @contextlib.contextmanager
    def started(self, orders, scratch, console, given):
        """The process that is the guest, with `orders` in its /run."""
        initrd = pathlib.Path(scratch) / "initrd"
        initrd.write_bytes(self._image.initramfs.read_bytes() +
                           self._own_archive(orders, given).bytes())
        with subprocess.Popen(self._command(initrd, console, given),
                              stdin=subprocess.DEVNULL) as guest:
            yield guest

    def _command(self, initrd, console, given):
        return [  # setpriv kills the guest when this program ends in any way
            "setpriv", "--pdeathsig", "KILL", program("qemu-system-x86_64"),
            "-M", "pc,vmport=off,smbus=off", "-accel", "tcg,thread=multi", "-cpu", "max",
            "-smp", str(given.processors), "-m", str(given.memory),
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-kernel", str(self._image.kernel), "-initrd", str(initrd), "-append", KERNEL_ARGUMENTS,
            "-serial", f"file:{console}",
            "-chardev", "stdio,id=out,signal=off", "-device", "isa-serial,index=1,chardev=out",
            "-device", "isa-debug-exit,iobase=0xf4,iosize=0x01"]
