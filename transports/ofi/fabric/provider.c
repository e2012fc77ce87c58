/* Which of libfabric's providers is used, and what it was asked for. Each candidate is asked for
 * everything that would be welcome; what it refuses is found by leaving out one wish after the
 * other, so that the log can say which it was. Only three things are indispensable. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "transports/ofi/ofi.h"
#include "util/bits.h"
#include "util/words.h"

/* What is asked for, most dispensable first. */
enum {
    WISH_DOMAIN_LOCKS,
    WISH_RESOURCES,
    WISH_ORDER,
    WISH_DELIVERY,
    WISH_RMA,
    WISHES,
    MUST_KEEP_ORDER = WISHES,
    MUST_SEND,
    MUST_RELIABLE,
    ALL
};

static const char *const wish_name[ALL] = {
    [WISH_DOMAIN_LOCKS] = "FI_THREAD_DOMAIN",
    [WISH_RESOURCES] = "FI_RM_ENABLED",
    [WISH_ORDER] = "FI_ORDER_WAW|SAW",
    [WISH_DELIVERY] = "FI_DELIVERY_COMPLETE",
    [WISH_RMA] = "FI_RMA",
    [MUST_KEEP_ORDER] = "FI_ORDER_SAS",
    [MUST_SEND] = "FI_MSG",
    [MUST_RELIABLE] = "FI_EP_RDM",
};

#define BIT(wish)  (1u << (wish))
#define EVERYTHING (BIT(ALL) - 1)
#define ORDER      (FI_ORDER_WAW | FI_ORDER_SAW | FI_ORDER_RMA_WAW)

/* The most unacknowledged messages to a PE, and how many leave at once. A connection of the
 * provider sockets stands still for good if its buffers are full and the kernel has a part of a
 * message's head. So there all messages to a PE, with as many replies, must fit into the kernel's
 * buffers, and nothing else travels. */
#define WINDOW          32
#define AT_ONCE         4
#define SOCKETS_WINDOW  3
#define SOCKETS_AT_ONCE 2

/* Providers whose work the CPUs do. */
static const char *const software[] = {"tcp", "net", "sockets", "udp", "shm", "sm2"};

/* Providers that a user must name: made for other purposes, or a substitute for one above. */
static const char *const only_named[] = {"shm", "sm2", "net", "udp", "lnx", "off_coll", "ofi_hook"};

int sy_ofi_fail(struct ofi_state *ofi, struct sy_error *err, ssize_t code, const char *what)
{
    int number = code < 0 ? (int)-code : (int)code;

    return ofi->host->fail(
        err, number < FI_ERRNO_OFFSET ? number : EIO, "%s by libfabric's provider %s: %s%s", what,
        ofi->info ? ofi->info->fabric_attr->prov_name : "?", sy_ofi_library.strerror(number),
        number == ENOMEM ? "; is ulimit -v, ulimit -l or the machine's memory too low?" : "");
}

/* ---- names ---- */

/* Whether provider `name` is `base`, perhaps with a layer on it: "tcp;ofi_rxm" is "tcp". */
static bool provider_based_on(const char *name, const char *base)
{
    size_t length = strlen(base);

    return !strncmp(name, base, length) && (name[length] == ';' || name[length] == '\0');
}

static bool provider_among(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (provider_based_on(name, list[i]))
            return true;
    return false;
}

static bool automatic(const char *pattern)
{
    return !*pattern || !strcmp(pattern, "auto");
}

static bool provider_fits(const char *pattern, const char *name)
{
    return automatic(pattern) || (name && !fnmatch(pattern, name, 0));
}

static bool provider_matches(struct ofi_state *ofi, const char *name)
{
    const char *pattern = ofi->settings->provider;

    if (automatic(pattern))
        return !provider_among(name, only_named, SY_COUNT(only_named));
    char base[64];
    snprintf(base, sizeof base, "%.*s", (int)strcspn(name, ";"), name);
    return provider_fits(pattern, name) || provider_fits(pattern, base);
}

