/* Counts the words of text files. The files are cut into chunks; a PE that is free claims the next
 * one with an atomic increment. The words are counted in a hash table that is spread over all PEs:
 * a compare-and-swap takes a slot for a new word, an atomic increment counts it, wherever the slot
 * is. At the end PE 0 collects the table, prints the most frequent words, and counts again by
 * itself to check the result.
 *
 *     oshcc wordcount.c -o wordcount && oshrun -n 4 ./wordcount /usr/share/common-licenses/GPL-3
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <shmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WORD_BYTES = 48 }; /* with the NUL; what a longer word has beyond counts no more */

struct slot {
    char word[WORD_BYTES]; /* first, so that by_letters() compares slots too */
    uint64_t hash;         /* of the word; 0: the slot is empty */
    long count;
};

struct text {
    const char *bytes; /* the file, mapped */
    long length, first_chunk, chunks;
};

struct options {
    long top, chunk, slots;
};

struct table {
    struct slot *slots; /* symmetric: each PE has `size` of them */
    long size;
    int npes;
};

/* On PE 0: the next chunk that no PE has claimed, and sums over the PEs. */
static long next_chunk;
static long words_total;
static long my_words, my_chunks;
static long verdict;

static double seconds(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Words are of letters; bytes beyond ASCII belong to letters of UTF-8. */
static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || (c & 0x80);
}

/* Copies the next word that begins in bytes[*at .. end) to word and moves *at behind it. A word may
 * reach beyond end, up to length. False if none begins there. */
static bool next_word(const char *bytes, long *at, long end, long length, char word[WORD_BYTES])
{
    int letters = 0;

    while (*at < end && !is_letter(bytes[*at]))
        (*at)++;
    if (*at >= end)
        return false;
    memset(word, 0, WORD_BYTES);
    for (; *at < length && is_letter(bytes[*at]); (*at)++) {
        if (letters < WORD_BYTES - 1)
            word[letters++] = (char)tolower((unsigned char)bytes[*at]);
    }
    return true;
}

/* FNV-1a; never 0, which marks an empty slot. */
static uint64_t hash_word(const char *word)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *word; word++)
        hash = (hash ^ (unsigned char)*word) * 0x100000001b3u;
    return hash | 1;
}

/* Counts a word once. The first PE to see it gets the empty slot by compare-and-swap and writes its
 * letters, which are read after the barrier only. False if the PE's part of the table is full. */
static bool count_word(const struct table *table, const char *word)
{
    uint64_t hash = hash_word(word), there;
    int pe = (int)((hash >> 1) % (uint64_t)table->npes);
    long index = (long)((hash >> 20) % (uint64_t)table->size);

    for (long tried = 0; tried < table->size; tried++) {
        struct slot *slot = &table->slots[(index + tried) % table->size];

        there = shmem_uint64_atomic_compare_swap(&slot->hash, 0, hash, pe);
        if (there == 0)
            shmem_char_put(slot->word, word, WORD_BYTES, pe);
        if (there == 0 || there == hash) {
            shmem_long_atomic_inc(&slot->count, pe);
            return true;
        }
    }
    return false;
}

/* Counts the words that begin in one chunk; a word over its beginning belongs to the chunk before.
 * Returns their number, or -1 if the table is full. */
static long count_chunk(const struct table *table, const struct text *text, long begin, long end)
{
    char word[WORD_BYTES];
    long at = begin, words = 0;

    while (at > 0 && at < end && is_letter(text->bytes[at - 1]) && is_letter(text->bytes[at]))
        at++;
    for (; next_word(text->bytes, &at, end, text->length, word); words++) {
        if (!count_word(table, word))
            return -1;
    }
    return words;
}

/* Claims chunks until there are no more. False if the table is full. */
static bool count_texts(const struct table *table, const struct text *texts, int files, long chunk)
{
    int file = 0;
    long claimed, begin, end, words;

    while (true) {
        claimed = shmem_long_atomic_fetch_inc(&next_chunk, 0);
        while (file < files && claimed >= texts[file].first_chunk + texts[file].chunks)
            file++;
        if (file == files)
            break;
        begin = (claimed - texts[file].first_chunk) * chunk;
        end = begin + chunk < texts[file].length ? begin + chunk : texts[file].length;
        words = count_chunk(table, &texts[file], begin, end);
        if (words < 0)
            return false;
        my_words += words;
        my_chunks++;
    }
    shmem_long_atomic_add(&words_total, my_words, 0);
    return true;
}

