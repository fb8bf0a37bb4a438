/// The channel interface in C++: a twin for every verb of ci/ci.h and ci/mad.h.
///
/// A twin takes what its verb takes (no IRP, no CI_UDATA) and, last, a completion token of Asio, by
/// default one that makes `co_await query_port(ca, 1)` of it. It completes with an error_code of
/// dispatch::status_category, and with the verb's result where it has one; statuses and IRQL are
/// the verb's. Handlers, executors, memory, cancellation slots and deadlines (irp::within) are as
/// in irp::call; what a twin takes by reference or value it keeps itself, but for objects and
/// spans. Attributes come whole: a buffer that is too small is asked for again inside.
#pragma once

#include <ci/attributes.hpp>
#include <ci/ca_verbs.hpp>
#include <ci/channel_adapter.hpp>
#include <ci/completion_queue.hpp>
#include <ci/cq_verbs.hpp>
#include <ci/event_stream.hpp>
#include <ci/mad_agent.hpp>
#include <ci/mad_verbs.hpp>
#include <irp/within.hpp>
