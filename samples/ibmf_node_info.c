/* Queries the node of each HCA by IBMF: a Get of NodeInfo on a directed route of no hops. */
#include <hca/hca.h>
#include <sys/ib/mgt/ibmf/ibmf.h>

#include <stdio.h>
#include <string.h>

#define MAX_HCAS 16
#define ATTRIBUTE_NODE_INFO 0x11
#define SMP_HEADER_SIZE 40 /* of the class: M_Key, DrSLID, DrDLID */
#define SMP_DATA_SIZE 192  /* the attribute, and both paths */
#define NODE_GUID_AT 12    /* in NodeInfo, big-endian */

static unsigned long long GuidAt(const UCHAR* Bytes) {
    unsigned long long guid = 0;
    int i;
    for (i = 0; i < 8; ++i)
        guid = guid << 8 | Bytes[i];
    return guid;
}

/* The message owns the buffers until the call returns. */
static int Ask(ibmf_handle_t Handle, ibmf_msg_t* Message) {
    static ib_mad_hdr_t header;
    static UCHAR classHeader[SMP_HEADER_SIZE];
    static UCHAR data[SMP_DATA_SIZE];
    ibmf_retrans_t times = IBMF_RETRANS_DEFAULT;

    memset(&header, 0, sizeof(header));
    header.BaseVersion = MAD_CLASS_BASE_VERS_1;
    header.MgmtClass = MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE;
    header.ClassVersion = 1;
    header.R_Method = MAD_METHOD_GET;
    ((UCHAR*)&header.AttributeID)[1] = ATTRIBUTE_NODE_INFO;
    memset(classHeader + 8, 0xFF, 4); /* DrSLID and DrDLID: no part of the route is LID-routed */
    Message->im_msgbufs_send.im_bufs_mad_hdr = &header;
    Message->im_msgbufs_send.im_bufs_cl_hdr = classHeader;
    Message->im_msgbufs_send.im_bufs_cl_hdr_len = sizeof(classHeader);
    Message->im_msgbufs_send.im_bufs_cl_data = data;
    Message->im_msgbufs_send.im_bufs_cl_data_len = sizeof(data);
    Message->im_local_addr.ia_remote_lid = IB_LID_PERMISSIVE;
    return ibmf_msg_transport(Handle, IBMF_QP_HANDLE_DEFAULT, Message, &times, NULL, NULL,
                              IBMF_MSG_TRANS_FLAG_SEQ);
}

static int Show(ib_guid_t Guid) {
    ibmf_register_info_t info = {Guid, 1, SUBN_MANAGER};
    ibmf_impl_caps_t features;
    ibmf_handle_t handle;
    ibmf_msg_t* message = NULL;
    int status = ibmf_register(&info, IBMF_VERSION, 0, NULL, NULL, &handle, &features);
    if (status != IBMF_SUCCESS) return status;
    status = ibmf_alloc_msg(handle, IBMF_ALLOC_SLEEP, &message);
    if (status == IBMF_SUCCESS) {
        status = Ask(handle, message);
        if (status == IBMF_SUCCESS) {
            const UCHAR* node = (const UCHAR*)message->im_msgbufs_recv.im_bufs_cl_data;
            unsigned long long received = GuidAt(node + NODE_GUID_AT);
            printf("HCA %016llx: node %016llx, %u port(s)\n", (unsigned long long)Guid, received,
                   node[3]);
            if (received != Guid) status = IBMF_FAILURE;
        }
        ibmf_free_msg(handle, &message);
    }
    ibmf_unregister(&handle, 0);
    return status;
}

int main(void) {
    ib_guid_t guids[MAX_HCAS];
    ULONG count = MAX_HCAS;
    ULONG i;
    int status = IBMF_SUCCESS;
    if (!NT_SUCCESS(HcaAttach("software:", NULL))) return 1;
    HcaEnumerate(guids, &count);
    for (i = 0; i < count && status == IBMF_SUCCESS; ++i)
        status = Show(guids[i]);
    HcaDetach("software:");
    if (status != IBMF_SUCCESS) fprintf(stderr, "ibmf_node_info: IBMF status %d\n", status);
    return status == IBMF_SUCCESS && count != 0 ? 0 : 1;
}
