/* The interface of user-mode providers: libraries of an HCA's vendor that are loaded into the
   processes whose HCA a daemon serves (hca/user.h). A provider is written in C from this header
   alone; samples/provider shows one.

   Three steps make a verb. The pre function sees the parameters, and may fill the private buffer.
   The verb crosses to the daemon with the bytes of that buffer, which become the CI_UDATA of the
   HCA's driver. The post function sees the results and the bytes that the driver has returned.

   - A pre function that returns neither IB_SUCCESS nor IB_VERBS_PROCESSING_DONE vetoes the verb,
     which completes with that status, and has no effect; its post function is not called.
   - After IB_VERBS_PROCESSING_DONE the verb does not cross: the post function delivers its results.
     The queries and the verbs of address vectors may return it; of another verb it is a veto.
     Such an address vector exists in this process only.
   - The post function is called whenever its pre function has succeeded, or is NULL, also after a
     failure: ci_umv_buf_t.ioctl_status is the status of the verb. Post functions without that
   buffer are called only after success: of a verb that ends an object that means it no longer
   exists. Therefore a pre function of such a verb has no effect that can't be undone.
   - If the post function of a verb that creates fails, the object is destroyed and the verb
     completes with that status; of other verbs it replaces the status only.
   - A member of the vector that is NULL is a step that is skipped. A NULL function of the data path
     crosses: bind_mw, post_send, post_recv, post_srq_recv, poll_cq, enable_cq_notify.

   The handles are the provider's own: post functions of verbs that create set them, and NULL is
   one, too. The buffers, structures and lists are the caller's, and valid during the call. Threads:
   calls for different objects run at the same time. No call for an object runs after the post
   function that ends it has been called. IRQL: pre functions and the data path run at that of the
   verb's caller, <= DISPATCH_LEVEL; post functions at PASSIVE_LEVEL. No function calls this
   library. There are no functions for physical regions, special queue pairs and local datagrams,
   which have no user mode; those of reliable datagrams, and of shared regions, belong to verbs that
   no HCA has. Source: seed 004; where its prototypes and its text differ,
   docs/decisions/user-providers.md. */
#ifndef IRPVERBS_CI_IB_UVP_H
#define IRPVERBS_CI_IB_UVP_H

#include <ci/ci.h>

NT_EXTERN_C_BEGIN

/* Results of a provider's functions. Each but the first, and IB_VERBS_PROCESSING_DONE, is a
 * failure. */
typedef enum _ib_api_status_t {
    IB_SUCCESS = 0,
    IB_INSUFFICIENT_RESOURCES,
    IB_INSUFFICIENT_MEMORY,
    IB_INVALID_PARAMETER,
    IB_INVALID_PERMISSION,
    IB_INVALID_SETTING,
    IB_INVALID_HANDLE,
    IB_INVALID_CA_HANDLE,
    IB_INVALID_PD_HANDLE,
    IB_INVALID_RDD_HANDLE,
    IB_INVALID_AV_HANDLE,
    IB_INVALID_CQ_HANDLE,
    IB_INVALID_QP_HANDLE,
    IB_INVALID_SRQ_HANDLE,
    IB_INVALID_MR_HANDLE,
    IB_INVALID_MW_HANDLE,
    IB_INVALID_MCAST_HANDLE,
    IB_INVALID_TYPE,
    IB_INVALID_SERVICE_TYPE,
    IB_INVALID_STATE,
    IB_INVALID_QP_STATE,
    IB_INVALID_APM_STATE,
    IB_INVALID_PKEY,
    IB_INVALID_GID,
    IB_INVALID_RKEY,
    IB_INVALID_WR_TYPE,
    IB_INVALID_MAX_WRS,
    IB_INVALID_MAX_SGE,
    IB_INVALID_CQ_SIZE,
    IB_RESOURCE_BUSY,
    IB_OVERFLOW,
    IB_NOT_FOUND,
    IB_CANCELED,
    IB_UNSUPPORTED,
    IB_VERBS_PROCESSING_DONE, /* of a pre function: the verb does not cross */
    IB_ERROR,
    /* second spellings in the text */
    IB_INVALID_ADDR_HANDLE = IB_INVALID_AV_HANDLE,
    IB_QP_INVALID_STATE = IB_INVALID_QP_STATE,
    IB_INVALID_PMIG_STATE = IB_INVALID_APM_STATE
} ib_api_status_t;

