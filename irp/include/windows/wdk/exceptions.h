/* __try, __except and __finally. No exception is ever caught: what raises one on Windows
   (ExRaiseStatus, a bad user address) is a bug check here, so a handler is compiled and never runs.
   A __finally block runs when control reaches the end of its __try block or leaves it by __leave; a
   return, break or goto out of the __try block passes it by. */
#ifndef IRPVERBS_WINDOWS_EXCEPTIONS_H
#define IRPVERBS_WINDOWS_EXCEPTIONS_H

#include <windows/wdk/types.h>

typedef struct _EXCEPTION_RECORD {
    NTSTATUS ExceptionCode;
    ULONG ExceptionFlags;
    struct _EXCEPTION_RECORD* ExceptionRecord;
    PVOID ExceptionAddress;
    ULONG NumberParameters;
    ULONG_PTR ExceptionInformation[15];
} EXCEPTION_RECORD, *PEXCEPTION_RECORD;

typedef struct _CONTEXT CONTEXT, *PCONTEXT;

typedef struct _EXCEPTION_POINTERS {
    PEXCEPTION_RECORD ExceptionRecord;
    PCONTEXT ContextRecord;
} EXCEPTION_POINTERS, *PEXCEPTION_POINTERS, *LPEXCEPTION_POINTERS;

#define EXCEPTION_EXECUTE_HANDLER 1
#define EXCEPTION_CONTINUE_SEARCH 0
#define EXCEPTION_CONTINUE_EXECUTION (-1)
#define EXCEPTION_NONCONTINUABLE 1
#define EXCEPTION_MAXIMUM_PARAMETERS 15

/* Values for a handler that never runs. IRQL: any. */
static inline NTSTATUS IrpverbsExceptionCode(void) NT_NOEXCEPT { return 0; }
static inline PEXCEPTION_POINTERS IrpverbsExceptionInformation(void) NT_NOEXCEPT { return NULL; }
static inline int IrpverbsNoException(int disposition) NT_NOEXCEPT {
    (void)disposition;
    return 0;
}
#define GetExceptionCode() IrpverbsExceptionCode()
#define _exception_code() IrpverbsExceptionCode()
#define GetExceptionInformation() IrpverbsExceptionInformation()
#define _exception_info() IrpverbsExceptionInformation()
#define AbnormalTermination() 0
#define _abnormal_termination() 0

/* The local label makes __leave end the innermost block, as Windows' compiler does. */
#define __try                                                                                      \
    {                                                                                              \
        __label__ IrpverbsLeave;
/* clang-format off */
#define __except(filter)                                                                           \
    IrpverbsLeave:                                                                                 \
    __attribute__((unused));                                                                       \
    }                                                                                              \
    if (0 && IrpverbsNoException(filter))
/* clang-format on */
#define __finally                                                                                  \
    IrpverbsLeave:                                                                                 \
    __attribute__((unused));                                                                       \
    }
#define __leave goto IrpverbsLeave
#define _try __try
#define _except(filter) __except (filter)
#define _finally __finally
#define _leave __leave
#ifndef __cplusplus
#define try __try
#define except(filter) __except (filter)
#define finally __finally
#define leave __leave
#endif

NT_EXTERN_C_BEGIN
/* Bug check KMODE_EXCEPTION_NOT_HANDLED with Status. IRQL: any. Source: WDK ExRaiseStatus. */
NT_API DECLSPEC_NORETURN void ExRaiseStatus(NTSTATUS Status);
NT_API DECLSPEC_NORETURN void ExRaiseAccessViolation(void);
NT_API DECLSPEC_NORETURN void ExRaiseDatatypeMisalignment(void);
NT_API DECLSPEC_NORETURN void RtlRaiseException(PEXCEPTION_RECORD ExceptionRecord);

/* EXCEPTION_EXECUTE_HANDLER. IRQL: any. Source: WDK ExSystemExceptionFilter. */
NT_API LONG ExSystemExceptionFilter(void);

/* Bug check for an address that a user's request may not name: not aligned, or a range that wraps
   around. Length 0: no check. Memory of a Linux process needs no other probe. IRQL: <= APC_LEVEL.
   Source: WDK ProbeForRead, ProbeForWrite. */
NT_API void ProbeForRead(const volatile VOID* Address, SIZE_T Length, ULONG Alignment);
NT_API void ProbeForWrite(volatile VOID* Address, SIZE_T Length, ULONG Alignment);
NT_EXTERN_C_END

#define ProbeAndReadUlong(address) (*(volatile ULONG*)(address))
#define ProbeAndWriteUlong(address, value) (*(volatile ULONG*)(address) = (value))
#define ProbeForReadSmallStructure(address, size, alignment) ProbeForRead(address, size, alignment)

#endif
