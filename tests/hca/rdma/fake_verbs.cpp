#include "fake_verbs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <endian.h>
#include <utility>

namespace irpverbs::testing {

namespace {

fake_verbs* now = nullptr;

ibv_gid gid(std::uint64_t prefix, std::uint64_t id) {
    ibv_gid made{};
    made.global.subnet_prefix = htobe64(prefix);
    made.global.interface_id = htobe64(id);
    return made;
}

fake_verbs::port make_port(ib_guid_t guid) {
    fake_verbs::port made;
    made.attr.state = IBV_PORT_ACTIVE;
    made.attr.max_mtu = IBV_MTU_4096;
    made.attr.active_mtu = IBV_MTU_1024;
    made.attr.gid_tbl_len = 4;
    made.attr.port_cap_flags = IB_PORT_CAP_CM_SUP;
    made.attr.max_msg_sz = 0x800000;
    made.attr.pkey_tbl_len = 1;
    made.attr.max_vl_num = 1;
    made.attr.active_width = 1;
    made.attr.active_speed = 1;
    made.attr.phys_state = 5;
    made.attr.link_layer = IBV_LINK_LAYER_ETHERNET;
    made.gids = {gid(IB_DEFAULT_GID_PREFIX, guid), gid(0, 0xFFFF'0A4D'0001)};
    return made;
}

} // namespace

struct fake_verbs::channel : ibv_comp_channel {
    std::deque<queue*> events;
};

struct fake_verbs::context : ibv_context {
    fake_verbs::device* of = nullptr;
    std::deque<ibv_async_event> events;
};

struct fake_verbs::queue : ibv_cq {
    std::deque<ibv_wc> entries;
    bool armed = false;
    bool solicited_only = false;
    unsigned completions_reported = 0;
    unsigned errors_reported = 0;
};

/// The rows of the table.
struct verbs_calls {
    using context = fake_verbs::context;
    using channel = fake_verbs::channel;
    using queue = fake_verbs::queue;
    using device = fake_verbs::device;

    static context& of(ibv_context* which) { return *static_cast<context*>(which); }
    static queue& of(ibv_cq* which) { return *static_cast<queue*>(which); }
    static channel& of(ibv_comp_channel* which) { return *static_cast<channel*>(which); }

    // `body()` does it and gives back an errno; but not when the test has it fail. errno is set
    // outside the lock: where that is let go another actor may go on, and all share one errno.
    template <class Body>
    static fake_verbs::failure run(fake_verbs::call which, const Body& body) {
        now->pass(which);
        fake_verbs::failure ended{};
        {
            const std::lock_guard guard(now->lock_);
            ended = now->take(which);
            if (ended.result == 0) ended = {body(), 0};
        }
        errno = ended.error;
        return ended;
    }
    // Tells a failure as most providers do, or by -1 and errno as reads do.
    template <class Body>
    static int verb(fake_verbs::call which, const Body& body) {
        return run(which, body).result;
    }
    template <class Body>
    static int read(fake_verbs::call which, const Body& body) {
        const fake_verbs::failure ended = run(which, body);
        if (ended.result > 0) errno = ended.result;
        return ended.result != 0 ? -1 : 0;
    }
    template <class Made, class Body>
    static Made* make(fake_verbs::call which, const Body& body) {
        Made* made = nullptr;
        const fake_verbs::failure ended = run(which, [&] { return body(made); });
        if (ended.result > 0) errno = ended.result;
        if (ended.result < -1) errno = -ended.result;
        return ended.result != 0 ? nullptr : made;
    }

