#include "completion/finalize_irp.hpp"
#include "object_namespace.hpp"
#include "open_file.hpp"
#include "packet/build.hpp"

#include <irp/file.hpp>

namespace irpverbs::irp {
namespace {

// Calls the completion routine of the originator's own location: no driver has the IRP.
void end_unsent(IRP* irp, NTSTATUS status) {
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = 0;
    const IO_STACK_LOCATION& own = *IoGetCurrentIrpStackLocation(irp);
    own.CompletionRoutine(nullptr, irp, own.Context);
}

} // namespace

namespace detail {

file_call::file_call(kind what, HANDLE handle, ULONG code, std::span<const std::byte> input,
                     std::span<std::byte> output, std::uint64_t offset)
    : kind_(what), code_(code), input_(input), output_(output), offset_(offset) {
    file_reference file;
    status_ = file_of(handle, UserMode, needed_access(), file);
    file_ = file.detach();
}

file_call::file_call(file_call&& other) noexcept
    : kind_(other.kind_), code_(other.code_), file_(std::exchange(other.file_, nullptr)),
      status_(other.status_), input_(other.input_), output_(other.output_), offset_(other.offset_) {
}

file_call::~file_call() {
    if (file_ != nullptr) dereference_completed(*file_);
}

ACCESS_MASK file_call::needed_access() const {
    switch (kind_) {
    case kind::read:
        return FILE_READ_DATA;
    case kind::write:
        return FILE_WRITE_DATA;
    default:
        return rights_of_control_code(code_);
    }
}

CCHAR file_call::stack_size() const {
    return static_cast<CCHAR>(file_ != nullptr ? IoGetRelatedDeviceObject(file_)->StackSize + 1
                                               : 1);
}

// Adds parameters and buffers to the location below the originator's.
NTSTATUS file_call::prepare(IRP* irp, const DEVICE_OBJECT& device) {
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    LARGE_INTEGER offset;
    offset.QuadPart = static_cast<LONGLONG>(offset_);
    if (offset.QuadPart < 0) return STATUS_INVALID_PARAMETER;
    void* input = const_cast<std::byte*>(input_.data());
    const auto input_length = static_cast<ULONG>(input_.size());
    const auto output_length = static_cast<ULONG>(output_.size());
    bool added = false;
    switch (kind_) {
    case kind::read:
        next->MajorFunction = IRP_MJ_READ;
        added = add_transfer(irp, device, output_.data(), output_length, &offset);
        break;
    case kind::write:
        next->MajorFunction = IRP_MJ_WRITE;
        added = add_transfer(irp, device, input, input_length, &offset);
        break;
    case kind::control:
        next->MajorFunction = IRP_MJ_DEVICE_CONTROL;
        added = add_control(irp, code_, {input, input_length, output_.data(), output_length});
    }
    return added ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

void file_call::start(IRP* irp) {
    IoSetNextIrpStackLocation(irp);
    if (file_ != nullptr) status_ = prepare(irp, *IoGetRelatedDeviceObject(file_));
    if (!NT_SUCCESS(status_)) {
        free_buffers(irp);
        end_unsent(irp, status_);
        return;
    }
    irp->RequestorMode = UserMode;
    request_.set_identity(KeGetCurrentThread(), nullptr);
    request_.start(*file_, irp, static_cast<ULONG>(output_.size()), nullptr);
}

} // namespace detail

file::file(std::u16string_view path, ACCESS_MASK access) {
    UNICODE_STRING name = string_of(path);
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE, nullptr, nullptr);
    IO_STATUS_BLOCK result{};
    const NTSTATUS status = NtCreateFile(&handle_, access, &attributes, &result, nullptr, 0, 0,
                                         FILE_OPEN, 0, nullptr, 0);
    if (!NT_SUCCESS(status)) throw dispatch::status_error(status, "the file was not opened");
}

NTSTATUS create_symbolic_link(std::u16string_view name, std::u16string_view target) {
    UNICODE_STRING from = string_of(name);
    UNICODE_STRING to = string_of(target);
    return IoCreateSymbolicLink(&from, &to);
}

NTSTATUS delete_symbolic_link(std::u16string_view name) {
    UNICODE_STRING path = string_of(name);
    return IoDeleteSymbolicLink(&path);
}

} // namespace irpverbs::irp
