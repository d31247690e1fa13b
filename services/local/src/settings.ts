import { wholeNumber } from '@plumbline/runtime/settings'
import { z } from 'zod'

/** Settings of the all-in-one program; what its children read passes through untouched. */
export const localSettings = z.object({
  HOST: z.string().default('127.0.0.1'),
  DATA_DIR: z.string().default('.data'),
  DATABASE_URL: z.string().optional(),
  REDIS_URL: z.string().optional(),
  KEY_PREFIX: z.string().default('svc'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('warn'),
  DRAIN_SECONDS: wholeNumber({ min: 1, max: 600 }).default(25),
})

export type LocalSettings = Readonly<z.infer<typeof localSettings>>
