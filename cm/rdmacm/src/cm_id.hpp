// Ids: the ends of connections and services as programs know them.
#pragma once

#include "addresses.hpp"
#include "event_channel.hpp"
#include "local_ports.hpp"
#include "operation.hpp"
#include "port_claim.hpp"

#include <cm/cm.h>
#include <saa/support/requests.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace irpverbs::rdmacm {

struct cm_id;
struct listener;
struct membership;

/// A wait for an event of the id's connection: its end, and the end of its time wait.
struct connection_end {
    explicit connection_end(cm_id& its_owner);

    /// Allocates what the wait needs. False: no memory.
    bool reserve();
    void start();

    cm_id& owner;
    operation wait;
    ib_cm_event_t came{};
    event_ptr event;

private:
    static void ended(void* self, NTSTATUS status, ULONG_PTR information);
};

/// How far the program has come with an id. Each of its operations is for one of these, as in
/// rdma_cm, and EINVAL in the others.
enum class progress : std::uint8_t {
    none, // also of a bound id
    resolving_address,
    address_resolved,
    route_resolved,
    connecting, // and all that comes after it; of a request from the beginning
    listening
};

/// An id, with the results of its operations. Two threads may use two ids;
/// one id is used by one thread at a time, beside the completions of its operations.
struct cm_id : rdma_cm_id {
    cm_id();
    ~cm_id();
    cm_id(const cm_id&) = delete;
    cm_id& operator=(const cm_id&) = delete;

    /// Null: there is no memory.
    static std::unique_ptr<cm_id> make(rdma_port_space ps, ibv_qp_type type) noexcept;
    static cm_id& of(rdma_cm_id* shown) { return *static_cast<cm_id*>(shown); }
    rdma_cm_id* shown() { return this; }

    bool is_datagram() const { return qp_type == IBV_QPT_UD; }
    ib_qp_type_t connection_type() const;
    ib_svc_id_t service_id(std::uint16_t port_number) const {
        return IbCmServiceId(static_cast<USHORT>(ps), port_number);
    }

    /// Goes on from one stage to the next. False: the id is at another one, and stays there.
    bool advance(progress from, progress to) { return stage.compare_exchange_strong(from, to); }

    // binding.cpp
    /// Binds the id to a port of a device.
    void bind_to(local_port& port);
    void set_source(const ip_endpoint& address);
    void set_destination(const ip_endpoint& address);
    ip_endpoint source() const { return *parse(&route.addr.src_addr); }
    ip_endpoint destination() const { return *parse(&route.addr.dst_addr); }
    bool has_path() const { return path.Mtu != 0; }
    /// Whether "any address" is any of its own family. As in the kernel, where IPV6_V6ONLY is not
    /// the rule.
    bool is_of_one_family() const { return family_only.value_or(source().family == AF_INET); }
    bool is_bound() const { return route.addr.src_addr.sa_family != AF_UNSPEC; }

    /// The id has its path: reports RDMA_CM_EVENT_ADDR_RESOLVED.
    void report_path();
    /// Reports the end of rdma_resolve_addr.
    void report_address();
    void report_no_address();
    /// Reports an event to the program. `counted_by`: the id that waits for its acknowledgement.
    /// False: rdma_destroy_id of that is in progress, and nothing has changed. IRQL: <=
    /// DISPATCH_LEVEL.
    static bool emit(cm_id& counted_by, event_ptr& made);
    /// Reports an event of this id. No effect without an event.
    void emit(event_ptr made, rdma_cm_event_type type, int status = 0);

    /// Reports once that its device is gone. No effect on an id that the program does not know yet,
    /// or destroys. The caller holds the lock. IRQL: <= DISPATCH_LEVEL.
    void report_removal();

    /// Waits for the events of the connection. They come after this call only.
    void await_ends();
    /// The peer has disconnected, or rdma_disconnect has ended: reports
    /// RDMA_CM_EVENT_DISCONNECTED, once.
    void report_disconnected(event_ptr made);
    /// The time wait is over: reports RDMA_CM_EVENT_TIMEWAIT_EXIT, of a connection after its
    /// RDMA_CM_EVENT_DISCONNECTED: their two IRPs may complete on two processors at once.
    void report_exit(event_ptr made);