/* The private buffer of one call of a verb. It is zeroed before the pre function. */
typedef struct _ci_umv_buf {
    uint32_t command; /* the provider's; does not cross, like the next */
    uint32_t status;
    uint32_t input_size;  /* bytes at p_inout_buf that cross to the driver */
    uint32_t output_size; /* of the pre function: bytes that the driver may return; of the post
                             function: that it has returned. Each is <= 65536. */
    uint64_t p_inout_buf; /* address of the larger number of bytes, allocated by the pre function,
                             freed by the post function. The bytes of the driver replace those that
                             crossed. */
    ib_api_status_t ioctl_status; /* of the verb, set before the post function */
    void* vendor_context;         /* the provider's, between its two functions */
} ci_umv_buf_t;

/* Objects of a provider. */
typedef struct _uvp_ca* uvp_ca_handle_t;
typedef struct _uvp_pd* uvp_pd_handle_t;
typedef struct _uvp_rdd* uvp_rdd_handle_t;
typedef struct _uvp_av* uvp_av_handle_t;
typedef struct _uvp_qp* uvp_qp_handle_t;
typedef struct _uvp_cq* uvp_cq_handle_t;
typedef struct _uvp_eec* uvp_eec_handle_t;
typedef struct _uvp_mr* uvp_mr_handle_t;
typedef struct _uvp_mw* uvp_mw_handle_t;
typedef struct _uvp_srq* uvp_srq_handle_t;
typedef struct _uvp_mcast* uvp_mcast_handle_t;

/* Names of the vector for types of this library. */
typedef IB_CA_ATTR ib_ca_attr_t;
typedef IB_MODIFY_PORT ib_port_attr_mod_t;
typedef ULONG ib_ca_mod_t; /* Flags of CiModifyCa; of CiModifyPort, if port_num is not 0 */
typedef BOOLEAN boolean_t;

/* Attributes of end-to-end contexts, which no HCA has. */
typedef struct _ib_eec_attr ib_eec_attr_t;
typedef struct _ib_eec_mod ib_eec_mod_t;

/* A work completion in a list. */
typedef struct _ib_wc {
    struct _ib_wc* p_next;
    IB_WC wc;
} ib_wc_t;

/* An event of a queue pair, a completion queue or a shared receive queue. */
typedef struct _ib_async_event_rec {
    IB_ASYNC_EVENT code;
    void* context; /* the handle of the object */
} ib_async_event_rec_t;

/* ---- Channel adapters. The GUID is in network order. query_ca: p_ca_attr has byte_count bytes,
   those of CiQueryCa's caller. modify_ca: for CiModifyCa port_num is 0, and p_port_attr_mod NULL.
   The buffers of query_ca, query_cq and modify_ca do not cross. */
typedef ib_api_status_t (*uvp_pre_open_ca)(const ib_net64_t ca_guid, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_open_ca)(uvp_ca_handle_t* ph_uvp_ca, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_query_ca)(uvp_ca_handle_t h_uvp_ca, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_query_ca)(uvp_ca_handle_t h_uvp_ca, ib_ca_attr_t* p_ca_attr,
                                             uint32_t byte_count, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_modify_ca)(uvp_ca_handle_t h_uvp_ca, uint8_t port_num,
                                             ib_ca_mod_t ca_mod,
                                             const ib_port_attr_mod_t* p_port_attr_mod);
typedef ib_api_status_t (*uvp_post_modify_ca)(uvp_ca_handle_t h_uvp_ca);
typedef ib_api_status_t (*uvp_pre_close_ca)(uvp_ca_handle_t h_uvp_ca, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_close_ca)(uvp_ca_handle_t h_uvp_ca);

/* ---- Protection domains, and reliable datagram domains, which no HCA has. */
typedef ib_api_status_t (*uvp_pre_allocate_pd)(const uvp_ca_handle_t h_uvp_ca,
                                               ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_allocate_pd)(const uvp_ca_handle_t h_uvp_ca,
                                                uvp_pd_handle_t* ph_uvp_pd,
                                                ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_deallocate_pd)(const uvp_pd_handle_t h_uvp_pd,
                                                 ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_deallocate_pd)(const uvp_pd_handle_t h_uvp_pd);
