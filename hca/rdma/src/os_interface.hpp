// The driver's interface to the system: libibverbs, libibumad, sysfs and device files, the reactor.
// It is a table, so that a test can replace all of it.
#pragma once

#include "verbs_library.hpp"

#include <dispatch/descriptor_watch.hpp>

#include <infiniband/umad.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace irpverbs::hca_rdma {

struct os_interface {
    const verbs_library* verbs;

    // As in umad.h; errno has the cause of a failure.
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

    /// Returns false if the file can't be read. Removes a line end at the end of the text.
    bool (*read_file)(const std::string& path, std::string& text);
    /// Returns an errno; 0: written.
    int (*write_file)(const std::string& path, std::string_view text);
    /// Returns a descriptor, or -1 and errno. EAGAIN: another program holds the device.
    int (*open_file)(const std::string& path);
    int (*close_file)(int descriptor);
    /// Returns an errno; 0: the file can be opened.
    int (*try_file)(const std::string& path);

    /// dispatch::watch_readable on the caller's machine.
    std::unique_ptr<dispatch::descriptor_watch> (*watch)(int descriptor, bool (*readable)(void*),
                                                         void* context);
};

/// The table of the real system.
extern const os_interface real_os;

} // namespace irpverbs::hca_rdma