    static ibv_device** get_device_list(int* count) {
        return make<ibv_device*>(fake_verbs::get_device_list, [&](ibv_device**& made) {
            made = new ibv_device* [now->devices_.size() + 1] {};
            *count = 0;
            for (const auto& [name, each] : now->devices_)
                if (each->listed) made[(*count)++] = each.get();
            ++now->lists_;
            return 0;
        });
    }
    static void free_device_list(ibv_device** list) {
        const std::lock_guard guard(now->lock_);
        --now->lists_;
        delete[] list;
    }
    static __be64 get_device_guid(ibv_device* which) {
        return static_cast<device*>(which)->attr.orig_attr.node_guid;
    }
    static ibv_context* open_device(ibv_device* which) {
        return make<ibv_context>(fake_verbs::open_device, [&](ibv_context*& made) {
            if (static_cast<device*>(which)->gone) return ENODEV;
            auto* opened = new context();
            opened->of = static_cast<device*>(which);
            opened->device = which;
            opened->num_comp_vectors = 2;
            opened->async_fd = now->descriptors_.open([opened] {
                const std::lock_guard guard(now->lock_);
                return !opened->events.empty() || opened->of->gone;
            });
            now->contexts_.insert(opened);
            made = opened;
            return 0;
        });
    }
    static int close_device(ibv_context* which) {
        return verb(fake_verbs::close_device, [&] {
            now->contexts_.erase(&of(which));
            now->descriptors_.close(which->async_fd);
            delete &of(which);
            return 0;
        });
    }

    // Of a device that is there.
    template <class Body>
    static int ask(fake_verbs::call which, ibv_context* with, const Body& body) {
        return verb(which, [&] {
            const device& asked = *of(with).of;
            return asked.gone ? EIO : body(asked);
        });
    }
    static const fake_verbs::port* port_of(const device& asked, unsigned number) {
        return number != 0 && number <= asked.ports.size() ? &asked.ports[number - 1] : nullptr;
    }
    static int query_device(ibv_context* with, ibv_device_attr_ex* attr) {
        return ask(fake_verbs::query_device, with, [&](const device& asked) {
            *attr = asked.attr;
            return 0;
        });
    }
    static int query_port(ibv_context* with, std::uint8_t number, ibv_port_attr* attr) {
        return ask(fake_verbs::query_port, with, [&](const device& asked) {
            const fake_verbs::port* port = port_of(asked, number);
            if (port == nullptr) return EINVAL;
            *attr = port->attr;
            return 0;
        });
    }
    static int query_gid(ibv_context* with, std::uint8_t number, int index, ibv_gid* to) {
        return ask(fake_verbs::query_gid, with, [&](const device& asked) {
            const fake_verbs::port* port = port_of(asked, number);
            if (port == nullptr || index >= port->attr.gid_tbl_len) return EINVAL;
            *to = static_cast<std::size_t>(index) < port->gids.size()
                      ? port->gids[static_cast<std::size_t>(index)]
                      : ibv_gid{};
            return 0;
        });
    }
    static ssize_t query_gid_table(ibv_context* with, ibv_gid_entry* entries, std::size_t most) {
        std::size_t count = 0;
        const int ended = ask(fake_verbs::query_gid_table, with, [&](const device& asked) {
            for (std::size_t number = 1; number <= asked.ports.size(); ++number) {
                const auto& gids = asked.ports[number - 1].gids;
                for (std::size_t i = 0; i < gids.size(); ++i) {
                    if (gids[i].global.interface_id == 0) continue; // empty
                    if (count == most) return EINVAL;
                    entries[count] = {};
                    entries[count].gid = gids[i];
                    entries[count].gid_index = static_cast<std::uint32_t>(i);
                    entries[count++].port_num = static_cast<std::uint32_t>(number);
                }
            }
            return 0;
        });
        return ended != 0 ? -std::abs(ended) : static_cast<ssize_t>(count);
    }
    static int query_pkey(ibv_context* with, std::uint8_t number, int index, __be16* pkey) {
        return ask(fake_verbs::query_pkey, with, [&](const device& asked) {
            const fake_verbs::port* port = port_of(asked, number);
            if (static_cast<std::size_t>(index) >= port->pkeys.size()) return ENOENT;
            *pkey = htobe16(port->pkeys[static_cast<std::size_t>(index)]);
            return 0;
        });
    }

    static int get_async_event(ibv_context* with, ibv_async_event* event) {
        return read(fake_verbs::get_async_event, [&] {
            context& from = of(with);
            if (from.events.empty()) {
                if (from.of->gone) return EIO;
                now->descriptors_.quiet(with->async_fd);
                return EAGAIN;
            }
            *event = from.events.front();
            from.events.pop_front();
            ++now->events_reported_;
            if (event->event_type == IBV_EVENT_CQ_ERR) ++of(event->element.cq).errors_reported;
            return 0;
        });
    }
    static void ack_async_event(ibv_async_event* event) {
        const std::lock_guard guard(now->lock_);
        ++now->events_acknowledged_;
        if (event->event_type != IBV_EVENT_CQ_ERR) return;
        ++event->element.cq->async_events_completed;
        KeSetEvent(&now->acknowledged_, IO_NO_INCREMENT, FALSE);
    }

