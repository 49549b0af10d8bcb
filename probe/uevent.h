/* The kernel's own messages about devices that come and go. */
#ifndef PROBE_UEVENT_H
#define PROBE_UEVENT_H

#include <stdbool.h>
#include <stddef.h>

/* A non-blocking descriptor that is readable when there are messages, or -errno: it may not be
 * there in a container.
 */
int uevent_open(void);

/* Take every message that waits. Returns whether one of them may change a report. */
bool uevent_drain(int fd);

/* Is this message, "action@path" and then "KEY=value" strings, each ended by NUL, about a device
 * that a report tells of?
 */
bool uevent_matters(const char *message, size_t len);

#endif
