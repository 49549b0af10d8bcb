/* The io_uring road. Inside this folder only. */
#ifndef PROBE_TRIAL_URING_H
#define PROBE_TRIAL_URING_H

/* Make a socket by an io_uring request and close it. Returns 0, or -errno of whichever step failed.
 */
int uring_socket(int family, int type);

#endif
