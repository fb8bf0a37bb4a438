/* The configuration space of PCI devices. Source: WDK PCI_COMMON_CONFIG, PCI_SLOT_NUMBER; PCI Local
   Bus Specification, chapter 6. */
#ifndef IRPVERBS_WINDOWS_PCI_H
#define IRPVERBS_WINDOWS_PCI_H

#include <windows/wdk/types.h>

#define PCI_TYPE0_ADDRESSES 6
#define PCI_TYPE1_ADDRESSES 2
#define PCI_MAX_DEVICES 32
#define PCI_MAX_FUNCTION 8
#define PCI_INVALID_VENDORID 0xFFFF
#define PCI_WHICHSPACE_CONFIG 0x0
#define PCI_WHICHSPACE_ROM 0x52696350

/* HeaderType */
#define PCI_MULTIFUNCTION 0x80
#define PCI_DEVICE_TYPE 0x00
#define PCI_BRIDGE_TYPE 0x01
#define PCI_CARDBUS_BRIDGE_TYPE 0x02
/* Command */
#define PCI_ENABLE_IO_SPACE 0x0001
#define PCI_ENABLE_MEMORY_SPACE 0x0002
#define PCI_ENABLE_BUS_MASTER 0x0004
#define PCI_ENABLE_SPECIAL_CYCLES 0x0008
#define PCI_ENABLE_WRITE_AND_INVALIDATE 0x0010
#define PCI_ENABLE_PARITY 0x0040
#define PCI_ENABLE_SERR 0x0100
#define PCI_DISABLE_LEVEL_INTERRUPT 0x0400
/* Status */
#define PCI_STATUS_INTERRUPT_PENDING 0x0008
#define PCI_STATUS_CAPABILITIES_LIST 0x0010
#define PCI_STATUS_66MHZ_CAPABLE 0x0020
#define PCI_STATUS_RECEIVED_TARGET_ABORT 0x1000
#define PCI_STATUS_RECEIVED_MASTER_ABORT 0x2000
#define PCI_STATUS_SIGNALED_SYSTEM_ERROR 0x4000
#define PCI_STATUS_DETECTED_PARITY_ERROR 0x8000
/* BaseAddresses */
#define PCI_ADDRESS_IO_SPACE 0x00000001
#define PCI_ADDRESS_MEMORY_TYPE_MASK 0x00000006
#define PCI_ADDRESS_MEMORY_PREFETCHABLE 0x00000008
#define PCI_ADDRESS_IO_ADDRESS_MASK 0xfffffffc
#define PCI_ADDRESS_MEMORY_ADDRESS_MASK 0xfffffff0
#define PCI_ROMADDRESS_ENABLED 0x00000001
#define PCI_TYPE_32BIT 0
#define PCI_TYPE_20BIT 2
#define PCI_TYPE_64BIT 4
/* BaseClass */
#define PCI_CLASS_PRE_20 0x00
#define PCI_CLASS_MASS_STORAGE_CTLR 0x01
#define PCI_CLASS_NETWORK_CTLR 0x02
#define PCI_CLASS_DISPLAY_CTLR 0x03
#define PCI_CLASS_MULTIMEDIA_DEV 0x04
#define PCI_CLASS_MEMORY_CTLR 0x05
#define PCI_CLASS_BRIDGE_DEV 0x06
#define PCI_CLASS_SIMPLE_COMMS_CTLR 0x07
#define PCI_CLASS_BASE_SYSTEM_DEV 0x08
#define PCI_CLASS_INPUT_DEV 0x09
#define PCI_CLASS_SERIAL_BUS_CTLR 0x0c
#define PCI_CLASS_NOT_DEFINED 0xff

typedef struct _PCI_SLOT_NUMBER {
    union {
        struct {
            ULONG DeviceNumber : 5;
            ULONG FunctionNumber : 3;
            ULONG Reserved : 24;
        } bits;
        ULONG AsULONG;
    } u;
} PCI_SLOT_NUMBER, *PPCI_SLOT_NUMBER;

#define IRPVERBS_PCI_HEADER                                                                        \
    USHORT VendorID;                                                                               \
    USHORT DeviceID;                                                                               \
    USHORT Command;                                                                                \
    USHORT Status;                                                                                 \
    UCHAR RevisionID;                                                                              \
    UCHAR ProgIf;                                                                                  \
    UCHAR SubClass;                                                                                \
    UCHAR BaseClass;                                                                               \
    UCHAR CacheLineSize;                                                                           \
    UCHAR LatencyTimer;                                                                            \
    UCHAR HeaderType;                                                                              \
    UCHAR BIST;                                                                                    \
    union {                                                                                        \
        struct _PCI_HEADER_TYPE_0 type0;                                                           \
        struct _PCI_HEADER_TYPE_1 type1;                                                           \
    } u;
struct _PCI_HEADER_TYPE_0 {
    ULONG BaseAddresses[PCI_TYPE0_ADDRESSES];
    ULONG CIS;
    USHORT SubVendorID;
    USHORT SubSystemID;
    ULONG ROMBaseAddress;
    UCHAR CapabilitiesPtr;
    UCHAR Reserved1[3];
    ULONG Reserved2;
    UCHAR InterruptLine;
    UCHAR InterruptPin;
    UCHAR MinimumGrant;
    UCHAR MaximumLatency;
};
struct _PCI_HEADER_TYPE_1 { /* bridges */
    ULONG BaseAddresses[PCI_TYPE1_ADDRESSES];
    UCHAR PrimaryBus;
    UCHAR SecondaryBus;
    UCHAR SubordinateBus;
    UCHAR SecondaryLatency;
    UCHAR IOBase;
    UCHAR IOLimit;
    USHORT SecondaryStatus;
    USHORT MemoryBase;
    USHORT MemoryLimit;
    USHORT PrefetchBase;
    USHORT PrefetchLimit;
    ULONG PrefetchBaseUpper32;
    ULONG PrefetchLimitUpper32;
    USHORT IOBaseUpper16;
    USHORT IOLimitUpper16;
    UCHAR CapabilitiesPtr;
    UCHAR Reserved1[3];
    ULONG ROMBaseAddress;
    UCHAR InterruptLine;
    UCHAR InterruptPin;
    USHORT BridgeControl;
};
typedef struct _PCI_COMMON_HEADER {
    IRPVERBS_PCI_HEADER
} PCI_COMMON_HEADER, *PPCI_COMMON_HEADER;
typedef struct _PCI_COMMON_CONFIG {
    IRPVERBS_PCI_HEADER
    UCHAR DeviceSpecific[192];
} PCI_COMMON_CONFIG, *PPCI_COMMON_CONFIG;
#define PCI_COMMON_HDR_LENGTH sizeof(PCI_COMMON_HEADER)

typedef struct _PCI_CAPABILITIES_HEADER {
    UCHAR CapabilityID;
    UCHAR Next;
} PCI_CAPABILITIES_HEADER, *PPCI_CAPABILITIES_HEADER;
#define PCI_CAPABILITY_ID_POWER_MANAGEMENT 0x01
#define PCI_CAPABILITY_ID_MSI 0x05
#define PCI_CAPABILITY_ID_VENDOR_SPECIFIC 0x09
#define PCI_CAPABILITY_ID_PCI_EXPRESS 0x10
#define PCI_CAPABILITY_ID_MSIX 0x11

#endif
