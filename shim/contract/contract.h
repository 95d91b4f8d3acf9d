/* A program that makes API calls as it is told: what `gdbcuda conform` proves a hook library with.

   Commands are lines on the file descriptor whose number is the first argument; each is answered by one line there.
   A command is a function and a place in `commands` (main.c). Where the answer is an error it begins with "no ". */
#ifndef GDBCUDA_CONTRACT_H
#define GDBCUDA_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>

struct contract_function {
    const char *name;
    void (*call)(void *function, void **arguments, void *result);
    size_t result_size;
};

/* callers.c, generated; sorted by name */
extern const struct contract_function contract_functions[];
extern const unsigned contract_functions_count;
extern const char contract_versions[];
const struct contract_function *find_function(const char *name); /* words.c; NULL where there is none */

/* words.c: a command's first word and the next one, NULL behind the last; all that is left of it; a number in hex. */
char *first_word(char *line);
char *next_word(void);
char *rest_of_line(void);
unsigned long next_number(void);
bool is_hex_byte(const char *hex); /* two digits; sscanf would count all that is behind them, each time */
unsigned char hex_byte(const char *hex);
bool answers_go_to(int descriptor); /* false where it is none */
void answer(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* arena.c: the memory that arguments lie in. Nothing but out-parameters may change there in a call. */
void arena_make(void);
void arena_tell_changes(void); /* " OFFSET:HEX" of each run of bytes that was changed and not told yet */
void command_poke(void);       /* OFFSET HEX */
void command_peek(void);       /* OFFSET SIZE */
void arena_put(unsigned long offset, const void *bytes, size_t size); /* no change of a call's */
extern unsigned char *arena;
void command_renew(void); /* another arena, ADDRESS; of the one before nobody can use more than the first page */
enum { ARENA_SIZE = 1 << 18 };

/* calls.c */
void command_call(void); /* SYMBOL ADDRESS ERRNO HEX...: RESULT ERRNO MACHINE CHANGES */
/* COUNT HEX: the call that was made last; MADE DIFFERENT. So many were made in time, and so many gave another result than
   that one. What reaches the stand-in is not written down. */
void command_again(void);
/* The call that was made last is kept, and made again by whom it takes. */
void call_keep(void);
void call_kept(void);
/* RESOLVER ADDRESS NAME HEX...: STATUS HOW and the place of what is handed out. Behind NAME the offsets of three places in
   the arena, to which arguments point: the name, what is handed out, how it was found. */
void command_handed_out(void);

/* machine.c: what to call in its stead to learn what a function does to its caller's registers. A call at a time. */
void *machine_checked(void *function);
void machine_tell_changes(void); /* "NAME=BEFORE>AFTER," of each */

/* between.c: `first` in another thread, then `call` there between each two instructions that this thread's call has in the
   library of that path. False where that cannot be. */
bool between_begin(const char *path, void (*first)(void), void (*call)(void));
void between_step(const void *function); /* which is called next */
void between_end(void);

/* finding.c: how a program comes to a function; "ADDRESS OBJECT+OFFSET SYMBOL", or "0" */
void tell_place(void *address);
void command_linked(void); /* SYMBOL, as the loader has bound it */
void command_dlerror(void); /* default|next|LIBRARY SYMBOL */
void command_dlsym(void);  /* default|next|LIBRARY SYMBOL */
void command_dlvsym(void); /* default|next|LIBRARY SYMBOL VERSION */
void command_where(void);  /* ADDRESS */
void command_code(void);   /* ADDRESS SIZE: the bytes */
void command_open(void);   /* LIBRARY FLAGS */

/* ends.c: a copy of the process goes on with the commands, until its end is told; it says where it crashes, as does a
   process that is to be watched */
void command_fork(void);
void command_end(void);
void command_watch(void);

#endif
