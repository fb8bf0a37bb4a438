// Requests on files: the calls of user mode and of drivers.
#include "completion/completion_port.hpp"
#include "completion/finalize_irp.hpp"
#include "irql_rules.hpp"
#include "open_file.hpp"
#include "packet/build.hpp"
#include "packet/irp_allocation.hpp"

#include <irp/detail/file_request.hpp>

#include <dispatch/support/faults.hpp>

#include <memory>
#include <new>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;
using irpverbs::irp::detail::file_request;

namespace {

/// The parameters that all requests have.
struct file_call {
    KPROCESSOR_MODE mode;
    HANDLE event;
    PIO_APC_ROUTINE apc_routine;
    void* apc_context;
    PIO_STATUS_BLOCK status_block;
    bool waits; // also on an asynchronous file
};

// A request of a call. A synchronous call waits for `done` and deletes it.
struct called_request : file_request {
    object_reference event;
    PIO_STATUS_BLOCK to = nullptr;
    bool posts = false; // to the file's completion port
    bool waited_for = false;
    NTSTATUS result = STATUS_PENDING;
    KEVENT done{};
};

PKEVENT event_of(const called_request& request) {
    if (request.event == nullptr) return &request.file().Event;
    return reinterpret_cast<PKEVENT>(&request.event->Dispatcher);
}

// Windows reports the end of a request in three ways, and in none when it failed inside its call.
void report_end(called_request& request, IRP* irp) {
    const bool reported = irp->PendingReturned || !NT_ERROR(irp->IoStatus.Status);
    request.file().FinalStatus = irp->IoStatus.Status;
    if (reported) {
        write_status(request.to, irp->IoStatus);
        KeSetEvent(event_of(request), IO_NO_INCREMENT, FALSE);
    }
    if (reported && request.posts) {
        post_completion(irp);
        return;
    }
    if (request.posts) dereference_completion_context(irp->CompletionContext);
    IoFreeIrp(irp);
}

void end_call(file_request* base) {
    auto* request = static_cast<called_request*>(base);
    IRP* irp = request->irp();
    request->result = irp->IoStatus.Status;
    report_end(*request, irp);
    if (request->waited_for)
        KeSetEvent(&request->done, IO_NO_INCREMENT, FALSE);
    else
        delete request;
}

NTSTATUS event_of(HANDLE handle, KPROCESSOR_MODE mode, object_reference& event) {
    if (handle == nullptr) return STATUS_SUCCESS;
    void* object = nullptr;
    const NTSTATUS status =
        ObReferenceObjectByHandle(handle, 0, *ExEventObjectType, mode, &object, nullptr);
    if (NT_SUCCESS(status)) event = object_reference(static_cast<OBJECT_HEADER*>(object), false);
    return status;
}

// Null: memory is short.
std::unique_ptr<called_request> make_request(const file_call& call, FILE_OBJECT& file,
                                             object_reference event, IRP* irp) {
    std::unique_ptr<called_request> made(
        fault_point("irp.file_request") ? nullptr : new (std::nothrow) called_request);
    if (made == nullptr) return made;
    made->event = std::move(event);
    made->to = call.status_block;
    made->set_identity(KeGetCurrentThread(), call.status_block);
    made->waited_for = call.waits || is_synchronous(file);
    KeInitializeEvent(&made->done, NotificationEvent, FALSE);
    made->posts = file.CompletionContext != nullptr && call.apc_context != nullptr;
    if (made->posts) {
        IoSetCompletionContext(irp, file.CompletionContext, call.apc_context);
        irp->AllocationFlags |= thread_bound; // the port frees it
    }
    return made;
}

// Sends the request; on a synchronous file, waits for its end.
NTSTATUS send(std::unique_ptr<called_request> request, FILE_OBJECT& file, IRP* irp,
              ULONG output_length) {
    KeClearEvent(&file.Event);
    if (request->event != nullptr)
        KeClearEvent(reinterpret_cast<PKEVENT>(&request->event->Dispatcher));
    called_request* sent = request.release();
    const bool waits = sent->waited_for;
    const NTSTATUS status = sent->start(file, irp, output_length, end_call);
    if (!waits) return status;
    request.reset(sent);
    KeWaitForSingleObject(&sent->done, Executive, KernelMode, FALSE, nullptr);
    return sent->result;
}

// Makes a request whose buffers `add(irp, device)` adds, and sends it.
template <class Add>
NTSTATUS call(const file_call& how, FILE_OBJECT& file, UCHAR major, ULONG output_length,
              const Add& add) {
    if (how.apc_routine != nullptr) return STATUS_NOT_SUPPORTED;
    object_reference event;
    const NTSTATUS status = event_of(how.event, how.mode, event);
    if (!NT_SUCCESS(status)) return status;
    const synchronous_turn turn(file);
    DEVICE_OBJECT* top = IoGetRelatedDeviceObject(&file);
    IRP* irp = IoAllocateIrp(top->StackSize, FALSE);
    if (irp == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    irp->RequestorMode = how.mode;
    irp->Tail.Overlay.Thread = KeGetCurrentThread();
    irp->Tail.Overlay.OriginalFileObject = &file;
    IoGetNextIrpStackLocation(irp)->MajorFunction = major;
    std::unique_ptr<called_request> request;
    if (add(irp, *top)) request = make_request(how, file, std::move(event), irp);
    if (request == nullptr) {
        free_buffers(irp);
        IoFreeIrp(irp);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    return send(std::move(request), file, irp, output_length);
}

bool is_missing(KPROCESSOR_MODE mode, const void* buffer, ULONG length) {
    return mode == UserMode && buffer == nullptr && length != 0;
}

// Stores in `offset` the offset of a transfer. False: it is wrong or missing.
bool read_offset(const FILE_OBJECT& file, bool writes, const LARGE_INTEGER* given,
                 LARGE_INTEGER& offset) {
    const bool at_pointer = given == nullptr || (given->HighPart == -1 &&
                                                 given->LowPart == FILE_USE_FILE_POINTER_POSITION);
    if (at_pointer) {
        offset = file.CurrentByteOffset;
        return is_synchronous(file);
    }
    offset = *given;
    const bool to_end =
        writes && given->HighPart == -1 && given->LowPart == FILE_WRITE_TO_END_OF_FILE;
    return to_end || given->QuadPart >= 0;
}

struct transfer {
    void* buffer;
    ULONG length;
    const LARGE_INTEGER* offset;
    const ULONG* key;
};

bool may_write(const FILE_OBJECT& file) {
    return (static_cast<const open_file&>(file).granted & (FILE_WRITE_DATA | FILE_APPEND_DATA)) !=
           0;
}

NTSTATUS move(const file_call& how, HANDLE handle, UCHAR major, const transfer& what) {
    const bool writes = major == IRP_MJ_WRITE;
    file_reference file;
    const NTSTATUS status = file_of(handle, how.mode, writes ? 0 : FILE_READ_DATA, file);
    if (!NT_SUCCESS(status)) return status;
    if (writes && how.mode == UserMode && !may_write(*file)) return STATUS_ACCESS_DENIED;
    if (is_missing(how.mode, what.buffer, what.length)) return STATUS_ACCESS_VIOLATION;
    LARGE_INTEGER offset{};
    if (!read_offset(*file, writes, what.offset, offset)) return STATUS_INVALID_PARAMETER;
    return call(how, *file, major, what.length, [&](IRP* irp, const DEVICE_OBJECT& device) {
        if (what.key != nullptr) IoGetNextIrpStackLocation(irp)->Parameters.Read.Key = *what.key;
        return add_transfer(irp, device, what.buffer, what.length, &offset);
    });
}

NTSTATUS control(const file_call& how, HANDLE handle, ULONG code, const control_buffers& buffers) {
    file_reference file;
    const NTSTATUS status = file_of(handle, how.mode, rights_of_control_code(code), file);
    if (!NT_SUCCESS(status)) return status;
    if (METHOD_FROM_CTL_CODE(code) != METHOD_NEITHER &&
        (is_missing(how.mode, buffers.input, buffers.input_length) ||
         is_missing(how.mode, buffers.output, buffers.output_length)))
        return STATUS_ACCESS_VIOLATION;
    return call(how, *file, IRP_MJ_DEVICE_CONTROL, buffers.output_length,
                [&](IRP* irp, const DEVICE_OBJECT&) { return add_control(irp, code, buffers); });
}

file_call waiting_call(KPROCESSOR_MODE mode, PIO_STATUS_BLOCK status_block) {
    return {mode, nullptr, nullptr, nullptr, status_block, true};
}

NTSTATUS flush(KPROCESSOR_MODE mode, HANDLE handle, PIO_STATUS_BLOCK status_block) {
    file_reference file;
    const NTSTATUS status = file_of(handle, mode, 0, file);
    if (!NT_SUCCESS(status)) return status;
    if (mode == UserMode && !may_write(*file)) return STATUS_ACCESS_DENIED;
    return call(waiting_call(mode, status_block), *file, IRP_MJ_FLUSH_BUFFERS, 0,
                [](IRP*, const DEVICE_OBJECT&) { return true; });
}

NTSTATUS associate(FILE_OBJECT& file, const void* information, ULONG length) {
    if (length < sizeof(FILE_COMPLETION_INFORMATION)) return STATUS_INFO_LENGTH_MISMATCH;
    if (is_synchronous(file)) return STATUS_INVALID_PARAMETER;
    const auto& wanted = *static_cast<const FILE_COMPLETION_INFORMATION*>(information);
    return associate_port(file.CompletionContext, wanted.Port, wanted.Key);
}

struct information {
    void* buffer;
    ULONG length;
    FILE_INFORMATION_CLASS type;
};

NTSTATUS exchange_information(const file_call& how, HANDLE handle, UCHAR major,
                              const information& what) {
    file_reference file;
    const NTSTATUS status = file_of(handle, how.mode, 0, file);
    if (!NT_SUCCESS(status)) return status;
    if (is_missing(how.mode, what.buffer, what.length)) return STATUS_ACCESS_VIOLATION;
    if (major == IRP_MJ_SET_INFORMATION && what.type == FileCompletionInformation) {
        const IO_STATUS_BLOCK result{{associate(*file, what.buffer, what.length)}, 0};
        if (NT_SUCCESS(result.Status)) write_status(how.status_block, result);
        return result.Status;
    }
    return call(how, *file, major, what.length, [&](IRP* irp, const DEVICE_OBJECT&) {
        auto& parameters = IoGetNextIrpStackLocation(irp)->Parameters.QueryFile; // as SetFile
        parameters.Length = what.length;
        parameters.FileInformationClass = what.type;
        return add_information(irp, what.buffer, what.length);
    });
}

} // namespace

extern "C" {

NTSTATUS NtReadFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
                    PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer, ULONG Length,
                    PLARGE_INTEGER ByteOffset, PULONG Key) {
    VERIFY_IRQL(NtReadFile);
    return move({UserMode, Event, ApcRoutine, ApcContext, IoStatusBlock, false}, FileHandle,
                IRP_MJ_READ, {Buffer, Length, ByteOffset, Key});
}

NTSTATUS ZwReadFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
                    PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer, ULONG Length,
                    PLARGE_INTEGER ByteOffset, PULONG Key) {
    VERIFY_IRQL(ZwReadFile);
    return move({KernelMode, Event, ApcRoutine, ApcContext, IoStatusBlock, false}, FileHandle,
                IRP_MJ_READ, {Buffer, Length, ByteOffset, Key});
}

NTSTATUS NtWriteFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
                     PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer, ULONG Length,
                     PLARGE_INTEGER ByteOffset, PULONG Key) {
    VERIFY_IRQL(NtWriteFile);
    return move({UserMode, Event, ApcRoutine, ApcContext, IoStatusBlock, false}, FileHandle,
                IRP_MJ_WRITE, {Buffer, Length, ByteOffset, Key});
}

