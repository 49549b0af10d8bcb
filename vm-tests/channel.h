/* The way out of the machine: what the harness reads. Frames on a virtio port, or on the second
 * serial port of a kernel without one:
 *
 *	##oarbank WORD NAME LENGTH\n
 *	LENGTH bytes\n
 */
#ifndef VM_TESTS_CHANNEL_H
#define VM_TESTS_CHANNEL_H

#include <stddef.h>

/* Find and open the way out. Needs /dev and /sys. Returns 0, or -ENODEV when there is none. */
int channel_open(void);

/* Its device's path, "" before channel_open(). */
const char *channel_path(void);

/* Send one frame. A frame that cannot be sent is lost: there is nobody else to tell. */
void channel_send(const char *word, const char *name, const void *bytes, size_t length);

/* A frame of text for people; the harness fails the row when `word` is "problem". `fmt` as printf.
 */
void channel_say(const char *word, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
