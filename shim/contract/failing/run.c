/* A run in which the driver refuses one call (GDBCUDA_STANDIN_ANSWER). What fails is tried again, by another thread. Each
   call says what it returns and which thread has made it, below the calls that have reached the driver (GDBCUDA_STANDIN_SEEN=/dev/stdout). */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
/* DECLARATIONS */

static const size_t size = 2 << 20;
static CUcontext context;
static nvmlDevice_t device;

/* HELPERS */

/* NUMBERS */

struct deed {
    const char *name;
    long (*call)(void);
    long result;
};

static void *make(void *given)
{
    struct deed *deed = given;
    deed->result = deed->call();
    printf("made %s %ld %d\n", deed->name, deed->result, (int)gettid());
    if (context)
        numbers();
    return NULL;
}

static void *make_aside(void *deed)
{
    if (context)
        cuCtxSetCurrent(context);
    return make(deed);
}

static int done(const char *name, long (*call)(void))
{
    struct deed deed = {name, call, 0};
    pthread_t thread;
    make(&deed);
    if (deed.result && pthread_create(&thread, NULL, make_aside, &deed) == 0)
        pthread_join(thread, NULL);
    return deed.result == 0;
}

static long init(void)
{
    return cuInit(0);
}

static long retain(void)
{
    CUcontext retained = NULL;
    long result = cuDevicePrimaryCtxRetain(&retained, 0);
    if (result == 0)
        context = retained;
    return result;
}

static long set_current(void)
{
    return cuCtxSetCurrent(context);
}

static long init_nvml(void)
{
    return nvmlInit_v2();
}

static long find_device(void)
{
    return nvmlDeviceGetHandleByIndex_v2(0, &device);
}

/* DEEDS */

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (done("nvmlInit_v2", init_nvml))
        done("nvmlDeviceGetHandleByIndex_v2", find_device);
    if (!done("cuInit", init) || !done("cuDevicePrimaryCtxRetain", retain))
        return 0;
    cuCtxSetCurrent(context); /* what has retained it may have been another thread */
    done("cuCtxSetCurrent", set_current);
    /* RUNS */
    numbers(); /* once more: the driver may have refused to say it */
    return 0;
}
