/* The registry of HCAs, attached by URI and found by GUID. Each machine has its own. */
#ifndef IRPVERBS_HCA_HCA_H
#define IRPVERBS_HCA_HCA_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

/* Attaches the HCAs that the URI ("software:", "software:FILE", "rdma:", "rdma:NAME") names to the
   caller's machine; *count (count may be NULL) is their number. STATUS_SUCCESS.
   STATUS_OBJECT_NAME_COLLISION: this URI, or a GUID, is attached already. STATUS_NO_SUCH_DEVICE:
   the driver finds no device. STATUS_NO_SUCH_FILE: the file can't be read. STATUS_ACCESS_DENIED: a
   device may not be opened. STATUS_OBJECT_NAME_INVALID: no URI, a scheme that no driver has, or a
   wrong option. STATUS_DATA_ERROR: a wrong file. A failure attaches nothing. IRQL: PASSIVE_LEVEL.
 */
NT_API NTSTATUS HcaAttach(const char* uri, ULONG* count);

/* Does what HcaAttach does, and writes the reason of a failure to message as a sentence for people
   ("fabric.net:12: ..."), ended by NUL and cut to size bytes; message may be NULL. Statuses and
   IRQL as for HcaAttach. */
NT_API NTSTATUS HcaAttachEx(const char* uri, ULONG* count, char* message, SIZE_T size);

/* Detaches the HCAs that HcaAttach attached. Waits first for the ends of objects whose C++ handles
   were destroyed. STATUS_SUCCESS. STATUS_OBJECT_NAME_NOT_FOUND. STATUS_DEVICE_BUSY: one of the HCAs
   is open; nothing changed. IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS HcaDetach(const char* uri);

/* Writes the node GUIDs of the HCAs, in the order of attaching. *count: on entry the elements of
   guids, on return the number of HCAs. STATUS_SUCCESS. STATUS_BUFFER_OVERFLOW: guids has room for
   the first ones only. STATUS_INVALID_PARAMETER: count is NULL, or guids is NULL and *count is not
   0. IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS HcaEnumerate(ib_guid_t* guids, ULONG* count);

/* The FDO for CiOpenCa, or NULL. Ownership: the registry's; it lives until HcaDetach.
   IRQL: <= DISPATCH_LEVEL. */
NT_API DEVICE_OBJECT* HcaFromGuid(ib_guid_t guid);

/* The HCA's name ("mlx5_0", "host1"), ended by NUL. STATUS_SUCCESS. STATUS_OBJECT_NAME_NOT_FOUND.
   STATUS_BUFFER_OVERFLOW: cut to size bytes. STATUS_BUFFER_TOO_SMALL: size is 0.
   STATUS_INVALID_PARAMETER: name is NULL and size is not 0. IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS HcaName(ib_guid_t guid, char* name, SIZE_T size);

NT_EXTERN_C_END

#endif
