/* Scalar and string types of Windows that dispatch/ntdef.h does not need for itself. */
#ifndef IRPVERBS_WINDOWS_TYPES_H
#define IRPVERBS_WINDOWS_TYPES_H
/* Sources test whether it is defined. */
#define _NTDEF_

#include <dispatch/object_attributes.h>
#include <irp/security_types.h>
#include <windows/wdk/compiler.h>
#include <windows/wdk/sal.h>

typedef char* PCHAR;
typedef char *LPCH, *PCH;
typedef const char *LPCCH, *PCCH;
typedef char *LPSTR, *PSTR, *PSZ, *NPSTR;
typedef const char *LPCSTR, *PCSTR, *PCSZ;
typedef signed char* PCCHAR;
typedef const UCHAR* PCUCHAR;
typedef signed char SCHAR;
typedef SCHAR* PSCHAR;
typedef SHORT* PSHORT;
typedef USHORT* PUSHORT;
typedef CSHORT* PCSHORT;
typedef const USHORT* PCUSHORT;
typedef const ULONG* PCULONG;
typedef LONGLONG* PLONGLONG;
typedef ULONGLONG* PULONGLONG;
typedef LONG64* PLONG64;
typedef ULONG64* PULONG64;
typedef int INT, *PINT, *LPINT;
typedef unsigned int UINT, *PUINT;
typedef int8_t INT8, *PINT8;
typedef int16_t INT16, *PINT16;
typedef int32_t INT32, *PINT32;
typedef int64_t INT64, *PINT64;
typedef uint8_t UINT8, *PUINT8;
typedef uint16_t UINT16, *PUINT16;
typedef uint32_t UINT32, *PUINT32;
typedef uint64_t UINT64, *PUINT64;
typedef int32_t LONG32, *PLONG32;
typedef uint32_t ULONG32, *PULONG32, DWORD32, *PDWORD32;
typedef int BOOL, *PBOOL, *LPBOOL;
typedef unsigned char BYTE, *PBYTE, *LPBYTE;
typedef uint16_t WORD, *PWORD, *LPWORD;
typedef uint32_t DWORD, *PDWORD, *LPDWORD;
typedef uint64_t DWORD64, *PDWORD64, DWORDLONG, *PDWORDLONG, QWORD;
typedef float FLOAT, *PFLOAT;
typedef double DOUBLE;
typedef void* LPVOID;
typedef const void* LPCVOID;
typedef const void* PCVOID;
typedef LONG_PTR* PLONG_PTR;
typedef ULONG_PTR* PULONG_PTR;
typedef intptr_t INT_PTR, *PINT_PTR, SSIZE_T, *PSSIZE_T;
typedef uintptr_t UINT_PTR, *PUINT_PTR, DWORD_PTR, *PDWORD_PTR;
typedef int32_t HALF_PTR, *PHALF_PTR;
typedef uint32_t UHALF_PTR, *PUHALF_PTR;
typedef LONG HRESULT;
typedef ULONG LOGICAL, *PLOGICAL;
typedef LONGLONG USN;
typedef ULONG LCID, *PLCID;
typedef USHORT LANGID;
typedef ULONG EXECUTION_STATE, *PEXECUTION_STATE;
typedef UCHAR FCHAR;
typedef USHORT FSHORT;
typedef ULONG FLONG;
typedef BOOLEAN* LPBOOLEAN;
typedef PVOID* PPVOID;
typedef ACCESS_MASK* PACCESS_MASK;
typedef ULONG CLONG, *PCLONG;

typedef WCHAR *PWCHAR, *PWCH, *LPWCH, *LPWSTR, *PZZWSTR, *PUZZWSTR, *NWPSTR;
typedef const WCHAR *LPCWSTR, *PCWCH, *LPCWCH, *PCZZWSTR, *LPCWCHAR, *PCUWSTR, *PCNZWCH;
typedef PWSTR* PPWSTR;
typedef WCHAR* LPUWSTR;
typedef WCHAR* PNZWCH;
typedef ULONG UCSCHAR;

/* Handles and pointers as numbers of 32 bits, and back. Source: WDK basetsd.h. */
static inline ULONG HandleToULong(const void* handle) { return (ULONG)(ULONG_PTR)handle; }
static inline LONG HandleToLong(const void* handle) { return (LONG)(LONG_PTR)handle; }
static inline HANDLE ULongToHandle(ULONG number) { return (HANDLE)(ULONG_PTR)number; }
static inline HANDLE LongToHandle(LONG number) { return (HANDLE)(LONG_PTR)number; }
#define HandleToUlong(handle) HandleToULong(handle)
#define UlongToHandle(number) ULongToHandle(number)
#define PtrToUlong(pointer) HandleToULong(pointer)
#define PtrToULong(pointer) HandleToULong(pointer)
#define PtrToUint(pointer) HandleToULong(pointer)
#define PtrToLong(pointer) HandleToLong(pointer)
#define PtrToInt(pointer) HandleToLong(pointer)
#define UlongToPtr(number) ULongToHandle(number)
#define ULongToPtr(number) ULongToHandle(number)
#define UIntToPtr(number) ULongToHandle(number)
#define LongToPtr(number) LongToHandle(number)