    static ibv_comp_channel* create_comp_channel(ibv_context* with) {
        return make<ibv_comp_channel>(
            fake_verbs::create_comp_channel, [&](ibv_comp_channel*& made) {
                if (of(with).of->gone) return EIO;
                auto* opened = new channel();
                opened->context = with;
                opened->fd = now->descriptors_.open([opened] {
                    const std::lock_guard guard(now->lock_);
                    return !opened->events.empty() || of(opened->context).of->gone;
                });
                now->channels_.insert(opened);
                made = opened;
                return 0;
            });
    }
    static int destroy_comp_channel(ibv_comp_channel* which) {
        return verb(fake_verbs::destroy_comp_channel, [&] {
            now->channels_.erase(&of(which));
            now->descriptors_.close(which->fd);
            delete &of(which);
            return 0;
        });
    }
    static int get_cq_event(ibv_comp_channel* with, ibv_cq** cq, void** cq_context) {
        return read(fake_verbs::get_cq_event, [&] {
            channel& from = of(with);
            if (of(from.context).of->gone) return EIO;
            if (from.events.empty()) {
                now->descriptors_.quiet(from.fd);
                return EAGAIN;
            }
            queue* told = from.events.front();
            from.events.pop_front();
            ++told->completions_reported;
            *cq = told;
            *cq_context = told->cq_context;
            return 0;
        });
    }
    static void ack_cq_events(ibv_cq* which, unsigned count) {
        const std::lock_guard guard(now->lock_);
        which->comp_events_completed += count;
        KeSetEvent(&now->acknowledged_, IO_NO_INCREMENT, FALSE);
    }

