// The options of a lab for the shim.
#pragma once

#include <cstdint>
#include <string>

namespace shim {

/// Faults between ibsim and the port, from the environment: LAB_DROP, LAB_DUPLICATE, LAB_REORDER
/// (percent of the general-services datagrams received), LAB_DELAY (ms), LAB_SEED. LAB_BOUNCE=1
/// ends undeliverable requests at once; LAB_WINDOW is the RMPP window in segments; LAB_RESEND the
/// time (ms) until segments without an ACK are sent again; LAB_RECEIVED a file to which each
/// transfer that the program receives is written.
struct lab_options {
    unsigned drop = 0;
    unsigned duplicate = 0;
    unsigned reorder = 0;
    unsigned delay_ms = 0;
    unsigned seed = 1;
    bool bounce = false;
    std::uint32_t window = 64;
    unsigned resend_ms = 2000;
    std::string received;

    static lab_options from_environment();
};

} // namespace shim
