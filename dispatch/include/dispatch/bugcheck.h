/* Bug checks: how the library reports a programmer's error, and how a program may catch the report.
 */
#ifndef IRPVERBS_DISPATCH_BUGCHECK_H
#define IRPVERBS_DISPATCH_BUGCHECK_H

#include <dispatch/ntdef.h>

#ifdef __cplusplus
#define IRPVERBS_X_BUG_CODE(name, value) inline constexpr ULONG name = value;
#include <dispatch/bugcodes.def>
#undef IRPVERBS_X_BUG_CODE
#else
enum {
#define IRPVERBS_X_BUG_CODE(name, value) name = value,
#include <dispatch/bugcodes.def>
#undef IRPVERBS_X_BUG_CODE
};
#endif

NT_EXTERN_C_BEGIN

#define BUG_CHECK_MAXIMUM_STACKS 4
#define BUG_CHECK_MAXIMUM_FRAMES 32

/* One call stack of a report: where, and the return addresses, innermost first. */
typedef struct _BUG_CHECK_STACK {
    const char* Label; /* "here", "first completed by", "lock acquired at", ... */
    ULONG FrameCount;
    PVOID Frames[BUG_CHECK_MAXIMUM_FRAMES];
} BUG_CHECK_STACK;

/* What went wrong. All pointers are valid only while the handler runs. */
typedef struct _BUG_CHECK_REPORT {
    ULONG Code;              /* MULTIPLE_IRP_COMPLETE_REQUESTS, ... */
    ULONG_PTR Parameters[4]; /* as Windows documents them for Code */
    const char* Name;        /* name of Code */
    const char* Rule;    /* the verifier rule that was broken, "DoubleCompletion"; NULL when none */
    const char* Text;    /* what a person needs to act on it */
    const char* History; /* life of the IRP concerned, a line an event; NULL when not recorded */
    const char* Replay;  /* the line that replays the run; NULL outside the simulator, and for a run
                            of more decisions than a line holds that no seed repeats */
    ULONG StackCount;
    BUG_CHECK_STACK Stacks[BUG_CHECK_MAXIMUM_STACKS];
} BUG_CHECK_REPORT;

/* Receives a report, on the thread that broke the rule, at its IRQL. May throw (C++), may never
   return, may return. After a return from KeBugCheckEx's call the process aborts; after a return
   from a verifier rule's the program goes on. */
typedef void (*BUG_CHECK_HANDLER)(const BUG_CHECK_REPORT* Report, PVOID Context);

/* Installs the process-wide handler, or on a thread of a simulated machine that machine's own; NULL
   restores the default. A report goes to the machine that it happened in: to its own handler, or
   else it ends the simulated run; only then to the process-wide handler. The default of that prints
   the report on stderr and aborts. Returns the previous handler. IRQL: any. Ours. */
NT_API BUG_CHECK_HANDLER KeSetBugCheckHandler(BUG_CHECK_HANDLER Handler, PVOID Context,
                                              PVOID* PreviousContext) NT_NOEXCEPT;

/* Stops the system: reports Code with its four parameters to the handler, then aborts.
   IRQL: any. Source: WDK KeBugCheckEx. */
NT_API __attribute__((noreturn)) void KeBugCheckEx(ULONG BugCheckCode, ULONG_PTR BugCheckParameter1,
                                                   ULONG_PTR BugCheckParameter2,
                                                   ULONG_PTR BugCheckParameter3,
                                                   ULONG_PTR BugCheckParameter4);

/* KeBugCheckEx with four zeros. Source: WDK KeBugCheck. */
NT_API __attribute__((noreturn)) void KeBugCheck(ULONG BugCheckCode);

/* Returns the name of a bug-check code; NULL for one that the list does not hold. The text is
   static and is not freed. IRQL: any. Ours. */
NT_API const char* KeBugCheckName(ULONG BugCheckCode) NT_NOEXCEPT;

/* Writes a report as text, NUL-terminated, at most Size bytes; gives back the length it needs
   (without NUL), as snprintf does. IRQL: any. */
NT_API SIZE_T KeFormatBugCheck(const BUG_CHECK_REPORT* Report, CHAR* Buffer, SIZE_T Size);

NT_EXTERN_C_END

#endif
