/* Scalar types, lists and helpers that WDM code expects. All functions here are inline. Source: WDK
   ntdef.h / wdm.h reference pages. */
#ifndef IRPVERBS_DISPATCH_NTDEF_H
#define IRPVERBS_DISPATCH_NTDEF_H

#if !defined(__x86_64__) || !defined(__LP64__)
#error "irpverbs supports x86-64 only: there every interlocked operation is a full barrier"
#endif

#include <stddef.h>
#include <stdint.h>
#ifndef __cplusplus
#include <uchar.h>
#endif

#ifdef __cplusplus
#define NT_EXTERN_C_BEGIN extern "C" {
#define NT_EXTERN_C_END }
#define NT_STATIC_ASSERT(condition, text) static_assert(condition, text)
/* A function is NT_NOEXCEPT only when it can never bug check: a bug-check handler may throw. */
#define NT_NOEXCEPT noexcept
#else
#define NT_EXTERN_C_BEGIN
#define NT_EXTERN_C_END
#define NT_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#define NT_NOEXCEPT
#endif

/* Exports a function of the library to programs. */
#define NT_API __attribute__((visibility("default")))

/* Driver code that is compiled with this set to 1 (the default of debug builds) reports each call
   of an inline function to the library. The verifier then checks the calls, and a simulated run may
   switch to another actor before an interlocked operation, in a change of a list and before
   IoMarkIrpPending. In other code the inline functions cost only their own instructions. */
#ifndef IRPVERBS_CHECKED_INLINES
#ifdef NDEBUG
#define IRPVERBS_CHECKED_INLINES 0
#else
#define IRPVERBS_CHECKED_INLINES 1
#endif
#endif

typedef void VOID;
typedef void* PVOID;
typedef char CHAR;
typedef signed char CCHAR;
typedef unsigned char UCHAR;
typedef unsigned char* PUCHAR;
typedef int16_t SHORT;
typedef uint16_t USHORT;
typedef int16_t CSHORT;
typedef int32_t LONG;
typedef int32_t* PLONG;
typedef uint32_t ULONG;
typedef uint32_t* PULONG;
typedef int64_t LONGLONG;
typedef uint64_t ULONGLONG;
typedef int64_t LONG64;
typedef uint64_t ULONG64;
typedef intptr_t LONG_PTR;
typedef uintptr_t ULONG_PTR;
typedef size_t SIZE_T;
typedef size_t* PSIZE_T;
#if __SIZEOF_WCHAR_T__ == 2
typedef wchar_t WCHAR; /* the character of L"..." under -fshort-wchar */
#else
typedef char16_t WCHAR;
#endif
typedef WCHAR* PWSTR;
typedef const WCHAR* PCWSTR;
typedef UCHAR BOOLEAN;
typedef BOOLEAN* PBOOLEAN;
typedef void* HANDLE;
typedef HANDLE* PHANDLE;
typedef ULONG ACCESS_MASK;

/* NT_SUCCESS holds when bit 31 is clear. */
typedef int32_t NTSTATUS;
typedef NTSTATUS* PNTSTATUS;

typedef CCHAR KPROCESSOR_MODE;
enum { KernelMode = 0, UserMode = 1 };

#ifndef TRUE
#define TRUE 1
#define FALSE 0
#endif

