/* Functions of the device list that need no HCA. */
#include <verbs/library.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Functions of the private version, which programs of rdma-core call. */
int ibv_read_sysfs_file(const char* folder, const char* file, char* into, size_t size);
const char* ibv_get_sysfs_path(void);

void ibv_free_device_list(struct ibv_device** list) { free(list); }

const char* ibv_get_device_name(struct ibv_device* device) { return device->name; }

/* A child of a fork has copies of the pages: nothing is locked in memory. */
int ibv_fork_init(void) { return 0; }
enum ibv_fork_status ibv_is_fork_initialized(void) { return IBV_FORK_UNNEEDED; }

const char* ibv_get_sysfs_path(void) { return "/sys"; }

/* Reads the file without the new line at its end, and returns its length. */
int ibv_read_sysfs_file(const char* folder, const char* file, char* into, size_t size) {
    char path[IBV_SYSFS_PATH_MAX * 2];
    ssize_t length;
    int descriptor;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, file) >= sizeof path) return -1;
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    length = read(descriptor, into, size);
    close(descriptor);
    if (length > 0 && into[length - 1] == '\n')
        into[--length] = '\0';
    else if (length >= 0 && (size_t)length < size)
        into[length] = '\0';
    return (int)length;
}
