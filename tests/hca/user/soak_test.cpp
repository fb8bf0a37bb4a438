// Clients that are killed, stopped and continued, fork, begin anew and end, at random.
#include "surviving_peer.hpp"

#include <cstdlib>
#include <deque>
#include <memory>
#include <random>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

unsigned long number_of(const char* variable, unsigned long otherwise) {
    const char* const chosen = std::getenv(variable);
    return chosen != nullptr ? std::strtoul(chosen, nullptr, 10) : otherwise;
}

/// The last processes that have outlived their parents.
class orphans {
public:
    orphans() = default;
    ~orphans() {
        while (!all_.empty())
            end_oldest();
    }
    orphans(const orphans&) = delete;
    orphans& operator=(const orphans&) = delete;

    void add(pid_t process) {
        EXPECT_GT(process, 0) << "the client has ended";
        if (process > 0) all_.push_back(process);
        if (all_.size() > most) end_oldest();
    }

private:
    static constexpr std::size_t most = 4;

    void end_oldest() {
        kill(all_.front(), SIGKILL);
        all_.pop_front();
    }

    std::deque<pid_t> all_;
};

/// A client process that comes and goes, and the end of its connection that stays.
class soaked {
public:
    enum class action { kill, stop, go_on, fork, begin_anew, end, write };
    static constexpr int actions = 7;

    soaked(const std::string& uri, DEVICE_OBJECT* hca) : uri_(uri), own_(hca) {
        own_.attributes(); // the daemon has received what was sent before
    }
    ~soaked() {
        if (is_there()) play(action::kill);
    }
    soaked(const soaked&) = delete;
    soaked& operator=(const soaked&) = delete;

    bool is_there() const { return program_ != nullptr; }

    void start() {
        std::vector<std::string> words = words_of(own_);
        words.insert(words.begin(), {SOAKED_CLIENT, uri_});
        program_ = std::make_unique<child_program>(words);
        program_->start();
        meet();
    }
    void play(action what) {
        switch (what) {
        case action::kill:
            program_->send_signal(SIGKILL);
            return expect_end(SIGKILL);
        case action::stop:
            program_->send_signal(SIGSTOP);
            return;
        case action::go_on:
            return go_on();
        case action::fork:
            command('f');
            return orphans_.add(std::atoi(program_->read_line().c_str()));
        case action::begin_anew:
            command('x');
            reset();
            return meet();
        case action::end:
            command('c');
            return expect_end(0);
        case action::write:
            return write_and_read();
        }
    }

private:
    void go_on() const { program_->send_signal(SIGCONT); }
    void command(char what) const {
        go_on();
        program_->write_byte(what);
    }
    void meet() {
        EXPECT_TRUE(read_end(*program_, peer_));
        connect(own_, peer_);
        program_->write_byte('b');
    }
    void reset() {
        expect_failure(own_, peer_);
        EXPECT_EQ(modify_qp(own_.qp, ci::to_state(IB_QPS_RESET)), STATUS_SUCCESS);
        own_.drain();
    }
    void expect_end(int expected) {
        EXPECT_EQ(program_->wait(), expected);
        reset();
        program_.reset();
    }

    // The memory of a client that is stopped is read and written all the same.
    void write_and_read() {
        ++value_;
        const auto begin = own_.bytes().begin() + 2 * half;
        for (const ib_wr_type_t each : {WR_RDMA_WRITE, WR_RDMA_READ}) {
            std::fill_n(begin, half, each == WR_RDMA_WRITE ? value_ : UCHAR{0});
            ib_send_wr_t what = own_.remote(each, 1, own_, half);
            what.ds_array->vaddr += 2 * half;
            what.remote_ops = {peer_.address + half, 0, 0, peer_.key};
            EXPECT_EQ(own_.post(what), STATUS_SUCCESS);
            EXPECT_EQ(own_.next().Status, ULONG{IB_WC_SUCCESS});
        }
        EXPECT_EQ(std::count(begin, begin + half, value_), half);
    }

    static constexpr ULONG half = 8192; // bytes of the client's region

    const std::string uri_;
    connected_end own_;
    std::unique_ptr<child_program> program_;
    printed_end peer_;
    orphans orphans_;
    UCHAR value_ = 0;
};

class soak {
public:
    soak() {
        for (std::unique_ptr<soaked>& each : all_)
            each = std::make_unique<soaked>(serving_.uri(), first_hca());
        none_ = settled_share(serving_);
        all_[0]->start();
        one_ = settled_share(serving_) - none_;
    }

    void act(std::minstd_rand& random) {
        soaked& chosen = *all_[random() % all_.size()];
        const auto what = static_cast<soaked::action>(random() % soaked::actions);
        SCOPED_TRACE("kind " + std::to_string(static_cast<int>(what)));
        if (chosen.is_there())
            chosen.play(what);
        else
            chosen.start();
        others_.transfer();
        const auto there = std::ranges::count_if(all_, [](auto& each) { return each->is_there(); });
        expect_share(serving_, none_.plus(one_, there));
    }

private:
    test_daemon serving_;
    const client here_{serving_.uri()};
    bystanders others_{first_hca()};
    std::array<std::unique_ptr<soaked>, 3> all_;
    daemon_share none_; // without soaked clients
    daemon_share one_;  // of each
};

/// IRPVERBS_SOAK_ACTIONS and IRPVERBS_SOAK_SEED choose a longer or another run.
TEST(Soak, ClientsThatComeAndGo_LeaveNothingAndDisturbNoOther) {
    const unsigned long count = number_of("IRPVERBS_SOAK_ACTIONS", 150);
    std::minstd_rand random(static_cast<unsigned>(number_of("IRPVERBS_SOAK_SEED", 1)));
    soak here;
    std::size_t early = 0;
    for (unsigned long i = 0; i < count && !::testing::Test::HasFailure(); ++i) {
        SCOPED_TRACE("before action " + std::to_string(i));
        here.act(random);
        if (i == count / 4) early = resident();
    }
    RecordProperty("early", std::to_string(early));
    RecordProperty("late", std::to_string(resident()));
}

} // namespace
