import { MEMORY_ENVIRONMENT } from '@plumbline/local/children'

/** Variables that Node and the C library read, and none of our programs. */
export const PLATFORM_VARIABLES: readonly string[] = [
  'NODE_EXTRA_CA_CERTS',
  'NODE_OPTIONS',
  ...Object.keys(MEMORY_ENVIRONMENT),
]