typedef union _LARGE_INTEGER {
    __extension__ struct {
        ULONG LowPart;
        LONG HighPart;
    };
    struct {
        ULONG LowPart;
        LONG HighPart;
    } u;
    LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef union _ULARGE_INTEGER {
    __extension__ struct {
        ULONG LowPart;
        ULONG HighPart;
    };
    struct {
        ULONG LowPart;
        ULONG HighPart;
    } u;
    ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

typedef struct _UNICODE_STRING {
    USHORT Length; /* bytes, without a terminator */
    USHORT MaximumLength;
    PWSTR Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
typedef const UNICODE_STRING* PCUNICODE_STRING;

typedef struct _GUID {
    ULONG Data1;
    USHORT Data2;
    USHORT Data3;
    UCHAR Data4[8];
} GUID;

#define UNREFERENCED_PARAMETER(parameter) ((void)(parameter))
#define ARGUMENT_PRESENT(argument) ((argument) != NULL)
#define CONTAINING_RECORD(address, type, field)                                                    \
    ((type*)(void*)((char*)(void*)(address)-offsetof(type, field)))

/* Doubly linked list. The head of an empty list points to itself. */
typedef struct _LIST_ENTRY {
    struct _LIST_ENTRY* Flink;
    struct _LIST_ENTRY* Blink;
} LIST_ENTRY, *PLIST_ENTRY;

typedef struct _SINGLE_LIST_ENTRY {
    struct _SINGLE_LIST_ENTRY* Next;
} SINGLE_LIST_ENTRY, *PSINGLE_LIST_ENTRY;

static inline void InitializeListHead(PLIST_ENTRY head) NT_NOEXCEPT {
    head->Flink = head;
    head->Blink = head;
}

static inline BOOLEAN IsListEmpty(const LIST_ENTRY* head) NT_NOEXCEPT {
    return head->Flink == head;
}

/* Called only by the inline functions below, in driver code that is compiled with
   IRPVERBS_CHECKED_INLINES 1: a simulated run may switch to another actor; then bug check 0x139
   with parameter 3, as on Windows, unless the two neighbours point to `entry`, or, if it is NULL,
   to one another. IRQL: any. */
NT_EXTERN_C_BEGIN
NT_API void CheckListLinks(const LIST_ENTRY* previous, const LIST_ENTRY* entry,
                           const LIST_ENTRY* next);
NT_EXTERN_C_END
static inline void CheckLinks(const LIST_ENTRY* previous, const LIST_ENTRY* entry,
                              const LIST_ENTRY* next) {
#if IRPVERBS_CHECKED_INLINES && !defined(IRPVERBS_OWN_SOURCES) &&                                  \
    !defined(NO_KERNEL_LIST_ENTRY_CHECKS)
    CheckListLinks(previous, entry, next);
#else
    (void)previous;
    (void)entry;
    (void)next;
#endif
}

static inline void InsertTailList(PLIST_ENTRY head, PLIST_ENTRY entry) {
    PLIST_ENTRY last = head->Blink;
    CheckLinks(last, NULL, head);
    entry->Flink = head;
    entry->Blink = last;
    last->Flink = entry;
    head->Blink = entry;
}

static inline void InsertHeadList(PLIST_ENTRY head, PLIST_ENTRY entry) {
    PLIST_ENTRY first = head->Flink;
    CheckLinks(head, NULL, first);
    entry->Flink = first;
    entry->Blink = head;
    first->Blink = entry;
    head->Flink = entry;
}

/* Unlinks `entry`; TRUE when the list is empty afterwards. */
static inline BOOLEAN RemoveEntryList(PLIST_ENTRY entry) {
    PLIST_ENTRY next = entry->Flink;
    PLIST_ENTRY previous = entry->Blink;
    CheckLinks(previous, entry, next);
    previous->Flink = next;
    next->Blink = previous;
    return next == previous;
}

/* The list must not be empty. */
static inline PLIST_ENTRY RemoveHeadList(PLIST_ENTRY head) {
    PLIST_ENTRY entry = head->Flink;
    RemoveEntryList(entry);
    return entry;
}

/* The list must not be empty. */
static inline PLIST_ENTRY RemoveTailList(PLIST_ENTRY head) {
    PLIST_ENTRY entry = head->Blink;
    RemoveEntryList(entry);
    return entry;
}

/* Appends the entries of `list` (a chain without a head of its own) to the tail of `head`. */
static inline void AppendTailList(PLIST_ENTRY head, PLIST_ENTRY list) NT_NOEXCEPT {
    PLIST_ENTRY last = head->Blink;
    head->Blink->Flink = list;
    head->Blink = list->Blink;
    list->Blink->Flink = head;
    list->Blink = last;
}

static inline void PushEntryList(PSINGLE_LIST_ENTRY head, PSINGLE_LIST_ENTRY entry) NT_NOEXCEPT {
    entry->Next = head->Next;
    head->Next = entry;
}

/* Returns NULL when the list is empty. */
static inline PSINGLE_LIST_ENTRY PopEntryList(PSINGLE_LIST_ENTRY head) NT_NOEXCEPT {
    PSINGLE_LIST_ENTRY first = head->Next;
    if (first != NULL) head->Next = first->Next;
    return first;
}

#endif
