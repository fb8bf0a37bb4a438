/* Processes, threads and what is notified of them. Source: WDK ntddk.h reference. */
#ifndef IRPVERBS_WINDOWS_PROCESSES_H
#define IRPVERBS_WINDOWS_PROCESSES_H

#include <windows/wdk/kernel.h>

typedef struct _CLIENT_ID {
    HANDLE UniqueProcess;
    HANDLE UniqueThread;
} CLIENT_ID, *PCLIENT_ID;
typedef LONG KPRIORITY_BASE;
typedef enum _PROCESSINFOCLASS {
    ProcessBasicInformation = 0,
    ProcessQuotaLimits = 1,
    ProcessIoCounters = 2,
    ProcessVmCounters = 3,
    ProcessTimes = 4,
    ProcessWow64Information = 26,
    ProcessImageFileName = 27
} PROCESSINFOCLASS;
typedef struct _PROCESS_BASIC_INFORMATION {
    NTSTATUS ExitStatus;
    struct _PEB* PebBaseAddress;
    ULONG_PTR AffinityMask;
    KPRIORITY BasePriority;
    ULONG_PTR UniqueProcessId;
    ULONG_PTR InheritedFromUniqueProcessId;
} PROCESS_BASIC_INFORMATION, *PPROCESS_BASIC_INFORMATION;
typedef enum _THREADINFOCLASS {
    ThreadBasicInformation = 0,
    ThreadTimes = 1,
    ThreadPriority = 2,
    ThreadBasePriority = 3,
    ThreadAffinityMask = 4
} THREADINFOCLASS;
typedef struct _PS_CREATE_NOTIFY_INFO {
    SIZE_T Size;
    __extension__ union {
        ULONG Flags;
        __extension__ struct {
            ULONG FileOpenNameAvailable : 1;
            ULONG IsSubsystemProcess : 1;
            ULONG Reserved : 30;
        };
    };
    HANDLE ParentProcessId;
    CLIENT_ID CreatingThreadId;
    struct _FILE_OBJECT* FileObject;
    PCUNICODE_STRING ImageFileName;
    PCUNICODE_STRING CommandLine;
    NTSTATUS CreationStatus;
} PS_CREATE_NOTIFY_INFO, *PPS_CREATE_NOTIFY_INFO;
typedef struct _IMAGE_INFO {
    __extension__ union {
        ULONG Properties;
        __extension__ struct {
            ULONG ImageAddressingMode : 8;
            ULONG SystemModeImage : 1;
            ULONG ImageMappedToAllPids : 1;
            ULONG ExtendedInfoPresent : 1;
            ULONG MachineTypeMismatch : 1;
            ULONG ImageSignatureLevel : 4;
            ULONG ImageSignatureType : 3;
            ULONG ImagePartialMap : 1;
            ULONG Reserved : 12;
        };
    };
    PVOID ImageBase;
    ULONG ImageSelector;
    SIZE_T ImageSize;
    ULONG ImageSectionNumber;
} IMAGE_INFO, *PIMAGE_INFO;
typedef struct _IMAGE_INFO_EX {
    SIZE_T Size;
    IMAGE_INFO ImageInfo;
    struct _FILE_OBJECT* FileObject;
} IMAGE_INFO_EX, *PIMAGE_INFO_EX;
typedef void CREATE_PROCESS_NOTIFY_ROUTINE(HANDLE ParentId, HANDLE ProcessId, BOOLEAN Create);
typedef CREATE_PROCESS_NOTIFY_ROUTINE* PCREATE_PROCESS_NOTIFY_ROUTINE;
typedef void CREATE_PROCESS_NOTIFY_ROUTINE_EX(PEPROCESS Process, HANDLE ProcessId,
                                              PPS_CREATE_NOTIFY_INFO CreateInfo);
typedef CREATE_PROCESS_NOTIFY_ROUTINE_EX* PCREATE_PROCESS_NOTIFY_ROUTINE_EX;
typedef void CREATE_THREAD_NOTIFY_ROUTINE(HANDLE ProcessId, HANDLE ThreadId, BOOLEAN Create);
typedef CREATE_THREAD_NOTIFY_ROUTINE* PCREATE_THREAD_NOTIFY_ROUTINE;
typedef void LOAD_IMAGE_NOTIFY_ROUTINE(PUNICODE_STRING FullImageName, HANDLE ProcessId,
                                       PIMAGE_INFO ImageInfo);
typedef LOAD_IMAGE_NOTIFY_ROUTINE* PLOAD_IMAGE_NOTIFY_ROUTINE;

