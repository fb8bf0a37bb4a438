#include "adapter.hpp"

#include "address_vectors.hpp"
#include "failure.hpp"
#include "memory_verbs.hpp"
#include "memory_windows.hpp"
#include "qp_operations.hpp"
#include "shared_receives.hpp"
#include "verbs_attributes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace irpverbs::hca_rdma {

namespace {

constexpr const char* access_hint =
    ": it must be readable and writable (by root, or by a udev rule)";

// The first numbers of the objects' verbs.
enum object_block : unsigned {
#define CI_OBJECT(object, block) block_##object = block,
#define CI_VERB(...)
#include <ci/verbs.def>
};
constexpr unsigned block_mask = 0xF0;

// The first verb of an object creates it. An attachment has no command queue of its own.
bool is_creation(const IO_STACK_LOCATION* location) {
    const unsigned minor = location->MinorFunction;
    return (minor & ~block_mask) == 0 && minor != block_mcast;
}

// Returns the extension of the object whose commands are executed in their order, or null. That of
// an attachment is the queue pair.
object_extension* object_of(const IO_STACK_LOCATION* location) {
    void* object = location->Parameters.Others.Argument1;
    switch (location->MinorFunction & block_mask) {
    case block_cq:
        return &extension_of(static_cast<HCA_CQ*>(object));
    case block_pd:
        return &extension_of(static_cast<HCA_PD*>(object));
    case block_mr:
        return &extension_of(static_cast<HCA_MR*>(object));
    case block_mw:
        return &extension_of(static_cast<HCA_MW*>(object));
    case block_av:
        return &extension_of(static_cast<HCA_AV*>(object));
    case block_qp:
        return &extension_of(static_cast<HCA_QP*>(object));
    case block_mcast:
        return &extension_of(static_cast<HCA_MCAST*>(object)->Qp);
    default:
        return nullptr;
    }
}

} // namespace

adapter::adapter(const os_interface& os, std::string name)
    : os_(os), name_(std::move(name)), monitor_(os, name_),
      object_commands_(KeQueryActiveProcessorCount(nullptr)) {
    HcaInitializeCommandQueue(&commands_, HcaServeByWorkItem, nullptr);
    HcaInitializeCommandQueue(&sends_, HcaServeByWorkItem, nullptr);
    for (HCA_COMMAND_QUEUE& each : object_commands_)
        HcaInitializeCommandQueue(&each, HcaServeByWorkItem, execute_with_state);
}

adapter::~adapter() {
    if (device_ == nullptr) return;
    HcaRundownCommandQueue(&commands_);
    HcaRundownCommandQueue(&sends_);
    for (HCA_COMMAND_QUEUE& each : object_commands_)
        HcaRundownCommandQueue(&each);
    HcaDeleteDevice(device_);
}

NTSTATUS adapter::start(std::string& problem) {
    HCA_DEVICE description;
    HCA_DEVICE_INIT(&description);
    NTSTATUS status = read_verbs(problem, description.NodeGuid);
    if (NT_SUCCESS(status)) status = read_management(problem, description.NodeGuid);
    if (!NT_SUCCESS(status)) return status;
    description.Operations = &operations;
    description.Name = name_.c_str();
    description.PortCount = port_count();
    description.ExtensionSize = sizeof(device_extension);
    description.CaExtensionSize = sizeof(ca_extension);
    description.CqExtensionSize = sizeof(cq_extension);
    description.MadAgentExtensionSize = sizeof(agent_extension);
    description.PdExtensionSize = sizeof(pd_extension);
    description.MrExtensionSize = sizeof(mr_extension);
    description.AvExtensionSize = sizeof(av_extension);
    description.QpExtensionSize = sizeof(qp_extension);
    description.SrqExtensionSize = sizeof(srq_extension);
    description.MwExtensionSize = sizeof(mw_extension);
    DEVICE_OBJECT* made = nullptr;
    if (status = HcaCreateDevice(&description, &made); !NT_SUCCESS(status)) {
        problem = name_ + ": " +
                  (status == STATUS_OBJECT_NAME_COLLISION
                       ? "another HCA has its GUID; attach one of the two by its name"
                       : NtStatusMeaning(status));
        return status;
    }
    static_cast<device_extension*>(HcaDeviceExtension(made))->owner = this;
    device_ = made;
    return STATUS_SUCCESS;
}

// Opens the device to check for access. A device that is not in libibverbs' list has no verbs.
NTSTATUS adapter::read_verbs(std::string& problem, ib_guid_t& guid) {
    std::vector<verbs_device> there;
    if (const int error = find_devices(*os_.verbs, there); error != 0)
        return describe(error, "libibverbs", problem);
    const auto found = std::ranges::find(there, name_, &verbs_device::name);
    if (found == there.end()) return STATUS_SUCCESS;
    const open_device opened(*os_.verbs, *found);
    IB_CA_ATTR attr{};
    int error = cause_of(opened.error(), found->file);
    if (error == 0) error = verbs_query(*os_.verbs, opened.get()).device(attr);
    if (error != 0) return describe(error, found->file, problem);
    ports_.resize(std::min<std::size_t>(attr.PortCount, UCHAR_MAX));
    guid = found->guid;
    verbs_ = *found;
    limits_ = attr;
    return STATUS_SUCCESS;
}

