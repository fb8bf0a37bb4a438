// Helpers for tests of Asio coroutines and handlers, on either machine.
#pragma once

#include <dispatch/ke.h>
#include <dispatch/machine.hpp>
#include <dispatch/status.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <utility>

namespace irpverbs::testing {

/// An event that a handler sets and the test waits for.
class signal {
public:
    signal() { KeInitializeEvent(&event_, NotificationEvent, FALSE); }
    void set() { KeSetEvent(&event_, IO_NO_INCREMENT, FALSE); }
    void wait() { KeWaitForSingleObject(&event_, Executive, KernelMode, FALSE, nullptr); }
    bool is_set() { return KeReadStateEvent(&event_) != 0; }

private:
    KEVENT event_;
};

/// The result of an asynchronous call that completes with an error_code and perhaps a value;
/// handler() is its completion handler.
template <class Result>
class call_result {
public:
    auto handler() {
        return [this](boost::system::error_code error, Result result) {
            error_ = error;
            result_ = std::move(result);
            done_.set();
        };
    }
    bool done() { return done_.is_set(); }
    NTSTATUS status() {
        done_.wait();
        return dispatch::status_of(error_);
    }
    Result& result() {
        done_.wait();
        return result_;
    }

private:
    signal done_;
    boost::system::error_code error_;
    Result result_{};
};

template <>
class call_result<void> {
public:
    auto handler() {
        return [this](boost::system::error_code error) {
            error_ = error;
            done_.set();
        };
    }
    bool done() { return done_.is_set(); }
    NTSTATUS status() {
        done_.wait();
        return dispatch::status_of(error_);
    }

private:
    signal done_;
    boost::system::error_code error_;
};

/// Runs a coroutine on the machine's context until it ends; an exception from it fails the test.
template <class Coroutine>
void run_to_end(dispatch::machine& machine, Coroutine body) {
    signal done;
    boost::asio::co_spawn(machine.context(), std::move(body), [&](std::exception_ptr error) {
        EXPECT_FALSE(error);
        done.set();
    });
    done.wait();
}

} // namespace irpverbs::testing
