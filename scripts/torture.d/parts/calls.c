/* torture: Calls of the main thread, by all callers. */
static void part_calls(struct dice *dice)
{
    for (int i = 0; i < 400; i++)
        invoke(dice, 1);
}