static bool place_matches(struct ofi_state *ofi, const struct fi_info *info)
{
    return provider_fits(ofi->settings->fabric, info->fabric_attr->name) &&
           provider_fits(ofi->settings->domain, info->domain_attr->name);
}

/* ---- asking ---- */

/* Contexts with endpoints of their own have their own locks, too, and the domain has none. */
static bool provider_own_contexts(struct ofi_state *ofi, const char *provider)
{
    return ofi->settings->contexts == OFI_CONTEXTS_OWN ||
           (ofi->settings->contexts == OFI_CONTEXTS_AUTO && provider &&
            !provider_among(provider, software, SY_COUNT(software)));
}

static struct fi_info *provider_make_hints(struct ofi_state *ofi, const char *provider,
                                           unsigned asked)
{
    struct fi_info *hints = sy_ofi_library.dupinfo(NULL);
    uint64_t order = (asked & BIT(WISH_ORDER) ? ORDER : 0) |
                     (asked & BIT(MUST_KEEP_ORDER) ? FI_ORDER_SAS : 0);

    if (!hints)
        return NULL;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->caps = (asked & BIT(MUST_SEND) ? FI_MSG : 0) | (asked & BIT(WISH_RMA) ? FI_RMA : 0);
    hints->ep_attr->type = asked & BIT(MUST_RELIABLE) ? FI_EP_RDM : FI_EP_UNSPEC;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_ENDPOINT | FI_MR_RMA_EVENT;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
    if (asked & BIT(WISH_DELIVERY))
        hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    if (asked & BIT(WISH_RESOURCES))
        hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    if (provider_own_contexts(ofi, provider))
        hints->domain_attr->threading = FI_THREAD_SAFE;
    else if (asked & BIT(WISH_DOMAIN_LOCKS))
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
    /* Threads of a provider compete with the program's for the processors; the waiting threads do
     * the work anyway. */
    if (provider && provider_among(provider, software, SY_COUNT(software)))
        hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->fabric_attr->prov_name = provider ? strdup(provider) : NULL;
    return hints;
}

/* What libfabric offers for `asked`; NULL where there is nothing. The caller frees the list. */
static struct fi_info *provider_offers(struct ofi_state *ofi, const char *provider, unsigned asked)
{
    struct fi_info *hints = provider_make_hints(ofi, provider, asked), *list = NULL;

    if (!hints || sy_ofi_library.getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &list))
        list = NULL;
    if (hints)
        sy_ofi_library.freeinfo(hints);
    return list;
}

/* The best of one provider's offers at the place that the user wants, or NULL. */
static struct fi_info *provider_best(struct ofi_state *ofi, const char *provider, unsigned asked)
{
    struct fi_info *list = provider_offers(ofi, provider, asked), *found = NULL, *copy;

    for (struct fi_info *i = list; i; i = i->next)
        if (!strcmp(i->fabric_attr->prov_name, provider) && place_matches(ofi, i) &&
            !sy_ofi_offer_is_tried(ofi, i) &&
            (!found || sy_ofi_offer_rank(ofi, i) < sy_ofi_offer_rank(ofi, found)))
            found = i;
    copy = found ? sy_ofi_library.dupinfo(found) : NULL;
    sy_ofi_library.freeinfo(list);
    return copy;
}

/* Leaves out wishes until the provider has an offer. Returns the offer; *asked: the wishes that
 * remain. NULL: the provider refuses the demands that are left in *asked. */
static struct fi_info *provider_negotiate(struct ofi_state *ofi, const char *provider,
                                          unsigned *asked)
{
    struct fi_info *info = provider_best(ofi, provider, *asked = EVERYTHING);

    for (unsigned dropped = 0; !info && dropped < WISHES; dropped++) {
        for (unsigned wish = dropped; !info && wish < WISHES; wish++)
            if ((info = provider_best(ofi, provider, *asked & ~BIT(wish))))
                *asked &= ~BIT(wish);
        if (!info)
            *asked &= ~BIT(dropped);
    }
    for (unsigned wish = 0; info && wish < WISHES; wish++) {
        struct fi_info *more = *asked & BIT(wish)
                                   ? NULL
                                   : provider_best(ofi, provider, *asked | BIT(wish));
        if (more) {
            sy_ofi_library.freeinfo(info);
            info = more;
            *asked |= BIT(wish);
        }
    }
    return info;
}

