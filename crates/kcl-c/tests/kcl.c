// The C library from C: answers, errors, bad input, several threads, and everything given back.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kcl.h"

static void expect(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        exit(1);
    }
}

static KclAnswer json(const char *method, const char *message) {
    return kcl_call(method, KCL_JSON, (const uint8_t *)message, strlen(message));
}

static void *many(void *arg) {
    int rounds = *(int *)arg;
    for (int i = 0; i < rounds; i++) {
        KclAnswer a = json("KclService.ExecProgram", "{\"k_filename_list\":[\"a.k\"],\"k_code_list\":[\"a = 1\\nb = a + 1\"]}");
        expect(a.status == 0 && strstr((char *)a.data, "b: 2") != NULL, "a run answers");
        expect(a.data[a.len] == 0, "a zero byte follows");
        kcl_free(a);
        a = json("KclService.ExecProgram", "{\"k_filename_list\":[\"a.k\"],\"k_code_list\":[\"a: int = 's'\"]}");
        expect(a.status == 1 && strstr((char *)a.data, "expected int") != NULL, "wrong code is an error");
        kcl_free(a);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    expect(strchr(kcl_version(), '.') != NULL, "a version");

    KclAnswer a = json("KclService.Ping", "{\"value\":\"hello\"}");
    expect(a.status == 0 && strcmp((char *)a.data, "{\"value\":\"hello\"}") == 0, "ping");
    kcl_free(a);

    const uint8_t ping[] = {0x0a, 0x02, 'h', 'i'};
    a = kcl_call("KclService.Ping", KCL_PROTOBUF, ping, sizeof ping);
    expect(a.status == 0 && a.len == sizeof ping && memcmp(a.data, ping, a.len) == 0, "ping in Protobuf");
    kcl_free(a);

    a = kcl_call("KclService.Nope", KCL_JSON, NULL, 0);
    expect(a.status == 1 && strstr((char *)a.data, "no method") != NULL, "an unknown method");
    kcl_free(a);
    a = kcl_call(NULL, KCL_JSON, NULL, 0);
    expect(a.status == 1, "no method");
    kcl_free(a);
    a = kcl_call("KclService.Ping", KCL_JSON, NULL, 5);
    expect(a.status == 1, "no message");
    kcl_free(a);
    a = kcl_call("KclService.Ping", 7, NULL, 0);
    expect(a.status == 1, "no such encoding");
    kcl_free(a);
    a = kcl_call("\xff\xfe", KCL_JSON, NULL, 0);
    expect(a.status == 1, "a name that is no text");
    kcl_free(a);
    a = json("KclService.Ping", "{");
    expect(a.status == 1, "a message that is no JSON");
    kcl_free(a);

    pthread_t threads[4];
    for (int i = 0; i < 4; i++) expect(pthread_create(&threads[i], NULL, many, &rounds) == 0, "a thread");
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    puts("ok");
    return 0;
}
