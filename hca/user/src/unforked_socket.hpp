// A socket that the children of fork(2) do not have. A daemon learns that a client has ended, or
// has begun another program, when the last descriptor of its socket is closed; a child that lived
// on would keep the client's objects alive, and could use none of them.
#pragma once

#include <ci/support/seq_socket.hpp>

#include <boost/intrusive/list.hpp>

#include <string>

namespace irpverbs::hca_user {

class unforked_socket : public boost::intrusive::list_base_hook<> {
public:
    unforked_socket() = default;
    ~unforked_socket();
    unforked_socket(const unforked_socket&) = delete;
    unforked_socket& operator=(const unforked_socket&) = delete;

    /// Connects it to the daemon at `path`. Returns 0, or an errno. In a child of fork its number
    /// is that of a socket whose peer is gone.
    int connect(const std::string& path);

    int get() const { return socket_.get(); }

private:
    ci::detail::unique_descriptor socket_;
};

} // namespace irpverbs::hca_user
