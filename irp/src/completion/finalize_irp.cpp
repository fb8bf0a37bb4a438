// The last stage of an IRP that no completion routine kept: see irp/build.h.
#include "finalize_irp.hpp"

#include "completion_port.hpp"
#include "irql_rules.hpp"
#include "packet/irp_allocation.hpp"

#include <irp/mdl.h>

#include <cstring>
#include <utility>

using namespace irpverbs::dispatch::detail;

namespace irpverbs::irp {
namespace {

// The originator's location is the top one; it still holds the parameters of the request.
ULONG output_length(const IRP* irp) {
    const auto* top = reinterpret_cast<const IO_STACK_LOCATION*>(irp + 1) + irp->StackCount - 1;
    return top->MajorFunction == IRP_MJ_READ ? top->Parameters.Read.Length
                                             : top->Parameters.DeviceIoControl.OutputBufferLength;
}

void copy_output(const IRP* irp, ULONG output_length) {
    const ULONG_PTR written = irp->IoStatus.Information;
    if (written > output_length)
        bug_check(DRIVER_VERIFIER_IOMANAGER_VIOLATION,
                  "IoCompleteRequest: Information is more than the output buffer holds", 0x312,
                  reinterpret_cast<ULONG_PTR>(irp), written, output_length);
    if (written != 0) std::memcpy(irp->UserBuffer, irp->AssociatedIrp.SystemBuffer, written);
}

void free_mdls(IRP* irp) {
    MDL* mdl = std::exchange(irp->MdlAddress, nullptr);
    while (mdl != nullptr) {
        MDL* next = mdl->Next;
        MmUnlockPages(mdl);
        IoFreeMdl(mdl);
        mdl = next;
    }
}

void complete_associated(IRP* associated) {
    IRP* master = associated->AssociatedIrp.MasterIrp;
    free_mdls(associated);
    free_allocated_irp(associated);
    sched_point(point::interlocked, master);
    if (__atomic_sub_fetch(&master->AssociatedIrp.IrpCount, 1, __ATOMIC_ACQ_REL) == 0)
        IoCompleteRequest(master, IO_NO_INCREMENT);
}

} // namespace

void free_buffers(IRP* irp) {
    if ((irp->Flags & IRP_DEALLOCATE_BUFFER) != 0)
        ExFreePool(std::exchange(irp->AssociatedIrp.SystemBuffer, nullptr));
    irp->Flags &= ~static_cast<ULONG>(IRP_DEALLOCATE_BUFFER);
    free_mdls(irp);
}

void return_buffers(IRP* irp, ULONG output_length) {
    constexpr ULONG copied = IRP_BUFFERED_IO | IRP_INPUT_OPERATION;
    if ((irp->Flags & copied) == copied && !NT_ERROR(irp->IoStatus.Status))
        copy_output(irp, output_length);
    free_buffers(irp);
}

void write_status(PIO_STATUS_BLOCK to, const IO_STATUS_BLOCK& status) {
    if (to == nullptr) return;
    to->Information = status.Information;
    __atomic_store_n(&to->Status, status.Status, __ATOMIC_RELEASE);
}

void finalize_irp(IRP* irp) {
    if ((irp->Flags & IRP_ASSOCIATED_IRP) != 0) {
        complete_associated(irp);
        return;
    }
    return_buffers(irp, output_length(irp));
    if ((irp->Flags & IRP_POST_COMPLETION) != 0) {
        // In an IRP of IoAllocateIrp, UserIosb holds its ApcContext.
        if ((irp->AllocationFlags & thread_bound) != 0) write_status(irp->UserIosb, irp->IoStatus);
        post_completion(irp);
        return;
    }
    const IO_STATUS_BLOCK status = irp->IoStatus;
    IO_STATUS_BLOCK* block = irp->UserIosb;
    KEVENT* event = irp->UserEvent;
    free_allocated_irp(irp); // before the event: its waiter may rely on the IRP's end
    write_status(block, status);
    if (event != nullptr) KeSetEvent(event, IO_NO_INCREMENT, FALSE);
}

} // namespace irpverbs::irp
