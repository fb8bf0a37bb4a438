/* Functions of librdmacm that nothing here supports: sockets over queue pairs (rsocket(7)), and
   enhanced connection establishment. They set errno to EOPNOTSUPP and return -1. */
#include "wait.h"

#include <rdma/rsocket.h>

#include <errno.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static int unsupported(void) {
    errno = EOPNOTSUPP;
    return -1;
}

int rdma_set_local_ece(struct rdma_cm_id* id, struct ibv_ece* ece) { return unsupported(); }
int rdma_get_remote_ece(struct rdma_cm_id* id, struct ibv_ece* ece) { return unsupported(); }

int rsocket(int domain, int type, int protocol) { return unsupported(); }
int rbind(int socket, const struct sockaddr* addr, socklen_t addrlen) { return unsupported(); }
int rlisten(int socket, int backlog) { return unsupported(); }
int raccept(int socket, struct sockaddr* addr, socklen_t* addrlen) { return unsupported(); }
int rconnect(int socket, const struct sockaddr* addr, socklen_t addrlen) { return unsupported(); }
int rshutdown(int socket, int how) { return unsupported(); }
int rclose(int socket) { return unsupported(); }
ssize_t rrecv(int socket, void* buf, size_t len, int flags) { return unsupported(); }
ssize_t rrecvfrom(int socket, void* buf, size_t len, int flags, struct sockaddr* src_addr,
                  socklen_t* addrlen) {
    return unsupported();
}
ssize_t rrecvmsg(int socket, struct msghdr* msg, int flags) { return unsupported(); }
ssize_t rsend(int socket, const void* buf, size_t len, int flags) { return unsupported(); }
ssize_t rsendto(int socket, const void* buf, size_t len, int flags,
                const struct sockaddr* dest_addr, socklen_t addrlen) {
    return unsupported();
}
ssize_t rsendmsg(int socket, const struct msghdr* msg, int flags) { return unsupported(); }
ssize_t rread(int socket, void* buf, size_t count) { return unsupported(); }
ssize_t rreadv(int socket, const struct iovec* iov, int iovcnt) { return unsupported(); }
ssize_t rwrite(int socket, const void* buf, size_t count) { return unsupported(); }
ssize_t rwritev(int socket, const struct iovec* iov, int iovcnt) { return unsupported(); }
int rpoll(struct pollfd* fds, nfds_t nfds, int timeout) { return unsupported(); }
int rselect(int nfds, fd_set* readfds, fd_set* writefds, fd_set* exceptfds,
            struct timeval* timeout) {
    return unsupported();
}
int rgetpeername(int socket, struct sockaddr* addr, socklen_t* addrlen) { return unsupported(); }
int rgetsockname(int socket, struct sockaddr* addr, socklen_t* addrlen) { return unsupported(); }
int rsetsockopt(int socket, int level, int optname, const void* optval, socklen_t optlen) {
    return unsupported();
}
int rgetsockopt(int socket, int level, int optname, void* optval, socklen_t* optlen) {
    return unsupported();
}
int rfcntl(int socket, int cmd, ...) { return unsupported(); }
off_t riomap(int socket, void* buf, size_t len, int prot, int flags, off_t offset) {
    return unsupported();
}
int riounmap(int socket, void* buf, size_t len) { return unsupported(); }
size_t riowrite(int socket, const void* buf, size_t count, off_t offset, int flags) {
    return (size_t)unsupported();
}
