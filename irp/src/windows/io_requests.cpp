// Questions about a request, and settings of it on which nothing here depends.
#include "standard.hpp"

#include <irp/file_object.h>
#include <irp/irp.h>
#include <windows/wdk/files.h>
#include <windows/wdk/io.h>
#include <windows/wdk/resources.h>

extern "C" {

BOOLEAN IoIsOperationSynchronous(PIRP Irp) {
    constexpr ULONG waits = IRP_SYNCHRONOUS_API | IRP_SYNCHRONOUS_PAGING_IO;
    const FILE_OBJECT* const file = IoGetCurrentIrpStackLocation(Irp)->FileObject;
    return (Irp->Flags & waits) != 0 || (file != nullptr && (file->Flags & FO_SYNCHRONOUS_IO) != 0);
}

PIRP IoAllocateIrpEx(PDEVICE_OBJECT, CCHAR StackSize, BOOLEAN ChargeQuota) {
    return IoAllocateIrp(StackSize, ChargeQuota);
}

IO_PRIORITY_HINT IoGetIoPriorityHint(PIRP) { return IoPriorityNormal; }
NTSTATUS IoSetIoPriorityHint(PIRP, IO_PRIORITY_HINT) { return STATUS_SUCCESS; }
IO_PAGING_PRIORITY IoGetPagingIoPriority(PIRP) { return IoPagingPriorityInvalid; }

NTSTATUS IoGetActivityIdIrp(PIRP, GUID*) { return STATUS_NOT_FOUND; }
BOOLEAN IoIsFileOriginRemote(PFILE_OBJECT) { return FALSE; }

BOOLEAN IoRaiseInformationalHardError(NTSTATUS, PUNICODE_STRING, PKTHREAD) { return FALSE; }
BOOLEAN IoSetThreadHardErrorMode(BOOLEAN) { return TRUE; }

} // extern "C"
