/* Reads and sleeps from its preinit array on, to its last exit handler; linked with
 * the library early_library. */
#include "check.h"

extern void early_library(void) __attribute__((weak));

static void say(const char *where)
{
    check_readings(6 * MS, where);
    CHECK(usleep(50) == 0, "%s: usleep", where);
    dprintf(1, "%s\n", where);
}

static void preinit(void)
{
    say("preinit array");
}

__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = preinit;

static void at_exit(void)
{
    say("exit handler");
    if (failures)
        _exit(1);
}

__attribute__((constructor)) static void construct(void)
{
    atexit(at_exit);
    say("program's constructor");
}

__attribute__((destructor)) static void destruct(void)
{
    say("program's destructor");
    if (failures)
        _exit(1);
}

int main(void)
{
    atexit(at_exit);
    say("main");
    if (early_library)
        early_library();
    return failures != 0;
}
