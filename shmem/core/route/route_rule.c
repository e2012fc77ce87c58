/* See route_rule.h. Knows no transport: names are what the user writes. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/route/route_rule.h"
#include "util/error.h"
#include "util/net/interfaces.h"
#include "util/option.h"
#include "util/parse.h"

enum { RULES_MAX = 64, NAMES_MAX = 8, NAME_MAX_LENGTH = 64, ADDRESS = 17 };

enum selector_kind { ALL, HOST, NET, PE, NODE };

struct selector {
    enum selector_kind kind;
    char text[128]; /* HOST: pattern; PE, NODE: ranges */
    struct sy_ip net;
};

enum action { NOTHING, PREFER, REQUIRE, EXCLUDE };

struct rule {
    struct selector from, to;
    enum action action;
    char name[NAMES_MAX][NAME_MAX_LENGTH];
    unsigned names;
    const char *text; /* in the option's value */
    size_t length;
};

static struct {
    struct rule *rule;
    unsigned count;
    bool nets;
    const char *file; /* that they are from, with the line; or NULL */
    bool secret;      /* the file's contents */
} rules;

/* ---- parsing ---- */

static int route_rule_bad(const struct rule *rule, const char *what, const char *word,
                          struct sy_error *err)
{
    if (rules.secret)
        return sy_options_not_shown(rules.file, err);
    return sy_fail(err, EINVAL,
                   "%.150s%sSHMEM_ROUTES: rule %u, \"%.*s\": %s%s; a rule is such as "
                   "\"from=node0* to=net:10.0.0.0/8 prefer=a,b\" with prefer, require or exclude",
                   rules.file ? rules.file : "", rules.file ? ": " : "", rules.count + 1,
                   rule->length < 100 ? (int)rule->length : 100, rule->text, what, word);
}

/* Reads what follows a "kind:". A pattern for hosts needs no kind. */
static bool route_rule_parse_selector(struct selector *s, const char *text)
{
    static const struct {
        const char *head;
        enum selector_kind kind;
    } heads[] = {{"host:", HOST}, {"net:", NET}, {"pe:", PE}, {"node:", NODE}};

    s->kind = strcmp(text, "*") != 0 ? HOST : ALL;
    for (unsigned i = 0; i < 4; i++) {
        size_t length = strlen(heads[i].head);
        if (!strncmp(text, heads[i].head, length)) {
            s->kind = heads[i].kind;
            text += length;
        }
    }
    if (!*text || strlen(text) >= sizeof s->text || (s->kind == HOST && strchr(text, ':')))
        return false;
    strcpy(s->text, text);
    if (s->kind == NET)
        return !sy_ip_parse(text, &s->net);
    return s->kind == HOST || s->kind == ALL || sy_parse_in_ranges(text, 0) >= 0;
}

static bool route_rule_names_it(const struct rule *rule, const char *name)
{
    for (unsigned i = 0; i < rule->names; i++)
        if (!strcmp(rule->name[i], name))
            return true;
    return false;
}

/* Reads the names of transports, none of them twice. */
static bool route_rule_parse_names(struct rule *rule, const char *list)
{
    while (*list) {
        size_t word = strcspn(list, ",");
        if (!word || word >= NAME_MAX_LENGTH || rule->names == NAMES_MAX)
            return false;
        char *name = rule->name[rule->names];
        memcpy(name, list, word);
        if (route_rule_names_it(rule, name))
            return false;
        rule->names++;
        list += word + (list[word] == ',');
    }
    return rule->names > 0;
}

static int route_rule_parse_word(struct rule *rule, const char *word, struct sy_error *err)
{
    static const struct {
        const char *key;
        enum action action;
    } actions[] = {{"prefer=", PREFER}, {"require=", REQUIRE}, {"exclude=", EXCLUDE}};

    if (!strncmp(word, "from=", 5))
        return route_rule_parse_selector(&rule->from, word + 5)
                   ? 0
                   : route_rule_bad(rule, "this selects no PEs: ", word, err);
    if (!strncmp(word, "to=", 3))
        return route_rule_parse_selector(&rule->to, word + 3)
                   ? 0
                   : route_rule_bad(rule, "this selects no PEs: ", word, err);
    for (unsigned i = 0; i < 3; i++) {
        size_t length = strlen(actions[i].key);
        if (strncmp(word, actions[i].key, length) != 0)
            continue;
        if (rule->action)
            return route_rule_bad(rule, "has more than one of prefer, require and exclude", "",
                                  err);
        rule->action = actions[i].action;
        return route_rule_parse_names(rule, word + length)
                   ? 0
                   : route_rule_bad(rule, "this names no transports: ", word, err);
    }
    return route_rule_bad(rule, "unknown word ", word, err);
}

static int route_rule_parse(const char *text, size_t length, struct sy_error *err)
{
    struct rule *rule = &rules.rule[rules.count];
    char word[256];

    *rule = (struct rule){.text = text, .length = length};
    for (const char *at = text, *end = text + length; at < end;) {
        size_t blanks = strspn(at, " \t\n"), letters = strcspn(at + blanks, " \t\n;");
        at += blanks;
        if (at >= end)
            break;
        snprintf(word, sizeof word, "%.*s", (int)letters, at);
        int rc = route_rule_parse_word(rule, word, err);
        if (rc)
            return rc;
        at += letters;
    }
    if (!rule->action)
        return route_rule_bad(rule, "has none of prefer, require and exclude", "", err);
    rules.nets |= rule->from.kind == NET || rule->to.kind == NET;
    rules.count++;
    return 0;
}

