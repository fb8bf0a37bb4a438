/// The HCAs that a program sees through the drop-in libraries.
#pragma once

#include <ci/ib_types.h>
#include <irp/wdm.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace irpverbs::drop_in {

struct device {
    std::string name; // "irpverbs0", the same in all drop-in libraries
    std::string host; // the HCA's own name, as HcaName
    ib_guid_t guid;
    DEVICE_OBJECT* fdo; // null: fdo_of attaches it
};

/// The HCAs of the program's host. The first call lists those of the environment variable
/// IRPVERBS_HCA, or attaches them, which starts the process's machine; the list then stays as it
/// is, and belongs to the process. Without IRPVERBS_HCA, when its HCAs can't be listed or attached,
/// and in the child of a fork whose parent has attached them, the list is empty: errno is ENODEV,
/// and the first such call writes the reason to standard error, in one line. Calls until the first
/// success try again. IRQL: PASSIVE_LEVEL.
std::span<const device> devices() noexcept;

/// The device object of an HCA of the list, which is attached now at the latest. Null as for an
/// empty list. IRQL: PASSIVE_LEVEL.
DEVICE_OBJECT* fdo_of(const device& which) noexcept;

/// The device of that name, or null. IRQL: PASSIVE_LEVEL.
const device* find_device(std::string_view name) noexcept;

/// The socket of the daemon that serves the HCAs to other processes, too; empty: they are this
/// process's alone. IRQL: PASSIVE_LEVEL.
std::string daemon_socket();

/// True in the child of a fork whose parent has attached HCAs: it has their memory, and none of the
/// threads that serve them. A call that would use an object of the parent fails with EIO. IRQL:
/// any.
bool is_forked_child() noexcept;

/// The error number that a system call of the kernel's drivers returns in such a case. IRQL: any.
int error_of(NTSTATUS status) noexcept;

/// An HCA of a URI.
struct listed_hca {
    std::string name;
    ib_guid_t guid;
};

/// Sets the function that lists the HCAs of a URI, the first one first, without attaching them: a
/// program that has only listed its devices may fork, and its child attaches them. Returns false if
/// it can't: they are attached instead. Throws std::exception with the reason of a failure. A
/// composition of the libraries sets it before main. IRQL: any.
void set_lister(bool (*list)(const std::string& uri, std::vector<listed_hca>& found)) noexcept;

/// Sets the function that runs the subnet manager of a fabric inside the process, once its HCAs are
/// attached. It is called with the URI, and throws std::exception when it fails. A composition of
/// the libraries sets it before main. IRQL: any.
void set_subnet_manager(void (*start)(const std::string& uri)) noexcept;

} // namespace irpverbs::drop_in
