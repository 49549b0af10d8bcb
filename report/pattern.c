#include "report/pattern.h"

#include <string.h>
#include <strings.h>

#include "kabi/host.h"
#include "kabi/text.h"
#include "report/version.h"

#define DIGIT "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define HEX DIGIT "abcdef"

static bool among(char c, const char *set)
{
	return c && strchr(set, c);
}

/* One character of `first`, then only characters of `rest`. */
static bool spelled(const char *s, const char *first, const char *rest)
{
	return among(*s, first) && s[1 + strspn(s + 1, rest)] == '\0';
}

static bool any(const char *s)
{
	(void)s;
	return true;
}

static bool is_word(const char *s)
{
	return spelled(s, LOWER, LOWER DIGIT "-");
}

static bool is_name(const char *s)
{
	return spelled(s, LOWER, LOWER DIGIT "_");
}

static bool is_id(const char *s)
{
	return spelled(s, LOWER, LOWER DIGIT "_.-");
}

static bool is_capability(const char *s)
{
	return spelled(s, LOWER DIGIT, LOWER DIGIT "._-");
}

static bool is_module_id(const char *s)
{
	size_t n = strspn(s, LOWER DIGIT);

	if (n == 0 || s[n] != '.')
		return false;
	for (s += n; *s == '.'; s += n) {
		s++;
		n = strspn(s, LOWER DIGIT "-");
		if (!among(*s, LOWER DIGIT))
			return false;
	}
	return !*s;
}

static bool is_module_version(const char *s)
{
	return spelled(s, DIGIT, DIGIT LOWER UPPER ".+-");
}

static bool is_platform(const char *s)
{
	size_t n = strspn(s, LOWER DIGIT);

	return among(*s, LOWER) && s[n] == '-' &&
	       spelled(s + n + 1, LOWER DIGIT "_", LOWER DIGIT "_");
}

static bool is_oci_platform(const char *s)
{
	size_t n = strspn(s, LOWER DIGIT);

	return n > 0 && s[n] == '/' && spelled(s + n + 1, LOWER DIGIT "_", LOWER DIGIT "_");
}

/* Not at either end of a label, where a registry's host has letters and digits only. */
static bool is_registry(const char *s)
{
	for (;;) {
		size_t n = strspn(s, LOWER DIGIT "-");

		if (n == 0 || s[0] == '-' || s[n - 1] == '-')
			return false;
		s += n;
		if (*s != '.')
			return host_port_fits(s);
		s++;
	}
}

/* Components between slashes: runs of letters and digits with one of ". _ -" between two of them.
 */
static bool is_repository(const char *s)
{
	for (;;) {
		size_t n = strspn(s, LOWER DIGIT);

		if (n == 0)
			return false;
		s += n;
		if (!*s || strcmp(s, "/") == 0)
			return true;
		if (!among(*s, "._-/"))
			return false;
		s++;
	}
}

static bool is_image(const char *s)
{
	static const char digest[] = "@sha256:";
	size_t n = strspn(s, LOWER DIGIT "._/:-");

	if (!among(*s, LOWER DIGIT) || !text_starts(s + n, digest))
		return false;
	s += n + strlen(digest);
	return strspn(s, HEX) == 64 && !s[64];
}

static bool is_image_index(const char *s)
{
	const char *tag = strrchr(s, ':');
	size_t n = strspn(s, LOWER DIGIT "._/:-");

	if (!tag || !among(*s, LOWER DIGIT) || n < (size_t)(tag - s))
		return false;
	return strlen(tag + 1) <= 128 &&
	       spelled(tag + 1, LOWER UPPER DIGIT "_", LOWER UPPER DIGIT "_.-");
}

/* A segment up to its first dot that Windows takes for a device. */
static bool is_device_name(const char *segment, size_t len)
{
	static const char *const names[] = { "CON", "PRN", "AUX", "NUL" };
	const char *dot = memchr(segment, '.', len);
	size_t stem = dot ? (size_t)(dot - segment) : len;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (stem == strlen(names[i]) && strncasecmp(segment, names[i], stem) == 0)
			return true;
	return stem == 4 && among(segment[3], DIGIT) &&
	       (strncasecmp(segment, "COM", 3) == 0 || strncasecmp(segment, "LPT", 3) == 0);
}

static bool is_path(const char *s)
{
	for (;;) {
		size_t n = strspn(s, LOWER UPPER DIGIT "_.+@-");

		if (n == 0 || n > 100 || s[0] == '.' || s[n - 1] == '.' || is_device_name(s, n))
			return false;
		s += n;
		if (!*s)
			return true;
		if (*s++ != '/')
			return false;
	}
}

