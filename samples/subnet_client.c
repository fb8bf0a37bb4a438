/* SA access from C: a path between two ports, and the events of a port that leaves the subnet and
   returns. With an argument, the datagrams of all HCAs are captured in that file. */
#include "one_irp.h"

#include <ci/capture.h>
#include <ci/ci.h>
#include <hca/hca.h>
#include <hca/software.h>
#include <saa/ibmf_saa.h>
#include <subnet_manager/subnet_manager.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FABRIC "software:?unmanaged"
#define MAX_HCAS 16
#define LOCAL 1  /* the HCA whose port queries the SA */
#define REMOTE 2 /* the HCA whose port comes and goes */

static ib_guid_t Guids[MAX_HCAS];
static ULONG Count = MAX_HCAS;

/* The events of the session. The callback runs at PASSIVE_LEVEL. */
typedef struct {
    KEVENT Left;
    KEVENT Returned;
    ib_guid_t Port;
} SUBNET_EVENTS;

static void OnEvent(ibmf_saa_handle_t Session, ibmf_saa_subnet_event_t Event,
                    ibmf_saa_event_details_t* Details, void* Context) {
    SUBNET_EVENTS* events = (SUBNET_EVENTS*)Context;
    UNREFERENCED_PARAMETER(Session);
    if (Details->ie_gid.gid_guid != events->Port) return;
    if (Event == IBMF_SAA_EVENT_GID_UNAVAILABLE) KeSetEvent(&events->Left, IO_NO_INCREMENT, FALSE);
    if (Event == IBMF_SAA_EVENT_GID_AVAILABLE)
        KeSetEvent(&events->Returned, IO_NO_INCREMENT, FALSE);
}

static BOOLEAN Within(KEVENT* Event, LONG Seconds) {
    LARGE_INTEGER wait;
    wait.QuadPart = -10000000LL * Seconds;
    return KeWaitForSingleObject(Event, Executive, KernelMode, FALSE, &wait) == STATUS_SUCCESS;
}

/* Here each port's GUID is the one after its node's. */
static ib_gid_t GidOf(int Hca) {
    ib_gid_t gid;
    gid.gid_prefix = IB_DEFAULT_GID_PREFIX;
    gid.gid_guid = Guids[Hca] + 1;
    return gid;
}

/* Blocks until the SA has responded. */
static int ShowPath(ibmf_saa_handle_t Session) {
    sa_path_record_t wanted;
    ibmf_saa_access_args_t access;
    size_t length = 0;
    void* result = NULL;
    int status;

    memset(&wanted, 0, sizeof(wanted));
    wanted.SGID = GidOf(LOCAL);
    wanted.DGID = GidOf(REMOTE);
    memset(&access, 0, sizeof(access));
    access.sq_attr_id = SA_PATHRECORD_ATTRID;
    access.sq_access_type = IBMF_SAA_RETRIEVE;
    access.sq_component_mask = SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID;
    access.sq_template = &wanted;
    access.sq_template_length = sizeof(wanted);
    status = ibmf_sa_access(Session, &access, 0, &length, &result);
    if (status == IBMF_SUCCESS) {
        const sa_path_record_t* path = (const sa_path_record_t*)result;
        printf("%u path(s); the first: LID %u to LID %u, MTU code %u, rate code %u\n",
               (unsigned)(length / sizeof(*path)), path->SLID, path->DLID, path->Mtu, path->Rate);
    }
    free(result);
    return status;
}

/* Unplugs the port until its event has come. The SA reports changes from the moment on when it has
   accepted the session's subscription, so the first change may be too early. */
static int ShowEvents(SUBNET_EVENTS* Events) {
    int attempt;
    for (attempt = 0; attempt < 10; ++attempt) {
        BOOLEAN left;
        HcaSoftwareSetLink(Guids[REMOTE], 1, FALSE);
        left = Within(&Events->Left, 2);
        HcaSoftwareSetLink(Guids[REMOTE], 1, TRUE);
        if (left && Within(&Events->Returned, 20)) {
            puts("the port has left and returned");
            return IBMF_SUCCESS;
        }
    }
    return IBMF_TRANS_TIMEOUT;
}

