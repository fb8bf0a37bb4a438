/* Calls functions of a library, each in a process of its own that has called nothing before, and
   forks after the call. The words are the library, the kind of the arguments, and the functions.
   Prints for each the number of threads after its call, "faults" if the call did (as with the real
   library, for some arguments), and "lost" if parent or child did not end by its own exit. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef long (*function)(long, long, long, long, long, long);
enum { arguments = 6, faulted = 100, forks_failed };

static int threads(void) {
    int count = 0;
    DIR* open = opendir("/proc/self/task");
    while (open != NULL && readdir(open) != NULL)
        ++count;
    closedir(open);
    return count - 2;
}

static long of_kind(const char* kind, int place) {
    static char buffers[arguments][4096];
    if (strcmp(kind, "zeros") == 0) return 0;
    if (strcmp(kind, "descriptor") == 0) return place == 0 ? 999 : 0;
    if (place == 0) strcpy(buffers[0], "missing0");
    return (long)buffers[place];
}

static int ended_by(pid_t process) {
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : faulted;
}

/* The child ends with the handlers of the C library, or without. */
static int child_ends(int with_handlers) {
    const pid_t child = fork();
    if (child == 0 && with_handlers) exit(0);
    if (child == 0) _exit(0);
    return ended_by(child) == 0;
}

/* A program that does nothing else. Its status is the number of threads after the call. */
static void call_and_fork(function call, const char* kind) {
    const int null_output = 1;
    long given[arguments];
    for (int i = 0; i < arguments; ++i)
        given[i] = of_kind(kind, i);
    close(null_output); /* of functions that print */
    call(given[0], given[1], given[2], given[3], given[4], given[5]);
    const int seen = threads();
    exit(child_ends(0) && child_ends(1) ? seen : forks_failed);
}

int main(int argc, char** argv) {
    void* const library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (library == NULL) return 2;
    for (int i = 3; i < argc; ++i) {
        function call = NULL;
        *(void**)&call = dlsym(library, argv[i]);
        if (call == NULL) return 3;
        const pid_t program = fork();
        if (program == 0) call_and_fork(call, argv[2]);
        const int status = ended_by(program);
        if (status >= faulted)
            printf("%s %s\n", argv[i], status == faulted ? "faults" : "lost");
        else
            printf("%s %d\n", argv[i], status);
        fflush(stdout);
    }
    return 0;
}
