/* Kernels with their parameters, and variables, of PTX text. Only what stands outside of bodies is looked at. */
#include "driver.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Words (identifiers and .directives), numbers, quoted strings and single characters. */
struct token {
    const char *text;
    size_t length;
};

static const char *skip_blank(const char *at)
{
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (strncmp(at, "//", 2) == 0)
            at += strcspn(at, "\n");
        else if (strncmp(at, "/*", 2) == 0)
            at = strstr(at, "*/") ? strstr(at, "*/") + 2 : at + strlen(at);
        else
            return at;
    }
}

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_$%.", c));
}

static struct token next(const char **at)
{
    const char *start = skip_blank(*at), *end = start;

    while (word_character(*end))
        end++;
    if (*start == '"') {
        end = start + 1 + strcspn(start + 1, "\"");
        end += *end == '"';
    }
    if (end == start && *end)
        end++;
    *at = end;
    return (struct token){start, (size_t)(end - start)};
}

static bool is(struct token token, const char *text)
{
    return token.length == strlen(text) && memcmp(token.text, text, token.length) == 0;
}

static size_t number(struct token token)
{
    return strtoull(token.text, NULL, 0);
}

/* ".u64" -> 8, ".b8" -> 1, ".f16x2" -> 4; 0 when the directive is no type. */
static size_t type_size(struct token token)
{
    if (token.length < 3 || token.text[0] != '.' || !strchr("bsuf", token.text[1]))
        return 0;
    char *end;
    size_t bits = strtoul(token.text + 2, &end, 10);
    return bits / 8 * (*end == 'x' ? (size_t)atoi(end + 1) : 1);
}

static void skip_parentheses(const char **at)
{
    struct token token;

    do
        token = next(at);
    while (token.length && !is(token, ")"));
}

struct declaration {
    struct token name;
    size_t size, alignment;
    struct token after; /* the token that ended it */
};

/* ".align 4 .b8 name[16]" up to the token behind; `at` is behind the state space. */
static struct declaration declaration(const char **at)
{
    struct declaration found = {.alignment = 1};
    struct token token = next(at);

    for (; token.length && token.text[0] == '.'; token = next(at)) {
        if (is(token, ".align"))
            found.alignment = number(next(at));
        else if (is(token, ".attribute"))
            skip_parentheses(at);
        else if (type_size(token))
            found.size = type_size(token);
    }
    if (found.alignment < found.size && found.alignment == 1)
        found.alignment = found.size;
    found.name = token;
    while (is(token = next(at), "[")) {
        struct token count = next(at);
        if (!is(count, "]")) {
            found.size *= number(count);
            next(at);
        }
    }
    found.after = token;
    return found;
}

static void read_parameters(struct kernel *kernel, const char **at)
{
    size_t offset = 0, index = 0;
    struct token token = next(at);

    for (; token.length && !is(token, ")"); token = next(at)) {
        if (!is(token, ".param"))
            continue;
        struct declaration found = declaration(at);
        offset = (offset + found.alignment - 1) / found.alignment * found.alignment;
        code_set_parameter(kernel, index++, offset, found.size);
        offset += found.size;
        if (is(found.after, ")"))
            break;
    }
    kernel->parameters_known = true;
}

static void read_entry(struct code *code, const char **at)
{
    struct token name = next(at);
    struct kernel *kernel = code_add_kernel(code, name.text, name.length);
    const char *behind = *at;

    if (is(next(&behind), "(")) {
        *at = behind;
        read_parameters(kernel, at);
    }
    kernel->parameters_known = true;
}

bool code_read_ptx(struct code *code, const char *text)
{
    bool version_seen = false, external = false;
    int depth = 0;

    for (struct token token; (token = next(&text)).length;) {
        if (!version_seen && !is(token, ".version"))
            return false;
        version_seen = true;
        depth += is(token, "{") - is(token, "}");
        if (depth)
            continue;
        if (is(token, ".entry"))
            read_entry(code, &text);
        else if ((is(token, ".global") || is(token, ".const")) && !external) {
            struct declaration found = declaration(&text);
            code_add_variable(code, found.name.text, found.name.length, found.size, NULL);
            depth += is(found.after, "{");
        }
        external = is(token, ".extern") || (external && token.text[0] == '.');
    }
    return version_seen;
}
