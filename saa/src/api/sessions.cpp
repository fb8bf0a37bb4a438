#include <access/session_table.hpp>

using namespace irpverbs::saa;

namespace {

int check(const ibmf_saa_subnet_event_args_t* events, uint_t version, uint_t flags) {
    if (events != nullptr && events->is_event_callback == nullptr) return IBMF_INVALID_ARG;
    constexpr uint_t known = IBMF_SAA_SESSION_CACHED_PATHS | IBMF_SAA_SESSION_NO_OFFLOAD;
    if ((flags & ~known) != 0 || KeGetCurrentIrql() >= DISPATCH_LEVEL) return IBMF_INVALID_ARG;
    return version == IBMF_VERSION ? IBMF_SUCCESS : IBMF_BAD_VERSION;
}

} // namespace

extern "C" {

int ibmf_sa_session_open(ib_guid_t port_guid, ib_smkey_t sm_key,
                         ibmf_saa_subnet_event_args_t* event_args, uint_t ibmf_version,
                         uint_t flags, ibmf_saa_handle_t* ibmf_saa_handle) {
    if (ibmf_saa_handle == nullptr) return IBMF_INVALID_ARG;
    if (const int refused = check(event_args, ibmf_version, flags); refused != IBMF_SUCCESS)
        return refused;
    const session_table::session_parameters wanted{
        port_guid, sm_key, event_args != nullptr ? *event_args : ibmf_saa_subnet_event_args_t{},
        flags};
    return session_table::current().open(wanted, *ibmf_saa_handle);
}

int ibmf_sa_session_close(ibmf_saa_handle_t* ibmf_saa_handle, uint_t flags) {
    if (ibmf_saa_handle == nullptr || flags != 0 || KeGetCurrentIrql() >= DISPATCH_LEVEL)
        return IBMF_INVALID_ARG;
    session_table& here = session_table::current();
    const session_ref gone = here.find(*ibmf_saa_handle);
    if (gone == nullptr) return IBMF_BAD_HANDLE;
    const int status = here.close(*gone);
    if (status == IBMF_SUCCESS) *ibmf_saa_handle = nullptr;
    return status;
}

int ibmf_saa_query_stats(ibmf_saa_handle_t ibmf_saa_handle, ibmf_saa_stats_t* stats) {
    if (stats == nullptr) return IBMF_INVALID_ARG;
    const session_ref who = session_table::current().find(ibmf_saa_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    *stats = who->at->statistics();
    return IBMF_SUCCESS;
}

int ibmf_saa_query_path_cache(ibmf_saa_handle_t ibmf_saa_handle,
                              ibmf_saa_path_cache_stats_t* stats) {
    if (stats == nullptr) return IBMF_INVALID_ARG;
    const session_ref who = session_table::current().find(ibmf_saa_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    *stats = who->at->path_statistics();
    return IBMF_SUCCESS;
}

int ibmf_saa_lookup_cached_paths(ibmf_saa_handle_t ibmf_saa_handle, const sa_path_record_t* wanted,
                                 uint64_t components, uint_t* num_paths, sa_path_record_t* paths) {
    if (wanted == nullptr || num_paths == nullptr || paths == nullptr) return IBMF_INVALID_ARG;
    const std::span<sa_path_record_t> places(paths, *num_paths);
    *num_paths = 0;
    const session_ref who = session_table::current().find(ibmf_saa_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    if (!who->caches_paths() || who->sm_key != 0) return IBMF_NOT_SUPPORTED;
    const std::optional<path_key> path = path_key::of(*wanted, components);
    return path ? who->at->look_up(*who, *path, places, *num_paths) : IBMF_FAILURE;
}

int ibmf_saa_event_number(ibmf_saa_handle_t ibmf_saa_handle, uint64_t* number) {
    if (number == nullptr) return IBMF_INVALID_ARG;
    *number = 0;
    const session_ref who = session_table::current().find(ibmf_saa_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    *number = who->current_event_number();
    return *number != 0 ? IBMF_SUCCESS : IBMF_FAILURE;
}

int ibmf_saa_limit_port(ibmf_saa_handle_t ibmf_saa_handle, uint_t in_flight) {
    if (in_flight == 0) return IBMF_INVALID_ARG;
    const session_ref who = session_table::current().find(ibmf_saa_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    who->at->limit(in_flight);
    return IBMF_SUCCESS;
}

int ibmf_saa_limit_responses(ibmf_saa_handle_t ibmf_saa_handle, size_t bytes) {
    if (bytes < wire_query::datagram_data) return IBMF_INVALID_ARG;
    const session_ref who = session_table::current().find(ibmf_saa_handle);
    if (who == nullptr) return IBMF_BAD_HANDLE;
    who->at->limit_responses(bytes);
    return IBMF_SUCCESS;
}

} // extern "C"
