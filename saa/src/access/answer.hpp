// What the SA answered: the status for the client, and the records.
#pragma once

#include <access/question.hpp>
#include <ibmf/ibmf_msg.h>
#include <saa/detail/requests.hpp>

namespace irpverbs::saa {

struct answer {
    int status = IBMF_SUCCESS;
    detail::record_block records;
};

/// Of a transaction that has ended. Every byte of it is checked.
answer read_answer(const question& asked, const ibmf_msg_t& message);

/// A copy for one more who waits; its status is IBMF_NO_MEMORY when there is none.
answer copy_of(const answer& other);

/// What the seed calls a status of the header: IBMF_SUCCESS for 0.
int status_of_header(std::uint16_t status);

} // namespace irpverbs::saa