typedef ib_api_status_t (*uvp_pre_allocate_rdd)(const uvp_ca_handle_t h_uvp_ca,
                                                ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_allocate_rdd)(const uvp_ca_handle_t h_uvp_ca,
                                                 uvp_rdd_handle_t* ph_uvp_rdd,
                                                 ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_deallocate_rdd)(const uvp_rdd_handle_t h_uvp_rdd,
                                                  ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_deallocate_rdd)(const uvp_rdd_handle_t h_uvp_rdd,
                                                   ci_umv_buf_t* p_umv_buf);

/* ---- Address vectors. query_av: *ph_pd, which the text lets the provider change, is not read. */
typedef ib_api_status_t (*uvp_pre_create_av)(const uvp_pd_handle_t h_uvp_pd,
                                             const ib_av_attr_t* p_addr_vector,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_create_av)(const uvp_pd_handle_t h_uvp_pd,
                                              uvp_av_handle_t* ph_uvp_av, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_query_av)(uvp_av_handle_t h_uvp_av, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_query_av)(uvp_av_handle_t h_uvp_av, ib_av_attr_t* p_addr_vector,
                                             uvp_pd_handle_t* ph_pd, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_modify_av)(const uvp_av_handle_t h_uvp_av,
                                             const ib_av_attr_t* p_addr_vector,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_modify_av)(const uvp_av_handle_t h_uvp_av,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_destroy_av)(const uvp_av_handle_t h_uvp_av,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_destroy_av)(const uvp_av_handle_t h_uvp_av,
                                               ci_umv_buf_t* p_umv_buf);

/* ---- Queue pairs. */
typedef ib_api_status_t (*uvp_pre_create_qp)(const uvp_pd_handle_t h_uvp_pd,
                                             const ib_qp_create_t* p_create_attr,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_create_qp)(const uvp_pd_handle_t h_uvp_pd,
                                              uvp_qp_handle_t* ph_uvp_qp, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_modify_qp)(const uvp_qp_handle_t h_uvp_qp,
                                             const ib_qp_mod_t* p_modify_attr,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_modify_qp)(const uvp_qp_handle_t h_uvp_qp,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_query_qp)(uvp_qp_handle_t h_uvp_qp, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_query_qp)(uvp_qp_handle_t h_uvp_qp, ib_qp_attr_t* p_query_attr,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_destroy_qp)(const uvp_qp_handle_t h_uvp_qp,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_destroy_qp)(const uvp_qp_handle_t h_uvp_qp);

/* ---- Completion queues. create_cq and resize_cq: the pre function may raise *p_size, the number
   of completions; `size` is the number that the HCA has granted. */
typedef ib_api_status_t (*uvp_pre_create_cq)(const uvp_ca_handle_t h_uvp_ca, uint32_t* p_size,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_create_cq)(const uvp_ca_handle_t h_uvp_ca, const uint32_t size,
                                              uvp_cq_handle_t* ph_uvp_cq, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_query_cq)(const uvp_cq_handle_t h_uvp_cq,
                                            ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_query_cq)(const uvp_cq_handle_t h_uvp_cq,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_resize_cq)(const uvp_cq_handle_t h_uvp_cq, uint32_t* p_size,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_resize_cq)(const uvp_cq_handle_t h_uvp_cq, const uint32_t size,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_destroy_cq)(const uvp_cq_handle_t h_uvp_cq,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_destroy_cq)(const uvp_cq_handle_t h_uvp_cq);

/* ---- End-to-end contexts, which no HCA has. */
typedef ib_api_status_t (*uvp_pre_create_eec)(const uvp_rdd_handle_t h_uvp_rdd,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_create_eec)(const uvp_rdd_handle_t h_uvp_rdd,
                                               uvp_eec_handle_t* p_uvp_eec,
                                               ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_query_eec)(const uvp_eec_handle_t h_uvp_eec,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_query_eec)(const uvp_eec_handle_t h_uvp_eec,
                                              ib_eec_attr_t* p_query_attr, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_modify_eec)(const uvp_eec_handle_t h_uvp_eec,
                                              const ib_eec_mod_t* p_modify_attr,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_modify_eec)(const uvp_eec_handle_t h_uvp_eec,
                                               ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_destroy_eec)(const uvp_eec_handle_t h_uvp_eec,
                                               ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_destroy_eec)(const uvp_eec_handle_t h_uvp_eec);

