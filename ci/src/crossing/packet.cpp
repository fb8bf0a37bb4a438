#include <ci/support/packet.hpp>

#include <cstring>
#include <utility>

namespace irpverbs::ci::crossing {

wire::header& packet::header_of(parts& of) {
    return *static_cast<wire::header*>(of.list().front().iov_base);
}

bool packet::add(parts& added) {
    if (messages_.size() == most_messages || size_ + added.size() > wire::max_message) return false;
    if (!messages_.empty()) {
        parts& before = *messages_.back();
        header_of(before).next = static_cast<std::uint32_t>(before.size());
    }
    messages_.push_back(&added);
    list_.insert(list_.end(), added.list().begin(), added.list().end());
    size_ += added.size();
    return true;
}

void packet::clear() {
    for (parts* const each : messages_)
        header_of(*each).next = 0;
    messages_.clear();
    list_.clear();
    size_ = 0;
}

message take_first(message& packet) {
    const message all = std::exchange(packet, {});
    wire::header head{};
    if (all.size() < sizeof(head)) return {};
    std::memcpy(&head, all.data(), sizeof(head));
    if (head.next == 0) return all;
    if (head.next < sizeof(head) || head.next % alignof(wire::header) != 0 ||
        head.next >= all.size())
        return {};
    packet = all.subspan(head.next);
    return all.first(head.next);
}

} // namespace irpverbs::ci::crossing
