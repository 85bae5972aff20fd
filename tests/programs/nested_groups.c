/*
 * Measures nothing: mounts the control groups of its container in namespaces of its own, where it may, makes groups in them,
 * one in another, and lifts their limits. Says how many, and fails. Outside of the container it becomes WORKER, which the lab asks
 * for its version.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 300 };

static const char *const HIERARCHIES[] = {"cpuset", "cpu", "memory", "pids", "freezer", "devices", NULL};

/* Limits of both versions, and what lifts them. */
static const char *const LIMITS[][2] = {
    {"/tmp/groups/cpu.cfs_quota_us", "-1"},
    {"/tmp/groups/cpu.cfs_period_us", "50000"},
    {"/tmp/groups/cpu.max", "max"},
    {"/tmp/groups/cpuset.cpu_exclusive", "1"},
    {"/tmp/groups/memory.limit_in_bytes", "-1"},
    {"/tmp/groups/memory.max", "max"},
    {"/tmp/groups/pids.max", "max"},
    {"/tmp/groups/freezer.state", "THAWED"},
    {"/tmp/groups/cgroup.freeze", "0"},
    {NULL, NULL},
};

/* Whether a file took a text. */
static int put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY), taken = 0;
    if (fd >= 0) {
        taken = write(fd, text, strlen(text)) > 0;
        close(fd);
    }
    return taken;
}

/* How many limits could be changed. */
static int lifted(void)
{
    int taken = 0;
    for (int i = 0; LIMITS[i][0]; i++)
        taken += put(LIMITS[i][0], LIMITS[i][1]);
    return taken;
}

/* How many groups could be made below PLACE. */
static int nested(const char *place)
{
    int made = 0;
    if (chdir(place))
        return 0;
    while (made < DEPTH && !mkdir("d", 0755) && !chdir("d"))
        made++;
    if (chdir("/"))
        return made;
    return made;
}

/* In namespaces of its own, with the same numbers of users. */
static int inside(int ready, int go)
{
    char byte;
    int made = 0, seen = 0, changed = 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP))
        return 0;
    if (write(ready, "x", 1) != 1 || read(go, &byte, 1) != 1)
        return 0;
    mkdir("/tmp/groups", 0755);
    for (int i = 0; HIERARCHIES[i]; i++) {
        if (mount("cgroup", "/tmp/groups", "cgroup", 0, HIERARCHIES[i]))
            continue;
        seen++;
        changed += lifted();
        made += nested("/tmp/groups");
        umount2("/tmp/groups", MNT_DETACH);
    }
    if (!mount("cgroup2", "/tmp/groups", "cgroup2", 0, NULL)) {
        seen++;
        changed += lifted();
        made += nested("/tmp/groups");
    }
    fprintf(stderr, "made %d groups in %d hierarchies and changed %d limits\n", made, seen, changed);
    return 0;
}

int main(int count, char **arguments)
{
    struct utsname name;
    char file[64], byte;
    int ready[2], go[2];
    (void)count;
    uname(&name);
    if (strcmp(name.nodename, "tompion")) {
        execv(WORKER, arguments);
        return 1;
    }
    if (pipe(ready) || pipe(go))
        return 1;
    pid_t child = fork();
    if (child == 0)
        return inside(ready[1], go[0]);
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1) {
        snprintf(file, sizeof file, "/proc/%d/uid_map", child);
        put(file, "0 0 4294967295");
        put(file, "0 0 1");
        snprintf(file, sizeof file, "/proc/%d/gid_map", child);
        put(file, "0 0 4294967295");
        put(file, "0 0 1");
        if (write(go[1], "x", 1) != 1)
            return 1;
    }
    waitpid(child, NULL, 0);
    return 3;
}
