#include <dispatch/descriptor_watch.hpp>
#include <dispatch/ke.h>
#include <dispatch/machine.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <exception>

namespace irpverbs::dispatch {

namespace {

namespace asio = boost::asio;

// The pending operation holds this object, which may outlive the watch. All members run on the
// strand.
class watched_descriptor : public std::enable_shared_from_this<watched_descriptor> {
public:
    watched_descriptor(asio::io_context& where, bool (*readable)(void*), void* context)
        : strand(asio::make_strand(where)), readable_(readable), context_(context),
          descriptor_(where) {}

    bool assign(int descriptor) {
        boost::system::error_code failed;
        descriptor_.assign(descriptor, failed);
        return !failed;
    }
    // Each wait makes Asio query the kernel again, so unread data is reported again.
    void wait() {
        descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                               asio::bind_executor(strand, [self = shared_from_this()](auto error) {
                                   if (!error) self->call();
                               }));
    }
    void stop() {
        if (!watching_) return;
        watching_ = false;
        static_cast<void>(descriptor_.release());
    }

    asio::strand<asio::io_context::executor_type> strand;

private:
    void call() {
        if (watching_ && readable_(context_) && watching_) wait();
    }

    bool (*readable_)(void*);
    void* context_;
    asio::posix::stream_descriptor descriptor_;
    bool watching_ = true;
};

class asio_watch final : public descriptor_watch {
public:
    explicit asio_watch(std::shared_ptr<watched_descriptor> what) : what_(std::move(what)) {}
    ~asio_watch() override {
        try {
            end();
        } catch (...) { // no memory: the descriptor can't be released, and no caller is left to
                        // receive an error
            std::terminate();
        }
    }

private:
    void end() {
        if (what_->strand.running_in_this_thread()) {
            what_->stop();
            return;
        }
        KEVENT stopped;
        KeInitializeEvent(&stopped, NotificationEvent, FALSE);
        asio::post(what_->strand, [this, &stopped] {
            what_->stop();
            KeSetEvent(&stopped, IO_NO_INCREMENT, FALSE);
        });
        KeWaitForSingleObject(&stopped, Executive, KernelMode, FALSE, nullptr);
    }

    std::shared_ptr<watched_descriptor> what_;
};

} // namespace

descriptor_watch::~descriptor_watch() = default;

std::unique_ptr<descriptor_watch> watch_readable(machine& on, int descriptor,
                                                 bool (*readable)(void* context), void* context) {
    if (on.simulated()) return nullptr;
    auto what = std::make_shared<watched_descriptor>(on.context(), readable, context);
    if (!what->assign(descriptor)) return nullptr;
    auto watch = std::make_unique<asio_watch>(what);
    what->wait();
    return watch;
}

} // namespace irpverbs::dispatch
