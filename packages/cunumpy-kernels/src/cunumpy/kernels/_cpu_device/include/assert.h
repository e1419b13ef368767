// Asks for NDEBUG each time it is included, as C has it. A failed assertion ends the launch, where that of the C library
// would end the process.
#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) ((__VA_ARGS__) ? (void)0 : cunumpy_cpu::fail_assertion(#__VA_ARGS__, __FILE__, __LINE__))
#endif
