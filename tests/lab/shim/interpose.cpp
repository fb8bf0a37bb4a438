// Intercepts the system calls of libibumad: responds to calls about InfiniBand devices, and
// forwards all others.
#include "kernel.hpp"

#include <cerrno>
#include <cstdarg>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <rdma/rdma_user_ioctl.h>
#include <string_view>
#include <unistd.h>

namespace {

using shim::kernel;

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_sysfs(std::string_view path) { return path.starts_with("/sys/class/infiniband"); }

// Set when a device was opened; before that no descriptor is a device.
bool in_use = false;

bool is_ours(int descriptor) {
    return __atomic_load_n(&in_use, __ATOMIC_ACQUIRE) && kernel::get().owns(descriptor);
}

std::string real_path(const char* path) {
    return is_sysfs(path) ? kernel::get().redirected(path) : std::string(path);
}

int open_device(std::string_view path, int flags) {
    const bool umad = path == "/dev/infiniband/umad0";
    if (!umad && path != "/dev/infiniband/issm0") {
        errno = ENOENT;
        return -1;
    }
    const int descriptor = kernel::get().open_device(!umad, flags);
    __atomic_store_n(&in_use, true, __ATOMIC_RELEASE);
    return descriptor;
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
    static const auto real = next<int(const char*, int, ...)>("open");
    mode_t mode = 0;
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    if (std::string_view(path).starts_with("/dev/infiniband/")) return open_device(path, flags);
    return is_sysfs(path) ? real(real_path(path).c_str(), flags, mode) : real(path, flags, mode);
}

__attribute__((visibility("default"))) DIR* opendir(const char* path) {
    static const auto real = next<DIR*(const char*)>("opendir");
    return real(real_path(path).c_str());
}

__attribute__((visibility("default"))) int scandir(const char* path, dirent*** list,
                                                   int (*filter)(const dirent*),
                                                   int (*compare)(const dirent**, const dirent**)) {
    static const auto real = next<int(const char*, dirent***, int (*)(const dirent*),
                                      int (*)(const dirent**, const dirent**))>("scandir");
    return real(real_path(path).c_str(), list, filter, compare);
}

__attribute__((visibility("default"))) int close(int descriptor) {
    static const auto real = next<int(int)>("close");
    if (is_ours(descriptor)) kernel::get().close_device(descriptor);
    return real(descriptor);
}

__attribute__((visibility("default"))) ssize_t read(int descriptor, void* into, size_t size) {
    static const auto real = next<ssize_t(int, void*, size_t)>("read");
    return is_ours(descriptor) ? kernel::get().read_message(descriptor, into, size)
                               : real(descriptor, into, size);
}

__attribute__((visibility("default"))) ssize_t write(int descriptor, const void* from,
                                                     size_t size) {
    static const auto real = next<ssize_t(int, const void*, size_t)>("write");
    return is_ours(descriptor) ? kernel::get().write_message(descriptor, from, size)
                               : real(descriptor, from, size);
}

__attribute__((visibility("default"))) int ioctl(int descriptor, unsigned long request, ...) {
    static const auto real = next<int(int, unsigned long, ...)>("ioctl");
    va_list rest;
    va_start(rest, request);
    void* argument = va_arg(rest, void*);
    va_end(rest);
    if (is_ours(descriptor)) switch (request) {
        case IB_USER_MAD_REGISTER_AGENT:
            return kernel::get().register_agent(descriptor,
                                                *static_cast<ib_user_mad_reg_req*>(argument));
        case IB_USER_MAD_REGISTER_AGENT2:
            return kernel::get().register_agent2(descriptor,
                                                 *static_cast<ib_user_mad_reg_req2*>(argument));
        case IB_USER_MAD_UNREGISTER_AGENT:
            return kernel::get().unregister_agent(descriptor,
                                                  *static_cast<std::uint32_t*>(argument));
        case IB_USER_MAD_ENABLE_PKEY:
            return 0;
        default:
            break; // FIONBIO and the like act on the descriptor itself
        }
    return real(descriptor, request, argument);
}

} // extern "C"
