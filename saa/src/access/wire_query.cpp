#include <access/wire_query.hpp>

#include <cstring>
#include <span>
#include <string_view>

namespace irpverbs::saa {

namespace {

struct sa_method {
    std::uint8_t method;
    const record_type* request_type; // null: unknown
    const record_type* response_type;
};

// Whether the query is for one path between two ports. A Get returns it in one datagram; a GetTable
// is an RMPP transfer, with an ACK.
bool is_one_path(const ibmf_saa_access_args_t& wanted) {
    const auto has = [&](std::uint64_t either) { return (wanted.sq_component_mask & either) != 0; };
    return has(SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_SLID) &&
           has(SA_PR_COMPMASK_DGID | SA_PR_COMPMASK_DLID) && has(SA_PR_COMPMASK_NUMBPATH) &&
           static_cast<const sa_path_record_t*>(wanted.sq_template)->NumbPath == 1;
}

const record_type* path_type() {
    const sa_path_record_t* const path = nullptr;
    return &layout_of(path);
}

sa_method retrieval_of(const ibmf_saa_access_args_t& wanted, const record_type* known) {
    switch (wanted.sq_attr_id) {
    case SA_CLASSPORTINFO_ATTRID:
        return {SA_SUBN_ADM_GET, known, known};
    case SA_PATHRECORD_ATTRID:
        if (is_one_path(wanted)) return {SA_SUBN_ADM_GET, known, known};
        break;
    case SA_MULTIPATHRECORD_ATTRID:
        return {SA_SUBN_ADM_GET_MULTI, known, path_type()};
    case SA_TRACERECORD_ATTRID:
        return {SA_SUBN_ADM_GET_TRACE_TABLE, path_type(), known};
    default:
        break;
    }
    return {SA_SUBN_ADM_GET_TABLE, known, known};
}

// A C caller may pass a number outside the enumeration, which must not be loaded as an enumerator.
int access_type_of(const ibmf_saa_access_args_t& wanted) {
    int value = 0;
    static_assert(sizeof value == sizeof wanted.sq_access_type);
    std::memcpy(&value, &wanted.sq_access_type, sizeof value);
    return value;
}

// Returns method 0 when the attribute does not support the access.
sa_method sa_method_of(const ibmf_saa_access_args_t& wanted) {
    const record_type* const known = find_record(wanted.sq_attr_id);
    const bool only_retrieved = wanted.sq_attr_id == SA_MULTIPATHRECORD_ATTRID ||
                                wanted.sq_attr_id == SA_TRACERECORD_ATTRID;
    switch (access_type_of(wanted)) {
    case IBMF_SAA_RETRIEVE:
        return retrieval_of(wanted, known);
    case IBMF_SAA_UPDATE:
        return {only_retrieved ? std::uint8_t{0} : std::uint8_t{SA_SUBN_ADM_SET}, known, known};
    case IBMF_SAA_DELETE:
        return {only_retrieved ? std::uint8_t{0} : std::uint8_t{SA_SUBN_ADM_DELETE}, known, known};
    default:
        return {};
    }
}

void pack_multipath_query(const void* wanted, wire_query& made) {
    const auto& record = *static_cast<const sa_multipath_record_t*>(wanted);
    const std::size_t count = std::size_t{record.SGIDCount} + record.DGIDCount;
    const auto* const gids = reinterpret_cast<const ib_gid_t*>(&record + 1);
    made.data.resize(layout_of(&record).wire_size + count * sizeof(ib_gid_t));
    pack_multipath(record, {gids, count}, made.data);
}

// The template of a known attribute is its whole host structure; sq_template_length is ignored.
int pack_template(const ibmf_saa_access_args_t& wanted, const record_type* type, wire_query& made) {
    if (type == nullptr) {
        const std::size_t size = wanted.sq_template_length;
        if (size == 0 || size > wire_query::datagram_data) return IBMF_REQ_INVALID;
        const auto* const bytes = static_cast<const std::uint8_t*>(wanted.sq_template);
        made.data.assign(bytes, bytes + size);
    } else if (made.method == SA_SUBN_ADM_GET_MULTI) {
        pack_multipath_query(wanted.sq_template, made);
    } else {
        made.data.resize(type->wire_size);
        pack(*type, wanted.sq_template, made.data);
    }
    return IBMF_SUCCESS;
}

std::optional<path_key> path_of(const ibmf_saa_access_args_t& wanted, const wire_query& made) {
    const bool of_paths =
        made.attribute == SA_PATHRECORD_ATTRID && made.retrieves() && made.sm_key == 0;
    if (!of_paths) return std::nullopt;
    return path_key::of(*static_cast<const sa_path_record_t*>(wanted.sq_template),
                        wanted.sq_component_mask);
}

} // namespace

bool wire_query::retrieves() const {
    return method != SA_SUBN_ADM_SET && method != SA_SUBN_ADM_DELETE;
}

std::size_t wire_query::hash() const {
    const std::string_view bytes(reinterpret_cast<const char*>(data.data()), data.size());
    return std::hash<std::string_view>()(bytes) ^ std::hash<std::uint64_t>()(components) ^
           std::size_t{attribute} << 8 ^ method;
}

int compose(const ibmf_saa_access_args_t& wanted, wire_query& made) {
    const sa_method how = sa_method_of(wanted);
    if (how.method == 0) return IBMF_REQ_INVALID;
    made.method = how.method;
    made.attribute = wanted.sq_attr_id;
    made.components = wanted.sq_component_mask;
    made.response_type = how.response_type;
    made.path = path_of(wanted, made);
    try {
        return pack_template(wanted, how.request_type, made);
    } catch (const std::bad_alloc&) {
        return IBMF_NO_MEMORY;
    }
}

} // namespace irpverbs::saa
