/* Resources of hardware, and buses. Source: WDK wdm.h reference. */
#ifndef IRPVERBS_WINDOWS_RESOURCES_H
#define IRPVERBS_WINDOWS_RESOURCES_H

#include <windows/wdk/function_types.h>
#include <windows/wdk/interrupts.h>

typedef enum _INTERFACE_TYPE {
    InterfaceTypeUndefined = -1,
    Internal,
    Isa,
    Eisa,
    MicroChannel,
    TurboChannel,
    PCIBus,
    VMEBus,
    NuBus,
    PCMCIABus,
    CBus,
    MPIBus,
    MPSABus,
    ProcessorInternal,
    InternalPowerBus,
    PNPISABus,
    PNPBus,
    Vmcs,
    ACPIBus,
    MaximumInterfaceType
} INTERFACE_TYPE,
    *PINTERFACE_TYPE;
typedef enum _BUS_DATA_TYPE {
    ConfigurationSpaceUndefined = -1,
    Cmos,
    EisaConfiguration,
    Pos,
    CbusConfiguration,
    PCIConfiguration,
    VMEConfiguration,
    NuBusConfiguration,
    PCMCIAConfiguration,
    MPIConfiguration,
    MPSAConfiguration,
    PNPISAConfiguration,
    SgiInternalConfiguration,
    MaximumBusDataType
} BUS_DATA_TYPE;
typedef enum _DMA_WIDTH {
    Width8Bits,
    Width16Bits,
    Width32Bits,
    Width64Bits,
    WidthNoWrap,
    MaximumDmaWidth
} DMA_WIDTH;
typedef enum _DMA_SPEED { Compatible, TypeA, TypeB, TypeC, TypeF, MaximumDmaSpeed } DMA_SPEED;
typedef enum _IRQ_DEVICE_POLICY {
    IrqPolicyMachineDefault,
    IrqPolicyAllCloseProcessors,
    IrqPolicyOneCloseProcessor,
    IrqPolicyAllProcessorsInMachine,
    IrqPolicySpecifiedProcessors,
    IrqPolicySpreadMessagesAcrossAllProcessors
} IRQ_DEVICE_POLICY;
typedef enum _IRQ_PRIORITY {
    IrqPriorityUndefined,
    IrqPriorityLow,
    IrqPriorityNormal,
    IrqPriorityHigh
} IRQ_PRIORITY;

#define CmResourceTypeNull 0
#define CmResourceTypePort 1
#define CmResourceTypeInterrupt 2
#define CmResourceTypeMemory 3
#define CmResourceTypeDma 4
#define CmResourceTypeDeviceSpecific 5
#define CmResourceTypeBusNumber 6
#define CmResourceTypeMemoryLarge 7
#define CmResourceTypeNonArbitrated 128
#define CmResourceTypeConfigData 128
#define CmResourceTypeDevicePrivate 129
#define CmResourceTypePcCardConfig 130
#define CmResourceTypeMfCardConfig 131
#define CmResourceTypeConnection 132
#define CM_RESOURCE_INTERRUPT_LEVEL_SENSITIVE 0
#define CM_RESOURCE_INTERRUPT_LATCHED 1
#define CM_RESOURCE_INTERRUPT_MESSAGE 2
#define CM_RESOURCE_INTERRUPT_POLICY_INCLUDED 4
#define CM_RESOURCE_MEMORY_READ_WRITE 0x0000
#define CM_RESOURCE_MEMORY_READ_ONLY 0x0001
#define CM_RESOURCE_MEMORY_WRITE_ONLY 0x0002
#define CM_RESOURCE_MEMORY_PREFETCHABLE 0x0004
#define CM_RESOURCE_MEMORY_COMBINEDWRITE 0x0008
#define CM_RESOURCE_MEMORY_24 0x0010
#define CM_RESOURCE_MEMORY_CACHEABLE 0x0020
#define CM_RESOURCE_PORT_MEMORY 0x0000
#define CM_RESOURCE_PORT_IO 0x0001
#define CM_RESOURCE_PORT_10_BIT_DECODE 0x0004
#define CM_RESOURCE_PORT_12_BIT_DECODE 0x0008
#define CM_RESOURCE_PORT_16_BIT_DECODE 0x0010
#define CM_RESOURCE_PORT_POSITIVE_DECODE 0x0020
#define CM_RESOURCE_DMA_8 0x0000
#define CM_RESOURCE_DMA_16 0x0001
#define CM_RESOURCE_DMA_32 0x0002
#define IO_RESOURCE_PREFERRED 0x01
#define IO_RESOURCE_DEFAULT 0x02
#define IO_RESOURCE_ALTERNATIVE 0x08

