// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Kernel module: raises asynchronous events that soft-RoCE and siw do not raise by themselves, by
// the paths that drivers use. Programs write "DEVICE KIND NUMBER EVENT" to /proc/irpverbs_events,
// where EVENT is an ib_event_type and KIND one of
//     port    event of the port NUMBER, or of the device
//     qp      event of the queue pair NUMBER
//     cq srq  event of each such object of a program; NUMBER is ignored
//     unplug  no event: from now on the device can be removed while programs have it open, as that
//             of hardware can
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

// Copy of the declaration in drivers/infiniband/core/restrack.h, which modules can't include.
struct rdma_restrack_root {
    struct xarray xa;
    u32 next_id;
};

struct wanted {
    char device[IB_DEVICE_NAME_MAX];
    char kind[8];
    unsigned int number;
    unsigned int event;
};

static bool raise_qp_event(struct ib_qp* qp, const struct wanted* what, struct ib_event* event) {
    if (qp->qp_num != what->number || !qp->event_handler) return false;
    event->element.qp = qp;
    qp->event_handler(event, qp->qp_context);
    return true;
}

static bool raise_cq_event(struct ib_cq* cq, struct ib_event* event) {
    if (!cq->event_handler) return false;
    event->element.cq = cq;
    cq->event_handler(event, cq->cq_context);
    return true;
}

static bool raise_srq_event(struct ib_srq* srq, struct ib_event* event) {
    if (!srq->event_handler) return false;
    event->element.srq = srq;
    srq->event_handler(event, srq->srq_context);
    return true;
}

static bool raise_object_event(struct rdma_restrack_entry* entry, enum rdma_restrack_type type,
                               const struct wanted* what, struct ib_event* event) {
    switch (type) {
    case RDMA_RESTRACK_QP:
        return raise_qp_event(container_of(entry, struct ib_qp, res), what, event);
    case RDMA_RESTRACK_CQ:
        return raise_cq_event(container_of(entry, struct ib_cq, res), event);
    default:
        return raise_srq_event(container_of(entry, struct ib_srq, res), event);
    }
}

static int raise_for(struct ib_device* device, enum rdma_restrack_type type,
                     const struct wanted* what) {
    struct ib_event event = {.device = device, .event = what->event};
    struct rdma_restrack_entry* entry;
    unsigned long index;
    bool raised = false;

    xa_for_each(&device->res[type].xa, index, entry) {
        if (rdma_is_kernel_res(entry) || !rdma_restrack_get(entry)) continue;
        raised |= raise_object_event(entry, type, what, &event);
        rdma_restrack_put(entry);
    }
    return raised ? 0 : -ENOENT;
}

static void raise_of_port(struct ib_device* device, const struct wanted* what) {
    struct ib_event event = {
        .device = device, .event = what->event, .element.port_num = what->number};
    ib_dispatch_event(&event);
    flush_workqueue(ib_wq); // delivers this event before the next one
}

static void no_disassociate(struct ib_ucontext* context) {}

// Keeps the device's memory for ever, since rxe accesses it when the last mapping is removed.
static void release_object(struct ib_device* device) {
    get_device(&device->dev);
    device->ops.disassociate_ucontext = no_disassociate;
}

static int carry_out(struct ib_device* device, const struct wanted* what) {
    if (!strcmp(what->kind, "qp")) return raise_for(device, RDMA_RESTRACK_QP, what);
    if (!strcmp(what->kind, "cq")) return raise_for(device, RDMA_RESTRACK_CQ, what);
    if (!strcmp(what->kind, "srq")) return raise_for(device, RDMA_RESTRACK_SRQ, what);
    if (!strcmp(what->kind, "port"))
        raise_of_port(device, what);
    else if (!strcmp(what->kind, "unplug"))
        release_object(device);
    else
        return -EINVAL;
    return 0;
}

static ssize_t written(struct file* file, const char __user* text, size_t size, loff_t* offset) {
    char line[128];
    struct wanted what;
    struct ib_device* device;
    int error;

    if (size >= sizeof(line)) return -EINVAL;
    if (copy_from_user(line, text, size)) return -EFAULT;
    line[size] = 0;
    if (sscanf(line, "%63s %7s %u %u", what.device, what.kind, &what.number, &what.event) != 4)
        return -EINVAL;
    device = ib_device_get_by_name(what.device, RDMA_DRIVER_UNKNOWN);
    if (!device) return -ENODEV;
    error = carry_out(device, &what);
    ib_device_put(device);
    return error ? error : size;
}

static const struct proc_ops operations = {.proc_write = written};

static int __init begin(void) {
    return proc_create("irpverbs_events", 0200, NULL, &operations) ? 0 : -ENOMEM;
}

static void __exit end(void) { remove_proc_entry("irpverbs_events", NULL); }

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("raises asynchronous events of RDMA devices for tests");