/* Characters of the kind that the source chooses. */
#ifdef UNICODE
typedef WCHAR TCHAR, *PTCHAR, TBYTE, *PTBYTE;
typedef PWSTR PTSTR, LPTSTR;
typedef LPCWSTR PCTSTR, LPCTSTR;
#else
typedef char TCHAR, *PTCHAR;
typedef unsigned char TBYTE, *PTBYTE;
typedef PSTR PTSTR, LPTSTR;
typedef PCSTR PCTSTR, LPCTSTR;
#endif

typedef LARGE_INTEGER PHYSICAL_ADDRESS, *PPHYSICAL_ADDRESS;

typedef struct _STRING {
    USHORT Length; /* bytes, without a terminator */
    USHORT MaximumLength;
    PCHAR Buffer;
} STRING, *PSTRING, ANSI_STRING, *PANSI_STRING, OEM_STRING, *POEM_STRING, UTF8_STRING,
    *PUTF8_STRING;
typedef const STRING *PCSTRING, *PCANSI_STRING, *PCOEM_STRING, *PCUTF8_STRING;

typedef struct _CSTRING {
    USHORT Length;
    USHORT MaximumLength;
    const char* Buffer;
} CSTRING, *PCSTRING_CONST;

typedef struct _STRING32 {
    USHORT Length;
    USHORT MaximumLength;
    ULONG Buffer;
} STRING32, *PSTRING32, UNICODE_STRING32, *PUNICODE_STRING32, ANSI_STRING32, *PANSI_STRING32;

typedef struct _STRING64 {
    USHORT Length;
    USHORT MaximumLength;
    ULONGLONG Buffer;
} STRING64, *PSTRING64, UNICODE_STRING64, *PUNICODE_STRING64;

typedef struct _LIST_ENTRY32 {
    ULONG Flink;
    ULONG Blink;
} LIST_ENTRY32, *PLIST_ENTRY32;

typedef struct _LIST_ENTRY64 {
    ULONGLONG Flink;
    ULONGLONG Blink;
} LIST_ENTRY64, *PLIST_ENTRY64;

typedef struct _QUAD {
    LONGLONG UseThisFieldToCopy;
} QUAD, *PQUAD, UQUAD, *PUQUAD;

typedef struct _M128A {
    ULONGLONG Low;
    LONGLONG High;
} M128A, *PM128A;

#define RTL_CONSTANT_OBJECT_ATTRIBUTES(name, flags)                                                \
    { sizeof(OBJECT_ATTRIBUTES), NULL, RTL_CONST_CAST(PUNICODE_STRING)(name), flags, NULL, NULL }
#define RTL_INIT_OBJECT_ATTRIBUTES(name, flags) RTL_CONSTANT_OBJECT_ATTRIBUTES(name, flags)
#define RTL_CONST_CAST(type) (type)

#define MINCHAR 0x80
#define MAXCHAR 0x7f
#define MINSHORT 0x8000
#define MAXSHORT 0x7fff
#define MINLONG 0x80000000
#define MAXLONG 0x7fffffff
#define MAXUCHAR 0xff
#define MAXUSHORT 0xffff
#define MAXUINT_PTR (~(UINT_PTR)0)
#define MAXULONG 0xffffffff
#define MAXDWORD 0xffffffff
#define MAXLONGLONG 0x7fffffffffffffffLL
#define MINLONGLONG (-MAXLONGLONG - 1)
#define MAXULONGLONG 0xffffffffffffffffULL
#define MAXLONG_PTR INTPTR_MAX
#define MAXULONG_PTR (~(ULONG_PTR)0)
#define MAX_SIZE_T SIZE_MAX
#define MAX_PATH 260
#define UNICODE_NULL ((WCHAR)0)
#define UNICODE_STRING_MAX_BYTES ((USHORT)65534)
#define UNICODE_STRING_MAX_CHARS 32767
#define ANSI_NULL ((CHAR)0)
#define ANSI_STRING_MAX_BYTES 65535
#define ANYSIZE_ARRAY 1
#define MAXIMUM_FILENAME_LENGTH 256
#define MAXIMUM_SUSPEND_COUNT MAXCHAR
#define OBJ_NAME_PATH_SEPARATOR ((WCHAR)L'\\')
#define INVALID_HANDLE_VALUE ((HANDLE)(LONG_PTR)-1)
#define NtCurrentProcess() ((HANDLE)(LONG_PTR)-1)
#define ZwCurrentProcess() NtCurrentProcess()
#define NtCurrentThread() ((HANDLE)(LONG_PTR)-2)
#define ZwCurrentThread() NtCurrentThread()
#define NtCurrentSession() ((HANDLE)(LONG_PTR)-3)
#define DUPLICATE_CLOSE_SOURCE 0x00000001
#define DUPLICATE_SAME_ACCESS 0x00000002
#define DUPLICATE_SAME_ATTRIBUTES 0x00000004

