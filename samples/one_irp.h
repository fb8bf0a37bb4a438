/* A sample that has one request at a time: one IRP serves all its verbs. */
#ifndef IRPVERBS_SAMPLES_ONE_IRP_H
#define IRPVERBS_SAMPLES_ONE_IRP_H

#include <irp/wdm.h>

static PIRP Irp; /* the sample allocates and frees it */
static KEVENT Completed;

static NTSTATUS Done(PDEVICE_OBJECT DeviceObject, PIRP Request, PVOID Context) {
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Request);
    KeSetEvent((PKEVENT)Context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* Returns the IRP, prepared for the next verb. */
static PIRP Prepared(void) {
    IoReuseIrp(Irp, STATUS_SUCCESS);
    KeInitializeEvent(&Completed, NotificationEvent, FALSE);
    IoSetCompletionRoutine(Irp, Done, &Completed, TRUE, TRUE, TRUE);
    return Irp;
}

/* Waits until the verb has completed, and returns its status. */
static NTSTATUS Awaited(void) {
    KeWaitForSingleObject(&Completed, Executive, KernelMode, FALSE, NULL);
    return Irp->IoStatus.Status;
}

#endif
