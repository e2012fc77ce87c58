/* PE 0 says in a collect, in whose place it does by hand what the library does, that it gives more
 * than there is, or that its source is where nothing is. liar length|window|offset */
#include <shmem.h>
#include <string.h>
#include <unistd.h>

#include "coll/group.h"
#include "core/team.h"

int main(int argc, char **argv)
{
    enum { ROOM = 1 << 16 };
    const char *what = argc > 1 ? argv[1] : "";

    shmem_init();
    char *dest = shmem_malloc(ROOM);
    if (shmem_my_pe() == 0) {
        struct sy_group group = sy_group_of_team(&sy_team_world);
        uint64_t *word = sy_group_slot(&group);
        word[0] = strcmp(what, "length") ? ROOM : -(uint64_t)ROOM;
        word[1] = strcmp(what, "window") ? 0 : UINT64_C(1) << 40;
        word[2] = strcmp(what, "offset") ? 0 : -(uint64_t)ROOM / 2;
        sy_group_sync(&group);
        sleep(20);
    } else {
        shmem_collectmem(SHMEM_TEAM_WORLD, dest, NULL, 0);
    }
    return 3;
}
