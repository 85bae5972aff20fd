/* A program that has its own mprotect and dl_iterate_phdr, which do not work before its
 * constructor ran. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

typedef int callback(struct dl_phdr_info *, size_t, void *);
static int (*next_mprotect)(void *, size_t, int);
static int (*next_iterate)(callback *, void *);

__attribute__((constructor)) static void find(void)
{
	next_mprotect = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "mprotect");
	next_iterate = (int (*)(callback *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
}

int mprotect(void *start, size_t length, int protection)
{
	return next_mprotect(start, length, protection);
}

int dl_iterate_phdr(callback *visit, void *data)
{
	return next_iterate(visit, data);
}

int main(void)
{
	puts(time(NULL) > 0 ? "time passes" : "no time");
	return 0;
}
