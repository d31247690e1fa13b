import { MEMORY_ENVIRONMENT } from '@plumbline/local/children'

/** Variables that Node and the C library read, and no program of ours. */
export const PLATFORM_VARIABLES: readonly string[] = [
  'NODE_OPTIONS',
  ...Object.keys(MEMORY_ENVIRONMENT),
]
