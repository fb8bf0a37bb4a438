/* A program that was linked with libibverbs before 2007: it calls each name that was superseded
   then. Status 0: each has refused in its way. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OBJECTS(X)                                                                                 \
    X(ibv_alloc_pd)                                                                                \
    X(ibv_create_ah)                                                                               \
    X(ibv_create_cq)                                                                               \
    X(ibv_create_qp)                                                                               \
    X(ibv_create_srq)                                                                              \
    X(ibv_get_device_name)                                                                         \
    X(ibv_open_device)                                                                             \
    X(ibv_reg_mr)
#define NUMBERS(X)                                                                                 \
    X(ibv_attach_mcast)                                                                            \
    X(ibv_dealloc_pd)                                                                              \
    X(ibv_dereg_mr)                                                                                \
    X(ibv_destroy_ah)                                                                              \
    X(ibv_destroy_cq)                                                                              \
    X(ibv_destroy_qp)                                                                              \
    X(ibv_destroy_srq)                                                                             \
    X(ibv_detach_mcast)                                                                            \
    X(ibv_modify_qp)                                                                               \
    X(ibv_modify_srq)                                                                              \
    X(ibv_query_device)                                                                            \
    X(ibv_query_port)                                                                              \
    X(ibv_query_qp)                                                                                \
    X(ibv_query_srq)                                                                               \
    X(ibv_resize_cq)
#define MINUS_ONES(X)                                                                              \
    X(ibv_close_device)                                                                            \
    X(ibv_get_async_event)                                                                         \
    X(ibv_get_cq_event)                                                                            \
    X(ibv_query_gid)                                                                               \
    X(ibv_query_pkey)
#define NOTHINGS(X)                                                                                \
    X(ibv_ack_async_event)                                                                         \
    X(ibv_ack_cq_events)                                                                           \
    X(ibv_free_device_list)

#define OF(version, name) __asm__(".symver old_" #name ", " #name "@" version);
#define PARAMETERS const void*, const void*, const void*, const void*

#define OBJECT(name)                                                                               \
    OF("IBVERBS_1.0", name)                                                                        \
    void* old_##name(PARAMETERS);
#define NUMBER(name)                                                                               \
    OF("IBVERBS_1.0", name)                                                                        \
    int old_##name(PARAMETERS);
#define NOTHING(name)                                                                              \
    OF("IBVERBS_1.0", name)                                                                        \
    void old_##name(PARAMETERS);
OBJECTS(OBJECT)
NUMBERS(NUMBER)
MINUS_ONES(NUMBER)
NOTHINGS(NOTHING)

OF("IBVERBS_1.0", ibv_get_device_list)
void* old_ibv_get_device_list(int* count);
OF("IBVERBS_1.0", ibv_get_device_guid)
uint64_t old_ibv_get_device_guid(const void* device);
OF("IBVERBS_1.1", ibv_register_driver)
void old_ibv_register_driver(const char* name, const void* init);

static int failures;

static void check(int holds, const char* name) {
    if (holds) return;
    fprintf(stderr, "%s (errno %d)\n", name, errno);
    ++failures;
}
#define REFUSED(name, arguments, result)                                                           \
    errno = 0;                                                                                     \
    check(old_##name arguments == (result) && errno == EOPNOTSUPP, #name);

/* A function that reads or writes at a parameter faults. */
static const void* const unmapped = (const void*)8;
#define UNMAPPED (unmapped, unmapped, unmapped, unmapped)

int main(void) {
    int count = 1;
    REFUSED(ibv_get_device_list, (&count), NULL)
    check(count == 0, "count of devices");
    REFUSED(ibv_get_device_list, (NULL), NULL)
    REFUSED(ibv_get_device_guid, (unmapped), 0)

#define NO_OBJECT(name) REFUSED(name, UNMAPPED, NULL)
    OBJECTS(NO_OBJECT)
#define ITS_NUMBER(name) REFUSED(name, UNMAPPED, EOPNOTSUPP)
    NUMBERS(ITS_NUMBER)
#define MINUS_ONE(name) REFUSED(name, UNMAPPED, -1)
    MINUS_ONES(MINUS_ONE)

#define RETURNS(name) old_##name UNMAPPED;
    NOTHINGS(RETURNS)
    old_ibv_register_driver("driver", unmapped);
    return failures != 0;
}
