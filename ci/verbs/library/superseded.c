/* The names that libibverbs superseded in 2007, when its structures changed. Nothing here has the
   structures of before: listing devices fails, with EOPNOTSUPP, in a program that was linked then.
   It gets no object, so none of its parameters matters. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* The results, as each function reports errors: by no object, by -1, by the number, or not. */
void* superseded_object(void);
void* superseded_list(int* count);
uint64_t superseded_guid(void);
int superseded_minus_one(void);
int superseded_number(void);
void superseded_nothing(void);

void* superseded_object(void) {
    errno = EOPNOTSUPP;
    return NULL;
}
void* superseded_list(int* count) {
    if (count != NULL) *count = 0;
    return superseded_object();
}
uint64_t superseded_guid(void) {
    errno = EOPNOTSUPP;
    return 0;
}
int superseded_minus_one(void) {
    errno = EOPNOTSUPP;
    return -1;
}
int superseded_number(void) { return errno = EOPNOTSUPP; }
void superseded_nothing(void) {}

/* The version stands here, not in the version script, which has the name in its later version. */
#define SUPERSEDED(name, result) __asm__(".symver superseded_" #result ", " name);

SUPERSEDED("ibv_get_device_list@IBVERBS_1.0", list)
SUPERSEDED("ibv_free_device_list@IBVERBS_1.0", nothing)
SUPERSEDED("ibv_get_device_name@IBVERBS_1.0", object)
SUPERSEDED("ibv_get_device_guid@IBVERBS_1.0", guid)
SUPERSEDED("ibv_open_device@IBVERBS_1.0", object)
SUPERSEDED("ibv_close_device@IBVERBS_1.0", minus_one)
SUPERSEDED("ibv_get_async_event@IBVERBS_1.0", minus_one)
SUPERSEDED("ibv_ack_async_event@IBVERBS_1.0", nothing)
SUPERSEDED("ibv_query_device@IBVERBS_1.0", number)
SUPERSEDED("ibv_query_port@IBVERBS_1.0", number)
SUPERSEDED("ibv_query_gid@IBVERBS_1.0", minus_one)
SUPERSEDED("ibv_query_pkey@IBVERBS_1.0", minus_one)
SUPERSEDED("ibv_alloc_pd@IBVERBS_1.0", object)
SUPERSEDED("ibv_dealloc_pd@IBVERBS_1.0", number)
SUPERSEDED("ibv_reg_mr@IBVERBS_1.0", object)
SUPERSEDED("ibv_dereg_mr@IBVERBS_1.0", number)
SUPERSEDED("ibv_create_cq@IBVERBS_1.0", object)
SUPERSEDED("ibv_resize_cq@IBVERBS_1.0", number)
SUPERSEDED("ibv_destroy_cq@IBVERBS_1.0", number)
SUPERSEDED("ibv_get_cq_event@IBVERBS_1.0", minus_one)
SUPERSEDED("ibv_ack_cq_events@IBVERBS_1.0", nothing)
SUPERSEDED("ibv_create_srq@IBVERBS_1.0", object)
SUPERSEDED("ibv_modify_srq@IBVERBS_1.0", number)
SUPERSEDED("ibv_query_srq@IBVERBS_1.0", number)
SUPERSEDED("ibv_destroy_srq@IBVERBS_1.0", number)
SUPERSEDED("ibv_create_qp@IBVERBS_1.0", object)
SUPERSEDED("ibv_query_qp@IBVERBS_1.0", number)
SUPERSEDED("ibv_modify_qp@IBVERBS_1.0", number)
SUPERSEDED("ibv_destroy_qp@IBVERBS_1.0", number)
SUPERSEDED("ibv_create_ah@IBVERBS_1.0", object)
SUPERSEDED("ibv_destroy_ah@IBVERBS_1.0", number)
SUPERSEDED("ibv_attach_mcast@IBVERBS_1.0", number)
SUPERSEDED("ibv_detach_mcast@IBVERBS_1.0", number)

/* Drivers of that time: no device is theirs. */
SUPERSEDED("ibv_register_driver@IBVERBS_1.1", nothing)
