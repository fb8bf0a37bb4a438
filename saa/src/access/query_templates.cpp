#include <saa/queries.hpp>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace irpverbs::saa {

namespace {

constexpr std::uint8_t max_numb_path = 127; // NumbPath has seven bits

bool is_set(const ib_gid_t& gid) { return (gid.gid_prefix | gid.gid_guid) != 0; }

std::pair<std::uint64_t, std::uint64_t> destination_of(const sa_path_record_t& path) noexcept {
    return {path.DGID.gid_prefix, path.DGID.gid_guid};
}

void restrict_partition(query_template<sa_service_record_t>& made, ib_pkey_t p_key) {
    if (p_key == IBMF_SAA_PKEY_WC) return;
    made.record.ServiceP_Key = p_key;
    made.components |= SA_SR_COMPMASK_PKEY;
}

} // namespace

// "At least" is coded as "greater than the next smaller value"; the smallest value matches every
// path and needs no component.
query_template<sa_path_record_t> path_template(const path_criteria& criteria) noexcept {
    query_template<sa_path_record_t> made;
    const auto ask = [&](bool wanted, std::uint64_t component, auto& place, auto value) {
        if (!wanted) return;
        place = static_cast<std::remove_reference_t<decltype(place)>>(value);
        made.components |= component;
    };
    sa_path_record_t& record = made.record;
    ask(is_set(criteria.sgid), SA_PR_COMPMASK_SGID, record.SGID, criteria.sgid);
    ask(is_set(criteria.dgid), SA_PR_COMPMASK_DGID, record.DGID, criteria.dgid);
    ask(criteria.max_paths != 0, SA_PR_COMPMASK_NUMBPATH, record.NumbPath,
        std::min(criteria.max_paths, max_numb_path));
    ask(criteria.reversible, SA_PR_COMPMASK_REVERSIBLE, record.Reversible, 1);
    ask(criteria.p_key != IBMF_SAA_PKEY_WC, SA_PR_COMPMASK_PKEY, record.P_Key, criteria.p_key);
    const bool mtu = criteria.min_mtu > IB_MTU_256;
    ask(mtu, SA_PR_COMPMASK_MTUSELECTOR, record.MtuSelector, SA_PR_MTU_SEL_GREATER);
    ask(mtu, SA_PR_COMPMASK_MTU, record.Mtu, criteria.min_mtu - 1);
    return made;
}

query_template<sa_service_record_t> service_by_name(std::string_view name,
                                                    ib_pkey_t p_key) noexcept {
    query_template<sa_service_record_t> made;
    std::memcpy(made.record.ServiceName, name.data(),
                std::min<std::size_t>(name.size(), IB_SVC_NAME_LEN - 1));
    made.components = SA_SR_COMPMASK_NAME;
    restrict_partition(made, p_key);
    return made;
}

query_template<sa_service_record_t> service_by_id(ib_svc_id_t id, ib_pkey_t p_key) noexcept {
    query_template<sa_service_record_t> made;
    made.record.ServiceID = id;
    made.components = SA_SR_COMPMASK_ID;
    restrict_partition(made, p_key);
    return made;
}

query_template<sa_service_record_t>
service_deregistration(const sa_service_record_t& record) noexcept {
    return {record,
            SA_SR_COMPMASK_ID | SA_SR_COMPMASK_GID | SA_SR_COMPMASK_PKEY | SA_SR_COMPMASK_KEY};
}

query_template<sa_service_record_t>
service_registration(const sa_service_record_t& record) noexcept {
    auto made = service_deregistration(record);
    made.components |= SA_SR_COMPMASK_LEASE | SA_SR_COMPMASK_NAME | SA_SR_COMPMASK_ALL_DATA;
    return made;
}

// The first path to a port is the preferred one (IBA: the lowest Preference), and of equal ones
// that of the lowest LIDs. The sort needs no memory.
std::size_t one_path_per_port(std::span<sa_path_record_t> paths) noexcept {
    std::ranges::sort(paths, {}, [](const sa_path_record_t& path) {
        return std::tuple_cat(destination_of(path),
                              std::tuple(path.Preference, path.SLID, path.DLID, path.P_Key));
    });
    const auto same = [](const sa_path_record_t& left, const sa_path_record_t& right) {
        return destination_of(left) == destination_of(right);
    };
    const auto end = std::unique(paths.begin(), paths.end(), same);
    return static_cast<std::size_t>(end - paths.begin());
}

} // namespace irpverbs::saa
