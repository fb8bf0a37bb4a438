#include "issm.hpp"

#include <dispatch/descriptor_watch.hpp>
#include <dispatch/ke.h>
#include <dispatch/machine.hpp>
#include <dispatch/support/spin_lock.hpp>
#include <drop_in/open_hca.hpp>
#include <drop_in/verb_call.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace irpverbs::umad {

namespace {

int checked(int descriptor) {
    if (descriptor < 0) throw std::system_error(errno, std::generic_category());
    return descriptor;
}

/// A file without a name in any folder, and the watch of its opening and closing. It lives as long
/// as the process.
class issm_file {
public:
    explicit issm_file(const port_choice& of)
        : hca_(*of.device), port_(static_cast<UCHAR>(of.port)),
          file_(checked(memfd_create("issm", MFD_CLOEXEC))),
          events_(checked(inotify_init1(IN_CLOEXEC | IN_NONBLOCK))) {
        ExInitializeWorkItem(&item_, set_capability, this);
        checked(inotify_add_watch(events_, path().c_str(), IN_OPEN | IN_CLOSE));
        watch_ = dispatch::watch_readable(dispatch::machine::current(), events_, read_events, this);
    }

    ~issm_file() {
        watch_.reset();
        close(events_);
        close(file_);
    }
    issm_file(const issm_file&) = delete;
    issm_file& operator=(const issm_file&) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

private:
    static bool read_events(void* context) {
        auto& self = *static_cast<issm_file*>(context);
        alignas(inotify_event) std::array<char, 4096> part;
        const ssize_t size = read(self.events_, part.data(), part.size());
        for (ssize_t at = 0; at < size;) {
            inotify_event event;
            std::memcpy(&event, part.data() + at, sizeof event);
            at += static_cast<ssize_t>(sizeof event + event.len);
            self.count((event.mask & IN_OPEN) != 0 ? 1 : -1);
        }
        return true;
    }

    void count(int change) {
        const dispatch::detail::spin_guard guard(lock_);
        opened_ += change;
        if (!std::exchange(queued_, true)) ExQueueWorkItem(&item_, DelayedWorkQueue);
    }

    bool begin_change() {
        const dispatch::detail::spin_guard guard(lock_);
        queued_ = false;
        return opened_ > 0;
    }

    static void set_capability(void* context) {
        auto& self = *static_cast<issm_file*>(context);
        const bool on = self.begin_change();
        IB_MODIFY_PORT change{};
        (on ? change.SetCapabilities : change.ClearCapabilities) = IB_PORT_CAP_IS_SM;
        drop_in::call_verb(self.hca_.fdo(), [&](IRP* irp) {
            CiModifyPort(self.hca_.ca(), self.port_, IB_MODIFY_PORT_CAPABILITIES, &change, irp);
        });
    }

    drop_in::open_hca hca_;
    const UCHAR port_;
    const int file_;
    const int events_;
    WORK_QUEUE_ITEM item_;
    std::unique_ptr<dispatch::descriptor_watch> watch_;
    KSPIN_LOCK lock_ = 0; // guards all below
    int opened_ = 0;
    bool queued_ = false;
};

struct issm_table {
    KSPIN_LOCK lock = 0; // guards `files`
    std::map<std::pair<const drop_in::device*, int>, std::unique_ptr<issm_file>> files;
};

issm_table& known_files() {
    static issm_table* const only = new issm_table;
    return *only;
}

} // namespace

std::string issm_path(const port_choice& of) {
    issm_table& all = known_files();
    auto fresh = std::make_unique<issm_file>(of);
    const dispatch::detail::spin_guard guard(all.lock);
    const auto place = all.files.find({of.device, of.port});
    if (place != all.files.end()) return place->second->path();
    const std::string path = fresh->path();
    all.files.emplace(std::pair(of.device, of.port), std::move(fresh));
    return path;
}

} // namespace irpverbs::umad
