"""Mistakes in the protocol of the rings between two processes, each of which their tests must find."""
TARGET = "ci_test"
FOLDER = "tests/ci"
LEAST = 100
POSTS = "ci/include/ci/support/post_ring.hpp"
COMPLETIONS = "ci/include/ci/support/completion_ring.hpp"
STORES = "ci/include/ci/support/store_ring.hpp"
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
    ("store_counted_before_its_bytes", "late", STORES,
     [("        const std::uint64_t number = count_.load(std::memory_order_relaxed);\n"
       "        store_ring::slot& to = own_.all[store_ring::place_of(number)];\n",
       "        const std::uint64_t number = count_.load(std::memory_order_relaxed);\n"
       "        store_ring::slot& to = own_.all[store_ring::place_of(number)];\n"
       "        to.number.store(number + 1, std::memory_order_release);\n"
       "        static_cast<void>(of_client_.applied.load(std::memory_order_acquire));\n"),
      ("        to.number.store(number + 1, std::memory_order_release);\n"
       "        count_.store", "        count_.store")], LATE),
    ("completion_without_its_stores", "rings", COMPLETIONS,
     [("to.stores.store(stores, std::memory_order_relaxed);", "to.stores.store(0 * stores, std::memory_order_relaxed);")], RINGS),
    ("store_of_the_lap_before", "rings", STORES,
     [("std::memory_order_acquire) != number + 1) return found::nothing;", "std::memory_order_acquire) == 0) return found::nothing;")], RINGS),
    ("store_over_an_older_one", "rings", STORES, [("address, bytes.size()) || !has_room())", "address, bytes.size()))")], RINGS),
    ("page_believed_to_be_mapped", "rings", STORES, [("if (!is_shown(key, address, bytes.size()) || !has_room())", "if (!has_room())")], RINGS),
    ("page_of_a_former_region", "rings", STORES, [("return seen.key == key && seen.page", "return (key != 0 || seen.key == key) && seen.page")], RINGS),
    ("second_page_believed_to_be_mapped", "rings", STORES,
     [("seen.page == page_of(address) &&\n               (size == 0 || page_of(address + size - 1) == seen.page);",
       "seen.page == page_of(address) && size != ~std::size_t{0};")], RINGS),
    ("longer_than_a_store_believed", "rings", STORES,
     [("if (size > store_ring::max_bytes ||\n            !permits", "if (size == ~std::uint64_t{0} ||\n            !permits")], RINGS),
    ("store_without_consent", "rings", STORES,
     [("            !permits(static_cast<ULONG>(key_and_size >> 32), address, size))", "            (permits(static_cast<ULONG>(key_and_size >> 32), address, size), false))")], RINGS),
    ("first_store_before_a_look", "rings", STORES, [("applied_ = 0 - store_ring::slots;", "applied_ = 0;")], RINGS),
    ("store_applied_twice", "rings", STORES, [("        applied_.store(number + 1, std::memory_order_release);\n        own_", "        own_")], RINGS),
    ("next_ring_begins_early", "rings", COMPLETIONS, [("own_->end.store(produced_ + 1,", "own_->end.store(produced_,")], RINGS),
]

FILTERS = {"late": "LateStores.*", "rings": "PostRing.*:CompletionRing.*:StoreRing.*"}


def runs_of(tests):
    return [["--gtest_fail_fast", f"--gtest_filter={FILTERS[tests]}"]]
