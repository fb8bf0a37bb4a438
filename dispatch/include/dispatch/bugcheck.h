/* Bug checks: the library reports a programmer's error as a bug check, and a program may install a
   handler that receives the report. */
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

/* One call stack of a report: a label and the return addresses, innermost first. */
typedef struct _BUG_CHECK_STACK {
    const char* Label; /* "here", "first completed by", "lock acquired at", ... */
    ULONG FrameCount;
    PVOID Frames[BUG_CHECK_MAXIMUM_FRAMES];
} BUG_CHECK_STACK;

/* The report of one error. All pointers are valid only while the handler runs. */
typedef struct _BUG_CHECK_REPORT {
    ULONG Code;              /* MULTIPLE_IRP_COMPLETE_REQUESTS, ... */
    ULONG_PTR Parameters[4]; /* as Windows documents them for Code */
    const char* Name;        /* name of Code */
    const char* Rule;    /* the verifier rule that was broken, "DoubleCompletion"; NULL when none */
    const char* Text;    /* description of the error for the programmer */
    const char* History; /* events of the IRP concerned, one a line; NULL when none were recorded */
    const char* Replay;  /* line that replays the run; NULL outside the simulator, and for a run
                            that no seed repeats and that has more decisions than a line holds */
    ULONG StackCount;
    BUG_CHECK_STACK Stacks[BUG_CHECK_MAXIMUM_STACKS];
} BUG_CHECK_REPORT;

/* Receives a report on the thread that broke the rule, at that thread's IRQL. A handler may return,
   throw (C++) or never return. When it returns from the report of KeBugCheckEx, the process aborts;
   when it returns from the report of a verifier rule, the program continues. */
typedef void (*BUG_CHECK_HANDLER)(const BUG_CHECK_REPORT* Report, PVOID Context);

/* Installs the process-wide handler; on a thread of a simulated machine, installs that machine's
   own handler instead. NULL restores the default. A report of a simulated machine goes to that
   machine's own handler; without one it ends the simulated run that is in progress. Every other
   report goes to the process-wide handler. The default process-wide handler prints the report on
   stderr and aborts. Returns the previous handler. IRQL: any. Ours. */
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

/* Writes a report as NUL-terminated text of at most Size bytes. Returns the length of the whole
   text (without NUL), as snprintf does. IRQL: any. */
NT_API SIZE_T KeFormatBugCheck(const BUG_CHECK_REPORT* Report, CHAR* Buffer, SIZE_T Size);

NT_EXTERN_C_END

#endif
