// Agents and datagrams: each case sends to its own port, which every driver supports.
#pragma once

#include "recorder.hpp"

#include <array>

namespace irpverbs::conformance {

/// Attributes of a vendor class without OUI. Without methods, the agent receives only responses.
IB_MAD_AGENT_ATTR agent_attr(bool receives, UCHAR port = 1);

/// A registered agent; the destructor deregisters it.
class agent {
public:
    explicit agent(IB_CA* by, const IB_MAD_AGENT_ATTR& attr = agent_attr(true),
                   const IB_MAD_DISPATCH* dispatch = nullptr, void* context = nullptr)
        : agent_(
              reinterpret_cast<IB_MAD_AGENT*>(must(register_agent(by, &attr, context, dispatch)))) {
    }
    ~agent() {
        if (agent_ != nullptr) deregister();
    }
    agent(const agent&) = delete;
    agent& operator=(const agent&) = delete;

    operator IB_MAD_AGENT*() const { return agent_; }
    IB_MAD_AGENT* get() const { return agent_; }
    IB_MAD_AGENT* release() { return std::exchange(agent_, nullptr); }
    void deregister() {
        EXPECT_STATUS(verb_call(deregister_agent(release())).status(), STATUS_SUCCESS);
    }

private:
    IB_MAD_AGENT* agent_;
};

/// A datagram, with a number in its data, to the port that sends it.
class datagram {
public:
    datagram(IB_CA* by, ULONG number);
    datagram(const datagram&) = delete;
    datagram& operator=(const datagram&) = delete;

    const IB_MAD_SEND* get() const { return &send_; }
    IB_MAD_SEND& send() { return send_; }
    std::array<UCHAR, IB_MAD_SIZE>& data() { return data_; }

private:
    std::array<UCHAR, IB_MAD_SIZE> data_{};
    IB_MAD_SEND send_{};
};

void send(IB_CA* by, IB_MAD_AGENT* from, ULONG number);

/// A buffer for a datagram, and the wait for it.
class reception {
public:
    reception() { into.Data = data.data(), into.Size = IB_MAD_SIZE; }
    explicit reception(IB_MAD_AGENT* at) : reception() { call.send(get_mad(at, &into)); }
    reception(const reception&) = delete;
    reception& operator=(const reception&) = delete;

    /// Waits for the datagram and returns its number.
    ULONG number();

    std::array<UCHAR, IB_MAD_SIZE> data{};
    IB_MAD_RECEIVE into{};
    verb_call call;
};

} // namespace irpverbs::conformance