    static ibv_cq* create_cq(ibv_context* with, int entries, void* cq_context,
                             ibv_comp_channel* told, int vector) {
        return make<ibv_cq>(fake_verbs::create_cq, [&](ibv_cq*& made) {
            const device& by = *of(with).of;
            if (by.gone) return EIO;
            if (entries < 1 || entries > by.attr.orig_attr.max_cqe) return EINVAL;
            auto* fresh = new queue();
            fresh->context = with;
            fresh->channel = told;
            fresh->cq_context = cq_context;
            fresh->cqe = entries;
            now->vectors.push_back(vector);
            now->queues_.push_back(fresh);
            made = fresh;
            return 0;
        });
    }
    static int resize_cq(ibv_cq* which, int entries) {
        return ask(fake_verbs::resize_cq, which->context, [&](const device& by) {
            const auto wanted = static_cast<std::size_t>(entries);
            if (entries < 1 || entries > by.attr.orig_attr.max_cqe ||
                wanted < of(which).entries.size())
                return EINVAL;
            which->cqe = entries;
            return 0;
        });
    }
    // The kernel forgets what it has not reported, and libibverbs waits for what it has.
    static int destroy_cq(ibv_cq* which) {
        queue& ending = of(which);
        const int result = verb(fake_verbs::destroy_cq, [&] {
            std::erase(of(which->channel).events, &ending);
            std::erase_if(of(which->context).events, [&](const ibv_async_event& each) {
                return each.event_type == IBV_EVENT_CQ_ERR && each.element.cq == which;
            });
            std::erase(now->queues_, &ending);
            return 0;
        });
        if (result != 0) return result;
        for (bool done = false; !done;) {
            KeClearEvent(&now->acknowledged_);
            {
                const std::lock_guard guard(now->lock_);
                done = now->all_acknowledged(ending);
            }
            if (!done)
                KeWaitForSingleObject(&now->acknowledged_, Executive, KernelMode, FALSE, nullptr);
        }
        delete &ending;
        return 0;
    }
    static int poll_cq(ibv_cq* which, int count, ibv_wc* entries) {
        int taken = 0;
        const int ended = verb(fake_verbs::poll_cq, [&] {
            auto& there = of(which).entries;
            for (; taken < count && !there.empty(); there.pop_front())
                entries[taken++] = there.front();
            return 0;
        });
        return ended != 0 ? -std::abs(ended) : taken;
    }
    static int req_notify_cq(ibv_cq* which, int solicited_only) {
        return ask(fake_verbs::req_notify_cq, which->context, [&](const device&) {
            queue& armed = of(which);
            armed.solicited_only = solicited_only != 0 && (!armed.armed || armed.solicited_only);
            armed.armed = true;
            return 0;
        });
    }
};

const hca_rdma::verbs_library& fake_verbs::library() {
    static constexpr hca_rdma::verbs_library table = {
        .get_device_list = verbs_calls::get_device_list,
        .free_device_list = verbs_calls::free_device_list,
        .get_device_guid = verbs_calls::get_device_guid,
        .open_device = verbs_calls::open_device,
        .close_device = verbs_calls::close_device,
        .query_device = verbs_calls::query_device,
        .query_port = verbs_calls::query_port,
        .query_gid = verbs_calls::query_gid,
        .query_gid_table = verbs_calls::query_gid_table,
        .query_pkey = verbs_calls::query_pkey,
        .get_async_event = verbs_calls::get_async_event,
        .ack_async_event = verbs_calls::ack_async_event,
        .create_comp_channel = verbs_calls::create_comp_channel,
        .destroy_comp_channel = verbs_calls::destroy_comp_channel,
        .get_cq_event = verbs_calls::get_cq_event,
        .ack_cq_events = verbs_calls::ack_cq_events,
        .create_cq = verbs_calls::create_cq,
        .resize_cq = verbs_calls::resize_cq,
        .destroy_cq = verbs_calls::destroy_cq,
        .poll_cq = verbs_calls::poll_cq,
        .req_notify_cq = verbs_calls::req_notify_cq,
    };
    return table;
}

fake_verbs::fake_verbs(fake_descriptors& descriptors) : descriptors_(descriptors) {
    now = this;
    for (KEVENT& each : gates_)
        KeInitializeEvent(&each, NotificationEvent, TRUE);
    for (KEVENT& each : inside_)
        KeInitializeEvent(&each, NotificationEvent, FALSE);
    KeInitializeEvent(&acknowledged_, NotificationEvent, FALSE);
}

fake_verbs::~fake_verbs() {
    EXPECT_TRUE(contexts_.empty()) << "the driver left devices open";
    EXPECT_TRUE(channels_.empty()) << "the driver left completion channels";
    EXPECT_TRUE(queues_.empty()) << "the driver left completion queues";
    EXPECT_EQ(lists_, 0u) << "the driver left lists of devices";
    EXPECT_EQ(events_reported_, events_acknowledged_) << "each event is acknowledged once";
    now = nullptr;
}

fake_verbs::device& fake_verbs::add(const std::string& name, ib_guid_t guid, unsigned ports) {
    auto made = std::make_unique<device>();
    static_cast<ibv_device&>(*made) = {};
    made->transport_type = IBV_TRANSPORT_IB;
    made->node_type = IBV_NODE_CA;
    name.copy(made->name, sizeof(made->name) - 1);
    const std::string file = "uverbs" + std::to_string(devices_.size());
    file.copy(made->dev_name, sizeof(made->dev_name) - 1);
    ibv_device_attr& attr = made->attr.orig_attr;
    attr.node_guid = htobe64(guid);
    attr.sys_image_guid = htobe64(guid + 0x100);
    attr.max_cq = 1 << 20;
    attr.max_cqe = 32767;
    attr.max_pkeys = 1;
    attr.phys_port_cnt = static_cast<std::uint8_t>(ports);
    made->attr.phys_port_cnt_ex = ports;
    for (unsigned number = 1; number <= ports; ++number)
        made->ports.push_back(make_port(guid + number));
    return *(devices_[name] = std::move(made));
}

fake_verbs::failure fake_verbs::take(call which) {
    ++count_[which];
    std::deque<failure>& from = failures_[which];
    if (from.empty()) return {};
    const failure next = from.front();
    from.pop_front();
    return next;
}

void fake_verbs::fail(call which, std::initializer_list<failure> results) {
    const std::lock_guard guard(lock_);
    failures_[which] = results;
}

void fake_verbs::hold(call which) {
    const std::lock_guard guard(lock_);
    held_[which] = true;
    KeClearEvent(&gates_[which]);
}

void fake_verbs::let_go(call which) {
    const std::lock_guard guard(lock_);
    held_[which] = false;
    KeSetEvent(&gates_[which], IO_NO_INCREMENT, FALSE);
}

void fake_verbs::wait_for(call which) {
    KeWaitForSingleObject(&inside_[which], Executive, KernelMode, FALSE, nullptr);
}

void fake_verbs::pass(call which) {
    {
        const std::lock_guard guard(lock_);
        if (!held_[which]) return;
    }
    KeSetEvent(&inside_[which], IO_NO_INCREMENT, FALSE);
    KeWaitForSingleObject(&gates_[which], Executive, KernelMode, FALSE, nullptr);
}

fake_verbs::queue* fake_verbs::find(const void* cq_context) {
    const auto place = std::ranges::find(queues_, cq_context, &queue::cq_context);
    return place != queues_.end() ? *place : nullptr;
}

void fake_verbs::tell(context& of, const ibv_async_event& event) {
    of.events.push_back(event);
    descriptors_.tell(of.async_fd);
}

void fake_verbs::raise(const std::string& name, ibv_event_type type, int number) {
    const std::lock_guard guard(lock_);
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = number;
    for (context* each : contexts_)
        if (each->of == &at(name)) tell(*each, event);
}

void fake_verbs::raise_for(const void* cq_context, ibv_event_type type) {
    const std::lock_guard guard(lock_);
    ibv_async_event event{};
    event.event_type = type;
    event.element.cq = find(cq_context);
    tell(static_cast<context&>(*event.element.cq->context), event);
}

bool fake_verbs::complete(const void* cq_context, const ibv_wc& entry, bool solicited) {
    const std::lock_guard guard(lock_);
    queue* into = find(cq_context);
    if (static_cast<context&>(*into->context).of->gone) return true; // nothing is flushed
    if (into->entries.size() >= static_cast<std::size_t>(into->cqe)) {
        ibv_async_event event{};
        event.event_type = IBV_EVENT_CQ_ERR;
        event.element.cq = into;
        tell(static_cast<context&>(*into->context), event);
        return false;
    }
    into->entries.push_back(entry);
    const bool deserves = solicited || entry.status != IBV_WC_SUCCESS;
    if (!into->armed || (into->solicited_only && !deserves)) return true;
    into->armed = false;
    auto& told = static_cast<channel&>(*into->channel);
    told.events.push_back(into);
    descriptors_.tell(told.fd);
    return true;
}

void fake_verbs::remove(const std::string& name) {
    const std::lock_guard guard(lock_);
    const auto found = devices_.find(name);
    if (found == devices_.end() || found->second->gone) return;
    device& leaving = *found->second;
    leaving.gone = true;
    leaving.listed = false;
    ibv_async_event event{};
    event.event_type = IBV_EVENT_DEVICE_FATAL;
    for (context* each : contexts_)
        if (each->of == &leaving) tell(*each, event);
    for (channel* each : channels_)
        if (static_cast<context&>(*each->context).of == &leaving) descriptors_.tell(each->fd);
}

void fake_verbs::hold_sm(int number, bool on) {
    const std::lock_guard guard(lock_);
    for (auto& [name, each] : devices_) {
        if (static_cast<std::size_t>(number) > each->ports.size()) continue;
        std::uint32_t& flags =
            each->ports[static_cast<std::size_t>(number) - 1].attr.port_cap_flags;
        flags = on ? flags | IB_PORT_CAP_IS_SM : flags & ~IB_PORT_CAP_IS_SM;
    }
}

bool fake_verbs::all_acknowledged(const queue& of) const {
    EXPECT_LE(of.comp_events_completed, of.completions_reported);
    EXPECT_LE(of.async_events_completed, of.errors_reported);
    return of.comp_events_completed == of.completions_reported &&
           of.async_events_completed == of.errors_reported;
}

} // namespace irpverbs::testing
