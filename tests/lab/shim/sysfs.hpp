// Copies of the sysfs files that libibumad reads, in a temporary folder.
#pragma once

#include "ibsim_link.hpp"

#include <string>

namespace shim {

class sysfs {
public:
    explicit sysfs(ibsim_link& link);
    ~sysfs();
    sysfs(const sysfs&) = delete;
    sysfs& operator=(const sysfs&) = delete;

    /// Writes the port's files again when the port has changed.
    void refresh();
    /// The path of the copy.
    std::string real_path(const std::string& path) const { return folder_ + path; }

private:
    void put(const std::string& path, const std::string& text) const;
    void write_device() const;
    void write_port() const;

    ibsim_link& link_;
    std::string folder_;
    attribute node_{};
    attribute pkeys_{};
    attribute port_{};
};

} // namespace shim
