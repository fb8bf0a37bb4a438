// A daemon inside the test's process: a machine of its own with the software HCA, and a socket.
#pragma once

#include <ci/ual.h>
#include <dispatch/machine.hpp>
#include <hca/hca.h>
#include <hca/software.h>

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <functional>
#include <stdlib.h>
#include <string>

namespace irpverbs::testing {

/// A directory of mode 0700, removed at the end.
class private_directory {
public:
    private_directory() {
        std::array<char, 32> name{"/tmp/irpverbs-test-XXXXXX"};
        path_ = mkdtemp(name.data());
    }
    ~private_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    private_directory(const private_directory&) = delete;
    private_directory& operator=(const private_directory&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

/// Waits until the condition holds; false after so many milliseconds of machine time.
inline bool await(const std::function<bool()>& condition, int milliseconds = 60'000) {
    LARGE_INTEGER interval;
    interval.QuadPart = -10'000; // 1 ms
    for (int tries = 0; tries < milliseconds; ++tries) {
        if (condition()) return true;
        KeDelayExecutionThread(KernelMode, FALSE, &interval);
    }
    return false;
}

class test_daemon {
public:
    explicit test_daemon(const UAL_OPTIONS* options = nullptr)
        : socket_(directory_.file("socket")) {
        run([&] {
            EXPECT_EQ(HcaAttach("software:", nullptr), STATUS_SUCCESS);
            std::array<char, 256> message{};
            EXPECT_EQ(UalListen(socket_.c_str(), options, &ual_, message.data(), message.size()),
                      STATUS_SUCCESS)
                << message.data();
        });
    }
    ~test_daemon() {
        stop();
        run([&] { EXPECT_EQ(HcaDetach("software:"), STATUS_SUCCESS); });
    }
    test_daemon(const test_daemon&) = delete;
    test_daemon& operator=(const test_daemon&) = delete;

    /// Runs a function on the daemon's machine.
    void run(const std::function<void()>& body) {
        const dispatch::machine::scope inside(machine_);
        body();
    }
    /// Ends the service; the HCAs remain.
    void stop() {
        if (ual_ == nullptr) return;
        run([&] { UalClose(ual_); });
        ual_ = nullptr;
    }
    UAL_COUNTERS counters() {
        UAL_COUNTERS now{};
        run([&] { UalGetCounters(ual_, &now); });
        return now;
    }
    /// True when nothing of any client is left.
    bool becomes_idle() {
        bool idle = false;
        run([&] {
            idle = await([&] {
                UAL_COUNTERS now{};
                UalGetCounters(ual_, &now);
                return now.Connections + now.Objects + now.Requests + now.Waits == 0;
            });
        });
        return idle;
    }
    const std::string& socket() const { return socket_; }
    std::string uri() const { return "user:" + socket_; }

private:
    private_directory directory_;
    std::string socket_;
    dispatch::asio_machine machine_{{.processors = 1}};
    UAL* ual_ = nullptr;
};

} // namespace irpverbs::testing
