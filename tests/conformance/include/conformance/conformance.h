/* The conformance suite: checks whether an HCA driver keeps the contract of ci/ci.h.

   A driver's author writes a program:
       HcaRegisterDriver(&driver);
       return ConformanceMain(argc, argv, &adapter, 1);
   The suite is driver-agnostic. An adapter makes things happen to the HCA that no verb can cause.
   Every member but Scheme may be NULL; the cases that need a missing one are skipped. */
#ifndef IRPVERBS_CONFORMANCE_CONFORMANCE_H
#define IRPVERBS_CONFORMANCE_CONFORMANCE_H

#include <ci/ci.h>
#include <hca/hca.h>

NT_EXTERN_C_BEGIN

/* One way to run the driver. */
typedef struct _CONFORMANCE_VARIANT {
    const char* Name;
    NTSTATUS (*Prepare)(ib_guid_t Guid); /* after the HCA was attached; may be NULL */
    BOOLEAN
    Blocks; /* verbs block: its callers stay below DISPATCH_LEVEL, which breaks the contract */
} CONFORMANCE_VARIANT;

typedef struct _CONFORMANCE_ADAPTER {
    const char* Scheme;                  /* of the URIs that it applies to */
    const CONFORMANCE_VARIANT* Variants; /* the first is the default */
    ULONG VariantCount;
    BOOLEAN RealOnly; /* a simulated machine cannot drive the HCA; cases run on a real one */

    /* Makes the port raise this one event, before or soon after it returns. IRQL: PASSIVE_LEVEL,
       any thread, here and in the next two. STATUS_SUCCESS. STATUS_NOT_SUPPORTED: the adapter
       cannot raise it; nothing happened. */
    NTSTATUS (*RaisePortEvent)(ib_guid_t Guid, UCHAR PortNumber, IB_ASYNC_EVENT Event);

    /* Makes the HCA fail until it is detached and attached again. */
    NTSTATUS (*Fail)(ib_guid_t Guid);

    /* Inserts a completion into a queue, as a queue pair would. STATUS_BUFFER_OVERFLOW: the queue
       was full, and this completion overran it. */
    NTSTATUS (*Complete)(IB_CQ* Cq, const IB_WC* Completion);
} CONFORMANCE_ADAPTER;

/* Runs the suite according to its command line ("--help"). Returns the exit status for main: 0, no
   case failed; 1, a case failed, or the results could not be written; 2, a mistake in the command
   line or the URI; 128 and the signal's number, interrupted. Call it once. */
NT_API int ConformanceMain(int argc, char** argv, const CONFORMANCE_ADAPTER* Adapters, ULONG Count);

NT_EXTERN_C_END

#endif
