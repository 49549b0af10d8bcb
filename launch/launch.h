/* The launcher as other folders see it: read a policy, plan for it on this kernel or another one,
 * confine a process with the code that protects users, hold one in a container (launch/run/leaf.h,
 * launch/run/run.h), and make its connections (launch/supervise/supervise.h).
 */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include "launch/filter/filter.h"
#include "launch/landlock.h"
#include "launch/plan.h"
#include "launch/policy.h"
#include "launch/run/run.h"
#include "launch/steps.h"
#include "launch/supervise/supervise.h"

#endif
