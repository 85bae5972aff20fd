/* Whatever descriptors the program closes or opens, the numbers are those of a plain
 * run, and its clocks go on. One line a step; without times. */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

static FILE *out;

/* The descriptors that are open, but for the one that looks. */
static void list(const char *when)
{
    fprintf(out, "%s:", when);
    DIR *directory = opendir("/proc/self/fd");
    if (!directory) {
        fprintf(out, " no list (%s)\n", strerror(errno));
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory))
            fprintf(out, " %s", entry->d_name);
    closedir(directory);
    fprintf(out, "\n");
}

static void clocks(const char *when)
{
    struct timespec brief = {0, 50000};
    check_readings(12 * MS, when);
    CHECK(nanosleep(&brief, NULL) == 0, "%s: nanosleep failed: %m", when);
}

int main(void)
{
    char *text = NULL;
    size_t length = 0;
    out = open_memstream(&text, &length);
    int kept = fcntl(1, F_DUPFD, 900), errors = fcntl(2, F_DUPFD, 901);
    MUST(out && kept >= 0 && errors >= 0);

    list("at start");
    clocks("at start");
    list("after readings");
    /* Everything below and above the two that will tell the result. */
    MUST(close_range(0, kept - 1, 0) == 0 && close_range(errors + 1, ~0U, 0) == 0);
    list("all closed");
    clocks("all closed");
    fprintf(out, "opened");
    int files[5];
    for (int i = 0; i < 5; i++) {
        files[i] = open("/dev/zero", O_RDWR);
        fprintf(out, " %d", files[i]);
    }
    fprintf(out, "\n");
    clocks("others opened");
    for (int i = 0; i < 5; i++) { /* nobody closed, moved or read on ours */
        char byte = 1;
        CHECK(read(files[i], &byte, 1) == 1 && byte == 0, "descriptor %d changed hands", files[i]);
    }
    list("others opened");

    struct rlimit few = {5, 5}, now;
    getrlimit(RLIMIT_NOFILE, &now);
    MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
    fprintf(out, "one more: %d\n", open("/dev/null", O_RDONLY));
    clocks("no descriptor left");
    list("no descriptor left");
    fclose(out);
    MUST(write(kept, text, length) == (ssize_t)length);
    dup2(errors, 2); /* fails beyond the limit; the status says enough */
    close_range(0, ~0U, 0);
    clocks("none at all");
    return failures ? 1 : 0;
}