typedef enum _CM_SHARE_DISPOSITION {
    CmResourceShareUndetermined,
    CmResourceShareDeviceExclusive,
    CmResourceShareDriverExclusive,
    CmResourceShareShared
} CM_SHARE_DISPOSITION;

#pragma pack(push, 4)
typedef struct _CM_PARTIAL_RESOURCE_DESCRIPTOR {
    UCHAR Type;
    UCHAR ShareDisposition;
    USHORT Flags;
    union {
        struct {
            PHYSICAL_ADDRESS Start;
            ULONG Length;
        } Generic;
        struct {
            PHYSICAL_ADDRESS Start;
            ULONG Length;
        } Port;
        struct {
            USHORT Level;
            USHORT Group;
            ULONG Vector;
            KAFFINITY Affinity;
        } Interrupt;
        struct {
            union {
                struct {
                    USHORT Group;
                    USHORT MessageCount;
                    ULONG Vector;
                    KAFFINITY Affinity;
                } Raw;
                struct {
                    USHORT Level;
                    USHORT Group;
                    ULONG Vector;
                    KAFFINITY Affinity;
                } Translated;
            };
        } MessageInterrupt;
        struct {
            PHYSICAL_ADDRESS Start;
            ULONG Length;
        } Memory;
        struct {
            ULONG Channel;
            ULONG Port;
            ULONG Reserved1;
        } Dma;
        struct {
            ULONG Channel;
            ULONG RequestLine;
            UCHAR TransferWidth;
            UCHAR Reserved1;
            UCHAR Reserved2;
            UCHAR Reserved3;
        } DmaV3;
        struct {
            ULONG Data[3];
        } DevicePrivate;
        struct {
            ULONG Start;
            ULONG Length;
            ULONG Reserved;
        } BusNumber;
        struct {
            ULONG DataSize;
            ULONG Reserved1;
            ULONG Reserved2;
        } DeviceSpecificData;
        struct {
            PHYSICAL_ADDRESS Start;
            ULONG Length40;
        } Memory40;
        struct {
            UCHAR Class;
            UCHAR Type;
            UCHAR Reserved1;
            UCHAR Reserved2;
            ULONG IdLowPart;
            ULONG IdHighPart;
        } Connection;
    } u;
} CM_PARTIAL_RESOURCE_DESCRIPTOR, *PCM_PARTIAL_RESOURCE_DESCRIPTOR;
typedef struct _CM_PARTIAL_RESOURCE_LIST {
    USHORT Version;
    USHORT Revision;
    ULONG Count;
    CM_PARTIAL_RESOURCE_DESCRIPTOR PartialDescriptors[1];
} CM_PARTIAL_RESOURCE_LIST, *PCM_PARTIAL_RESOURCE_LIST;
typedef struct _CM_FULL_RESOURCE_DESCRIPTOR {
    INTERFACE_TYPE InterfaceType;
    ULONG BusNumber;
    CM_PARTIAL_RESOURCE_LIST PartialResourceList;
} CM_FULL_RESOURCE_DESCRIPTOR, *PCM_FULL_RESOURCE_DESCRIPTOR;
typedef struct _CM_RESOURCE_LIST {
    ULONG Count;
    CM_FULL_RESOURCE_DESCRIPTOR List[1];
} CM_RESOURCE_LIST, *PCM_RESOURCE_LIST;
#pragma pack(pop)
typedef struct _IO_RESOURCE_DESCRIPTOR {
    UCHAR Option;
    UCHAR Type;
    UCHAR ShareDisposition;
    UCHAR Spare1;
    USHORT Flags;
    USHORT Spare2;
    union {
        struct {
            ULONG Length;
            ULONG Alignment;
            PHYSICAL_ADDRESS MinimumAddress;
            PHYSICAL_ADDRESS MaximumAddress;
        } Port, Memory, Generic;
        struct {
            ULONG MinimumVector;
            ULONG MaximumVector;
            IRQ_DEVICE_POLICY AffinityPolicy;
            IRQ_PRIORITY PriorityPolicy;
            KAFFINITY TargetedProcessors;
        } Interrupt;
        struct {
            ULONG MinimumChannel;
            ULONG MaximumChannel;
        } Dma;
        struct {
            ULONG Data[3];
        } DevicePrivate;
        struct {
            ULONG Length;
            ULONG MinBusNumber;
            ULONG MaxBusNumber;
            ULONG Reserved;
        } BusNumber;
        struct {
            ULONG Priority;
            ULONG Reserved1;
            ULONG Reserved2;
        } ConfigData;
    } u;
} IO_RESOURCE_DESCRIPTOR, *PIO_RESOURCE_DESCRIPTOR;
typedef struct _IO_RESOURCE_LIST {
    USHORT Version;
    USHORT Revision;
    ULONG Count;
    IO_RESOURCE_DESCRIPTOR Descriptors[1];
} IO_RESOURCE_LIST, *PIO_RESOURCE_LIST;
typedef struct _IO_RESOURCE_REQUIREMENTS_LIST {
    ULONG ListSize;
    INTERFACE_TYPE InterfaceType;
    ULONG BusNumber;
    ULONG SlotNumber;
    ULONG Reserved[3];
    ULONG AlternativeLists;
    IO_RESOURCE_LIST List[1];
} IO_RESOURCE_REQUIREMENTS_LIST, *PIO_RESOURCE_REQUIREMENTS_LIST;
typedef struct _CM_SERIAL_DEVICE_DATA {
    USHORT Version;
    USHORT Revision;
    ULONG BaudClock;
} CM_SERIAL_DEVICE_DATA, *PCM_SERIAL_DEVICE_DATA;
typedef struct _CM_INT13_DRIVE_PARAMETER {
    USHORT DriveSelect;
    ULONG MaxCylinders;
    USHORT SectorsPerTrack;
    USHORT MaxHeads;
    USHORT NumberDrives;
} CM_INT13_DRIVE_PARAMETER, *PCM_INT13_DRIVE_PARAMETER;
typedef struct _CM_DISK_GEOMETRY_DEVICE_DATA {
    ULONG BytesPerSector;
    ULONG NumberOfCylinders;
    ULONG SectorsPerTrack;
    ULONG NumberOfHeads;
} CM_DISK_GEOMETRY_DEVICE_DATA, *PCM_DISK_GEOMETRY_DEVICE_DATA;
typedef struct _CM_FLOPPY_DEVICE_DATA {
    USHORT Version;
    USHORT Revision;
    CHAR Size[8];
    ULONG MaxDensity;
    ULONG MountDensity;
} CM_FLOPPY_DEVICE_DATA, *PCM_FLOPPY_DEVICE_DATA;
typedef enum _CONFIGURATION_TYPE {
    ArcSystem,
    CentralProcessor,
    FloatingPointProcessor,
    PrimaryIcache,
    PrimaryDcache,
    SecondaryIcache,
    SecondaryDcache,
    SecondaryCache,
    EisaAdapter,
    TcAdapter,
    ScsiAdapter,
    DtiAdapter,
    MultiFunctionAdapter,
    DiskController,
    TapeController,
    CdromController,
    WormController,
    SerialController,
    NetworkController,
    DisplayController,
    ParallelController,
    PointerController,
    KeyboardController,
    AudioController,
    OtherController,
    DiskPeripheral,
    FloppyDiskPeripheral,
    TapePeripheral,
    ModemPeripheral,
    MonitorPeripheral,
    PrinterPeripheral,
    PointerPeripheral,
    KeyboardPeripheral,
    TerminalPeripheral,
    OtherPeripheral,
    LinePeripheral,
    NetworkPeripheral,
    SystemMemory,
    DockingInformation,
    RealModeIrqRoutingTable,
    RealModePCIEnumeration,
    MaximumType
} CONFIGURATION_TYPE,
    *PCONFIGURATION_TYPE;
