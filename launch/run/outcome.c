#include "launch/run/outcome.h"

const char *reason_word(enum reason reason)
{
	switch (reason) {
	case REASON_UNKNOWN:
		return "unknown";
	case REASON_LAUNCH_FAILED:
		return "launch_failed";
	case REASON_SANDBOX_MISSING:
		return "sandbox_missing";
	case REASON_SANDBOX_HUNG:
		return "sandbox_hung";
	case REASON_OOM:
		return "oom";
	case REASON_TIMEOUT:
		return "timeout";
	case REASON_SIGNAL:
		return "signal";
	case REASON_EXIT_NONZERO:
		return "exit_nonzero";
	case REASON_OK:
		return "ok";
	}
	return "unknown";
}

const char *container_word(enum container_kind kind)
{
	switch (kind) {
	case CONTAINER_NONE:
		return "none";
	case CONTAINER_GROUP:
		return "group";
	case CONTAINER_LEAF:
		return "leaf";
	}
	return "none";
}

const char *container_status(enum container_kind kind)
{
	switch (kind) {
	case CONTAINER_NONE:
		return "unavailable";
	case CONTAINER_GROUP:
		return "cooperative";
	case CONTAINER_LEAF:
		return "enforced";
	}
	return "unavailable";
}
