// The ports of a machine with communication management, and the device that receives its verbs.
#pragma once

#include "client.hpp"
#include "port.hpp"

#include <irp/device.h>

#include <vector>

namespace irpverbs::cm::engine {

class port_table {
public:
    /// Returns the table of the caller's machine.
    static port_table& current();

    port_table();
    ~port_table();
    port_table(const port_table&) = delete;
    port_table& operator=(const port_table&) = delete;

    /// For table_lock.
    KEVENT& lifecycle() { return free_; }

    /// Null without memory.
    DEVICE_OBJECT* device() const { return device_; }

    // The IRP is pended; a work item opens or closes the client and completes it. IRQL: <=
    // DISPATCH_LEVEL.
    void open(client& fresh);
    void close(client& gone);

private:
    static void open_in_work_item(void* context);
    static void close_in_work_item(void* context);
    NTSTATUS open_port(client& fresh);
    NTSTATUS find_or_open(client& fresh, boost::intrusive_ptr<cm_port>& found);
    void release(cm_port& at);

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
    KEVENT free_;
    std::vector<cm_port*> ports_; // changed under table_lock
};

} // namespace irpverbs::cm::engine
