/* torture: Functions with strings and structures behind pointers, for conditions that look there. */
static void part_strings(struct dice *dice)
{
    for (int i = 0; i < 150; i++) {
        resolve(dice);
        copy(dice);
    }
}
