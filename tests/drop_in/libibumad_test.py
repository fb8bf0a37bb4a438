#!/usr/bin/env python3
"""libibumad.so.3 of the build beside that of the system: symbols, texts, results, and its manners in a program."""
import errno
import json
import os
import subprocess
import sys
import unittest

from drop_in import LIBRARIES, Daemon, run

# Programs that this interpreter runs with either library. Each prints JSON.
TEXTS = """
import ctypes, json
umad = ctypes.CDLL("libibumad.so.3")
for each in ("class", "method", "common_mad_status", "sa_mad_status", "attribute"):
    getattr(umad, f"umad_{each}_str").restype = ctypes.c_char_p
every = range(65536)
seen = [[umad.umad_class_str(c).decode() for c in range(256)],
        [umad.umad_method_str(c, m).decode() for c in (1, 3, 4) for m in range(256)],
        [umad.umad_common_mad_status_str(s).decode() for s in every],
        [umad.umad_sa_mad_status_str(s).decode() for s in every],
        [umad.umad_attribute_str(c, a).decode() for c in (1, 3, 4, 7, 0x81) for a in every]]
print(json.dumps(seen))
"""
BUFFERS = """
import ctypes, json
umad = ctypes.CDLL("libibumad.so.3")
umad.umad_size.restype = umad.umad_get_mad.restype = umad.umad_get_mad_addr.restype = ctypes.c_size_t
buffer, grh = ctypes.create_string_buffer(400), ctypes.create_string_buffer(bytes(range(44)), 44)
at = ctypes.addressof(buffer)
seen = {"size": umad.umad_size(), "mad": umad.umad_get_mad(buffer) - at, "addr": umad.umad_get_mad_addr(buffer) - at,
        "debug": [umad.umad_debug(level) for level in (-1, 1, -5, 0)]}
for name, call in {"address": lambda: umad.umad_set_addr(buffer, 0x1234, 0x56789a, 5, 0x7fffffff),
                   "grh": lambda: umad.umad_set_grh(buffer, grh), "no grh": lambda: umad.umad_set_grh(buffer, None),
                   "pkey": lambda: umad.umad_set_pkey(buffer, 77)}.items():
    seen[name] = [call(), buffer.raw[20:64].hex()]
seen["pkey is"] = umad.umad_get_pkey(buffer)
print(json.dumps(seen))
"""
ERRORS = """
import ctypes, json
umad = ctypes.CDLL("libibumad.so.3", use_errno=True)
buffer, big, length = ctypes.create_string_buffer(400), ctypes.create_string_buffer(1000), ctypes.c_int(256)
port = umad.umad_open_port(None, 0)
oui, mask = (ctypes.c_uint8 * 3)(0x12, 0x34, 0x56), (ctypes.c_long * 2)(2, 0)
seen = {
    "open": [umad.umad_open_port(name, number) for name, number in
             ((b"mlx5_0", 0), (b"mlx5_0", 1), (b"irpverbs0", 3), (b"irpverbs0", -1), (None, 99))],
    "get_ca": [umad.umad_get_ca(b"mlx5_0", big), umad.umad_get_ca(b"irpverbs0", big), umad.umad_release_ca(big)],
    "get_port": [umad.umad_get_port(b"mlx5_0", 1, big), umad.umad_get_port(b"irpverbs0", 9, big)],
    "guids": [umad.umad_get_ca_portguids(b"irpverbs0", (ctypes.c_uint64 * 2)(), 2),
              umad.umad_get_ca_portguids(None, (ctypes.c_uint64 * 3)(), 3),
              umad.umad_get_ca_portguids(None, None, 0)],
    "issm": umad.umad_get_issm_path(b"irpverbs0", 7, buffer, 100),
    "get_fd": [umad.umad_get_fd(port) == port, umad.umad_get_fd(999)],
    "poll": [umad.umad_poll(port, 0), umad.umad_poll(port, 1), umad.umad_poll(999, 0)],
    "recv": [(umad.umad_recv(*arguments), ctypes.get_errno()) for arguments in
             ((port, buffer, ctypes.byref(length), 0), (port, buffer, ctypes.byref(length), 1),
              (port, None, ctypes.byref(length), 0), (port, buffer, None, 0), (999, buffer, ctypes.byref(length), 0))],
    "register": [umad.umad_register(*arguments) for arguments in
                 ((port, 3, 2, 1, None), (port, 1, 1, 1, None), (port, 3, 9, 0, None), (999, 3, 2, 1, None))],
    "register_oui": [umad.umad_register_oui(*arguments) for arguments in
                     ((port, 0x32, 0, oui, mask), (port, 0x32, 0, oui, mask), (port, 3, 0, oui, None))],
    "unregister": [umad.umad_unregister(*arguments) for arguments in
                   ((port, 1), (port, 1), (port, -1), (port, 32), (999, 0))],
    "send": [(umad.umad_send(*arguments), ctypes.get_errno()) for arguments in
             ((port, 5, buffer, 256, 0, 0), (port, 0, buffer, 300, 0, 0), (port, 0, buffer, 8, 0, 0),
              (999, 0, buffer, 256, 0, 0), (port, -1, buffer, 256, 0, 0))],
    "close": [umad.umad_close_port(port), umad.umad_close_port(port), umad.umad_close_port(999)],
}
print(json.dumps(seen))
"""


