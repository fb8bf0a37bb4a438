// A verb called and waited for.
#ifndef IRPVERBS_IBMF_ENGINE_VERB_HPP
#define IRPVERBS_IBMF_ENGINE_VERB_HPP

#include <ci/ci.h>

namespace irpverbs::ibmf {

struct verb_result {
    NTSTATUS status;
    ULONG_PTR information;

    bool success() const { return NT_SUCCESS(status); }
    template <class Type>
    Type* object() const {
        return reinterpret_cast<Type*>(information);
    }
};

/// `verb(IRP*)` calls it. IRQL: PASSIVE_LEVEL.
template <class Verb>
verb_result call_verb(const Verb& verb) {
    IRP* irp = IoAllocateIrp(1, FALSE);
    if (irp == nullptr) return {STATUS_INSUFFICIENT_RESOURCES, 0};
    KEVENT done;
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    const auto tell = [](DEVICE_OBJECT*, IRP*, void* event) -> NTSTATUS {
        KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
        return STATUS_MORE_PROCESSING_REQUIRED;
    };
    IoSetCompletionRoutine(irp, tell, &done, TRUE, TRUE, TRUE);
    verb(irp);
    KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
    const verb_result result{irp->IoStatus.Status, irp->IoStatus.Information};
    IoFreeIrp(irp);
    return result;
}

} // namespace irpverbs::ibmf

#endif
