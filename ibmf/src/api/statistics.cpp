#include <engine/client_table.hpp>

using namespace irpverbs::ibmf;

namespace {

std::uint64_t buffers_of(const client& which) {
    std::uint64_t count = 0;
    const LIST_ENTRY* const head = &which.messages;
    for (const LIST_ENTRY* each = head->Flink; each != head; each = each->Flink)
        if (CONTAINING_RECORD(each, message, client_entry)->received != nullptr) ++count;
    return count;
}

bool is_receiving(const transaction& which) {
    return which.state == transaction_state::transferring &&
           (which.incoming || which.rmpp->begun());
}

} // namespace

extern "C" {

int ibmf_query_stats(ibmf_handle_t ibmf_handle, boolean_t of_port, ibmf_stats_t* stats) {
    if (stats == nullptr) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    port_context& at = *who->at;
    const port_context::guard locked(at);
    *stats = of_port ? at.counts : who->counts;
    const auto counts = [&](const client& which) { return of_port || &which == who; };
    stats->st_in_flight = stats->st_queued = stats->st_receives_active = stats->st_buffers = 0;
    at.for_each([&](const transaction& each) {
        if (!counts(*each.who)) return;
        if (each.in_flight) ++stats->st_in_flight;
        if (each.state == transaction_state::queued) ++stats->st_queued;
        if (is_receiving(each)) ++stats->st_receives_active;
    });
    for (const client& each : at.clients)
        if (counts(each)) stats->st_buffers += buffers_of(each);
    return IBMF_SUCCESS;
}

int ibmf_limit_port(ibmf_handle_t ibmf_handle, uint_t in_flight) {
    if (in_flight == 0) return IBMF_INVALID_ARG;
    const client_ref who = client_table::current().find(ibmf_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    port_context::guard locked(*who->at);
    who->at->limit(locked, in_flight);
    return IBMF_SUCCESS;
}

} // extern "C"
