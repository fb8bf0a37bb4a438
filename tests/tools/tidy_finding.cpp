// clang-tidy finds a mistake here (bugprone-sizeof-expression), unless WITHOUT_FINDING is defined.
unsigned long elements(const int (&array)[4]);
unsigned long elements(const int (&array)[4]) {
#ifdef WITHOUT_FINDING
    return sizeof(array) / sizeof(*array);
#else
    const int* begin = array;
    return sizeof(begin) / sizeof(*begin);
#endif
}
