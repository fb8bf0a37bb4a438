/* The end of a simulated system. */
#ifndef IRPVERBS_IRP_TESTING_SHUTDOWN_H
#define IRPVERBS_IRP_TESTING_SHUTDOWN_H

#include <irp/shutdown.h>

NT_EXTERN_C_BEGIN

/* Sends IRP_MJ_SHUTDOWN to the registered devices of this machine, one after the other, and waits
   for each. A registration ends before its request. IRQL: PASSIVE_LEVEL. STATUS_SUCCESS, or the
   first status of a request that failed; STATUS_INSUFFICIENT_RESOURCES. Ours. */
NT_API NTSTATUS IrpShutDown(void);

NT_EXTERN_C_END

#endif
