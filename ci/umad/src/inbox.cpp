#include "inbox.hpp"

#include "mad.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>

namespace irpverbs::umad {

void inbox::insert(std::uint32_t agent, std::uint32_t status, const ib_mad_addr_t& peer,
                   std::span<const std::uint8_t> content) {
    ib_user_mad_t header;
    std::memset(&header, 0, sizeof header);
    header.agent_id = agent;
    header.status = status;
    header.length = static_cast<std::uint32_t>(header_size + content.size());
    header.addr = peer;
    message made(header_size);
    std::memcpy(made.data(), &header, header_size);
    made.insert(made.end(), content.begin(), content.end());
    messages_.push_back(std::move(made));
    eventfd_write(descriptor_, 1);
}

void inbox::end() {
    has_ended_ = true;
    eventfd_write(descriptor_, 1);
}

int inbox::remove(std::size_t size, message& taken) {
    if (has_ended_) return EIO;
    if (messages_.empty()) return EAGAIN;
    message& first = messages_.front();
    const std::size_t least = std::min(first.size(), header_size + mad_size);
    if (size < least) return EINVAL;
    if (size < first.size()) {
        taken.assign(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(least));
        return ENOSPC;
    }
    taken = std::move(first);
    messages_.pop_front();
    eventfd_t one = 0;
    eventfd_read(descriptor_, &one);
    return 0;
}

} // namespace irpverbs::umad
