/** Variables that Node and the C library read, no program of ours. */
export const PLATFORM_VARIABLES: readonly string[] = ['NODE_OPTIONS', 'MALLOC_ARENA_MAX']
