/* Runs a program in a sandbox that refuses system calls, as a container's profile does.
 *
 *     refuse ERRNO NUMBER[:THIRD][,NUMBER...] COMMAND ARGUMENTS...
 *
 * With THIRD a call is refused only where its third argument is that, as an option of a socket is.
 * The filter is set last, so that it refuses nothing but execve to this program itself; it
 * stays with all that COMMAND starts. Exit status: that of COMMAND, or 125 where the sandbox
 * or COMMAND could not be had. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MOST 64

static int fail(const char *what)
{
	fprintf(stderr, "refuse: %s: %s\n", what, strerror(errno));
	return 125;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: refuse ERRNO NUMBER[:THIRD][,NUMBER...] COMMAND ARGUMENTS...\n");
		return 125;
	}
	struct sock_filter lines[5 * MOST + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned refused = SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1]);
	unsigned short length = 1;
	for (char *number = strtok(argv[2], ","); number; number = strtok(NULL, ",")) {
		if (length > 5 * (MOST - 1)) {
			errno = E2BIG;
			return fail("system calls");
		}
		char *third = strchr(number, ':');
		lines[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							       (unsigned)atoi(number), 0, third ? 4 : 1);
		if (third) {
			lines[length++] = (struct sock_filter)BPF_STMT(
				BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]));
			lines[length++] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(third + 1), 0, 1);
		}
		lines[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refused);
		if (third)
			lines[length++] = (struct sock_filter)BPF_STMT(
				BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	}
	lines[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {length, lines};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return fail("the sandbox");
	execv(argv[3], argv + 3);
	return fail(argv[3]);
}
