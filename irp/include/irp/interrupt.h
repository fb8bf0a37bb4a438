/* Interrupts. A driver connects its service routine (ISR) to a vector; when the vector is raised
   (testing/interrupt.h), the routine runs on the raising thread's processor at the interrupt's
   level, its device IRQL, and holds the interrupt's spin lock. Other processors run on at the same
   time: a DPC, a timer or the ISR of another vector may run during the routine. */
#ifndef IRPVERBS_IRP_INTERRUPT_H
#define IRPVERBS_IRP_INTERRUPT_H

#include <irp/device.h>

typedef enum _KINTERRUPT_MODE { LevelSensitive, Latched } KINTERRUPT_MODE;
typedef struct _KINTERRUPT KINTERRUPT; /* opaque */
typedef struct _KINTERRUPT* PKINTERRUPT;
typedef BOOLEAN KSERVICE_ROUTINE(struct _KINTERRUPT* Interrupt, PVOID ServiceContext);
typedef KSERVICE_ROUTINE* PKSERVICE_ROUTINE;
typedef BOOLEAN KMESSAGE_SERVICE_ROUTINE(struct _KINTERRUPT* Interrupt, PVOID ServiceContext,
                                         ULONG MessageID);
typedef KMESSAGE_SERVICE_ROUTINE* PKMESSAGE_SERVICE_ROUTINE;
typedef BOOLEAN KSYNCHRONIZE_ROUTINE(PVOID SynchronizeContext);
typedef KSYNCHRONIZE_ROUTINE* PKSYNCHRONIZE_ROUTINE;
struct _IO_INTERRUPT_MESSAGE_INFO;
#define CONNECT_FULLY_SPECIFIED 1
#define CONNECT_LINE_BASED 2
#define CONNECT_MESSAGE_BASED 3
#define CONNECT_FULLY_SPECIFIED_GROUP 4
#define CONNECT_CURRENT_VERSION 5
typedef struct _IO_CONNECT_INTERRUPT_FULLY_SPECIFIED_PARAMETERS {
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
} IO_CONNECT_INTERRUPT_FULLY_SPECIFIED_PARAMETERS,
    *PIO_CONNECT_INTERRUPT_FULLY_SPECIFIED_PARAMETERS;
typedef struct _IO_CONNECT_INTERRUPT_LINE_BASED_PARAMETERS {
    PDEVICE_OBJECT PhysicalDeviceObject;
    PKINTERRUPT* InterruptObject;
    PKSERVICE_ROUTINE ServiceRoutine;
    PVOID ServiceContext;
    PKSPIN_LOCK SpinLock;
    KIRQL SynchronizeIrql;
    BOOLEAN FloatingSave;
} IO_CONNECT_INTERRUPT_LINE_BASED_PARAMETERS, *PIO_CONNECT_INTERRUPT_LINE_BASED_PARAMETERS;
typedef struct _IO_CONNECT_INTERRUPT_MESSAGE_BASED_PARAMETERS {
    PDEVICE_OBJECT PhysicalDeviceObject;
    union {
        PVOID* Generic;
        struct _IO_INTERRUPT_MESSAGE_INFO** InterruptMessageTable;
        PKINTERRUPT* InterruptObject;
    } ConnectionContext;
    PKMESSAGE_SERVICE_ROUTINE MessageServiceRoutine;
    PVOID ServiceContext;
    PKSPIN_LOCK SpinLock;
    KIRQL SynchronizeIrql;
    BOOLEAN FloatingSave;
    PKSERVICE_ROUTINE FallBackServiceRoutine;
} IO_CONNECT_INTERRUPT_MESSAGE_BASED_PARAMETERS, *PIO_CONNECT_INTERRUPT_MESSAGE_BASED_PARAMETERS;
typedef struct _IO_CONNECT_INTERRUPT_PARAMETERS {
    ULONG Version;
    union {
        IO_CONNECT_INTERRUPT_FULLY_SPECIFIED_PARAMETERS FullySpecified;
        IO_CONNECT_INTERRUPT_LINE_BASED_PARAMETERS LineBased;
        IO_CONNECT_INTERRUPT_MESSAGE_BASED_PARAMETERS MessageBased;
    };
} IO_CONNECT_INTERRUPT_PARAMETERS, *PIO_CONNECT_INTERRUPT_PARAMETERS;
typedef struct _IO_DISCONNECT_INTERRUPT_PARAMETERS {
    ULONG Version;
    union {
        PVOID Generic;
        PKINTERRUPT InterruptObject;
        struct _IO_INTERRUPT_MESSAGE_INFO* InterruptMessageTable;
    } ConnectionContext;
} IO_DISCONNECT_INTERRUPT_PARAMETERS, *PIO_DISCONNECT_INTERRUPT_PARAMETERS;

