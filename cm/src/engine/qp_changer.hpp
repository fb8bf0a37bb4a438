// The changes of a connection's queue pair, one verb at a time.
#pragma once

#include <ci/ci.h>

#include <cstdint>
#include <optional>

namespace irpverbs::cm::engine {

struct connection;

enum class qp_goal : std::uint8_t {
    attributes, // CiQueryQp
    receive,    // INIT, then RTR
    send,       // RTS
    load_path,  // CiQueryQp for the state of path migration, then CiModifyQp
    stop,       // ERROR
};

/// The end of the changes for a goal.
struct qp_outcome {
    qp_goal goal;
    NTSTATUS status;
};

/// All members but `send_verb` are called under the port's lock.
class qp_changer {
public:
    explicit qp_changer(connection& owner) : owner_(owner) {}
    ~qp_changer();
    qp_changer(const qp_changer&) = delete;
    qp_changer& operator=(const qp_changer&) = delete;

    /// Allocates the IRP of the verbs. False: no memory.
    bool reserve();
    /// The queue pair that the client has given, in its first state.
    void set_qp(IB_QP* qp);
    /// A queue pair that the client changes: the changes here succeed without a verb.
    void set_numbers(ib_qpn_t qpn, ib_qp_type_t type, bool srq);

    /// Begins the changes. Returns true when the caller is to call send_verb after the lock. While
    /// others are in progress, only `stop` may be requested: it replaces those that are left.
    bool request(qp_goal goal);
    /// Sends the next verb. IRQL: <= DISPATCH_LEVEL, without the lock.
    void send_verb();
    /// The verb has ended. No value: another one is to be sent.
    std::optional<qp_outcome> advance(NTSTATUS status);

    /// The client changes the queue pair.
    bool is_client_changed() const { return qp_ == nullptr; }
    /// False: the queue pair is the client's.
    bool busy() const { return busy_; }
    /// Whether the queue pair is beyond INIT and not stopped.
    bool connected() const { return connected_; }
    /// After qp_goal::attributes.
    const ib_qp_attr_t& attributes() const { return attributes_; }
    bool has_srq() const { return srq_ || attributes_.h_srq != nullptr; }

private:
    static NTSTATUS completed(DEVICE_OBJECT*, IRP* irp, void* self);
    void report(NTSTATUS status);
    ib_qp_mod_t change() const;
    qp_outcome end(NTSTATUS status);
    bool queries() const {
        return goal_ == qp_goal::attributes || (goal_ == qp_goal::load_path && step_ == 0);
    }
    bool is_last_step() const {
        const bool has_two = goal_ == qp_goal::receive || goal_ == qp_goal::load_path;
        return !has_two || step_ != 0;
    }

    connection& owner_;
    IB_QP* qp_ = nullptr; // null: the client's
    IRP* irp_ = nullptr;
    qp_goal goal_{};
    unsigned step_ = 0;
    bool busy_ = false;
    bool stop_follows_ = false;
    bool connected_ = false;
    bool srq_ = false;
    ib_qp_attr_t attributes_{};
    ib_qp_mod_t change_{};
};

} // namespace irpverbs::cm::engine
