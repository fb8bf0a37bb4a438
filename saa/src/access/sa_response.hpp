// The result of a query: the client's status, and the records.
#pragma once

#include <access/wire_query.hpp>
#include <ibmf/ibmf_msg.h>
#include <ibmf/mad.hpp>
#include <saa/support/requests.hpp>

#include <span>

namespace irpverbs::saa {

struct sa_response {
    int status = IBMF_SUCCESS;
    detail::record_block records;
};

/// Reads the response of a completed transaction, and checks every byte of it.
sa_response read_response(const wire_query& request, const ibmf_msg_t& message);

/// The format of a response, which its headers define. read_headers returns an IBMF_ status.
struct response_format {
    bool many = false;
    std::uint16_t stride_words = 0; // AttributeOffset
};
inline constexpr std::size_t response_headers_size = ibmf::mad_header::size + ibmf::sa_header::size;
int read_headers(const wire_query& request,
                 std::span<const std::uint8_t, response_headers_size> headers,
                 response_format& form);

/// Reads the whole records of a table, or of the received part of a table.
sa_response read_table(const record_type& type, std::uint16_t stride_words,
                       std::span<const std::uint8_t> data);

/// Returns a copy for a further access. Its status is IBMF_NO_MEMORY when the allocation fails.
sa_response copy_of(const sa_response& other);

/// Maps a status of the header to the seed's IBMF_ status: IBMF_SUCCESS for 0.
int status_of_header(std::uint16_t status);

} // namespace irpverbs::saa
