"""Mistakes at the boundary between processes, each of which the tests of "user:" must find.

A name with a number behind "w" is that of a mistake with a counterpart in a historical user access layer;
docs/decisions/process-boundary.md lists the mistakes without counterpart.
"""
TARGET = "hca_user_test"
FOLDER = "tests/hca/user"
LEAST = 100
ADDRESSES = "ci/src/user/address_space.cpp"
BUFFERS = "ci/ual/src/mapped_buffers.cpp"
CLIENT = "hca/user/src/connection.cpp"
COMMON = "ci/src/user/common_buffer.cpp"
EVENTS = "hca/user/src/events.cpp"
MEMORY = "ci/src/crossing/shared_memory.cpp"
PACKET = "ci/src/crossing/packet.cpp"
OBJECTS = "ci/ual/src/served_objects.cpp"
POSTS = "ci/src/crossing/post_server.cpp"
QUEUES = "ci/ual/src/served_queue.cpp"
REQUESTS = "ci/ual/src/requests.cpp"
RING = "ci/include/ci/support/post_ring.hpp"
SERVING = "ci/src/crossing/serving_end.cpp"
SOCKETS = "hca/user/src/unforked_socket.cpp"
TEAR_DOWN = "ci/ual/src/tear_down.cpp"
VERBS = "hca/user/src/verb_requests.cpp"

