/* A program that does to libibumad what programs of others do: it cancels threads in it, forks,
   becomes a daemon, handles signals, unloads it. The argument names the case; status 0: it held. */
#define _GNU_SOURCE
#include <infiniband/umad.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno);              \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

enum { vendor_class = 0x32, datagram = 256 };

static int entries(const char* folder) {
    int count = 0;
    DIR* open = opendir(folder);
    while (open != NULL && readdir(open) != NULL)
        ++count;
    closedir(open);
    return count;
}
static int threads(void) { return entries("/proc/self/task") - 2; }
static int descriptors(void) { return entries("/proc/self/fd") - 3; }

static int exited_with(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Opens the first port and sends a request to a LID that does not exist. */
static int open_and_ask(int timeout_ms, int* port) {
    static char message[64 + datagram];
    uint8_t oui[3] = {0x12, 0x34, 0x56};
    uint8_t* mad = umad_get_mad(message);
    *port = umad_open_port(NULL, 0);
    CHECK(*port >= 0);
    const int agent = umad_register_oui(*port, vendor_class, 0, oui, NULL);
    CHECK(agent >= 0);
    memset(message, 0, sizeof message);
    memcpy(mad, (uint8_t[]){1, vendor_class, 1, 1}, 4);
    umad_set_addr(message, 0xBFF0, 1, 0, (int)0x80010000u);
    CHECK(umad_send(*port, agent, message, datagram, timeout_ms, 0) == 0);
    return 0;
}

static int receive_time_out(int port) {
    char message[64 + datagram];
    int length = datagram;
    CHECK(umad_recv(port, message, &length, -1) >= 0);
    CHECK(umad_status(message) == ETIMEDOUT);
    CHECK(length == 24);
    return 0;
}

static int works(void) {
    int port = -1;
    return open_and_ask(1, &port) != 0 || receive_time_out(port) != 0 || umad_close_port(port) != 0;
}

/* Nothing runs and nothing is open before the first use. */
static int idle(void) {
    const int before = descriptors();
    CHECK(umad_init() == 0);
    CHECK(threads() == 1);
    CHECK(descriptors() == before);
    CHECK(works() == 0);
    CHECK(threads() > 1);
    return 0;
}

/* Asks the port's own node for its NodeInfo, which the HCA answers. */
static int ask_own_node(int port, int agent) {
    char message[64 + datagram] = {0};
    memcpy(umad_get_mad(message), (uint8_t[]){1, 0x81, 1, 1}, 4);
    memcpy((uint8_t*)umad_get_mad(message) + 12, (uint8_t[]){0, 0, 0, 1, 0, 0x11}, 6);
    memset((uint8_t*)umad_get_mad(message) + 32, 0xff, 4); /* no LID routes it */
    umad_set_addr(message, 0xffff, 0, 0, 0);
    CHECK(umad_send(port, agent, message, datagram, 60000, 0) == 0);
    return 0;
}

static int open_for_smps(int* port, int* agent) {
    *port = umad_open_port(NULL, 0);
    CHECK(*port >= 0);
    *agent = umad_register(*port, 0x81, 1, 0, NULL);
    CHECK(*agent >= 0);
    return 0;
}

/* So many exchanges; the odd ones wait by poll(2), or all. */
static int exchange(int port, int agent, int count, int all_by_poll) {
    for (int i = 0; i < count; ++i) {
        char message[64 + datagram];
        int length = datagram;
        const int by_poll = all_by_poll || i % 2 != 0;
        struct pollfd readable = {umad_get_fd(port), POLLIN, 0};
        CHECK(ask_own_node(port, agent) == 0);
        CHECK(!by_poll || poll(&readable, 1, -1) == 1);
        CHECK(umad_recv(port, message, &length, by_poll ? 0 : -1) == agent);
        CHECK(umad_status(message) == 0);
        CHECK(((uint8_t*)umad_get_mad(message))[3] == 0x81);
    }
    return 0;
}

static void* exchange_on_own_port(void* failed) {
    int port = -1;
    int agent = -1;
    *(int*)failed = open_for_smps(&port, &agent) != 0 || exchange(port, agent, 200, 0) != 0 ||
                    umad_close_port(port) != 0;
    return NULL;
}

static void* receive_for_ever(void* port) {
    char message[64 + datagram];
    for (int length = datagram; umad_recv(*(int*)port, message, &length, -1) < 0;)
        length = datagram;
    return NULL;
}

static int cancelled(void) {
    int port = -1;
    CHECK(works() == 0);
    const int before = descriptors();
    port = umad_open_port(NULL, 0);
    CHECK(port >= 0);
    for (int i = 0; i < 300; ++i) {
        pthread_t receiver;
        void* result = NULL;
        CHECK(pthread_create(&receiver, NULL, receive_for_ever, &port) == 0);
        if (i % 3 == 0) sched_yield();
        CHECK(pthread_cancel(receiver) == 0);
        CHECK(pthread_join(receiver, &result) == 0);
        CHECK(result == PTHREAD_CANCELED);
    }
    CHECK(umad_close_port(port) == 0);
    CHECK(descriptors() == before);
    return works();
}

/* A thread that waits receives for others, until it ends. */
static int waits(void) {
    int other = -1;
    int port = -1;
    int agent = -1;
    pthread_t receiver;
    pthread_t several[4];
    int failed[4];
    CHECK(open_for_smps(&other, &agent) == 0);
    CHECK(pthread_create(&receiver, NULL, receive_for_ever, &other) == 0);
    CHECK(open_for_smps(&port, &agent) == 0);
    CHECK(exchange(port, agent, 100, 1) == 0);
    CHECK(exchange(port, agent, 100, 0) == 0);
    CHECK(pthread_cancel(receiver) == 0);
    CHECK(exchange(port, agent, 100, 1) == 0);
    CHECK(pthread_join(receiver, NULL) == 0);
    CHECK(exchange(port, agent, 100, 0) == 0);
    for (int i = 0; i < 4; ++i)
        CHECK(pthread_create(&several[i], NULL, exchange_on_own_port, &failed[i]) == 0);
    for (int i = 0; i < 4; ++i)
        CHECK(pthread_join(several[i], NULL) == 0 && failed[i] == 0);
    CHECK(umad_close_port(other) == 0 && umad_close_port(port) == 0);
    return 0;
}

static sigjmp_buf before_the_wait;
static void jump(int signal) {
    (void)signal;
    siglongjmp(before_the_wait, 1);
}

static volatile pid_t jumper;
static void* jump_out_of_a_wait(void* port) {
    if (sigsetjmp(before_the_wait, 1) != 0) return NULL;
    jumper = gettid();
    return receive_for_ever(port);
}

static int sleeps(pid_t thread) {
    char name[64];
    char state = 0;
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", thread);
    FILE* const stat = fopen(name, "r");
    CHECK(stat != NULL);
    CHECK(fscanf(stat, "%*d (%*[^)]) %c", &state) == 1);
    fclose(stat);
    return state == 'S';
}

/* A thread leaves its wait by a jump, and ends. */
static int jumped(void) {
    int other = -1;
    int port = -1;
    int agent = -1;
    pthread_t receiver;
    signal(SIGUSR1, jump);
    CHECK(open_for_smps(&port, &agent) == 0);
    CHECK(open_for_smps(&other, &agent) == 0);
    CHECK(pthread_create(&receiver, NULL, jump_out_of_a_wait, &other) == 0);
    while (jumper == 0 || !sleeps(jumper))
        sched_yield();
    CHECK(pthread_kill(receiver, SIGUSR1) == 0);
    CHECK(pthread_join(receiver, NULL) == 0);
    CHECK(exchange(port, agent, 100, 1) == 0);
    CHECK(umad_close_port(other) == 0 && umad_close_port(port) == 0);
    return 0;
}

static int forked(void) {
    int port = -1;
    CHECK(open_and_ask(1, &port) == 0);
    const pid_t child = fork();
    if (child == 0) {
        char message[64 + datagram] = {0};
        int length = datagram;
        CHECK(umad_recv(port, message, &length, 0) == -EIO);
        CHECK(umad_send(port, 0, message, datagram, 1, 0) == -EIO);
        CHECK(umad_open_port(NULL, 0) == -ENODEV);
        CHECK(umad_register(port, 3, 2, 1, NULL) < 0);
        exit(0); /* with the handlers of the C library */
    }
    CHECK(exited_with(child) == 0);
    CHECK(receive_time_out(port) == 0);
    return works();
}

/* With a daemon a list of devices starts nothing, so that parent and child are independent. */
static int listed(void) {
    char names[2][UMAD_CA_NAME_LEN];
    CHECK(umad_get_cas_names(names, 2) == 1);
    CHECK(threads() == 1);
    const pid_t child = fork();
    if (child == 0) exit(umad_get_cas_names(names, 2) != 1 || works());
    CHECK(exited_with(child) == 0);
    return works();
}

static int daemonised(void) {
    CHECK(umad_init() == 0);
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        exit(works());
    }
    return exited_with(child);
}

