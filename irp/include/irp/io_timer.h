/* The timer of a device: a routine that is called once a second, for time-outs that need no more
   exactness. All devices of a machine share one timer. */
#ifndef IRPVERBS_IRP_IO_TIMER_H
#define IRPVERBS_IRP_IO_TIMER_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

typedef void IO_TIMER_ROUTINE(struct _DEVICE_OBJECT* DeviceObject, PVOID Context);
typedef IO_TIMER_ROUTINE* PIO_TIMER_ROUTINE;

/* Sets the routine of the device's timer, in place of an earlier one. The routine is called at
   DISPATCH_LEVEL once in each second of machine time while the timer is started; the first call
   comes within a second. Ownership: the timer is the device's until its memory is freed;
   IoDeleteDevice stops it, and the device is referenced while the routine runs. IRQL:
   PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INSUFFICIENT_RESOURCES. Source: WDK IoInitializeTimer. */
NT_API NTSTATUS IoInitializeTimer(PDEVICE_OBJECT DeviceObject, PIO_TIMER_ROUTINE TimerRoutine,
                                  PVOID Context);

/* Start and stop the timer. A timer that was started already, or was not, stays as it is. The
   routine may still run on another processor when IoStopTimer returns; it does not call
   IoStopTimer. IRQL: <= DISPATCH_LEVEL. Bug check 0xC9 when the device has no timer. Source: WDK
   IoStartTimer, IoStopTimer. */
NT_API void IoStartTimer(PDEVICE_OBJECT DeviceObject);
NT_API void IoStopTimer(PDEVICE_OBJECT DeviceObject);

NT_EXTERN_C_END

#endif
