/* Status codes beside those of dispatch/ntstatus.h. */
#ifndef IRPVERBS_WINDOWS_STATUS_CODES_H
#define IRPVERBS_WINDOWS_STATUS_CODES_H

#include <dispatch/ntstatus.h>

#ifdef __cplusplus
#define IRPVERBS_X_CODE(name, value)                                                               \
    inline constexpr NTSTATUS name = static_cast<NTSTATUS>(value##u);
#include <windows/wdk/status_codes.def>
#undef IRPVERBS_X_CODE
#else
enum {
#define IRPVERBS_X_CODE(name, value) name = (int)value##u,
#include <windows/wdk/status_codes.def>
#undef IRPVERBS_X_CODE
};
#endif

#define STATUS_SEVERITY_SUCCESS 0x0
#define STATUS_SEVERITY_INFORMATIONAL 0x1
#define STATUS_SEVERITY_WARNING 0x2
#define STATUS_SEVERITY_ERROR 0x3
#define FACILITY_NTWIN32 0x7
#define FACILITY_USB_ERROR_CODE 0x10
#define APPLICATION_ERROR_MASK 0x20000000
#define ERROR_SEVERITY_SUCCESS 0x00000000
#define ERROR_SEVERITY_INFORMATIONAL 0x40000000
#define ERROR_SEVERITY_WARNING 0x80000000
#define ERROR_SEVERITY_ERROR 0xC0000000
#define HRESULT_FROM_NT(status) ((HRESULT)((status) | 0x10000000))
#define STATUS_ABANDONED_WAIT_63 ((NTSTATUS)0xBF)
#define WAIT_TIMEOUT 258
#define ERROR_SUCCESS 0
#define NO_ERROR 0
#define S_OK ((HRESULT)0)
#define E_FAIL ((HRESULT)0x80004005)
#define SUCCEEDED(result) ((HRESULT)(result) >= 0)
#define FAILED(result) ((HRESULT)(result) < 0)

#endif
