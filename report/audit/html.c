#include <string.h>

#include "report/audit/audit.h"

/* The page, as report/audit/page.html has it, with one marker where the data go. */
__asm__(".pushsection .rodata\n"
	"audit_html_page:\n"
	".incbin \"report/audit/page.html\"\n"
	".byte 0\n"
	".popsection\n");
extern const char audit_html_page[] __attribute__((visibility("hidden")));

#define MARKER "@AUDIT@"

int audit_html(const struct audit *audit, FILE *out)
{
	const char *marker = strstr(audit_html_page, MARKER);
	int r;

	if (!marker)
		return 0;
	fwrite(audit_html_page, 1, (size_t)(marker - audit_html_page), out);
	r = audit_json(audit, out);
	fputs(marker + strlen(MARKER), out);
	return r;
}
