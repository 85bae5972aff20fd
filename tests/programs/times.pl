# Perl's clocks and sleeps (Time::HiRes is part of its standard library).
use strict;
use warnings;
use Time::HiRes qw(time sleep usleep nanosleep clock_gettime clock_nanosleep ualarm
    gettimeofday tv_interval CLOCK_REALTIME CLOCK_MONOTONIC TIMER_ABSTIME);

my $bound = 20e-6;
my $failures = 0;

sub check {
    my ($right, $what) = @_;
    return if $right;
    print STDERR "FAIL $what\n";
    $failures++;
}

sub slept {
    my ($name, $least, $sleep) = @_;
    my $began = clock_gettime(CLOCK_MONOTONIC);
    $sleep->();
    my $took = clock_gettime(CLOCK_MONOTONIC) - $began;
    check($took >= $least - $bound && $took < 10, "$name took $took s of $least");
}

my $last = 0;
for (1 .. 20000) {
    my $now = clock_gettime(CLOCK_MONOTONIC);
    check($now >= $last, "CLOCK_MONOTONIC went backwards");
    $last = $now;
}
my ($before, $day, $after) = (clock_gettime(CLOCK_REALTIME), time, clock_gettime(CLOCK_REALTIME));
check($before - $bound <= $day && $day <= $after + $bound, "time is $day, not in $before..$after");
# The core's is the kernel's of the last tick; however long the program is held up in between.
my ($early, $core, $late) = (time, CORE::time(), time);
check(int($early - 0.1) <= $core && $core <= $late, "the core's time is $core, not in $early..$late");
check(tv_interval([gettimeofday]) < 10, "gettimeofday");

slept('sleep', 0.003, sub { sleep(0.003) });
slept('usleep', 0.002, sub { usleep(2000) });
slept('nanosleep', 0.002, sub { nanosleep(2_000_000) });
slept('clock_nanosleep', 0.002, sub { clock_nanosleep(CLOCK_MONOTONIC, 2_000_000) });
slept('absolute clock_nanosleep', 0.002, sub {
    my $until = int((clock_gettime(CLOCK_MONOTONIC) + 0.0021) * 1e9);
    clock_nanosleep(CLOCK_MONOTONIC, $until, TIMER_ABSTIME);
});
slept('select', 0.002, sub { select(undef, undef, undef, 0.002) });

# A signal ends a sleep; what has passed is what the call says.
my $signals = 0;
$SIG{ALRM} = sub { $signals++ };
ualarm(5000, 5000);
my $began = clock_gettime(CLOCK_MONOTONIC);
my $told = sleep(5);
my $took = clock_gettime(CLOCK_MONOTONIC) - $began;
ualarm(0);
check($signals >= 1 && $took < 5, "no signal ended the sleep: $took s");
check(abs($told - $took) < 0.5, "sleep says it slept $told s, it was $took s");
print $failures ? "failed\n" : "all checks passed\n";
exit($failures != 0);
