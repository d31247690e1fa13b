import { INSTALLATION_KEY_CHARS } from '@plumbline/runtime/installation-key'
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
  STOP_DELAY_SECONDS: wholeNumber({ min: 0, max: 600 }).default(1),
  DRAIN_SECONDS: wholeNumber({ min: 1, max: 600 }).default(25),
})

/** Settings of the all-in-one program; its children read their own. */
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

/** Settings of the command that changes the key of the installation. */
export const changeKeySettings = z.object({
  DATA_DIR: storeSettings.DATA_DIR,
  /** Unset: the embedded Postgres. */
  DATABASE_URL: storeSettings.DATABASE_URL.optional(),
  DATABASE_DIRECT_URL: databaseDirectUrl(),
  MIGRATE_DATABASE_URL: migrateDatabaseUrl(),
  /** The current key; unset: the file in `DATA_DIR`, which is then replaced. */
  INSTALLATION_KEY: storeSettings.INSTALLATION_KEY,
  NEW_INSTALLATION_KEY: z
    .string('expected the key that is to take the place of the old one')
    .min(INSTALLATION_KEY_CHARS, `expected ${INSTALLATION_KEY_CHARS} characters or more`)
    .refine((key) => key.trim() === key, 'expected no space at its start or end'),
})

/** The parsed settings of that command. */
export type ChangeKeySettings = Readonly<z.infer<typeof changeKeySettings>>
