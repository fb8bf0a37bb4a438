/* The kernel executive's interface for drivers: one include for all of dispatch's C interface. */
#ifndef IRPVERBS_DISPATCH_KE_H
#define IRPVERBS_DISPATCH_KE_H

#include <dispatch/bugcheck.h>
#include <dispatch/dpc.h>
#include <dispatch/interlocked.h>
#include <dispatch/irql.h>
#include <dispatch/ntdef.h>
#include <dispatch/ntstatus.h>
#include <dispatch/object.h>
#include <dispatch/pool.h>
#include <dispatch/queue.h>
#include <dispatch/rundown.h>
#include <dispatch/spin_lock.h>
#include <dispatch/thread.h>
#include <dispatch/timer.h>
#include <dispatch/wait.h>
#include <dispatch/work_item.h>

#endif
