// The C library for Node: call(method, json) on this thread, callAsync(method, json) on a worker thread.
// Everything that is known of KCL stands in index.js; here texts are carried to kcl_call and back.
#include <node_api.h>
#include <stdlib.h>
#include <string.h>

#include "kcl.h"

typedef struct {
    char *method;
    char *message;
    size_t len;
    KclAnswer answer;
    napi_deferred deferred;
    napi_async_work work;
} Job;

static void end(Job *job) {
    free(job->method);
    free(job->message);
    free(job);
}

static char *text(napi_env env, napi_value value, size_t *len) {
    if (napi_get_value_string_utf8(env, value, NULL, 0, len) != napi_ok) return NULL;
    char *out = malloc(*len + 1);
    if (out != NULL && napi_get_value_string_utf8(env, value, out, *len + 1, len) != napi_ok) {
        free(out);
        return NULL;
    }
    return out;
}

// The two texts of a call, or NULL with an exception.
static Job *job_of(napi_env env, napi_callback_info info) {
    size_t count = 2, method_len = 0;
    napi_value args[2];
    Job *job = calloc(1, sizeof *job);
    if (job != NULL && napi_get_cb_info(env, info, &count, args, NULL, NULL) == napi_ok && count == 2) {
        job->method = text(env, args[0], &method_len);
        job->message = text(env, args[1], &job->len);
        if (job->method != NULL && job->message != NULL) return job;
    }
    if (job != NULL) end(job);
    napi_throw_type_error(env, NULL, "call(method, json) takes two texts");
    return NULL;
}

static void run(Job *job) {
    job->answer = kcl_call(job->method, KCL_JSON, (const uint8_t *)job->message, job->len);
}

// The answer as a text, or as an Error if *failed; it is given back.
static napi_value taken(napi_env env, KclAnswer answer, int *failed) {
    napi_value value = NULL, error = NULL;
    *failed = answer.status != 0;
    napi_create_string_utf8(env, (char *)answer.data, answer.len, &value);
    if (*failed && napi_create_error(env, NULL, value, &error) == napi_ok) value = error;
    kcl_free(answer);
    return value;
}

static napi_value call(napi_env env, napi_callback_info info) {
    int failed = 0;
    Job *job = job_of(env, info);
    if (job == NULL) return NULL;
    run(job);
    napi_value value = taken(env, job->answer, &failed);
    end(job);
    if (failed) {
        napi_throw(env, value);
        return NULL;
    }
    return value;
}

static void execute(napi_env env, void *data) {
    (void)env;
    run(data);
}

static void complete(napi_env env, napi_status status, void *data) {
    Job *job = data;
    int failed = 0;
    (void)status;
    napi_value value = taken(env, job->answer, &failed);
    if (failed) {
        napi_reject_deferred(env, job->deferred, value);
    } else {
        napi_resolve_deferred(env, job->deferred, value);
    }
    napi_delete_async_work(env, job->work);
    end(job);
}

static napi_value call_async(napi_env env, napi_callback_info info) {
    napi_value promise, name;
    Job *job = job_of(env, info);
    if (job == NULL) return NULL;
    if (napi_create_promise(env, &job->deferred, &promise) != napi_ok ||
        napi_create_string_utf8(env, "kcl", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_async_work(env, NULL, name, execute, complete, job, &job->work) != napi_ok ||
        napi_queue_async_work(env, job->work) != napi_ok) {
        end(job);
        napi_throw_error(env, NULL, "the call cannot be queued");
        return NULL;
    }
    return promise;
}

static napi_value version(napi_env env, napi_callback_info info) {
    napi_value value;
    (void)info;
    napi_create_string_utf8(env, kcl_version(), NAPI_AUTO_LENGTH, &value);
    return value;
}

NAPI_MODULE_INIT() {
    napi_property_descriptor members[] = {
        {"call", NULL, call, NULL, NULL, NULL, napi_enumerable, NULL},
        {"callAsync", NULL, call_async, NULL, NULL, NULL, napi_enumerable, NULL},
        {"version", NULL, version, NULL, NULL, NULL, napi_enumerable, NULL},
    };
    napi_define_properties(env, exports, 3, members);
    return exports;
}