/* ---- reasons ---- */

static void provider_add_word(char *text, size_t room, const char *between, const char *word)
{
    size_t used = strlen(text);

    if (used + strlen(between) + strlen(word) < room)
        snprintf(text + used, room - used, "%s%s", used ? between : "", word);
}

/* The demands that a provider refuses when asked for each alone. */
static void provider_explain(struct ofi_state *ofi, const char *provider, char *text, size_t room)
{
    char why[96] = "";

    for (unsigned demand = WISHES; demand < ALL; demand++) {
        struct fi_info *list = provider_offers(ofi, provider, BIT(demand));
        if (!list)
            provider_add_word(why, sizeof why, "|", wish_name[demand]);
        sy_ofi_library.freeinfo(list);
    }
    char line[192];
    snprintf(line, sizeof line, "%s refuses %s", provider, *why ? why : "the demands together");
    provider_add_word(text, room, "; ", line);
    ofi->host->log(SY_LOG_DEBUG, ofi->name, "provider %s: not used: refuses %s", provider,
                   *why ? why : "FI_EP_RDM, FI_MSG and FI_ORDER_SAS together");
}

/* Distinct names of a list, as words. `what`: 'p'rovider, 'f'abric, 'd'omain. */
static void provider_list_names(const struct fi_info *list, int what, char *text, size_t room)
{
    for (; list; list = list->next) {
        const char *name = what == 'p'   ? list->fabric_attr->prov_name
                           : what == 'f' ? list->fabric_attr->name
                                         : list->domain_attr->name;
        size_t length = name ? strlen(name) : 0;
        bool known = !length;
        for (const char *at = text; !known && (at = strstr(at, name)); at += length)
            known = (at == text || at[-1] == ' ') && (at[length] == ',' || !at[length]);
        if (!known)
            provider_add_word(text, room, ", ", name);
    }
}

/* No offer is where the user wants one: says which name matches nothing, and what there is. */
static int provider_no_such_name(struct ofi_state *ofi, const struct fi_info *all,
                                 struct sy_error *err)
{
    static const struct {
        int what;
        const char *variable, *kind;
    } names[] = {{'p', "SHMEM_OFI_PROVIDER", "provider"},
                 {'f', "SHMEM_OFI_FABRIC", "fabric"},
                 {'d', "SHMEM_OFI_DOMAIN", "domain"}};
    const char *wanted[] = {ofi->settings->provider, ofi->settings->fabric, ofi->settings->domain};

    for (size_t n = 0; n < SY_COUNT(names); n++) {
        char have[256] = "";
        bool found = false;
        for (const struct fi_info *i = all; i && !found; i = i->next)
            found = names[n].what == 'p'   ? provider_matches(ofi, i->fabric_attr->prov_name)
                    : names[n].what == 'f' ? provider_fits(wanted[n], i->fabric_attr->name)
                                           : provider_fits(wanted[n], i->domain_attr->name);
        if (found || automatic(wanted[n]))
            continue;
        provider_list_names(all, names[n].what, have, sizeof have);
        return ofi->host->fail(
            err, EINVAL, "%s is '%s', but libfabric has no such %s here; there is: %s",
            names[n].variable, wanted[n], names[n].kind, *have ? have : "none at all");
    }
    return 0;
}

/* ---- what came of it ---- */

static const char *const abilities[] = {"rma",   "delivery", "waw",          "saw",
                                        "small", "lone",     "unregistered", "wakeup"};

/* Whether the user wants to do without an ability. */
static bool provider_without(struct ofi_state *ofi, const char *ability)
{
    return sy_words_have(ofi->settings->without, ',', ability, strlen(ability));
}