typedef struct _CONFIGURATION_INFORMATION {
    ULONG DiskCount;
    ULONG FloppyCount;
    ULONG CdRomCount;
    ULONG TapeCount;
    ULONG ScsiPortCount;
    ULONG SerialCount;
    ULONG ParallelCount;
    BOOLEAN AtDiskPrimaryAddressClaimed;
    BOOLEAN AtDiskSecondaryAddressClaimed;
    ULONG Version;
    ULONG MediumChangerCount;
} CONFIGURATION_INFORMATION, *PCONFIGURATION_INFORMATION;

/* DMA. */
typedef struct _SCATTER_GATHER_ELEMENT {
    PHYSICAL_ADDRESS Address;
    ULONG Length;
    ULONG_PTR Reserved;
} SCATTER_GATHER_ELEMENT, *PSCATTER_GATHER_ELEMENT;
typedef struct _SCATTER_GATHER_LIST {
    ULONG NumberOfElements;
    ULONG_PTR Reserved;
    SCATTER_GATHER_ELEMENT Elements[];
} SCATTER_GATHER_LIST, *PSCATTER_GATHER_LIST;
#define DEVICE_DESCRIPTION_VERSION 0
#define DEVICE_DESCRIPTION_VERSION1 1
#define DEVICE_DESCRIPTION_VERSION2 2
#define DEVICE_DESCRIPTION_VERSION3 3
typedef struct _DEVICE_DESCRIPTION {
    ULONG Version;
    BOOLEAN Master;
    BOOLEAN ScatterGather;
    BOOLEAN DemandMode;
    BOOLEAN AutoInitialize;
    BOOLEAN Dma32BitAddresses;
    BOOLEAN IgnoreCount;
    BOOLEAN Reserved1;
    BOOLEAN Dma64BitAddresses;
    ULONG BusNumber;
    ULONG DmaChannel;
    INTERFACE_TYPE InterfaceType;
    DMA_WIDTH DmaWidth;
    DMA_SPEED DmaSpeed;
    ULONG MaximumLength;
    ULONG DmaPort;
    ULONG DmaAddressWidth;
    ULONG DmaControllerInstance;
    ULONG DmaRequestLine;
    PHYSICAL_ADDRESS DeviceAddress;
} DEVICE_DESCRIPTION, *PDEVICE_DESCRIPTION;
#define DMA_ADAPTER_INFO_VERSION1 1
typedef struct _DMA_ADAPTER_INFO_V1 {
    ULONG ReadDmaCounterAvailable;
    ULONG ScatterGatherLimit;
    ULONG DmaAddressWidth;
    ULONG Flags;
    ULONG MinimumTransferUnit;
} DMA_ADAPTER_INFO_V1, *PDMA_ADAPTER_INFO_V1;
#define ADAPTER_INFO_SYNCHRONOUS_CALLBACK 0x0001
#define ADAPTER_INFO_API_BYPASS 0x0002
typedef struct _DMA_ADAPTER_INFO {
    ULONG Version;
    union {
        DMA_ADAPTER_INFO_V1 V1;
    };
} DMA_ADAPTER_INFO, *PDMA_ADAPTER_INFO;
#define DMA_TRANSFER_CONTEXT_VERSION1 1
#define DMA_TRANSFER_CONTEXT_SIZE_V1 128
#define DMA_SYNCHRONOUS_CALLBACK 0x01
typedef enum _DMA_COMPLETION_STATUS {
    DmaComplete,
    DmaAborted,
    DmaError,
    DmaCancelled
} DMA_COMPLETION_STATUS;
typedef struct _DMA_TRANSFER_INFO_V1 {
    ULONG MapRegisterCount;
    ULONG ScatterGatherElementCount;
    ULONG ScatterGatherListSize;
} DMA_TRANSFER_INFO_V1, *PDMA_TRANSFER_INFO_V1;
typedef struct _DMA_TRANSFER_INFO {
    ULONG Version;
    union {
        DMA_TRANSFER_INFO_V1 V1;
    };
} DMA_TRANSFER_INFO, *PDMA_TRANSFER_INFO;
#define DMA_TRANSFER_INFO_VERSION1 1
typedef struct _DMA_ADAPTER {
    USHORT Version;
    USHORT Size;
    struct _DMA_OPERATIONS* DmaOperations;
} DMA_ADAPTER, *PDMA_ADAPTER, *PADAPTER_OBJECT;
typedef void DRIVER_LIST_CONTROL(PDEVICE_OBJECT DeviceObject, PIRP Irp,
                                 PSCATTER_GATHER_LIST ScatterGather, PVOID Context);
