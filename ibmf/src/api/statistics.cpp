#include <engine/registry.hpp>

using namespace irpverbs::ibmf;

extern "C" {

int ibmf_query_stats(ibmf_handle_t ibmf_handle, boolean_t of_port, ibmf_stats_t* stats) {
    if (stats == nullptr) return IBMF_INVALID_ARG;
    const client_ref who = registry::here().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    port& at = *who->at;
    const port::guard under(at);
    *stats = of_port ? at.counts : who->counts;
    stats->st_in_flight = stats->st_queued = 0;
    at.for_each([&](const transaction& each) {
        if (!of_port && each.who != who) return;
        if (each.in_flight) ++stats->st_in_flight;
        if (each.at == phase::queued) ++stats->st_queued;
    });
    return IBMF_SUCCESS;
}

int ibmf_limit_port(ibmf_handle_t ibmf_handle, uint_t in_flight) {
    if (in_flight == 0) return IBMF_INVALID_ARG;
    const client_ref who = registry::here().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    port::guard under(*who->at);
    who->at->limit(under, in_flight);
    return IBMF_SUCCESS;
}

} // extern "C"
