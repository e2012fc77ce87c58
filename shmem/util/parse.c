/* Parsing of values: see parse.h. strtod and isdigit are not used, since they depend on the locale
 * that the program has set. */
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/bits.h"
#include "util/parse.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- switches and numbers ---- */

int sy_parse_bool(const char *text, bool *out)
{
    static const char *const words[][2] = {
        {"", "1"}, {"0", "yes"}, {"no", "on"}, {"off", "true"}, {"false", "true"}};

    for (size_t i = 0; i < SY_COUNT(words); i++)
        for (int value = 0; value < 2; value++)
            if (!strcasecmp(text, words[i][value])) {
                *out = value;
                return 0;
            }
    return -EINVAL;
}

int sy_parse_int(const char *text, long min, long max, long *out)
{
    char *end;

    if (!is_digit(text[text[0] == '-']))
        return -EINVAL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || *end || value < min || value > max)
        return -EINVAL;
    *out = value;
    return 0;
}

long sy_parse_variable(const char *name)
{
    const char *text = secure_getenv(name);
    long value = -1;

    if (text)
        sy_parse_int(text, 0, INT_MAX, &value);
    return value;
}

int sy_parse_seconds(const char *text, double *out)
{
    double value = 0, unit = 1;
    bool digits = false;

    for (; is_digit(*text); text++, digits = true)
        value = value * 10 + (*text - '0');
    if (*text == '.')
        for (text++; is_digit(*text); text++, digits = true) {
            value = value * 10 + (*text - '0');
            unit *= 10;
        }
    if (digits && (*text == 'e' || *text == 'E')) {
        bool down = text[1] == '-';
        int exponent = 0;
        text += 1 + (down || text[1] == '+');
        for (digits = is_digit(*text); is_digit(*text) && exponent < 100; text++)
            exponent = exponent * 10 + (*text - '0');
        for (; exponent; exponent--)
            *(down ? &unit : &value) *= 10;
    }
    value /= unit;
    if (!digits || *text || !(value <= DBL_MAX)) /* too many digits end as infinity or NaN */
        return -EINVAL;
    *out = value < SY_SECONDS_MAX ? value : SY_SECONDS_MAX;
    return 0;
}

/* ---- sizes ---- */

/* The digits of a fraction as a count of 10^-FRACTION_DIGITS. */
enum { FRACTION_DIGITS = 18 };
static const uint64_t fraction_unit = 1000000000000000000u;

static int parse_multiplier_bits(char c)
{
    static const char letters[] = "kKmMgGtT";
    const char *at = strchr(letters, c);

    return !c ? 0 : at ? 10 * (int)((at - letters) / 2 + 1) : -1;
}

/* Reads the digits behind the point. Those that do not fit round the last one up: a size may be
 * larger than what was asked for, never smaller. */
static const char *parse_fraction(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    int digits = 0;
    bool more = false;

    for (; is_digit(*text); text++) {
        if (digits < FRACTION_DIGITS) {
            value = value * 10 + (uint64_t)(*text - '0');
            digits++;
        } else if (*text != '0') {
            more = true;
        }
    }
    for (; digits < FRACTION_DIGITS; digits++)
        value *= 10;
    *out = value + more;
    return text;
}

/* Behind a number "e6": times 10^6. Moves *text behind it; false: too large. */
static bool parse_exponent(const char **text, unsigned __int128 *total, uint64_t *fraction)
{
    const char *at = *text;
    int exponent = 0;

    if ((*at != 'e' && *at != 'E') || !is_digit(at[1 + (at[1] == '+')]))
        return true;
    for (at += 1 + (at[1] == '+'); is_digit(*at) && exponent < 100; at++)
        exponent = exponent * 10 + (*at - '0');
    for (; exponent && (*total || *fraction); exponent--) {
        unsigned __int128 tenfold = (unsigned __int128)*fraction * 10;
        *total = *total * 10 + tenfold / fraction_unit;
        *fraction = (uint64_t)(tenfold % fraction_unit);
        if (*total > SIZE_MAX)
            return false;
    }
    *text = at;
    return true;
}

int sy_parse_size(const char *text, size_t *out)
{
    unsigned __int128 total = 0;
    uint64_t fraction = 0;
    bool digits = is_digit(*text);

    for (; is_digit(*text); text++) {
        total = total * 10 + (unsigned)(*text - '0');
        if (total > SIZE_MAX)
            return -EINVAL;
    }
    if (*text == '.') {
        digits = digits || is_digit(text[1]);
        text = parse_fraction(text + 1, &fraction);
    }
    if (digits && !parse_exponent(&text, &total, &fraction))
        return -EINVAL;
    int bits = parse_multiplier_bits(*text);
    if (!digits || bits < 0)
        return -EINVAL;
    total <<= bits;
    total += (((unsigned __int128)fraction << bits) + fraction_unit - 1) / fraction_unit;
    if (total > SIZE_MAX)
        return -EINVAL;
    *out = (size_t)total;
    return 0;
}

/* ---- lists of numbers ---- */

static const char *parse_number(const char *text, long *out)
{
    char *end;

    if (!is_digit(*text))
        return NULL;
    errno = 0;
    *out = strtol(text, &end, 10);
    return errno ? NULL : end;
}

int sy_parse_in_ranges(const char *list, long n)
{
    int found = !*list;

    while (*list) {
        long first, last;
        list = parse_number(list, &first);
        if (!list)
            return -EINVAL;
        last = first;
        if (*list == '-')
            list = parse_number(list + 1, &last);
        if (!list || last < first || (*list == ',' ? !list[1] : *list != '\0'))
            return -EINVAL;
        found |= n >= first && n <= last;
        list += *list == ',';
    }
    return found;
}

/* ---- typing errors ---- */

enum { WORD_MAX = 63 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* How many letters must be inserted, dropped, changed or swapped with their neighbour to turn one
 * word into the other (optimal string alignment). Both have at most WORD_MAX letters. */
static unsigned parse_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *older = rows[0], *above = rows[1], *row = rows[2];

    for (unsigned j = 0; j <= b_length; j++)
        above[j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]))
                row[j] = least(row[j], older[j - 2] + 1);
        }
        unsigned *oldest = older;
        older = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

/* How many such changes still look like a typing error. */
static unsigned parse_tolerance(size_t length)
{
    if (length < 6)
        return length > 1;
    return length < 12 ? (unsigned)length / 3 : 4;
}

const char *sy_nearest(const char *word, const char *const *words, size_t count)
{
    size_t length = strlen(word);
    unsigned best = parse_tolerance(length) + 1;
    const char *nearest = NULL;

    if (length > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(words[i]);
        unsigned d = other > WORD_MAX ? best : parse_distance(word, length, words[i], other);
        if (d < best) {
            best = d;
            nearest = words[i];
        }
    }
    return nearest;
}
