/* Which of the kernel's messages about devices wake --watch. */
#include "probe/uevent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MESSAGE(text) text, sizeof(text)

static void only_what_a_report_tells_of(void **state)
{
	static const struct {
		const char *message;
		size_t len;
		bool matters;
	} rows[] = {
		{ MESSAGE("add@/devices/x/drm/card0\0ACTION=add\0SUBSYSTEM=drm"), true },
		{ MESSAGE("add@/module/nvidia\0SUBSYSTEM=module\0SEQNUM=1"), true },
		{ MESSAGE("add@/x\0SUBSYSTEM=nvidia-uvm"), true },
		{ MESSAGE("offline@/devices/system/cpu/cpu3\0SUBSYSTEM=cpu"), true },
		{ MESSAGE("change@/x\0SUBSYSTEM=power_supply\0POWER_SUPPLY_CAPACITY=42"), false },
		{ MESSAGE("add@/x\0SUBSYSTEM=block\0DEVNAME=SUBSYSTEM=drm"), false },
		{ MESSAGE("add@/x\0SUBSYSTEM="), false },
		{ MESSAGE(""), false },
		{ "SUBSYSTEM=drm without its NUL", 13, true },
		{ "SUBSYSTEM=dr", 12, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(uevent_matters(rows[i].message, rows[i].len), rows[i].matters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_a_report_tells_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
