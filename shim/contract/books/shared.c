/* Memory of one process that another one opens, lets go of, and lets go of once more; then its owner gives it back. The
   argument: with "killed" the other one is killed while it has it open. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
/* DECLARATIONS */

enum { OWNER = 0, OTHER = 10 }; /* the numbers of their steps */

static nvmlDevice_t device;
static const size_t size = 4 << 20;
static struct {
    char ticket[64];
} *shared;

/* GLUE */

/* NUMBERS */

static void look(int step, long result)
{
    printf("step %d %ld\n", step, result);
    numbers();
    fflush(stdout);
}

static int begin(void)
{
    CUcontext context;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || nvmlInit_v2())
        return 1;
    return nvmlDeviceGetHandleByIndex_v2(0, &device) != 0;
}

/* Their turns: a byte, and with it a file where there is one. */
static void pass(int channel, int file)
{
    char byte = 0, room[CMSG_SPACE(sizeof file)] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = room;
        message.msg_controllen = sizeof room;
        struct cmsghdr *one = CMSG_FIRSTHDR(&message);
        *one = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof file), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(one), &file, sizeof file);
    }
    if (sendmsg(channel, &message, MSG_NOSIGNAL) < 0)
        _exit(6);
}

static int wait_for(int channel)
{
    int file = -1;
    char byte, room[CMSG_SPACE(sizeof file)];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(channel, &message, 0) <= 0)
        _exit(7);
    if (CMSG_FIRSTHDR(&message))
        memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
}

static void be_other(int channel)
{
    int file = wait_for(channel);
    if (begin())
        _exit(8);
    look(OTHER, 0);
    look(OTHER + 1, open_it(file));
    pass(channel, -1);
    wait_for(channel); /* who is killed gets no further */
    look(OTHER + 2, close_it());
    look(OTHER + 3, close_it());
    pass(channel, -1);
    wait_for(channel);
    look(OTHER + 4, 0);
    _exit(0);
}

int main(int count, char **told)
{
    int channels[2], status = 0, file = -1, is_killed = count > 1 && strcmp(told[1], "killed") == 0;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, channels))
        return 3;
    pid_t other = fork();
    if (other == 0) {
        close(channels[0]);
        be_other(channels[1]);
    }
    close(channels[1]);
    if (begin())
        return 4;
    look(OWNER, 0);
    look(OWNER + 1, get());
    look(OWNER + 2, export_it(&file));
    pass(channels[0], file);
    wait_for(channels[0]);
    if (is_killed)
        kill(other, SIGKILL);
    else
        pass(channels[0], -1);
    if (is_killed)
        waitpid(other, &status, 0);
    else
        wait_for(channels[0]);
    look(OWNER + 3, 0);
    look(OWNER + 4, give());
    if (is_killed)
        return 0;
    pass(channels[0], -1);
    return waitpid(other, &status, 0) < 0 || status != 0;
}
