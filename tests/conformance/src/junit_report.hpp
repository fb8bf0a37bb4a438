// The file that --junit names.
#pragma once

#include <string>

namespace irpverbs::conformance {

/// GoogleTest, which does not look whether it could write, writes to memory; the file is opened at
/// the beginning and written at the end, here.
class junit_report {
public:
    /// An empty path: none is wanted. Throws std::system_error.
    explicit junit_report(const std::string& path);
    ~junit_report();
    junit_report(const junit_report&) = delete;
    junit_report& operator=(const junit_report&) = delete;

    /// For GoogleTest's flag of that name; empty: none is wanted.
    std::string output() const;
    /// Once GoogleTest is done. Throws std::system_error.
    void write();

private:
    std::string path_;
    int file_ = -1;
    int memory_ = -1;
};

} // namespace irpverbs::conformance
