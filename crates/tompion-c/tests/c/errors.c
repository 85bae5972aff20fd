/* Wrong arguments are answered, and never crash; structs of other sizes. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <tompion.h>

#include "check.h"

#define ANSWERS(call, wanted)                                                              \
    do {                                                                                   \
        int answered = (call);                                                             \
        CHECK(answered == (wanted), "%d, not %d", answered, (wanted));                     \
    } while (0)

#define REFUSES(call, wanted)                                                              \
    do {                                                                                   \
        errno = 0;                                                                         \
        const void *made = (call);                                                         \
        CHECK(made == NULL && errno == (wanted), "%p, errno %d", made, errno);             \
    } while (0)

static void texts(int (*call)(char *, size_t))
{
    char text[2048], cut[2048];
    int whole = call(text, sizeof text);
    CHECK(whole >= 0 && whole == (int)strlen(text), "%d: %s", whole, text);
    ANSWERS(call(NULL, 1), -EINVAL);
    CHECK(call(NULL, 0) >= 0, "a length without a place");
    for (size_t size = 1; size < 8; size++) {
        memset(cut, 'x', sizeof cut);
        int length = call(cut, size);
        size_t shown = (size_t)length < size ? (size_t)length : size - 1;
        CHECK(strlen(cut) == shown, "%zu of %zu", strlen(cut), size);
        CHECK(memcmp(cut, text, shown) == 0, "%s", cut);
        CHECK(cut[shown + 1] == 'x', "written beyond %zu", size);
    }
}

int main(void)
{
    static const int bad[] = {-1, 5, 6, 1000, INT_MAX, INT_MIN};
    uint64_t ns = 77;
    double hz = 77;

    ANSWERS(tompion_clock_init(TOMPION_CLOCK_POLICY_KERNEL), 0);
    CHECK(tompion_clock_get_source() == TOMPION_CLOCK_SOURCE_KERNEL, "not the kernel's");
    CHECK(tompion_clock_check() == TOMPION_CLOCK_SOURCE_KERNEL, "not the kernel's");
    ANSWERS(tompion_ticks_to_ns(1000, &ns), -EOPNOTSUPP);
    ANSWERS(tompion_ticks_hz(&hz), -EOPNOTSUPP);
    CHECK(ns == 77 && hz == 77, "answers in spite of an error");
    char reason[256] = "";
    ANSWERS(tompion_clock_reason(reason, sizeof reason), (int)strlen("asked for"));
    CHECK(strcmp(reason, "asked for") == 0, "%s", reason);
    texts(tompion_clock_reason);
    texts(tompion_clock_report_text);

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ANSWERS(tompion_clock_init(bad[i]), -EINVAL);
        ANSWERS(tompion_clock_set_policy(bad[i]), -EINVAL);
        REFUSES(tompion_sleeper_new(bad[i], 0.1), EINVAL);
        REFUSES(tompion_ticker_new(1000, bad[i], 0.1), EINVAL);
        REFUSES(tompion_ticker_new_at(0, 1000, bad[i], 0.1), EINVAL);
    }
    ANSWERS(tompion_clock_set_policy(3), -EINVAL);
    CHECK(tompion_clock_get_policy() == TOMPION_CLOCK_POLICY_KERNEL, "the policy changed");
    static const double shares[] = {-0.01, 1.01, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        REFUSES(tompion_sleeper_new(TOMPION_SLEEP_POLICY_KERNEL, shares[i]), EINVAL);
        REFUSES(tompion_ticker_new(1000, TOMPION_SLEEP_POLICY_HYBRID, shares[i]), EINVAL);
    }
    REFUSES(tompion_ticker_new(0, TOMPION_SLEEP_POLICY_HYBRID, 0.1), EINVAL);
    REFUSES(tompion_ticker_new_at(1, 0, TOMPION_SLEEP_POLICY_HYBRID, 0.1), EINVAL);

    /* Nobody waits on an error. */
    struct tompion_slept slept;
    struct tompion_tick tick;
    const uint64_t hour = UINT64_C(3600000000000);
    tompion_sleeper *sleeper = tompion_sleeper_new(TOMPION_SLEEP_POLICY_KERNEL, 0);
    tompion_ticker *ticker = tompion_ticker_new(hour, TOMPION_SLEEP_POLICY_KERNEL, 0);
    ANSWERS(tompion_sleeper_sleep_ns(NULL, hour, &slept, sizeof slept), -EINVAL);
    ANSWERS(tompion_sleeper_sleep_until_ns(NULL, UINT64_MAX, &slept, sizeof slept), -EINVAL);
    ANSWERS(tompion_sleeper_sleep_ns(sleeper, hour, &slept, sizeof slept - 1), -EINVAL);
    ANSWERS(tompion_sleeper_sleep_ns(sleeper, hour, &slept, 0), -EINVAL);
    ANSWERS(tompion_sleeper_sleep_ns(sleeper, hour, &slept, 4097), -E2BIG);
    ANSWERS(tompion_ticker_tick(NULL, &tick, sizeof tick), -EINVAL);
    ANSWERS(tompion_ticker_tick(ticker, &tick, sizeof tick - 1), -EINVAL);
    ANSWERS(tompion_ticker_tick(ticker, &tick, 4097), -E2BIG);
    ANSWERS(tompion_sleeper_sleep_ns(sleeper, 1, NULL, 0), 0);
    tompion_sleeper_free(sleeper);
    tompion_ticker_free(ticker);
    tompion_sleeper_free(NULL);
    tompion_ticker_free(NULL);

    struct tompion_report report;
    ANSWERS(tompion_clock_report(NULL, sizeof report), -EINVAL);
    ANSWERS(tompion_clock_report(&report, sizeof report - 1), -EINVAL);
    ANSWERS(tompion_clock_report(&report, SIZE_MAX), -E2BIG);
    /* Of a later header. */
    struct {
        struct tompion_report known;
        uint64_t later[3], beyond;
    } grown;
    memset(&grown, 0xff, sizeof grown);
    ANSWERS(tompion_clock_report(&grown.known, offsetof(__typeof__(grown), beyond)), 0);
    CHECK(grown.known.policy == TOMPION_CLOCK_POLICY_KERNEL, "not filled");
    CHECK(grown.later[0] == 0 && grown.later[2] == 0, "not zeroed");
    CHECK(grown.beyond == UINT64_MAX, "written beyond the end");

    ANSWERS(tompion_clock_init(TOMPION_CLOCK_POLICY_AUTO), 0);
    ANSWERS(tompion_ticks_to_ns(1000, NULL), -EINVAL);
    ANSWERS(tompion_ticks_hz(NULL), -EINVAL);
    CHECK(strcmp(tompion_version(), TOMPION_VERSION) == 0, "%s", tompion_version());
    return failures > 0;
}
