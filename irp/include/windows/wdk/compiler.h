/* Built-in words of Windows' compiler: calling conventions, declaration attributes, sized
   integers and structured exception handling, as macros for gcc and clang. */
#ifndef IRPVERBS_WINDOWS_COMPILER_H
#define IRPVERBS_WINDOWS_COMPILER_H

#if __SIZEOF_WCHAR_T__ != 2
#error "compile with -fshort-wchar (CMake: irpverbs::windows, pkg-config: irpverbs-windows)"
#endif

#include <dispatch/ke.h>
#include <stdarg.h>

#define __cdecl
#define _cdecl
#define __stdcall
#define _stdcall
#define __fastcall
#define _fastcall
#define __thiscall
#define __vectorcall
#define __clrcall
#define __pascal
#define FASTCALL
#define NTAPI
#define NTKERNELAPI
#define NTSYSAPI
#define NTSYSCALLAPI
#define NTHALAPI
#define APIENTRY
#define WINAPI
#define CALLBACK
#define DECLSPEC_IMPORT
#define DECLSPEC_EXPORT
#define DECLSPEC_NOINITALL
#define DECLSPEC_GUARD_SUPPRESS
#define DECLSPEC_SAFEBUFFERS
#define DECLSPEC_DEPRECATED_DDK
#define DECLSPEC_ADDRSAFE
#define DECLSPEC_RESTRICT
#define DECLSPEC_NORETURN __attribute__((__noreturn__))
#define DECLSPEC_NOINLINE __attribute__((__noinline__))
#define DECLSPEC_ALIGN(bytes) __attribute__((__aligned__(bytes)))
#define DECLSPEC_CACHEALIGN DECLSPEC_ALIGN(64)
#define DECLSPEC_SELECTANY __attribute__((__weak__))
#define DECLSPEC_NOVTABLE
#define DECLSPEC_UUID(text)

#define __declspec(attribute) IRPVERBS_DECLSPEC_##attribute
#define _declspec(attribute) IRPVERBS_DECLSPEC_##attribute
#define IRPVERBS_DECLSPEC_align(bytes) __attribute__((__aligned__(bytes)))
#define IRPVERBS_DECLSPEC_allocate(section)
#define IRPVERBS_DECLSPEC_code_seg(section)
#define IRPVERBS_DECLSPEC_deprecated
#define IRPVERBS_DECLSPEC_dllexport
#define IRPVERBS_DECLSPEC_dllimport
#define IRPVERBS_DECLSPEC_guard(word)
#define IRPVERBS_DECLSPEC_noalias
#define IRPVERBS_DECLSPEC_noinline __attribute__((__noinline__))
#define IRPVERBS_DECLSPEC_noreturn __attribute__((__noreturn__))
#define IRPVERBS_DECLSPEC_nothrow
#define IRPVERBS_DECLSPEC_novtable
#define IRPVERBS_DECLSPEC_restrict
#define IRPVERBS_DECLSPEC_safebuffers
#define IRPVERBS_DECLSPEC_selectany __attribute__((__weak__))
#define IRPVERBS_DECLSPEC_thread __thread
#define IRPVERBS_DECLSPEC_uuid(text)

/* Every call is inlined, since C emits no body for a plain inline function elsewhere. */
#undef __inline
#define __inline __inline__ __attribute__((__always_inline__))
#define _inline __inline
#define __forceinline __inline
#define FORCEINLINE static __inline
#define CFORCEINLINE FORCEINLINE
#define DECLSPEC_INLINE __inline

#ifdef __clang__
#pragma clang diagnostic ignored "-Wbuiltin-macro-redefined"
#endif
#define __int8 char
#define __int16 short
#define __int32 int
#define __int64 long long
#define _int64 long long
#define __w64
#define __ptr32
#define __ptr64
#define __sptr
#define __uptr
#define __unaligned
#define UNALIGNED
#define UNALIGNED64
#define RESTRICTED_POINTER
#define POINTER_32
#define POINTER_64
#define FIRMWARE_PTR
#define __assume(condition)                                                                        \
    do {                                                                                           \
        if (!(condition)) __builtin_unreachable();                                                 \
    } while (0)
#define __noop(...) ((void)0)
#define __debugbreak() __builtin_trap()
#define __fastfail(code) KeBugCheckEx(KERNEL_SECURITY_CHECK_FAILURE, (code), 0, 0, 0)
#define __pragma(...)
#define __annotation(...) ((void)0)
#define __identifier(name) name
#define _ReturnAddress() __builtin_return_address(0)
#define __FUNCSIG__ __func__
#ifndef __cplusplus
#define __nullptr NULL
#endif
#define C_ASSERT(condition) NT_STATIC_ASSERT(condition, #condition)

#define IN
#define OUT
#define INOUT
#define OPTIONAL
#define CONST const
#define STDAPICALLTYPE
#define STDMETHODCALLTYPE
#define EXTERN_C_START NT_EXTERN_C_BEGIN
#define EXTERN_C_END NT_EXTERN_C_END
#ifdef __cplusplus
#define EXTERN_C extern "C"
#else
#define EXTERN_C extern
#endif

/* Processor and environment, as Windows' build defines them. */
#ifndef _WIN64
#define _WIN64 1
#endif
#ifndef _AMD64_
#define _AMD64_ 1
#define AMD64 1
#define _M_AMD64 100
#define _M_X64 100
#endif
#ifndef _WIN32
#define _WIN32 1
#endif
#ifndef _KERNEL_MODE
#define _KERNEL_MODE 1
#endif
#ifndef WINNT
#define WINNT 1
#endif
#ifndef STD_CALL
#define STD_CALL
#endif

#define FILE_NAME_AS_TEXT __FILE__
#define __FILEW__ L"" __FILE__

#endif
