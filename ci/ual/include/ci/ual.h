/* The user access layer: serves the HCAs of a machine to other processes, which attach them as
   "user:" (hca/user). Each open HCA of a process is one connection; its objects and requests belong
   to the connection and end with it. Source: ours; docs/decisions/process-boundary.md. */
#ifndef IRPVERBS_CI_UAL_H
#define IRPVERBS_CI_UAL_H

#include <irp/wdm.h>
#include <string.h>

NT_EXTERN_C_BEGIN

/* A socket at which processes connect. */
typedef struct _UAL UAL;

/* Limits; 0 stands for the number in the comment. */
typedef struct _UAL_OPTIONS {
    ULONG Size;               /* sizeof(UAL_OPTIONS) */
    ULONG MaxConnections;     /* of one user; 256 */
    ULONG MaxObjects;         /* of one connection, the channel adapter included; 16384 */
    ULONG MaxObjectsOfUser;   /* 65536 */
    ULONG MaxRequests;        /* of one connection, in progress; 4096 */
    ULONG MaxWaits;           /* of one connection: pended requests for events; 32768 */
    ULONG MaxRingMemory;      /* of one user, bytes: rings that its processes share; 256 MiB */
    ULONG IdleTurns;          /* looks for more work of a client before its thread sleeps; 256 */
    const ULONG* AllowedUids; /* users besides the owner of this process, who may connect */
    ULONG AllowedUidCount;
    LONG Socket; /* a descriptor that listens already, as systemd passes it; 0: there is none */
    ULONG MaxCommonMemory; /* of one user, MiB: common buffers of its processes that this one maps;
                              4096. Regions beyond it are read and written as private memory */
} UAL_OPTIONS;

/* Initialises options with the defaults. IRQL: any. */
static inline void UAL_OPTIONS_INIT(UAL_OPTIONS* Options) {
    memset(Options, 0, sizeof(*Options));
    Options->Size = sizeof(*Options);
}

/* Numbers since UalListen; the first six are present ones. */
typedef struct _UAL_COUNTERS {
    ULONG Connections; /* processes with an open HCA, once for each */
    ULONG Objects;
    ULONG Requests;     /* in progress */
    ULONG Waits;        /* pended requests for events */
    ULONG RingMemory;   /* bytes that rings count in MaxRingMemory */
    ULONG CommonMemory; /* MiB that common buffers count in MaxCommonMemory */
    ULONGLONG Accepted;
    ULONGLONG Refused;    /* connections: another version, another user, or a limit */
    ULONGLONG Violations; /* connections that were closed for a message that no client sends */
    ULONGLONG Served;     /* requests that were completed; work requests in rings are none */
} UAL_COUNTERS;

/* Listens at the socket Path and serves the HCAs that are attached to the caller's machine, now or
   later. Path NULL stands for $IRPVERBS_SOCKET, or "irpverbs/socket" in $XDG_RUNTIME_DIR, or
   "/tmp/irpverbs-UID/socket". The directory of the socket is created with mode 0700 if it does not
   exist. With UAL_OPTIONS.Socket, a unix socket of type SOCK_SEQPACKET, Path is not used, nothing
   is created, and the socket's file stays after UalClose. Options may be NULL. A failure writes its
   reason to Message as a sentence, ended by NUL and cut to MessageSize bytes; Message may be NULL.
   Ownership: the UAL is the caller's until UalClose, which it calls before main returns or exit is
   called: the threads of connections use the machine and the HCAs; so is the descriptor Socket,
   which is duplicated. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS. STATUS_OBJECT_TYPE_MISMATCH: Socket is
   no such socket, or does not listen. STATUS_OBJECT_NAME_INVALID: the path is too long for a
   socket. STATUS_ACCESS_DENIED: the directory belongs to another user or is open to one, or can't
   be written. STATUS_OBJECT_NAME_COLLISION: a daemon listens there, or the path is no socket.
   STATUS_REVISION_MISMATCH: Options->Size. STATUS_NOT_SUPPORTED: the machine is simulated.
   STATUS_INSUFFICIENT_RESOURCES. */
NT_API NTSTATUS UalListen(const char* Path, const UAL_OPTIONS* Options, UAL** Listener,
                          char* Message, SIZE_T MessageSize);

/* Ends all connections, destroys their objects, and removes the socket that UalListen made. Clients
   receive a fatal event. IRQL: PASSIVE_LEVEL. */
NT_API void UalClose(UAL* Listener);

/* The path of the socket. Ownership: the UAL's. IRQL: any. */
NT_API const char* UalPath(const UAL* Listener) NT_NOEXCEPT;

/* Reads the counters. IRQL: <= DISPATCH_LEVEL. */
NT_API void UalGetCounters(UAL* Listener, UAL_COUNTERS* Counters);

/* Writes the status of the daemon that listens at Path (NULL: as UalListen) to Text: lines of its
   counters and connections, ended by NUL and cut to TextSize bytes. STATUS_SUCCESS.
   STATUS_NO_SUCH_DEVICE: no daemon listens there; Text has the reason. IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS UalQueryStatus(const char* Path, char* Text, SIZE_T TextSize);

NT_EXTERN_C_END

#endif
