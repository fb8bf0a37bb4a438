// The fake kernel behind libibverbs' functions.
#include "fake_mw_calls.hpp"
#include "fake_qp_calls.hpp"
#include "fake_srq_calls.hpp"

#include "async_events.hpp"

#include <endian.h>
#include <utility>

namespace irpverbs::testing {

/// The functions for devices, their attributes, events and completion queues.
struct device_calls : verbs_calls {
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
            opened->ops.post_send = qp_calls::post_send;
            opened->ops.post_recv = qp_calls::post_recv;
            opened->ops.post_srq_recv = srq_calls::post_srq_recv;
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
            if (hca_rdma::is_of_queue_pair(event->event_type))
                ++of(event->element.qp).events_reported;
            if (hca_rdma::is_of_shared_receives(event->event_type))
                ++of(event->element.srq).events_reported;
            return 0;
        });
    }
    static void ack_async_event(ibv_async_event* event) {
        const std::lock_guard guard(now()->lock_);
        ++now()->events_acknowledged_[event->event_type];
        if (hca_rdma::is_of_queue_pair(event->event_type))
            ++event->element.qp->events_completed;
        else if (hca_rdma::is_of_shared_receives(event->event_type))
            ++event->element.srq->events_completed;
        else if (event->event_type == IBV_EVENT_CQ_ERR)
            ++event->element.cq->async_events_completed;
        else
            return;
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
        wait_until([&] { return now()->all_acknowledged(ending); });
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
        .get_device_list = device_calls::get_device_list,
        .free_device_list = device_calls::free_device_list,
        .get_device_guid = device_calls::get_device_guid,
        .open_device = device_calls::open_device,
        .close_device = device_calls::close_device,
        .query_device = device_calls::query_device,
        .query_port = device_calls::query_port,
        .query_gid = device_calls::query_gid,
        .query_gid_table = device_calls::query_gid_table,
        .query_pkey = device_calls::query_pkey,
        .get_async_event = device_calls::get_async_event,
        .ack_async_event = device_calls::ack_async_event,
        .create_comp_channel = device_calls::create_comp_channel,
        .destroy_comp_channel = device_calls::destroy_comp_channel,
        .get_cq_event = device_calls::get_cq_event,
        .ack_cq_events = device_calls::ack_cq_events,
        .create_cq = device_calls::create_cq,
        .resize_cq = device_calls::resize_cq,
        .destroy_cq = device_calls::destroy_cq,
        .req_notify_cq = device_calls::req_notify_cq,
        .alloc_pd = qp_calls::alloc_pd,
        .dealloc_pd = qp_calls::dealloc_pd,
        .reg_mr = qp_calls::reg_mr,
        .rereg_mr = qp_calls::rereg_mr,
        .dereg_mr = qp_calls::dereg_mr,
        .alloc_mw = mw_calls::alloc_mw,
        .dealloc_mw = mw_calls::dealloc_mw,
        .bind_mw = mw_calls::bind_mw,
        .create_ah = qp_calls::create_ah,
        .destroy_ah = qp_calls::destroy_ah,
        .create_qp = qp_calls::create_qp,
        .modify_qp = qp_calls::modify_qp,
        .query_qp = qp_calls::query_qp,
        .destroy_qp = qp_calls::destroy_qp,
        .create_srq = srq_calls::create_srq,
        .modify_srq = srq_calls::modify_srq,
        .query_srq = srq_calls::query_srq,
        .destroy_srq = srq_calls::destroy_srq,
        .attach_mcast = qp_calls::attach_mcast,
        .detach_mcast = qp_calls::detach_mcast,
    };
    return table;
}

} // namespace irpverbs::testing