static int UseSa(void) {
    SUBNET_EVENTS events;
    ibmf_saa_subnet_event_args_t arguments;
    ibmf_saa_handle_t session;
    int status;

    events.Port = Guids[REMOTE] + 1;
    KeInitializeEvent(&events.Left, NotificationEvent, FALSE);
    KeInitializeEvent(&events.Returned, NotificationEvent, FALSE);
    arguments.is_event_callback = OnEvent;
    arguments.is_event_callback_arg = &events;
    status = ibmf_sa_session_open(Guids[LOCAL] + 1, 0, &arguments, IBMF_VERSION, 0, &session);
    if (status != IBMF_SUCCESS) return status;
    status = ShowPath(session);
    if (status == IBMF_SUCCESS) status = ShowEvents(&events);
    ibmf_sa_session_close(&session, 0); /* no callback runs afterwards */
    return status;
}

/* Runs the subnet manager on the first HCA. */
static NTSTATUS UseManagedSubnet(void) {
    SM_OPTIONS options;
    SM_MANAGER* manager;
    NTSTATUS status;
    SmInitializeOptions(&options, Guids[0]);
    status = SmCreate(&options, &manager);
    if (!NT_SUCCESS(status)) return status;
    SmStart(manager, Prepared());
    status = Awaited();
    if (NT_SUCCESS(status)) {
        SmWaitUntilUp(manager, Prepared());
        status = Awaited();
        if (NT_SUCCESS(status)) {
            const int code = UseSa();
            if (code != IBMF_SUCCESS) {
                fprintf(stderr, "subnet_client: SA access: %d\n", code);
                status = STATUS_UNSUCCESSFUL;
            }
        }
        SmStop(manager, Prepared());
        Awaited();
    }
    SmDestroy(manager);
    return status;
}

static VOID Write(const VOID* Bytes, SIZE_T Length, VOID* File) {
    fwrite(Bytes, 1, Length, (FILE*)File);
}

static NTSTATUS CaptureAll(CI_CAPTURE* Capture) {
    static union {
        IB_CA_ATTR Attr;
        UCHAR Bytes[8192];
    } block;
    NTSTATUS status = STATUS_SUCCESS;
    ULONG i;
    for (i = 0; i < Count && NT_SUCCESS(status); ++i) {
        IB_CA* ca;
        CiOpenCa(HcaFromGuid(Guids[i]), NULL, NULL, NULL, Prepared());
        status = Awaited();
        if (!NT_SUCCESS(status)) break;
        ca = (IB_CA*)Irp->IoStatus.Information;
        CiQueryCa(ca, sizeof(block), &block.Attr, Prepared());
        status = Awaited();
        if (status == STATUS_SUCCESS)
            status = CiCaptureHca(Capture, HcaFromGuid(Guids[i]), &block.Attr);
        CiCloseCa(ca, NULL, Prepared());
        Awaited();
    }
    return status;
}

static NTSTATUS Run(const char* FileName) {
    CI_CAPTURE* capture = NULL;
    FILE* file = FileName != NULL ? fopen(FileName, "wb") : tmpfile();
    NTSTATUS status = file != NULL ? STATUS_SUCCESS : STATUS_OBJECT_NAME_NOT_FOUND;
    if (NT_SUCCESS(status)) status = CiBeginCapture(Write, file, &capture);
    if (NT_SUCCESS(status)) status = CaptureAll(capture);
    if (NT_SUCCESS(status)) status = UseManagedSubnet();
    CiEndCapture(capture);
    if (file != NULL) {
        if (NT_SUCCESS(status)) printf("the capture has %ld bytes\n", ftell(file));
        fclose(file);
    }
    return status;
}

int main(int argc, char** argv) {
    NTSTATUS status = HcaAttach(FABRIC, NULL);
    if (NT_SUCCESS(status)) status = HcaEnumerate(Guids, &Count);
    if (NT_SUCCESS(status)) {
        Irp = IoAllocateIrp(1, FALSE);
        if (Irp == NULL) status = STATUS_INSUFFICIENT_RESOURCES;
    }
    if (NT_SUCCESS(status)) {
        status = Run(argc > 1 ? argv[1] : NULL);
        IoFreeIrp(Irp);
    }
    if (!NT_SUCCESS(status)) fprintf(stderr, "subnet_client: %s\n", NtStatusMeaning(status));
    HcaDetach(FABRIC);
    return NT_SUCCESS(status) ? 0 : 1;
}
