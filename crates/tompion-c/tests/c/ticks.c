/* Prints COUNT ticks of PERIOD_NS: number, due, late, missed. For a test that stops this
 * process meanwhile. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tompion.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    tompion_ticker *ticker =
        tompion_ticker_new(strtoull(argv[1], NULL, 10), TOMPION_SLEEP_POLICY_KERNEL, 0);
    for (int left = atoi(argv[2]); left > 0; left--) {
        struct tompion_tick tick;
        if (tompion_ticker_tick(ticker, &tick, sizeof tick) < 0)
            return 1;
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", tick.number,
               tick.scheduled_ns, tick.late_ns, tick.missed);
        fflush(stdout);
    }
    tompion_ticker_free(ticker);
    return 0;
}
