#!/usr/bin/env python3
"""irpctl prints the same values as ibv_devinfo -v for rxe0 and siw0, field by field, in one guest."""
import ipaddress
import json
import os
import re
import shlex
import sys
import unittest

import guest_script

IRPCTL = os.environ["IRPVERBS_IRPCTL"]
DEVINFO = "/usr/bin/ibv_devinfo"
DEVICES = ("rxe0", "siw0")

# The name that ibv_devinfo prints, and its path in irpctl's output.
NUMBERS_OF_DEVICE = {
    "vendor_id": "vendor", "vendor_part_id": "part", "hw_ver": "hardware",
    "max_mr_size": "limits.max_mr_size", "page_size_cap": "limits.page_sizes",
    "max_qp": "limits.max_qps", "max_qp_wr": "limits.max_qp_wrs", "max_sge": "limits.max_sges",
    "max_sge_rd": "limits.max_sges_of_read", "max_cq": "limits.max_cqs",
    "max_cqe": "limits.max_cqes", "max_mr": "limits.max_mrs", "max_pd": "limits.max_pds",
    "max_qp_rd_atom": "limits.max_reads_as_responder_of_qp",
    "max_ee_rd_atom": "limits.max_reads_as_responder_of_eec",
    "max_res_rd_atom": "limits.max_reads_as_responder",
    "max_qp_init_rd_atom": "limits.max_reads_as_initiator_of_qp",
    "max_ee_init_rd_atom": "limits.max_reads_as_initiator_of_eec",
    "max_ee": "limits.max_eecs", "max_rdd": "limits.max_rdds", "max_mw": "limits.max_mws",
    "max_raw_ipv6_qp": "limits.max_raw_ipv6_qps",
    "max_raw_ethy_qp": "limits.max_raw_ethertype_qps",
    "max_mcast_grp": "limits.max_multicast_groups",
    "max_mcast_qp_attach": "limits.max_qps_of_multicast_group",
    "max_total_mcast_qp_attach": "limits.max_multicast_attachments",
    "max_ah": "limits.max_avs", "max_fmr": "limits.max_fmrs", "max_srq": "limits.max_srqs",
    "max_srq_wr": "limits.max_srq_wrs", "max_srq_sge": "limits.max_srq_sges",
    "max_pkeys": "limits.max_pkeys", "local_ca_ack_delay": "limits.local_ack_delay",
    "device_cap_flags_ex": "extended.device_flags", "max_tso": "extended.max_segmentation",
    "max_rwq_indirection_tables": "extended.max_indirection_tables",
    "max_rwq_indirection_table_size": "extended.max_indirection_table_size",
    "rx_hash_function": "extended.hash_functions", "rx_hash_fields_mask": "extended.hash_fields",
    "max_wq_type_rq": "extended.max_receive_wqs",
    "qp_rate_limit_min": "extended.min_pacing_rate",
    "qp_rate_limit_max": "extended.max_pacing_rate",
    "num_comp_vectors": "limits.max_completion_handlers",
}
# Printed as words if there is none, and as names of flags otherwise.
NONE_OF_DEVICE = {
    "general_odp_caps": "extended.on_demand_paging", "rc_odp_caps": "extended.on_demand_rc",
    "uc_odp_caps": "extended.on_demand_uc", "ud_odp_caps": "extended.on_demand_ud",
    "xrc_odp_caps": "extended.on_demand_xrc",
    "completion_timestamp_mask not supported": "extended.timestamp_mask",
    "core clock not supported": "extended.timestamp_frequency",
    "tag matching not supported": "extended.max_tags",
}
NUMBERS_OF_PORT = {
    "sm_lid": "sm_lid", "port_lid": "lid", "port_lmc": "lmc", "max_mtu": "max_mtu",
    "active_mtu": "active_mtu", "max_msg_sz": "max_message_size",
    "port_cap_flags2": "capabilities_2", "bad_pkey_cntr": "pkey_violations",
    "qkey_viol_cntr": "qkey_violations", "sm_sl": "sm_sl", "pkey_tbl_len": "pkey_places",
    "gid_tbl_len": "gid_places", "subnet_timeout": "subnet_timeout",
    "init_type_reply": "init_type_reply",
}
# Headings without a value.
HEADINGS = {"tso_caps", "rss_caps", "packet_pacing_caps"}
CAPABILITIES = {  # ibv_devinfo's name, and irpctl's if it differs
    "BAD_PKEY_CNTR": "BAD_PKEY_COUNTER", "BAD_QKEY_CNTR": "BAD_QKEY_COUNTER",
    "AUTO_PATH_MIG": "AUTO_PATH_MIGRATION", "CHANGE_PHY_PORT": "CHANGE_PHYSICAL_PORT",
    "UD_AV_PORT_ENFORCE": "UD_AV_PORT_ENFORCED", "SYS_IMAGE_GUID": "SYSTEM_IMAGE_GUID",
    "RC_RNR_NAK_GEN": "RC_RNR_NAK", "MEM_WINDOW": "MEMORY_WINDOWS",
    "MEM_MGT_EXTENSIONS": "FAST_REGISTER", "MEM_WINDOW_TYPE_2B": "MEMORY_WINDOWS_2B",
}
STATES = {"PORT_ACTIVE": "Active", "PORT_DOWN": "Down"}
PHYSICAL_STATES = {"LINK_UP": "LinkUp", "DISABLED": "Disabled"}
PORT_CAPABILITIES = {"IS_SM": 1 << 1, "CM_SUP": 1 << 16, "DEV_MGMT_SUP": 1 << 19}
SPEEDS = {1: "SDR", 2: "DDR", 4: "QDR", 8: "FDR10", 16: "FDR", 32: "EDR", 64: "HDR", 128: "NDR"}