NTSTATUS ZwWriteFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine, PVOID ApcContext,
                     PIO_STATUS_BLOCK IoStatusBlock, PVOID Buffer, ULONG Length,
                     PLARGE_INTEGER ByteOffset, PULONG Key) {
    VERIFY_IRQL(ZwWriteFile);
    return move({KernelMode, Event, ApcRoutine, ApcContext, IoStatusBlock, false}, FileHandle,
                IRP_MJ_WRITE, {Buffer, Length, ByteOffset, Key});
}

NTSTATUS NtDeviceIoControlFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                               PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
                               ULONG IoControlCode, PVOID InputBuffer, ULONG InputBufferLength,
                               PVOID OutputBuffer, ULONG OutputBufferLength) {
    VERIFY_IRQL(NtDeviceIoControlFile);
    return control({UserMode, Event, ApcRoutine, ApcContext, IoStatusBlock, false}, FileHandle,
                   IoControlCode,
                   {InputBuffer, InputBufferLength, OutputBuffer, OutputBufferLength});
}

NTSTATUS ZwDeviceIoControlFile(HANDLE FileHandle, HANDLE Event, PIO_APC_ROUTINE ApcRoutine,
                               PVOID ApcContext, PIO_STATUS_BLOCK IoStatusBlock,
                               ULONG IoControlCode, PVOID InputBuffer, ULONG InputBufferLength,
                               PVOID OutputBuffer, ULONG OutputBufferLength) {
    VERIFY_IRQL(ZwDeviceIoControlFile);
    return control({KernelMode, Event, ApcRoutine, ApcContext, IoStatusBlock, false}, FileHandle,
                   IoControlCode,
                   {InputBuffer, InputBufferLength, OutputBuffer, OutputBufferLength});
}