static int provider_check_without(struct ofi_state *ofi, struct sy_error *err)
{
    const char *list = ofi->settings->without;

    while (*list) {
        size_t word = strcspn(list, ",");
        bool known = false;
        for (size_t i = 0; i < SY_COUNT(abilities) && !known; i++)
            known = strlen(abilities[i]) == word && !strncmp(list, abilities[i], word);
        if (!known)
            return ofi->host->fail(err, EINVAL,
                                   "SHMEM_OFI_WITHOUT names '%.*s', which is not one of rma, "
                                   "delivery, waw, saw, small, lone, unregistered and wakeup",
                                   (int)word, list);
        list += word + (list[word] == ',');
    }
    return 0;
}

static void provider_set_traits(struct ofi_state *ofi, unsigned asked)
{
    const struct fi_info *info = ofi->info;
    struct ofi_traits *t = &ofi->traits;
    uint64_t order = info->tx_attr->msg_order & info->rx_attr->msg_order;
    /* Within this size a provider keeps the order of the data, not only of the messages. */
    bool data_order = info->ep_attr->max_order_waw_size >= info->ep_attr->max_msg_size;
    uint64_t modes = info->domain_attr->mr_mode;
    bool layered = strstr(info->fabric_attr->prov_name, "ofi_rxm");
    bool sockets = provider_based_on(info->fabric_attr->prov_name, "sockets");

    *t = (struct ofi_traits){
        .own_contexts = provider_own_contexts(ofi, info->fabric_attr->prov_name) && !sockets,
        .software = provider_among(info->fabric_attr->prov_name, software, SY_COUNT(software)),
        .delivery = asked & BIT(WISH_DELIVERY) && !provider_without(ofi, "delivery"),
        .waw = order & (FI_ORDER_WAW | FI_ORDER_RMA_WAW) && data_order &&
               !provider_without(ofi, "waw"),
        .saw = order & FI_ORDER_SAW && data_order && !provider_without(ofi, "saw"),
        .local_mr = modes & FI_MR_LOCAL || provider_without(ofi, "unregistered"),
        .virt_addr = modes & FI_MR_VIRT_ADDR,
        .prov_key = modes & FI_MR_PROV_KEY,
        .enable_mr = modes & FI_MR_ENDPOINT,
        .deaf = sockets,
        .ticks = strstr(info->fabric_attr->prov_name, "ofi_rxd") != NULL,
        .tcp = sockets || provider_based_on(info->fabric_attr->prov_name, "tcp") ||
               provider_based_on(info->fabric_attr->prov_name, "net"),
        /* Provider sockets sends an injected message only in a poll, and does not report that. */
        .inject = sockets ? 0 : info->tx_attr->inject_size,
        .max_write = info->ep_attr->max_msg_size,
    };
    t->window = sockets ? SOCKETS_WINDOW : WINDOW;
    t->at_once = sockets ? SOCKETS_AT_ONCE : AT_ONCE;
    t->rma = asked & BIT(WISH_RMA) && (t->delivery || t->saw) && !sockets &&
             !provider_without(ofi, "rma");
    t->silent = t->rma && t->software && !ofi->host->crowded;
    t->flushed = t->saw && (t->software || !t->delivery);
    t->small = !t->rma ? SIZE_MAX : t->software && !provider_without(ofi, "small") ? OFI_SMALL : 0;
    t->lone = t->rma && t->software && t->delivery && t->waw && t->saw && !t->ticks &&
              !t->local_mr && !provider_without(ofi, "lone");
    /* What it is for costs next to nothing in libfabric 2. */
    t->wakeup = FI_MAJOR(sy_ofi_library.version()) < 2 && layered && t->software &&
                !t->own_contexts && !ofi->host->unattended && !provider_without(ofi, "wakeup");
}

