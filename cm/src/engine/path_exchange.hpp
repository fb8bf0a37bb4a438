// The exchange of an alternate path: LAP and APR.
#pragma once

#include "outgoing.hpp"
#include "paths.hpp"

namespace irpverbs::cm::engine {

/// An alternate path from this end.
struct alternate_path {
    sa_path_record_t path{};
    path_location location;
    std::uint8_t ack_timeout = 0;

    bool exists() const { return path.DLID != 0; }
};

/// The last exchange of a connection, which duplicates of its messages belong to.
struct path_exchange {
    alternate_path alternate;
    lap_message request;
    apr_message response;  // that this end is to send
    datagram last{};       // that this end has sent
    bool is_peers = false; // the peer has sent the request
};

} // namespace irpverbs::cm::engine
