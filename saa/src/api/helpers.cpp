#include <api/access.hpp>

#include <saa/queries.hpp>

#include <algorithm>
#include <cstring>

using namespace irpverbs::saa;

namespace {

/// An access with a template whose results are records of the template's type.
template <class Host>
struct typed_access {
    detail::access_request request;

    int run(ibmf_saa_handle_t handle, std::uint16_t attribute, ibmf_saa_access_type_t type,
            query_template<Host>& wanted, uint_t flags) {
        const ibmf_saa_access_args_t args{attribute, type,   wanted.components, &wanted.record, 0,
                                          nullptr,   nullptr};
        return access_and_wait(request, handle, args, flags);
    }
    std::span<Host> records() {
        return {static_cast<Host*>(request.records.bytes.get()),
                request.records.length / sizeof(Host)};
    }
    /// Passes the first `count` records to the caller.
    template <class Count>
    void hand_over(std::size_t count, Count& count_out, size_t& length, Host*& result) {
        count_out = static_cast<Count>(count);
        length = count * sizeof(Host);
        result = static_cast<Host*>(request.records.bytes.release());
    }
};

// A C caller may pass a number outside the enumeration, which must not be loaded as an enumerator.
template <class Enumeration>
int number_in(const Enumeration& from) {
    int number = 0;
    static_assert(sizeof number == sizeof from);
    std::memcpy(&number, &from, sizeof number);
    return number;
}

bool known_mtu(ib_mtu_t mtu) { return mtu <= IB_MTU_4096; }

int find_services(ibmf_saa_handle_t handle, query_template<sa_service_record_t> wanted,
                  uint_t flags, uint_t& num_records, size_t& length, sa_service_record_t*& result) {
    typed_access<sa_service_record_t> access;
    const int status =
        access.run(handle, SA_SERVICERECORD_ATTRID, IBMF_SAA_RETRIEVE, wanted, flags);
    access.hand_over(access.records().size(), num_records, length, result);
    return status;
}

} // namespace

extern "C" {

int ibmf_saa_gid_to_pathrecords(ibmf_saa_handle_t ibmf_saa_handle, ib_gid_t sgid, ib_gid_t dgid,
                                ib_pkey_t p_key, ib_mtu_t mtu, boolean_t reversible,
                                uint8_t* num_paths, uint_t flags, size_t* length,
                                sa_path_record_t** result) {
    if (num_paths == nullptr || length == nullptr || result == nullptr) return IBMF_INVALID_ARG;
    const uint8_t most = *num_paths;
    if (most == 0 || !known_mtu(mtu)) return IBMF_INVALID_ARG;
    auto wanted = path_template({sgid, dgid, p_key, mtu, number_in(reversible) != B_FALSE, most});
    wanted.record.SGID = sgid;
    wanted.record.DGID = dgid;
    wanted.components |= SA_PR_COMPMASK_SGID | SA_PR_COMPMASK_DGID;
    typed_access<sa_path_record_t> access;
    const int status =
        access.run(ibmf_saa_handle, SA_PATHRECORD_ATTRID, IBMF_SAA_RETRIEVE, wanted, flags);
    const std::size_t count = std::min<std::size_t>(access.records().size(), most);
    access.hand_over(count, *num_paths, *length, *result);
    return status;
}

int ibmf_saa_paths_from_gid(ibmf_saa_handle_t ibmf_saa_handle, ib_gid_t sgid, ib_pkey_t pkey,
                            boolean_t reversible, uint_t flags, uint_t* num_paths, size_t* length,
                            sa_path_record_t** result) {
    if (num_paths == nullptr || length == nullptr || result == nullptr) return IBMF_INVALID_ARG;
    auto wanted =
        path_template({sgid, {}, pkey, IBMF_SAA_MTU_WC, number_in(reversible) != B_FALSE, 1});
    wanted.record.SGID = sgid;
    wanted.components |= SA_PR_COMPMASK_SGID;
    typed_access<sa_path_record_t> access;
    const int status =
        access.run(ibmf_saa_handle, SA_PATHRECORD_ATTRID, IBMF_SAA_RETRIEVE, wanted, flags);
    access.hand_over(one_path_per_port(access.records()), *num_paths, *length, *result);
    return status;
}

int ibmf_saa_name_to_service_record(ibmf_saa_handle_t ibmf_saa_handle, char* service_name,
                                    ib_pkey_t p_key, uint_t flags, uint_t* num_records,
                                    size_t* length, sa_service_record_t** result) {
    if (service_name == nullptr || num_records == nullptr || length == nullptr || result == nullptr)
        return IBMF_INVALID_ARG;
    const std::size_t size = strnlen(service_name, IB_SVC_NAME_LEN);
    if (size == IB_SVC_NAME_LEN) return IBMF_REQ_INVALID;
    return find_services(ibmf_saa_handle, service_by_name({service_name, size}, p_key), flags,
                         *num_records, *length, *result);
}

int ibmf_saa_id_to_service_record(ibmf_saa_handle_t ibmf_saa_handle, ib_svc_id_t service_id,
                                  ib_pkey_t p_key, uint_t flags, uint_t* num_records,
                                  size_t* length, sa_service_record_t** result) {
    if (num_records == nullptr || length == nullptr || result == nullptr) return IBMF_INVALID_ARG;
    return find_services(ibmf_saa_handle, service_by_id(service_id, p_key), flags, *num_records,
                         *length, *result);
}

int ibmf_saa_update_service_record(ibmf_saa_handle_t ibmf_saa_handle,
                                   sa_service_record_t* service_record,
                                   ibmf_saa_access_type_t access_type, uint_t flags) {
    if (service_record == nullptr) return IBMF_INVALID_ARG;
    const int type = number_in(access_type);
    if (type != IBMF_SAA_UPDATE && type != IBMF_SAA_DELETE) return IBMF_REQ_INVALID;
    auto wanted = access_type == IBMF_SAA_UPDATE ? service_registration(*service_record)
                                                 : service_deregistration(*service_record);
    typed_access<sa_service_record_t> access;
    return access.run(ibmf_saa_handle, SA_SERVICERECORD_ATTRID, access_type, wanted, flags);
}

} // extern "C"