def output_of(program, **options):
    ended = run(sys.executable, "-c", program, **options)
    return json.loads(ended.stdout.splitlines()[-1])


def of_the_system(program):
    return json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


def exports(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                            capture_output=True, text=True, check=True).stdout
    return {(kind, name) for _, kind, name in (line.split() for line in listed.splitlines())}


def system_library(name):
    for line in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout.splitlines():
        if line.split()[0] == name:
            return line.split()[-1]
    raise FileNotFoundError(name)


class Symbols(unittest.TestCase):
    def test_library_exports_what_the_systems_exports(self):
        self.assertEqual(exports(LIBRARIES / "libibumad.so.3"), exports(system_library("libibumad.so.3")))

    def test_core_exports_its_border_only(self):
        others = {name for _, name in exports(LIBRARIES / "libirpverbs-drop-in.so")
                  if not name.startswith(("irpverbs_", "IRPVERBS_PRIVATE"))}
        self.assertEqual(others, set())

    def test_no_text_relocations_and_no_stray_library(self):
        for name in ("libibumad.so.3", "libirpverbs-drop-in.so"):
            dynamic = subprocess.run(["readelf", "-d", LIBRARIES / name], capture_output=True, text=True,
                                     check=True).stdout
            self.assertNotIn("TEXTREL", dynamic)
            self.assertNotRegex(dynamic, r"NEEDED.*\[lib(ibverbs|rdmacm)")
            self.assertIn("$ORIGIN", dynamic)


class SameAsTheSystems(unittest.TestCase):
    def test_texts(self):
        self.assertEqual(output_of(TEXTS), of_the_system(TEXTS))



