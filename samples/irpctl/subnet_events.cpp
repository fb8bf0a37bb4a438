#include "subnet_events.hpp"

#include "record_text.hpp"

#include <saa/async.hpp>
#include <saa/ibmf_saa_extras.h>

#include <boost/asio/experimental/concurrent_channel.hpp>

#include <atomic>
#include <fmt/format.h>
#include <map>

namespace irpctl {

namespace {

struct numbered_event {
    ibmf_saa_subnet_event_t what{};
    ibmf_saa_event_details_t details{};
    std::uint64_t number = 0; // of the session's events
};

/// A queue from the callbacks, several of which may run at once, to the coroutine that prints the
/// events in order.
class event_queue {
public:
    explicit event_queue(const asio::any_io_executor& executor) : channel_(executor, max_waiting) {}

    ibmf_saa_subnet_event_args_t arguments() { return {on_event, this}; }

    asio::awaitable<numbered_event> next() {
        while (!out_of_order_.contains(next_)) {
            if (lost_.exchange(false)) {
                next_ = 0;
                out_of_order_.clear();
                co_return numbered_event{IBMF_SAA_EVENT_LOST, {}, 0};
            }
            const numbered_event came = co_await channel_.async_receive(asio::use_awaitable);
            if (next_ == 0) next_ = came.number; // the first event after a gap
            if (came.number < next_) co_return came;
            out_of_order_[came.number] = came;
        }
        co_return out_of_order_.extract(next_++).mapped();
    }

private:
    static constexpr std::size_t max_waiting = 10'000;

    static void on_event(ibmf_saa_handle_t handle, ibmf_saa_subnet_event_t what,
                         ibmf_saa_event_details_t* details, void* context) {
        auto& self = *static_cast<event_queue*>(context);
        numbered_event event{what, *details, 0};
        saa::event_number(handle, event.number);
        if (!self.channel_.try_send(boost::system::error_code(), event)) self.lost_ = true;
    }

    asio::experimental::concurrent_channel<void(boost::system::error_code, numbered_event)>
        channel_;
    std::atomic<bool> lost_{false};
    std::map<std::uint64_t, numbered_event> out_of_order_;
    std::uint64_t next_ = 1;
};

/// The node and port of each GID, also after the port has disappeared.
class port_names {
public:
    explicit port_names(sa_session& sa) : sa_(sa) {}

    asio::awaitable<std::string> find(const ib_gid_t& gid) {
        if (!names_.contains(gid.gid_guid)) co_await read();
        const auto found = names_.find(gid.gid_guid);
        const std::string text = gid_text(gid);
        co_return found != names_.end() ? fmt::format("{} ({})", text, found->second) : text;
    }
    asio::awaitable<void> read() {
        for (const sa_node_record_t& each : co_await sa_.all<sa_node_record_t>())
            names_[each.NodeInfo.PortGUID] =
                each.NodeInfo.NodeType == SM_NODE_TYPE_SWITCH
                    ? name_of(each)
                    : fmt::format("{} port {}", name_of(each), each.NodeInfo.LocalPortNum);
    }

private:
    sa_session& sa_;
    std::map<ib_guid_t, std::string> names_;
};

std::string producers(std::uint8_t mask) {
    constexpr const char* names[] = {"CAs", "switches", "routers", "the subnet manager"};
    std::string text;
    for (std::size_t i = 0; i < std::size(names); ++i)
        if ((mask >> i & 1) != 0) text += (text.empty() ? "of " : ", ") + std::string(names[i]);
    return text.empty() ? "of no producer" : text;
}

const char* name_of(ibmf_saa_subnet_event_t what) {
    switch (what) {
    case IBMF_SAA_EVENT_GID_AVAILABLE:
        return "GID_IN_SERVICE";
    case IBMF_SAA_EVENT_GID_UNAVAILABLE:
        return "GID_OUT_OF_SERVICE";
    case IBMF_SAA_EVENT_MCG_CREATED:
        return "MC_GROUP_CREATED";
    case IBMF_SAA_EVENT_MCG_DELETED:
        return "MC_GROUP_DELETED";
    case IBMF_SAA_EVENT_CAP_MASK_CHG:
        return "CAPABILITIES_CHANGED";
    case IBMF_SAA_EVENT_SYS_IMG_GUID_CHG:
        return "SYSTEM_IMAGE_CHANGED";
    case IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG:
        return "SUBSCRIPTIONS_CHANGED";
    default:
        return "EVENTS_LOST";
    }
}

bool is_about_a_port(ibmf_saa_subnet_event_t what) {
    return what == IBMF_SAA_EVENT_GID_AVAILABLE || what == IBMF_SAA_EVENT_GID_UNAVAILABLE;
}

std::string details_of(const numbered_event& event) {
    const ibmf_saa_event_details_t& details = event.details;
    switch (event.what) {
    case IBMF_SAA_EVENT_MCG_CREATED:
    case IBMF_SAA_EVENT_MCG_DELETED:
        return gid_text(details.ie_gid);
    case IBMF_SAA_EVENT_CAP_MASK_CHG:
        return fmt::format("LID {}: 0x{:08x}", details.ie_lid, details.ie_capability_mask);
    case IBMF_SAA_EVENT_SYS_IMG_GUID_CHG:
        return fmt::format("LID {}: 0x{:016x}", details.ie_lid, details.ie_sysimg_guid);
    case IBMF_SAA_EVENT_SUBSCRIBER_STATUS_CHG:
        return producers(details.ie_producer_event_status_mask);
    default:
        return "";
    }
}

} // namespace

asio::awaitable<void> watch_subnet(session& here, const open_port& at, std::function<void()> ready,
                                   std::function<void(const subnet_event&)> report) {
    event_queue queue(co_await asio::this_coro::executor);
    const sa_parameters parameters; // a named object: GCC 12 destroys a temporary in the call twice
    co_await with_sa(here, at, parameters, queue.arguments(),
                     [&](sa_session& sa) -> asio::awaitable<void> {
                         port_names names(sa);
                         co_await names.read();
                         ready();
                         for (;;) {
                             const numbered_event event = co_await queue.next();
                             std::string about = details_of(event);
                             if (is_about_a_port(event.what))
                                 about = co_await names.find(event.details.ie_gid);
                             report({name_of(event.what), std::move(about)});
                         }
                     });
}

} // namespace irpctl
