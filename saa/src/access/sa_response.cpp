#include <access/sa_response.hpp>

#include <dispatch/support/faults.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace irpverbs::saa {

namespace {

using bytes = std::span<const std::uint8_t>;

sa_response failed(int status) { return {status, {}}; }

sa_response with_room_for(std::size_t size) {
    sa_response made;
    made.records.bytes.reset(dispatch::detail::fault_point("saa.sa_response") ? nullptr
                                                                              : std::malloc(size));
    made.records.length = size;
    if (made.records.bytes == nullptr) return failed(IBMF_NO_MEMORY);
    return made;
}

std::uint8_t response_method_of(std::uint8_t request) {
    switch (request) {
    case SA_SUBN_ADM_SET:
        return SA_SUBN_ADM_GET_RESP;
    case SA_SUBN_ADM_GET_TRACE_TABLE:
        return SA_SUBN_ADM_GET_TABLE_RESP;
    default:
        return request | MAD_RESPONSE_BIT;
    }
}

// The response to a MultiPathRecord consists of PathRecords. Source: IBA o15-0.2.7.
std::uint16_t response_attribute_of(const wire_query& request) {
    return request.response_type != nullptr ? request.response_type->attribute_id
                                            : request.attribute;
}

bool has_many(std::uint8_t method) {
    return method == SA_SUBN_ADM_GET_TABLE_RESP || method == SA_SUBN_ADM_GET_MULTI_RESP;
}

sa_response raw(bytes data) {
    if (data.empty()) return failed(IBMF_NO_RECORDS);
    sa_response made = with_room_for(data.size());
    if (made.status == IBMF_SUCCESS)
        std::memcpy(made.records.bytes.get(), data.data(), data.size());
    return made;
}

sa_response one_record(const record_type& type, bytes data) {
    sa_response made = with_room_for(type.host_size);
    if (made.status == IBMF_SUCCESS && !unpack(type, data, made.records.bytes.get()))
        return failed(IBMF_TRANS_FAILURE);
    return made;
}

sa_response read(const wire_query& request, const ibmf_msg_bufs_t& parts) {
    const auto* const block = reinterpret_cast<const std::uint8_t*>(parts.im_bufs_mad_hdr);
    if (block == nullptr || parts.im_bufs_cl_hdr_len < ibmf::sa_header::size)
        return failed(IBMF_TRANS_FAILURE);
    std::array<std::uint8_t, response_headers_size> headers;
    std::copy_n(block, ibmf::mad_header::size, headers.begin());
    std::copy_n(static_cast<const std::uint8_t*>(parts.im_bufs_cl_hdr), ibmf::sa_header::size,
                headers.begin() + ibmf::mad_header::size);
    response_format form;
    if (const int status = read_headers(request, headers, form); status != IBMF_SUCCESS)
        return failed(status);
    const bytes data(static_cast<const std::uint8_t*>(parts.im_bufs_cl_data),
                     parts.im_bufs_cl_data_len);
    if (request.response_type == nullptr) return raw(data);
    return form.many ? read_table(*request.response_type, form.stride_words, data)
                     : one_record(*request.response_type, data);
}

} // namespace

int read_headers(const wire_query& request,
                 std::span<const std::uint8_t, response_headers_size> headers,
                 response_format& form) {
    const auto header = ibmf::load_mad_header(headers.first<ibmf::mad_header::size>());
    if (const int status = status_of_header(header.status); status != IBMF_SUCCESS) return status;
    if (header.attribute_id != response_attribute_of(request) ||
        header.method != response_method_of(request.method))
        return IBMF_TRANS_FAILURE;
    form = {has_many(header.method),
            ibmf::load_sa_header(headers.last<ibmf::sa_header::size>()).attribute_offset};
    return IBMF_SUCCESS;
}

sa_response read_table(const record_type& type, std::uint16_t stride_words, bytes data) {
    const auto records = record_table::parse(type, stride_words, data);
    if (!records || (records->size() == 0 && !data.empty())) return failed(IBMF_TRANS_FAILURE);
    if (records->size() == 0) return failed(IBMF_NO_RECORDS);
    sa_response made = with_room_for(records->size() * type.host_size);
    if (made.status != IBMF_SUCCESS) return made;
    auto* place = static_cast<std::uint8_t*>(made.records.bytes.get());
    for (std::size_t i = 0; i < records->size(); ++i, place += type.host_size)
        unpack(type, (*records)[i], place);
    return made;
}

int status_of_header(std::uint16_t status) {
    switch (status & SA_STATUS_ERROR_MASK) {
    case SA_STATUS_NO_ERROR:
        break;
    case SA_STATUS_ERR_NO_RESOURCES:
        return IBMF_NO_RESOURCES;
    case SA_STATUS_ERR_NO_RECORDS:
        return IBMF_NO_RECORDS;
    case SA_STATUS_ERR_TOO_MANY_RECORDS:
        return IBMF_TOO_MANY_RECORDS;
    case SA_STATUS_ERR_REQ_INVALID_GID:
        return IBMF_INVALID_GID;
    case SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS:
        return IBMF_INSUFF_COMPS;
    default:
        return IBMF_REQ_INVALID;
    }
    switch (status) {
    case 0:
        return IBMF_SUCCESS;
    case MAD_STATUS_UNSUPP_METHOD:
        return IBMF_UNSUPP_METHOD;
    case MAD_STATUS_UNSUPP_METHOD_ATTR:
        return IBMF_UNSUPP_METHOD_ATTR;
    case MAD_STATUS_INVALID_FIELD:
        return IBMF_INVALID_FIELD;
    default:
        return IBMF_REQ_INVALID;
    }
}

sa_response read_response(const wire_query& request, const ibmf_msg_t& message) {
    switch (message.im_msg_status) {
    case IBMF_SUCCESS:
        return read(request, message.im_msgbufs_recv);
    case IBMF_PARTIAL_TRANSFER:
        return failed(IBMF_NO_RESOURCES);
    case IBMF_TRANS_TIMEOUT:
    case IBMF_NO_MEMORY:
        return failed(message.im_msg_status);
    default:
        return failed(IBMF_TRANS_FAILURE);
    }
}

sa_response copy_of(const sa_response& other) {
    if (other.records.length == 0) return failed(other.status);
    sa_response made = with_room_for(other.records.length);
    if (made.status == IBMF_SUCCESS)
        std::memcpy(made.records.bytes.get(), other.records.bytes.get(), other.records.length);
    return made;
}

} // namespace irpverbs::saa
