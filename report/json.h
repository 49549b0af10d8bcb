/* Building JSON documents: text made safe, and a failed allocation noticed once, at the end. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Each adds `key` to `object` and returns what it added, NULL when memory ran out or `object` is
 * NULL: a chain of calls may go on, and json_failed() tells at the end.
 */
cJSON *json_object(cJSON *object, const char *key);
cJSON *json_array(cJSON *object, const char *key);
void json_number(cJSON *object, const char *key, double value);
void json_bool(cJSON *object, const char *key, bool value);
void json_null(cJSON *object, const char *key);

/* The same for an item that is ours from now on (NULL: it failed). */
void json_put(cJSON *object, const char *key, cJSON *item);

/* Bytes that are not UTF-8 become U+FFFD: what a machine says of itself may be anything. */
void json_text(cJSON *object, const char *key, const char *value);

/* As json_text; null for "" or NULL. */
void json_text_or_null(cJSON *object, const char *key, const char *value);

/* Add to an array: text, an object, or an item that is ours from now on (NULL: it failed). */
void json_add_text(cJSON *array, const char *value);
cJSON *json_add_object(cJSON *array);
void json_add(cJSON *array, cJSON *item);

/* True once any of the above could not get memory. */
bool json_failed(void);

#endif
