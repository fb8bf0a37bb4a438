/* Rundown protection: users acquire and release an object until its owner begins the rundown, which
   refuses new users and waits for the release of the last one. */
#ifndef IRPVERBS_DISPATCH_RUNDOWN_H
#define IRPVERBS_DISPATCH_RUNDOWN_H

#include <dispatch/irql.h>

NT_EXTERN_C_BEGIN

typedef struct _EX_RUNDOWN_REF {
    ULONG_PTR Count; /* users * 2; odd: run down, and a pointer to the waiting owner when not 1 */
} EX_RUNDOWN_REF, *PEX_RUNDOWN_REF;

/* Initializes rundown protection so that users can acquire it. IRQL: <= APC_LEVEL. Source: WDK
   ExInitializeRundownProtection. */
NT_API void ExInitializeRundownProtection(PEX_RUNDOWN_REF RunRef);

/* Acquire: TRUE: the caller may use the object until it calls Release. FALSE: the rundown has
   begun, and the caller must not use the object. IRQL: <= DISPATCH_LEVEL. Source: WDK
   ExAcquireRundownProtection(Ex), ExReleaseRundownProtection(Ex). */
NT_API BOOLEAN ExAcquireRundownProtection(PEX_RUNDOWN_REF RunRef);
NT_API BOOLEAN ExAcquireRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count);
NT_API void ExReleaseRundownProtection(PEX_RUNDOWN_REF RunRef);
NT_API void ExReleaseRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count);

/* Begins the rundown, which refuses every later Acquire, and waits until the last user has
   released. One call for each rundown. IRQL: <= APC_LEVEL. Source: WDK
   ExWaitForRundownProtectionRelease. */
NT_API void ExWaitForRundownProtectionRelease(PEX_RUNDOWN_REF RunRef);

/* Marks the rundown as complete after the wait. IRQL: <= APC_LEVEL. Source: WDK
   ExRundownCompleted. */
NT_API void ExRundownCompleted(PEX_RUNDOWN_REF RunRef);

/* Admits users again after the wait. IRQL: <= APC_LEVEL. Source: WDK
   ExReInitializeRundownProtection. */
NT_API void ExReInitializeRundownProtection(PEX_RUNDOWN_REF RunRef);

NT_EXTERN_C_END

#endif
