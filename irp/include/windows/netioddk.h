/* The network module registrar. Declarations only. Source: WDK netioddk.h reference. */
#ifndef IRPVERBS_WINDOWS_NETIODDK_H
#define IRPVERBS_WINDOWS_NETIODDK_H

#include <windows/wdk/guid.h>
#include <windows/wdk/objects.h>

typedef GUID NPIID, *PNPIID;
typedef const NPIID* PCNPIID;
typedef enum { MIT_GUID = 1, MIT_IF_LUID } NPI_MODULEID_TYPE;
typedef struct _NPI_MODULEID {
    USHORT Length;
    NPI_MODULEID_TYPE Type;
    __extension__ union {
        GUID Guid;
        LUID IfLuid;
    };
} NPI_MODULEID, *PNPI_MODULEID;
typedef const NPI_MODULEID* PCNPI_MODULEID;
typedef struct _NPI_REGISTRATION_INSTANCE {
    USHORT Version;
    USHORT Size;
    PCNPIID NpiId;
    PCNPI_MODULEID ModuleId;
    ULONG Number;
    const void* NpiSpecificCharacteristics;
} NPI_REGISTRATION_INSTANCE, *PNPI_REGISTRATION_INSTANCE;
typedef const NPI_REGISTRATION_INSTANCE* PCNPI_REGISTRATION_INSTANCE;
typedef NTSTATUS NPI_CLIENT_ATTACH_PROVIDER_FN(HANDLE NmrBindingHandle, PVOID ClientContext,
                                               PNPI_REGISTRATION_INSTANCE ProviderInstance);
typedef NPI_CLIENT_ATTACH_PROVIDER_FN* PNPI_CLIENT_ATTACH_PROVIDER_FN;
typedef NTSTATUS NPI_CLIENT_DETACH_PROVIDER_FN(PVOID ClientBindingContext);
typedef NPI_CLIENT_DETACH_PROVIDER_FN* PNPI_CLIENT_DETACH_PROVIDER_FN;
typedef void NPI_CLIENT_CLEANUP_BINDING_CONTEXT_FN(PVOID ClientBindingContext);
typedef NPI_CLIENT_CLEANUP_BINDING_CONTEXT_FN* PNPI_CLIENT_CLEANUP_BINDING_CONTEXT_FN;
typedef struct _NPI_CLIENT_CHARACTERISTICS {
    USHORT Version;
    USHORT Length;
    PNPI_CLIENT_ATTACH_PROVIDER_FN ClientAttachProvider;
    PNPI_CLIENT_DETACH_PROVIDER_FN ClientDetachProvider;
    PNPI_CLIENT_CLEANUP_BINDING_CONTEXT_FN ClientCleanupBindingContext;
    NPI_REGISTRATION_INSTANCE ClientRegistrationInstance;
} NPI_CLIENT_CHARACTERISTICS, *PNPI_CLIENT_CHARACTERISTICS;
typedef const NPI_CLIENT_CHARACTERISTICS* PCNPI_CLIENT_CHARACTERISTICS;

NT_EXTERN_C_BEGIN
NT_API NTSTATUS NmrRegisterClient(PCNPI_CLIENT_CHARACTERISTICS ClientCharacteristics,
                                  PVOID ClientContext, PHANDLE NmrClientHandle);
NT_API NTSTATUS NmrDeregisterClient(HANDLE NmrClientHandle);
NT_API NTSTATUS NmrWaitForClientDeregisterComplete(HANDLE NmrClientHandle);
NT_API NTSTATUS NmrClientAttachProvider(HANDLE NmrBindingHandle, PVOID ClientBindingContext,
                                        const void* ClientDispatch, PVOID* ProviderBindingContext,
                                        const void** ProviderDispatch);
NT_API void NmrClientDetachProviderComplete(HANDLE NmrBindingHandle);
NT_EXTERN_C_END

#endif
