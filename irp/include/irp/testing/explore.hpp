/// dispatch::explore with the verifier on.
#pragma once

#include <irp/testing/explore.h>

#include <dispatch/testing/explore.hpp>

#include <memory>
#include <string>

namespace irpverbs::irp {

/// Configures the verifier for the life of the scope, unless IRPVERBS_VERIFIER names its options:
/// those are configured then. Throws std::invalid_argument for wrong options.
class NT_API campaign_verifier {
public:
    explicit campaign_verifier(const std::string& options = "default");
    ~campaign_verifier();
    campaign_verifier(const campaign_verifier&) = delete;
    campaign_verifier& operator=(const campaign_verifier&) = delete;
};

/// dispatch::explore, with the verifier's default checks on.
template <class Body>
dispatch::explore_summary explore(const dispatch::explore_options& options, const Body& body) {
    const campaign_verifier verified;
    return dispatch::explore(options, body);
}

/// IrpExploreInitialize.
inline IRP_EXPLORE_OPTIONS explore_initialize() {
    IRP_EXPLORE_OPTIONS options;
    IrpExploreInitialize(&options);
    return options;
}
/// IrpExploreSpawn.
inline void explore_spawn(const char* name, PIRP_EXPLORE_ROUTINE routine, void* context) {
    IrpExploreSpawn(name, routine, context);
}
/// IrpExploreRun.
inline void explore_run() { IrpExploreRun(); }
/// IrpExploreFail.
inline void explore_fail(const std::string& text) { IrpExploreFail(text.c_str()); }

} // namespace irpverbs::irp
