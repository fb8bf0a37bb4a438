// The file of the option --junit.
#pragma once

#include <string>

namespace irpverbs::conformance {

/// GoogleTest does not check whether it could write, so it writes to memory. This class opens the
/// file at the beginning and writes it at the end.
class junit_report {
public:
    /// An empty path: no report. Throws std::system_error.
    explicit junit_report(const std::string& path);
    ~junit_report();
    junit_report(const junit_report&) = delete;
    junit_report& operator=(const junit_report&) = delete;

    /// The value of GoogleTest's flag --gtest_output; empty: no report.
    std::string output() const;
    /// Called after GoogleTest has ended. Throws std::system_error.
    void write();

private:
    std::string path_;
    int file_ = -1;
    int memory_ = -1;
};

} // namespace irpverbs::conformance
