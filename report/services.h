/* `services`, `runner` and `stages` of a manifest or of a release's entry, as far as a node's
 * capabilities depend on them and as far as they bind [sandbox] (wire.md 6.1 "Cross rules").
 */
#ifndef REPORT_SERVICES_H
#define REPORT_SERVICES_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "report/field.h"
#include "report/grants.h"

/* Which of the two documents: they write a stage's pools differently, and an entry no longer has
 * the services of other platforms, so that only a manifest can be held to "a service provides this
 * pool".
 */
enum module_form {
	FORM_MANIFEST,
	FORM_ENTRY,
};

/* Read all three. *ret_endpoint: a service wants connections handed to it. 0, or -EINVAL with the
 * reading's `why` set. An endpoint service needs a pool or, as newer manifests may, a listener.
 */
int services_read(const struct reading *r, const cJSON *document, enum module_form form,
		  const struct grants *grants, bool *ret_endpoint);

#endif
