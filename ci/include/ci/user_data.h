/* The steps before and after a verb that is called for a user. They alone access the user memory
   that a CI_UDATA names. */
#ifndef IRPVERBS_CI_USER_DATA_H
#define IRPVERBS_CI_USER_DATA_H

#include <ci/ci.h>

NT_EXTERN_C_BEGIN

/* Maximum size of either buffer, in bytes. */
#define CI_UDATA_MAXIMUM_SIZE 65536u

/* Ours. Called before the verb: returns a copy of User in non-paged memory, with the input read and
   the output zeroed, for the verb's pUserData. With Mode UserMode, User and its buffers may have
   any address; STATUS_ACCESS_VIOLATION when they are not mapped. User is read once. STATUS_SUCCESS.
   STATUS_INVALID_PARAMETER: a size without a buffer, or beyond CI_UDATA_MAXIMUM_SIZE. Ownership:
   the copy is the caller's until CiReturnUserData. IRQL: <= APC_LEVEL. */
NT_API NTSTATUS CiCaptureUserData(const CI_UDATA* User, KPROCESSOR_MODE Mode, CI_UDATA** Captured);

/* Ours. Called after the verb has completed, also when it failed: writes the first OutputSize bytes
   of the copy's output to the user's buffer and frees the copy. *Returned (Returned may be
   NULL) is the number of bytes written. STATUS_SUCCESS. STATUS_BUFFER_OVERFLOW: the driver had more
   bytes than the buffer holds. STATUS_ACCESS_VIOLATION. IRQL: <= APC_LEVEL. */
NT_API NTSTATUS CiReturnUserData(CI_UDATA* Captured, KPROCESSOR_MODE Mode, SIZE_T* Returned);

NT_EXTERN_C_END

#endif