typedef DRIVER_LIST_CONTROL* PDRIVER_LIST_CONTROL;
typedef void DMA_COMPLETION_ROUTINE(PDMA_ADAPTER DmaAdapter, PDEVICE_OBJECT DeviceObject,
                                    PVOID CompletionContext, DMA_COMPLETION_STATUS Status);
typedef DMA_COMPLETION_ROUTINE* PDMA_COMPLETION_ROUTINE;
typedef struct _DMA_OPERATIONS {
    ULONG Size;
    void (*PutDmaAdapter)(PDMA_ADAPTER DmaAdapter);
    PVOID (*AllocateCommonBuffer)(PDMA_ADAPTER, ULONG, PPHYSICAL_ADDRESS, BOOLEAN);
    void (*FreeCommonBuffer)(PDMA_ADAPTER, ULONG, PHYSICAL_ADDRESS, PVOID, BOOLEAN);
    NTSTATUS (*AllocateAdapterChannel)(PDMA_ADAPTER, PDEVICE_OBJECT, ULONG, PDRIVER_CONTROL, PVOID);
    BOOLEAN (*FlushAdapterBuffers)(PDMA_ADAPTER, PMDL, PVOID, PVOID, ULONG, BOOLEAN);
    void (*FreeAdapterChannel)(PDMA_ADAPTER);
    void (*FreeMapRegisters)(PDMA_ADAPTER, PVOID, ULONG);
    PHYSICAL_ADDRESS (*MapTransfer)(PDMA_ADAPTER, PMDL, PVOID, PVOID, PULONG, BOOLEAN);
    ULONG (*GetDmaAlignment)(PDMA_ADAPTER);
    ULONG (*ReadDmaCounter)(PDMA_ADAPTER);
    NTSTATUS(*GetScatterGatherList)
    (PDMA_ADAPTER, PDEVICE_OBJECT, PMDL, PVOID, ULONG, PDRIVER_LIST_CONTROL, PVOID, BOOLEAN);
    void (*PutScatterGatherList)(PDMA_ADAPTER, PSCATTER_GATHER_LIST, BOOLEAN);
    NTSTATUS (*CalculateScatterGatherList)(PDMA_ADAPTER, PMDL, PVOID, ULONG, PULONG, PULONG);
    NTSTATUS(*BuildScatterGatherList)
    (PDMA_ADAPTER, PDEVICE_OBJECT, PMDL, PVOID, ULONG, PDRIVER_LIST_CONTROL, PVOID, BOOLEAN, PVOID,
     ULONG);
    NTSTATUS (*BuildMdlFromScatterGatherList)(PDMA_ADAPTER, PSCATTER_GATHER_LIST, PMDL, PMDL*);
    NTSTATUS (*GetDmaAdapterInfo)(PDMA_ADAPTER, PDMA_ADAPTER_INFO);
    NTSTATUS(*GetDmaTransferInfo)
    (PDMA_ADAPTER, PMDL, ULONGLONG, ULONG, BOOLEAN, PDMA_TRANSFER_INFO);
    NTSTATUS (*InitializeDmaTransferContext)(PDMA_ADAPTER, PVOID);
    PVOID(*AllocateCommonBufferEx)
    (PDMA_ADAPTER, PPHYSICAL_ADDRESS, ULONG, PPHYSICAL_ADDRESS, BOOLEAN, ULONG);
    NTSTATUS(*AllocateAdapterChannelEx)
    (PDMA_ADAPTER, PDEVICE_OBJECT, PVOID, ULONG, ULONG, PDRIVER_CONTROL, PVOID, PVOID*);
    NTSTATUS (*ConfigureAdapterChannel)(PDMA_ADAPTER, ULONG, PVOID);
    BOOLEAN (*CancelAdapterChannel)(PDMA_ADAPTER, PDEVICE_OBJECT, PVOID);
    NTSTATUS(*MapTransferEx)
    (PDMA_ADAPTER, PMDL, PVOID, ULONGLONG, ULONG, PULONG, BOOLEAN, PSCATTER_GATHER_LIST, ULONG,
     PDMA_COMPLETION_ROUTINE, PVOID);
    NTSTATUS(*GetScatterGatherListEx)
    (PDMA_ADAPTER, PDEVICE_OBJECT, PVOID, PMDL, ULONGLONG, ULONG, ULONG, PDRIVER_LIST_CONTROL,
     PVOID, BOOLEAN, PDMA_COMPLETION_ROUTINE, PVOID, PSCATTER_GATHER_LIST*);
    NTSTATUS(*BuildScatterGatherListEx)
    (PDMA_ADAPTER, PDEVICE_OBJECT, PVOID, PMDL, ULONGLONG, ULONG, ULONG, PDRIVER_LIST_CONTROL,
     PVOID, BOOLEAN, PVOID, ULONG, PDMA_COMPLETION_ROUTINE, PVOID, PVOID);
    NTSTATUS (*FlushAdapterBuffersEx)(PDMA_ADAPTER, PMDL, PVOID, ULONGLONG, ULONG, BOOLEAN);
    void (*FreeAdapterObject)(PDMA_ADAPTER, IO_ALLOCATION_ACTION);
    NTSTATUS (*CancelMappedTransfer)(PDMA_ADAPTER, PVOID);
} DMA_OPERATIONS, *PDMA_OPERATIONS;

