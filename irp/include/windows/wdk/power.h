/* Power management. Source: WDK wdm.h and ntpoapi.h reference. */
#ifndef IRPVERBS_WINDOWS_POWER_H
#define IRPVERBS_WINDOWS_POWER_H

#include <irp/power.h>
#include <irp/power_types.h>
#include <windows/wdk/function_types.h>
#include <windows/wdk/guid.h>

#define ES_SYSTEM_REQUIRED 0x00000001
#define ES_DISPLAY_REQUIRED 0x00000002
#define ES_USER_PRESENT 0x00000004
#define ES_CONTINUOUS 0x80000000
#define POWER_PLATFORM_ROLE_V1 1
#define PO_TRANSITION_POWER 1
typedef enum _DEVICE_WAKE_DEPTH { DeviceWakeDepthNotWakeable, DeviceWakeDepthD0 } DEVICE_WAKE_DEPTH;
typedef enum _POWER_MONITOR_STATE {
    PowerMonitorOff,
    PowerMonitorOn,
    PowerMonitorDim
} POWER_MONITOR_STATE;
typedef NTSTATUS POWER_SETTING_CALLBACK(const GUID* SettingGuid, PVOID Value, ULONG ValueLength,
                                        PVOID Context);
typedef POWER_SETTING_CALLBACK* PPOWER_SETTING_CALLBACK;
typedef enum _POWER_INFORMATION_LEVEL {
    SystemPowerPolicyAc,
    SystemPowerPolicyDc,
    VerifySystemPolicyAc,
    VerifySystemPolicyDc,
    SystemPowerCapabilities,
    SystemBatteryState,
    SystemPowerStateHandler,
    ProcessorStateHandler,
    SystemPowerPolicyCurrent,
    AdministratorPowerPolicy,
    SystemReserveHiberFile,
    ProcessorInformation,
    SystemPowerInformation
} POWER_INFORMATION_LEVEL;

typedef enum _POWER_REQUEST_TYPE {
    PowerRequestDisplayRequired,
    PowerRequestSystemRequired,
    PowerRequestAwayModeRequired,
    PowerRequestExecutionRequired
} POWER_REQUEST_TYPE;
typedef struct _COUNTED_REASON_CONTEXT {
    ULONG Version;
    ULONG Flags;
    __extension__ union {
        __extension__ struct {
            UNICODE_STRING ResourceFileName;
            USHORT ResourceReasonId;
            ULONG StringCount;
            PUNICODE_STRING ReasonStrings;
        };
        UNICODE_STRING SimpleString;
    };
} COUNTED_REASON_CONTEXT, *PCOUNTED_REASON_CONTEXT;
#define DIAGNOSTIC_REASON_VERSION 0
#define DIAGNOSTIC_REASON_SIMPLE_STRING 0x00000001

/* The power framework. */
typedef struct _POHANDLE* POHANDLE;
#define PO_FX_VERSION_V1 1
#define PO_FX_VERSION_V2 2
#define PO_FX_VERSION_V3 3
#define PO_FX_VERSION PO_FX_VERSION_V1
#define PO_FX_FLAG_BLOCKING 1
#define PO_FX_FLAG_ASYNC_ONLY 2
#define PO_FX_UNKNOWN_TIME 0xffffffffffffffffULL
#define PO_FX_UNKNOWN_POWER 0xffffffff
#define PO_FX_COMPONENT_FLAG_F0_ON_DX 1
#define PO_FX_COMPONENT_FLAG_NO_DEBOUNCE 2
#define PO_FX_COMPONENT_FLAG_PIN 4
typedef void PO_FX_COMPONENT_ACTIVE_CONDITION_CALLBACK(PVOID Context, ULONG Component);
typedef PO_FX_COMPONENT_ACTIVE_CONDITION_CALLBACK *PPO_FX_COMPONENT_ACTIVE_CONDITION_CALLBACK,
    *PPO_FX_COMPONENT_IDLE_CONDITION_CALLBACK;
