// The part of a URI behind "software:", which is a file and options: "lab.net?static?loss=0.01".
#pragma once

#include <hca/software.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace irpverbs::hca_software {

struct fabric_uri {
    std::string file; // empty: the built-in fabric
    bool configured = true;
    bool checked = false;         // see fabric::check_memory
    HCA_SOFTWARE_FAULTS faults{}; // of each cable

    bool has_faults() const {
        return (faults.LossOnceIn | faults.DuplicationOnceIn | faults.ReorderingOnceIn) != 0;
    }
};

/// "?loss=2: expected ...".
class uri_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Throws uri_error if an option is unknown or its value is wrong.
fabric_uri parse_fabric_uri(std::string_view text);

} // namespace irpverbs::hca_software