NT_EXTERN_C_BEGIN
NT_API PDMA_ADAPTER IoGetDmaAdapter(PDEVICE_OBJECT PhysicalDeviceObject,
                                    PDEVICE_DESCRIPTION DeviceDescription,
                                    PULONG NumberOfMapRegisters);
NT_API NTSTATUS IoReportResourceForDetection(PDRIVER_OBJECT DriverObject,
                                             PCM_RESOURCE_LIST DriverList, ULONG DriverListSize,
                                             PDEVICE_OBJECT DeviceObject,
                                             PCM_RESOURCE_LIST DeviceList, ULONG DeviceListSize,
                                             PBOOLEAN ConflictDetected);
NT_API NTSTATUS IoReportDetectedDevice(PDRIVER_OBJECT DriverObject, INTERFACE_TYPE LegacyBusType,
                                       ULONG BusNumber, ULONG SlotNumber,
                                       PCM_RESOURCE_LIST ResourceList,
                                       PIO_RESOURCE_REQUIREMENTS_LIST ResourceRequirements,
                                       BOOLEAN ResourceAssigned, PDEVICE_OBJECT* DeviceObject);
NT_API NTSTATUS IoAssignResources(PUNICODE_STRING RegistryPath, PUNICODE_STRING DriverClassName,
                                  PDRIVER_OBJECT DriverObject, PDEVICE_OBJECT DeviceObject,
                                  PIO_RESOURCE_REQUIREMENTS_LIST RequestedResources,
                                  PCM_RESOURCE_LIST* AllocatedResources);