static void provider_tell(struct ofi_state *ofi, unsigned asked)
{
    const struct ofi_traits *t = &ofi->traits;
    char refused[160] = "";

    for (unsigned wish = 0; wish < WISHES; wish++)
        if (!(asked & BIT(wish)))
            provider_add_word(refused, sizeof refused, ", ", wish_name[wish]);
    ofi->host->log(SY_LOG_DEBUG, ofi->name, "provider %s, fabric %s, domain %s; it refuses: %s",
                   ofi->info->fabric_attr->prov_name, ofi->info->fabric_attr->name,
                   ofi->info->domain_attr->name, *refused ? refused : "nothing");
    ofi->host->log(
        SY_LOG_DEBUG, ofi->name,
        "put and get: %s; a put is complete when %s; writes %s order; atomics by the target's CPU; "
        "registration:%s%s%s%s%s",
        !t->rma    ? "as messages"
        : t->small ? "native, small puts as messages"
                   : "native",
        t->flushed ? "a message behind it is answered" : "the provider says so",
        t->waw ? "keep their" : "have no", t->virt_addr ? " virtual addresses" : " offsets",
        t->prov_key ? ", provider's keys" : "", t->local_mr ? ", local buffers" : "",
        t->enable_mr ? ", bound to the endpoint" : "",
        ofi->info->domain_attr->mr_mode & FI_MR_ALLOCATED ? ", whole windows in memory" : "");
}

/* provider: the one to choose an offer of, or NULL. */
static int provider_choose(struct ofi_state *ofi, const char *provider, struct sy_error *err)
{
    struct fi_info *all = provider_offers(ofi, NULL, 0);
    char why[320] = "", seen[1024] = "";
    unsigned asked = 0;

    for (struct fi_info *i = all; i && !ofi->info; i = i->next) {
        const char *name = i->fabric_attr->prov_name;
        char mark[72];
        snprintf(mark, sizeof mark, " %s,", name);
        if (strstr(seen, mark) || !provider_matches(ofi, name) || !place_matches(ofi, i) ||
            (provider && strcmp(provider, name) != 0))
            continue;
        provider_add_word(seen, sizeof seen, "", mark);
        ofi->info = provider_negotiate(ofi, name, &asked);
        if (!ofi->info && !provider)
            provider_explain(ofi, name, why, sizeof why);
    }
    int rc = ofi->info || *why ? 0 : provider_no_such_name(ofi, all, err);
    bool any = all;
    sy_ofi_library.freeinfo(all);
    if (rc)
        return rc;
    if (!ofi->info)
        return ofi->host->fail(err, ENODEV, "no provider of libfabric fits here: %s",
                               *why  ? why
                               : any ? "none has the wanted fabric and domain"
                                     : "there is none at all");
    provider_set_traits(ofi, asked);
    provider_tell(ofi, asked);
    return 0;
}

int sy_ofi_choose(struct ofi_state *ofi, struct sy_error *err)
{
    int rc = provider_check_without(ofi, err);

    ofi->info = NULL;
    if (rc)
        return rc;
    /* Asking libfabric takes longer than the rest of a job's start. */
    if (!ofi->named && automatic(ofi->settings->provider) && automatic(ofi->settings->fabric) &&
        automatic(ofi->settings->domain))
        return ofi->host->fail(err, ENODEV,
                               "neither it nor a provider, SHMEM_OFI_PROVIDER, is asked for");
    if ((rc = sy_ofi_load(ofi, err)))
        return rc;
    sy_ofi_offers_open(ofi);
    return provider_choose(ofi, NULL, err);
}

/* Chooses the provider's next offer, since this one cannot be opened and has been closed again. */
int sy_ofi_choose_next(struct ofi_state *ofi)
{
    char provider[64];
    struct sy_error none;

    snprintf(provider, sizeof provider, "%s", ofi->info->fabric_attr->prov_name);
    if (!sy_ofi_offer_failed(ofi, ofi->info))
        return -ENOMEM;
    sy_ofi_library.freeinfo(ofi->info);
    ofi->info = NULL;
    return provider_choose(ofi, provider, &none);
}