class Results(unittest.TestCase):
    maxDiff = None

    def test_parts_of_a_buffer_lie_as_the_kernel_has_them(self):
        address = "0056789a" "7fffffff" "1234" "05" "00"
        gid, flow_label = bytes(range(16, 32)).hex(), "23222120" # given in host order
        no_pkey = "00" * 8
        self.assertEqual(output_of(BUFFERS), {
            "size": 64, "mad": 64, "addr": 20, "debug": [0, 1, 1, 0],
            "address": [0, address + "00" * 32],
            "grh": [0, f"{address}01000e0f{gid}{flow_label}{no_pkey}"],
            "no grh": [0, f"{address}00000e0f{gid}{flow_label}{no_pkey}"],
            "pkey": [0, f"{address}00000e0f{gid}{flow_label}4d00" + "00" * 6],
            "pkey is": 77,
        })

    def test_errors_are_those_that_the_interface_names(self):
        self.assertEqual(output_of(ERRORS), {
            "open": [-errno.ENODEV, -errno.EINVAL, -errno.EINVAL, -errno.EINVAL, -errno.ENODEV],
            "get_ca": [-errno.ENOENT, 0, 0],
            "get_port": [-errno.EIO, -errno.EIO],
            "guids": [-errno.ENOMEM, 3, 0],
            "issm": -errno.EINVAL,
            "get_fd": [True, -errno.EINVAL],
            "poll": [-errno.ETIMEDOUT, -errno.ETIMEDOUT, -errno.EINVAL],
            "recv": [[-errno.EWOULDBLOCK, errno.EWOULDBLOCK], [-errno.ETIMEDOUT, errno.ETIMEDOUT],
                     [-errno.EINVAL, errno.EINVAL], [-errno.EINVAL, errno.EINVAL], [-errno.EINVAL, errno.EINVAL]],
            "register": [0, -errno.EPERM, -errno.EPERM, -errno.EINVAL],
            "register_oui": [1, -errno.EPERM, -errno.EINVAL],
            "unregister": [0, -errno.EINVAL, -errno.EINVAL, -errno.EINVAL, -errno.EINVAL],
            "send": [[-errno.EINVAL, errno.EINVAL]] * 5,
            "close": [0, -errno.EINVAL, -errno.EINVAL],
        })

    def test_end_of_a_request_comes_before_that_of_its_wait(self):
        """libibmad gives both the same time; it repeats a request that has ended, and no wait."""
        ended = run("perfquery", "99") # no port has this LID
        self.assertIn("_do_madrpc failed", ended.stdout)
        self.assertNotIn("recv failed", ended.stdout)

    def test_without_a_fabric_there_is_no_device_and_one_line(self):
        for hca, reason in ((None, "IRPVERBS_HCA is not set; irpctl run -- PROGRAM sets it"),
                            ("software:/nowhere", "/nowhere: No such file or directory"),
                            ("software:?host=nowhere", "software:?host=nowhere: no such host"),
                            ("software:?host=host1,nowhere",
                             "software:?host=host1,nowhere: no such host as 'nowhere'"),
                            ("fabric", "'fabric' is no URI of an HCA: expected 'roce:', 'software:' or 'user:'")):
            ended = run("ibstat", hca=hca)
            self.assertEqual(ended.stdout.splitlines()[0], f"irpverbs: {reason}")
            self.assertEqual(ended.stdout.count("irpverbs:"), 1)
            self.assertRegex(ended.stdout, "can't list IB device names: No such device")


class Manners(unittest.TestCase):
    def check(self, case):
        ended = run(os.environ["IRPVERBS_MANNERS"], case)
        self.assertEqual((ended.returncode, ended.stdout), (0, ""))

    def test_nothing_runs_before_the_first_use(self):
        self.check("idle")

    def test_cancelled_threads_leave_nothing(self):
        self.check("cancelled")

    def test_child_of_a_fork_gets_errors_and_the_parent_goes_on(self):
        self.check("forked")

    def test_fork_before_the_first_use_is_no_matter(self):
        self.check("daemonised")

    def test_signals_go_to_the_programs_threads(self):
        self.check("signalled")

    def test_library_can_be_closed_and_opened_again(self):
        self.check("unloaded")

    def test_open_issm_file_makes_the_port_a_manager(self):
        self.check("manages")

    def test_exit_in_any_thread_ends_the_program(self):
        self.check("exits")


@unittest.skipUnless("IRPVERBS_DAEMON" in os.environ, "a build without the daemon")
class MannersOnADaemon(unittest.TestCase):
    """A thread that waits receives from the daemon itself."""

    def check(self, case):
        daemon = Daemon(self)
        ended = run(os.environ["IRPVERBS_MANNERS"], case, hca=daemon.host("host1"))
        self.assertEqual((ended.returncode, ended.stdout), (0, ""))

    def test_threads_receive_for_each_other(self):
        self.check("waits")

    def test_thread_that_jumps_out_of_its_wait_stops_no_other(self):
        self.check("jumped")

    def test_cancelled_threads_leave_nothing(self):
        self.check("cancelled")

    def test_child_of_a_fork_gets_errors_and_the_parent_goes_on(self):
        self.check("forked")

    def test_child_of_a_program_that_listed_its_devices_attaches_them(self):
        self.check("listed")

    def test_exit_in_any_thread_ends_the_program(self):
        self.check("exits")


if __name__ == "__main__":
    unittest.main()
