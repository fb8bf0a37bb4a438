/* Rundown protection: users come and go until the owner shuts the door and waits for the last. */
#ifndef IRPVERBS_DISPATCH_RUNDOWN_H
#define IRPVERBS_DISPATCH_RUNDOWN_H

#include <dispatch/irql.h>

NT_EXTERN_C_BEGIN

typedef struct _EX_RUNDOWN_REF {
    ULONG_PTR Count; /* users * 2; odd: run down, and a pointer to who waits when not 1 */
} EX_RUNDOWN_REF, *PEX_RUNDOWN_REF;

/* Opens the door. IRQL: <= APC_LEVEL. Source: WDK ExInitializeRundownProtection. */
NT_API void ExInitializeRundownProtection(PEX_RUNDOWN_REF RunRef);

/* TRUE: the object may be used until the release. FALSE: it is going away.
   IRQL: <= DISPATCH_LEVEL. Source: WDK ExAcquireRundownProtection(Ex). */
NT_API BOOLEAN ExAcquireRundownProtection(PEX_RUNDOWN_REF RunRef);
NT_API BOOLEAN ExAcquireRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count);
NT_API void ExReleaseRundownProtection(PEX_RUNDOWN_REF RunRef);
NT_API void ExReleaseRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count);

/* Shuts the door and waits until the last user has released; once. IRQL: <= APC_LEVEL.
   Source: WDK ExWaitForRundownProtectionRelease. */
NT_API void ExWaitForRundownProtectionRelease(PEX_RUNDOWN_REF RunRef);

/* Marks the rundown as complete, after the wait. IRQL: <= APC_LEVEL. Source: WDK
 * ExRundownCompleted. */
NT_API void ExRundownCompleted(PEX_RUNDOWN_REF RunRef);

/* Opens the door again, after the wait. IRQL: <= APC_LEVEL. Source: WDK
 * ExReInitializeRundownProtection. */
NT_API void ExReInitializeRundownProtection(PEX_RUNDOWN_REF RunRef);

NT_EXTERN_C_END

#endif
