/* The driver for the HCAs that a daemon serves to other processes (ci/ual.h, irpverbsd). The URI is
   "user:SOCKET", or "user:" for the daemon's default socket (UalListen); "?host=NAME" at its end
   attaches only the HCA of that name; "?provider=NAME" behind that loads a user-mode provider
   (ci/ib_uvp.h) from irpverbs-uvp-NAME.so, in a folder of the variable IRPVERBS_UVP_PATH, whose
   folders are separated by colons, or that of the installed library: STATUS_OBJECT_NAME_NOT_FOUND
   if there is none, or it does not serve the HCA. Verbs, events and datagrams cross to the daemon,
   as do posts and polls. When the daemon ends, each HCA that is open reports a fatal event. */
#ifndef IRPVERBS_HCA_USER_H
#define IRPVERBS_HCA_USER_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

/* Writes the path of the daemon's socket, ended by NUL and cut to Size bytes. STATUS_SUCCESS.
   STATUS_OBJECT_NAME_NOT_FOUND: no HCA of a daemon has that GUID. STATUS_BUFFER_OVERFLOW: the path
   was cut. STATUS_BUFFER_TOO_SMALL: Size is 0. IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS HcaUserSocket(ib_guid_t guid, char* path, SIZE_T size);

NT_EXTERN_C_END

#endif
