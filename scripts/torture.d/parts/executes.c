/* torture (executes): The program becomes itself again, once. */
static void part_executes(struct dice *dice)
{
    char again[] = "again", *words[] = {program_words[0], program_words[1], program_words[2], program_words[3],
                                        program_words[4], again, NULL};
    if (second_time)
        return;
    invoke(dice, 1);
    told = 1;
    for (int i = 1; i <= WORKERS; i++)
        pthread_join(workers[i], NULL);
    say_counts();
    execv("/proc/self/exe", words);
    abort();
}
