/* The facts object of the wire (facts version 2), as an agent sends it. */
#ifndef REPORT_FACTS_JSON_H
#define REPORT_FACTS_JSON_H

#include <cjson/cJSON.h>

#include "probe/probe.h"

/* Add the keys of spec/wire.md §3.1 to `object`, in its order. */
void facts_json(cJSON *object, const struct facts *facts, const struct capabilities *capabilities);

/* The `sandbox` object alone (wire.md §3.2): fill `object`. */
void sandbox_fill_json(cJSON *object, const struct capabilities *capabilities);

/* The architecture's name on the wire: "amd64", "arm64", or "unknown". */
const char *wire_arch(const char *machine);

#endif
