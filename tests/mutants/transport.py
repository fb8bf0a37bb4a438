"""Mistakes in the transport of the software HCA, each of which its tests must find."""
TARGET = "transport_test"
FOLDER = "tests/hca/transport"
LEAST = 95
HERE = "hca/software/src/transport/"
REQUESTER, SENDING, RESPONSES = (HERE + name for name in
                                 ("requester.cpp", "requester_sending.cpp", "requester_responses.cpp"))
RESPONDER, EXECUTION, ANSWERS = (HERE + name for name in
                                 ("responder.cpp", "responder_execution.cpp", "responder_answers.cpp"))
QUEUE_PAIR, STRAIGHT, FORMAT = (HERE + name for name in
                                ("queue_pair.cpp", "straight_through.cpp", "packet_format.cpp"))
SHARED, RECEIVES = (HERE + name for name in ("shared_receive_queue.cpp", "receive_queue.cpp"))
SCATTER = HERE + "scatter_gather.cpp"
RESOURCES = HERE + "read_resources.cpp"

# name, mutated file, [(text, replacement)...]
MISTAKES = [
    # ---- requester: packet numbers and retries
    ("read_takes_one_number", SENDING,
     [("what.is_atomic() ? 1 : packets_of(static_cast<ULONG>(what.length), shared_.mtu());",
       "what.is_read_or_atomic() ? 1 : packets_of(static_cast<ULONG>(what.length), shared_.mtu());")]),
    ("next_number_off_by_one", SENDING,
     [("    next_number_ = next_number_ + count;\n", "    next_number_ = next_number_ + count + 1;\n")]),
    ("window_without_end", SENDING,
     [("next_.since(unacknowledged_) >= max_unacknowledged;", "false;")]),
    ("fence_ignored", SENDING,
     [("    if (what.is_option(IB_SEND_OPT_FENCE) && reads_ != 0) return false;\n", "")]),
    ("too_many_reads", SENDING,
     [("reads_ != 0 && reads_ >= shared_.attr.init_depth", "reads_ > shared_.attr.init_depth")]),
    ("credits_ignored", SENDING,
     [("           !is_beyond((sequence_ + 1) & psn::mask, (credit_limit_ + 1) & psn::mask);", "           true;")]),
    ("credit_lost", RESPONSES,
     [("(from.msn + credits[code]) & psn::mask", "(from.msn + credits[code] - 2) & psn::mask")]),
    ("last_packet_requests_no_acknowledgement", SENDING,
     [("(is_last || unrequested_ + 1 >= acknowledge_interval)", "(unrequested_ + 1 >= acknowledge_interval)")]),
    ("read_resumed_at_its_beginning", SENDING,
     [("{what.remote.vaddr + done, what.remote.rkey,", "{what.remote.vaddr, what.remote.rkey,")]),
    ("compare_and_swap_exchanged", SENDING,
     [("swaps ? what.remote.atomic1 : 0};", "swaps ? what.remote.atomic2 : 0};")]),
    ("solicited_forgotten", SENDING,
     [("    made.solicited = is_last && what.needs_receive() && what.is_option(IB_SEND_OPT_SOLICITED);\n", "")]),
    ("wrong_request_completes_before_the_earlier", SENDING,
     [("    if (!is_oldest && (status", "    if (false && (status")]),
    ("invalid_data_segments_sent", SENDING,
     [("return accessible ? IB_WC_SUCCESS : IB_WC_LOCAL_PROTECTION_ERROR;", "return accessible ? IB_WC_SUCCESS : IB_WC_SUCCESS;")]),
    ("retries_never_end", REQUESTER,
     [("    --retries_left_;\n", "")]),
    ("retry_begins_behind_the_lost", REQUESTER,
     [("    next_ = unacknowledged_;\n    unrequested_ = 0;", "    next_ = unacknowledged_ + 1;\n    unrequested_ = 0;")]),
    ("rnr_timer_not_awaited", RESPONSES,
     [("    rnr_until_ = shared_.owner.now() + rnr_time(timer_code);\n", "    rnr_until_ = shared_.owner.now() + 1;\n")]),
    ("rnr_does_not_go_back", RESPONSES,
     [("    recovering_ = false;\n    rewind();\n", "    recovering_ = false;\n")]),
    ("rnr_retries_not_counted", RESPONSES,
     [("    if (rnr_retries_left_ != endless) --rnr_retries_left_;\n", "")]),
    ("rnr_without_end_ends", RESPONSES,
     [("    if (rnr_retries_left_ != endless) --rnr_retries_left_;\n", "    --rnr_retries_left_;\n")]),
    ("progress_does_not_refill_retries", RESPONSES,
     [("    unacknowledged_ = number;\n    retries_left_ = shared_.attr.retry_cnt;\n", "    unacknowledged_ = number;\n")]),
    ("acknowledgement_passes_over_a_read", RESPONSES,
     [("        complete = !what.is_read_or_atomic();\n", "        complete = true;\n")]),
    ("nak_acknowledges_its_own_packet", RESPONSES,
     [("why > failed_operation || !acknowledge_until(number)) return;",
       "why > failed_operation || !acknowledge_until(number + 1)) return;")]),
    ("read_response_of_wrong_length_accepted", RESPONSES,
     [("        return fail(IB_WC_LOCAL_LENGTH_ERROR);\n", "        return;\n")]),
    ("ghost_acknowledgement_brings_no_credits", RESPONSES,
     [("            update_credits(what.acknowledge);\n        return;", "            return;\n        return;")]),
    ("unsignaled_error_is_silent", HERE + "requester.hpp",
     [("    if (status == IB_WC_SUCCESS && !is_signaled) return;", "    if (!is_signaled) return;")]),
    # ---- responder
    ("duplicate_executed_again", RESPONDER,
     [("    if (what.number.is_before(expected_)) return receive_duplicate(what);\n",
       "    if (what.number.is_before(expected_)) return receive_expected(what);\n")]),
    ("atomic_executed_twice_on_a_duplicate", RESPONDER,
     [("    if (known != nullptr && known->what == what.row().what) known->pending = true;\n",
       "    ULONGLONG ignored = 0;\n"
       "    UCHAR* at = shared_.memory.find(what.atomic.rkey, what.atomic.address, atomic_size, IB_AC_ATOMIC);\n"
       "    if (at != nullptr) perform(what.atomic, what.row().what, at, ignored);\n"
       "    if (known != nullptr && known->what == what.row().what) known->pending = true;\n")]),
    ("gap_not_reported", RESPONDER,
     [("    reply_ = {expected_, wrong_sequence};\n", "")]),
    ("every_packet_behind_a_gap_reported", RESPONDER,
     [("    if (nak_sent_) return;\n    nak_sent_ = true;\n    reply_ = {expected_, wrong",
       "    nak_sent_ = true;\n    reply_ = {expected_, wrong")]),
    ("duplicate_not_acknowledged", RESPONDER,
     [("    reply_ = {expected_ - 1, 0};\n", "")]),
    ("stale_key_replayed", RESPONDER,
     [("    if (from.length != 0 &&\n        shared_.memory.find(from.rkey, from.address, from.length, IB_AC_RDMA_READ) == nullptr)\n        return;\n",
       "")]),
    ("rights_of_the_queue_pair_ignored", HERE + "responder.hpp",
     [("    if (what == operation::write) return (granted & IB_AC_RDMA_WRITE) != 0;", "    if (what == operation::write) return true;")]),
    ("unaligned_atomic_executed", RESPONDER,
     [("place == nullptr || on.address % atomic_size != 0", "place == nullptr")]),
    ("middle_without_first_accepted", RESPONDER,
     [("return row.is_first() ? message_.what == operation::reserved : message_.what == row.what;", "return true;")]),
    ("establishment_reported_with_each_packet", RESPONDER,
     [("    established_ = true;\n", "")]),
    ("write_not_checked_as_a_whole", EXECUTION,
     [("if (whole == nullptr || at == nullptr ||", "if ((whole == nullptr && at == nullptr) || at == nullptr ||")]),
    ("write_longer_than_told", EXECUTION,
     [("what.row().is_last() ? end == target.length : end < target.length", "end <= target.length || true")]),
    ("send_longer_than_the_receive", EXECUTION,
     [("    if (end > max_message || end > receive_.length)", "    if (end > max_message)")]),
    ("message_number_forgotten", EXECUTION,
     [("    messages_ = (messages_ + 1) & psn::mask;\n    if (consumes)", "    if (consumes)")]),
    ("read_counts_no_message", RESPONDER,
     [("    messages_ = (messages_ + 1) & psn::mask;\n    nak_sent_ = false;", "    nak_sent_ = false;")]),
    ("write_with_immediate_needs_no_receive", EXECUTION,
     [("return !row.has(has_immediate) || has_receive();", "return true;")]),
    ("immediate_lost", EXECUTION,
     [("        entry.Immediate = what.immediate;\n", "")]),
    ("full_packets_may_be_short", EXECUTION,
     [("        return size == shared_.mtu();", "        return size <= shared_.mtu();")]),
    ("part_of_a_lost_message_kept", EXECUTION,
     [("    if (row.what == operation::reserved || (is_wrong && !row.is_first())) message_.dropped = true;\n",
       "    if (row.what == operation::reserved) message_.dropped = true;\n")]),
    ("wrong_q_key_accepted", EXECUTION,
     [(" || what.datagram.qkey != shared_.attr.qkey) return;", ") return;")]),
    ("receives_flushed_out_of_order", EXECUTION,
     [("    if (has_receive_) complete_receive(IB_WC_FLUSHED);\n    message_ = {};\n    if (shares_receives()) return report_last();\n"
       "    while (ensure_receive())\n        complete_receive(IB_WC_FLUSHED);\n",
       "    const receive_request active = receive_;\n    const bool had = has_receive_;\n    has_receive_ = false;\n"
       "    while (ensure_receive())\n        complete_receive(IB_WC_FLUSHED);\n"
       "    if (had) {\n        receive_ = active;\n        complete_receive(IB_WC_FLUSHED);\n    }\n")]),
    # ---- shared receive queues
    ("shared_receives_flushed", EXECUTION,
     [("    if (shares_receives()) return report_last();\n", "")]),
    ("last_receive_reported_again", EXECUTION,
     [("    if (std::exchange(reported_last_, true)) return;\n", "")]),
    ("last_receive_reported_once_for_all", EXECUTION,
     [("has_receive_ = reported_last_ = false;", "has_receive_ = false;")]),
    ("credits_of_shared_receives", ANSWERS,
     [("shares_receives() ? no_credits : credit_code(queue_.count())", "credit_code(queue_.count())")]),
    ("write_completes_without_its_receive", EXECUTION,
     [("    if (consumes && !ensure_receive()) return false;\n", "")]),
    ("write_goes_on_behind_its_lost_receive", RESPONDER,
     [("        message_ = before;\n", "")]),
    ("shared_receives_by_the_keys_of_the_queue_pair", HERE + "responder.hpp",
     [("return shares_receives() ? shared_.shared_receives->memory() : shared_.memory;", "return shared_.memory;")]),
    ("long_datagram_keeps_its_shared_receive", EXECUTION,
     [("        if (shares_receives()) complete_receive(IB_WC_REMOTE_ABORTED);\n", "")]),
    ("limit_is_reached_with_it", SHARED, [("queue_.count() >= limit_", "queue_.count() > limit_")]),
    ("limit_stays", SHARED, [("    limit_ = 0;\n    return true;", "    return true;")]),
    ("limit_not_compared_when_set", SHARED,
     [("    reached_limit = reach_limit();\n    return STATUS_SUCCESS;", "    return STATUS_SUCCESS;")]),
    ("limit_beyond_the_queue", SHARED, [(" || limit > depth) return", ") return")]),
    ("smaller_than_its_receives", SHARED, [("depth < queue_.count() || ", "")]),
    ("resize_forgets_the_segments", RECEIVES,
     [("        std::ranges::copy(list, &made.segments_[std::size_t{made.end_} * max_segments_]);\n", "")]),
    ("straight_takes_a_receive_for_nothing", STRAIGHT,
     [("!gather_local(what, length, content) || !to_.ensure_receive()", "!to_.ensure_receive() || !gather_local(what, length, content)")]),
    ("straight_write_without_a_shared_receive", STRAIGHT,
     [("    if (brings_immediate(what) && to_.shares_receives() && !to_.ensure_receive()) return false;\n", "")]),
    ("straight_with_shared_receives_keeps_credits", STRAIGHT,
     [("    if (to_.shares_receives()) from_.unlimited_ = true;\n", "")]),
    ("acknowledgement_overtakes_a_read", ANSWERS,
     [("    while (read_resource* pending = resources_.oldest_pending())\n"
       "        if (!(pending->reads() ? send_read_packet(*pending) : send_atomic(*pending))) return;\n"
       "    all_sent_ = !reply_ || send_reply();\n",
       "    all_sent_ = !reply_ || send_reply();\n"
       "    while (read_resource* pending = resources_.oldest_pending())\n"
       "        if (!(pending->reads() ? send_read_packet(*pending) : send_atomic(*pending))) return;\n")]),
    ("responses_of_one_read_only", RESOURCES,
     [("        if (each.pending) return &each;", "        if (each.pending && newest_ != 0) return &each;")]),
    # ---- both, and the way past them
    ("error_leaves_the_sends", QUEUE_PAIR,
     [("    if (is_flushing(shared_.state)) requester_.flush();\n", "")]),
    ("drained_too_early", QUEUE_PAIR,
     [("shared_.state == IB_QPS_SQD_DRAINING && requester_.is_drained()", "shared_.state == IB_QPS_SQD_DRAINING")]),
    ("straight_past_what_is_outstanding", HERE + "requester.hpp",
     [("return shared_.state == IB_QPS_RTS && queue_.is_empty() && rnr_until_ == 0;",
       "return shared_.state == IB_QPS_RTS && rnr_until_ == 0;")]),
    ("straight_without_the_peers_rights", STRAIGHT,
     [("    if (!to_.is_granted(operation::write)) return false;\n", "")]),
    ("straight_forgets_the_peers_number", STRAIGHT,
     [("    to_.expected_ = to_.expected_ + packets_;\n", "")]),
    ("straight_forgets_the_credits", STRAIGHT,
     [("    if (!unlimited_) credit_limit_ = credit_limit & psn::mask;\n", "")]),
    ("straight_atomic_without_a_place", STRAIGHT,
     [("at == nullptr || !scatter(from_.shared_.memory, list_of(what), 0, result)) return false;", "at == nullptr) return false;")]),
    ("straight_ignores_the_end_of_the_receive", STRAIGHT,
     [("        if (length > into[0].length) return false;\n", "")]),
]

# The sources whose code of a header counts.
SOURCES = [REQUESTER, SENDING, RESPONSES, RESPONDER, EXECUTION, ANSWERS, QUEUE_PAIR, STRAIGHT]
ROWS = [(name, "*", file, changes, *([SOURCES] if file.endswith(".hpp") else []))
        for name, file, changes in MISTAKES]


def arguments_of(_):
    return ["--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=-Dissection*"]