# name, tests, mutated file, [(text, replacement)...], sources to compile (the file itself if absent)
ROWS = [
    ("w1_segments_of_the_first_request", "fast", POSTS,
     [("    made = segments_.data() + first;\n", "    made = segments_.data() + first * 0;\n")]),
    ("w2_handle_of_any_type", "fast", OBJECTS, [("found->handle == handle && found->type == type;", "found->handle == handle;")]),
    ("w2_shared_queue_as_queue_pair", "fast", POSTS, [("shared ? HCA_MN_CREATE_SRQ : HCA_MN_CREATE_QP", "HCA_MN_CREATE_QP")]),
    ("w3_any_file_is_memory", "fast", ADDRESSES, [("!memory || !is_memory_of(memory.get(), owner)", "!memory")]),
    ("w4_objects_outlive_their_connection", "fast", TEAR_DOWN,
     [("    posts_.receives().close();\n    destroy_objects();\n", "    posts_.receives().close();\n")]),
    ("w5_cancel_without_a_reference", "verified", REQUESTS, [("        ++found->references;\n", "")]),
    ("w7_cancel_under_the_lock", "verified", REQUESTS,
     [("        ++found->references;\n    }\n    IoCancelIrp(found->irp);\n",
       "        ++found->references;\n        IoCancelIrp(found->irp);\n    }\n")]),
    ("w8_late_cancel_ignored", "cancelled", VERBS,
     [("const bool late = __atomic_load_n(&request.irp->Cancel, __ATOMIC_SEQ_CST) != 0;", "const bool late = false;")]),
    ("w10_reply_waits_for_its_client", "fast", REQUESTS,
     [("ci::detail::send_message(control_.get(), together_.list())",
       "ci::detail::send_when_possible(control_.get(), together_.list())")]),
    ("w11_reply_without_room_lost", "fast", REQUESTS, [("return error != EAGAIN && error != ENOBUFS;", "return error != -1;")]),
    ("w11_gathered_reply_without_room_lost", "fast", REQUESTS, [("        if (sent)\n            release(each);", "        if (sent || unsent_.load() == 0)\n            release(each);")]),
    ("w12_wait_not_sent_again", "fast", EVENTS, [("    if (!kind->is_last) from.send_again(*this);\n", "")]),
    ("w15_room_believed", "fast", SERVING,
     [("std::min<std::uint64_t>(number, wire::max_block / use.unit) * use.unit", "number * use.unit")]),
    ("w15_user_data_of_any_size", "fast", SERVING,
     [("head.user_in <= CI_UDATA_MAXIMUM_SIZE && head.user_out <= CI_UDATA_MAXIMUM_SIZE", "true")]),
    ("w15_value_of_any_size", "fast", SERVING, [("head.value_size == (reads ? verb.value.size : 0)", "reads || true")]),
    ("w16_addresses_in_attributes", "fast", SERVING, [("    hide_objects(verb, used.value, block, names);\n", "")]),
    ("w17_object_outlives_its_post_function", "fast", VERBS,
     [("    if (creates && existed && !good) return self.undo(request, request.result.status);\n", "")]),
    ("w17_failed_creation_keeps_its_place", "fast", REQUESTS,
     [("    } else if (request.verb->does == action::ends && !done) {", "    } else if (!done) {")]),
    ("w19_handle_without_generation", "fast", OBJECTS, [("        ++leaving.generation;", "        ")]),
    # ---- mistakes of our own kind
    ("next_message_believed", "fast", PACKET, [(" ||\n        head.next >= all.size())", ")")]),
    ("next_message_anywhere", "fast", PACKET, [("head.next % alignof(wire::header) != 0 ||", "")]),
    ("message_not_alone_again", "fast", PACKET, [("        header_of(*each).next = 0;\n", "        header_of(*each).next += 0;\n")]),
    ("replies_of_a_packet_apart", "fast", REQUESTS, [("    gathered_.push_back(request);\n", "    gathered_.push_back(request);\n    send_gathered();\n")]),
    ("stores_later_than_their_completion", "fast", "hca/user/src/shared_queue.cpp",
     [("    via_.apply_stores(reading_->reader.stores_before(count));\n", "")]),
    ("stores_later_than_the_end_of_an_object", "fast", VERBS,
     [("    from.apply_all_stores(); // the memory is the caller's again, or its contents are\n", "")]),
    ("stores_later_than_the_end_of_the_daemon", "fast", VERBS,
     [("verb_request::on_end(connection& from) {\n    from.apply_all_stores();\n", "verb_request::on_end(connection& from) {\n")]),
    ("stores_to_any_memory", "fast", CLIENT, [("return found != regions_.end() && found->holds(address, size);", "return address + size != 0 || found != regions_.end();")]),
    ("stores_beyond_a_region", "fast", CLIENT, [("return found != regions_.end() && found->holds(address, size);", "return found != regions_.end() && size + address != 0;")]),
    ("changed_region_as_before", "fast", CLIENT, [("memory_of(mr, done ? HcaModifiedMr(&mr, &wanted) : mr.Create)", "memory_of(mr, done ? mr.Create : HcaModifiedMr(&mr, &wanted))")]),
    ("shared_region_by_its_own_address", "fast", CLIENT,
     [("    if (mr.Sharing.h_mr == nullptr) return set_region", "    if (mr.Sharing.h_mr == nullptr || mr.Mr.LKey != 0) return set_region")]),
    ("buffer_that_may_shrink", "buffers", MEMORY, [("(seals & size_seals) != size_seals", "(seals & size_seals) == 0x1000")]),
    ("buffer_of_large_pages", "buffers", MEMORY, [("where.f_type == TMPFS_MAGIC", "where.f_type != 0")]),
    ("any_file_is_a_buffer", "buffers", MEMORY, [("if (seals < 0 || (seals", "if (seals != -1 && (seals")]),
    ("offset_in_a_buffer_believed", "buffers", REQUESTS,
     [("    if (from.head.offset >= whole.size()) return STATUS_INVALID_PARAMETER;\n", "")]),
    ("length_in_a_buffer_believed", "buffers", "hca/software/src/memory_verbs.cpp",
     [("region.length <= MmGetMdlByteCount(mapped)", "region.length != MmGetMdlByteCount(mapped) * 0 - 1")]),
    ("mapping_not_used", "buffers", "hca/software/src/memory_verbs.cpp", [("mapped != nullptr) {", "mapped != nullptr && mapped->ByteCount == 0) {")]),
    ("region_without_its_buffer", "buffers", REQUESTS, [("    objects_.keep(*region, std::move(found));\n", "    static_cast<void>(region);\n")]),
    ("change_frees_the_former_buffer", "buffers", OBJECTS,
     [("        region.buffers.push_back(std::move(buffer));", "        region.buffers = {std::move(buffer)};")]),
    ("change_keeps_a_buffer_again", "buffers", OBJECTS,
     [("    if (std::ranges::find(region.buffers, buffer) == region.buffers.end())\n", "")]),
    ("each_region_maps_its_buffer", "buffers", BUFFERS, [("    if (found != nullptr) return STATUS_SUCCESS;\n    charged", "    charged")]),
    ("buffers_without_limit", "buffers", BUFFERS, [("    if (!charge) return STATUS_SUCCESS;\n", "")]),
    ("small_buffers_without_charge", "buffers", BUFFERS, [("+ unit - 1) / unit", ") / unit")]),
    ("buffer_of_a_part_of_the_region", "buffers", COMMON, [("size == 0 || size > whole || offset > whole - size", "size == 0 || offset >= whole")]),
    ("buffer_behind_the_region", "buffers", COMMON, [("        --found;\n", "        if (found == all_.end() || found->first() != first) --found;\n        offset = 0;\n"),
      ("        offset = first - found->first();\n", "")]),
    ("changed_region_without_its_buffer", "buffers", VERBS,
     [("    if (change == nullptr && !is(of, HCA_MN_REGISTER_MR)) return {};", "    if (!is(of, HCA_MN_REGISTER_MR)) return {};")]),
    ("completion_before_its_stores", "fast", QUEUES,
     [("producer_.append(each, capacity_, stores)", "producer_.append(each, capacity_, 0 * stores)")]),
    ("second_resize_begins", "fast", QUEUES, [("    if (next_.memory) return STATUS_DEVICE_BUSY;\n", "")]),
    ("child_of_fork_keeps_the_connection", "ended", SOCKETS, [("dup3(dead[0], each.get(), O_CLOEXEC);", "continue;")]),
    ("requests_not_cancelled", "ended", TEAR_DOWN, [("    cancel_all();\n    await_requests();\n", "    await_requests();\n")]),
    ("size_loaded_twice", "verified", RING,
     [("        const std::uint64_t whole =", "        copy(place, &head, sizeof(head));\n        const std::uint64_t whole =")],
     ["ci/ual/src/served_ring.cpp"]),
    ("send_overtakes_a_receive_of_another_client", "order", "ci/ual/src/served_posts.cpp",
     [("    receives_.post_all();\n    others_.post_all();\n", "    receives_.post_all();\n")]),
    ("receive_leaves_its_ring_before_it_is_posted", "order", "ci/ual/src/served_ring.cpp",
     [("    wire::posted reply;\n    if (!is_kind_of_ring(size) ||", "    wire::posted reply;\n    ring_.remove();\n    if (!is_kind_of_ring(size) ||"),
      ("    done_ = 0;\n    ring_.remove();\n", "    done_ = 0;\n")]),
    ("queue_ends_while_another_thread_posts", "order", "ci/ual/src/served_receives.cpp",
     [("void served_receives::await_others() { const spin_guard guard(lock_); }", "void served_receives::await_others() {}")]),
    ("receives_of_a_client_that_ends", "order", "ci/ual/src/served_receives.cpp",
     [("    open_.store(false, std::memory_order_relaxed);\n", "")]),
]

FILTERS = {
    "fast": "-Kill*:Soak*",
    "buffers": "CommonBuffer*:SmallCommonMemory*:HostileBuffer*",
    "verified": "HostileClient.CancelsPostsAndEnds*",
    "cancelled": "SlowQueue.Cancel*",
    "order": "OrderOfPosts.*",
    "ended": "SlowQueue.ClientEnds*:Boundary.ChildOfFork*",
}


def runs_of(tests):
    return [["--gtest_fail_fast", f"--gtest_filter={FILTERS[tests]}"]]