    std::unique_ptr<event_channel> own_channel; // of a synchronous id
    local_port* at = nullptr;                   // null: not bound to a device
    device_use use;                             // of its device
    std::uint16_t reserved_port = 0;            // 0: none
    port_claim claim;                           // to it
    bool reuses_address = false;
    std::optional<bool> family_only; // RDMA_OPTION_ID_AFONLY
    std::atomic<progress> stage{progress::none};
    std::uint8_t type_of_service = 0;
    std::optional<std::uint8_t> ack_timeout; // for the queue pair

    EX_RUNDOWN_REF operations;
    operation resolve;    // the path to the destination
    operation request;    // a connection: CmConnect, CmAccept, CmResolveUd
    operation disconnect; // CmDisconnect
    std::array<connection_end, 2> ends;

    saa::detail::access_request access; // of `resolve`
    event_ptr resolved;
    sa_path_record_t path{};
    ib_cm_reply_t reply{};
    ib_cm_ud_reply_t ud_reply{};
    event_ptr requested;
    event_ptr disconnected; // of `disconnect`

    std::atomic<IB_CM_CONNECTION*> connection{nullptr};
    IB_CM_UD_REQUEST* ud_request = nullptr;
    bool is_passive = false;
    std::atomic<bool> is_connected = false;       // it was once
    bool is_accepted = false;                     // a connection, by the program
    bool is_established = false;                  // as the program knows
    std::uint8_t offered_responder_resources = 0; // by a request
    std::uint8_t offered_initiator_depth = 0;

    std::vector<std::unique_ptr<membership>> groups;
    std::vector<std::unique_ptr<listener>> listeners;
    ibv_pd* requests_pd = nullptr; // of rdma_get_request, like the next
    std::optional<ibv_qp_init_attr> requests_qp;

    bool owns_send_cq = false; // made by rdma_create_qp, like the next
    bool owns_recv_cq = false;

    // Guarded by the lock:
    event_ptr removed; // of report_removal
    bool is_destroyed = false;
    bool has_reported_end = false; // RDMA_CM_EVENT_DISCONNECTED
    event_ptr early_exit;          // RDMA_CM_EVENT_TIMEWAIT_EXIT of a connection before its end
    unsigned events_taken = 0;

    unsigned events_acknowledged = 0; // guarded by the lock of acknowledgements

private:
    static void resolve_ended(void* self, NTSTATUS status, ULONG_PTR information);
    static void request_ended(void* self, NTSTATUS status, ULONG_PTR information);
    static void disconnect_ended(void* self, NTSTATUS status, ULONG_PTR information);

    /// Adds an event of this id. No effect without an event. The caller holds the lock.
    void add(event_ptr made, rdma_cm_event_type type, int status = 0);

    void connect_ended(NTSTATUS status, ULONG_PTR information);
    void accept_ended(NTSTATUS status);
    void service_resolved(NTSTATUS status);
    void fail_request(NTSTATUS status);
};

/// Destroys an id: its operations end, its connection ends, and no event of it is reported any
/// more. Waits for the acknowledgement of those that were. IRQL: PASSIVE_LEVEL.
void destroy(cm_id* id);

/// Binds an id to an address and a port number; 0: any. `claims`: other processes must not have it.
/// Returns an errno value.
int bind(cm_id& id, const ip_endpoint& wanted, bool claims);
/// A bound id will listen: no other may share its number. Returns an errno value.
int claim_alone(cm_id& id);
void release_port(cm_id& id);

/// The steps of the program's thread for an event that it takes.
void finish_taken(queued_event& event);
void finish_request(queued_event& event);
void finish_join(queued_event& event);

/// Whether the parameters are there, and within the limits of the device.
bool is_valid(const cm_id& id, const rdma_conn_param* param);

/// The steps of a connection's queue pair. Return an errno value.
int to_init(cm_id& id);
int to_connected(cm_id& id, std::uint8_t responder_resources, std::uint8_t initiator_depth);
int to_error(cm_id& id);

/// Returns -1 with errno for an error number, else 0.
int as_result(int error);

} // namespace irpverbs::rdmacm
