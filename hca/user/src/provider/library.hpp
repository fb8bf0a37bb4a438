// The library of a user-mode provider (ci/ib_uvp.h), loaded for an HCA.
#pragma once

#include <ci/ib_uvp.h>

#include <memory>
#include <string>

namespace irpverbs::hca_user {

class provider_library {
public:
    /// Loads irpverbs-uvp-NAME.so from the folders of the variable IRPVERBS_UVP_PATH, which is
    /// ignored in a process with more rights than its user, and then from that of the installed
    /// library. A failure writes a line to `problem`.
    static std::unique_ptr<provider_library> load(const std::string& name, ib_guid_t of,
                                                  std::string& problem);
    ~provider_library();
    provider_library(const provider_library&) = delete;
    provider_library& operator=(const provider_library&) = delete;

    const uvp_interface_t& functions() const { return functions_; }

private:
    explicit provider_library(void* handle) : handle_(handle) {}
    bool ask(ib_guid_t of, const std::string& file, std::string& problem);

    void* handle_;
    uvp_interface_t functions_{};
};

/// A status of a provider as that of a verb, and back. The latter depends on the verb: one NTSTATUS
/// stands for several.
NTSTATUS status_of(ib_api_status_t status);
ib_api_status_t provider_status_of(NTSTATUS status, UCHAR verb);

} // namespace irpverbs::hca_user