NTSTATUS NtFlushBuffersFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock) {
    VERIFY_IRQL(NtFlushBuffersFile);
    return flush(UserMode, FileHandle, IoStatusBlock);
}

NTSTATUS ZwFlushBuffersFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock) {
    VERIFY_IRQL(ZwFlushBuffersFile);
    return flush(KernelMode, FileHandle, IoStatusBlock);
}

NTSTATUS NtSetInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                              PVOID FileInformation, ULONG Length,
                              FILE_INFORMATION_CLASS FileInformationClass) {
    VERIFY_IRQL(NtSetInformationFile);
    return exchange_information(waiting_call(UserMode, IoStatusBlock), FileHandle,
                                IRP_MJ_SET_INFORMATION,
                                {FileInformation, Length, FileInformationClass});
}

NTSTATUS ZwSetInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                              PVOID FileInformation, ULONG Length,
                              FILE_INFORMATION_CLASS FileInformationClass) {
    VERIFY_IRQL(ZwSetInformationFile);
    return exchange_information(waiting_call(KernelMode, IoStatusBlock), FileHandle,
                                IRP_MJ_SET_INFORMATION,
                                {FileInformation, Length, FileInformationClass});
}

NTSTATUS NtQueryInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                PVOID FileInformation, ULONG Length,
                                FILE_INFORMATION_CLASS FileInformationClass) {
    VERIFY_IRQL(NtQueryInformationFile);
    return exchange_information(waiting_call(UserMode, IoStatusBlock), FileHandle,
                                IRP_MJ_QUERY_INFORMATION,
                                {FileInformation, Length, FileInformationClass});
}

NTSTATUS ZwQueryInformationFile(HANDLE FileHandle, PIO_STATUS_BLOCK IoStatusBlock,
                                PVOID FileInformation, ULONG Length,
                                FILE_INFORMATION_CLASS FileInformationClass) {
    VERIFY_IRQL(ZwQueryInformationFile);
    return exchange_information(waiting_call(KernelMode, IoStatusBlock), FileHandle,
                                IRP_MJ_QUERY_INFORMATION,
                                {FileInformation, Length, FileInformationClass});
}

} // extern "C"
