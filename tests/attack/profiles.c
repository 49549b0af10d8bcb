/* Policies as the published agent writes them: every key, compact (spec/wire.md §1.1). */
#include "tests/attack/attack.h"

#include <stdio.h>

const char *const profile_names[PROFILE_COUNT] = {
	[PLAIN] = "plain", [EGRESS] = "egress",	  [BROKER] = "broker",
	[GPU] = "gpu",	   [EXEC_RW] = "exec_rw", [GRANTED] = "granted",
};

/* The launcher has no backend below 3, and no TCP ports below 4 (spec/contract-linux.md). */
static const int profile_abi[PROFILE_COUNT] = {
	[PLAIN] = 3, [EGRESS] = 4, [BROKER] = 3, [GPU] = 3, [EXEC_RW] = 3, [GRANTED] = 4,
};

bool profile_launches(const struct stage *s, enum profile profile)
{
	return s->abi >= profile_abi[profile];
}

static const char *word(bool yes)
{
	return yes ? "true" : "false";
}

static int write_profile(const struct stage *s, enum profile profile)
{
	bool all = profile == GRANTED;
	bool net = profile == EGRESS || all;
	char broker[300] = "null";
	char port[16] = "null";
	char text[4096];
	int n;

	if (net)
		snprintf(port, sizeof(port), "%u", s->proxy_port);
	if (profile == BROKER || all)
		snprintf(broker, sizeof(broker), "\"%s\"", socket_path(s, "broker"));
	n = snprintf(text, sizeof(text),
		     "{\"module\":\"attack\",\"ro\":[\"%s\"%s%s%s],\"rw\":[\"%s\"],\"net\":\"%s\","
		     "\"proxy_port\":%s,\"broker_socket\":%s,\"gpu\":%s,\"exec_rw\":%s,"
		     "\"kind\":\"runner\",\"exe\":\"%s\",\"rd\":[\"%s\"],\"wo\":[\"%s\"]}",
		     place_path(s, BUNDLE), s->setuid[0] ? ",\"" : "", s->setuid,
		     s->setuid[0] ? "\"" : "", place_path(s, WORK),
		     net ? "egress-allowlist" : "none", port, broker, word(profile == GPU || all),
		     word(profile == EXEC_RW || all), path_at(s, BUNDLE, "attacker"),
		     place_path(s, INPUT), place_path(s, OUTBOX));
	if (n < 0 || (size_t)n >= sizeof(text))
		return -1;
	return write_text(policy_path(s, profile_names[profile]), text);
}

int profiles_write(const struct stage *s)
{
	int r = 0;

	for (unsigned profile = 0; r == 0 && profile < PROFILE_COUNT; profile++)
		r = write_profile(s, profile);
	return r;
}
