/* Interrupts. Source: WDK wdm.h reference. */
#ifndef IRPVERBS_WINDOWS_INTERRUPTS_H
#define IRPVERBS_WINDOWS_INTERRUPTS_H

#include <windows/wdk/function_types.h>

typedef enum _KINTERRUPT_MODE { LevelSensitive, Latched } KINTERRUPT_MODE;
typedef enum _KINTERRUPT_POLARITY {
    InterruptPolarityUnknown,
    InterruptActiveHigh,
    InterruptRisingEdge = InterruptActiveHigh,
    InterruptActiveLow,
    InterruptFallingEdge = InterruptActiveLow,
    InterruptActiveBoth
} KINTERRUPT_POLARITY;
typedef struct _KINTERRUPT* PKINTERRUPT;
typedef BOOLEAN KSERVICE_ROUTINE(struct _KINTERRUPT* Interrupt, PVOID ServiceContext);
typedef KSERVICE_ROUTINE* PKSERVICE_ROUTINE;
typedef BOOLEAN KMESSAGE_SERVICE_ROUTINE(struct _KINTERRUPT* Interrupt, PVOID ServiceContext,
                                         ULONG MessageID);
typedef KMESSAGE_SERVICE_ROUTINE* PKMESSAGE_SERVICE_ROUTINE;
typedef BOOLEAN KSYNCHRONIZE_ROUTINE(PVOID SynchronizeContext);
typedef KSYNCHRONIZE_ROUTINE* PKSYNCHRONIZE_ROUTINE;
typedef struct _IO_INTERRUPT_MESSAGE_INFO_ENTRY {
    PHYSICAL_ADDRESS MessageAddress;
    KAFFINITY TargetProcessorSet;
    PKINTERRUPT InterruptObject;
    ULONG MessageData;
    ULONG Vector;
    KIRQL Irql;
    KINTERRUPT_MODE Mode;
    KINTERRUPT_POLARITY Polarity;
} IO_INTERRUPT_MESSAGE_INFO_ENTRY, *PIO_INTERRUPT_MESSAGE_INFO_ENTRY;
typedef struct _IO_INTERRUPT_MESSAGE_INFO {
    KIRQL UnifiedIrql;
    ULONG MessageCount;
    IO_INTERRUPT_MESSAGE_INFO_ENTRY MessageInfo[1];
} IO_INTERRUPT_MESSAGE_INFO, *PIO_INTERRUPT_MESSAGE_INFO;
#define CONNECT_FULLY_SPECIFIED 1
#define CONNECT_LINE_BASED 2
#define CONNECT_MESSAGE_BASED 3
#define CONNECT_FULLY_SPECIFIED_GROUP 4
#define CONNECT_CURRENT_VERSION 5
typedef struct _IO_CONNECT_INTERRUPT_PARAMETERS {
    ULONG Version;
    union {
        struct {
            PDEVICE_OBJECT PhysicalDeviceObject;
            PKINTERRUPT* InterruptObject;
            PKSERVICE_ROUTINE ServiceRoutine;
            PVOID ServiceContext;
            PKSPIN_LOCK SpinLock;
            KIRQL SynchronizeIrql;
            BOOLEAN FloatingSave;
            BOOLEAN ShareVector;
            ULONG Vector;
            KIRQL Irql;
            KINTERRUPT_MODE InterruptMode;
            KAFFINITY ProcessorEnableMask;
            USHORT Group;
        } FullySpecified;
        struct {
            PDEVICE_OBJECT PhysicalDeviceObject;
            PKINTERRUPT* InterruptObject;
            PKSERVICE_ROUTINE ServiceRoutine;
            PVOID ServiceContext;
            PKSPIN_LOCK SpinLock;
            KIRQL SynchronizeIrql;
            BOOLEAN FloatingSave;
        } LineBased;
        struct {
            PDEVICE_OBJECT PhysicalDeviceObject;
            union {
                PVOID* Generic;
                PIO_INTERRUPT_MESSAGE_INFO* InterruptMessageTable;
                PKINTERRUPT* InterruptObject;
            } ConnectionContext;
            PKMESSAGE_SERVICE_ROUTINE MessageServiceRoutine;
            PVOID ServiceContext;
            PKSPIN_LOCK SpinLock;
            KIRQL SynchronizeIrql;
            BOOLEAN FloatingSave;
            PKSERVICE_ROUTINE FallBackServiceRoutine;
        } MessageBased;
    };
} IO_CONNECT_INTERRUPT_PARAMETERS, *PIO_CONNECT_INTERRUPT_PARAMETERS;
typedef struct _IO_DISCONNECT_INTERRUPT_PARAMETERS {
    ULONG Version;
    union {
        PVOID Generic;
        PKINTERRUPT InterruptObject;
        PIO_INTERRUPT_MESSAGE_INFO InterruptMessageTable;
    } ConnectionContext;
} IO_DISCONNECT_INTERRUPT_PARAMETERS, *PIO_DISCONNECT_INTERRUPT_PARAMETERS;

#endif
