import { z } from 'zod'
import type { KeyMode } from '../plans.ts'

const MODES = ['live', 'test'] as const satisfies readonly KeyMode[]

/** A key as it is shown: never the key itself. */
export const keyView = z.strictObject({
  id: z.string(),
  mode: z.enum(MODES),
  /** `svc_live_`. */
  prefix: z.string(),
  last4: z.string(),
  created_at: z.iso.datetime(),
  revoked_at: z.iso.datetime().nullable(),
  /** To the minute; null where it was never used. */
  last_used_at: z.iso.datetime().nullable(),
})
/** A key as it is shown. */
export type KeyView = z.infer<typeof keyView>

/** `GET keys`: every key that the account has had, newest first. */
export const keyList = z.strictObject({
  data: z.array(keyView),
  /** Whether the plan has test keys. */
  test_keys: z.boolean(),
})

/** `POST keys`: makes the key of a mode; the older one of that mode ends at once. */
export const keyRequest = z.strictObject({ mode: z.enum(MODES) })

/** The new key, which cannot be shown again. */
export const newKeyAnswer = z.strictObject({
  key: z.string(),
  record: keyView,
  /** Id of the key that ended by it; null where there was none. */
  replaced: z.string().nullable(),
})
/** A new key. */
export type NewKeyAnswer = z.infer<typeof newKeyAnswer>

/** What of a key's mode stands in a path. */
export const keyMode = z.enum(MODES)
