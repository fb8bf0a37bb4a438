/* The driver for the HCAs that a daemon serves to other processes (ci/ual.h, irpverbsd). The URI is
   "user:SOCKET", or "user:" for the daemon's default socket (UalListen); "?host=NAME" at its end
   attaches only the HCA of that name; "?provider=NAME" behind that loads a user-mode provider
   (ci/ib_uvp.h) from irpverbs-uvp-NAME.so, in a folder of the variable IRPVERBS_UVP_PATH, whose
   folders are separated by colons, or that of the installed library: STATUS_OBJECT_NAME_NOT_FOUND
   if there is none, or it does not serve the HCA; "?checked" at the very end makes a receive fail
   whose memory is not mapped any more. Otherwise the poll that takes a small message there ends the
   process, as an access of its own would; the daemon then writes each message by a call. Verbs,
   events and datagrams cross to the daemon, as do posts and polls. When the daemon ends, each HCA
   that is open reports a fatal event. */
#ifndef IRPVERBS_HCA_USER_H
#define IRPVERBS_HCA_USER_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

/* Writes the path of the daemon's socket, ended by NUL and cut to Size bytes. STATUS_SUCCESS.
   STATUS_OBJECT_NAME_NOT_FOUND: no HCA of a daemon has that GUID. STATUS_BUFFER_OVERFLOW: the path
   was cut. STATUS_BUFFER_TOO_SMALL: Size is 0. IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS HcaUserSocket(ib_guid_t guid, char* path, SIZE_T size);

/* Lists the HCAs of a location, the part of the URI behind "user:", in the order in which they
   would be attached: calls Report for each one, during the call. Nothing is attached, no thread is
   started, and no machine is needed. STATUS_SUCCESS. STATUS_NO_SUCH_DEVICE: there is no daemon, or
   it has no such HCA. STATUS_ACCESS_DENIED: it does not serve this user. STATUS_REVISION_MISMATCH:
   it has another version. STATUS_DATA_ERROR: the socket is not a daemon's.
   STATUS_INSUFFICIENT_RESOURCES. Message: the reason, cut to MessageSize bytes. IRQL:
   PASSIVE_LEVEL. */
typedef void (*PFN_HCA_USER_LISTED)(VOID* Context, const char* Name, ib_guid_t Guid);
NT_API NTSTATUS HcaUserList(const char* Location, PFN_HCA_USER_LISTED Report, VOID* Context,
                            char* Message, SIZE_T MessageSize);

NT_EXTERN_C_END

#endif
