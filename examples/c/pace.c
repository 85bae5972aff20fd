/*
 * Copies standard input to standard output at a steady rate, a portion every
 * millisecond, and tells on standard error what became of the schedule. A portion that
 * comes late makes up for the periods it missed, so that the rate holds.
 *
 *   cc -O2 -o pace pace.c $(pkg-config --cflags --libs tompion)
 *   pace 1000000 < file > copy
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tompion.h>

enum { PERIOD_NS = 1000000, PERIODS_PER_SECOND = 1000 };

/* Copies up to `count` bytes; how many there were. */
static uint64_t copy(uint64_t count)
{
    static char buffer[1 << 16];
    uint64_t copied = 0;
    while (copied < count) {
        uint64_t left = count - copied;
        size_t got = fread(buffer, 1, left < sizeof buffer ? left : sizeof buffer, stdin);
        if (got == 0 || fwrite(buffer, 1, got, stdout) < got)
            break;
        copied += got;
    }
    fflush(stdout);
    return copied;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    errno = 0;
    double rate = argc == 2 ? strtod(argv[1], &end) : 0;
    if (errno != 0 || end == NULL || *end != '\0' || !(rate >= 1 && rate <= 1e12)) {
        fputs("usage: pace BYTES_PER_SECOND < INPUT > OUTPUT\n", stderr);
        return EXIT_FAILURE;
    }
    tompion_ticker *ticker = tompion_ticker_new(PERIOD_NS, TOMPION_SLEEP_POLICY_HYBRID,
                                                TOMPION_BUDGET_DEFAULT);
    if (ticker == NULL) {
        perror("pace: tompion_ticker_new");
        return EXIT_FAILURE;
    }

    struct tompion_tick tick;
    uint64_t copied = 0, periods = 0, missed = 0, worst_ns = 0, spun_ns = 0;
    for (;;) {
        if (tompion_ticker_tick(ticker, &tick, sizeof tick) < 0)
            abort(); /* Only for wrong arguments. */
        missed += tick.missed;
        spun_ns += tick.spun_ns;
        if (tick.late_ns > worst_ns)
            worst_ns = tick.late_ns;
        /* Numbers account for every period, also for the missed ones. */
        periods = tick.number + tick.missed + 1;
        uint64_t due = (uint64_t)(rate * (double)periods / PERIODS_PER_SECOND);
        uint64_t portion = due - copied;
        uint64_t got = copy(portion);
        copied += got;
        if (got < portion)
            break;
    }
    tompion_ticker_free(ticker);
    fprintf(stderr,
            "%" PRIu64 " bytes in %" PRIu64 " periods of 1 ms, %" PRIu64
            " missed, at most %.1f us late, %.2f %% of the time spun\n",
            copied, periods, missed, (double)worst_ns / 1e3,
            100.0 * (double)spun_ns / ((double)periods * PERIOD_NS));
    if (ferror(stdin) || ferror(stdout)) {
        fputs("pace: input or output failed\n", stderr);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
