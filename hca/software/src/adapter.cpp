#include "adapter.hpp"

#include "address_vectors.hpp"
#include "memory_verbs.hpp"
#include "memory_windows.hpp"
#include "queue_pair.hpp"
#include "shared_receives.hpp"

#include <dispatch/machine.hpp>

namespace irpverbs::hca_software {

namespace {

// The firmware responds from another processor, and the verb's thread sleeps until then. HCAs with
// one command register were driven in this way.
struct firmware_response {
    KEVENT arrived;
    KDPC dpc;
};

void signal_response(KDPC*, void* arrived, void*, void*) {
    KeSetEvent(static_cast<KEVENT*>(arrived), IO_NO_INCREMENT, FALSE);
}

// A pended close runs on the thread that releases the object last, at any IRQL.
bool must_not_block(IRP* irp) {
    return KeGetCurrentIrql() == DISPATCH_LEVEL &&
           (IoGetCurrentIrpStackLocation(irp)->Control & SL_PENDING_RETURNED) != 0;
}

NTSTATUS execute_blocking(IRP* irp) {
    firmware_response response;
    KeInitializeEvent(&response.arrived, NotificationEvent, FALSE);
    KeInitializeDpc(&response.dpc, signal_response, &response.arrived);
    KeSetImportanceDpc(&response.dpc, LowImportance);
    KeInsertQueueDpc(&response.dpc, nullptr, nullptr);
    KeWaitForSingleObject(&response.arrived, Executive, KernelMode, FALSE, nullptr);
    return HcaExecute(irp);
}

} // namespace

adapter::adapter(fabric& its_fabric, node& its_node)
    : fabric_(its_fabric), node_(its_node), attributes_(its_node.ports.size()), agents_(its_fabric),
      traffic_(its_fabric, qps_), pds_(max_pds), avs_(max_avs), srqs_(max_srqs),
      xrc_domains_(max_xrc_domains) {
    HcaInitializeCommandQueue(&dpc_commands_, HcaServeByDpc, nullptr);
    HcaInitializeCommandQueue(&worker_commands_, HcaServeByWorkItem, execute_blocking);
    // Peers on Ethernet outlive the process: for them a number that was used a moment ago may still
    // have a connection.
    if (is_on_ethernet()) qps_.begin_at(dispatch::machine::current().random());
}

adapter::~adapter() {
    if (device_ == nullptr) return;
    HcaRundownCommandQueue(&dpc_commands_);
    HcaRundownCommandQueue(&worker_commands_);
    HcaDeleteDevice(device_);
}

NTSTATUS adapter::start() {
    HCA_DEVICE description;
    HCA_DEVICE_INIT(&description);
    description.Operations = &operations;
    description.Name = node_.description.c_str();
    description.NodeGuid = node_.guid;
    description.PortCount = static_cast<UCHAR>(node_.ports.size() - 1);
    description.ExtensionSize = sizeof(device_extension);
    description.CqExtensionSize = cq_extension_size();
    description.MadAgentExtensionSize = mad_agents::extension_size;
    description.MrExtensionSize = mr_extension_size;
    description.QpExtensionSize = sizeof(queue_pair);
    description.AvExtensionSize = av_extension_size;
    description.McastExtensionSize = sizeof(attachment);
    description.SrqExtensionSize = sizeof(shared_receives);
    description.MwExtensionSize = sizeof(memory_window);
    DEVICE_OBJECT* made = nullptr;
    const NTSTATUS status = HcaCreateDevice(&description, &made);
    if (!NT_SUCCESS(status)) return status;
    static_cast<device_extension*>(HcaDeviceExtension(made))->owner = this;
    device_ = made;
    return STATUS_SUCCESS;
}

port* adapter::find_port(ULONG number) const {
    return number != 0 && number < node_.ports.size() ? &node_.ports[number] : nullptr;
}

NTSTATUS adapter::submit_by(HCA_SOFTWARE_COMMANDS mode, IRP* irp) {
    switch (mode) {
    case HcaCommandsByDpc:
        return HcaQueueCommand(&dpc_commands_, irp);
    case HcaCommandsBlocking:
        return must_not_block(irp) ? HcaQueueCommand(&worker_commands_, irp)
                                   : execute_blocking(irp);
    case HcaCommandsBlockingWorker:
        return HcaQueueCommand(&worker_commands_, irp);
    case HcaCommandsEither:
        if (dispatch::machine::current().fires("hca.software.pend", 2))
            return HcaQueueCommand(&dpc_commands_, irp);
        break;
    case HcaCommandsInline:
    case HcaCommandsCount:
        break;
    }
    return HcaExecute(irp);
}

} // namespace irpverbs::hca_software