static volatile pthread_t handled_by;
static void handle(int signal) {
    (void)signal;
    handled_by = pthread_self();
}

static int signalled(void) {
    CHECK(works() == 0);
    signal(SIGUSR1, handle);
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    for (int i = 0; i < 50; ++i) {
        pthread_sigmask(SIG_BLOCK, &usr1,
                        NULL); /* now only a thread of the library could take it */
        kill(getpid(), SIGUSR1);
        for (int turn = 0; turn < 20; ++turn)
            sched_yield();
        CHECK(handled_by == 0);
        pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
        CHECK(handled_by == pthread_self());
        handled_by = 0;
    }
    return 0;
}

static int unloaded(void) {
    for (int i = 0; i < 3; ++i) {
        void* library = dlopen("libibumad.so.3", RTLD_NOW);
        CHECK(library != NULL);
        int (*names)(char[][UMAD_CA_NAME_LEN], int) = NULL;
        *(void**)&names = dlsym(library, "umad_get_cas_names");
        char found[2][UMAD_CA_NAME_LEN];
        CHECK(names(found, 2) == 1);
        CHECK(strcmp(found[0], "irpverbs0") == 0);
        CHECK(dlclose(library) == 0);
    }
    return 0;
}

/* A program that opens the file has the port's IsSM. */
static int manages(void) {
    char path[64];
    umad_port_t port;
    CHECK(umad_get_issm_path("irpverbs0", 2, path, sizeof path) == 0);
    const int file = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(file >= 0);
    for (int on = 1; on >= 0; --on) {
        do {
            CHECK(umad_get_port("irpverbs0", 2, &port) == 0);
            umad_release_port(&port);
        } while (((ntohl(port.capmask) & 2) != 0) != on);
        if (on) close(file);
    }
    return 0;
}

static void* exit_now(void* unused) {
    (void)unused;
    exit(0);
    return NULL;
}

static int exits_in_a_thread(void) {
    int port = -1;
    pthread_t thread;
    CHECK(open_and_ask(10000, &port) == 0);
    CHECK(pthread_create(&thread, NULL, exit_now, NULL) == 0);
    pthread_join(thread, NULL);
    return 1;
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        int (*run)(void);
    } cases[] = {{"idle", idle},         {"cancelled", cancelled},   {"forked", forked},
                 {"listed", listed},     {"daemonised", daemonised}, {"signalled", signalled},
                 {"unloaded", unloaded}, {"manages", manages},       {"exits", exits_in_a_thread},
                 {"waits", waits},       {"jumped", jumped}};
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; ++i)
        if (strcmp(argv[1], cases[i].name) == 0) return cases[i].run();
    return 2;
}
