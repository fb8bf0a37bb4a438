#include "port_claim.hpp"

#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstring>
#include <endian.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace irpverbs::rdmacm {

namespace {

// The bits of an offset, from the lowest: address, family, port, number, space.
constexpr unsigned address_bits = 22;
constexpr unsigned port_bits = 20;
constexpr unsigned number_bits = 16;

std::uint64_t fold(std::uint64_t value, unsigned bits) {
    std::uint64_t folded = 0;
    for (; value != 0; value >>= bits)
        folded ^= value & ((std::uint64_t{1} << bits) - 1);
    return folded;
}

std::uint64_t code_of(int space) {
    switch (space) {
    case RDMA_PS_TCP:
        return 0;
    case RDMA_PS_UDP:
        return 1;
    case RDMA_PS_IPOIB:
        return 2;
    default:
        return 3;
    }
}

std::uint64_t code_of(const ip_endpoint& address) {
    std::uint64_t halves[2];
    std::memcpy(halves, address.bytes.data(), sizeof(halves));
    return fold(be64toh(halves[0]), address_bits) ^ fold(be64toh(halves[1]), address_bits);
}

// The file is for all users of the daemon, whose folder says who they are.
int open_file(const std::string& path) {
    const int made = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat its {};
    if (made >= 0 && fstat(made, &its) == 0 && its.st_uid == geteuid()) fchmod(made, 0666);
    return made;
}

struct flock lock_of(short type, std::int64_t begin, std::int64_t size) {
    struct flock made {};
    made.l_type = type;
    made.l_whence = SEEK_SET;
    made.l_start = begin;
    made.l_len = size;
    return made;
}

} // namespace

void port_claim::choose_ranges(const claimed_numbers& numbers) {
    constexpr std::int64_t of_family = std::int64_t{1} << address_bits;
    const std::uint64_t space_and_number = code_of(numbers.space) << number_bits | numbers.number;
    for (const ib_gid_t& each : numbers.ports) {
        const std::uint64_t port = space_and_number << port_bits | fold(each.gid_guid, port_bits);
        const auto begin = static_cast<std::int64_t>(port << (address_bits + 1));
        const sa_family_t family = numbers.address ? numbers.address->family : numbers.family;
        const std::int64_t half = family == AF_INET6 ? begin + of_family : begin;
        if (numbers.address)
            ranges_.push_back({half + static_cast<std::int64_t>(code_of(*numbers.address)), 1});
        else if (numbers.is_of_one_family)
            ranges_.push_back({half, of_family});
        else
            ranges_.push_back({begin, 2 * of_family});
    }
}

int port_claim::begin(const std::string& file, const claimed_numbers& numbers, bool shared) {
    end();
    file_ = open_file(file);
    if (file_ < 0) return 0;
    choose_ranges(numbers);
    const int error = lock(shared);
    if (error != 0) end();
    return error;
}

int port_claim::lock(bool shared) const {
    if (file_ < 0) return 0;
    const short type = shared ? F_RDLCK : F_WRLCK;
    for (const range& each : ranges_) {
        struct flock wanted = lock_of(type, each.begin, each.size);
        if (fcntl(file_, F_OFD_SETLK, &wanted) == 0) continue;
        return errno == EAGAIN || errno == EACCES ? explain(each, type) : 0;
    }
    return 0;
}

int port_claim::make_exclusive() {
    const int error = lock(false);
    if (error != 0) lock(true); // ranges in front of the one that another has
    return error;
}

int port_claim::explain(const range& wanted, short type) const {
    struct flock found = lock_of(type, wanted.begin, wanted.size);
    const bool is_known = fcntl(file_, F_OFD_GETLK, &found) == 0 && found.l_type != F_UNLCK;
    return wanted.size == 1 && (!is_known || found.l_len == 1) ? EADDRINUSE : EADDRNOTAVAIL;
}

// A child of a fork may have the file open, and would keep the locks.
void port_claim::end() {
    for (const range& each : ranges_) {
        struct flock none = lock_of(F_UNLCK, each.begin, each.size);
        fcntl(file_, F_OFD_SETLK, &none);
    }
    if (file_ >= 0) close(file_);
    file_ = -1;
    ranges_.clear();
}

} // namespace irpverbs::rdmacm
