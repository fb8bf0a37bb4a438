// A program of the guest on the kernel's end.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdio>
#include <string>
#include <utility>

namespace irpverbs::testing {

/// A program that succeeds; its end is awaited by the destructor at the latest.
class kernel_program {
public:
    explicit kernel_program(const std::string& command)
        : command_(command), output_(popen((command + " 2>&1").c_str(), "r")) {}
    ~kernel_program() { expect_success(); }
    kernel_program(const kernel_program&) = delete;
    kernel_program& operator=(const kernel_program&) = delete;

    void expect_success() {
        if (output_ == nullptr) return;
        std::string text;
        const int status = wait(text);
        EXPECT_TRUE(status == 0 || has_closed_its_channel_early(status, text))
            << command_ << ": " << status << '\n'
            << text;
        EXPECT_EQ(text.find("invalid"), std::string::npos) << text;
    }
    /// The exit status.
    int wait(std::string& output) {
        for (int each = std::getc(output_); each != EOF; each = std::getc(output_))
            output += static_cast<char>(each);
        return pclose(std::exchange(output_, nullptr));
    }

private:
    /// rping's thread may ask for an event when its main thread, which has ended well, has closed
    /// the channel: its status is 255 then.
    static bool has_closed_its_channel_early(int status, const std::string& output) {
        return WIFEXITED(status) && WEXITSTATUS(status) == 255 &&
               output.find("rdma_get_cm_event: Bad file descriptor") != std::string::npos;
    }

    std::string command_;
    std::FILE* output_;
};

} // namespace irpverbs::testing