#define FIELD_OFFSET(type, field) ((LONG)offsetof(type, field))
#define UFIELD_OFFSET(type, field) ((ULONG)offsetof(type, field))
#define RTL_FIELD_SIZE(type, field) (sizeof(((type*)0)->field))
#define RTL_SIZEOF_THROUGH_FIELD(type, field) (offsetof(type, field) + RTL_FIELD_SIZE(type, field))
#define RTL_CONTAINS_FIELD(object, size, field)                                                    \
    (((PCHAR)(&(object)->field)) + sizeof((object)->field) <= ((PCHAR)(object)) + (size))
#define FIELD_SIZE(type, field) RTL_FIELD_SIZE(type, field)
#define RTL_NUMBER_OF_V1(array) (sizeof(array) / sizeof((array)[0]))
#define RTL_NUMBER_OF_V2(array) RTL_NUMBER_OF_V1(array)
#define RTL_NUMBER_OF(array) RTL_NUMBER_OF_V1(array)
#define RTL_NUMBER_OF_FIELD(type, field) (RTL_NUMBER_OF(((type*)0)->field))
#define ARRAYSIZE(array) RTL_NUMBER_OF(array)
#define _ARRAYSIZE(array) RTL_NUMBER_OF(array)
#define _countof(array) RTL_NUMBER_OF(array)
#define RTL_PADDING_BETWEEN_FIELDS(type, first, second)                                            \
    ((offsetof(type, second) > offsetof(type, first))                                              \
         ? (offsetof(type, second) - offsetof(type, first) - RTL_FIELD_SIZE(type, first))          \
         : (offsetof(type, first) - offsetof(type, second) - RTL_FIELD_SIZE(type, second)))
#define TYPE_ALIGNMENT(type)                                                                       \
    offsetof(                                                                                      \
        struct {                                                                                   \
            char before;                                                                           \
            type test;                                                                             \
        },                                                                                         \
        test)
#define PROBE_ALIGNMENT(type) TYPE_ALIGNMENT(type)
#define MEMORY_ALLOCATION_ALIGNMENT 16
#define SYSTEM_CACHE_ALIGNMENT_SIZE 64
#define POINTER_ALIGNMENT DECLSPEC_ALIGN(8)
#define MAX_NATURAL_ALIGNMENT sizeof(ULONGLONG)
#define TYPE_ALIGNMENT_OF_LONGLONG 8

#define ALIGN_DOWN_BY(length, alignment) ((ULONG_PTR)(length) & ~((ULONG_PTR)(alignment)-1))
#define ALIGN_UP_BY(length, alignment)                                                             \
    (ALIGN_DOWN_BY(((ULONG_PTR)(length) + (alignment)-1), alignment))
#define ALIGN_DOWN(length, type) ALIGN_DOWN_BY(length, sizeof(type))
#define ALIGN_UP(length, type) ALIGN_UP_BY(length, sizeof(type))
#define ALIGN_DOWN_POINTER_BY(address, alignment) ((PVOID)ALIGN_DOWN_BY(address, alignment))
#define ALIGN_UP_POINTER_BY(address, alignment) ((PVOID)ALIGN_UP_BY(address, alignment))
#define ALIGN_DOWN_POINTER(address, type) ALIGN_DOWN_POINTER_BY(address, sizeof(type))
#define ALIGN_UP_POINTER(address, type) ALIGN_UP_POINTER_BY(address, sizeof(type))
#define IS_ALIGNED(address, alignment) (((ULONG_PTR)(address) & ((alignment)-1)) == 0)

