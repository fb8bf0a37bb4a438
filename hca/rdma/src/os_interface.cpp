#include "os_interface.hpp"

#include <dispatch/machine.hpp>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace irpverbs::hca_rdma {

namespace {

bool read_file(const std::string& path, std::string& text) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    std::array<char, 256> buffer{};
    const ssize_t size = read(file, buffer.data(), buffer.size());
    close(file);
    if (size < 0) return false;
    text.assign(buffer.data(), static_cast<std::size_t>(size));
    if (text.ends_with('\n')) text.pop_back();
    return true;
}

int write_file(const std::string& path, std::string_view text) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return errno;
    const int error = write(file, text.data(), text.size()) < 0 ? errno : 0;
    close(file);
    return error;
}

int open_file(const std::string& path) {
    return open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

int try_file(const std::string& path) {
    const int file = open_file(path);
    if (file < 0) return errno;
    close(file);
    return 0;
}

// Checks for ib_umad, since libibumad prints an error on standard error without it.
int open_port(const char* name, int port) {
    std::string version;
    if (!read_file(IB_UMAD_ABI_DIR "/" IB_UMAD_ABI_FILE, version)) return -1;
    return umad_open_port(name, port);
}

std::unique_ptr<dispatch::descriptor_watch> watch(int descriptor, bool (*readable)(void*),
                                                  void* context) {
    return dispatch::watch_readable(dispatch::machine::current(), descriptor, readable, context);
}

} // namespace

constinit const os_interface real_os = {
    .verbs = &real_verbs,
    .get_cas_names = umad_get_cas_names,
    .get_ca = umad_get_ca,
    .release_ca = umad_release_ca,
    .get_issm_path = umad_get_issm_path,
    .open_port = open_port,
    .close_port = umad_close_port,
    .header_size = umad_size,
    .register_agent = umad_register2,
    .send = umad_send,
    .receive = umad_recv,
    .read_file = read_file,
    .write_file = write_file,
    .open_file = open_file,
    .close_file = close,
    .try_file = try_file,
    .watch = watch,
};

} // namespace irpverbs::hca_rdma