typedef PO_FX_COMPONENT_ACTIVE_CONDITION_CALLBACK PO_FX_COMPONENT_IDLE_CONDITION_CALLBACK;
typedef void PO_FX_COMPONENT_IDLE_STATE_CALLBACK(PVOID Context, ULONG Component, ULONG State);
typedef PO_FX_COMPONENT_IDLE_STATE_CALLBACK* PPO_FX_COMPONENT_IDLE_STATE_CALLBACK;
typedef void PO_FX_DEVICE_POWER_REQUIRED_CALLBACK(PVOID Context);
typedef PO_FX_DEVICE_POWER_REQUIRED_CALLBACK *PPO_FX_DEVICE_POWER_REQUIRED_CALLBACK,
    *PPO_FX_DEVICE_POWER_NOT_REQUIRED_CALLBACK;
typedef PO_FX_DEVICE_POWER_REQUIRED_CALLBACK PO_FX_DEVICE_POWER_NOT_REQUIRED_CALLBACK;
typedef NTSTATUS PO_FX_POWER_CONTROL_CALLBACK(PVOID DeviceContext, LPCGUID PowerControlCode,
                                              PVOID InBuffer, SIZE_T InBufferSize, PVOID OutBuffer,
                                              SIZE_T OutBufferSize, PSIZE_T BytesReturned);
typedef PO_FX_POWER_CONTROL_CALLBACK* PPO_FX_POWER_CONTROL_CALLBACK;
typedef struct _PO_FX_COMPONENT_IDLE_STATE {
    ULONGLONG TransitionLatency;
    ULONGLONG ResidencyRequirement;
    ULONG NominalPower;
} PO_FX_COMPONENT_IDLE_STATE, *PPO_FX_COMPONENT_IDLE_STATE;
typedef struct _PO_FX_COMPONENT_V1 {
    GUID Id;
    ULONG IdleStateCount;
    ULONG DeepestWakeableIdleState;
    PPO_FX_COMPONENT_IDLE_STATE IdleStates;
} PO_FX_COMPONENT_V1, *PPO_FX_COMPONENT_V1, PO_FX_COMPONENT, *PPO_FX_COMPONENT;
typedef struct _PO_FX_COMPONENT_V2 {
    GUID Id;
    ULONGLONG Flags;
    ULONG DeepestWakeableIdleState;
    ULONG IdleStateCount;
    PPO_FX_COMPONENT_IDLE_STATE IdleStates;
    ULONG ProviderCount;
    PULONG Providers;
} PO_FX_COMPONENT_V2, *PPO_FX_COMPONENT_V2;
typedef struct _PO_FX_DEVICE_V1 {
    ULONG Version;
    ULONG ComponentCount;
    PPO_FX_COMPONENT_ACTIVE_CONDITION_CALLBACK ComponentActiveConditionCallback;
    PPO_FX_COMPONENT_IDLE_CONDITION_CALLBACK ComponentIdleConditionCallback;
    PPO_FX_COMPONENT_IDLE_STATE_CALLBACK ComponentIdleStateCallback;
    PPO_FX_DEVICE_POWER_REQUIRED_CALLBACK DevicePowerRequiredCallback;
    PPO_FX_DEVICE_POWER_NOT_REQUIRED_CALLBACK DevicePowerNotRequiredCallback;
    PPO_FX_POWER_CONTROL_CALLBACK PowerControlCallback;
    PVOID DeviceContext;
    PO_FX_COMPONENT Components[ANYSIZE_ARRAY];
} PO_FX_DEVICE_V1, *PPO_FX_DEVICE_V1, PO_FX_DEVICE, *PPO_FX_DEVICE;

NT_EXTERN_C_BEGIN
/* Notes the state of the device, or of the system as the device knows it. Returns the state noted
   before. IRQL: <= DISPATCH_LEVEL. Source: WDK PoSetPowerState. */
NT_API POWER_STATE PoSetPowerState(PDEVICE_OBJECT DeviceObject, POWER_STATE_TYPE Type,
                                   POWER_STATE State);
