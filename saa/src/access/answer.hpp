// What the SA answered: the status for the client, and the records.
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

/// Of a transaction that has ended. Every byte of it is checked.
answer read_answer(const question& asked, const ibmf_msg_t& message);

/// What the headers of an answer say: of how it is to be read. An IBMF_ status.
struct answer_form {
    bool many = false;
    std::uint16_t stride_words = 0; // AttributeOffset
};
inline constexpr std::size_t answer_headers = ibmf::mad_header::size + ibmf::sa_header::size;
int read_headers(const question& asked, std::span<const std::uint8_t, answer_headers> headers,
                 answer_form& form);

/// A table, or what came of one: whole records.
answer read_table(const record_type& type, std::uint16_t stride_words,
                  std::span<const std::uint8_t> data);

/// A copy for one more who waits; its status is IBMF_NO_MEMORY when there is none.
answer copy_of(const answer& other);

/// What the seed calls a status of the header: IBMF_SUCCESS for 0.
int status_of_header(std::uint16_t status);

} // namespace irpverbs::saa
