/* Names and numbers of addresses. Source: rdma_getaddrinfo(3). */
#include "wait.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

static int default_port_space(int qp_type) {
    return qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
}

static int default_qp_type(int port_space) {
    return port_space == RDMA_PS_UDP || port_space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
}

/* The two follow from each other where the hints leave one out. */
static void set_type(struct rdma_addrinfo* made, const struct rdma_addrinfo* hints) {
    made->ai_qp_type = hints != NULL ? hints->ai_qp_type : 0;
    made->ai_port_space = hints != NULL ? hints->ai_port_space : 0;
    if (made->ai_port_space == 0) made->ai_port_space = default_port_space(made->ai_qp_type);
    if (made->ai_qp_type == 0) made->ai_qp_type = default_qp_type(made->ai_port_space);
}

static int copy_address(struct sockaddr** to, socklen_t* length, const void* from, socklen_t size) {
    *to = malloc(size);
    if (*to == NULL) return EAI_MEMORY;
    memcpy(*to, from, size);
    *length = size;
    return 0;
}

/* An address that is not there stays so. */
static int copy_source(struct rdma_addrinfo* made, const struct sockaddr* from, socklen_t size) {
    if (from == NULL) return 0;
    made->ai_family = from->sa_family;
    return copy_address(&made->ai_src_addr, &made->ai_src_len, from, size);
}

static int copy_destination(struct rdma_addrinfo* made, const struct sockaddr* from,
                            socklen_t size) {
    if (from == NULL) return 0;
    made->ai_family = from->sa_family;
    return copy_address(&made->ai_dst_addr, &made->ai_dst_len, from, size);
}

static int set_found(struct rdma_addrinfo* made, const struct addrinfo* found,
                     const struct rdma_addrinfo* hints) {
    if ((made->ai_flags & RAI_PASSIVE) != 0)
        return copy_source(made, found->ai_addr, found->ai_addrlen);
    if (hints != NULL && copy_source(made, hints->ai_src_addr, hints->ai_src_len) != 0)
        return EAI_MEMORY;
    return copy_destination(made, found->ai_addr, found->ai_addrlen);
}

static int set_hints(struct rdma_addrinfo* made, const struct rdma_addrinfo* hints) {
    if (copy_source(made, hints->ai_src_addr, hints->ai_src_len) != 0) return EAI_MEMORY;
    return copy_destination(made, hints->ai_dst_addr, hints->ai_dst_len);
}

static struct addrinfo hints_of(const struct rdma_addrinfo* from) {
    struct addrinfo made;
    const int flags = from != NULL ? from->ai_flags : 0;
    memset(&made, 0, sizeof made);
    made.ai_socktype = SOCK_STREAM;
    if ((flags & RAI_PASSIVE) != 0) made.ai_flags |= AI_PASSIVE;
    if ((flags & RAI_NUMERICHOST) != 0) made.ai_flags |= AI_NUMERICHOST;
    if ((flags & RAI_FAMILY) != 0) made.ai_family = from->ai_family;
    return made;
}

static int find_addresses(struct rdma_addrinfo* made, const char* node, const char* service,
                          const struct rdma_addrinfo* hints) {
    const struct addrinfo wanted = hints_of(hints);
    struct addrinfo* found;
    int result = getaddrinfo(node, service, &wanted, &found);
    if (result != 0) return result;
    result = set_found(made, found, hints);
    freeaddrinfo(found);
    return result;
}

/* Without a name and a number the addresses are those of the hints. */
int rdma_getaddrinfo(const char* node, const char* service, const struct rdma_addrinfo* hints,
                     struct rdma_addrinfo** res) {
    const int has_name = node != NULL || service != NULL;
    struct rdma_addrinfo* made;
    int result;
    if (!has_name && hints == NULL) return EAI_NONAME;
    made = calloc(1, sizeof *made);
    if (made == NULL) return EAI_MEMORY;
    made->ai_flags = hints != NULL ? hints->ai_flags : 0;
    set_type(made, hints);
    result = has_name ? find_addresses(made, node, service, hints) : set_hints(made, hints);
    if (result != 0) {
        rdma_freeaddrinfo(made);
        return result;
    }
    *res = made;
    return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo* res) {
    while (res != NULL) {
        struct rdma_addrinfo* next = res->ai_next;
        free(res->ai_src_addr);
        free(res->ai_dst_addr);
        free(res->ai_src_canonname);
        free(res->ai_dst_canonname);
        free(res->ai_route);
        free(res->ai_connect);
        free(res);
        res = next;
    }
}