NT_API PULONG PoRegisterDeviceForIdleDetection(PDEVICE_OBJECT DeviceObject,
                                               ULONG ConservationIdleTime,
                                               ULONG PerformanceIdleTime, DEVICE_POWER_STATE State);
NT_API void PoSetDeviceBusyEx(PULONG IdlePointer);
NT_API void PoStartDeviceBusy(PULONG IdlePointer);
NT_API void PoEndDeviceBusy(PULONG IdlePointer);
NT_API PVOID PoRegisterSystemState(PVOID StateHandle, EXECUTION_STATE Flags);
NT_API void PoUnregisterSystemState(PVOID StateHandle);
NT_API void PoSetSystemState(EXECUTION_STATE Flags);
NT_API NTSTATUS PoRegisterPowerSettingCallback(PDEVICE_OBJECT DeviceObject, const GUID* SettingGuid,
                                               PPOWER_SETTING_CALLBACK Callback, PVOID Context,
                                               PVOID* Handle);
NT_API NTSTATUS PoUnregisterPowerSettingCallback(PVOID Handle);
NT_API NTSTATUS PoCreatePowerRequest(PVOID* PowerRequest, PDEVICE_OBJECT DeviceObject,
                                     PCOUNTED_REASON_CONTEXT Context);
NT_API NTSTATUS PoSetPowerRequest(PVOID PowerRequest, POWER_REQUEST_TYPE Type);
NT_API NTSTATUS PoClearPowerRequest(PVOID PowerRequest, POWER_REQUEST_TYPE Type);
NT_API void PoDeletePowerRequest(PVOID PowerRequest);
NT_API BOOLEAN PoQueryWatchdogTime(PDEVICE_OBJECT Pdo, PULONG SecondsRemaining);
NT_API NTSTATUS ZwPowerInformation(POWER_INFORMATION_LEVEL InformationLevel, PVOID InputBuffer,
                                   ULONG InputBufferLength, PVOID OutputBuffer,
                                   ULONG OutputBufferLength);
NT_API NTSTATUS PoFxRegisterDevice(PDEVICE_OBJECT Pdo, PPO_FX_DEVICE Device, POHANDLE* Handle);
NT_API void PoFxUnregisterDevice(POHANDLE Handle);
NT_API void PoFxStartDevicePowerManagement(POHANDLE Handle);
NT_API void PoFxActivateComponent(POHANDLE Handle, ULONG Component, ULONG Flags);
NT_API void PoFxIdleComponent(POHANDLE Handle, ULONG Component, ULONG Flags);
NT_API void PoFxCompleteIdleCondition(POHANDLE Handle, ULONG Component);
NT_API void PoFxCompleteIdleState(POHANDLE Handle, ULONG Component);
NT_API void PoFxCompleteDevicePowerNotRequired(POHANDLE Handle);
NT_API void PoFxReportDevicePoweredOn(POHANDLE Handle);
NT_API void PoFxSetDeviceIdleTimeout(POHANDLE Handle, ULONGLONG IdleTimeout);
NT_API void PoFxSetComponentLatency(POHANDLE Handle, ULONG Component, ULONGLONG Latency);
NT_API void PoFxSetComponentResidency(POHANDLE Handle, ULONG Component, ULONGLONG Residency);
NT_API void PoFxSetComponentWake(POHANDLE Handle, ULONG Component, BOOLEAN WakeHint);
NT_API NTSTATUS PoFxPowerControl(POHANDLE Handle, LPCGUID PowerControlCode, PVOID InBuffer,
                                 SIZE_T InBufferSize, PVOID OutBuffer, SIZE_T OutBufferSize,
                                 PSIZE_T BytesReturned);
NT_EXTERN_C_END

/* Power requests travel as all others do: since Windows Vista these two are IoCallDriver and
   nothing. */
#define PoCallDriver(device, irp) IoCallDriver((device), (irp))
#define PoStartNextPowerIrp(irp) ((void)(irp))
#define PoSetDeviceBusy(pointer) ((void)((pointer) != NULL ? (*(pointer) = 0) : 0))

#endif
