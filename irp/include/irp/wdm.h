/* All headers that a WDM-style driver includes. */
#ifndef IRPVERBS_IRP_WDM_H
#define IRPVERBS_IRP_WDM_H

#include <dispatch/ke.h>
#include <irp/build.h>
#include <irp/completion_port.h>
#include <irp/csq.h>
#include <irp/device.h>
#include <irp/device_interface.h>
#include <irp/device_queue.h>
#include <irp/device_security.h>
#include <irp/device_stack.h>
#include <irp/driver_extension.h>
#include <irp/file.h>
#include <irp/interrupt.h>
#include <irp/io_timer.h>
#include <irp/ioctl.h>
#include <irp/irp.h>
#include <irp/mdl.h>
#include <irp/registry.h>
#include <irp/remove_lock.h>
#include <irp/shutdown.h>
#include <irp/start_io.h>
#include <irp/work_item.h>

#endif
