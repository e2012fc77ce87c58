/* Addresses of hosts: which ones this PE listens on and tells others, and what users write. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/control/tree/state.h"
#include "util/error.h"
#include "util/net/lookup.h"

/* ---- where this PE listens ---- */

static void address_add(struct tree_places *places, const struct sy_interface *interface)
{
    for (int i = 0; i < places->count; i++)
        if (sy_ip_equal(&places->at[i].ip, &interface->ip))
            return;
    if (places->count < TREE_ADDRESSES)
        places->at[places->count++] = *interface;
}

void sy_tree_places_loopback(struct tree_places *places)
{
    struct sy_interface loopback = {.name = "lo", .up = true, .running = true, .loopback = true};

    sy_ip_parse("127.0.0.1", &loopback.ip);
    places->count = 0;
    address_add(places, &loopback);
}

/* The name by which all look for PE 0 may have an address that the choice leaves out: Debian's
 * /etc/hosts says 127.0.1.1 for the host itself. An address that is not this machine's (of a
 * service, or of an address translation) leads to one that is chosen anyway. */
static void address_add_named(struct tree_places *places, const char *name,
                              const struct sy_interface *all, size_t count)
{
    struct sockaddr_storage found[TREE_ADDRESSES];
    int n = sy_lookup(name, 1, found, TREE_ADDRESSES, NULL);

    for (int i = 0; i < n; i++) {
        struct sy_interface loopback = {.name = "lo", .loopback = true};

        loopback.ip = sy_socket_ip(&found[i]);
        if (sy_ip_loopback(&loopback.ip))
            address_add(places, &loopback);
        for (size_t k = 0; k < count; k++)
            if (all[k].up && sy_ip_equal(&all[k].ip, &loopback.ip))
                address_add(places, &all[k]);
    }
}

/* Link-local addresses of IPv6 mean something only together with an interface of the other host. */
static int address_choose(struct tree *tree, const char *networks, const char *name,
                          const struct sy_interface *all, size_t count, struct tree_places *places,
                          struct sy_error *err)
{
    const struct sy_interface **chosen, *loopback = NULL;
    size_t n;
    int rc = sy_interfaces_choose("SHMEM_CONTROL_INTERFACES", *networks ? networks : "auto",
                                  SY_IP_ANY, all, count, &chosen, &n, err);

    places->count = 0;
    if (name)
        address_add_named(places, name, all, count);
    for (size_t i = 0; i < n; i++) {
        bool six = chosen[i]->ip.family == 6;
        if (chosen[i]->loopback && !*networks)
            loopback = chosen[i];
        else if (!six || !sy_ip_link_local(&chosen[i]->ip))
            address_add(places, chosen[i]);
    }
    if (loopback && places->count == TREE_ADDRESSES)
        places->count--;
    if (loopback)
        address_add(places, loopback);
    free(chosen);
    if (rc == 0 && !places->count)
        rc = tree->host->fail(err, EADDRNOTAVAIL,
                              "SHMEM_CONTROL_INTERFACES=%s fits link-local addresses only, which "
                              "other hosts cannot use",
                              networks);
    return rc;
}

int sy_tree_places(struct tree *tree, const char *networks, const char *name,
                   struct tree_places *places, struct sy_error *err)
{
    struct sy_interface *all = NULL;
    size_t count;
    int rc = sy_interfaces_list(&all, &count);

    if (rc)
        return tree->host->fail(err, -rc, "cannot list the network interfaces: %s", strerror(-rc));
    rc = address_choose(tree, networks, name, all, count, places, err);
    free(all);
    return rc;
}

/* ---- what users write ---- */

/* Looks up a place's name now. */
static int address_resolve(struct tree_user *user, struct tree_addresses *addresses,
                           struct sy_error *err)
{
    const struct tree_place *place = &user->place;
    struct sockaddr_storage found[TREE_ADDRESSES];
    int count = sy_lookup(place->host, place->port, found, TREE_ADDRESSES, err);

    *addresses = (struct tree_addresses){.port = place->port};
    for (int i = 0; i < count; i++) {
        struct sy_ip ip = sy_socket_ip(&found[i]);
        if (ip.family == 4 || !sy_ip_link_local(&ip))
            addresses->entry[addresses->count++] = ip;
    }
    if (count > 0 && !addresses->count)
        return sy_fail(err, EADDRNOTAVAIL,
                       "%.255s is a link-local address, which means something on one host only; "
                       "another address of that host is needed",
                       place->host);
    return count < 0 ? count : 0;
}

int sy_tree_place_given(struct tree_user *user, struct sy_error *err)
{
    struct tree_place *place = &user->place;
    const char *root = user->host->start->root;

    if (!*root)
        return 0;
    snprintf(place->name, sizeof place->name, "SHMEM_ROOT=%s", root);
    return sy_place_split(root, place->host, sizeof place->host, &place->port)
               ? user->host->fail(err, EINVAL, "%s is not HOST:PORT", place->name)
               : 1;
}

int sy_tree_meet(struct tree_user *user, struct sy_error *err)
{
    const struct tree_place *place = &user->place;
    int rc = user->rank.pe ? 0 : sy_tree_listen(user, false, place->host, place->port, err);

    user->rank.find_root = address_resolve;
    user->rank.root_name = place->name;
    return rc ? rc : sy_tree_secret_read(user, err);
}
