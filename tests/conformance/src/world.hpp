// What a case stands in: one HCA, attached for it, and hands to make things happen there.
#pragma once

#include "settings.hpp"
#include "verbs.hpp"

#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <initializer_list>

namespace irpverbs::conformance {

using testing::at_dispatch_level;
using testing::name_of;
using testing::verb_call;

/// Thrown: the case can't be tried here.
struct skipped {
    std::string reason;
};
/// Thrown after an expectation failed that all the rest of the case rests on.
struct abandoned {};

class world {
public:
    explicit world(const settings& chosen);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    DEVICE_OBJECT* fdo() const { return HcaFromGuid(guid_); }
    ib_guid_t guid() const { return guid_; }
    /// Of the last HCA of the URI, which may be the same.
    DEVICE_OBJECT* last_fdo() const { return HcaFromGuid(last_); }
    NTSTATUS detach() const { return HcaDetach(settings_.uri.c_str()); }
    /// About how many values of one kind to go through where there are more: as thorough as the
    /// run.
    std::uint64_t most_values() const { return 32 * settings_.seeds; }

    /// By the adapter; skips the case when that can't do it.
    void raise(IB_ASYNC_EVENT event, UCHAR port = 1) const;
    /// The same, for who can do without: STATUS_NOT_SUPPORTED, nothing happened.
    NTSTATUS try_to_raise(IB_ASYNC_EVENT event, UCHAR port = 1) const;
    void fail() const;
    NTSTATUS complete(IB_CQ* cq, const IB_WC& completion) const;

    /// Runs them at the same time, each on a thread of its own, and waits for their end.
    static void together(std::initializer_list<std::function<void()>> actors);

private:
    const settings& settings_;
    ib_guid_t guid_ = 0;
    ib_guid_t last_ = 0;
};

/// Sends a verb and waits for what it comes to; skips the case when the driver does not have it.
NTSTATUS answer(const verb& asked);

/// The same, for a verb without which the case can't go on: its Information.
ULONG_PTR must(const verb& asked);

#define EXPECT_STATUS(actual, expected) EXPECT_STREQ(name_of(actual), name_of(expected))

/// An open CA; its end closes it.
class ca {
public:
    explicit ca(const world& here, const IB_CA_DISPATCH* dispatch = nullptr,
                void* context = nullptr)
        : ca_(reinterpret_cast<IB_CA*>(must(open_ca(here.fdo(), context, dispatch)))) {}
    explicit ca(IB_CA* opened) : ca_(opened) {}
    ~ca() {
        if (ca_ != nullptr) close();
    }
    ca(const ca&) = delete;
    ca& operator=(const ca&) = delete;

    operator IB_CA*() const { return ca_; }
    IB_CA* get() const { return ca_; }
    /// Somebody else closes it.
    IB_CA* release() { return std::exchange(ca_, nullptr); }
    void close() { EXPECT_STATUS(verb_call(close_ca(release())).status(), STATUS_SUCCESS); }

private:
    IB_CA* ca_;
};

/// A completion queue; its end destroys it.
class cq {
public:
    explicit cq(IB_CA* parent, ULONG entries = 4, const IB_CQ_DISPATCH* dispatch = nullptr,
                void* context = nullptr)
        : cq_(reinterpret_cast<IB_CQ*>(must(create_cq(parent, entries, context, dispatch)))) {}
    explicit cq(IB_CQ* made) : cq_(made) {}
    ~cq() {
        if (cq_ != nullptr) destroy();
    }
    cq(const cq&) = delete;
    cq& operator=(const cq&) = delete;

    operator IB_CQ*() const { return cq_; }
    IB_CQ* operator->() const { return cq_; }
    IB_CQ* get() const { return cq_; }
    IB_CQ* release() { return std::exchange(cq_, nullptr); }
    void destroy() { EXPECT_STATUS(verb_call(destroy_cq(release())).status(), STATUS_SUCCESS); }

private:
    IB_CQ* cq_;
};

/// Verbs of an object that is being closed.
class late_calls {
public:
    explicit late_calls(std::vector<verb> all = {}) : all_(std::move(all)) {}
    void send();
    /// Of each that was sent; waits for them.
    void expect_closed();

private:
    std::vector<verb> all_;
    std::vector<verb_call> sent_;
};

/// A new completion queue; null when the driver makes none.
IB_CQ* cq_if_there_is(IB_CA* parent, ULONG entries = 4);

/// A whole block of attributes, in memory that is aligned for any.
class block {
public:
    explicit block(SIZE_T size) : bytes_(size / sizeof(std::uint64_t) + 1) {}
    void* get() { return bytes_.data(); }
    template <class Attr>
    const Attr& as() const {
        return *reinterpret_cast<const Attr*>(bytes_.data());
    }

private:
    std::vector<std::uint64_t> bytes_;
};

/// Queries as much as there is; `query(to, size)` makes the verb.
template <class Query>
block whole(const Query& query) {
    ULONG needed = 0;
    if (const NTSTATUS status = answer(query(&needed, sizeof(needed)));
        status != STATUS_BUFFER_OVERFLOW) {
        ADD_FAILURE() << "of 4 bytes: " << name_of(status);
        throw abandoned();
    }
    block all(needed);
    EXPECT_STATUS(answer(query(all.get(), needed)), STATUS_SUCCESS);
    return all;
}

inline block whole_port(IB_CA* of, UCHAR port = 1) {
    return whole([=](void* to, SIZE_T size) { return query_port(of, port, to, size); });
}

/// The next after the last, where the driver tells how many there are; any that can't be where not.
UCHAR port_beyond_the_last(IB_CA* of);

/// The verbs that end by themselves, with arguments that are good. Those of a completion queue only
/// when there is one. The buffers are the list's.
class good_calls {
public:
    good_calls(IB_CA* by, IB_CQ* queue);
    const std::vector<verb>& all() const { return all_; }

private:
    block ca_attr_{sizeof(IB_CA_ATTR)};
    block port_attr_{sizeof(IB_PORT_ATTR)};
    block cq_attr_{sizeof(IB_CQ_ATTR)};
    IB_MODIFY_CA modify_ca_{};
    IB_MODIFY_PORT modify_port_{};
    IB_WC entry_{};
    std::vector<verb> all_;
};

} // namespace irpverbs::conformance
