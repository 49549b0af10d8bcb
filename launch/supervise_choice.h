/* Whether a module is supervised: the words of --supervise, and what each comes to for a policy. */
#ifndef LAUNCH_SUPERVISE_CHOICE_H
#define LAUNCH_SUPERVISE_CHOICE_H

#include "launch/policy.h"

enum supervise_choice {
	SUPERVISE_AUTO, /* when the policy grants a network or a broker */
	SUPERVISE_NONE,
	SUPERVISE_METADATA, /* always, and changes of metadata too */
};

/* Returns 0, or -EINVAL for any other word. */
int supervise_choice_read(const char *word, enum supervise_choice *ret);

/* What the module's parent is asked, as bits of launch/ask.h; 0: nothing. */
unsigned supervise_choice_asks(enum supervise_choice choice, const struct policy *policy);

#endif