static int more_frequent(const void *left, const void *right)
{
    const struct slot *a = left, *b = right;

    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return strcmp(a->word, b->word);
}

/* PE 0 gets the used slots of all PEs, the most frequent word first. NULL if there is no memory. */
static struct slot *collect(const struct table *table, long *distinct)
{
    struct slot *all = malloc((size_t)table->size * (size_t)table->npes * sizeof(*all));

    *distinct = 0;
    for (int pe = 0; all && pe < table->npes; pe++) {
        struct slot *part = all + *distinct;
        long used = 0;

        shmem_getmem(part, table->slots, (size_t)table->size * sizeof(*part), pe);
        for (long i = 0; i < table->size; i++) {
            if (part[i].hash)
                part[used++] = part[i];
        }
        *distinct += used;
    }
    if (all)
        qsort(all, (size_t)*distinct, sizeof(*all), more_frequent);
    return all;
}

static int by_letters(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* A list of all words of all texts, without chunks or hashes: one word in WORD_BYTES bytes. */
static char (*list_words(const struct text *texts, int files, long *count))[WORD_BYTES]
{
    char(*list)[WORD_BYTES];
    long most = 0, at;

    for (int i = 0; i < files; i++)
        most += texts[i].length / 2 + 1;
    list = malloc((size_t)most * WORD_BYTES);
    *count = 0;
    for (int i = 0; list && i < files; i++) {
        at = 0;
        while (next_word(texts[i].bytes, &at, texts[i].length, texts[i].length, list[*count]))
            ++*count;
    }
    return list;
}

/* Compares the collected table, sorted by letters for it, with the sorted list of words. */
static bool same_counts(struct slot *all, long distinct, char (*list)[WORD_BYTES], long words)
{
    long word = 0, copies;

    qsort(list, (size_t)words, WORD_BYTES, by_letters);
    for (long i = 0; i < distinct; i++, word += copies) {
        const char *expected = word < words ? list[word] : "";

        for (copies = 0; word + copies < words && !strcmp(list[word + copies], expected);)
            copies++;
        if (strcmp(all[i].word, expected) || all[i].count != copies) {
            fprintf(stderr,
                    "wordcount: %ld times \"%s\" in the table, %ld times \"%s\" in the texts\n",
                    all[i].count, all[i].word, copies, expected);
            return false;
        }
    }
    return word == words;
}

static bool check(struct slot *all, long distinct, const struct text *texts, int files)
{
    long words;
    char(*list)[WORD_BYTES] = list_words(texts, files, &words);

    if (!list) {
        fprintf(stderr, "wordcount: no memory to check the result on PE 0\n");
        return false;
    }
    qsort(all, (size_t)distinct, sizeof(*all), by_letters);
    bool same = words == words_total && same_counts(all, distinct, list, words);
    free(list);
    return same;
}

/* PE 0's part after the count. True if all is well. */
static bool report(const struct table *table, const struct text *texts, int files,
                   const struct options *options, double time)
{
    long distinct;
    struct slot *all = collect(table, &distinct);
    double begin = seconds();
    bool same;

    if (!all) {
        fprintf(stderr, "wordcount: no memory to collect the result on PE 0\n");
        return false;
    }
    for (long i = 0; i < options->top && i < distinct; i++)
        printf("%10ld  %s\n", all[i].count, all[i].word);
    for (int pe = 0; pe < table->npes; pe++)
        printf("PE %d counted %ld words in %ld chunks\n", pe, shmem_long_g(&my_words, pe),
               shmem_long_g(&my_chunks, pe));
    same = check(all, distinct, texts, files);
    printf("%d files, %.3f s with %d PEs, %.3f s to count again by sorting\n", files, time,
           table->npes, seconds() - begin);
    printf("wordcount: %s: %ld words, %ld different, %s\n", same ? "OK" : "FAILED", words_total,
           distinct, same ? "the same as counted by PE 0 alone" : "not as counted by PE 0 alone");
    free(all);
    return same;
}

/* Maps a file and gives it its chunks, after those of the files before. */
static bool open_text(struct text *text, const char *name, long chunk, long first_chunk)
{
    struct stat status;
    int fd = open(name, O_RDONLY);
    bool known = fd >= 0 && !fstat(fd, &status);

    *text = (struct text){.bytes = "", .first_chunk = first_chunk};
    if (known && S_ISREG(status.st_mode)) {
        text->length = (long)status.st_size;
        text->chunks = (text->length + chunk - 1) / chunk;
        if (text->length)
            text->bytes = mmap(NULL, (size_t)text->length, PROT_READ, MAP_PRIVATE, fd, 0);
        close(fd);
        if (text->bytes != MAP_FAILED)
            return true;
    }
    fprintf(stderr, "wordcount: PE %d cannot read %s: %s\n", shmem_my_pe(), name,
            known && text->bytes != MAP_FAILED ? "it is not a regular file" : strerror(errno));
    return false;
}

/* NULL after a message if a file cannot be read; the job then ends. */
static struct text *open_texts(char **names, int files, long chunk)
{
    struct text *texts = calloc((size_t)files, sizeof(*texts));
    long chunks = 0;

    for (int i = 0; texts && i < files; i++) {
        if (!open_text(&texts[i], names[i], chunk, chunks))
            return NULL;
        chunks += texts[i].chunks;
    }
    return texts;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {{"top", required_argument, NULL, 't'},
                                          {"chunk", required_argument, NULL, 'c'},
                                          {"slots", required_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int option;
    char *end;

    *options = (struct options){.top = 10, .chunk = 8192, .slots = 65536};
    while ((option = getopt_long(argc, argv, "t:c:s:h", names, NULL)) != -1) {
        long *number = option == 't'   ? &options->top
                       : option == 'c' ? &options->chunk
                       : option == 's' ? &options->slots
                                       : NULL;
        if (!number)
            return false;
        *number = strtol(optarg, &end, 10);
        if (*end || *number < (option != 't') || *number > 1L << 30)
            return false;
    }
    return optind < argc;
}

int main(int argc, char **argv)
{
    struct options options;
    struct table table;

    shmem_init();
    int me = shmem_my_pe(), files;
    table.npes = shmem_n_pes();
    opterr = me == 0;
    if (!read_options(argc, argv, &options)) {
        if (me == 0)
            fprintf(stderr,
                    "usage: %s [--top N] [--chunk BYTES] [--slots N] FILE...\n"
                    "  prints the N most frequent words of the files (10); a PE takes so many "
                    "bytes at a\n"
                    "  time (8192); each PE has room for so many different words (65536)\n",
                    argv[0]);
        shmem_finalize();
        return 2;
    }
    files = argc - optind;
    struct text *texts = open_texts(argv + optind, files, options.chunk);
    if (!texts)
        shmem_global_exit(1);
    table.size = options.slots;
    table.slots = shmem_calloc((size_t)table.size, sizeof(*table.slots));
    if (!table.slots) {
        if (me == 0)
            fprintf(stderr,
                    "wordcount: no room for %ld slots on each PE; set SHMEM_SYMMETRIC_SIZE\n",
                    table.size);
        shmem_finalize();
        return 1;
    }

    shmem_barrier_all(); /* all are ready */
    double begin = seconds();
    shmem_barrier_all(); /* no PE begins before the clock of PE 0 */
    if (!count_texts(&table, texts, files, options.chunk)) {
        fprintf(stderr, "wordcount: the table is full; give more --slots than %ld\n", table.size);
        shmem_global_exit(1);
    }
    shmem_barrier_all(); /* completes every PE's increments and puts */
    if (me == 0)
        verdict = report(&table, texts, files, &options, seconds() - begin);
    shmem_barrier_all();

    verdict = shmem_long_g(&verdict, 0);
    shmem_free(table.slots);
    free(texts);
    shmem_finalize();
    return verdict ? 0 : 1;
}
