/* A client in C: what a driver-style component does with an HCA. */
#ifndef IRPVERBS_CONFORMANCE_C_CLIENT_H
#define IRPVERBS_CONFORMANCE_C_CLIENT_H

#include <ci/ci.h>

NT_EXTERN_C_BEGIN

/* Line: 0, or where an expectation failed, with the status that was seen. */
typedef struct _CONFORMANCE_C_RESULT {
    int Line;
    NTSTATUS Status;
} CONFORMANCE_C_RESULT;

/* An agent to be, and a datagram that it sends to itself. */
typedef struct _CONFORMANCE_C_DATAGRAM {
    IB_MAD_AGENT_ATTR Agent;
    const IB_MAD_SEND* Send;
} CONFORMANCE_C_DATAGRAM;

/* Calls every verb; those that the driver does not have end there. IRQL: PASSIVE_LEVEL. */
CONFORMANCE_C_RESULT ConformanceCClient(DEVICE_OBJECT* Fdo, const CONFORMANCE_C_DATAGRAM* Datagram);

/* Has an event raised at port 1, which must come by up-call and by IRP. A raise that does not
   succeed is no failure: Line is 0, Status is what it answered. IRQL: PASSIVE_LEVEL. */
typedef NTSTATUS (*CONFORMANCE_C_RAISE)(VOID* Context, IB_ASYNC_EVENT Event);
CONFORMANCE_C_RESULT ConformanceCListener(DEVICE_OBJECT* Fdo, CONFORMANCE_C_RAISE Raise,
                                          VOID* Context);

NT_EXTERN_C_END

#endif
