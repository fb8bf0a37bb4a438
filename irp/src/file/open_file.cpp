#include "open_file.hpp"

#include "completion/completion_port.hpp"
#include "irql_rules.hpp"
#include "packet/build.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/faults.hpp>

#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace irpverbs::irp {
namespace {

using namespace dispatch::detail;

open_file& file_of(OBJECT_HEADER& object) {
    return open_file_of(*CONTAINING_RECORD(&object, FILE_OBJECT, Header));
}
const open_file& file_of(const OBJECT_HEADER& object) {
    return file_of(const_cast<OBJECT_HEADER&>(object));
}

// The reserved IRP, or one with more locations if devices were attached since the open.
IRP* last_irp_for(open_file& file, const DEVICE_OBJECT& top) {
    if (file.last_irp->StackCount >= top.StackSize) {
        IoReuseIrp(file.last_irp, STATUS_SUCCESS);
        return file.last_irp;
    }
    IoFreeIrp(file.last_irp);
    while ((file.last_irp = IoAllocateIrp(top.StackSize, FALSE)) == nullptr) {
        LARGE_INTEGER millisecond;
        millisecond.QuadPart = -10'000;
        KeDelayExecutionThread(KernelMode, FALSE, &millisecond);
    }
    return file.last_irp;
}

void send_last(open_file& file, UCHAR major) {
    DEVICE_OBJECT* top = IoGetRelatedDeviceObject(&file);
    IRP* irp = last_irp_for(file, *top);
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = major;
    next->FileObject = &file;
    send_synchronously(top, irp);
}

// The file has no reference any more.
void close_file(open_file* file) {
    const std::unique_ptr<open_file> closed(file);
    if (file->created) {
        if (!file->abandoned) send_last(*file, IRP_MJ_CLOSE);
        __atomic_sub_fetch(&file->DeviceObject->ReferenceCount, 1, __ATOMIC_RELEASE);
    }
    dereference_completion_context(file->CompletionContext);
    IoFreeIrp(file->last_irp);
    file->Header.Signature = 0;
}

void close_in_worker(void* file) { close_file(static_cast<open_file*>(file)); }

void queue_close(open_file& file) {
    ExInitializeWorkItem(&file.closing, close_in_worker, &file);
    ExQueueWorkItem(&file.closing, DelayedWorkQueue);
}

// A simulated run that failed drops its handles when no code runs on its machine any more. Its
// files are kept for ever, where leak checkers find them.
void keep_abandoned(open_file& file) {
    static raw_spin_lock lock;
    static auto& kept = *new std::vector<open_file*>;
    const std::lock_guard guard(lock);
    kept.push_back(&file);
}

bool destroy_file(OBJECT_HEADER& object) {
    open_file& file = file_of(object);
    if (current == nullptr || current->owner != file.owner) {
        keep_abandoned(file);
        return true;
    }
    if (this_processor().irql == PASSIVE_LEVEL)
        close_file(&file);
    else
        queue_close(file);
    return true;
}

// A driver that deleted its device may be gone when the machine ends.
void handle_closed(OBJECT_HEADER& object, bool machine_ends) {
    open_file& file = file_of(object);
    if (__atomic_sub_fetch(&file.handles, 1, __ATOMIC_ACQ_REL) != 0) return;
    if (machine_ends && file.DeviceObject->Deleted != 0) {
        file.abandoned = true;
        return;
    }
    const synchronous_turn turn(file);
    send_last(file, IRP_MJ_CLEANUP);
    file.Flags |= FO_CLEANUP_COMPLETE;
}

DISPATCHER_HEADER* event_of(OBJECT_HEADER& object) { return &file_of(object).Event.Header; }

bool grants(const OBJECT_HEADER& object, ACCESS_MASK access) {
    return (file_of(object).granted & access) == access;
}

constexpr OBJECT_TYPE file_type{"file",        file_object_type, destroy_file, nullptr,
                                handle_closed, event_of,         grants};
POBJECT_TYPE file_type_pointer = const_cast<POBJECT_TYPE>(&file_type);

} // namespace

file_reference make_file(DEVICE_OBJECT& device, std::u16string name) {
    std::unique_ptr<open_file> made(fault_point("irp.file") ? nullptr
                                                            : new (std::nothrow) open_file{});
    if (made == nullptr) return {};
    made->last_irp = IoAllocateIrp(IoGetAttachedDevice(&device)->StackSize, FALSE);
    if (made->last_irp == nullptr) return {};
    initialize_object(made->Header, file_type);
    made->Type = IO_TYPE_FILE;
    made->Size = sizeof(FILE_OBJECT);
    made->DeviceObject = &device;
    made->owner = this_processor().owner;
    made->device = object_reference(&device.Header);
    made->name = std::move(name);
    made->FileName.Buffer = reinterpret_cast<PWSTR>(made->name.data());
    made->FileName.Length = static_cast<USHORT>(made->name.size() * sizeof(WCHAR));
    made->FileName.MaximumLength = made->FileName.Length;
    KeInitializeEvent(&made->Lock, SynchronizationEvent, TRUE);
    KeInitializeEvent(&made->Event, NotificationEvent, FALSE);
    KeInitializeSpinLock(&made->IrpListLock);
    InitializeListHead(&made->IrpList);
    return file_reference(made.release(), false);
}

NTSTATUS file_of(HANDLE handle, KPROCESSOR_MODE mode, ACCESS_MASK access, file_reference& file) {
    void* object = nullptr;
    const NTSTATUS status =
        ObReferenceObjectByHandle(handle, access, file_type_pointer, mode, &object, nullptr);
    if (NT_SUCCESS(status)) file = file_reference(static_cast<FILE_OBJECT*>(object), false);
    return status;
}

void dereference_completed(FILE_OBJECT& file) {
    if (drop_reference(file.Header)) queue_close(open_file_of(file));
}

synchronous_turn::synchronous_turn(FILE_OBJECT& file) : file_(file) {
    if (!is_synchronous(file)) return;
    __atomic_add_fetch(&file.Waiters, 1, __ATOMIC_RELAXED);
    KeWaitForSingleObject(&file.Lock, Executive, KernelMode, FALSE, nullptr);
    __atomic_sub_fetch(&file.Waiters, 1, __ATOMIC_RELAXED);
    file.Busy = TRUE;
}

synchronous_turn::~synchronous_turn() {
    if (!is_synchronous(file_)) return;
    file_.Busy = FALSE;
    KeSetEvent(&file_.Lock, IO_NO_INCREMENT, FALSE);
}

} // namespace irpverbs::irp

using namespace irpverbs::irp;

extern "C" {

POBJECT_TYPE* IoFileObjectType = &file_type_pointer;

PDEVICE_OBJECT IoGetRelatedDeviceObject(PFILE_OBJECT FileObject) {
    VERIFY_IRQL(IoGetRelatedDeviceObject);
    return IoGetAttachedDevice(FileObject->DeviceObject);
}

} // extern "C"
