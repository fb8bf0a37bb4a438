#include "c_client.h"

#define TAG 0x436E6F63u /* "conC" */

typedef struct _CLIENT {
    PIRP Irp;
    KEVENT Completed;
    ULONG Completions;
    CONFORMANCE_C_RESULT Result;
} CLIENT;

static NTSTATUS Note(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context) {
    CLIENT* client = Context;
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Irp);
    ++client->Completions;
    KeSetEvent(&client->Completed, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static PIRP Prepare(CLIENT* Client) {
    IoReuseIrp(Client->Irp, STATUS_SUCCESS);
    KeInitializeEvent(&Client->Completed, NotificationEvent, FALSE);
    Client->Completions = 0;
    IoSetCompletionRoutine(Client->Irp, Note, Client, TRUE, TRUE, TRUE);
    return Client->Irp;
}

/* Waits, and holds the verb to what it returned and what it must come to. */
static int Came(CLIENT* Client, NTSTATUS Returned, NTSTATUS Wanted, int Line) {
    NTSTATUS status;
    KeWaitForSingleObject(&Client->Completed, Executive, KernelMode, FALSE, NULL);
    status = Client->Irp->IoStatus.Status;
    if (status == Wanted && Client->Completions == 1 &&
        (Returned == STATUS_PENDING || Returned == status))
        return 1;
    if (Client->Result.Line == 0) {
        Client->Result.Line = Line;
        Client->Result.Status = status;
    }
    return 0;
}
#define EXPECT(client, call, wanted) Came(client, call, wanted, __LINE__)

static void Wait(CLIENT* Client, IB_CA* Ca) {
    const NTSTATUS returned = CiGetCaFatalEvent(Ca, Prepare(Client));
    IoCancelIrp(Client->Irp);
    EXPECT(Client, returned, STATUS_CANCELLED);
}

static void Query(CLIENT* Client, IB_CA* Ca) {
    ULONG size = 0;
    IB_PORT_ATTR* attr = (IB_PORT_ATTR*)(VOID*)&size;
    const NTSTATUS returned = CiQueryPort(Ca, 1, sizeof(size), attr, Prepare(Client));
    KeWaitForSingleObject(&Client->Completed, Executive, KernelMode, FALSE, NULL);
    if (Client->Irp->IoStatus.Status == STATUS_NOT_SUPPORTED) return;
    if (!EXPECT(Client, returned, STATUS_BUFFER_OVERFLOW)) return;
    attr = ExAllocatePoolWithTag(NonPagedPool, size, TAG);
    EXPECT(Client, CiQueryPort(Ca, 1, size, attr, Prepare(Client)), STATUS_SUCCESS);
    ExFreePoolWithTag(attr, TAG);
}

CONFORMANCE_C_RESULT ConformanceCClient(DEVICE_OBJECT* Fdo) {
    CLIENT client = {0};
    IB_CA* ca;
    client.Irp = IoAllocateIrp(1, FALSE);
    if (EXPECT(&client, CiOpenCa(Fdo, NULL, NULL, NULL, Prepare(&client)), STATUS_SUCCESS)) {
        ca = (IB_CA*)client.Irp->IoStatus.Information;
        Query(&client, ca);
        Wait(&client, ca);
        EXPECT(&client, CiCloseCa(ca, NULL, Prepare(&client)), STATUS_SUCCESS);
    }
    IoFreeIrp(client.Irp);
    return client.Result;
}