// If libibverbs may not open a file it tries another one, and reports the error of that one.
int adapter::cause_of(int error, const std::string& file) const {
    const int own = error != 0 ? os_.try_file(file) : 0;
    return own == EACCES || own == EPERM ? own : error;
}

// Writes the reason why a device can't be used, in one line.
NTSTATUS adapter::describe(int error, const std::string& file, std::string& problem) const {
    if (is_gone(error)) {
        problem = name_ + ": it has been removed";
        return STATUS_DEVICE_REMOVED;
    }
    const bool denied = error == EACCES || error == EPERM;
    problem = (denied ? "" : name_ + ": ") + file + ": " + std::strerror(error) +
              (denied ? access_hint : "");
    return status_of(error);
}

// A management side with another GUID belongs to a device that has taken over the name.
NTSTATUS adapter::read_management(std::string& problem, ib_guid_t& guid) {
    if (has_verbs() && is_rnic(os_, name_)) return STATUS_SUCCESS;
    const ca_snapshot snapshot(os_, name_);
    const bool readable = snapshot.error() == 0 && snapshot.port_count() != 0;
    if (has_verbs() && (!readable || be64toh(snapshot->node_guid) != guid)) return STATUS_SUCCESS;
    if (!readable) {
        problem = name_ + ": libibumad can't read it: " +
                  (snapshot.error() != 0 ? std::strerror(snapshot.error()) : "it has no ports");
        return snapshot.gone() ? STATUS_DEVICE_REMOVED : STATUS_NO_SUCH_DEVICE;
    }
    guid = be64toh(snapshot->node_guid);
    if (!has_verbs()) ports_.resize(snapshot.port_count());
    const auto both = std::min<std::size_t>(ports_.size(), snapshot.port_count());
    for (unsigned number = 1; number <= both; ++number) {
        if (const NTSTATUS status = check_access(number, problem); !NT_SUCCESS(status))
            return status;
        const IB_PORT_ATTR attr = attributes_of(os_, snapshot.port(number)).fixed;
        ports_[number - 1] = {is_infiniband(snapshot.port(number)), attr.GidCount, attr.PKeyCount};
    }
    has_agents_ = true;
    return STATUS_SUCCESS;
}

// A port without a umad device exists, but has no agents.
NTSTATUS adapter::check_access(unsigned port, std::string& problem) const {
    const auto number = static_cast<int>(port);
    if (const int descriptor = os_.open_port(name_.c_str(), number); descriptor >= 0) {
        os_.close_port(descriptor);
        return STATUS_SUCCESS;
    }
    const int error = errno;
    if (error != EACCES && error != EPERM) return STATUS_SUCCESS;
    std::array<char, 256> path{};
    std::string file = "umad device of " + name_;
    // libibumad returns the name of the issm file; both file names end in the same number.
    if (os_.get_issm_path(name_.c_str(), number, path.data(), path.size()) == 0) {
        file = path.data();
        if (const std::size_t at = file.rfind("issm"); at != std::string::npos)
            file.replace(at, 4, "umad");
    }
    return describe(error, file, problem);
}

// ---- queues of the verbs

NTSTATUS adapter::submit(IRP* irp) {
    const IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(irp);
    if (location->MinorFunction == HCA_MN_SEND_MAD) return submit_send(location, irp);
    object_extension* object = object_of(location);
    return HcaQueueCommand(object != nullptr ? &commands_of(*object, location) : &commands_, irp);
}

NTSTATUS adapter::submit_send(const IO_STACK_LOCATION* location, IRP* irp) {
    const auto* agent = static_cast<HCA_MAD_AGENT*>(location->Parameters.Others.Argument1);
    // On Ethernet a send may wait a second for the neighbour's address.
    const bool sleeps = !port(agent->Agent.Attr.PortNumber).infiniband;
    return sleeps ? HcaQueueCommand(&sends_, irp) : HcaExecute(irp);
}

// Chooses the command queues in rotation, since the kernel executes several verbs at a time.
HCA_COMMAND_QUEUE& adapter::commands_of(object_extension& object,
                                        const IO_STACK_LOCATION* location) {
    if (is_creation(location)) object.command_queue = next_object_commands_.fetch_add(1);
    return object_commands_[object.command_queue % object_commands_.size()];
}

NTSTATUS adapter::acquire_device() {
    if (opens_ == 0) {
        if (verbs_) {
            const int error = cause_of(
                verbs_context::open(os_, *verbs_, device_, port_count(), context_), verbs_->file);
            if (is_gone(error)) HcaReportFatal(device_);
            if (error != 0) return status_of(error);
        }
        monitor_.start(device_, verbs_ ? &*verbs_ : nullptr, port_count());
    }
    ++opens_;
    return STATUS_SUCCESS;
}

void adapter::release_device() {
    if (--opens_ != 0) return;
    monitor_.stop();
    context_.reset();
}

} // namespace irpverbs::hca_rdma
