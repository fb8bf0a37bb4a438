/* The conformance suite: says of any HCA driver whether it keeps the contract of ci/ci.h.

   A driver's author writes a program:
       HcaRegisterDriver(&driver);
       return ConformanceMain(argc, argv, &adapter, 1);
   The suite is driver-agnostic. What it can't do by verbs, make something happen to the HCA, it
   asks of an adapter; every member but Scheme may be NULL, and the cases that need it are skipped.
 */
#ifndef IRPVERBS_CONFORMANCE_CONFORMANCE_H
#define IRPVERBS_CONFORMANCE_CONFORMANCE_H

#include <ci/ci.h>
#include <hca/hca.h>

NT_EXTERN_C_BEGIN

/* A way in which the driver can be run. */
typedef struct _CONFORMANCE_VARIANT {
    const char* Name;
    NTSTATUS (*Prepare)(ib_guid_t Guid); /* after the HCA was attached; may be NULL */
    BOOLEAN
    Blocks; /* verbs block: its callers stay below DISPATCH_LEVEL, which breaks the contract */
} CONFORMANCE_VARIANT;

typedef struct _CONFORMANCE_ADAPTER {
    const char* Scheme;                  /* of the URIs that it goes with */
    const CONFORMANCE_VARIANT* Variants; /* the first is the default */
    ULONG VariantCount;
    BOOLEAN RealOnly; /* the HCA is out of a simulated machine's reach; cases run on a real one */

    /* Has the port raise this one event, before or soon after it returns. STATUS_SUCCESS.
       STATUS_NOT_SUPPORTED: it can't; nothing happened. IRQL: PASSIVE_LEVEL, any thread, like the
       next two. */
    NTSTATUS (*RaisePortEvent)(ib_guid_t Guid, UCHAR PortNumber, IB_ASYNC_EVENT Event);

    /* The HCA fails for good, until it is detached and attached again. */
    NTSTATUS (*Fail)(ib_guid_t Guid);

    /* Puts a completion into a queue, as a queue pair would; one more than it takes overruns it,
       STATUS_BUFFER_OVERFLOW. */
    NTSTATUS (*Complete)(IB_CQ* Cq, const IB_WC* Completion);
} CONFORMANCE_ADAPTER;

/* Runs the suite as its command line says ("--help"). Gives back what main returns: 0, no case
   failed; 1, a case failed, or the results could not be written; 2, a mistake in the command line
   or the URI; 128 and the signal's number, interrupted. Call it once. */
NT_API int ConformanceMain(int argc, char** argv, const CONFORMANCE_ADAPTER* Adapters, ULONG Count);

NT_EXTERN_C_END

#endif
