/* Strangers at a PE's door, of whom there are more than it can keep:
 *   knock HOST PORT SECONDS [FILE]   makes connections as fast as it can, keeps the last 400 of
 * them open, and says on each what is in FILE, or nothing; prints how many it made knock record
 * PORT FILE           takes one connection and writes to FILE what it says first knock listeners
 * prints the addresses and ports that are listened on here */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 400, LONGEST = 4096 };

static int usage(void)
{
    fprintf(stderr, "knock HOST PORT SECONDS [FILE] | record PORT FILE | listeners\n");
    return 2;
}

static struct sockaddr_in place(const char *host, const char *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

    inet_pton(AF_INET, host, &at.sin_addr);
    return at;
}

static size_t load(const char *path, char *bytes)
{
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(bytes, 1, LONGEST, file) : 0;

    if (file)
        fclose(file);
    return length;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int flood(char **args)
{
    struct sockaddr_in at = place(args[1], args[2]);
    double end = seconds() + atof(args[3]);
    const struct linger reset = {1, 0};
    char bytes[LONGEST];
    size_t length = args[4] ? load(args[4], bytes) : 0;
    int fd[KEPT], made = 0;

    memset(fd, -1, sizeof fd);
    while (seconds() < end) {
        int new = socket(AF_INET, SOCK_STREAM, 0), *old = &fd[made % KEPT];

        setsockopt(new, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        if (connect(new, (struct sockaddr *)&at, sizeof at) ||
            (length && send(new, bytes, length, MSG_NOSIGNAL) < 0)) {
            close(new);
            continue;
        }
        if (*old >= 0)
            close(*old);
        *old = new;
        made++;
    }
    printf("%d connections\n", made);
    return made < KEPT;
}

static int record(char **args)
{
    struct sockaddr_in at = place("0.0.0.0", args[2]);
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1, fd;
    char bytes[LONGEST];
    FILE *file;

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1) ||
        (fd = accept(listener, NULL, NULL)) < 0) {
        perror("knock");
        return 1;
    }
    ssize_t length = recv(fd, bytes, sizeof bytes, 0);
    file = fopen(args[3], "wb");
    return length <= 0 || !file || fwrite(bytes, 1, (size_t)length, file) != (size_t)length ||
           fclose(file);
}

static void listeners(const char *path)
{
    char line[512], number[INET6_ADDRSTRLEN], digits[33];
    unsigned port, state;
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof line, file)) {
        union {
            uint32_t word[4];
            unsigned char bytes[16];
        } ip;
        if (sscanf(line, " %*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x", digits, &port, &state) != 3 ||
            state != 10)
            continue;
        int words = (int)strlen(digits) / 8;
        for (int i = 0; i < words; i++)
            sscanf(digits + 8 * i, "%8x", &ip.word[i]);
        inet_ntop(words == 1 ? AF_INET : AF_INET6, ip.bytes, number, sizeof number);
        printf("%s %u\n", number, port);
    }
    if (file)
        fclose(file);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "listeners")) {
        listeners("/proc/net/tcp");
        listeners("/proc/net/tcp6");
        return 0;
    }
    if (argc == 4 && !strcmp(argv[1], "record"))
        return record(argv);
    return argc == 4 || argc == 5 ? flood(argv) : usage();
}
