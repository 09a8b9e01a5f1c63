/* A libnvidia-ml.so.1 with one answer to each question, and a log of the questions in $STUB_LOG.
   STUB_INIT: the error code of nvmlInit. STUB_HANG_S: how long it takes. STUB_PID: a process on the card.
   STUB_POWER, STUB_MEMORY: error codes of those questions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } ProcessInfo;

static int number(const char *name) { const char *text = getenv(name); return text ? atoi(text) : 0; }

static void asked(const char *question, const char *about) {
    FILE *log = fopen(getenv("STUB_LOG"), "a");
    fprintf(log, "%s %s\n", question, about);
    fclose(log);
}

static int listed(unsigned *count, ProcessInfo *list, unsigned pid, unsigned long long used) {
    if (!pid) { *count = 0; return 0; }
    if (*count < 1) { *count = 1; return 7; /* NVML_ERROR_INSUFFICIENT_SIZE */ }
    *count = 1;
    list[0] = (ProcessInfo){pid, used, 0, 0};
    return 0;
}

int nvmlInitWithFlags(unsigned flags) {
    asked("init", "");
    if (number("STUB_HANG_S")) sleep(number("STUB_HANG_S"));
    return number("STUB_INIT");
}
int nvmlShutdown(void) { asked("shutdown", ""); return 0; }
const char *nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "GPU is lost"; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) { *handle = (void *)0x1000; return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **handle) {
    asked("handle", bus);
    *handle = (void *)0x1000;
    return 0;
}
int nvmlDeviceGetName(void *handle, char *name, unsigned length) { strncpy(name, "Stub 4090", length); return 0; }
int nvmlDeviceGetUtilizationRates(void *handle, Utilization *rates) {
    asked("utilization", "");
    *rates = (Utilization){37, 12};
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *handle, Memory *memory) {
    *memory = (Memory){24ULL << 30, 14ULL << 30, 10ULL << 30};
    return number("STUB_MEMORY");
}
int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *celsius) { *celsius = 61; return 0; }
int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts) { *milliwatts = 250500; return number("STUB_POWER"); }
int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *milliwatts) { *milliwatts = 450000; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, ProcessInfo *list) {
    return listed(count, list, number("STUB_PID"), 3ULL << 30);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned *count, ProcessInfo *list) {
    return listed(count, list, number("STUB_PID"), 3ULL << 30);
}
