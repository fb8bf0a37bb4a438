/* Hardware for tests: the line of an interrupt is raised. */
#ifndef IRPVERBS_IRP_TESTING_INTERRUPT_H
#define IRPVERBS_IRP_TESTING_INTERRUPT_H

#include <dispatch/ntdef.h>

NT_EXTERN_C_BEGIN

/* Calls the service routines that are connected to the vector, in the order in which they were
   connected: on the caller's processor, at their levels, each with its spin lock held. A
   LevelSensitive one that returns TRUE is the last. DPCs that they insert run before this call
   returns if the caller is below DISPATCH_LEVEL. TRUE: one of them returned TRUE. IRQL: <=
   DISPATCH_LEVEL. Bug check 0xC8 when a routine returns at another level than it was called at.
   Ours. */
NT_API BOOLEAN IrpRaiseInterrupt(ULONG Vector);

NT_EXTERN_C_END

#endif
