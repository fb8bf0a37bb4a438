/* Types and macros of user mode's windef.h and minwindef.h, for drivers that include those. */
#ifndef IRPVERBS_WINDOWS_WIN_TYPES_H
#define IRPVERBS_WINDOWS_WIN_TYPES_H

#include <windows/wdk/exceptions.h>
#include <windows/wdk/guid.h>
#include <windows/wdk/types.h>

#define MAX_PATH 260
#ifndef FAR
#define FAR
#define NEAR
#endif
#ifndef far
#define far
#define near
#endif
#ifndef CONST
#define CONST const
#endif
#ifndef CALLBACK
#define CALLBACK
#define WINAPI
#define APIENTRY
#define PASCAL
#define APIPRIVATE
#define WINAPIV
#endif

#define MAKEWORD(low, high) ((WORD)((BYTE)(low) | (WORD)((BYTE)(high)) << 8))
#define MAKELONG(low, high) ((LONG)((WORD)(low) | (DWORD)((WORD)(high)) << 16))
#define LOWORD(value) ((WORD)((DWORD_PTR)(value)&0xffff))
#define HIWORD(value) ((WORD)((DWORD_PTR)(value) >> 16 & 0xffff))
#define LOBYTE(value) ((BYTE)((DWORD_PTR)(value)&0xff))
#define HIBYTE(value) ((BYTE)((DWORD_PTR)(value) >> 8 & 0xff))

typedef PVOID HGLOBAL, HLOCAL, HINSTANCE, HMODULE, HKEY, HWND, HRGN, HDC;
typedef HANDLE* LPHANDLE;
typedef HKEY* PHKEY;
typedef WORD ATOM;
typedef UINT_PTR WPARAM;
typedef LONG_PTR LPARAM, LRESULT;
typedef int64_t (*FARPROC)(void);
typedef LONG* LPLONG;
typedef int HFILE;

typedef struct _FILETIME {
    DWORD dwLowDateTime; /* with dwHighDateTime, units of 100 ns since 1601 */
    DWORD dwHighDateTime;
} FILETIME, *PFILETIME, *LPFILETIME;
typedef struct tagPOINT {
    LONG x, y;
} POINT, *PPOINT, *LPPOINT;
typedef struct tagSIZE {
    LONG cx, cy;
} SIZE, *PSIZE, *LPSIZE;
typedef struct tagRECT {
    LONG left, top, right, bottom;
} RECT, *PRECT, *LPRECT;

#endif
