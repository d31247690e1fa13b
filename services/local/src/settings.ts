import { wholeNumber } from '@plumbline/runtime/settings'
import {
  databaseDirectUrl,
  keyPrefix,
  logLevel,
  migrateDatabaseUrl,
  storeSettings,
} from '@plumbline/runtime/store-settings'
import { z } from 'zod'

const eachSetting = z.object({
  HOST: z.string().default('127.0.0.1'),
  DATA_DIR: storeSettings.DATA_DIR,
  /** Unset: the embedded Postgres. */
  DATABASE_URL: storeSettings.DATABASE_URL.optional(),
  DATABASE_DIRECT_URL: databaseDirectUrl(),
  MIGRATE_DATABASE_URL: migrateDatabaseUrl(),
  REDIS_URL: storeSettings.REDIS_URL,
  KEY_PREFIX: keyPrefix(),
  LOG_LEVEL: logLevel('warn'),
  DRAIN_SECONDS: wholeNumber({ min: 1, max: 600 }).default(25),
})

/** Settings of the all-in-one program; what its children read passes through untouched. */
export const localSettings = eachSetting
  .refine((all) => all.DATABASE_URL !== undefined || all.MIGRATE_DATABASE_URL === undefined, {
    path: ['MIGRATE_DATABASE_URL'],
    error: 'expected DATABASE_URL beside it, for the role that serves',
  })
  .refine((all) => all.DATABASE_URL !== undefined || all.DATABASE_DIRECT_URL === undefined, {
    path: ['DATABASE_DIRECT_URL'],
    error: 'expected DATABASE_URL beside it, the address of the pooler',
  })

/** The parsed settings. */
export type LocalSettings = Readonly<z.infer<typeof localSettings>>