/* ---- Memory regions. p_lkey and p_rkey: the keys that the HCA has set. modify_mr: mr_mod_mask of
   IB_MR_MOD_*; the parameters that it does not name are NULL. Shared regions: no HCA has them. */
typedef ib_api_status_t (*uvp_pre_register_mr)(const uvp_pd_handle_t h_uvp_pd,
                                               const ib_mr_create_t* p_mr_create,
                                               ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_register_mr)(const uvp_pd_handle_t h_uvp_pd,
                                                const uint32_t* p_lkey, const uint32_t* p_rkey,
                                                uvp_mr_handle_t* ph_uvp_mr,
                                                ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_query_mr)(const uvp_mr_handle_t h_uvp_mr,
                                            ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_query_mr)(const uvp_mr_handle_t h_uvp_mr,
                                             const ib_mr_attr_t* p_mr_query,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_deregister_mr)(const uvp_mr_handle_t h_uvp_mr,
                                                 ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_deregister_mr)(const uvp_mr_handle_t h_uvp_mr,
                                                  ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_modify_mr)(const uvp_mr_handle_t h_uvp_mr,
                                             const uvp_pd_handle_t h_uvp_pd,
                                             const uint32_t mr_mod_mask,
                                             const ib_mr_create_t* p_mr_create,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_modify_mr)(const uvp_mr_handle_t h_uvp_mr,
                                              const uvp_pd_handle_t h_uvp_pd,
                                              const uint32_t* p_lkey, const uint32_t* p_rkey,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_register_smr)(const uvp_pd_handle_t h_uvp_pd,
                                                const uvp_mr_handle_t h_uvp_mr,
                                                const ib_access_t access_ctrl, void* p_vaddr,
                                                ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_register_smr)(const uvp_pd_handle_t h_uvp_pd,
                                                 const uvp_mr_handle_t h_uvp_mr,
                                                 const void* p_vaddr, const uint32_t* p_lkey,
                                                 const uint32_t* p_rkey,
                                                 uvp_mr_handle_t* ph_uvp_smr,
                                                 ci_umv_buf_t* p_umv_buf);

/* ---- Memory windows. query_mw: *ph_pd is not read. */
typedef ib_api_status_t (*uvp_pre_create_mw)(const uvp_pd_handle_t h_uvp_pd,
                                             ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_create_mw)(const uvp_pd_handle_t h_uvp_pd, uint32_t rkey,
                                              uvp_mw_handle_t* ph_uvp_mw, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_query_mw)(const uvp_mw_handle_t h_uvp_mw,
                                            ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_query_mw)(const uvp_mw_handle_t h_uvp_mw, uvp_pd_handle_t* ph_pd,
                                             uint32_t rkey, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_destroy_mw)(const uvp_mw_handle_t h_uvp_mw,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_destroy_mw)(const uvp_mw_handle_t h_uvp_mw,
                                               ci_umv_buf_t* p_umv_buf);

/* ---- The data path: contracts of CiBindMw, CiPostSend, CiPostRecv, CiGetCqResults and
   CiArmCqNow. A status is that of the first work request that failed, to which the
   last parameter points. poll_cq takes entries off *pp_free_wclist and returns them, filled, in
   *pp_done_wclist; IB_NOT_FOUND: there was none. enable_cq_notify: the completion event itself
   comes from the HCA. */
typedef ib_api_status_t (*uvp_bind_mw)(const uvp_mw_handle_t h_uvp_mw,
                                       const uvp_qp_handle_t h_uvp_qp, ib_bind_wr_t* p_mw_bind,
                                       uint32_t* p_rkey);
typedef ib_api_status_t (*uvp_post_send)(const void* h_qp, ib_send_wr_t* const p_send_wr,
                                         ib_send_wr_t** pp_send_failure);
typedef ib_api_status_t (*uvp_post_recv)(const void* h_qp, ib_recv_wr_t* const p_recv_wr,
                                         ib_recv_wr_t** pp_recv_failure);
