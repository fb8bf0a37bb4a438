#include "tap.hpp"

#include "../node.hpp"

#include <dispatch/ke.h>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace irpverbs::hca_software::roce {

namespace {

constexpr const char* clone_device = "/dev/net/tun";

NTSTATUS explain_clone(int error, std::string& problem) {
    problem = std::string(clone_device) + ": " + std::strerror(error);
    if (error == EACCES || error == EPERM) return STATUS_ACCESS_DENIED;
    problem += "; TAP devices need the kernel's module tun";
    return STATUS_NO_SUCH_DEVICE;
}

NTSTATUS explain_device(const std::string& name, int error, std::string& problem) {
    problem = name + ": ";
    switch (error) {
    case EBUSY:
        problem += "another program has this TAP device";
        return STATUS_SHARING_VIOLATION;
    case EPERM:
        problem +=
            "the TAP device belongs to another user: its owner opens it (ip tuntap add dev " +
            name + " mode tap user NAME), or CAP_NET_ADMIN";
        return STATUS_ACCESS_DENIED;
    case EINVAL:
        problem += "it is no TAP device";
        return STATUS_NO_SUCH_DEVICE;
    default:
        problem += std::strerror(error);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

bool is_of_host(const ib_gid_t& address) {
    const bool is_none = is_ipv4(address) ? (address.gid_guid & 0xFFFFFFFF) == 0 ||
                                                (address.gid_guid & 0xFFFFFFFF) == 0xFFFFFFFF
                                          : address == ib_gid_t{};
    return !is_none && !ci::is_group(address);
}

NTSTATUS add_address(interface& to, const ib_gid_t& address, std::string& problem) {
    const std::string text = text_of(address);
    if (!is_of_host(address)) {
        problem = text + ": it is no address of a host";
        return STATUS_OBJECT_NAME_INVALID;
    }
    if (to.gids.size() == port::max_gids) {
        problem = text + ": it is one too many; an HCA has at most " +
                  std::to_string(port::max_gids - 1) + " addresses and its link-local one";
        return STATUS_OBJECT_NAME_INVALID;
    }
    if (find_interface(text)) {
        problem = text + ": it is an address of this computer; the HCA is a host of its own";
        return STATUS_SHARING_VIOLATION;
    }
    if (std::ranges::find(to.gids, address) != to.gids.end()) {
        problem = text + ": it is there twice";
        return STATUS_OBJECT_NAME_INVALID;
    }
    to.gids.push_back(address);
    return STATUS_SUCCESS;
}

// The system sends nothing by a device until it has noticed the carrier, which comes with the
// descriptor; that takes it some milliseconds.
void await_carrier(const std::string& name) {
    LARGE_INTEGER interval;
    interval.QuadPart = -10'000; // 1 ms
    for (int tries = 0; tries < 1000; ++tries) {
        const std::optional<interface> now = find_interface(name);
        if (!now || now->is_up) return;
        KeDelayExecutionThread(KernelMode, FALSE, &interval);
    }
}

std::optional<interface> find_tap(const std::string& name, NTSTATUS& status, std::string& problem) {
    std::optional<interface> found = find_interface(name);
    problem = name + ": ";
    if (name.size() >= IFNAMSIZ) {
        problem += "the name of an interface has at most 15 characters";
        status = STATUS_OBJECT_NAME_INVALID;
    } else if (!found || found->name != name) {
        problem += "no interface has this name; ip tuntap add dev NAME mode tap";
        status = STATUS_NO_SUCH_DEVICE;
    } else if (found->hardware == hardware_address{}) {
        problem += "it is no TAP device";
        status = STATUS_NO_SUCH_DEVICE;
    } else if (!found->is_enabled) {
        problem += "it is down; ip link set dev " + name + " up";
        status = STATUS_DEVICE_NOT_READY;
    } else {
        problem.clear();
        return found;
    }
    return std::nullopt;
}

} // namespace

std::optional<interface> find_other_end(const std::string& tap,
                                        const std::vector<ib_gid_t>& addresses, NTSTATUS& status,
                                        std::string& problem) {
    constexpr UCHAR local_bit = 2;
    constexpr UCHAR other_end = 0x40;
    std::optional<interface> found = find_tap(tap, status, problem);
    if (!found) return std::nullopt;
    found->hardware[0] = static_cast<UCHAR>((found->hardware[0] | local_bit) ^ other_end);
    found->guid = eui64_of(found->hardware);
    found->gids = {{0xFE80ull << 48, found->guid}};
    found->is_up = true;
    for (const ib_gid_t& each : addresses) {
        status = add_address(*found, each, problem);
        if (!NT_SUCCESS(status)) return std::nullopt;
    }
    return found;
}

std::optional<packet_descriptor> open_tap(const std::string& name, NTSTATUS& status,
                                          std::string& problem) {
    packet_descriptor made(::open(clone_device, O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (made.number() < 0) {
        status = explain_clone(errno, problem);
        return std::nullopt;
    }
    ifreq wanted{};
    std::copy_n(name.data(), std::min<std::size_t>(name.size(), IFNAMSIZ - 1), wanted.ifr_name);
    wanted.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(made.number(), TUNSETIFF, &wanted) != 0) {
        status = explain_device(name, errno, problem);
        return std::nullopt;
    }
    await_carrier(name);
    return made;
}

} // namespace irpverbs::hca_software::roce
