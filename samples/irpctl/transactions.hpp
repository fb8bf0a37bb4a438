// Transactions of IBMF, for what takes more than a datagram, and for its statistics.
#pragma once

#include "answer.hpp"
#include "open_port.hpp"

#include <ibmf/ibmf_extras.h>

namespace irpctl {

/// Registers with IBMF, has `use(handle)` run, and unregisters, whatever came of that.
asio::awaitable<void> with_ibmf(const open_port& at, ibmf_client_type_t type, uint_t flags,
                                std::function<asio::awaitable<void>(ibmf_handle_t)> use);

/// nullopt: Ctrl-C. Throws failure when there is no answer.
asio::awaitable<std::optional<answer>> transact(ibmf_handle_t handle, const question& what,
                                                std::uint16_t lid, patience times);

} // namespace irpctl