typedef ib_api_status_t (*uvp_poll_cq)(void* h_cq, ib_wc_t** pp_free_wclist,
                                       ib_wc_t** pp_done_wclist);
typedef ib_api_status_t (*uvp_enable_cq_notify)(const void* h_cq, const boolean_t solicited);

/* ---- Multicast. */
typedef ib_api_status_t (*uvp_pre_attach_mcast)(const uvp_qp_handle_t h_uvp_qp,
                                                const ib_gid_t* p_mcast_gid,
                                                const uint16_t mcast_lid, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_attach_mcast)(const uvp_qp_handle_t h_uvp_qp,
                                                 uvp_mcast_handle_t* ph_mcast,
                                                 ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_detach_mcast)(uvp_mcast_handle_t h_uvp_mcast,
                                                ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_detach_mcast)(uvp_mcast_handle_t h_uvp_mcast,
                                                 ci_umv_buf_t* p_umv_buf);

/* ---- Asynchronous errors and events of an object, one at a time for each, before its client
   learns of them. IRQL: <= DISPATCH_LEVEL. */
typedef void (*uvp_err_handler)(const ib_async_event_rec_t* const p_err_rec);

/* ---- Since version 2: shared receive queues. The data path: CiPostSrqRecv, and CiGetCqResults
   with an array, whose result is the number of completions, or -1. */
typedef ib_api_status_t (*uvp_pre_create_srq)(const uvp_pd_handle_t h_uvp_pd,
                                              const ib_srq_create_t* p_create_attr,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_create_srq)(const uvp_pd_handle_t h_uvp_pd,
                                               uvp_srq_handle_t* ph_uvp_srq,
                                               ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_modify_srq)(const uvp_srq_handle_t h_uvp_srq,
                                              const ib_srq_mod_t* p_modify_attr,
                                              ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_modify_srq)(const uvp_srq_handle_t h_uvp_srq,
                                               ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_query_srq)(uvp_srq_handle_t h_uvp_srq, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_query_srq)(uvp_srq_handle_t h_uvp_srq,
                                              ib_srq_attr_t* p_query_attr, ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_pre_destroy_srq)(const uvp_srq_handle_t h_uvp_srq,
                                               ci_umv_buf_t* p_umv_buf);
typedef ib_api_status_t (*uvp_post_destroy_srq)(const uvp_srq_handle_t h_uvp_srq);
typedef ib_api_status_t (*uvp_post_srq_recv)(const void* h_srq, ib_recv_wr_t* const p_recv_wr,
                                             ib_recv_wr_t** pp_recv_failure);
typedef ib_api_status_t (*uvp_peek_cq)(void* h_cq, uint32_t* p_n_cqes);
typedef ib_api_status_t (*uvp_rearm_n_cq)(const void* h_cq, const uint32_t n_cqes);
typedef int (*uvp_poll_cq_array)(void* h_cq, const int num_entries, IB_WC* wc);

#define UVP_VERSION_1 1u /* the 74 functions from pre_open_ca to err_handler */
#define UVP_VERSION_2 2u /* all */

