/* The registry of HCAs: attached by URI, found by GUID. Each machine has its own. */
#ifndef IRPVERBS_HCA_HCA_H
#define IRPVERBS_HCA_HCA_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

/* Attaches what the URI names ("software:", "software:FILE", "rdma:", "rdma:NAME") to the caller's
   machine; Count (may be NULL) gets the number of HCAs that came with it. STATUS_SUCCESS.
   STATUS_OBJECT_NAME_COLLISION: this URI, or a GUID, is attached already. STATUS_NO_SUCH_DEVICE: no
   driver has that scheme, or it finds no device. STATUS_NO_SUCH_FILE: the file can't be read.
   STATUS_ACCESS_DENIED: a device may not be opened. STATUS_OBJECT_NAME_INVALID:
   no URI. STATUS_DATA_ERROR: the file is wrong. Nothing is attached then.
   IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS HcaAttach(const char* uri, ULONG* count);

/* The same; a failure is also told as a sentence for people ("fabric.net:12: ..."), ended by NUL
   and cut to size bytes. */
NT_API NTSTATUS HcaAttachTelling(const char* uri, ULONG* count, char* message, SIZE_T size);

/* Takes off what HcaAttach attached. STATUS_SUCCESS. STATUS_OBJECT_NAME_NOT_FOUND.
   STATUS_DEVICE_BUSY: one of its HCAs is open; nothing changed. IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS HcaDetach(const char* uri);

/* The node GUIDs of all HCAs, in the order of attaching. Count: in, places in guids; out, HCAs.
   STATUS_SUCCESS. STATUS_BUFFER_OVERFLOW: as many as there was room for. IRQL: <= DISPATCH_LEVEL.
 */
NT_API NTSTATUS HcaEnumerate(ib_guid_t* guids, ULONG* count);

/* The FDO for CiOpenCa, or NULL. Ownership: the registry's; it lives until HcaDetach.
   IRQL: <= DISPATCH_LEVEL. */
NT_API DEVICE_OBJECT* HcaFromGuid(ib_guid_t guid);

/* The HCA's name ("mlx5_0", "host1"), ended by NUL. STATUS_SUCCESS. STATUS_OBJECT_NAME_NOT_FOUND.
   STATUS_BUFFER_OVERFLOW: cut to size bytes. STATUS_BUFFER_TOO_SMALL: size is 0.
   IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS HcaName(ib_guid_t guid, char* name, SIZE_T size);

NT_EXTERN_C_END

#endif
