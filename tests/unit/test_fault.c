#include "kabi/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"

static void check_utf8(const char *s)
{
	size_t len = strlen(s);

	while (len > 0) {
		size_t n = utf8_sequence(s, len);

		assert_int_not_equal(n, 0);
		s += n;
		len -= n;
	}
}

/* Wherever the end of the room falls within a character, the rest is text. */
static void test_a_cut_text_is_utf8(void **state)
{
	static const char *const characters[] = { "x", "\xc3\xa4", "\xe2\x82\xac",
						  "\xf0\x9f\x98\x80" };

	(void)state;
	for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++) {
		for (size_t shift = 0; shift < 4; shift++) {
			char text[2 * FAULT_TEXT_MAX] = "";
			struct fault why;

			memset(text, 'a', shift);
			while (strlen(text) < FAULT_TEXT_MAX + 8)
				strcat(text, characters[i]);
			fault_join(&why, text, NULL);
			check_utf8(why.text);
			assert_true(text_ends(why.text, "..."));
			assert_in_range(strlen(why.text), FAULT_TEXT_MAX - 5, FAULT_TEXT_MAX - 1);
		}
	}
}

static void test_what_fits_is_not_cut(void **state)
{
	char text[FAULT_TEXT_MAX];
	struct fault why;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fault_join(&why, text, NULL);
	assert_string_equal(why.text, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cut_text_is_utf8),
		cmocka_unit_test(test_what_fits_is_not_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
