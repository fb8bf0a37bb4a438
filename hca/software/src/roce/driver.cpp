// "roce:" for HcaAttach: an HCA with one port, on an Ethernet interface.
#include "../driver.hpp"

#include "../adapter.hpp"

#include "ethernet_port.hpp"

#include <algorithm>
#include <new>
#include <optional>

namespace irpverbs::hca_software {

namespace {

constexpr ULONG software_vendor = 0xFFFFFF; // as soft-RoCE has it

/// A subnet of that one HCA.
topology plan_of(const roce::interface& on, const std::string& name) {
    node_plan made;
    made.id = made.description = name;
    made.guid = made.system_image_guid = on.guid;
    made.vendor_id = software_vendor;
    made.ports.resize(2);
    made.ports[1].guid = on.guid;
    return {{made}};
}

/// The text behind "roce:".
struct place {
    std::string name; // of an interface, or an address
    roce::reception how = roce::reception::bound;
};

std::optional<place> parse_place(const std::string& where, std::string& problem) {
    const std::size_t mark = std::min(where.find('?'), where.size());
    place made{where.substr(0, mark)};
    if (mark == where.size()) return made;
    made.how = roce::reception::raw;
    if (where.substr(mark) == "?raw") return made;
    problem = where.substr(mark) + ": expected ?raw";
    return std::nullopt;
}

NTSTATUS attach_interface(const std::string& where, ULONG& count, void** attachment,
                          std::string& problem) {
    const std::optional<place> at = parse_place(where, problem);
    if (!at) return STATUS_OBJECT_NAME_INVALID;
    const std::string& name = at->name;
    const std::optional<roce::interface> on = roce::find_interface(name);
    if (!on) {
        problem = name.empty() ? "expected an interface or an address, as in roce:eth0"
                               : name + ": no interface has this name or this address";
        return STATUS_NO_SUCH_DEVICE;
    }
    auto made = std::make_unique<fabric>(plan_of(*on, name));
    port& its = made->nodes()[0].ports[1];
    its.ethernet = std::make_unique<roce::ethernet_port>(*made, its, at->how);
    NTSTATUS status = its.ethernet->open(*on, problem);
    if (NT_SUCCESS(status)) status = start_adapters(*made, count, problem);
    if (NT_SUCCESS(status)) status = its.ethernet->start(problem);
    if (NT_SUCCESS(status)) *attachment = made.release();
    return status;
}

NTSTATUS attach(const char* where, ULONG* count, void** attachment, char* message,
                SIZE_T message_size) {
    try {
        std::string problem;
        const NTSTATUS status = attach_interface(where, *count, attachment, problem);
        return set_message(status, message, message_size, problem);
    } catch (const std::bad_alloc&) {
        return set_message(STATUS_INSUFFICIENT_RESOURCES, message, message_size,
                           "not enough memory");
    }
}

} // namespace

HCA_DRIVER roce_driver = {"roce", attach, detach_fabric, nullptr};

} // namespace irpverbs::hca_software
