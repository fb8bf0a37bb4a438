// Messages that a program reads from its device.
#include "kernel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <sys/eventfd.h>

namespace shim {

void kernel::deliver(agent& to, const packet* from, std::uint32_t status,
                     std::span<const std::uint8_t> content) {
    message made;
    made.header.id = to.id;
    made.header.status = status;
    made.header.length = static_cast<std::uint32_t>(header_size + content.size());
    if (from != nullptr) {
        made.header.qpn = from->sqp;
        made.header.lid = static_cast<__be16>(from->slid);
    }
    made.content.assign(content.begin(), content.end());
    to.file.inbox.push_back(std::move(made));
    // Raised for each message, so that an edge-triggered epoll wakes for each, as with the kernel.
    raise_event(to.file.descriptor);
}

// Called without the lock, since writing the file passes through the intercepted calls, too.
void kernel::keep(const message& what) const {
    if (options_.received.empty() || what.content.size() <= mad_size) return;
    std::ofstream file(options_.received, std::ios::binary);
    std::ranges::copy(what.content, std::ostreambuf_iterator<char>(file));
}

ssize_t kernel::read_message(int descriptor, void* into, std::size_t size) {
    for (;;) {
        message taken;
        {
            const std::lock_guard guard(lock_);
            user_file& file = *file_of(descriptor);
            if (!file.inbox.empty()) {
                message& next = file.inbox.front();
                const std::size_t need = header_size + next.content.size();
                const std::size_t least = header_size + std::min(next.content.size(), mad_size);
                if (size < least) {
                    errno = EINVAL;
                    return -1;
                }
                std::memcpy(into, &next.header, header_size);
                std::memcpy(static_cast<char*>(into) + header_size, next.content.data(),
                            std::min(size, need) - header_size);
                if (size < need) { // the caller learns the size and reads again
                    errno = ENOSPC;
                    return -1;
                }
                taken = std::move(next);
                file.inbox.pop_front();
                eventfd_t count = 0;
                if (file.inbox.empty()) eventfd_read(descriptor, &count);
            } else if (link_.gone()) {
                errno = EIO;
                return -1;
            }
        }
        if (!taken.content.empty()) {
            keep(taken);
            return static_cast<ssize_t>(header_size + taken.content.size());
        }
        if ((fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0) {
            errno = EAGAIN;
            return -1;
        }
        pollfd event{descriptor, POLLIN, 0};
        if (poll(&event, 1, -1) < 0) return -1;
    }
}

} // namespace shim