def number(text):
    """Parses 0x10, 16, 16kbps, "4096 (5)"; an invalid value is 0."""
    if text.startswith("invalid value"):
        return 0
    return int(re.match(r"0[xX][0-9a-fA-F]+|\d+", text)[0], 0)


def code(text):
    """Returns 16 for "FDR (16)"."""
    return int(re.search(r"\((-?\d+)\)$", text)[1])


def understood(text):
    """Returns two dictionaries for one device: its own values and its port's. A name with lines below it,
    or without a value, has a list."""
    device, port = {}, {}
    into, last = device, None
    for line in text.splitlines():
        words = line.strip()
        name, colon, value = words.partition(":")
        if not words:
            continue
        if words.startswith("port:"):
            into = port
        elif line.startswith("\t\t\t\t\t"):
            before = into[last] if isinstance(into[last], list) else [into[last]]
            into[last] = [*before, words]
        elif "not supported" in words:
            into[words] = []
        else:
            last = name
            into[name] = value.strip() if colon and value.strip() else []
    return device, port


def member(of, path):
    for name in path.split("."):
        of = of[name]
    return int(of, 0) if isinstance(of, str) else of


# The output of irpctl shows that it listens (the heading), and then each event.
LINK_GOES_DOWN_AND_UP = f"""
    touch /tmp/events
    {shlex.quote(IRPCTL)} --hca rdma:rxe0 events > /tmp/events &
    until grep -q EVENT /tmp/events; do :; done
    ip link set rx0 down
    until grep -q PORT_ERR /tmp/events; do :; done
    {DEVINFO} -d rxe0 | grep state:
    ip link set rx0 up
    until grep -q PORT_ACTIVE /tmp/events; do :; done
    {DEVINFO} -d rxe0 | grep state:
    cat /tmp/events"""


def commands():
    made = {}
    for device in DEVICES:
        made[f"{device} devinfo"] = f"{DEVINFO} -v -d {device}"
        for command in ("devices", "port"):
            made[f"{device} {command}"] = shlex.join(
                [IRPCTL, "--hca", f"rdma:{device}", "--json", command])
    return {**made, "events": LINK_GOES_DOWN_AND_UP}