typedef struct _KEY_VALUE_FULL_INFORMATION** PPKEY_VALUE_FULL_INFORMATION;
typedef NTSTATUS IO_QUERY_DEVICE_ROUTINE(PVOID Context, PUNICODE_STRING PathName,
                                         INTERFACE_TYPE BusType, ULONG BusNumber,
                                         PPKEY_VALUE_FULL_INFORMATION BusInfo,
                                         CONFIGURATION_TYPE ControllerType, ULONG ControllerNumber,
                                         PPKEY_VALUE_FULL_INFORMATION ControllerInfo,
                                         CONFIGURATION_TYPE PeripheralType, ULONG PeripheralNumber,
                                         PPKEY_VALUE_FULL_INFORMATION PeripheralInfo);
typedef IO_QUERY_DEVICE_ROUTINE* PIO_QUERY_DEVICE_ROUTINE;
typedef enum _IO_QUERY_DEVICE_DATA_FORMAT {
    IoQueryDeviceIdentifier = 0,
    IoQueryDeviceConfigurationData,
    IoQueryDeviceComponentInformation,
    IoQueryDeviceMaxData
} IO_QUERY_DEVICE_DATA_FORMAT;
NT_API NTSTATUS IoQueryDeviceDescription(PINTERFACE_TYPE BusType, PULONG BusNumber,
                                         PCONFIGURATION_TYPE ControllerType,
                                         PULONG ControllerNumber,
                                         PCONFIGURATION_TYPE PeripheralType,
                                         PULONG PeripheralNumber,
                                         PIO_QUERY_DEVICE_ROUTINE CalloutRoutine, PVOID Context);
