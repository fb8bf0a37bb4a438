// "roce:" for HcaAttach: an HCA with one port, on an Ethernet interface.
#include "../driver.hpp"

#include "../adapter.hpp"

#include "ethernet_port.hpp"
#include "place.hpp"
#include "socket_wire.hpp"
#include "tap.hpp"
#include "tap_wire.hpp"

#include <new>

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

using roce::place;

std::optional<roce::interface> find_end(const place& at, NTSTATUS& status, std::string& problem) {
    if (at.how == roce::form::tap)
        return roce::find_other_end(at.name, at.addresses, status, problem);
    if (std::optional<roce::interface> found = roce::find_interface(at.name)) return found;
    status = STATUS_NO_SUCH_DEVICE;
    problem = at.name.empty() ? "expected an interface or an address, as in roce:eth0"
                              : at.name + ": no interface has this name or this address";
    return std::nullopt;
}

std::unique_ptr<roce::wire> make_wire(roce::ethernet_port& owner, roce::form how) {
    if (how == roce::form::tap) return std::make_unique<roce::tap_wire>(owner);
    return std::make_unique<roce::socket_wire>(
        owner, how == roce::form::raw ? roce::reception::raw : roce::reception::bound);
}

NTSTATUS attach_interface(const std::string& where, ULONG& count, void** attachment,
                          std::string& problem) {
    const std::optional<place> at = roce::parse_place(where, problem);
    if (!at) return STATUS_OBJECT_NAME_INVALID;
    NTSTATUS status = STATUS_SUCCESS;
    const std::optional<roce::interface> on = find_end(*at, status, problem);
    if (!on) return status;
    auto made = std::make_unique<fabric>(plan_of(*on, at->name));
    if (at->checked) made->check_memory();
    port& its = made->nodes()[0].ports[1];
    its.ethernet = std::make_unique<roce::ethernet_port>(*made, its);
    status = its.ethernet->open(make_wire(*its.ethernet, at->how), *on, problem);
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