static bool is_gpu_api(const char *s)
{
	return spelled(s, LOWER, LOWER DIGIT);
}

/* The variables the agent sets itself are spelled for every platform (wire.md 11.3). */
static bool is_reserved(const char *s)
{
	static const char *const names[] = {
		"PATH",
		"PATHEXT",
		"HOME",
		"USERPROFILE",
		"HOMEDRIVE",
		"HOMEPATH",
		"APPDATA",
		"LOCALAPPDATA",
		"TMPDIR",
		"TEMP",
		"TMP",
		"XDG_CONFIG_HOME",
		"XDG_CACHE_HOME",
		"XDG_DATA_HOME",
		"XDG_STATE_HOME",
		"SYSTEMROOT",
		"SYSTEMDRIVE",
		"WINDIR",
		"COMSPEC",
		"PROCESSOR_ARCHITECTURE",
		"NUMBER_OF_PROCESSORS",
		"LANG",
		"LC_ALL",
		"PYTHONUTF8",
		"HTTPS_PROXY",
		"HTTP_PROXY",
		"ALL_PROXY",
		"NO_PROXY",
	};

	if (text_starts(s, "OARBANK_"))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(s, names[i]) == 0)
			return true;
	return false;
}

static bool is_env_name(const char *s)
{
	return spelled(s, UPPER, UPPER DIGIT "_") && !is_reserved(s);
}

/* `words` is a list with a space after each word. */
static bool is_word_of(const char *s, const char *words)
{
	size_t len = strlen(s);

	for (; *words; words += strcspn(words, " ") + 1)
		if (strcspn(words, " ") == len && strncmp(words, s, len) == 0)
			return true;
	return false;
}

static bool is_arch(const char *s)
{
	return is_word_of(s, "any native arm64 amd64 ");
}

static bool is_trust(const char *s)
{
	return is_word_of(s, "read code-exec ");
}

static bool is_access(const char *s)
{
	return is_word_of(s, "read write ");
}

static bool is_lifecycle(const char *s)
{
	return is_word_of(s, "on_demand always manual ");
}

static bool is_gpu_use(const char *s)
{
	return is_word_of(s, "none shared exclusive ");
}

/* A bound that wire.md does not give (64 for a word, 128 for a version) is ours, so that what is
 * made of the string stays bounded too.
 */
const struct rule rule_any = { any, SIZE_MAX, "a string" };
const struct rule rule_word = { is_word, 64, "a word of a-z, 0-9 and '-'" };
const struct rule rule_name = { is_name, 64, "a name of a-z, 0-9 and '_'" };
const struct rule rule_id = { is_id, 64, "an id of a-z, 0-9, '_', '.' and '-'" };
const struct rule rule_capability = { is_capability, 64, "a capability's name" };
const struct rule rule_module_id = { is_module_id, 128, "a module id such as org.example.name" };
const struct rule rule_module_name = { is_capability, 128, "a module's name" };
const struct rule rule_module_version = { is_module_version, 128, "a version" };
const struct rule rule_platform = { is_platform, 40, "a platform such as linux-amd64" };
const struct rule rule_oci_platform = { is_oci_platform, 64, "a platform such as linux/amd64" };
const struct rule rule_host = { host_entry_fits, HOST_MAX, "host[:port]" };
const struct rule rule_image = { is_image, 300, "an image pinned by @sha256:<64 hex>" };
const struct rule rule_registry = { is_registry, 253, "a registry's host[:port]" };
const struct rule rule_repository = { is_repository, 255, "a repository path" };
const struct rule rule_image_index = { is_image_index, 300, "a tagged image reference" };
const struct rule rule_path = { is_path, 200, "a portable path" };
const struct rule rule_tool_version = { tool_constraint_ok, 200,
					"a tool version such as '>=17, <22'" };
const struct rule rule_gpu_api = { is_gpu_api, 64, "a GPU API's name" };
const struct rule rule_env_name = { is_env_name, 64, "a variable a module may set" };
const struct rule rule_env_value = { any, 4096, "a value" };
const struct rule rule_arch = { is_arch, 16, "any, native, arm64 or amd64" };
const struct rule rule_trust = { is_trust, 16, "read or code-exec" };
const struct rule rule_access = { is_access, 16, "read or write" };
const struct rule rule_lifecycle = { is_lifecycle, 16, "on_demand, always or manual" };
const struct rule rule_gpu_use = { is_gpu_use, 16, "none, shared or exclusive" };
