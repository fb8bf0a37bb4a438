#include "served_posts.hpp"

#include <ci/support/wire.hpp>
#include <dispatch/irql.h>
#include <dispatch/timer.h>

#include <algorithm>
#include <cstring>

namespace irpverbs::ual {

using ci::crossing::message;
using ci::crossing::post_ring;
using ci::crossing::post_rings;
using ci::wire::open_descriptor;
namespace wire = ci::wire;

namespace {

// More than a ring holds.
constexpr unsigned all = post_ring::capacity / 8 + 1;

// Units of 100 ns.
constexpr ULONGLONG longest_batch = 50;
constexpr ULONGLONG short_message = 3;

// Messages between two looks at the clock, as long as they are short: a look takes a part of the
// time of one.
constexpr unsigned messages_of_a_look = 4;

class raised_level {
public:
    raised_level() { KeRaiseIrql(DISPATCH_LEVEL, &before_); }
    ~raised_level() { KeLowerIrql(before_); }
    raised_level(const raised_level&) = delete;
    raised_level& operator=(const raised_level&) = delete;

private:
    KIRQL before_ = PASSIVE_LEVEL;
};

auto& place_of(ci::detail::descriptors& passed, open_descriptor which) {
    return passed[static_cast<std::size_t>(which)];
}

} // namespace

void served_posts::make_rings(ring_quota& memory, ci::detail::descriptors& passed) {
    auto& of_client = place_of(passed, open_descriptor::posts_of_client);
    auto& of_daemon = place_of(passed, open_descriptor::posts_of_daemon);
    client_memory_ = ring_memory(memory, sizeof(post_rings::client_part),
                                 ring_memory::others::may_write, of_client);
    if (client_memory_)
        own_memory_ = ring_memory(memory, sizeof(post_rings::daemon_part),
                                  ring_memory::others::may_read, of_daemon);
    if (!own_memory_) {
        of_client = {};
        return;
    }
    auto& written = client_memory_.as<post_rings::client_part>();
    auto& own = own_memory_.as<post_rings::daemon_part>();
    sends_.emplace(written.sends, own.sends, objects_, false);
    receives_.open(written.receives, own.receives);
    stores_.emplace(own.stores, written.stores);
}

// A send that this thread has seen may follow a receive of any client.
void served_posts::post_earlier_receives() {
    receives_.post_all();
    others_.post_all();
}

served_posts::result served_posts::post_sends(unsigned most) {
    result made = result::idle;
    while (sends_ && most != 0) {
        if (!sends_->has_seen()) {
            if (!sends_->see()) break;
            post_earlier_receives();
        }
        made = post_batch(most);
        if (made != result::worked) break;
    }
    return made;
}

// At DISPATCH_LEVEL no up-call of a queue is made, so that one moves the completions of all. A
// completion must not wait long for those of later messages.
served_posts::result served_posts::post_batch(unsigned& most) {
    const raised_level together;
    const ULONGLONG begin = KeQueryInterruptTime();
    ULONGLONG elapsed = 0;
    unsigned done = 0;
    unsigned next_look = 1;
    result made = result::worked;
    do {
        made = sends_->post_first();
        --most;
        if (++done < next_look) continue;
        elapsed = KeQueryInterruptTime() - begin;
        next_look += elapsed <= short_message * done ? messages_of_a_look : 1;
    } while (made == result::worked && most != 0 && sends_->has_seen() && elapsed < longest_batch);
    return made;
}

served_posts::result served_posts::post_some(unsigned most) {
    const result receives = receives_.post_all();
    return receives == result::violation ? receives : std::max(receives, post_sends(most));
}

bool served_posts::post_all() { return post_some(all) != result::violation; }

bool served_posts::serve(message received, wire::posted& reply) {
    const result before = post_some(all);
    if (before == result::violation) return false;
    if (before != result::blocked) {
        post_earlier_receives();
        return server_.serve(received, objects_, reply);
    }
    wire::header head{};
    std::memcpy(&head, received.data(), sizeof(head));
    reply = {{wire::kind::posted, head.verb, {}, 0, head.id}, STATUS_INSUFFICIENT_RESOURCES, 0, 0};
    return true;
}

bool served_posts::begin_sleep() {
    if (!receives_.begin_sleep()) return false;
    if (!sends_ || sends_->begin_sleep()) return true;
    receives_.end_sleep();
    return false;
}

void served_posts::end_sleep() {
    receives_.end_sleep();
    if (sends_) sends_->end_sleep();
}

} // namespace irpverbs::ual
