#include "report/verbs.h"

#include <string.h>

#include "report/audit/audit.h"
#include "report/completion.h"
#include "report/diff.h"

const struct verb verbs[] = {
	{ &audit_command, audit_main },
	{ &diff_command, diff_main },
	{ &completion_command, completion_main },
};
const size_t verb_count = sizeof(verbs) / sizeof(verbs[0]);

const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < verb_count; i++)
		if (strcmp(verbs[i].command->name, name) == 0)
			return &verbs[i];
	return NULL;
}
