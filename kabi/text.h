/* Text and numbers without surprises: a whole value or an error. No allocation, no locale. */
#ifndef KABI_TEXT_H
#define KABI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bounded builder. `len` never exceeds size - 1 and `buf` is always NUL-terminated; `cut` is set
 * once something did not fit. Use TEXT_BUF(array) to start one on a char array.
 */
struct text {
	char *buf;
	size_t size;
	size_t len;
	bool cut;
};

#define TEXT_BUF(array) text_start((array), sizeof(array))

struct text text_start(char *buf, size_t size);
void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *s, size_t len);
void text_add_int(struct text *t, int64_t value);
void text_add_hex(struct text *t, uint64_t value);

/* Add `s` so that the whole stays one line a terminal can show: control characters, those that
 * turn the writing direction, and bytes that are not UTF-8 become \xNN.
 */
void text_add_shown(struct text *t, const char *s);

/* Add `s` as a string of JSON, quoted and ASCII but for whole characters; bytes that are not UTF-8
 * become U+FFFD.
 */
void text_add_json(struct text *t, const char *s);

/* Copy `s` into buf[size]. Returns false, with the copy cut short, when it does not fit. */
bool text_copy(char *buf, size_t size, const char *s);

/* Read the whole of `s` as a decimal number in [min, max]. No sign but '-', no spaces, no empty
 * string. Returns 0 with *ret set, or -EINVAL (not a number) or -ERANGE.
 */
int text_int(const char *s, int64_t min, int64_t max, int64_t *ret);

/* The same for an unsigned number in `base` 8, 10 or 16, without a prefix. */
int text_uint(const char *s, unsigned base, uint64_t max, uint64_t *ret);

/* The length of the valid UTF-8 sequence at s[0..len), 1 to 4, or 0 if there is none. Overlong
 * forms, surrogates and values above U+10FFFF are not valid (RFC 3629).
 */
size_t utf8_sequence(const char *s, size_t len);

/* The next character of a text. */
struct utf8 {
	const char *bytes; /* not ended by a NUL byte */
	size_t len;
	size_t taken; /* of the text */
};

/* The one that `s`, which is not empty, begins with. A byte that begins none is taken for U+FFFD.
 */
struct utf8 utf8_next(const char *s);

/* Write the character `c`, at most U+10FFFF, to `out` as UTF-8. Returns its length. */
size_t utf8_put(uint32_t c, char out[4]);

/* Cut the next line off *cursor (which is changed in place: '\n' becomes NUL). NULL at the end. */
char *text_line(char **cursor);

/* Cut the next word, separated by spaces and tabs, off *cursor. NULL when there is none. */
char *text_word(char **cursor);

bool text_starts(const char *s, const char *prefix);
bool text_ends(const char *s, const char *suffix);

/* Is `word` one of the comma-separated words of `list`? */
bool text_in_list(const char *list, const char *word);

#endif
