/* NTSTATUS codes and their names. Source: WDK ntstatus.h reference, [MS-ERREF] 2.3.1. */
#ifndef IRPVERBS_DISPATCH_NTSTATUS_H
#define IRPVERBS_DISPATCH_NTSTATUS_H

#include <dispatch/ntdef.h>

#ifdef __cplusplus
#define IRPVERBS_X_STATUS(name, value, meaning)                                                    \
    inline constexpr NTSTATUS name = static_cast<NTSTATUS>(value##u);
#include <dispatch/ntstatus.def>
#undef IRPVERBS_X_STATUS
#else
enum {
#define IRPVERBS_X_STATUS(name, value, meaning) name = (int)value##u,
#include <dispatch/ntstatus.def>
#undef IRPVERBS_X_STATUS
};
#endif

#define STATUS_WAIT_0 STATUS_SUCCESS
#define STATUS_CONTINUE_COMPLETION STATUS_SUCCESS

#define NT_SUCCESS(status) ((NTSTATUS)(status) >= 0)
#define NT_INFORMATION(status) ((((ULONG)(status)) >> 30) == 1)
#define NT_WARNING(status) ((((ULONG)(status)) >> 30) == 2)
#define NT_ERROR(status) ((((ULONG)(status)) >> 30) == 3)

NT_EXTERN_C_BEGIN

/* Returns the name of a status, "STATUS_PENDING"; NULL for a value that the list does not hold. The
   text is static and is not freed. IRQL: any. Ours. */
NT_API const char* NtStatusName(NTSTATUS Status) NT_NOEXCEPT;

/* Returns one sentence on a status; NULL for a value that the list does not hold. The text is
   static and is not freed. IRQL: any. Ours. */
NT_API const char* NtStatusMeaning(NTSTATUS Status) NT_NOEXCEPT;

NT_EXTERN_C_END

#endif
