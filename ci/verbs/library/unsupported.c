/* Functions of libibverbs that nothing here supports. They set errno to EOPNOTSUPP, and return it
   or NULL. */
#include <infiniband/verbs.h>

#include <errno.h>
#include <stdbool.h>

static int unsupported(void) {
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}
static void* no_object(void) {
    errno = EOPNOTSUPP;
    return NULL;
}

struct ibv_mr* ibv_reg_dmabuf_mr(struct ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova,
                                 int fd, int access) {
    (void)pd, (void)offset, (void)length, (void)iova, (void)fd, (void)access;
    return no_object();
}
int ibv_query_ece(struct ibv_qp* qp, struct ibv_ece* ece) {
    (void)qp, (void)ece;
    return unsupported();
}
int ibv_set_ece(struct ibv_qp* qp, struct ibv_ece* ece) {
    (void)qp, (void)ece;
    return unsupported();
}
int ibv_resolve_eth_l2_from_gid(struct ibv_context* context, struct ibv_ah_attr* attr,
                                uint8_t mac[ETHERNET_LL_SIZE], uint16_t* vid) {
    (void)context, (void)attr, (void)mac, (void)vid;
    unsupported();
    return -1;
}

/* Nothing says how data are ordered. */
int ibv_query_qp_data_in_order(struct ibv_qp* qp, enum ibv_wr_opcode opcode, uint32_t flags) {
    (void)qp, (void)opcode, (void)flags;
    return 0;
}

/* The other functions are called by providers' libraries and librdmacm for devices of their own
   only, so that their parameters do not matter. */
#define UNSUPPORTED(name)                                                                          \
    int name(void);                                                                                \
    int name(void) { return unsupported(); }
#define NO_OBJECT(name)                                                                            \
    void* name(void);                                                                              \
    void* name(void) { return no_object(); }
#define NOTHING(name)                                                                              \
    void name(void);                                                                               \
    void name(void) {}

int ibv_dontfork_range(void* base, size_t size);
int ibv_dontfork_range(void* base, size_t size) {
    (void)base, (void)size;
    return 0;
}
int ibv_dofork_range(void* base, size_t size);
int ibv_dofork_range(void* base, size_t size) {
    (void)base, (void)size;
    return 0;
}
NOTHING(ibv_copy_ah_attr_from_kern)
NOTHING(ibv_copy_path_rec_from_kern)
NOTHING(ibv_copy_path_rec_to_kern)
NOTHING(ibv_copy_qp_attr_from_kern)

/* Constructors of libmlx5 and libefa register their drivers; no device is theirs. */
NOTHING(verbs_register_driver_34)
NOTHING(verbs_set_ops)
NOTHING(verbs_uninit_context)
NOTHING(verbs_init_cq)
NOTHING(__verbs_log)
NO_OBJECT(_verbs_init_and_alloc_context)
NO_OBJECT(verbs_open_device)
bool verbs_allow_disassociate_destroy;

UNSUPPORTED(__ioctl_final_num_attrs)
UNSUPPORTED(execute_ioctl)
UNSUPPORTED(ibv_read_ibdev_sysfs_file)
UNSUPPORTED(ibv_cmd_advise_mr)
UNSUPPORTED(ibv_cmd_alloc_dm)
UNSUPPORTED(ibv_cmd_alloc_mw)
UNSUPPORTED(ibv_cmd_alloc_pd)
UNSUPPORTED(ibv_cmd_attach_mcast)
UNSUPPORTED(ibv_cmd_close_xrcd)
UNSUPPORTED(ibv_cmd_create_ah)
UNSUPPORTED(ibv_cmd_create_counters)
UNSUPPORTED(ibv_cmd_create_cq)
UNSUPPORTED(ibv_cmd_create_cq_ex)
UNSUPPORTED(ibv_cmd_create_flow)
UNSUPPORTED(ibv_cmd_create_flow_action_esp)
UNSUPPORTED(ibv_cmd_create_qp)
UNSUPPORTED(ibv_cmd_create_qp_ex2)
UNSUPPORTED(ibv_cmd_create_qp_ex)
UNSUPPORTED(ibv_cmd_create_rwq_ind_table)
UNSUPPORTED(ibv_cmd_create_srq)
UNSUPPORTED(ibv_cmd_create_srq_ex)
UNSUPPORTED(ibv_cmd_create_wq)
UNSUPPORTED(ibv_cmd_dealloc_mw)
UNSUPPORTED(ibv_cmd_dealloc_pd)
UNSUPPORTED(ibv_cmd_dereg_mr)
UNSUPPORTED(ibv_cmd_destroy_ah)
UNSUPPORTED(ibv_cmd_destroy_counters)
UNSUPPORTED(ibv_cmd_destroy_cq)
UNSUPPORTED(ibv_cmd_destroy_flow)
UNSUPPORTED(ibv_cmd_destroy_flow_action)
UNSUPPORTED(ibv_cmd_destroy_qp)
UNSUPPORTED(ibv_cmd_destroy_rwq_ind_table)
UNSUPPORTED(ibv_cmd_destroy_srq)
UNSUPPORTED(ibv_cmd_destroy_wq)
UNSUPPORTED(ibv_cmd_detach_mcast)
UNSUPPORTED(ibv_cmd_free_dm)
UNSUPPORTED(ibv_cmd_get_context)
UNSUPPORTED(ibv_cmd_modify_cq)
UNSUPPORTED(ibv_cmd_modify_flow_action_esp)
UNSUPPORTED(ibv_cmd_modify_qp)
UNSUPPORTED(ibv_cmd_modify_qp_ex)
UNSUPPORTED(ibv_cmd_modify_srq)
UNSUPPORTED(ibv_cmd_modify_wq)
UNSUPPORTED(ibv_cmd_open_qp)
UNSUPPORTED(ibv_cmd_open_xrcd)
UNSUPPORTED(ibv_cmd_poll_cq)
UNSUPPORTED(ibv_cmd_post_recv)
UNSUPPORTED(ibv_cmd_post_send)
UNSUPPORTED(ibv_cmd_post_srq_recv)
UNSUPPORTED(ibv_cmd_query_context)
UNSUPPORTED(ibv_cmd_query_device_any)
UNSUPPORTED(ibv_cmd_query_mr)
UNSUPPORTED(ibv_cmd_query_port)
UNSUPPORTED(ibv_cmd_query_qp)
UNSUPPORTED(ibv_cmd_query_srq)
UNSUPPORTED(ibv_cmd_read_counters)
UNSUPPORTED(ibv_cmd_reg_dm_mr)
UNSUPPORTED(ibv_cmd_reg_dmabuf_mr)
UNSUPPORTED(ibv_cmd_reg_mr)
UNSUPPORTED(ibv_cmd_req_notify_cq)
UNSUPPORTED(ibv_cmd_rereg_mr)
UNSUPPORTED(ibv_cmd_resize_cq)
