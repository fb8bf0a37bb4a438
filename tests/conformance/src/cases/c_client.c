#include "c_client.h"

#include <string.h>

#define TAG 0x436E6F63u           /* "conC" */
#define TIME_LIMIT (-600000000LL) /* limit of a wait for an up-call: a minute of machine time */

/* One IRP and its completion. */
typedef struct _CLIENT {
    PIRP Irp;
    KEVENT Completed;
    ULONG Completions;
    CONFORMANCE_C_RESULT* Result;
} CLIENT;

static NTSTATUS Note(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context) {
    CLIENT* client = Context;
    UNREFERENCED_PARAMETER(DeviceObject);
    UNREFERENCED_PARAMETER(Irp);
    ++client->Completions;
    KeSetEvent(&client->Completed, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static CLIENT Begin(CONFORMANCE_C_RESULT* Result) {
    CLIENT client = {0};
    client.Irp = IoAllocateIrp(1, FALSE);
    client.Result = Result;
    return client;
}

static PIRP Prepare(CLIENT* Client) {
    IoReuseIrp(Client->Irp, STATUS_SUCCESS);
    KeInitializeEvent(&Client->Completed, NotificationEvent, FALSE);
    Client->Completions = 0;
    IoSetCompletionRoutine(Client->Irp, Note, Client, TRUE, TRUE, TRUE);
    return Client->Irp;
}

static int Expect(CONFORMANCE_C_RESULT* Result, int Holds, NTSTATUS Seen, int Line) {
    if (!Holds && Result->Line == 0) {
        Result->Line = Line;
        Result->Status = Seen;
    }
    return Holds;
}

/* Waits for the completion: one, with the status Wanted; the verb must have returned that status or
   STATUS_PENDING. */
static int Came(CLIENT* Client, NTSTATUS Returned, NTSTATUS Wanted, int Line) {
    NTSTATUS status;
    KeWaitForSingleObject(&Client->Completed, Executive, KernelMode, FALSE, NULL);
    status = Client->Irp->IoStatus.Status;
    return Expect(Client->Result,
                  status == Wanted && Client->Completions == 1 &&
                      (Returned == STATUS_PENDING || Returned == status),
                  status, Line);
}

/* Came() for an optional verb. A driver without it is no failure; the result is false then. */
static int CameIfThereIs(CLIENT* Client, NTSTATUS Returned, NTSTATUS Wanted, int Line) {
    KeWaitForSingleObject(&Client->Completed, Executive, KernelMode, FALSE, NULL);
    if (Client->Irp->IoStatus.Status != STATUS_NOT_SUPPORTED)
        return Came(Client, Returned, Wanted, Line);
    Came(Client, Returned, STATUS_NOT_SUPPORTED, Line);
    return 0;
}

/* Cancels a verb that waits for an event that does not happen. */
static void Cancelled(CLIENT* Client, NTSTATUS Returned, int Line) {
    IoCancelIrp(Client->Irp);
    Came(Client, Returned, STATUS_CANCELLED, Line);
}

#define EXPECT(client, call, wanted) Came(client, call, wanted, __LINE__)
#define EXPECT_IF_THERE_IS(client, call, wanted) CameIfThereIs(client, call, wanted, __LINE__)
#define EXPECT_CANCELLED(client, call) Cancelled(client, call, __LINE__)

static void UseAdapter(CLIENT* Client, IB_CA* Ca) {
    IB_CA_ATTR attr = {0};
    IB_MODIFY_CA modify = {0};
    if (EXPECT_IF_THERE_IS(Client, CiQueryCa(Ca, sizeof(attr), &attr, Prepare(Client)),
                           STATUS_BUFFER_OVERFLOW)) {
        memcpy(modify.NodeDescription, attr.NodeDescription, sizeof(modify.NodeDescription));
        EXPECT_IF_THERE_IS(Client,
                           CiModifyCa(Ca, IB_MODIFY_CA_NODE_DESCRIPTION, &modify, Prepare(Client)),
                           STATUS_SUCCESS);
    }
    EXPECT_CANCELLED(Client, CiGetCaFatalEvent(Ca, Prepare(Client)));
}

static void UsePort(CLIENT* Client, IB_CA* Ca) {
    const IB_MODIFY_PORT modify = {0};
    ULONG size = 0;
    IB_PORT_ATTR* attr = (IB_PORT_ATTR*)(VOID*)&size;
    if (EXPECT_IF_THERE_IS(Client, CiQueryPort(Ca, 1, sizeof(size), attr, Prepare(Client)),
                           STATUS_BUFFER_OVERFLOW)) {
        attr = ExAllocatePoolWithTag(NonPagedPool, size, TAG);
        EXPECT(Client, CiQueryPort(Ca, 1, size, attr, Prepare(Client)), STATUS_SUCCESS);
        Expect(Client->Result, Client->Irp->IoStatus.Information == size, STATUS_SUCCESS, __LINE__);
        ExFreePoolWithTag(attr, TAG);
    }
    EXPECT_IF_THERE_IS(Client,
                       CiModifyPort(Ca, 1, IB_MODIFY_PORT_CAPABILITIES, &modify, Prepare(Client)),
                       STATUS_SUCCESS);
    EXPECT_CANCELLED(Client, CiGetCaPortEvent(Ca, 1, Prepare(Client)));
    EXPECT(Client, CiGetCaPortEvent(Ca, 0, Prepare(Client)), STATUS_INVALID_PARAMETER);
}

static void UseQueue(CLIENT* Client, IB_CA* Ca) {
    IB_CQ* queue;
    IB_CQ_ATTR attr;
    IB_WC entry;
    ULONG taken = 1;
    NTSTATUS status;
    if (!EXPECT_IF_THERE_IS(Client, CiCreateCq(Ca, 4, NULL, NULL, NULL, Prepare(Client)),
                            STATUS_SUCCESS))
        return;
    queue = (IB_CQ*)Client->Irp->IoStatus.Information;
    EXPECT_IF_THERE_IS(Client, CiQueryCq(queue, sizeof(attr), &attr, Prepare(Client)),
                       STATUS_SUCCESS);
    EXPECT_IF_THERE_IS(Client, CiResizeCq(queue, 8, NULL, Prepare(Client)), STATUS_SUCCESS);
    if (EXPECT_IF_THERE_IS(Client, CiPollCq(queue, 1, &entry, Prepare(Client)), STATUS_SUCCESS))
        Expect(Client->Result, Client->Irp->IoStatus.Information == 0, STATUS_SUCCESS, __LINE__);
    status = CiGetCqResults(queue, 1, &entry, &taken);
    Expect(Client->Result, status == Client->Irp->IoStatus.Status && taken == 0, status, __LINE__);
    EXPECT_IF_THERE_IS(Client, CiArmCq(queue, IB_CQ_ARM_NEXT, Prepare(Client)), STATUS_SUCCESS);
    EXPECT_CANCELLED(Client, CiGetCqCompEvent(queue, Prepare(Client)));
    EXPECT_CANCELLED(Client, CiGetCqAsyncEvent(queue, Prepare(Client)));
    EXPECT(Client, CiDestroyCq(queue, NULL, Prepare(Client)), STATUS_SUCCESS);
}

static void UseDatagrams(CLIENT* Client, IB_CA* Ca, const CONFORMANCE_C_DATAGRAM* Datagram) {
    UCHAR data[IB_MAD_SIZE];
    IB_MAD_RECEIVE into = {.Data = data, .Size = IB_MAD_SIZE};
    CLIENT receiver;
    NTSTATUS pended;
    IB_MAD_AGENT* agent;
    if (!EXPECT_IF_THERE_IS(Client,
                            CiRegisterMadAgent(Ca, &Datagram->Agent, NULL, NULL, Prepare(Client)),
                            STATUS_SUCCESS))
        return;
    agent = (IB_MAD_AGENT*)Client->Irp->IoStatus.Information;
    receiver = Begin(Client->Result);
    pended = CiGetMad(agent, &into, Prepare(&receiver));
    EXPECT(Client, CiSendMad(agent, Datagram->Send, Prepare(Client)), STATUS_SUCCESS);
    EXPECT(&receiver, pended, STATUS_SUCCESS);
    Expect(Client->Result, into.Length == Datagram->Send->Length, STATUS_SUCCESS, __LINE__);
    EXPECT_CANCELLED(&receiver, CiGetMad(agent, &into, Prepare(&receiver)));
    EXPECT(Client, CiDeregisterMadAgent(agent, Prepare(Client)), STATUS_SUCCESS);
    IoFreeIrp(receiver.Irp);
}

CONFORMANCE_C_RESULT ConformanceCClient(DEVICE_OBJECT* Fdo,
                                        const CONFORMANCE_C_DATAGRAM* Datagram) {
    CONFORMANCE_C_RESULT result = {0, STATUS_SUCCESS};
    CLIENT client = Begin(&result);
    if (EXPECT(&client, CiOpenCa(Fdo, NULL, NULL, NULL, Prepare(&client)), STATUS_SUCCESS)) {
        IB_CA* ca = (IB_CA*)client.Irp->IoStatus.Information;
        UseAdapter(&client, ca);
        UsePort(&client, ca);
        UseQueue(&client, ca);
        UseDatagrams(&client, ca, Datagram);
        EXPECT(&client, CiCloseCa(ca, NULL, Prepare(&client)), STATUS_SUCCESS);
    }
    IoFreeIrp(client.Irp);
    return result;
}

/* The arguments of the up-call. */
typedef struct _HEARD {
    KEVENT Came;
    IB_CA* Ca;
    ULONG Count;
    UCHAR PortNumber;
    IB_ASYNC_EVENT Event;
    KIRQL Level;
} HEARD;

static void NotePortEvent(IB_CA* Ca, VOID* Context, UCHAR PortNumber, IB_ASYNC_EVENT Event) {
    HEARD* heard = Context;
    heard->Ca = Ca;
    ++heard->Count;
    heard->PortNumber = PortNumber;
    heard->Event = Event;
    heard->Level = KeGetCurrentIrql();
    KeSetEvent(&heard->Came, IO_NO_INCREMENT, FALSE);
}

static void Listen(CLIENT* Client, IB_CA* Ca, HEARD* Heard, CONFORMANCE_C_RAISE Raise,
                   VOID* Context) {
    const IB_ASYNC_EVENT event = IB_AE_CLIENT_REREGISTER;
    const NTSTATUS pended = CiGetCaPortEvent(Ca, 1, Prepare(Client));
    const NTSTATUS raised = Raise(Context, event);
    LARGE_INTEGER limit;
    NTSTATUS came;
    if (raised != STATUS_SUCCESS) {
        EXPECT_CANCELLED(Client, pended);
        Client->Result->Status = raised;
        return;
    }
    EXPECT(Client, pended, STATUS_SUCCESS);
    Expect(Client->Result, Client->Irp->IoStatus.Information == (ULONG_PTR)event, STATUS_SUCCESS,
           __LINE__);
    limit.QuadPart = TIME_LIMIT;
    came = KeWaitForSingleObject(&Heard->Came, Executive, KernelMode, FALSE, &limit);
    Expect(Client->Result, came == STATUS_SUCCESS, came, __LINE__);
    Expect(Client->Result,
           Heard->Ca == Ca && Heard->Count == 1 && Heard->PortNumber == 1 &&
               Heard->Event == event && Heard->Level == DISPATCH_LEVEL,
           STATUS_SUCCESS, __LINE__);
}

CONFORMANCE_C_RESULT ConformanceCListener(DEVICE_OBJECT* Fdo, CONFORMANCE_C_RAISE Raise,
                                          VOID* Context) {
    const IB_CA_DISPATCH calls = {NULL, NotePortEvent};
    CONFORMANCE_C_RESULT result = {0, STATUS_SUCCESS};
    CLIENT client = Begin(&result);
    HEARD heard = {0};
    KeInitializeEvent(&heard.Came, NotificationEvent, FALSE);
    if (EXPECT(&client, CiOpenCa(Fdo, &heard, &calls, NULL, Prepare(&client)), STATUS_SUCCESS)) {
        IB_CA* ca = (IB_CA*)client.Irp->IoStatus.Information;
        Listen(&client, ca, &heard, Raise, Context);
        EXPECT(&client, CiCloseCa(ca, NULL, Prepare(&client)), STATUS_SUCCESS);
    }
    IoFreeIrp(client.Irp);
    return result;
}
