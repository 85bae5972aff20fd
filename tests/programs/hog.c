/* Takes its CPU at known times.
 *
 *     hog BUSY_US PERIOD_US MILLISECONDS
 *
 * spins for BUSY_US at every multiple of PERIOD_US after its start, for that long,
 * and prints KEY=VALUE lines:
 *
 *     bursts       how often it did
 *     busy_us      the median length of a burst
 *     period_us    the median time from one burst to the next
 *
 * Exit status: 0 done, 1 bad argument.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define MOST 100000

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t number(const char *text)
{
	char *end;

	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (errno || *end || end == text || n < 1 || n > 10000000) {
		fprintf(stderr, "hog: expected whole numbers from 1 to 10000000, found '%s'\n",
			text);
		exit(1);
	}
	return n;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double median_us(int64_t *values, int n)
{
	if (n == 0)
		return 0;
	qsort(values, n, sizeof *values, by_size);
	return values[n / 2] / 1e3;
}

int main(int argc, char **argv)
{
	static int64_t lengths[MOST], gaps[MOST];

	if (argc != 4) {
		fprintf(stderr, "hog: expected BUSY_US PERIOD_US MILLISECONDS\n");
		return 1;
	}
	int64_t busy = number(argv[1]) * 1000, period = number(argv[2]) * 1000;
	int64_t end = now_ns() + number(argv[3]) * 1000000, next = now_ns();
	int64_t last = 0;
	int n = 0;

	const char *name = getenv("HOG_NAME");

	prctl(PR_SET_NAME, name ? name : "hog");
	while (n < MOST && next < end) {
		struct timespec t = {next / 1000000000, next % 1000000000};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		int64_t began = now_ns();
		while (now_ns() - began < busy)
			;
		lengths[n] = now_ns() - began;
		gaps[n] = last ? began - last : period;
		last = began;
		n++;
		next += period;
	}
	printf("bursts=%d\nbusy_us=%.1f\nperiod_us=%.1f\n", n, median_us(lengths, n),
	       median_us(gaps, n));
	return 0;
}
