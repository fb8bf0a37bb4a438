"""Mistakes in the protocol of the rings between two processes, each of which their tests must find."""
TARGET = "ci_test"
FOLDER = "tests/ci"
LEAST = 100
POSTS = "ci/include/ci/support/post_ring.hpp"
COMPLETIONS = "ci/include/ci/support/completion_ring.hpp"
LATE = ["tests/ci/late_stores_test.cpp"]
RINGS = ["tests/ci/rings_test.cpp"]

# name, tests, mutated file, [(text, replacement)...], sources to compile
ROWS = [
    ("client_looks_without_a_fence", "late", POSTS,
     [("    bool must_wake() {\n        shared_fence();\n", "    bool must_wake() {\n")], LATE),
    ("daemon_sleeps_without_a_fence", "late", POSTS,
     [("        set_sleeps((sleeps_ + 1) | 1);\n        shared_fence();\n", "        set_sleeps((sleeps_ + 1) | 1);\n")], LATE),
    ("daemon_sleeps_without_a_second_look", "late", POSTS,
     [("        if (!has_work()) return true;\n        end_sleep();\n        return false;\n", "        return true;\n")], LATE),
    ("daemon_is_woken_once_only", "late", POSTS,
     [("if ((sleeps & 1) == 0 || sleeps == woken_) return false;", "if ((sleeps & 1) == 0 || woken_ != 0) return false;")], LATE),
    ("message_published_before_its_head", "late", POSTS,
     [("        write_head(post_ring::place_of(produced_), size);\n"
       "        produced_ += head_size + padded(size);\n"
       "        own_.produced.store(produced_, std::memory_order_release);\n",
       "        const std::size_t at = post_ring::place_of(produced_);\n"
       "        produced_ += head_size + padded(size);\n"
       "        own_.produced.store(produced_, std::memory_order_release);\n"
       "        static_cast<void>(has_free(post_ring::capacity));\n"
       "        write_head(at, size);\n")], LATE),
    ("daemon_reports_without_a_fence", "late", COMPLETIONS,
     [("    bool must_notify(bool any_solicited) {\n        shared_fence();\n", "    bool must_notify(bool any_solicited) {\n")], LATE),
    ("completion_over_an_older_one", "late", COMPLETIONS,
     [("        if (!has_room(std::min(capacity, mask_ + 1))) return false;\n", "        static_cast<void>(capacity);\n")], LATE),
    ("arming_reported_once_only", "late", COMPLETIONS,
     [("if (armed == 0 || armed / 2 == notified_ ||", "if (armed == 0 || notified_ != 0 ||")], LATE),
    ("half_a_word_believed", "rings", POSTS, [(" || used % 8 != 0) return found::violation;", ") return found::violation;")], RINGS),
    ("more_than_the_ring_believed", "rings", POSTS,
     [("if (used > post_ring::capacity || used % 8 != 0)", "if (used % 8 != 0)")], RINGS),
    ("size_beyond_the_count_believed", "rings", POSTS,
     [("whole > behind || whole > used)", "whole > behind)")], RINGS),
    ("longer_than_a_message_believed", "rings", POSTS,
     [("if (head > post_ring::max_message || whole", "if (whole")], RINGS),
    ("gap_before_the_end_believed", "rings", POSTS,
     [("if ((head ^ post_ring::gap) != behind || behind > used)", "if (behind > used)")], RINGS),
    ("count_of_the_daemon_believed", "rings", POSTS,
     [("if (consumed < consumed_ || consumed > produced_) return false;", "")], RINGS),
    ("entry_of_the_lap_before", "rings", COMPLETIONS,
     [("std::memory_order_acquire) != consumed + 1) return false;", "std::memory_order_acquire) == 0) return false;")], RINGS),
    ("solicited_ignored", "rings", COMPLETIONS,
     [(" || ((armed & 1) != 0 && !any_solicited))", ")"),
      ("bool must_notify(bool any_solicited)", "bool must_notify(bool)")], RINGS),
    ("gaps_of_a_completion_cross", "rings", COMPLETIONS,
     [("std::memcpy(words.data(), &entry, members);", "std::memcpy(words.data(), &entry, sizeof(entry) + 0 * members);")], RINGS),
    ("next_ring_begins_early", "rings", COMPLETIONS, [("own_->end.store(produced_ + 1,", "own_->end.store(produced_,")], RINGS),
]

FILTERS = {"late": "LateStores.*", "rings": "PostRing.*:CompletionRing.*"}


def runs_of(tests):
    return [["--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={FILTERS[tests]}"]]
