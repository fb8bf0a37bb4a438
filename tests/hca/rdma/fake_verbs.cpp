#include "fake_verbs_objects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <endian.h>
#include <utility>

namespace irpverbs::testing {

namespace {

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

fake_verbs::fake_verbs(fake_descriptors& descriptors) : descriptors_(descriptors) {
    now_ = this;
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
    EXPECT_TRUE(pairs_.empty()) << "the driver left queue pairs";
    EXPECT_TRUE(shared_.empty()) << "the driver left shared receive queues";
    EXPECT_EQ(domains_ + regions_ + windows_ + handles_, 0u) << "the driver left objects";
    EXPECT_TRUE(groups_.empty()) << "the driver left attachments";
    EXPECT_EQ(lists_, 0u) << "the driver left lists of devices";
    EXPECT_EQ(events_reported_, events_acknowledged_) << "each event is acknowledged once";
    now_ = nullptr;
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
    attr.max_qp = attr.max_pd = attr.max_mr = attr.max_ah = 1 << 16;
    attr.max_qp_wr = 1024;
    attr.max_srq = 1 << 16;
    attr.max_srq_wr = 1024;
    attr.max_srq_sge = 8;
    attr.max_sge = 8;
    attr.max_sge_rd = 2;
    attr.max_mr_size = ~std::uint64_t{0};
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

void fake_verbs::release(call which) {
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

fake_verbs::pair* fake_verbs::find_pair(ib_qpn_t number) {
    const auto place = std::ranges::find(pairs_, number, &pair::qp_num);
    return place != pairs_.end() ? *place : nullptr;
}

void fake_verbs::notify(context& of, const ibv_async_event& event) {
    of.events.push_back(event);
    descriptors_.notify(of.async_fd);
}

void fake_verbs::raise(const std::string& name, ibv_event_type type, int number) {
    const std::lock_guard guard(lock_);
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = number;
    for (context* each : contexts_)
        if (each->of == &at(name)) notify(*each, event);
}

void fake_verbs::raise_for(const void* cq_context, ibv_event_type type) {
    const std::lock_guard guard(lock_);
    ibv_async_event event{};
    event.event_type = type;
    event.element.cq = find(cq_context);
    notify(static_cast<context&>(*event.element.cq->context), event);
}

void fake_verbs::raise_for_qp(ib_qpn_t number, ibv_event_type type) {
    const std::lock_guard guard(lock_);
    ibv_async_event event{};
    event.event_type = type;
    event.element.qp = find_pair(number);
    notify(static_cast<context&>(*event.element.qp->context), event);
}

const ibv_srq* fake_verbs::shared_of(ib_qpn_t number) {
    const std::lock_guard guard(lock_);
    return find_pair(number)->srq;
}

void fake_verbs::raise_for_srq(ibv_event_type type) {
    const std::lock_guard guard(lock_);
    ibv_async_event event{};
    event.event_type = type;
    event.element.srq = shared_.front();
    notify(static_cast<context&>(*event.element.srq->context), event);
}

void fake_verbs::set_state(ib_qpn_t number, ibv_qp_state state) {
    const std::lock_guard guard(lock_);
    find_pair(number)->attr.qp_state = state;
}

bool fake_verbs::complete(const void* cq_context, const ibv_wc& entry, bool solicited) {
    const std::lock_guard guard(lock_);
    queue* into = find(cq_context);
    if (static_cast<context&>(*into->context).of->gone) return true; // no entry is flushed
    if (into->entries.size() >= static_cast<std::size_t>(into->cqe)) {
        ibv_async_event event{};
        event.event_type = IBV_EVENT_CQ_ERR;
        event.element.cq = into;
        notify(static_cast<context&>(*into->context), event);
        return false;
    }
    into->entries.push_back(entry);
    const bool satisfies = solicited || entry.status != IBV_WC_SUCCESS;
    if (!into->armed || (into->solicited_only && !satisfies)) return true;
    into->armed = false;
    auto& reported = static_cast<channel&>(*into->channel);
    reported.events.push_back(into);
    descriptors_.notify(reported.fd);
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
        if (each->of == &leaving) notify(*each, event);
    for (channel* each : channels_)
        if (static_cast<context&>(*each->context).of == &leaving) descriptors_.notify(each->fd);
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