NT_API PCONFIGURATION_INFORMATION IoGetConfigurationInformation(void);
NT_API ULONG HalGetInterruptVector(INTERFACE_TYPE InterfaceType, ULONG BusNumber,
                                   ULONG BusInterruptLevel, ULONG BusInterruptVector, PKIRQL Irql,
                                   PKAFFINITY Affinity);
NT_API BOOLEAN HalTranslateBusAddress(INTERFACE_TYPE InterfaceType, ULONG BusNumber,
                                      PHYSICAL_ADDRESS BusAddress, PULONG AddressSpace,
                                      PPHYSICAL_ADDRESS TranslatedAddress);
NT_API ULONG HalGetBusData(BUS_DATA_TYPE BusDataType, ULONG BusNumber, ULONG SlotNumber,
                           PVOID Buffer, ULONG Length);
NT_API ULONG HalGetBusDataByOffset(BUS_DATA_TYPE BusDataType, ULONG BusNumber, ULONG SlotNumber,
                                   PVOID Buffer, ULONG Offset, ULONG Length);
NT_API ULONG HalSetBusDataByOffset(BUS_DATA_TYPE BusDataType, ULONG BusNumber, ULONG SlotNumber,
                                   PVOID Buffer, ULONG Offset, ULONG Length);
NT_API BOOLEAN HalMakeBeep(ULONG Frequency);
NT_EXTERN_C_END

#endif