class DevinfoTest(unittest.TestCase):
    said = {}
    maxDiff = None

    def devinfo(self, device):
        return understood(self.said[f"{device} devinfo"][1])

    def irpctl(self, device, command):
        return json.loads(self.said[f"{device} {command}"][1])

    def each_device(self):
        for name in DEVICES:
            ours, = self.irpctl(name, "devices")
            yield name, self.devinfo(name), ours, self.irpctl(name, "port")

    def test_every_command_succeeds(self):
        self.assertEqual({name: status for name, (status, _) in self.said.items() if status != 0},
                         {})

    def test_numbers_equal_ibv_devinfo(self):
        for _, theirs, ours, port in self.each_device():
            for names, said, of in ((NUMBERS_OF_DEVICE, theirs[0], ours),
                                    (NUMBERS_OF_PORT, theirs[1], port)):
                for name, path in names.items():
                    self.assertEqual(number(said[name]), member(of, path), name)

    def test_missing_limits_are_0(self):
        for _, (theirs, _), ours, _ in self.each_device():
            for name, path in NONE_OF_DEVICE.items():
                self.assertIn(theirs[name], ([], ["NO SUPPORT"]), name)
                self.assertEqual(member(ours, path), 0, name)

    def test_names_and_guids_equal_ibv_devinfo(self):
        for name, (theirs, _), ours, _ in self.each_device():
            self.assertEqual(theirs["hca_id"], name)
            self.assertEqual(ours["device"], name)
            self.assertEqual(theirs["fw_ver"], ours["firmware"])
            self.assertEqual(theirs["transport"].split()[0], ours["transport"])
            self.assertEqual(theirs["atomic_cap"].split()[0].removeprefix("ATOMIC_").lower(),
                             ours["limits"]["atomicity"].lower())
            for guid, own in (("node_guid", "node_guid"), ("sys_image_guid", "system_image_guid")):
                self.assertEqual("0x" + theirs[guid].replace(":", ""), ours[own])
            self.assertEqual(number(theirs["phys_port_cnt"]), len(ours["ports"]))

    def test_capabilities_equal_ibv_devinfo(self):
        for _, (theirs, _), ours, _ in self.each_device():
            flags, *names = theirs["device_cap_flags"]
            self.assertEqual(number(flags), member(ours, "extended.device_flags") & 0xFFFFFFFF)
            expected = {CAPABILITIES.get(each, each) for each in names}
            expected.discard("AUTO_PATH_MIGRATION")  # the kernel refuses alternate paths of Ethernet
            if number(theirs["max_mcast_grp"]) != 0:
                expected.add("UD_MULTICAST")  # libibverbs has no flag for it
            self.assertEqual(set(ours["capabilities"]), expected)

    def test_port_equals_ibv_devinfo(self):
        for _, (_, theirs), ours, port in self.each_device():
            self.assertEqual(STATES[theirs["state"].split()[0]], port["state"])
            self.assertEqual(theirs["link_layer"], port["link_layer"])
            self.assertEqual(port["link"], f"{theirs['active_width'].split()[0]} "
                                           f"{SPEEDS[code(theirs['active_speed'])]}")
            self.assertEqual(number(theirs["port_cap_flags"]),
                             sum(PORT_CAPABILITIES[each] for each in port["capabilities"]))
            self.assertEqual(number(theirs["max_vl_num"]), port["max_vls"])
            brief, = ours["ports"]
            self.assertEqual(brief, {key: port[key] for key in brief})

    def test_infiniband_port_has_gids_and_a_physical_state(self):
        theirs, port = self.devinfo("rxe0")[1], self.irpctl("rxe0", "port")
        self.assertEqual(PHYSICAL_STATES[theirs["phys_state"].split()[0]], port["physical_state"])
        gids = {int(name[4:-1]): ipaddress.IPv6Address(value.split(",")[0])
                for name, value in theirs.items() if name.startswith("GID[")}
        self.assertEqual({each["index"]: ipaddress.IPv6Address(each["gid"]) for each in port["gids"]}, gids)
        self.assertEqual(len(gids), 2)

    def test_nothing_else_is_printed(self):
        """A later ibv_devinfo may print a field that no test here compares."""
        of_device = {*NUMBERS_OF_DEVICE, *NONE_OF_DEVICE, *HEADINGS, "hca_id", "transport", "fw_ver",
                     "node_guid", "sys_image_guid", "phys_port_cnt", "device_cap_flags",
                     "atomic_cap"}
        of_port = {*NUMBERS_OF_PORT, "state", "link_layer", "active_width", "active_speed",
                   "port_cap_flags", "max_vl_num"}
        for name, (device, port), _, _ in self.each_device():
            more = {"phys_state", "GID[  0]", "GID[  1]"} if name == "rxe0" else set()
            self.assertEqual(set(device), of_device)
            self.assertEqual(set(port), of_port | more)

    def test_gids_have_one_type(self):
        """The one field that irpctl does not print: the channel interface names GIDs by their index,
        and has no GID type (docs/decisions/verbs.md)."""
        types = {value.split(", ")[1] for name, value in self.devinfo("rxe0")[1].items()
                 if name.startswith("GID[")}
        self.assertEqual(types, {"RoCE v2"})

    def test_events_match_the_state(self):
        said = self.said["events"][1].splitlines()
        self.assertEqual([each.split()[1] for each in said[:2]], ["PORT_DOWN", "PORT_ACTIVE"])
        events = [line.split()[1:] for line in said[3:]]
        states = [event for device, port, event in events
                  if (device, port) == ("rxe0", "1") and event in ("PORT_ERR", "PORT_ACTIVE")]
        self.assertEqual(states[:2], ["PORT_ERR", "PORT_ACTIVE"])
        self.assertEqual({tuple(each[:2]) for each in events}, {("rxe0", "1")})


if __name__ == "__main__":
    ended, DevinfoTest.said = guest_script.run("rxe,siw", [DEVINFO, IRPCTL], commands())
    if ended != 0:
        sys.exit(ended)
    unittest.main()
