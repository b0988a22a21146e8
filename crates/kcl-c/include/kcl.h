// The API of KCL for C; link with -lkcl. Kept beside crates/kcl-c/src/lib.rs: a test compares both.
#ifndef KCL_H
#define KCL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Messages are JSON.
#define KCL_JSON 0
// Messages are Protocol Buffers.
#define KCL_PROTOBUF 1

// An answer. Whoever gets one gives it to kcl_free, once.
typedef struct KclAnswer {
  // The bytes of the message or, if status is not 0, a sentence in UTF-8; never null. A zero byte follows the last one.
  uint8_t *data;
  // How many bytes there are, without the zero.
  size_t len;
  // 0: a message. 1: an error. 2: an error that is a bug of ours.
  int32_t status;
} KclAnswer;

// Calls a method of the API, for instance "KclService.ExecProgram", with a message of len bytes; returns its answer.
// Any thread may call. method ends with a zero byte; message points to len bytes, or len is 0. Nothing of them is kept.
KclAnswer kcl_call(const char *method, int32_t encoding, const uint8_t *message, size_t len);

// Takes an answer back.
void kcl_free(KclAnswer answer);

// Returns the version of the library: a text that lives as long as the process.
const char *kcl_version(void);

#ifdef __cplusplus
}
#endif

#endif