NT_EXTERN_C_BEGIN
NT_API NTSTATUS PsSetCreateProcessNotifyRoutine(PCREATE_PROCESS_NOTIFY_ROUTINE NotifyRoutine,
                                                BOOLEAN Remove);
NT_API NTSTATUS PsSetCreateProcessNotifyRoutineEx(PCREATE_PROCESS_NOTIFY_ROUTINE_EX NotifyRoutine,
                                                  BOOLEAN Remove);
NT_API NTSTATUS PsSetCreateThreadNotifyRoutine(PCREATE_THREAD_NOTIFY_ROUTINE NotifyRoutine);
NT_API NTSTATUS PsRemoveCreateThreadNotifyRoutine(PCREATE_THREAD_NOTIFY_ROUTINE NotifyRoutine);
NT_API NTSTATUS PsSetLoadImageNotifyRoutine(PLOAD_IMAGE_NOTIFY_ROUTINE NotifyRoutine);
NT_API NTSTATUS PsRemoveLoadImageNotifyRoutine(PLOAD_IMAGE_NOTIFY_ROUTINE NotifyRoutine);
/* All threads are system threads of one process, whose session is 0. The id of the process is
   Linux' number, that of a thread the address of its object. PsLookupProcessByProcessId gives the
   caller a reference; STATUS_INVALID_PARAMETER for any other id. IRQL: any. Source: WDK
   PsGetCurrentProcessId. */
NT_API PEPROCESS PsGetCurrentProcess(void);
#define IoGetCurrentProcess PsGetCurrentProcess
NT_API HANDLE PsGetCurrentProcessId(void);
NT_API HANDLE PsGetCurrentThreadId(void);
NT_API HANDLE PsGetProcessId(PEPROCESS Process);
NT_API HANDLE PsGetThreadId(PETHREAD Thread);
NT_API HANDLE PsGetThreadProcessId(PETHREAD Thread);
NT_API PEPROCESS PsGetThreadProcess(PETHREAD Thread);
NT_API PEPROCESS IoThreadToProcess(PETHREAD Thread);
NT_API BOOLEAN PsIsSystemThread(PETHREAD Thread);
NT_API BOOLEAN PsIsSystemProcess(PEPROCESS Process);
NT_API BOOLEAN PsIsThreadTerminating(PETHREAD Thread);
NT_API LONGLONG PsGetProcessCreateTimeQuadPart(PEPROCESS Process);
NT_API LARGE_INTEGER PsGetProcessExitTime(void);
NT_API NTSTATUS PsGetProcessExitStatus(PEPROCESS Process);
NT_API PCHAR PsGetProcessImageFileName(PEPROCESS Process);
NT_API NTSTATUS PsLookupProcessByProcessId(HANDLE ProcessId, PEPROCESS* Process);
NT_API NTSTATUS PsLookupThreadByThreadId(HANDLE ThreadId, PETHREAD* Thread);
NT_API ULONG PsGetCurrentProcessSessionId(void);
NT_API void PsChargePoolQuota(PEPROCESS Process, POOL_TYPE PoolType, ULONG_PTR Amount);
NT_API void PsReturnPoolQuota(PEPROCESS Process, POOL_TYPE PoolType, ULONG_PTR Amount);
NT_API PEPROCESS IoGetRequestorProcess(PIRP Irp);
NT_API ULONG IoGetRequestorProcessId(PIRP Irp);
NT_API NTSTATUS IoGetRequestorSessionId(PIRP Irp, PULONG SessionId);
NT_API extern PEPROCESS PsInitialSystemProcess;
NT_API NTSTATUS ZwOpenProcess(PHANDLE ProcessHandle, ACCESS_MASK DesiredAccess,
                              POBJECT_ATTRIBUTES ObjectAttributes, PCLIENT_ID ClientId);
NT_API NTSTATUS ZwTerminateProcess(HANDLE ProcessHandle, NTSTATUS ExitStatus);
NT_API NTSTATUS ZwQueryInformationProcess(HANDLE ProcessHandle, PROCESSINFOCLASS InformationClass,
                                          PVOID Information, ULONG Length, PULONG ReturnLength);
NT_API NTSTATUS ZwSetInformationThread(HANDLE ThreadHandle, THREADINFOCLASS InformationClass,
                                       PVOID Information, ULONG Length);
NT_API NTSTATUS IoCreateSystemThread(PVOID IoObject, PHANDLE ThreadHandle, ULONG DesiredAccess,
                                     POBJECT_ATTRIBUTES ObjectAttributes, HANDLE ProcessHandle,
                                     PCLIENT_ID ClientId, PKSTART_ROUTINE StartRoutine,
                                     PVOID StartContext);
NT_EXTERN_C_END

#endif
