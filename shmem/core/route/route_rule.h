/* The rules of SHMEM_ROUTES: which transports pairs of PEs shall use, shall not use, or should
 * rather use.
 *
 * A rule is a line of words, and rules are divided by semicolons:
 *
 *     from=A to=B prefer=ofi,tcp     these first, then the others
 *     from=A to=B require=tcp        these and no others
 *     from=A to=B exclude=ofi        all but these
 *
 * A and B select PEs: a pattern for host names (node0*), net:10.1.0.0/16 for machines with an
 * address in that network, pe:0-3,8 for numbers of PEs, node:0-1 for numbers of nodes; * or nothing
 * for all. A rule holds for a pair in both directions. All rules that hold are applied in their
 * order. */
#ifndef SY_CORE_ROUTE_RULE_H
#define SY_CORE_ROUTE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/error.h>

/* One side of a pair. nets: its network addresses, as sy_route_rules_addresses writes them. */
struct sy_route_end {
    int pe, node;
    const char *host, *nets;
    size_t nets_length;
};

struct sy_options;

/* Takes the rules of `text`, the value of SHMEM_ROUTES in `options`; both must live until
 * sy_route_rules_close. -EINVAL: err says what is wrong with which one, unless nobody is to be told
 * what is in their file. */
int sy_route_rules_open(const char *text, const struct sy_options *options, struct sy_error *err);
void sy_route_rules_close(void);

/* Whether some rule prefers or requires a transport; and the name at `index` of all that are in
 * rules, in no order, or NULL past the last. */
bool sy_route_rules_want(const char *name);
const char *sy_route_rules_name(unsigned index);

/* The error for a name in a rule that no transport has. */
int sy_route_rules_no_such(const char *name, struct sy_error *err);

/* Whether rules speak of networks, so that PEs must tell each other their addresses; and this
 * machine's, as bytes of at most `room`; returns how many. */
bool sy_route_rules_use_nets(void);
size_t sy_route_rules_addresses(char *buffer, size_t room);

/* Changes the order of transports (indices into `names`) for a pair, and returns how many are left.
 * *rule: the number of the last rule that changed something, counted from 1; or 0. */
unsigned sy_route_rules_apply(const struct sy_route_end *a, const struct sy_route_end *b,
                              const char *const *names, uint8_t *order, unsigned count,
                              unsigned *rule);

/* The text of a rule, for messages; in `buffer`. */
const char *sy_route_rule_text(unsigned rule, char *buffer, size_t room);

#endif
