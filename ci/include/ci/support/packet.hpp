// Several messages that cross in one packet of the socket: one system call, and one wake at most.
#ifndef IRPVERBS_CI_SUPPORT_PACKET_HPP
#define IRPVERBS_CI_SUPPORT_PACKET_HPP

#include <ci/support/crossing.hpp>

#include <boost/container/static_vector.hpp>

namespace irpverbs::ci::crossing {

/// Messages that are to be sent together, in the order in which they were added.
class packet {
public:
    packet() = default;
    packet(const packet&) = delete;
    packet& operator=(const packet&) = delete;

    /// The message begins with its wire::header, and stays until the packet was sent or cleared.
    /// False: there is no room, and the message was not added.
    bool add(parts& added);
    std::span<iovec> list() { return {list_.data(), list_.size()}; }
    /// Each message stands alone again.
    void clear();

private:
    static wire::header& header_of(parts& of);

    static constexpr std::size_t most_messages = 16;

    boost::container::static_vector<parts*, most_messages> messages_;
    boost::container::static_vector<iovec, most_messages * parts::most> list_;
    std::size_t size_ = 0;
};

/// Removes the first message of a packet that was received. Empty: the packet is not well-formed.
message take_first(message& packet);

} // namespace irpverbs::ci::crossing

#endif
