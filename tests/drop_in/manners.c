/* A program that does to libibumad what programs of others do: it cancels threads in it, forks,
   becomes a daemon, handles signals, unloads it. The argument names the case; status 0: it held. */
#define _GNU_SOURCE
#include <infiniband/umad.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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
    } cases[] = {{"idle", idle},           {"cancelled", cancelled},
                 {"forked", forked},       {"daemonised", daemonised},
                 {"signalled", signalled}, {"unloaded", unloaded},
                 {"manages", manages},     {"exits", exits_in_a_thread}};
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; ++i)
        if (strcmp(argv[1], cases[i].name) == 0) return cases[i].run();
    return 2;
}
