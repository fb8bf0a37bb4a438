// An open communication manager: what CmOpen returns.
#pragma once

#include <cm/cm.h>
#include <dispatch/work_item.h>

#include <boost/smart_ptr/intrusive_ptr.hpp>

namespace irpverbs::cm::engine {

class cm_port;

struct client {
    static client& of(IB_CM* object) { return *reinterpret_cast<client*>(object); }
    IB_CM* object() { return reinterpret_cast<IB_CM*>(this); }

    IB_CA* ca = nullptr; // until the end of CmOpen
    UCHAR number = 0;
    ULONG flags = 0;
    IRP* irp = nullptr; // of CmOpen or CmClose, which a work item executes
    WORK_QUEUE_ITEM item{};
    boost::intrusive_ptr<cm_port> at;
    std::size_t children = 0; // listeners, connections, verbs; guarded by the port's lock
};

} // namespace irpverbs::cm::engine
