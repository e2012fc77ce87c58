#include <stdio.h>
#include <string.h>

#include "util/net/interfaces.h"
#include "util/net/race.h"
#include "util/net/way.h"

#define MILLISECOND UINT64_C(1000000)
#define HEAD_START  (250 * MILLISECOND)
#define HEAD_STARTS (1500 * MILLISECOND) /* of all addresses together, at most */

bool sy_race_next(struct sy_race *race, uint64_t now)
{
    if (race->begun == race->count) {
        race->due = race->open ? UINT64_MAX : now;
        return false;
    }
    if (race->open && now < race->due)
        return false;
    uint64_t share = HEAD_STARTS / race->count;
    race->due = now + (share < HEAD_START ? share : HEAD_START);
    race->begun++;
    race->open++;
    return true;
}

void sy_race_answered(struct sy_race *race, uint64_t now, uint64_t patience)
{
    if (race->due < now + patience)
        race->due = now + patience;
}

void sy_race_note(struct sy_race *race, unsigned attempt, unsigned seen, const char *why)
{
    size_t used = strlen(race->note), room = sizeof race->note - used;
    char text[SY_IP_TEXT];
    struct sy_ip ip = sy_socket_ip(&race->address[attempt]);

    race->seen |= sy_way_to(&ip, seen);
    int length = snprintf(race->note + used, room, "%s%s: %s", used ? "; " : "",
                          sy_socket_text(&race->address[attempt], text), why);

    if (used && (size_t)length >= room) {
        race->note[used] = '\0';
        race->unnoted++;
    }
}

void sy_race_forget(struct sy_race *race)
{
    race->note[0] = '\0';
    race->seen = race->unnoted = 0;
}

void sy_race_again(struct sy_race *race, unsigned attempt, uint64_t due)
{
    struct sockaddr_storage first = race->address[attempt];

    race->address[attempt] = race->address[0];
    race->address[0] = first;
    race->begun = race->open = race->unnoted = 0;
    race->note[0] = '\0';
    race->due = due;
}

const char *sy_race_text(const struct sy_race *race, char *text)
{
    char more[40] = "";

    if (race->unnoted)
        snprintf(more, sizeof more, "; and %u more address%s", race->unnoted,
                 race->unnoted > 1 ? "es" : "");
    snprintf(text, SY_RACE_TEXT, "%s%s", race->note, more);
    return text;
}
