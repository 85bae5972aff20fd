/* Does time() go back when the program forbids the counter, just after a second began?
 *
 * Exit status: 0 it does not, 1 it does.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

int main(void)
{
	time_t before = time(NULL), edge;
	while ((edge = time(NULL)) == before)
		;
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	time_t after = time(NULL);
	prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	if (after < edge) {
		fprintf(stderr, "time_forbidden: %ld, then %ld\n", (long)edge, (long)after);
		return 1;
	}
	puts("did not go back");
	return 0;
}