int sy_route_rules_open(const char *text, const struct sy_options *options, struct sy_error *err)
{
    sy_route_rules_close();
    rules.file = sy_options_file(options, "routes", &rules.secret);
    rules.rule = *text ? calloc(RULES_MAX, sizeof *rules.rule) : NULL;
    if (*text && !rules.rule)
        return sy_fail(err, ENOMEM, "no memory for the rules of SHMEM_ROUTES");
    while (*text) {
        text += strspn(text, " \t\n;");
        size_t length = strcspn(text, ";");
        if (!length)
            break;
        if (rules.count == RULES_MAX)
            return sy_fail(err, E2BIG, "SHMEM_ROUTES has more than %d rules", RULES_MAX);
        int rc = route_rule_parse(text, length, err);
        if (rc)
            return rc;
        text += length;
    }
    return 0;
}

void sy_route_rules_close(void)
{
    free(rules.rule);
    memset(&rules, 0, sizeof rules);
}

const char *sy_route_rule_text(unsigned rule, char *buffer, size_t room)
{
    const struct rule *r = &rules.rule[rule - 1];

    if (rules.secret)
        snprintf(buffer, room, "in %s", rules.file);
    else
        snprintf(buffer, room, "%.*s", (int)r->length, r->text);
    return buffer;
}

/* ---- names ---- */

bool sy_route_rules_want(const char *name)
{
    for (unsigned i = 0; i < rules.count; i++)
        if (rules.rule[i].action != EXCLUDE && route_rule_names_it(&rules.rule[i], name))
            return true;
    return false;
}

const char *sy_route_rules_name(unsigned index)
{
    for (unsigned i = 0; i < rules.count; i++) {
        if (index < rules.rule[i].names)
            return rules.rule[i].name[index];
        index -= rules.rule[i].names;
    }
    return NULL;
}

int sy_route_rules_no_such(const char *name, struct sy_error *err)
{
    if (rules.secret)
        return sy_options_not_shown(rules.file, err);
    return sy_fail(err, ENOENT, "SHMEM_ROUTES names '%s', but %s such %s", name,
                   strchr(name, '@') ? "SHMEM_TRANSPORTS has no" : "there is no",
                   strchr(name, '@') ? "instance" : "transport");
}

/* ---- networks ---- */

bool sy_route_rules_use_nets(void)
{
    return rules.nets;
}

/* Each address is a byte of family (4 or 6) and 16 bytes. */
size_t sy_route_rules_addresses(char *buffer, size_t room)
{
    struct sy_interface *all = NULL;
    size_t count = 0, used = 0;

    if (sy_interfaces_list(&all, &count))
        return 0;
    for (size_t i = 0; i < count && used + ADDRESS <= room; i++) {
        if (!all[i].up || !all[i].ip.family)
            continue;
        buffer[used] = (char)all[i].ip.family;
        memcpy(buffer + used + 1, all[i].ip.bytes, ADDRESS - 1);
        used += ADDRESS;
    }
    free(all);
    return used;
}

static bool route_rule_in_net(const struct sy_ip *net, const char *address)
{
    struct sy_ip ip = {.family = (uint8_t)*address};

    memcpy(ip.bytes, address + 1, sizeof ip.bytes);
    return sy_ip_within(&ip, net);
}

/* ---- application ---- */

static bool route_rule_selects(const struct selector *s, const struct sy_route_end *end)
{
    switch (s->kind) {
    case ALL:
        return true;
    case HOST:
        return !fnmatch(s->text, end->host, 0);
    case PE:
        return sy_parse_in_ranges(s->text, end->pe) == 1;
    case NODE:
        return sy_parse_in_ranges(s->text, end->node) == 1;
    case NET:
        for (size_t at = 0; at + ADDRESS <= end->nets_length; at += ADDRESS)
            if (route_rule_in_net(&s->net, end->nets + at))
                return true;
        return false;
    }
    return false;
}

static bool route_rule_holds(const struct rule *rule, const struct sy_route_end *a,
                             const struct sy_route_end *b)
{
    return (route_rule_selects(&rule->from, a) && route_rule_selects(&rule->to, b)) ||
           (route_rule_selects(&rule->from, b) && route_rule_selects(&rule->to, a));
}

static bool route_rule_in_order(const uint8_t *order, unsigned count, const char *const *names,
                                const char *name, uint8_t *index)
{
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(names[order[i]], name)) {
            *index = order[i];
            return true;
        }
    return false;
}

/* Puts the named transports first, in the rule's order; then the others, unless the rule excludes
 * them. */
static unsigned route_rule_reorder(const struct rule *rule, const char *const *names,
                                   uint8_t *order, unsigned count)
{
    uint8_t result[256];
    unsigned used = 0;

    if (rule->action != EXCLUDE)
        for (unsigned n = 0; n < rule->names; n++)
            used += route_rule_in_order(order, count, names, rule->name[n], &result[used]);
    for (unsigned i = 0; rule->action != REQUIRE && i < count; i++)
        if (!route_rule_names_it(rule, names[order[i]]))
            result[used++] = order[i];
    memcpy(order, result, used);
    return used;
}

unsigned sy_route_rules_apply(const struct sy_route_end *a, const struct sy_route_end *b,
                              const char *const *names, uint8_t *order, unsigned count,
                              unsigned *rule)
{
    uint8_t before[256];

    *rule = 0;
    for (unsigned i = 0; i < rules.count; i++) {
        if (!route_rule_holds(&rules.rule[i], a, b))
            continue;
        memcpy(before, order, count);
        unsigned left = route_rule_reorder(&rules.rule[i], names, order, count);
        if (left != count || memcmp(before, order, count) != 0)
            *rule = i + 1;
        count = left;
    }
    return count;
}
