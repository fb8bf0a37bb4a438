/* The auxiliary kernel-mode library: loaded modules and crash data. Only declared. Source: WDK
   aux_klib.h reference. */
#ifndef IRPVERBS_WINDOWS_AUX_KLIB_H
#define IRPVERBS_WINDOWS_AUX_KLIB_H

#include <windows/wdk/wdm.h>

#define AUX_KLIB_MODULE_PATH_LEN 256

typedef struct _AUX_MODULE_BASIC_INFO {
    PVOID ImageBase;
} AUX_MODULE_BASIC_INFO, *PAUX_MODULE_BASIC_INFO;
typedef struct _AUX_MODULE_EXTENDED_INFO {
    AUX_MODULE_BASIC_INFO BasicInfo;
    ULONG ImageSize;
    USHORT FileNameOffset;
    UCHAR FullPathName[AUX_KLIB_MODULE_PATH_LEN];
} AUX_MODULE_EXTENDED_INFO, *PAUX_MODULE_EXTENDED_INFO;
typedef struct _KBUGCHECK_DATA {
    ULONG BugCheckDataSize;
    ULONG BugCheckCode;
    ULONG_PTR Parameter1;
    ULONG_PTR Parameter2;
    ULONG_PTR Parameter3;
    ULONG_PTR Parameter4;
} KBUGCHECK_DATA, *PKBUGCHECK_DATA;

NT_EXTERN_C_BEGIN
NT_API NTSTATUS AuxKlibInitialize(void);
NT_API NTSTATUS AuxKlibQueryModuleInformation(PULONG BufferSize, ULONG ElementSize,
                                              PVOID QueryInfo);
NT_API NTSTATUS AuxKlibGetBugCheckData(PKBUGCHECK_DATA BugCheckData);
NT_API PVOID AuxKlibGetImageExportDirectory(PVOID ImageBase);
NT_EXTERN_C_END

#endif
