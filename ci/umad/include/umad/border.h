/* The functions of the core that libibumad.so.3 calls (drop_in/border.h). An int result is 0 or
   more, or a negative error number. The functions may wait for verbs, never for a peer. IRQL:
   PASSIVE_LEVEL. */
#ifndef IRPVERBS_UMAD_BORDER_H
#define IRPVERBS_UMAD_BORDER_H

#include <drop_in/border.h>

#include <infiniband/umad.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes up to `max` device names. Returns their number. */
IRPVERBS_BORDER int irpverbs_umad_names(char names[][UMAD_CA_NAME_LEN], int max);

/* Attributes of a device, or of a port; of the best one for a name that is NULL and a port that is
   0. The memory of their pointers is malloc's, and the caller's. -ENODEV: there is no such device
   or port. -ENOENT (a device), -EIO (a port): the name, or the number, is wrong. */
IRPVERBS_BORDER int irpverbs_umad_get_ca(const char* name, umad_ca_t* ca);
IRPVERBS_BORDER int irpverbs_umad_get_port(const char* name, int port, umad_port_t* attr);

/* Writes the path of a file: while a program has it open, the port has the capability IsSM. */
IRPVERBS_BORDER int irpverbs_umad_issm_path(const char* name, int port, char* path, int max);

/* Opens a port. Returns its descriptor, readable while there are messages. -EINVAL: no such port.
 */
IRPVERBS_BORDER int irpverbs_umad_open(const char* name, int port);
/* Closes the descriptor. -EINVAL: it is no open port. */
IRPVERBS_BORDER int irpverbs_umad_close(int fd);
/* 0, or -EINVAL: the descriptor is no open port. */
IRPVERBS_BORDER int irpverbs_umad_check(int fd);

/* Registers an agent, 0 and *id, and deregisters it. -EINVAL: also a registration that the kernel
 * refuses. */
IRPVERBS_BORDER int irpverbs_umad_register(int fd, const struct umad_reg_attr* wanted,
                                           uint32_t* id);
IRPVERBS_BORDER int irpverbs_umad_unregister(int fd, uint32_t id);

/* write(2) and read(2) of the kernel's device: a header and a message. Sizes in bytes. Reading
   never waits: -EAGAIN. -ENOSPC: the message is longer; its beginning was read, and it stays. */
IRPVERBS_BORDER int irpverbs_umad_write(int fd, const void* message, size_t size);
IRPVERBS_BORDER long irpverbs_umad_read(int fd, void* buffer, size_t size);

/* dispatch::begin_serving and its likes: a thread that waits for a message makes the calls that
   bring it. -1: it can't. The end must follow, also when the thread is cancelled; one that leaves a
   wait by longjmp(3) serves until its next wait ends. */
IRPVERBS_BORDER int irpverbs_umad_begin_serving(void);
/* Makes the calls that are due. With `looks`, for a short time also those that become due. 1: the
   port has a message. */
IRPVERBS_BORDER int irpverbs_umad_serve(int fd, int looks);
IRPVERBS_BORDER void irpverbs_umad_end_serving(void);

#ifdef __cplusplus
}
#endif

#endif
