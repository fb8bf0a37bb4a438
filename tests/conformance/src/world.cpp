#include "world.hpp"

#include <deque>

namespace irpverbs::conformance {

world::world(const settings& chosen) : settings_(chosen) {
    ULONG count = 0;
    std::string message(200, '\0');
    const NTSTATUS status = HcaAttachEx(chosen.uri.c_str(), &count, message.data(), message.size());
    if (status != STATUS_SUCCESS || count == 0) {
        ADD_FAILURE() << chosen.uri << ": " << name_of(status) << ' ' << message.c_str();
        throw abandoned();
    }
    std::vector<ib_guid_t> guids(count);
    HcaEnumerate(guids.data(), &count);
    guid_ = guids.front();
    last_ = guids.back();
    if (chosen.variant.Prepare != nullptr) {
        EXPECT_STATUS(chosen.variant.Prepare(guid_), STATUS_SUCCESS);
    }
}

world::~world() { EXPECT_STATUS(detach(), STATUS_SUCCESS); }

void world::raise(IB_ASYNC_EVENT event, UCHAR port) const {
    const NTSTATUS status = try_to_raise(event, port);
    if (status == STATUS_NOT_SUPPORTED)
        throw skipped{"the adapter can't raise event " + std::to_string(event)};
    EXPECT_STATUS(status, STATUS_SUCCESS);
}

NTSTATUS world::try_to_raise(IB_ASYNC_EVENT event, UCHAR port) const {
    const auto hand = settings_.adapter.RaisePortEvent;
    return hand != nullptr ? hand(guid_, port, event) : STATUS_NOT_SUPPORTED;
}

void world::fail() const { EXPECT_STATUS(settings_.adapter.Fail(guid_), STATUS_SUCCESS); }

NTSTATUS world::complete(IB_CQ* cq, const IB_WC& completion) const {
    return settings_.adapter.Complete(cq, &completion);
}

void world::together(std::initializer_list<std::function<void()>> actors) {
    std::deque<testing::system_thread> threads;
    for (const std::function<void()>& each : actors)
        threads.emplace_back(each);
}

NTSTATUS status_of(const verb& asked) {
    verb_call call(asked);
    if (call.status() == STATUS_NOT_SUPPORTED)
        throw skipped{std::string(asked.name) + " returns STATUS_NOT_SUPPORTED"};
    return call.status();
}

ULONG_PTR must(const verb& asked) {
    verb_call call(asked);
    const NTSTATUS status = call.status();
    if (status == STATUS_NOT_SUPPORTED)
        throw skipped{std::string(asked.name) + " returns STATUS_NOT_SUPPORTED"};
    if (status != STATUS_SUCCESS) {
        ADD_FAILURE() << asked.name << ": " << name_of(status);
        throw abandoned();
    }
    return call.information();
}

void late_calls::send() {
    for (const verb& each : all_)
        sent_.emplace_back(each);
}

void late_calls::expect_closed() {
    ASSERT_EQ(sent_.size(), all_.size());
    for (std::size_t i = 0; i < sent_.size(); ++i)
        EXPECT_STATUS(sent_[i].status(), STATUS_FILE_CLOSED) << all_[i].name;
}

IB_CQ* cq_if_there_is(IB_CA* parent, ULONG entries) {
    verb_call create(create_cq(parent, entries));
    return create.status() == STATUS_SUCCESS ? create.object<IB_CQ>() : nullptr;
}

UCHAR port_beyond_the_last(IB_CA* of) {
    IB_CA_ATTR attr{};
    verb_call query(query_ca(of, &attr, sizeof(attr)));
    return query.status() == STATUS_NOT_SUPPORTED ? UCHAR{255}
                                                  : static_cast<UCHAR>(attr.PortCount + 1);
}

good_calls::good_calls(IB_CA* by, IB_CQ* queue) {
    all_ = {query_ca(by, ca_attr_.get(), sizeof(IB_CA_ATTR)),
            query_port(by, 1, port_attr_.get(), sizeof(IB_PORT_ATTR)),
            modify_ca(by, 0, &modify_ca_), modify_port(by, 1, 0, &modify_port_)};
    if (queue == nullptr) return;
    for (const verb& each :
         {query_cq(queue, cq_attr_.get(), sizeof(IB_CQ_ATTR)), resize_cq(queue, 8),
          poll_cq(queue, 1, &entry_), arm_cq(queue, IB_CQ_ARM_NEXT)})
        all_.push_back(each);
}

} // namespace irpverbs::conformance
