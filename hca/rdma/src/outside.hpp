// What the driver needs of the outside: libibverbs, libibumad, the files of sysfs and the devices,
// the reactor. A table, so that a test can stand in for all of it.
#pragma once

#include "verbs_library.hpp"

#include <dispatch/descriptor_watch.hpp>

#include <infiniband/umad.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace irpverbs::hca_rdma {

struct outside {
    const verbs_library* verbs;

    // As in umad.h; the cause of a failure is in errno.
    int (*get_cas_names)(char names[][UMAD_CA_NAME_LEN], int most);
    int (*get_ca)(const char* name, umad_ca_t* ca);
    int (*release_ca)(umad_ca_t* ca);
    int (*get_issm_path)(const char* name, int port, char* path, int size);
    int (*open_port)(const char* name, int port);
    int (*close_port)(int descriptor);
    std::size_t (*header_size)();
    int (*register_agent)(int descriptor, umad_reg_attr* wanted, std::uint32_t* agent);
    int (*send)(int descriptor, int agent, void* message, int length, int timeout, int retries);
    int (*receive)(int descriptor, void* message, int* length, int timeout);

    /// False: it can't be read. A line end at its end is cut off.
    bool (*read_file)(const std::string& path, std::string& text);
    /// An errno; 0: written.
    int (*write_file)(const std::string& path, std::string_view text);
    /// A descriptor; -1 and errno, EAGAIN where a device is held by somebody else.
    int (*open_file)(const std::string& path);
    int (*close_file)(int descriptor);
    /// An errno; 0: it can be opened.
    int (*try_file)(const std::string& path);

    /// dispatch::watch_readable on the caller's machine.
    std::unique_ptr<dispatch::descriptor_watch> (*watch)(int descriptor, bool (*readable)(void*),
                                                         void* context);
};

/// The real one.
extern const outside real_outside;

} // namespace irpverbs::hca_rdma