NT_EXTERN_C_BEGIN

/* Connects ServiceRoutine to Vector at Irql. SynchronizeIrql: the level at which the routine runs,
   the highest Irql of those that share SpinLock. SpinLock: NULL, or a lock that several interrupts
   share, initialised and kept by the caller. ShareVector: other routines may be connected to the
   vector. Mode, ProcessorEnableMask and FloatingSave: see IrpRaiseInterrupt, and ignored.
   Ownership: the library's; IoDisconnectInterrupt frees *InterruptObject. IRQL: PASSIVE_LEVEL.
   STATUS_SUCCESS; STATUS_INVALID_PARAMETER: a level of DISPATCH_LEVEL or below, or above
   HIGH_LEVEL, a SynchronizeIrql below Irql, or the vector is not shared by all;
   STATUS_INSUFFICIENT_RESOURCES. Source: WDK IoConnectInterrupt. */
NT_API NTSTATUS IoConnectInterrupt(PKINTERRUPT* InterruptObject, PKSERVICE_ROUTINE ServiceRoutine,
                                   PVOID ServiceContext, PKSPIN_LOCK SpinLock, ULONG Vector,
                                   KIRQL Irql, KIRQL SynchronizeIrql, KINTERRUPT_MODE Mode,
                                   BOOLEAN ShareVector, KAFFINITY ProcessorEnableMask,
                                   BOOLEAN FloatingSave);

/* Connects by Parameters->Version. CONNECT_FULLY_SPECIFIED and ..._GROUP: as IoConnectInterrupt.
   CONNECT_LINE_BASED: to the line of the physical device (testing/pnp.hpp), shared; a
   SynchronizeIrql of 0 means the line's. CONNECT_MESSAGE_BASED: devices have no messages; with a
   FallBackServiceRoutine that is connected to the line, and Version becomes CONNECT_LINE_BASED.
   Ownership and IRQL: as above. STATUS_SUCCESS; STATUS_NOT_FOUND: messages without a fall-back;
   STATUS_NOT_SUPPORTED: another Version, which becomes CONNECT_FULLY_SPECIFIED_GROUP;
   STATUS_INVALID_DEVICE_REQUEST: not the physical device of a bus; statuses of IoConnectInterrupt.
   Source: WDK IoConnectInterruptEx. */
NT_API NTSTATUS IoConnectInterruptEx(PIO_CONNECT_INTERRUPT_PARAMETERS Parameters);

/* Disconnects the service routine, and waits while it runs. IRQL: PASSIVE_LEVEL. Source: WDK
   IoDisconnectInterrupt, IoDisconnectInterruptEx. */
NT_API void IoDisconnectInterrupt(PKINTERRUPT InterruptObject);
NT_API void IoDisconnectInterruptEx(PIO_DISCONNECT_INTERRUPT_PARAMETERS Parameters);

/* Calls the routine as the service routine is called, at SynchronizeIrql and with the spin lock
   held; returns its result. IRQL: <= SynchronizeIrql. Source: WDK KeSynchronizeExecution. */
NT_API BOOLEAN KeSynchronizeExecution(PKINTERRUPT Interrupt,
                                      PKSYNCHRONIZE_ROUTINE SynchronizeRoutine,
                                      PVOID SynchronizeContext);

/* Raise the level to SynchronizeIrql and acquire the interrupt's spin lock; release it and lower
   the level to OldIrql. Acquire returns the old level. IRQL: acquire: <= SynchronizeIrql; release:
   = SynchronizeIrql. Source: WDK KeAcquireInterruptSpinLock, KeReleaseInterruptSpinLock. */
NT_API KIRQL KeAcquireInterruptSpinLock(PKINTERRUPT Interrupt);
NT_API void KeReleaseInterruptSpinLock(PKINTERRUPT Interrupt, KIRQL OldIrql);

NT_EXTERN_C_END

#endif
