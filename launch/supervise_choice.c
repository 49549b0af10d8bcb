#include "launch/supervise_choice.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "launch/ask.h"

static const char *const words[] = {
	[SUPERVISE_AUTO] = "auto",
	[SUPERVISE_NONE] = "none",
	[SUPERVISE_METADATA] = "metadata",
};

int supervise_choice_read(const char *word, enum supervise_choice *ret)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		*ret = (enum supervise_choice)i;
		return 0;
	}
	return -EINVAL;
}

unsigned supervise_choice_asks(enum supervise_choice choice, const struct policy *policy)
{
	switch (choice) {
	case SUPERVISE_AUTO:
		return policy->net != NET_NONE || policy->broker_socket ? ASK_CONNECT : 0;
	case SUPERVISE_NONE:
		return 0;
	case SUPERVISE_METADATA:
		return ASK_CONNECT | ASK_METADATA;
	}
	return 0;
}
