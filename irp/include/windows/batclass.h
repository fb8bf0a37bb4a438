/* Battery miniclass drivers. Declarations only. Source: WDK batclass.h, poclass.h reference. */
#ifndef IRPVERBS_WINDOWS_BATCLASS_H
#define IRPVERBS_WINDOWS_BATCLASS_H

#include <windows/wdk/power.h>
#include <windows/wdk/wdm.h>
#include <windows/wdk/wmi.h>

#define BCLASSAPI
#define BATTERY_CLASS_MAJOR_VERSION 0x0001
#define BATTERY_CLASS_MINOR_VERSION 0x0000
#define BATTERY_TAG_INVALID 0
#define BATTERY_SYSTEM_BATTERY 0x80000000
#define BATTERY_CAPACITY_RELATIVE 0x40000000
#define BATTERY_IS_SHORT_TERM 0x20000000
#define BATTERY_SET_CHARGE_SUPPORTED 0x00000001
#define BATTERY_SET_DISCHARGE_SUPPORTED 0x00000002
#define BATTERY_UNKNOWN_CAPACITY 0xFFFFFFFF
#define BATTERY_UNKNOWN_VOLTAGE 0xFFFFFFFF
#define BATTERY_UNKNOWN_RATE 0x80000000
#define BATTERY_UNKNOWN_TIME 0xFFFFFFFF
#define BATTERY_POWER_ON_LINE 0x00000001
#define BATTERY_DISCHARGING 0x00000002
#define BATTERY_CHARGING 0x00000004
#define BATTERY_CRITICAL 0x00000008
#define MAX_BATTERY_STRING_SIZE 128
#define IOCTL_BATTERY_QUERY_TAG                                                                    \
    CTL_CODE(FILE_DEVICE_BATTERY, 0x10, METHOD_BUFFERED, FILE_READ_ACCESS)
#define IOCTL_BATTERY_QUERY_INFORMATION                                                            \
    CTL_CODE(FILE_DEVICE_BATTERY, 0x11, METHOD_BUFFERED, FILE_READ_ACCESS)
#define IOCTL_BATTERY_SET_INFORMATION                                                              \
    CTL_CODE(FILE_DEVICE_BATTERY, 0x12, METHOD_BUFFERED, FILE_WRITE_ACCESS)
#define IOCTL_BATTERY_QUERY_STATUS                                                                 \
    CTL_CODE(FILE_DEVICE_BATTERY, 0x13, METHOD_BUFFERED, FILE_READ_ACCESS)
typedef enum {
    BatteryInformation,
    BatteryGranularityInformation,
    BatteryTemperature,
    BatteryEstimatedTime,
    BatteryDeviceName,
    BatteryManufactureDate,
    BatteryManufactureName,
    BatteryUniqueID,
    BatterySerialNumber
} BATTERY_QUERY_INFORMATION_LEVEL;
typedef enum { BatteryCriticalBias, BatteryCharge, BatteryDischarge } BATTERY_SET_INFORMATION_LEVEL;
typedef struct _BATTERY_INFORMATION {
    ULONG Capabilities;
    UCHAR Technology;
    UCHAR Reserved[3];
    UCHAR Chemistry[4];
    ULONG DesignedCapacity;
    ULONG FullChargedCapacity;
    ULONG DefaultAlert1;
    ULONG DefaultAlert2;
    ULONG CriticalBias;
    ULONG CycleCount;
} BATTERY_INFORMATION, *PBATTERY_INFORMATION;
typedef struct _BATTERY_QUERY_INFORMATION {
    ULONG BatteryTag;
    BATTERY_QUERY_INFORMATION_LEVEL InformationLevel;
    LONG AtRate; /* mW */
} BATTERY_QUERY_INFORMATION, *PBATTERY_QUERY_INFORMATION;
typedef struct _BATTERY_WAIT_STATUS {
    ULONG BatteryTag;
    ULONG Timeout; /* ms */
    ULONG PowerState;
    ULONG LowCapacity;
    ULONG HighCapacity;
} BATTERY_WAIT_STATUS, *PBATTERY_WAIT_STATUS;
typedef struct _BATTERY_STATUS {
    ULONG PowerState;
    ULONG Capacity;
    ULONG Voltage;
    LONG Rate;
} BATTERY_STATUS, *PBATTERY_STATUS;
typedef struct _BATTERY_NOTIFY {
    ULONG PowerState;
    ULONG LowCapacity;
    ULONG HighCapacity;
} BATTERY_NOTIFY, *PBATTERY_NOTIFY;
typedef struct _BATTERY_MANUFACTURE_DATE {
    UCHAR Day;
    UCHAR Month;
    USHORT Year;
} BATTERY_MANUFACTURE_DATE, *PBATTERY_MANUFACTURE_DATE;
typedef struct {
    ULONG Granularity;
    ULONG Capacity;
} BATTERY_REPORTING_SCALE, *PBATTERY_REPORTING_SCALE;
typedef NTSTATUS BCLASS_QUERY_TAG(PVOID Context, PULONG BatteryTag);
typedef BCLASS_QUERY_TAG* PBCLASS_QUERY_TAG;
typedef NTSTATUS BCLASS_QUERY_INFORMATION(PVOID Context, ULONG BatteryTag,
                                          BATTERY_QUERY_INFORMATION_LEVEL Level, LONG AtRate,
                                          PVOID Buffer, ULONG BufferLength, PULONG ReturnedLength);
