/* torture: Exceptions that come through a hooked function, and objects that must be destroyed on the way. */
static int destroyed;

struct Guarded {
    word n;
    ~Guarded() { destroyed += n != 0; }
};

static void thrower(void *data)
{
    struct dice dice = {(u64)data};
    Guarded one = {(word)data};
    invoke(&dice, 1);
    if ((word)data % 3 == 1)
        throw (word)data;
    if ((word)data % 3 == 2)
        throw Guarded{0};
}

static void part_exceptions(struct dice *dice)
{
    int caught = 0, passed = 0;
    word sum = 0;
    destroyed = 0;
    for (int i = 0; i < 60; i++) {
        word n = (roll(dice) & 0xfff) + 1;
        try {
            call_back(thrower, n);
            passed++;
        } catch (word thrown) {
            sum += thrown;
            caught++;
        } catch (const Guarded &) {
            caught++;
        }
        invoke(dice, 1);
    }
    say("= exceptions: %d caught, %d passed, %d destroyed, sum %lu", caught, passed, destroyed, sum);
}
