/*
 * What the clock does on this machine, what a read costs seen from a program, and how
 * late two kinds of sleeps end.
 *
 *   cc -O2 -o clock clock.c $(pkg-config --cflags --libs tompion)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tompion.h>

static int failed(const char *call, int answer)
{
    fprintf(stderr, "clock: %s: %s\n", call, strerror(-answer));
    return EXIT_FAILURE;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    /* Nobody has to call this; but it makes the first reads cheap. */
    int answer = tompion_clock_init(TOMPION_CLOCK_POLICY_AUTO);
    if (answer < 0)
        return failed("tompion_clock_init", answer);

    char text[2048];
    answer = tompion_clock_report_text(text, sizeof text);
    if (answer < 0)
        return failed("tompion_clock_report_text", answer);
    puts(text);

    /* The same as numbers. */
    struct tompion_report report;
    answer = tompion_clock_report(&report, sizeof report);
    if (answer < 0)
        return failed("tompion_clock_report", answer);
    if (report.against_advice)
        puts("Mind: the counter is in use against advice.");

    enum { READS = 1000000 };
    uint64_t start = tompion_now_ordered_ns();
    uint64_t sum = 0;
    for (int i = 0; i < READS; i++)
        sum += tompion_now_ns();
    uint64_t took = tompion_now_ordered_ns() - start;
    printf("%d reads from this program: %.1f ns each; the kernel's clock %.1f ns\n", READS,
           (double)took / READS, report.kernel_read_cost_ns);

    /* A sleep of the kernel, and one that spins over the end. */
    static const struct {
        const char *name;
        int policy;
    } policies[] = {
        {"system", TOMPION_SLEEP_POLICY_SYSTEM},
        {"hybrid", TOMPION_SLEEP_POLICY_HYBRID},
    };
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        tompion_sleeper *sleeper =
            tompion_sleeper_new(policies[i].policy, TOMPION_BUDGET_DEFAULT);
        if (sleeper == NULL) {
            perror("clock: tompion_sleeper_new");
            return EXIT_FAILURE;
        }
        enum { SLEEPS = 201 };
        uint64_t late_ns[SLEEPS], spun_ns = 0;
        for (int n = 0; n < SLEEPS; n++) {
            struct tompion_slept slept;
            answer = tompion_sleeper_sleep_ns(sleeper, 1000000, &slept, sizeof slept);
            if (answer < 0)
                return failed("tompion_sleeper_sleep_ns", answer);
            late_ns[n] = slept.late_ns;
            spun_ns += slept.spun_ns;
        }
        qsort(late_ns, SLEEPS, sizeof *late_ns, by_size);
        printf("%d sleeps of 1 ms, policy %s: median %.1f us late; %.1f us spun each\n", SLEEPS,
               policies[i].name, (double)late_ns[SLEEPS / 2] / 1e3,
               (double)spun_ns / 1e3 / SLEEPS);
        tompion_sleeper_free(sleeper);
    }
    return sum == 0; /* Never; the loop above is not for nothing. */
}
