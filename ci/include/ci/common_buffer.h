/* Memory that a program shares with the daemons of its HCAs. Ours; the name is that of WDM's
   AllocateCommonBuffer: memory to which a processor and a device have access at the same time. */
#ifndef IRPVERBS_CI_COMMON_BUFFER_H
#define IRPVERBS_CI_COMMON_BUFFER_H

#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

/* Allocates Length bytes of zeros at the begin of a page: a common buffer. It is memory like any
   other, for all HCAs. Where the HCA is another process's ("user:"), a memory region that lies in
   one common buffer and has less than 4 GiB is passed to that process when it is registered; work
   requests then copy to and from it without a system call. All other memory is read and written
   through the system.
   Ownership: the buffer is the caller's until CiFreeCommonBuffer, and uses a descriptor. A child
   of fork has it, as other shared memory. No other process than the caller's children and the
   daemons of its HCAs has access. IRQL: PASSIVE_LEVEL.
   STATUS_SUCCESS: *Buffer is set. STATUS_INVALID_PARAMETER: Length is 0 or longer than any object.
   STATUS_INSUFFICIENT_RESOURCES: no memory or no descriptor is left. */
NT_API NTSTATUS CiAllocateCommonBuffer(SIZE_T Length, PVOID* Buffer);

/* Frees a common buffer, whose regions have been deregistered. NULL is ignored. IRQL:
   PASSIVE_LEVEL. */
NT_API VOID CiFreeCommonBuffer(PVOID Buffer);

NT_EXTERN_C_END

#endif
