// The claim of an id to a port number, which other processes on the HCAs of a daemon respect.
#pragma once

#include "addresses.hpp"

#include <string>
#include <vector>

namespace irpverbs::rdmacm {

/// A set of numbers with addresses. Each port of an HCA has its own.
struct claimed_numbers {
    int space = 0; // rdma_port_space
    std::uint16_t number = 0;
    std::vector<ib_gid_t> ports;        // the first GID of each
    std::optional<ip_endpoint> address; // none: all of a port
    bool is_of_one_family = false;      // without an address: only those of `family`
    sa_family_t family = AF_INET;
};

/// Locks of a file (F_OFD_SETLK): a range of its offsets for the numbers of a port. They end at the
/// latest with the process and the children that it has forked, which have the file open, too, as
/// those of a program on the kernel's device have its ids. Threads: one at a time.
class port_claim {
public:
    port_claim() = default;
    ~port_claim() { end(); }
    port_claim(const port_claim&) = delete;
    port_claim& operator=(const port_claim&) = delete;

    /// Claims numbers, in place of those before, by a file, which is created if it is not there.
    /// `shared`: others may have them, too, if they share them. Without access to the file there is
    /// no claim, and no error. Returns an errno value: EADDRINUSE, if another process has the
    /// address; EADDRNOTAVAIL, if one of the two has all addresses.
    int begin(const std::string& file, const claimed_numbers& numbers, bool shared);
    /// Claims that no other shares them any more. Returns the same; the claim is then as before.
    int make_exclusive();
    /// No effect without a claim.
    void end();

private:
    struct range {
        std::int64_t begin;
        std::int64_t size;
    };

    void choose_ranges(const claimed_numbers& numbers);
    int lock(bool shared) const;
    int explain(const range& wanted, short type) const;

    int file_ = -1;
    std::vector<range> ranges_;
};

} // namespace irpverbs::rdmacm
