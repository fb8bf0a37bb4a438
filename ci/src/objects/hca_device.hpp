// An HCA: the common half's part of its FDO.
#pragma once

#include "capture/traffic_observer.hpp"
#include "direct_poll.hpp"
#include "object.hpp"
#include "posts.hpp"
#include "verbs/request.hpp"

#include <boost/intrusive/list.hpp>

#include <memory>
#include <string>

namespace irpverbs::ci {

class address_space;

struct ca_object;
struct hca_device;

using device_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<struct device_tag>>;
using device_list = boost::intrusive::list<ca_object, boost::intrusive::base_hook<device_hook>,
                                           boost::intrusive::constant_time_size<false>>;

/// The frame of a call that begins a deferred end, and is a part of it. Pended waits complete in
/// it, and their completion routines are code of a client.
class deferred_end_frame : public boost::intrusive::list_base_hook<> {
public:
    explicit deferred_end_frame(hca_device& device);
    ~deferred_end_frame();
    deferred_end_frame(const deferred_end_frame&) = delete;
    deferred_end_frame& operator=(const deferred_end_frame&) = delete;

    bool is_of(PKTHREAD thread) const { return thread == thread_; }

private:
    hca_device& device_;
    const PKTHREAD thread_ = KeGetCurrentThread();
};

using deferred_end_list =
    boost::intrusive::list<deferred_end_frame, boost::intrusive::constant_time_size<false>>;

struct hca_device {
    hca_device(const HCA_DEVICE& its_description, DEVICE_OBJECT* its_fdo,
               std::shared_ptr<DRIVER_OBJECT> its_driver);

    HCA_OPERATIONS operations; // complete_operations has filled every member
    const HCA_DEVICE description;
    const std::string name;
    DEVICE_OBJECT* const fdo;
    const std::shared_ptr<DRIVER_OBJECT> driver; // the object that the FDO points at
    std::atomic<bool> failed{false};             // set under lock; read from anywhere
    traffic_observer_slot observer;

    KSPIN_LOCK lock = 0;         // shared with its CAs: one acquisition delivers an event to all
    device_list open;            // guarded by lock: CAs that receive events
    direct_poll_list polls;      // guarded by lock
    posts_list all_posts;        // guarded by lock
    LONG opens = 0;              // guarded by lock: open CAs, and opens under way
    LONG deferred_ends = 0;      // guarded by lock: see closing_handle
    KEVENT no_deferred_end;      // set while there is none
    deferred_end_list beginning; // guarded by lock
    bool refusing = false;       // guarded by lock

    /// Executes the verb where and when the driver decides.
    NTSTATUS submit(IRP* irp) const {
        const auto submit_operation = operations.Submit;
        return submit_operation != nullptr ? submit_operation(fdo, irp) : HcaExecute(irp);
    }
    /// MAD agents may have queue pairs of their own.
    bool agents_have_qps() const;
    /// True if the driver has XRC domains.
    bool has_xrc() const;

    /// The device as the parent of the CAs that are opened: see `object`.
    static bool try_reference() { return true; }
    static void dereference() {}
    NTSTATUS add_child();
    void remove_child();
    /// Waits for the deferred ends, and refuses opens from then on. Returns false without effect if
    /// the device is open, or a deferred end can't end before this function returns. IRQL:
    /// PASSIVE_LEVEL.
    bool refuse_opens();
    void allow_opens();
    /// The end of an object whose handle was destroyed, and of the objects that it alone kept open,
    /// is under way between the two calls.
    void begin_deferred_end();
    void end_deferred_end();
    /// Inserts the CA into the list of those that receive events. Returns false after a fatal
    /// event: the CA receives no other event, and the caller signals the fatal one.
    bool link(ca_object& ca);
    void unlink(ca_object& ca);
    /// Reports the fatal event, once; verbs fail from now on.
    void fail();
    /// After a fatal event the posts of these are refused.
    void add(posts& which);
    void remove(posts& which);
    /// Signals each open CA.
    void signal(unsigned channel, IB_ASYNC_EVENT event);

private:
    friend class deferred_end_frame;
    struct notifications;
    void add_deferred_end();
    void remove_deferred_end();
    ca_object* prepare_some(ca_object* after, unsigned channel, IB_ASYNC_EVENT event,
                            notifications& due);
};

inline constexpr std::size_t device_size = (sizeof(hca_device) + 15) / 16 * 16;

inline hca_device& device_of(DEVICE_OBJECT* fdo) {
    return *static_cast<hca_device*>(fdo->DeviceExtension);
}

struct ca_object final : object, device_hook {
    using shared_type = HCA_CA;
    /// Channel 0: fatal; n: port n.
    static ca_object* make(hca_device& device, const create_parameters& wanted);
    static void destroy(ca_object* ca);
    static ca_object& of(void* shared) {
        return static_cast<ca_object&>(object_in(static_cast<HCA_CA*>(shared)->Reserved));
    }
    hca_device& device() const { return device_of(shared.Device); }
    static hca_device& parent_of(hca_device& device, void*) { return device; }
    hca_device& parent() const { return device(); }
    void* handle() { return &shared.Ca; }
    void begin_events();

    HCA_CA shared{};
    const address_space* memory = nullptr; // see ci/support/requestor.hpp

private:
    ca_object(KSPIN_LOCK& lock, event_channel* channels, unsigned count)
        : object(lock, channels, count) {}
    void call_up(unsigned channel, IB_ASYNC_EVENT event) override;
};

} // namespace irpverbs::ci
