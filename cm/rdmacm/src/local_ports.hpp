// The devices and ports of the program, opened for communication management.
#pragma once

#include "addresses.hpp"

#include <rdmacm/library.h>

#include <cm/cm.h>
#include <saa/ibmf_saa.h>

#include <boost/intrusive/list.hpp>

#include <deque>

namespace irpverbs::rdmacm {

struct cm_id;
struct local_device;

/// An id that uses a device: bound to it, or listening at one of its ports.
struct device_use : boost::intrusive::list_base_hook<> {
    explicit device_use(cm_id& its_user) : user(its_user) {}
    ~device_use() { end(); }
    device_use(const device_use&) = delete;
    device_use& operator=(const device_use&) = delete;

    /// Uses that device alone from now on. If it is gone already, that is reported at once.
    void begin(local_device& device);
    void end();

    cm_id& user;

private:
    local_device* device_ = nullptr;
};

/// A port of a device. It lives as long as the process, like its communication manager and its
/// session with subnet administration.
struct local_port {
    local_device* device;
    std::uint8_t number;
    IB_CM* cm = nullptr;
    ibmf_saa_handle_t sa = nullptr;
};

struct local_device {
    ibv_context* context;
    DEVICE_OBJECT* fdo;
    ibv_pd* pd;               // of ids for which the program gives none
    ibv_xrcd* xrcd = nullptr; // the same; open_xrc_domain
    ibv_device_attr limits;
    std::deque<local_port> ports;

    // Guarded by the lock:
    boost::intrusive::list<device_use> uses;
    bool is_gone = false;
};

/// The devices, opened by the first call. Empty: errno has the cause. IRQL: PASSIVE_LEVEL, as of
/// the functions below.
std::deque<local_device>& local_devices();

/// The port's LID and GIDs at this moment.
port_identity identity_of(const local_port& port);
bool is_active(const local_port& port);

/// True for a port of Ethernet, which has no SA.
bool is_ethernet(const local_port& port);

/// The port that has the address; null: none.
local_port* find_port(const ip_endpoint& address);
/// The first active port that may reach the address; null: none.
local_port* find_port_to(const ip_endpoint& address);
/// Whether the port has addresses of the destination's kind.
bool may_reach(const local_port& port, const ip_endpoint& address);

/// Opens the port's communication manager, or its session with subnet administration, unless that
/// is open. Returns an errno value.
int open_manager(local_port& port);
int open_session(local_port& port);

/// Opens the device's XRC domain, unless that is open. Returns an errno value.
int open_xrc_domain(local_device& device);

} // namespace irpverbs::rdmacm
