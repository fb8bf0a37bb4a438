/* Sends a text between two queue pairs of the built-in software fabric: each work request is an
   IRP, which completes with the work completion, so there is nothing to poll. */
#include "connected_ends.h"

#include <ci/data_path.h>

#include <string.h>

#define TEXT "sent as an IRP"

/* The receive completes on its own IRP, in its own time. */
static NTSTATUS Received(PDEVICE_OBJECT DeviceObject, PIRP Request, PVOID Context) {
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Request);
    KeSetEvent((PKEVENT)Context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

int main(void) {
    static END ends[2];
    KEVENT arrived;
    IB_WC completion;
    PIRP receive = IoAllocateIrp(1, FALSE);
    ib_local_ds_t into, from;
    ib_recv_wr_t wanted = {0};
    ib_send_wr_t sent = {0};
    ULONG_PTR length;
    int good;
    if (receive == NULL || !Begin(ends)) return 1;

    into = (ib_local_ds_t){(ULONG_PTR)ends[1].Bytes, 64, ends[1].Mr->LKey};
    wanted.ds_array = &into;
    wanted.num_ds = 1;
    KeInitializeEvent(&arrived, NotificationEvent, FALSE);
    IoSetCompletionRoutine(receive, Received, &arrived, TRUE, TRUE, TRUE);
    CiTransferRecv(ends[1].Qp, &wanted, &completion, receive);

    strcpy(ends[0].Bytes, TEXT);
    from = (ib_local_ds_t){(ULONG_PTR)ends[0].Bytes, sizeof(TEXT), ends[0].Mr->LKey};
    sent.ds_array = &from;
    sent.num_ds = 1;
    sent.wr_type = WR_SEND;
    CALL(CiTransfer, ends[0].Qp, &sent, NULL);

    KeWaitForSingleObject(&arrived, Executive, KernelMode, FALSE, NULL);
    length = receive->IoStatus.Information;
    good = NT_SUCCESS(receive->IoStatus.Status) && strcmp(ends[1].Bytes, TEXT) == 0;
    printf("%s: %u bytes from queue pair 0x%x\n", ends[1].Bytes, (unsigned)length,
           (unsigned)ends[0].Qp->Num);
    IoFreeIrp(receive);
    Finish(ends);
    return good && length == sizeof(TEXT) ? 0 : 1;
}
