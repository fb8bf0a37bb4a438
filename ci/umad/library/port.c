/* Open ports: agents, sending, receiving, waiting. Source: seed 001 (libibumad), umad_recv(3) and
   its likes. A thread that waits holds nothing and may be cancelled (drop_in/border.h). */
#include "buffer.h"

#include <umad/border.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>

int umad_open_port(const char* ca_name, int portnum) {
    const int before = irpverbs_enter();
    const int result = irpverbs_umad_open(ca_name, portnum);
    irpverbs_leave(before);
    return result;
}

int umad_close_port(int portid) {
    const int before = irpverbs_enter();
    const int result = irpverbs_umad_close(portid);
    irpverbs_leave(before);
    return result;
}

static int check(int portid) {
    const int before = irpverbs_enter();
    const int result = irpverbs_umad_check(portid);
    irpverbs_leave(before);
    return result;
}

int umad_get_fd(int portid) {
    const int result = check(portid);
    return result < 0 ? result : portid;
}

/* Programs wait as long as their request may take (libibmad gives both the same time). Its end is
   to come first, since a program tries again after that, and gives up after a wait without a
   message. */
static int longer(int timeout_ms) {
    const int rest = INT_MAX - timeout_ms;
    const int more = timeout_ms / 20;
    return timeout_ms <= 0 ? timeout_ms : timeout_ms + (more < rest ? more : rest);
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static int begin_serving(void) {
    const int before = irpverbs_enter();
    const int watches = irpverbs_umad_begin_serving();
    irpverbs_leave(before);
    return watches;
}

static int serve(int portid, int looks) {
    const int before = irpverbs_enter();
    const int result = irpverbs_umad_serve(portid, looks);
    irpverbs_leave(before);
    return result;
}

static void end_serving(void* unused) {
    (void)unused;
    const int before = irpverbs_enter();
    irpverbs_umad_end_serving();
    irpverbs_leave(before);
}

/* Returns the result of poll(2) for the port. During the wait the thread receives, for this port
   and others, unless another one does. */
static int poll_and_serve(int portid, int timeout_ms) {
    const long long end = timeout_ms > 0 ? now_ms() + timeout_ms : 0;
    for (int left = timeout_ms;;) {
        struct pollfd all[] = {{portid, POLLIN, 0}, {begin_serving(), POLLIN, 0}};
        if (all[1].fd >= 0 && serve(portid, left != 0) != 0) return 1;
        const int result = poll(all, 2, left);
        if (result <= 0 || all[0].revents != 0) return result < 0 ? result : all[0].revents != 0;
        if (timeout_ms <= 0) continue;
        const long long rest = end - now_ms();
        left = rest > 0 ? (int)rest : 0;
    }
}

static int wait_for_message(int portid, int timeout_ms) {
    int result = 0;
    pthread_cleanup_push(end_serving, NULL);
    result = poll_and_serve(portid, longer(timeout_ms));
    pthread_cleanup_pop(1);
    if (result == 0) return -ETIMEDOUT;
    return result == 1 ? 0 : -EIO;
}

int umad_poll(int portid, int timeout_ms) {
    const int result = check(portid);
    return result < 0 ? result : wait_for_message(portid, timeout_ms);
}

static int register_agent(int portid, const struct umad_reg_attr* wanted, uint32_t* id) {
    const int before = irpverbs_enter();
    const int result = irpverbs_umad_register(portid, wanted, id);
    irpverbs_leave(before);
    return result;
}

/* Returns the agent's number. */
static int register_with(int portid, struct umad_reg_attr* wanted, const long method_mask[]) {
    uint32_t id = 0;
    if (method_mask != NULL) memcpy(wanted->method_mask, method_mask, sizeof wanted->method_mask);
    const int result = register_agent(portid, wanted, &id);
    if (result == 0) return (int)id;
    errno = -result;
    return check(portid) < 0 ? -EINVAL : -EPERM;
}

int umad_register(int portid, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
                  long method_mask[16 / sizeof(long)]) {
    struct umad_reg_attr wanted = {.mgmt_class = (uint8_t)mgmt_class,
                                   .mgmt_class_version = (uint8_t)mgmt_version,
                                   .oui = 0x001405, /* OpenIB's, for a class that needs one */
                                   .rmpp_version = rmpp_version};
    return register_with(portid, &wanted, method_mask);
}

int umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
                      long method_mask[16 / sizeof(long)]) {
    if (mgmt_class < 0x30 || mgmt_class > 0x4F) return -EINVAL;
    struct umad_reg_attr wanted = {.mgmt_class = (uint8_t)mgmt_class,
                                   .mgmt_class_version = 1,
                                   .oui = (uint32_t)oui[0] << 16 | (uint32_t)oui[1] << 8 | oui[2],
                                   .rmpp_version = rmpp_version};
    return register_with(portid, &wanted, method_mask);
}

/* Returns an error number, not a negative one. */
int umad_register2(int port_fd, struct umad_reg_attr* attr, uint32_t* agent_id) {
    if (attr == NULL || agent_id == NULL) return EINVAL;
    const int result = register_agent(port_fd, attr, agent_id);
    if ((attr->flags & ~(uint32_t)UMAD_USER_RMPP) != 0)
        attr->flags = UMAD_USER_RMPP; /* the known ones */
    return -result;
}

int umad_unregister(int portid, int agentid) {
    const int before = irpverbs_enter();
    const int result = agentid < 0 ? -EINVAL : irpverbs_umad_unregister(portid, (uint32_t)agentid);
    irpverbs_leave(before);
    if (result < 0) errno = -result;
    return result;
}

int umad_send(int portid, int agentid, void* umad, int length, int timeout_ms, int retries) {
    struct ib_user_mad* message = umad;
    errno = 0;
    if (umad == NULL || length < 0 || agentid < 0) {
        errno = EINVAL;
        return -EINVAL;
    }
    message->timeout_ms = (uint32_t)timeout_ms;
    message->retries = (uint32_t)retries;
    message->agent_id = (uint32_t)agentid;
    dump_when_debugging(umad);
    const int before = irpverbs_enter();
    const int result = irpverbs_umad_write(portid, umad, sizeof *message + (size_t)length);
    irpverbs_leave(before);
    if (result == 0) return 0;
    errno = -result;
    return result == -EINVAL ? -EINVAL : -EIO;
}

/* On a message that does not fit, *length is its length, and it stays. */
static int read_message(int portid, struct ib_user_mad* umad, int* length) {
    const size_t room = *length > 0 ? (size_t)*length : 0;
    const int before = irpverbs_enter();
    const long size = irpverbs_umad_read(portid, umad, sizeof *umad + room);
    irpverbs_leave(before);
    if (size >= 0) {
        *length = (int)size - (int)sizeof *umad;
        return (int)umad->agent_id;
    }
    if (size == -ENOSPC) *length = (int)(umad->length - sizeof *umad);
    errno = (int)-size;
    return (int)size;
}

int umad_recv(int portid, void* umad, int* length, int timeout_ms) {
    errno = 0;
    if (umad == NULL || length == NULL) {
        errno = EINVAL;
        return -EINVAL;
    }
    int result = read_message(portid, umad, length);
    if (result != -EAGAIN || timeout_ms == 0) return result;
    errno = 0;
    result = wait_for_message(portid, timeout_ms);
    if (result == 0) return read_message(portid, umad, length);
    if (errno == 0) errno = -result;
    return result;
}