typedef BCLASS_QUERY_INFORMATION* PBCLASS_QUERY_INFORMATION;
typedef NTSTATUS BCLASS_QUERY_STATUS(PVOID Context, ULONG BatteryTag,
                                     PBATTERY_STATUS BatteryStatus);
typedef BCLASS_QUERY_STATUS* PBCLASS_QUERY_STATUS;
typedef NTSTATUS BCLASS_SET_STATUS_NOTIFY(PVOID Context, ULONG BatteryTag,
                                          PBATTERY_NOTIFY BatteryNotify);
typedef BCLASS_SET_STATUS_NOTIFY* PBCLASS_SET_STATUS_NOTIFY;
typedef NTSTATUS BCLASS_DISABLE_STATUS_NOTIFY(PVOID Context);
typedef BCLASS_DISABLE_STATUS_NOTIFY* PBCLASS_DISABLE_STATUS_NOTIFY;
typedef NTSTATUS BCLASS_SET_INFORMATION(PVOID Context, ULONG BatteryTag,
                                        BATTERY_SET_INFORMATION_LEVEL Level, PVOID Buffer);
typedef BCLASS_SET_INFORMATION* PBCLASS_SET_INFORMATION;
typedef struct {
    USHORT MajorVersion;
    USHORT MinorVersion;
    PVOID Context;
    PBCLASS_QUERY_TAG QueryTag;
    PBCLASS_QUERY_INFORMATION QueryInformation;
    PBCLASS_SET_INFORMATION SetInformation;
    PBCLASS_QUERY_STATUS QueryStatus;
    PBCLASS_SET_STATUS_NOTIFY SetStatusNotify;
    PBCLASS_DISABLE_STATUS_NOTIFY DisableStatusNotify;
    PDEVICE_OBJECT Pdo;
    PUNICODE_STRING DeviceName;
} BATTERY_MINIPORT_INFO, *PBATTERY_MINIPORT_INFO;
NT_EXTERN_C_BEGIN
NT_API NTSTATUS BatteryClassInitializeDevice(PBATTERY_MINIPORT_INFO MiniportInfo, PVOID* ClassData);
NT_API NTSTATUS BatteryClassUnload(PVOID ClassData);
NT_API NTSTATUS BatteryClassIoctl(PVOID ClassData, PIRP Irp);
NT_API NTSTATUS BatteryClassStatusNotify(PVOID ClassData);
NT_API NTSTATUS BatteryClassSystemControl(PVOID ClassData, PWMILIB_CONTEXT WmiLibContext,
                                          PDEVICE_OBJECT DeviceObject, PIRP Irp,
                                          PSYSCTL_IRP_DISPOSITION Disposition);
NT_API NTSTATUS BatteryClassQueryWmiDataBlock(PVOID ClassData, PDEVICE_OBJECT DeviceObject,
                                              PIRP Irp, ULONG GuidIndex, PULONG InstanceLengthArray,
                                              ULONG OutBufferSize, PUCHAR Buffer);
NT_EXTERN_C_END

#endif
