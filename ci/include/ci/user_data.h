/* The steps before and after a verb that is called for a user: only here is user memory touched. */
#ifndef IRPVERBS_CI_USER_DATA_H
#define IRPVERBS_CI_USER_DATA_H

#include <ci/ci.h>

NT_EXTERN_C_BEGIN

/* Bytes of either buffer, at most. */
#define CI_UDATA_MAXIMUM_SIZE 65536u

/* Ours. Before the verb: a copy of User in non-paged memory, its input read and its output zeroed,
   for the verb's pUserData. Mode UserMode: User's buffers may be anywhere; STATUS_ACCESS_VIOLATION
   when they are not mapped. STATUS_SUCCESS. STATUS_INVALID_PARAMETER: a size without a buffer, or
   beyond CI_UDATA_MAXIMUM_SIZE. Ownership: the caller's, until CiReturnUserData.
   IRQL: <= APC_LEVEL. */
NT_API NTSTATUS CiShadowUserData(const CI_UDATA* User, KPROCESSOR_MODE Mode, CI_UDATA** Shadow);

/* Ours. After the verb has completed, also when it failed: writes the first OutputSize bytes of the
   shadow's output to the user's buffer and frees the shadow. Returned (may be NULL): bytes written.
   STATUS_SUCCESS. STATUS_BUFFER_OVERFLOW: the driver had more than the buffer takes.
   STATUS_ACCESS_VIOLATION. IRQL: <= APC_LEVEL. */
NT_API NTSTATUS CiReturnUserData(CI_UDATA* Shadow, KPROCESSOR_MODE Mode, SIZE_T* Returned);

NT_EXTERN_C_END

#endif
