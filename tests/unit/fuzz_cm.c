/* test: layers=util,provider_common,provider_shm timeout=60 */
/*
 * The hostile peer of tests/fuzz/cm.c: every input of the corpus, then inputs
 * made of them by a seeded generator. A crash or hang shows the input to be
 * blamed in the file "fuzz-input" of the temporary directory, if there is one.
 *
 *     fuzz_cm [FILE]...     these inputs only
 */
#include "../fuzz/cm.c"

#include <dirent.h>

enum { MUTATIONS = 3000, INPUT_LEN = 512, FILES_MAX = 1024 };

struct input {
    size_t len;
    uint8_t data[INPUT_LEN];
};

static struct input corpus[FILES_MAX];
static int n_corpus;
static uint64_t seed = 1;

static uint32_t next_random(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static char path[4096]; /* of the input under way */

static void run(const struct input *in)
{
    static int fd = -1;
    const char *tmp = getenv("TMPDIR");

    if (fd < 0 && tmp != NULL && snprintf(path, sizeof(path), "%s/fuzz-input", tmp) > 0)
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && (pwrite(fd, in->data, in->len, 0) < 0 || ftruncate(fd, (off_t)in->len) != 0))
        DIE("%s: cannot write\n", path);
    (void)LLVMFuzzerTestOneInput(in->data, in->len);
}

static void load(const char *path)
{
    struct input *in = &corpus[n_corpus];
    FILE *file = fopen(path, "r");

    if (file == NULL)
        DIE("%s: cannot open\n", path);
    in->len = fread(in->data, 1, sizeof(in->data), file);
    fclose(file);
    n_corpus++;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_corpus(const char *src)
{
    struct dirent **list;
    char path[4096];
    int n;

    (void)snprintf(path, sizeof(path), "%s/tests/fuzz/corpus", src);
    n = scandir(path, &list, NULL, by_name);
    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s", src, list[i]->d_name);
        if (list[i]->d_name[0] != '.' && n_corpus < FILES_MAX)
            load(path);
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    if (n_corpus == 0)
        DIE("no corpus in %s/tests/fuzz/corpus\n", src);
}

/* Something near one input, or the end of one behind the beginning of another. */
static void mutate(struct input *out)
{
    const struct input *other = &corpus[next_random((uint32_t)n_corpus)];

    *out = corpus[next_random((uint32_t)n_corpus)];
    if (next_random(3) == 0 && out->len > 0 && other->len > 0) {
        size_t at = next_random((uint32_t)out->len);
        size_t from = next_random((uint32_t)other->len);
        size_t n = other->len - from < INPUT_LEN - at ? other->len - from : INPUT_LEN - at;

        memcpy(out->data + at, other->data + from, n);
        out->len = at + n;
    }
    for (uint32_t n = next_random(6); n > 0 && out->len > 0; n--)
        out->data[next_random((uint32_t)out->len)] = (uint8_t)next_random(256);
}

int main(int argc, char **argv)
{
    const char *src = getenv("TEST_SRC");
    struct input in;

    for (int i = 1; i < argc; i++)
        load(argv[i]);
    if (argc <= 1)
        load_corpus(src != NULL ? src : ".");
    for (int i = 0; i < n_corpus; i++)
        run(&corpus[i]);
    for (int i = 0; argc <= 1 && i < MUTATIONS; i++) {
        mutate(&in);
        run(&in);
    }
    if (ia != NULL)
        close_side();
    (void)unlink(path);
    return 0;
}
