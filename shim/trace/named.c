#include "trace.h"

const struct api_function *function_named(const char *name)
{
    word low = 0, high = api_functions_count;
    while (low < high) {
        word middle = (low + high) / 2;
        int order = text_order(name, api_functions[middle].name);
        if (!order)
            return &api_functions[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}
