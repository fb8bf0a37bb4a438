// The environment of a case: one attached HCA, and functions that make things happen to it.
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

/// Thrown when the case cannot run here.
struct skipped {
    std::string reason;
};
/// Thrown after the failure of an expectation that the rest of the case depends on.
struct abandoned {};

class world {
public:
    explicit world(const settings& chosen);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    DEVICE_OBJECT* fdo() const { return HcaFromGuid(guid_); }
    ib_guid_t guid() const { return guid_; }
    /// The FDO of the last HCA of the URI, which may be the same as fdo().
    DEVICE_OBJECT* last_fdo() const { return HcaFromGuid(last_); }
    NTSTATUS detach() const { return HcaDetach(settings_.uri.c_str()); }
    /// The approximate number of values of one kind to try where there are more; it grows with the
    /// run's thoroughness.
    std::uint64_t most_values() const { return 32 * settings_.seeds; }

    /// Raises the event with the adapter; skips the case when the adapter cannot.
    void raise(IB_ASYNC_EVENT event, UCHAR port = 1) const;
    /// Raises the event if the adapter can; STATUS_NOT_SUPPORTED: nothing happened.
    NTSTATUS try_to_raise(IB_ASYNC_EVENT event, UCHAR port = 1) const;
    void fail() const;
    NTSTATUS complete(IB_CQ* cq, const IB_WC& completion) const;

    /// Runs all actors at the same time, each on its own thread, and waits for their end.
    static void together(std::initializer_list<std::function<void()>> actors);

private:
    const settings& settings_;
    ib_guid_t guid_ = 0;
    ib_guid_t last_ = 0;
};

/// Sends a verb and returns its final status; skips the case when the driver does not have the
/// verb.
NTSTATUS status_of(const verb& asked);

/// Sends a verb that the case depends on, and returns its Information. Skips the case when the
/// driver does not have the verb; throws `abandoned` after any other failure.
ULONG_PTR must(const verb& asked);

#define EXPECT_STATUS(actual, expected) EXPECT_STREQ(name_of(actual), name_of(expected))

/// An open CA; the destructor closes it.
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
    /// Releases the CA; the caller closes it.
    IB_CA* release() { return std::exchange(ca_, nullptr); }
    void close() { EXPECT_STATUS(verb_call(close_ca(release())).status(), STATUS_SUCCESS); }

private:
    IB_CA* ca_;
};

/// A completion queue; the destructor destroys it.
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

/// Verbs that are sent to an object during its close.
class late_calls {
public:
    explicit late_calls(std::vector<verb> all = {}) : all_(std::move(all)) {}
    void send();
    /// Waits for each sent verb, and expects STATUS_FILE_CLOSED.
    void expect_closed();

private:
    std::vector<verb> all_;
    std::vector<verb_call> sent_;
};

/// A new completion queue; null when the driver has none.
IB_CQ* cq_if_there_is(IB_CA* parent, ULONG entries = 4);

/// A whole block of attributes, in memory aligned for every attribute type.
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

/// Queries the whole block; `query(to, size)` returns the verb.
template <class Query>
block whole(const Query& query) {
    ULONG needed = 0;
    if (const NTSTATUS status = status_of(query(&needed, sizeof(needed)));
        status != STATUS_BUFFER_OVERFLOW) {
        ADD_FAILURE() << "of 4 bytes: " << name_of(status);
        throw abandoned();
    }
    block all(needed);
    EXPECT_STATUS(status_of(query(all.get(), needed)), STATUS_SUCCESS);
    return all;
}

inline block whole_port(IB_CA* of, UCHAR port = 1) {
    return whole([=](void* to, SIZE_T size) { return query_port(of, port, to, size); });
}

/// The number after the last port if the driver reports the number of ports, otherwise one that
/// cannot exist.
UCHAR port_beyond_the_last(IB_CA* of);

/// The verbs that complete by themselves, with valid arguments; those of a completion queue only
/// when there is one. The list owns the buffers.
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
