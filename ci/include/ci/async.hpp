/// The channel interface in C++: an async wrapper for every verb of ci/ci.h, ci/address.h,
/// ci/mad.h, ci/memory.h, ci/multicast.h, ci/qp.h, ci/srq.h, ci/transfer.h and ci/xrc.h.
///
/// A wrapper has the parameters of its verb (without IRP and CI_UDATA) and, last, a completion
/// token of Asio; the default token makes `co_await query_port(ca, 1)` of it. It completes with an
/// error_code of dispatch::status_category, and with the verb's result if there is one; statuses
/// and IRQL are the verb's. Handlers, executors, memory, cancellation slots and deadlines
/// (irp::within) are as in irp::call. A wrapper keeps its reference and value parameters itself,
/// except objects and spans. A query repeats itself with a larger buffer, so attributes are always
/// whole.
#pragma once

#include <ci/address_verbs.hpp>
#include <ci/attributes.hpp>
#include <ci/ca_verbs.hpp>
#include <ci/channel_adapter.hpp>
#include <ci/completion_queue.hpp>
#include <ci/cq_verbs.hpp>
#include <ci/event_stream.hpp>
#include <ci/mad_agent.hpp>
#include <ci/mad_verbs.hpp>
#include <ci/memory_verbs.hpp>
#include <ci/multicast_verbs.hpp>
#include <ci/qp_verbs.hpp>
#include <ci/reliable_datagram_verbs.hpp>
#include <ci/srq_verbs.hpp>
#include <ci/transfer_verbs.hpp>
#include <ci/xrc_verbs.hpp>
#include <irp/within.hpp>