#define LOBYTE(value) ((UCHAR)((ULONG_PTR)(value)&0xff))
#define HIBYTE(value) ((UCHAR)(((ULONG_PTR)(value) >> 8) & 0xff))
#define LOWORD(value) ((USHORT)((ULONG_PTR)(value)&0xffff))
#define HIWORD(value) ((USHORT)(((ULONG_PTR)(value) >> 16) & 0xffff))
#define MAKEWORD(low, high) ((USHORT)(((UCHAR)(low)) | ((USHORT)((UCHAR)(high))) << 8))
#define MAKELONG(low, high) ((LONG)(((USHORT)(low)) | ((ULONG)((USHORT)(high))) << 16))
#define LANG_NEUTRAL 0
#define MAKELANGID(primary, sub) ((((USHORT)(sub)) << 10) | (USHORT)(primary))
#define UInt32x32To64(a, b) ((ULONGLONG)(ULONG)(a) * (ULONGLONG)(ULONG)(b))
#define Int32x32To64(a, b) ((LONGLONG)(LONG)(a) * (LONGLONG)(LONG)(b))
#define Int64ShllMod32(value, bits) ((ULONGLONG)(value) << ((bits)&31))
#define Int64ShraMod32(value, bits) ((LONGLONG)(value) >> ((bits)&31))
#define Int64ShrlMod32(value, bits) ((ULONGLONG)(value) >> ((bits)&31))
#define BITS_PER_BYTE 8
#define NTDDI_WIN2K 0x05000000
#define NTDDI_WINXP 0x05010000
#define NTDDI_WS03 0x05020000
#define NTDDI_WIN6 0x06000000
#define NTDDI_LONGHORN 0x06000000
#define NTDDI_VISTA 0x06000000
#define NTDDI_VISTASP1 0x06000100
#define NTDDI_WS08 0x06000100
#define NTDDI_WIN7 0x06010000
#define NTDDI_WIN8 0x06020000
#define NTDDI_WINBLUE 0x06030000
#define NTDDI_WINTHRESHOLD 0x0A000000
#define NTDDI_WIN10 0x0A000000
#define NTDDI_WIN10_TH2 0x0A000001
#define NTDDI_WIN10_RS1 0x0A000002
#define NTDDI_WIN10_RS2 0x0A000003
#define NTDDI_WIN10_RS3 0x0A000004
#define NTDDI_WIN10_RS4 0x0A000005
#define NTDDI_WIN10_RS5 0x0A000006
#define NTDDI_WIN10_19H1 0x0A000007
#define NTDDI_WIN10_VB 0x0A000008
#define NTDDI_WIN10_MN 0x0A000009
#define NTDDI_WIN10_FE 0x0A00000A
#define NTDDI_WIN10_CO 0x0A00000B
#define NTDDI_WIN10_NI 0x0A00000C
#define NTDDI_WIN10_CU 0x0A00000D
#define NTDDI_WIN11_ZN 0x0A00000E
#define NTDDI_WIN11_GA 0x0A00000F
#define NTDDI_WIN11_GE 0x0A000010
#ifndef NTDDI_VERSION
#define NTDDI_VERSION NTDDI_WIN11_GE
#endif
#define WDK_NTDDI_VERSION NTDDI_WIN11_GE
#define _WIN32_WINNT_NT4 0x0400
#define _WIN32_WINNT_WIN2K 0x0500
#define _WIN32_WINNT_WINXP 0x0501
#define _WIN32_WINNT_WS03 0x0502
#define _WIN32_WINNT_VISTA 0x0600
#define _WIN32_WINNT_LONGHORN 0x0600
#define _WIN32_WINNT_WIN7 0x0601
#define _WIN32_WINNT_WIN8 0x0602
#define _WIN32_WINNT_WINBLUE 0x0603
#define _WIN32_WINNT_WIN10 0x0A00
#ifndef _WIN32_WINNT
#define _WIN32_WINNT _WIN32_WINNT_WIN10
#endif
#ifndef WINVER
#define WINVER _WIN32_WINNT
#endif

#define DEFINE_ENUM_FLAG_OPERATORS(type)
#define NOTHING
#define CRITICAL
#define DBG_UNREFERENCED_PARAMETER(parameter) ((void)(parameter))
#define DBG_UNREFERENCED_LOCAL_VARIABLE(variable) ((void)(variable))
#define UNREFERENCED_LOCAL_VARIABLE(variable) ((void)(variable))
#define DEFAULT_UNREACHABLE                                                                        \
    default:                                                                                       \
        __builtin_unreachable()
#if !DBG && !defined(_PREFAST_)
#define IRPVERBS_WINDOWS_FREE_BUILD 1
#endif

#define _strtoui64 strtoull
#define _atoi64 atoll
#ifndef min
#ifndef __cplusplus
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#endif
#endif

#endif
