/* A client in C: the calls that a driver-style component makes to an HCA. */
#ifndef IRPVERBS_CONFORMANCE_C_CLIENT_H
#define IRPVERBS_CONFORMANCE_C_CLIENT_H

#include <ci/ci.h>

NT_EXTERN_C_BEGIN

/* Line: 0, or the line of a failed expectation, with the status that was seen. */
typedef struct _CONFORMANCE_C_RESULT {
    int Line;
    NTSTATUS Status;
} CONFORMANCE_C_RESULT;

/* Attributes of an agent, and a datagram that it sends to itself. */
typedef struct _CONFORMANCE_C_DATAGRAM {
    IB_MAD_AGENT_ATTR Agent;
    const IB_MAD_SEND* Send;
} CONFORMANCE_C_DATAGRAM;

/* Calls every verb. A verb that the driver lacks completes as not supported, which is no failure.
   IRQL: PASSIVE_LEVEL. */
CONFORMANCE_C_RESULT ConformanceCClient(DEVICE_OBJECT* Fdo, const CONFORMANCE_C_DATAGRAM* Datagram);

/* Raises an event at port 1, which must arrive by up-call and by IRP. A raise that does not succeed
   is no failure: Line is 0, and Status is the status of the raise. IRQL: PASSIVE_LEVEL. */
typedef NTSTATUS (*CONFORMANCE_C_RAISE)(VOID* Context, IB_ASYNC_EVENT Event);
CONFORMANCE_C_RESULT ConformanceCListener(DEVICE_OBJECT* Fdo, CONFORMANCE_C_RAISE Raise,
                                          VOID* Context);

NT_EXTERN_C_END

#endif
