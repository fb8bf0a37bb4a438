/* Everything that a WDM-style driver includes. */
#ifndef IRPVERBS_IRP_WDM_H
#define IRPVERBS_IRP_WDM_H

#include <dispatch/ke.h>
#include <irp/csq.h>
#include <irp/device.h>
#include <irp/irp.h>
#include <irp/remove_lock.h>

#endif
