/* A policy as JSON, the way policy_parse() reads it. Inside this folder only. */
#ifndef LAUNCH_POLICY_PRINT_H
#define LAUNCH_POLICY_PRINT_H

#include "kabi/text.h"
#include "launch/policy.h"

/* One object on one line, without a newline. t->cut tells that it did not fit. */
void policy_print(const struct policy *policy, struct text *t);

#endif
