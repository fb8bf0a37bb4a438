// A service id that this end resolves to a queue pair: CmResolveUd.
#pragma once

#include "effects.hpp"
#include "parked_irps.hpp"
#include "path_query.hpp"

#include <cm/cm.h>

namespace irpverbs::cm::engine {

struct client;

struct resolution final : port_object {
    /// Null without memory.
    static boost::intrusive_ptr<resolution> make(client& its_owner) noexcept;

    // The caller of the functions below holds the port's lock.

    /// STATUS_PENDING: the IRP is parked. Otherwise the caller completes it.
    NTSTATUS begin(IRP* irp, const ib_cm_resolve_ud_t& wanted, ib_cm_ud_reply_t* reply,
                   effects& fx);
    void take_response(const sidr_rep_message& from, effects& fx);

    void on_time(effects& fx) override;
    void cancelled(IRP* irp, verb which, effects& fx) override;

    const std::uint32_t id;
    boost::intrusive::set_member_hook<> by_id;

private:
    explicit resolution(client& its_owner);

    static bool has_valid(const ib_cm_resolve_ud_t& wanted, const cm_port& at);
    static void path_ended(port_object& self, NTSTATUS status, const sa_path_record_t* found,
                           effects& fx);
    void send_request(effects& fx);
    void repeat(effects& fx);
    NTSTATUS fill_reply(const sidr_rep_message& from);
    void finish(NTSTATUS status, effects& fx);
    void end(IRP* irp, NTSTATUS status, effects& fx);

    client& owner_; // which counts this object as a child
    const boost::intrusive_ptr<cm_port> at_;
    sidr_req_message request_;
    datagram_address peer_;
    datagram sent_{};
    sa_path_record_t path_{};
    std::uint8_t retries_left_ = 0;
    std::uint8_t response_timeout_ = 0;
    bool is_sent_ = false;
    path_query query_;
    parked_irps waits_; // one
    ib_cm_ud_reply_t* reply_ = nullptr;
};

} // namespace irpverbs::cm::engine
