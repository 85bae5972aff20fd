/* Stands for whatever runs in an instance of a lab: says who it is as tompion-worker does, and
 * then runs the next of the scripts 0.sh, 1.sh, ... in the directory HOSTILE_CELL with its own
 * arguments. The worker itself is HOSTILE_WORKER. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char script[4096], taken[4096];
    const char *directory = getenv("HOSTILE_CELL"), *worker = getenv("HOSTILE_WORKER");

    if (!directory || !worker || argc < 2)
        return 1;
    if (strcmp(argv[1], "--version") == 0) {
        execl(worker, worker, argv[1], (char *)0);
        return 1;
    }
    for (int number = 0;; number++) {
        snprintf(script, sizeof script, "%s/%d.sh", directory, number);
        snprintf(taken, sizeof taken, "%s/%d.taken", directory, number);
        if (access(script, R_OK) != 0)
            return 1;
        if (open(taken, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0)
            break;
    }
    argv[0] = script;
    {
        char *all[argc + 2];
        all[0] = "sh";
        memcpy(all + 1, argv, sizeof *argv * (size_t)(argc + 1));
        execv("/bin/sh", all);
    }
    return 1;
}
