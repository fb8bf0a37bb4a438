#include "adapter.hpp"

#include <dispatch/machine.hpp>

namespace irpverbs::hca_software {

namespace {

// The firmware responds from another processor, and the verb's thread sleeps until then. HCAs with
// one command register were driven in this way.
struct firmware_answer {
    KEVENT given;
    KDPC dpc;
};

void answer(KDPC*, void* given, void*, void*) {
    KeSetEvent(static_cast<KEVENT*>(given), IO_NO_INCREMENT, FALSE);
}

// A pended close runs on the thread that releases the object last, at any IRQL.
bool left_to_others(IRP* irp) {
    return KeGetCurrentIrql() == DISPATCH_LEVEL &&
           (IoGetCurrentIrpStackLocation(irp)->Control & SL_PENDING_RETURNED) != 0;
}

NTSTATUS execute_blocking(IRP* irp) {
    firmware_answer coming;
    KeInitializeEvent(&coming.given, NotificationEvent, FALSE);
    KeInitializeDpc(&coming.dpc, answer, &coming.given);
    KeSetImportanceDpc(&coming.dpc, LowImportance);
    KeInsertQueueDpc(&coming.dpc, nullptr, nullptr);
    KeWaitForSingleObject(&coming.given, Executive, KernelMode, FALSE, nullptr);
    return HcaExecute(irp);
}

} // namespace

adapter::adapter(fabric& its_fabric, node& its_node)
    : fabric_(its_fabric), node_(its_node), attributes_(its_node.ports.size()),
      agents_(its_fabric) {
    HcaInitializeCommandQueue(&by_dpc_, HcaServeByDpc, nullptr);
    HcaInitializeCommandQueue(&by_worker_, HcaServeByWorkItem, execute_blocking);
}

adapter::~adapter() {
    if (device_ == nullptr) return;
    HcaRundownCommandQueue(&by_dpc_);
    HcaRundownCommandQueue(&by_worker_);
    HcaDeleteDevice(device_);
}

NTSTATUS adapter::start() {
    HCA_DEVICE description;
    HCA_DEVICE_INIT(&description);
    description.Operations = &operations;
    description.Name = node_.description.c_str();
    description.NodeGuid = node_.guid;
    description.PortCount = static_cast<UCHAR>(node_.ports.size() - 1);
    description.ExtensionSize = sizeof(device_part);
    description.CqExtensionSize = cq_extension_size();
    description.MadAgentExtensionSize = mad_agents::extension_size;
    DEVICE_OBJECT* made = nullptr;
    const NTSTATUS status = HcaCreateDevice(&description, &made);
    if (!NT_SUCCESS(status)) return status;
    static_cast<device_part*>(HcaDeviceExtension(made))->owner = this;
    device_ = made;
    return STATUS_SUCCESS;
}

port* adapter::find_port(ULONG number) const {
    return number != 0 && number < node_.ports.size() ? &node_.ports[number] : nullptr;
}

NTSTATUS adapter::submit_over(HCA_SOFTWARE_COMMANDS layer, IRP* irp) {
    switch (layer) {
    case HcaCommandsByDpc:
        return HcaQueueCommand(&by_dpc_, irp);
    case HcaCommandsBlocking:
        return left_to_others(irp) ? HcaQueueCommand(&by_worker_, irp) : execute_blocking(irp);
    case HcaCommandsBlockingWorker:
        return HcaQueueCommand(&by_worker_, irp);
    case HcaCommandsEither:
        if (dispatch::machine::current().fires("hca.software.pend", 2))
            return HcaQueueCommand(&by_dpc_, irp);
        break;
    case HcaCommandsInline:
    case HcaCommandsCount:
        break;
    }
    return HcaExecute(irp);
}

} // namespace irpverbs::hca_software
