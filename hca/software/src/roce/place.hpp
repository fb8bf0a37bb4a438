// The text behind "roce:" in a URI.
#pragma once

#include <ci/ib_types.h>

#include <optional>
#include <string>
#include <vector>

namespace irpverbs::hca_software::roce {

/// The part of an interface that an HCA uses.
enum class form {
    bound, // a UDP socket for each of its addresses
    raw,   // raw sockets, beside a program that has the port
    tap    // the other end of a TAP device
};

struct place {
    std::string name; // of an interface, or an address
    form how = form::bound;
    std::vector<ib_gid_t> addresses; // of the HCA; only for a TAP device
    bool checked = false;            // see fabric::check_memory
};

/// Parses NAME, NAME?raw, NAME?tap or NAME?tap=ADDRESS,..., and ?checked behind it. None: `problem`
/// says what was expected.
std::optional<place> parse_place(const std::string& text, std::string& problem);

} // namespace irpverbs::hca_software::roce
