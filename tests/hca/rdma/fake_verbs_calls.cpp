// The fake kernel behind libibverbs' functions.
#include "fake_verbs_objects.hpp"

#include <cerrno>
#include <cstdlib>
#include <endian.h>
#include <utility>

namespace irpverbs::testing {

/// The functions in the table.
struct verbs_calls {
    using context = fake_verbs::context;
    using channel = fake_verbs::channel;
    using queue = fake_verbs::queue;
    using device = fake_verbs::device;

    static fake_verbs* now() { return fake_verbs::now_; }

    static context& of(ibv_context* which) { return *static_cast<context*>(which); }
    static queue& of(ibv_cq* which) { return *static_cast<queue*>(which); }
    static channel& of(ibv_comp_channel* which) { return *static_cast<channel*>(which); }

    // `body()` performs the call and returns an errno, unless the test has it fail. errno is set
    // without the lock: another actor may run when the lock is released, and all actors share one
    // errno.
    template <class Body>
    static fake_verbs::failure run(fake_verbs::call which, const Body& body) {
        now()->pass(which);
        fake_verbs::failure ended{};
        {
            const std::lock_guard guard(now()->lock_);
            ended = now()->take(which);
            if (ended.result == 0) ended = {body(), 0};
        }
        errno = ended.error;
        return ended;
    }
    // `verb` returns a failure as most providers do; `read` returns -1 and sets errno.
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
    // libibverbs has freed the object in every case.
    template <class Body>
    static int close(fake_verbs::call which, const Body& body) {
        now()->pass(which);
        const std::lock_guard guard(now()->lock_);
        body();
        return now()->take(which).result;
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
            made = new ibv_device* [now()->devices_.size() + 1] {};
            *count = 0;
            for (const auto& [name, each] : now()->devices_)
                if (each->listed) made[(*count)++] = each.get();
            ++now()->lists_;
            return 0;
        });
    }
    static void free_device_list(ibv_device** list) {
        const std::lock_guard guard(now()->lock_);
        --now()->lists_;
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
            opened->ops.poll_cq = poll_cq;
            opened->async_fd = now()->descriptors_.open([opened] {
                const std::lock_guard guard(now()->lock_);
                return !opened->events.empty() || opened->of->gone;
            });
            now()->contexts_.insert(opened);
            made = opened;
            return 0;
        });
    }
    static int close_device(ibv_context* which) {
        return close(fake_verbs::close_device, [&] {
            now()->contexts_.erase(&of(which));
            now()->descriptors_.close(which->async_fd);
            delete &of(which);
        });
    }

    // Runs `body()` on a device that is present.
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
                    if (gids[i].global.interface_id == 0) continue; // an empty entry
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
                now()->descriptors_.quiet(with->async_fd);
                return EAGAIN;
            }
            *event = from.events.front();
            from.events.pop_front();
            ++now()->events_reported_[event->event_type];
            if (event->event_type == IBV_EVENT_CQ_ERR) ++of(event->element.cq).errors_reported;
            return 0;
        });
    }
    static void ack_async_event(ibv_async_event* event) {
        const std::lock_guard guard(now()->lock_);
        ++now()->events_acknowledged_[event->event_type];
        if (event->event_type != IBV_EVENT_CQ_ERR) return;
        ++event->element.cq->async_events_completed;
        KeSetEvent(&now()->acknowledged_, IO_NO_INCREMENT, FALSE);
    }

    static ibv_comp_channel* create_comp_channel(ibv_context* with) {
        return make<ibv_comp_channel>(
            fake_verbs::create_comp_channel, [&](ibv_comp_channel*& made) {
                if (of(with).of->gone) return EIO;
                auto* opened = new channel();
                opened->context = with;
                opened->fd = now()->descriptors_.open([opened] {
                    const std::lock_guard guard(now()->lock_);
                    return !opened->events.empty() || of(opened->context).of->gone;
                });
                now()->channels_.insert(opened);
                made = opened;
                return 0;
            });
    }
    static int destroy_comp_channel(ibv_comp_channel* which) {
        return close(fake_verbs::destroy_comp_channel, [&] {
            now()->channels_.erase(&of(which));
            now()->descriptors_.close(which->fd);
            delete &of(which);
        });
    }
    static int get_cq_event(ibv_comp_channel* with, ibv_cq** cq, void** cq_context) {
        return read(fake_verbs::get_cq_event, [&] {
            channel& from = of(with);
            if (of(from.context).of->gone) return EIO;
            if (from.events.empty()) {
                now()->descriptors_.quiet(from.fd);
                return EAGAIN;
            }
            queue* reported = from.events.front();
            from.events.pop_front();
            ++reported->completions_reported;
            *cq = reported;
            *cq_context = reported->cq_context;
            return 0;
        });
    }
    static void ack_cq_events(ibv_cq* which, unsigned count) {
        const std::lock_guard guard(now()->lock_);
        which->comp_events_completed += count;
        KeSetEvent(&now()->acknowledged_, IO_NO_INCREMENT, FALSE);
    }

    static ibv_cq* create_cq(ibv_context* with, int entries, void* cq_context,
                             ibv_comp_channel* reported, int vector) {
        return make<ibv_cq>(fake_verbs::create_cq, [&](ibv_cq*& made) {
            const device& by = *of(with).of;
            if (by.gone) return EIO;
            if (entries < 1 || entries > by.attr.orig_attr.max_cqe) return EINVAL;
            auto* fresh = new queue();
            fresh->context = with;
            fresh->channel = reported;
            fresh->cq_context = cq_context;
            fresh->cqe = entries;
            now()->vectors.push_back(vector);
            now()->queues_.push_back(fresh);
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
    // The kernel drops unreported events, and libibverbs waits for the acknowledgement of reported
    // ones.
    static int destroy_cq(ibv_cq* which) {
        queue& ending = of(which);
        const int result = verb(fake_verbs::destroy_cq, [&] {
            std::erase(of(which->channel).events, &ending);
            std::erase_if(of(which->context).events, [&](const ibv_async_event& each) {
                return each.event_type == IBV_EVENT_CQ_ERR && each.element.cq == which;
            });
            std::erase(now()->queues_, &ending);
            return 0;
        });
        if (result != 0) return result;
        for (bool done = false; !done;) {
            KeClearEvent(&now()->acknowledged_);
            {
                const std::lock_guard guard(now()->lock_);
                done = now()->all_acknowledged(ending);
            }
            if (!done)
                KeWaitForSingleObject(&now()->acknowledged_, Executive, KernelMode, FALSE, nullptr);
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
        .req_notify_cq = verbs_calls::req_notify_cq,
    };
    return table;
}

} // namespace irpverbs::testing
