#include "packet_descriptor.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace irpverbs::hca_software::roce {

packet_descriptor::~packet_descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
}

int packet_descriptor::write(const_bytes headers, const_bytes payload) const {
    const iovec parts[] = {{const_cast<UCHAR*>(headers.data()), headers.size()},
                           {const_cast<UCHAR*>(payload.data()), payload.size()}};
    return writev(descriptor_, parts, 2) >= 0 ? 0 : errno;
}

std::optional<std::size_t> packet_descriptor::read(std::span<UCHAR> to) const {
    const ssize_t size = ::read(descriptor_, to.data(), to.size());
    if (size > 0) return static_cast<std::size_t>(size);
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) return std::nullopt;
    return 0;
}

} // namespace irpverbs::hca_software::roce