/* The functions of a provider. New ones stand at the end. */
typedef struct _uvp_interface {
    ib_net64_t guid;  /* of the HCA, set by the caller of uvp_get_interface */
    uint32_t version; /* set by the caller: the newest that it knows; the provider writes its own,
                         which is no newer */

    uvp_pre_open_ca pre_open_ca;
    uvp_post_open_ca post_open_ca;
    uvp_pre_query_ca pre_query_ca;
    uvp_post_query_ca post_query_ca;
    uvp_pre_modify_ca pre_modify_ca;
    uvp_post_modify_ca post_modify_ca;
    uvp_pre_close_ca pre_close_ca;
    uvp_post_close_ca post_close_ca;

    uvp_pre_allocate_pd pre_allocate_pd;
    uvp_post_allocate_pd post_allocate_pd;
    uvp_pre_deallocate_pd pre_deallocate_pd;
    uvp_post_deallocate_pd post_deallocate_pd;
    uvp_pre_allocate_rdd pre_allocate_rdd;
    uvp_post_allocate_rdd post_allocate_rdd;
    uvp_pre_deallocate_rdd pre_deallocate_rdd;
    uvp_post_deallocate_rdd post_deallocate_rdd;

    uvp_pre_create_av pre_create_av;
    uvp_post_create_av post_create_av;
    uvp_pre_query_av pre_query_av;
    uvp_post_query_av post_query_av;
    uvp_pre_modify_av pre_modify_av;
    uvp_post_modify_av post_modify_av;
    uvp_pre_destroy_av pre_destroy_av;
    uvp_post_destroy_av post_destroy_av;

    uvp_pre_create_qp pre_create_qp;
    uvp_post_create_qp post_create_qp;
    uvp_pre_modify_qp pre_modify_qp;
    uvp_post_modify_qp post_modify_qp;
    uvp_pre_query_qp pre_query_qp;
    uvp_post_query_qp post_query_qp;
    uvp_pre_destroy_qp pre_destroy_qp;
    uvp_post_destroy_qp post_destroy_qp;

    uvp_pre_create_cq pre_create_cq;
    uvp_post_create_cq post_create_cq;
    uvp_pre_query_cq pre_query_cq;
    uvp_post_query_cq post_query_cq;
    uvp_pre_resize_cq pre_resize_cq;
    uvp_post_resize_cq post_resize_cq;
    uvp_pre_destroy_cq pre_destroy_cq;
    uvp_post_destroy_cq post_destroy_cq;

    uvp_pre_create_eec pre_create_eec;
    uvp_post_create_eec post_create_eec;
    uvp_pre_query_eec pre_query_eec;
    uvp_post_query_eec post_query_eec;
    uvp_pre_modify_eec pre_modify_eec;
    uvp_post_modify_eec post_modify_eec;
    uvp_pre_destroy_eec pre_destroy_eec;
    uvp_post_destroy_eec post_destroy_eec;

    uvp_pre_register_mr pre_register_mr;
    uvp_post_register_mr post_register_mr;
    uvp_pre_query_mr pre_query_mr;
    uvp_post_query_mr post_query_mr;
    uvp_pre_deregister_mr pre_deregister_mr;
    uvp_post_deregister_mr post_deregister_mr;
    uvp_pre_modify_mr pre_modify_mr;
    uvp_post_modify_mr post_modify_mr;
    uvp_pre_register_smr pre_register_smr;
    uvp_post_register_smr post_register_smr;

    uvp_pre_create_mw pre_create_mw;
    uvp_post_create_mw post_create_mw;
    uvp_pre_query_mw pre_query_mw;
    uvp_post_query_mw post_query_mw;
    uvp_pre_destroy_mw pre_destroy_mw;
    uvp_post_destroy_mw post_destroy_mw;

    uvp_bind_mw bind_mw;
    uvp_post_send post_send;
    uvp_post_recv post_recv;
    uvp_poll_cq poll_cq;
    uvp_enable_cq_notify enable_cq_notify;

    uvp_pre_attach_mcast pre_attach_mcast;
    uvp_post_attach_mcast post_attach_mcast;
    uvp_pre_detach_mcast pre_detach_mcast;
    uvp_post_detach_mcast post_detach_mcast;

    uvp_err_handler err_handler;

    uvp_pre_create_srq pre_create_srq;
    uvp_post_create_srq post_create_srq;
    uvp_pre_modify_srq pre_modify_srq;
    uvp_post_modify_srq post_modify_srq;
    uvp_pre_query_srq pre_query_srq;
    uvp_post_query_srq post_query_srq;
    uvp_pre_destroy_srq pre_destroy_srq;
    uvp_post_destroy_srq post_destroy_srq;
    uvp_post_srq_recv post_srq_recv;
    uvp_peek_cq peek_cq; /* reserved, like the next: no verb calls it yet */
    uvp_rearm_n_cq rearm_n_cq;
    uvp_poll_cq_array poll_cq_array; /* takes precedence of poll_cq */
} uvp_interface_t;

/* The function that a provider exports. *p_uvp is zeroed except for guid and version; the provider
   fills in the functions that it has. IB_SUCCESS. IB_INSUFFICIENT_MEMORY; any other failure, too,
   means that the HCA is not served. IRQL: PASSIVE_LEVEL. */
__attribute__((visibility("default"))) ib_api_status_t
uvp_get_interface(uvp_interface_t* const p_uvp);

NT_EXTERN_C_END

#endif
