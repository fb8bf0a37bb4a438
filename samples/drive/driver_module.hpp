// A driver in a shared object.
#pragma once

#include <irp/device.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace drive {

/// The shared object's functions find the library in this program, which exports it.
class driver_module {
public:
    /// Throws std::runtime_error if it can't be loaded or has no DriverEntry.
    explicit driver_module(const std::string& path);
    ~driver_module();
    driver_module(const driver_module&) = delete;
    driver_module& operator=(const driver_module&) = delete;

    PDRIVER_INITIALIZE entry() const { return entry_; }

    /// Gives its variables the values that they had when it was loaded, since a run must not see
    /// what another left.
    void reset_variables();

    /// Reports what is active of a driver that was unloaded: on Windows its code and variables are
    /// gone by then.
    void check_unloaded() const;

private:
    struct variables {
        char* memory;
        std::vector<char> contents;
    };

    void* handle_;
    PDRIVER_INITIALIZE entry_;
    std::vector<variables> saved_;
    std::vector<std::span<const char>> image_; // its segments
};

} // namespace drive
