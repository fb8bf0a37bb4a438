// The result of a query: the client's status, and the records.
#pragma once

#include <access/question.hpp>
#include <ibmf/ibmf_msg.h>
#include <ibmf/mad.hpp>
#include <saa/detail/requests.hpp>

#include <span>

namespace irpverbs::saa {

struct answer {
    int status = IBMF_SUCCESS;
    detail::record_block records;
};

/// Reads the response of a completed transaction, and checks every byte of it.
answer read_answer(const question& asked, const ibmf_msg_t& message);

/// The format of a response, which its headers define. read_headers returns an IBMF_ status.
struct answer_form {
    bool many = false;
    std::uint16_t stride_words = 0; // AttributeOffset
};
inline constexpr std::size_t answer_headers = ibmf::mad_header::size + ibmf::sa_header::size;
int read_headers(const question& asked, std::span<const std::uint8_t, answer_headers> headers,
                 answer_form& form);

/// Reads the whole records of a table, or of the received part of a table.
answer read_table(const record_type& type, std::uint16_t stride_words,
                  std::span<const std::uint8_t> data);

/// Returns a copy for a further access. Its status is IBMF_NO_MEMORY when the allocation fails.
answer copy_of(const answer& other);

/// Maps a status of the header to the seed's IBMF_ status: IBMF_SUCCESS for 0.
int status_of_header(std::uint16_t status);

} // namespace irpverbs::saa
