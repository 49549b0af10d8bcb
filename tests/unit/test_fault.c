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

static void test_what_a_terminal_obeys_is_escaped(void **state)
{
	static const struct {
		const char *text, *shown;
	} rows[] = {
		{ "a\033[31mb", "a\\x1b[31mb" },
		{ "\177\302\233\302\240", "\\x7f\\xc2\\x9b\302\240" },
		/* U+202D and U+202E turn the order around, U+2066 to U+2069 isolate it. */
		{ "\342\200\255\342\200\256", "\\xe2\\x80\\xad\\xe2\\x80\\xae" },
		{ "\342\201\246\342\201\251", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9" },
		{ "\342\200\216\342\200\217\330\234", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xd8\\x9c" },
		/* U+2028 and U+2029 end lines. */
		{ "\342\200\250\342\200\251", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9" },
		/* Their neighbours are as good as any. */
		{ "\342\200\220\342\200\246\342\200\257\342\201\245\342\201\252\330\233",
		  "\342\200\220\342\200\246\342\200\257\342\201\245\342\201\252\330\233" },
		{ "\377\342\200", "\\xff\\xe2\\x80" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault why;

		fault_join(&why, rows[i].text, NULL);
		assert_string_equal(why.text, rows[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_cut_text_is_utf8),
		cmocka_unit_test(test_what_a_terminal_obeys_is_escaped),
		cmocka_unit_test(test_what_fits_is_not_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
