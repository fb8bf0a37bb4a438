// IBMF transactions, for requests of more than one datagram and for IBMF's statistics.
#pragma once

#include "mad_response.hpp"
#include "open_port.hpp"

#include <ibmf/ibmf_extras.h>

namespace irpctl {

/// Registers with IBMF, runs `use(handle)`, and unregisters after success and failure.
asio::awaitable<void> with_ibmf(const open_port& at, ibmf_client_type_t type, uint_t flags,
                                std::function<asio::awaitable<void>(ibmf_handle_t)> use);

/// Returns the response, or nullopt after Ctrl-C. Throws failure when there is no response.
asio::awaitable<std::optional<mad_response>> transact(ibmf_handle_t handle, const mad_request& what,
                                                      std::uint16_t lid, timeouts times);

} // namespace irpctl
