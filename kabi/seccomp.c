#include "kabi/seccomp.h"

const struct sc_word sc_actions[SC_ACTION_COUNT] = {
	{ SC_RET_KILL_PROCESS, "KILL_PROCESS", "end the process" },
	{ SC_RET_KILL_THREAD, "KILL_THREAD", "end the thread" },
	{ SC_RET_TRAP, "TRAP", "send SIGSYS" },
	{ SC_RET_ERRNO, "ERRNO", "answer with an error" },
	{ SC_RET_USER_NOTIF, "USER_NOTIF", "ask another process" },
	{ SC_RET_TRACE, "TRACE", "ask a tracer" },
	{ SC_RET_LOG, "LOG", "allow and log" },
	{ SC_RET_ALLOW, "ALLOW", "allow" },
};

const struct sc_word sc_flags[SC_FLAG_COUNT] = {
	{ SC_FLAG_TSYNC, "TSYNC", "put the filter on all threads" },
	{ SC_FLAG_LOG, "LOG", "log what the filter refuses" },
	{ SC_FLAG_SPEC_ALLOW, "SPEC_ALLOW", "leave speculation mitigations alone" },
	{ SC_FLAG_NEW_LISTENER, "NEW_LISTENER", "return a descriptor for user notifications" },
	{ SC_FLAG_TSYNC_ESRCH, "TSYNC_ESRCH", "report a failed TSYNC as ESRCH" },
	{ SC_FLAG_WAIT_KILLABLE_RECV, "WAIT_KILLABLE_RECV",
	  "a notified caller waits for fatal signals only" },
};
