// The descriptors that an asio_machine watches, and the one thread that calls their routines.
#pragma once

#include <dispatch/ke.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include <chrono>
#include <memory>

namespace irpverbs::dispatch {

/// A descriptor, and the routine that is called while it is readable.
struct watched {
    int descriptor;
    bool (*readable)(void* context);
    void* context;
};

/// One epoll descriptor holds all that are watched. The thread that serves waits for it; otherwise
/// the io_context does, through a second epoll descriptor, which is muted while a thread serves.
/// The pending wait of the io_context holds this object, and ends with it.
class watch_set : public std::enable_shared_from_this<watch_set> {
public:
    /// Null: there are no descriptors left.
    static std::shared_ptr<watch_set> make(boost::asio::io_context& where);
    watch_set(boost::asio::io_context& where, int all, int gate);
    ~watch_set();
    watch_set(const watch_set&) = delete;
    watch_set& operator=(const watch_set&) = delete;

    /// False: the descriptor is not open, or can't be watched.
    bool add(watched& one);
    /// Waits for the end of a call, unless it is made by this thread.
    void remove(watched& one);

    // As the functions of dispatch/descriptor_watch.hpp.
    int begin_serving();
    bool serve();
    void end_serving();
    void leave();

private:
    void wait();
    void on_readable();
    void mute(bool on);
    std::chrono::milliseconds delay();
    void look_later();
    void look_soon();
    bool look();
    void take_over();
    bool is_due();
    bool call_one();

    const int all_;
    const int gate_;
    boost::asio::strand<boost::asio::io_context::executor_type> strand_;
    boost::asio::posix::stream_descriptor at_gate_; // used on the strand, as the next
    boost::asio::steady_timer timer_;
    KSPIN_LOCK lock_ = 0;       // guards all below
    PKTHREAD server_ = nullptr; // the thread that serves
    PKTHREAD caller_ = nullptr; // the thread that makes a call
    watched* called_ = nullptr; // null: it has been removed
    bool muted_ = false;
    bool looks_ = false;                // the timer is set
    bool is_served_ = false;            // a thread has served since the last look
    bool was_due_ = false;              // at the last look, and no thread has served since
    std::chrono::milliseconds delay_{}; // until the next look
    KEVENT* awaits_end_ = nullptr;      // of the thread that has removed it
};

} // namespace irpverbs::dispatch
