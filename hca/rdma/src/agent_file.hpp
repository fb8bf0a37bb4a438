// A MAD agent: its own umad file, watched and read.
#pragma once

#include "os_interface.hpp"
#include "outstanding_requests.hpp"

#include <ci/driver.h>

namespace irpverbs::hca_rdma {

/// The attributes of a port that do not change.
struct port_limits {
    bool infiniband;
    USHORT gids;
    USHORT pkeys;
};

class agent_file {
public:
    /// The agent receives datagrams until `made` is destroyed. A failure leaves `made` empty.
    static NTSTATUS open(const os_interface& os, const char* ca_name, const port_limits& port,
                         HCA_MAD_AGENT& agent, std::unique_ptr<agent_file>& made);
    /// IRQL: PASSIVE_LEVEL.
    ~agent_file();
    agent_file(const agent_file&) = delete;
    agent_file& operator=(const agent_file&) = delete;

    NTSTATUS send(const IB_MAD_SEND& what);

private:
    agent_file(const os_interface& os, const port_limits& port, HCA_MAD_AGENT& agent,
               int descriptor);

    const IB_MAD_AGENT_ATTR& attr() const { return agent_.Agent.Attr; }
    NTSTATUS register_agent();
    int try_register(bool rmpp, ULONG flags);
    NTSTATUS watch();

    NTSTATUS check(const IB_MAD_SEND& what) const;
    NTSTATUS transmit(std::span<UCHAR> message);
    int send_request(std::span<UCHAR> message, bool& repeated);
    int write(std::span<UCHAR> message);
    NTSTATUS failure(int error);

    bool read();
    bool make_room(int length);
    bool may_recover(int error);
    void shrink_buffer();
    void received(std::span<UCHAR> message);

    const os_interface& os_;
    const port_limits& port_;
    HCA_MAD_AGENT& agent_;
    int descriptor_;
    int id_ = 0; // number of the agent in the file
    outstanding_requests outstanding_;
    std::vector<UCHAR> buffer_;   // used by the reader only
    ULONGLONG failing_since_ = 0; // used by the reader only: time of the first failure in a row
    std::unique_ptr<dispatch::descriptor_watch> watch_;
};

} // namespace irpverbs::hca_rdma
