// Opening files.
#include "access_list.hpp"
#include "irql_rules.hpp"
#include "object_namespace.hpp"
#include "open_file.hpp"
#include "packet/build.hpp"

#include <irp/security_types.h>

#include <cstring>
#include <new>

using namespace irpverbs::irp;
using namespace irpverbs::dispatch::detail;

namespace {

constexpr ACCESS_MASK delete_right = 0x00010000;
constexpr ULONG synchronous_options = FILE_SYNCHRONOUS_IO_ALERT | FILE_SYNCHRONOUS_IO_NONALERT;

struct open_call {
    KPROCESSOR_MODE mode;
    ACCESS_MASK access;
    ULONG attributes;
    ULONG share;
    ULONG disposition;
    ULONG options;
    void* ea;
    ULONG ea_length;
    LARGE_INTEGER* allocation_size;
    bool force_check = false; // of a kernel-mode caller's access
};

ULONG flags_of(ULONG options) {
    ULONG flags = 0;
    if ((options & synchronous_options) != 0) flags |= FO_SYNCHRONOUS_IO;
    if ((options & FILE_SYNCHRONOUS_IO_ALERT) != 0) flags |= FO_ALERTABLE_IO;
    if ((options & FILE_NO_INTERMEDIATE_BUFFERING) != 0) flags |= FO_NO_INTERMEDIATE_BUFFERING;
    if ((options & FILE_WRITE_THROUGH) != 0) flags |= FO_WRITE_THROUGH;
    if ((options & FILE_SEQUENTIAL_ONLY) != 0) flags |= FO_SEQUENTIAL_ONLY;
    if ((options & FILE_RANDOM_ACCESS) != 0) flags |= FO_RANDOM_ACCESS;
    if ((options & FILE_DELETE_ON_CLOSE) != 0) flags |= FO_DELETE_ON_CLOSE;
    return flags;
}

bool is_valid(const open_call& call) {
    if (call.disposition > FILE_MAXIMUM_DISPOSITION) return false;
    if ((call.options & ~static_cast<ULONG>(FILE_VALID_OPTION_FLAGS)) != 0) return false;
    if ((call.share & ~static_cast<ULONG>(FILE_SHARE_VALID_FLAGS)) != 0) return false;
    const ULONG synchronous = call.options & synchronous_options;
    if (synchronous == synchronous_options) return false;
    return synchronous == 0 || (call.access & SYNCHRONIZE) != 0;
}

// Counts one more open file. False: the device is exclusive and has one.
bool count_file(DEVICE_OBJECT& device) {
    if ((device.Flags & DO_EXCLUSIVE) == 0) {
        __atomic_add_fetch(&device.ReferenceCount, 1, __ATOMIC_ACQUIRE);
        return true;
    }
    LONG none = 0;
    return __atomic_compare_exchange_n(&device.ReferenceCount, &none, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

void uncount_file(DEVICE_OBJECT& device) {
    __atomic_sub_fetch(&device.ReferenceCount, 1, __ATOMIC_RELEASE);
}

// The path of the call: from the root, or from the file of RootDirectory.
NTSTATUS find(const OBJECT_ATTRIBUTES& attributes, KPROCESSOR_MODE mode, file_reference& file) {
    const std::u16string_view path = view_of(*attributes.ObjectName);
    if (attributes.RootDirectory != nullptr) {
        file_reference root;
        const NTSTATUS status = file_of(attributes.RootDirectory, mode, 0, root);
        if (!NT_SUCCESS(status)) return status;
        file = make_file(*root->DeviceObject, std::u16string(path));
        if (file == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
        open_file_of(*file).related = object_reference(&root->Header);
        file->RelatedFileObject = root.get();
        return STATUS_SUCCESS;
    }
    object_namespace::found_device found;
    const NTSTATUS status = object_namespace::current()->find_device(path, found);
    if (!NT_SUCCESS(status)) return status;
    file = make_file(*found.device, std::move(found.rest));
    return file != nullptr ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
}

// The rights that the caller has to the file: all, or those of the device's descriptor.
ACCESS_MASK rights_to(const FILE_OBJECT& file, const open_call& call) {
    const DEVICE_OBJECT& device = *file.DeviceObject;
    const auto* access = static_cast<const access_list*>(device.SecurityDescriptor);
    const bool names_device = file.FileName.Length == 0 && file.RelatedFileObject == nullptr;
    if (access == nullptr || (call.mode == KernelMode && !call.force_check) ||
        !(names_device || (device.Characteristics & FILE_DEVICE_SECURE_OPEN) != 0))
        return ~ACCESS_MASK{0};
    return access->granted(IrpGetAccount());
}

// False: the caller has not the rights that it asks for.
bool grant(open_file& file, const open_call& call) {
    const ACCESS_MASK rights = rights_to(file, call);
    file.granted = specific_rights(call.access);
    if ((file.granted & ~rights) != 0) return false;
    if ((call.access & MAXIMUM_ALLOWED) != 0) file.granted |= rights & FILE_ALL_ACCESS;
    return rights != 0; // an account without rights opens nothing, also if it asks for none
}

void set_access(open_file& file, const open_call& call) {
    file.ReadAccess = (file.granted & (FILE_READ_DATA | FILE_EXECUTE)) != 0;
    file.WriteAccess = (file.granted & (FILE_WRITE_DATA | FILE_APPEND_DATA)) != 0;
    file.DeleteAccess = (file.granted & delete_right) != 0;
    file.SharedRead = (call.share & FILE_SHARE_READ) != 0;
    file.SharedWrite = (call.share & FILE_SHARE_WRITE) != 0;
    file.SharedDelete = (call.share & FILE_SHARE_DELETE) != 0;
    file.Flags = flags_of(call.options);
}

// Sends IRP_MJ_CREATE and waits.
NTSTATUS send_create(open_file& file, const open_call& call, IO_STATUS_BLOCK& result) {
    DEVICE_OBJECT* top = IoGetRelatedDeviceObject(&file);
    IRP* irp = IoAllocateIrp(top->StackSize, FALSE);
    if (irp == nullptr) return STATUS_INSUFFICIENT_RESOURCES;
    ACCESS_STATE state{};
    state.OriginalDesiredAccess = call.access;
    state.PreviouslyGrantedAccess = file.granted;
    state.SubjectSecurityContext.PrimaryToken = token_of(IrpGetAccount());
    IO_SECURITY_CONTEXT security{};
    security.AccessState = &state;
    security.DesiredAccess = file.granted;
    security.FullCreateOptions = call.options;
    irp->RequestorMode = call.mode;
    irp->AssociatedIrp.SystemBuffer = call.ea;
    if (call.allocation_size != nullptr) irp->Overlay.AllocationSize = *call.allocation_size;
    irp->Tail.Overlay.Thread = KeGetCurrentThread();
    irp->Tail.Overlay.OriginalFileObject = &file;
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_CREATE;
    next->FileObject = &file;
    next->Parameters.Create.SecurityContext = &security;
    next->Parameters.Create.Options = call.disposition << 24 | call.options;
    next->Parameters.Create.FileAttributes = static_cast<USHORT>(call.attributes);
    next->Parameters.Create.ShareAccess = static_cast<USHORT>(call.share);
    next->Parameters.Create.EaLength = call.ea_length;
    const NTSTATUS status = send_synchronously(top, irp);
    result = irp->IoStatus;
    IoFreeIrp(irp);
    return status;
}

NTSTATUS open(file_reference& file, const open_call& call, IO_STATUS_BLOCK& result) {
    DEVICE_OBJECT& device = *file->DeviceObject;
    if ((device.Flags & DO_DEVICE_INITIALIZING) != 0 || device.Deleted != 0)
        return STATUS_NO_SUCH_DEVICE;
    open_file& opened = open_file_of(*file);
    if (!grant(opened, call) || !count_file(device)) return STATUS_ACCESS_DENIED;
    set_access(opened, call);
    const NTSTATUS status = send_create(opened, call, result);
    if (NT_SUCCESS(status))
        opened.created = true;
    else
        uncount_file(device);
    return status;
}

// Gives the file its handle, which the driver learns of by IRP_MJ_CLEANUP if there is none.
NTSTATUS add_handle(file_reference& file, HANDLE& handle) {
    open_file& opened = open_file_of(*file);
    opened.handles = 1;
    opened.Flags |= FO_HANDLE_CREATED;
    handle = new_handle(object_reference(&file->Header));
    if (handle != nullptr) return STATUS_SUCCESS;
    file->Header.ObjectType->handle_closed(file->Header, false);
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS create(PHANDLE handle, POBJECT_ATTRIBUTES attributes, PIO_STATUS_BLOCK status_block,
                open_call call) try {
    if (attributes == nullptr || attributes->ObjectName == nullptr || !is_valid(call))
        return STATUS_INVALID_PARAMETER;
    call.force_check = (attributes->Attributes & OBJ_FORCE_ACCESS_CHECK) != 0;
    file_reference file;
    IO_STATUS_BLOCK result{};
    NTSTATUS status = find(*attributes, call.mode, file);
    if (NT_SUCCESS(status)) status = open(file, call, result);
    if (NT_SUCCESS(status)) status = add_handle(file, *handle);
    status_block->Information = result.Information;
    status_block->Status = status;
    return status;
} catch (const std::bad_alloc&) {
    return STATUS_INSUFFICIENT_RESOURCES;
}

} // namespace

extern "C" {

NTSTATUS NtCreateFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                      POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                      PLARGE_INTEGER AllocationSize, ULONG FileAttributes, ULONG ShareAccess,
                      ULONG CreateDisposition, ULONG CreateOptions, PVOID EaBuffer,
                      ULONG EaLength) {
    VERIFY_IRQL(NtCreateFile);
    return create(FileHandle, ObjectAttributes, IoStatusBlock,
                  {UserMode, DesiredAccess, FileAttributes, ShareAccess, CreateDisposition,
                   CreateOptions, EaBuffer, EaLength, AllocationSize});
}

NTSTATUS ZwCreateFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                      POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                      PLARGE_INTEGER AllocationSize, ULONG FileAttributes, ULONG ShareAccess,
                      ULONG CreateDisposition, ULONG CreateOptions, PVOID EaBuffer,
                      ULONG EaLength) {
    VERIFY_IRQL(ZwCreateFile);
    return create(FileHandle, ObjectAttributes, IoStatusBlock,
                  {KernelMode, DesiredAccess, FileAttributes, ShareAccess, CreateDisposition,
                   CreateOptions, EaBuffer, EaLength, AllocationSize});
}

NTSTATUS NtOpenFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                    POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                    ULONG ShareAccess, ULONG OpenOptions) {
    return NtCreateFile(FileHandle, DesiredAccess, ObjectAttributes, IoStatusBlock, nullptr, 0,
                        ShareAccess, FILE_OPEN, OpenOptions, nullptr, 0);
}

NTSTATUS ZwOpenFile(PHANDLE FileHandle, ACCESS_MASK DesiredAccess,
                    POBJECT_ATTRIBUTES ObjectAttributes, PIO_STATUS_BLOCK IoStatusBlock,
                    ULONG ShareAccess, ULONG OpenOptions) {
    return ZwCreateFile(FileHandle, DesiredAccess, ObjectAttributes, IoStatusBlock, nullptr, 0,
                        ShareAccess, FILE_OPEN, OpenOptions, nullptr, 0);
}

NTSTATUS IoGetDeviceObjectPointer(PUNICODE_STRING ObjectName, ACCESS_MASK DesiredAccess,
                                  PFILE_OBJECT* FileObject, PDEVICE_OBJECT* DeviceObject) {
    VERIFY_IRQL(IoGetDeviceObjectPointer);
    OBJECT_ATTRIBUTES attributes;
    InitializeObjectAttributes(&attributes, ObjectName, OBJ_KERNEL_HANDLE, nullptr, nullptr);
    HANDLE handle = nullptr;
    IO_STATUS_BLOCK result{};
    NTSTATUS status =
        ZwOpenFile(&handle, DesiredAccess, &attributes, &result, 0, FILE_NON_DIRECTORY_FILE);
    if (!NT_SUCCESS(status)) return status;
    file_reference file;
    status = file_of(handle, KernelMode, 0, file);
    ZwClose(handle);
    if (!NT_SUCCESS(status)) return status;
    *DeviceObject = IoGetRelatedDeviceObject(file.get());
    *FileObject = file.detach();
    return STATUS_SUCCESS;
}

} // extern "C"
